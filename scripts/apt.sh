#!/bin/sh
# Installs Debian packages, as root or through sudo; says what to do when it can be neither.
# usage: apt.sh PACKAGE...   (exit code 2: installing is not possible here at all)
set -eu

say() { echo "==> $*" >&2; }

if ! command -v apt-get >/dev/null; then
    say "cannot install $*: this system has no apt-get; install the equivalent by hand"
    exit 2
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    say "cannot install $*: neither root nor sudo; ask an administrator for: apt-get install $*"
    exit 2
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "installing $* (apt-get)"
apt update || say "apt-get update failed; going on with the package lists at hand"
if ! apt install --no-install-recommends -y "$@"; then
    cat "$log" >&2
    say "apt-get could not install $*"
    exit 1
fi
