"""Statements along a lineage.

A lineage is a list of segments (a branch, versions after, versions up to), and a read along it joins that list with a
table: one index range for each segment, whatever else the table holds. (An OR of the ranges reads more: planners then
look at the whole table or branch.) Statements are compiled once per number of segments, rounded up to a power of two;
longer lineages are read in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import BigInteger, Executable, FromClause, and_, bindparam, join, select, union_all

from anabranch.catalog.engine import Run
from anabranch.model.history import Lineage, Segment

CHUNK = 64
IDS_AT_ONCE = 500
_NOTHING = Segment(-1, 0, 0)

Item = TypeVar("Item")

On = Callable[[FromClause], FromClause]
"""A table -> its rows that lie on the lineage, to select from."""


class Along:
    """A statement that `build` makes from a lineage; its rows must come in the order of versions."""

    def __init__(self, build: Callable[[On], Executable]) -> None:
        self._build = build
        self._statements: dict[int, Executable] = {}

    def rows(self, run: Run, segments: Lineage, values: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of all segments, those of older chunks first."""
        found: list[Any] = []
        for start in reversed(range(0, len(segments), CHUNK)):
            found.extend(self.chunk(run, segments[start : start + CHUNK], values))
        return found

    def chunk(self, run: Run, chunk: Lineage, values: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of at most CHUNK segments."""
        size = 1 << (len(chunk) - 1).bit_length()
        statement = self._statements.get(size)
        if statement is None:
            statement = self._statements[size] = self._build(_on(size))
        bound = dict(values or ())
        for index in range(size):
            segment = chunk[index] if index < len(chunk) else _NOTHING
            bound[f"branch{index}"] = segment.branch_id
            bound[f"after{index}"] = segment.after
            bound[f"upto{index}"] = segment.upto
        return list(run(statement, bound))


def in_batches(items: Iterable[Item], read: Callable[[list[Item]], Sequence[Any]]) -> list[Any]:
    """The rows that `read` gives for all items, asked for at most IDS_AT_ONCE of them at a time."""
    wanted: list[Item] = list(items)
    found: list[Any] = []
    for start in range(0, len(wanted), IDS_AT_ONCE):
        found.extend(read(wanted[start : start + IDS_AT_ONCE]))
    return found


def _on(size: int) -> On:
    """The join of a table with `size` segments."""
    each = [
        select(*(bindparam(f"{name}{index}", type_=BigInteger).label(name) for name in ("branch", "after", "upto")))
        for index in range(size)
    ]
    segment = (each[0] if size == 1 else union_all(*each)).subquery("segment")

    def on(table: FromClause) -> FromClause:
        same_branch = table.c.branch_id == segment.c.branch
        return join(
            segment,
            table,
            and_(same_branch, table.c.version > segment.c.after, table.c.version <= segment.c.upto),
        )

    return on
