"""Text to statements, and queries prepared for Spark. Pure: no catalog, no Spark, no Arrow."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.sql.parser import parse
    from anabranch.sql.query import PreparedQuery, TableUse, prepare
    from anabranch.sql.refs import Name, Ref
    from anabranch.sql.splicing import splice
    from anabranch.sql.tokens import spans, split

__all__ = ["Name", "PreparedQuery", "Ref", "TableUse", "parse", "prepare", "spans", "splice", "split"]

_HOMES = {
    "Name": "refs",
    "PreparedQuery": "query",
    "Ref": "refs",
    "TableUse": "query",
    "parse": "parser",
    "prepare": "query",
    "splice": "splicing",
    "spans": "tokens",
    "split": "tokens",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
