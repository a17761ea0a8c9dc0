"""How a command ends: its exit code, and one line on stderr if it failed."""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import asdict, is_dataclass
from typing import Any

from anabranch.cli.output import plain
from anabranch.cli.settings import Settings
from anabranch.errors import AnabranchError, Conflict, MergeConflict

OK, ERROR, USAGE, CONFLICT, INTERRUPTED, CLOSED = 0, 1, 2, 3, 130, 141

EXIT_CODES = {
    OK: "all went well",
    ERROR: "an error; stderr says which",
    USAGE: "a command line that makes no sense",
    CONFLICT: "conflicts: of a merge, or with what someone else committed",
    INTERRUPTED: "Ctrl-C",
    CLOSED: "the reader of the output went away (`| head`)",
}


class Usage(Exception):
    """A command line that makes no sense."""


def code_of(error: BaseException) -> int:
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, Usage):
        return USAGE
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return CLOSED if isinstance(error, BrokenPipeError) else ERROR


def report(error: BaseException, settings: Settings) -> int:
    """Says what went wrong, and gives the exit code."""
    code = code_of(error)
    if code == CLOSED:
        # What is still buffered has no reader; Python would complain about it at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code
    if settings.debug:
        traceback.print_exception(error)
    if settings.json:
        told = json.dumps(_record(error), ensure_ascii=False, default=str)
    else:
        told = f"anabranch: error: {message(error)}" if code != INTERRUPTED else "anabranch: interrupted"
    print(told, file=sys.stderr, flush=True)
    return code


def message(error: BaseException) -> str:
    """An error of ours speaks for itself; of any other, the first line and its kind."""
    if isinstance(error, (AnabranchError, Usage)):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    first = next(iter(str(error).strip().splitlines()), "")
    kind = type(error).__name__
    return f"{kind}: {first} (--debug shows more)" if first else f"{kind} (--debug shows more)"


def _record(error: BaseException) -> dict[str, Any]:
    record: dict[str, Any] = {"error": type(error).__name__, "message": message(error)}
    if isinstance(error, Conflict):
        record["conflicts"] = [_conflict(conflict) for conflict in error.conflicts]
    if isinstance(error, MergeConflict):
        record["passing"] = error.passing
    return record


def _conflict(conflict: Any) -> Any:
    """As `conflicts --json` shows it."""
    return plain(asdict(conflict)) if is_dataclass(conflict) and not isinstance(conflict, type) else str(conflict)
