#!/bin/sh
# Creates a virtual environment, unless it is there; installs Debian's python3-venv if Python lacks ensurepip.
# usage: venv.sh FOLDER [PYTHON]
set -eu
here=$(dirname "$0")
folder=$1
python=${2:-python3}

[ -x "$folder/bin/pip" ] && exit 0

command -v "$python" >/dev/null || "$here/apt.sh" python3 python3-venv
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "==> Python 3.10 or newer is needed: make install PYTHON=/path/to/python" >&2
    exit 1
fi

echo "==> creating $folder"
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    "$here/apt.sh" python3-venv
fi
"$python" -m venv "$folder"
