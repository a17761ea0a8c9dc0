#!/bin/sh
# Prints the folder of a PostgreSQL server's programs (13 or newer); installs Debian's `postgresql` if there is none.
set -eu
here=$(dirname "$0")

serves() {
    [ -x "$1/initdb" ] && [ -x "$1/pg_ctl" ] && [ -x "$1/postgres" ] || return 1
    major=$("$1/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    [ "${major:-0}" -ge 13 ]
}

# Debian keeps the server's programs off the PATH, one folder for each version: the newest comes first.
candidates() {
    find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -rV
    if initdb=$(command -v initdb); then dirname "$(readlink -f "$initdb")"; fi
    if command -v pg_config >/dev/null; then pg_config --bindir; fi
}

find_server() {
    candidates | while read -r bin; do
        if serves "$bin"; then
            echo "$bin"
            break
        fi
    done
}

bin=$(find_server)
if [ -z "$bin" ]; then
    "$here/apt.sh" postgresql
    bin=$(find_server)
fi
if [ -z "$bin" ]; then
    echo "==> PostgreSQL 13 or newer is needed and was not found; install its server" >&2
    exit 1
fi
echo "$bin"
