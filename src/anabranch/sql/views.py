"""Temporary views of the Spark session, which queries may read beside the lake's tables.

A view has a name of one piece, or `global_temp.name`; a lake's table has two. What the lake has goes first, and Spark's
own catalog is not the lake's: its tables are not found here. Nothing here starts Spark: without it there is no view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anabranch.execution.failures import spark_failures
from anabranch.model.types import quote_identifier

if TYPE_CHECKING:
    from anabranch.commands.session import Session

GLOBAL = "global_temp"
IsView = Callable[[tuple[str, ...]], bool]
"""Whether a name, in its pieces, is a temporary view."""


def may_be_view(parts: tuple[str, ...]) -> bool:
    return len(parts) == 1 or (len(parts) == 2 and parts[0].lower() == GLOBAL)


def views_of(session: Session) -> IsView:
    """What the Spark session has as temporary views, if there is one."""

    def is_view(parts: tuple[str, ...]) -> bool:
        spark = session.shared.spark.there
        if spark is None or not may_be_view(parts) or (len(parts) == 2 and session.find_table(parts) is not None):
            return False
        name = ".".join(map(quote_identifier, parts))
        with spark_failures():
            return bool(spark.catalog.tableExists(name)) and spark.catalog.getTable(name).isTemporary

    return is_view
