"""One verb a file: what a statement does, once it is understood."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.commands import branches, databases, describe, optimize, options, restore, tables

_MODULES = ("branches", "databases", "describe", "optimize", "options", "restore", "tables")


def __getattr__(name: str) -> ModuleType:
    """Modules that a Lake calls: with Arrow and sqlglot behind them, imported when first called."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
