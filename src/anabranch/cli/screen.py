"""What a stream shows: text in colours, as wide as a terminal is; in a file or a pipe, text and nothing else."""

from __future__ import annotations

import os
import sys
from typing import TextIO

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_USUAL_WIDTH = 80


def replace_closed() -> None:
    """A stream that was closed (`>&-`) becomes one that nobody reads; no file that is opened later gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process runs


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """Text in a colour, where someone sees it on the stream that it goes to; that is stdout, if not said."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if shows_styles(stream or sys.stdout) else text


def shows_styles(stream: TextIO) -> bool:
    """A terminal does, unless it is a plain one or its owner wants none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(stream: TextIO) -> int | None:
    """The columns of a terminal; without a limit in a file or a pipe."""
    if not stream.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH
