"""Files that a command reads: text, from a path or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from anabranch.cli.exits import Usage

STDIN = "-"


def read(path: str) -> str:
    """The whole text; `-` is standard input."""
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Usage(f"'{path}' cannot be read: it is no text in UTF-8.") from error
    except OSError as error:
        raise Usage(f"'{path}' cannot be read: {error.strerror or error}.") from error
