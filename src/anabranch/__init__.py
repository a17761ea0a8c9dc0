"""Anabranch: a data lake with branches that can really be merged, on Spark."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # mypy knows it; `typing` is slow to import, and nobody awaits Ctrl-C yet
if TYPE_CHECKING:
    from typing import Any

    from anabranch.commands.result import Result
    from anabranch.errors import AnabranchError, CommitConflict, MergeConflict
    from anabranch.lake import Lake, connect
    from anabranch.options import Limits
    from anabranch.table import Table

__all__ = ["AnabranchError", "CommitConflict", "Lake", "Limits", "MergeConflict", "Result", "Table", "connect"]
__version__ = "0.1.0"

_HOMES = {
    "AnabranchError": "errors",
    "CommitConflict": "errors",
    "Lake": "lake",
    "Limits": "options",
    "MergeConflict": "errors",
    "Result": "commands.result",
    "Table": "table",
    "connect": "lake",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
