"""Parts: immutable Parquet files, and what the catalog knows of them.

A fresh part has a slot, a number unique in its table on all branches; its rows' ids are `slot << 32 | position`. A
rewritten part has a slot as well, by which masks know it, but stores its rows' ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

POSITION_BITS = 32
MAX_SLOT = (1 << 31) - 1


def partition_values(partition: str | None) -> Mapping[str, Any]:
    return {} if partition is None else json.loads(partition)


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is never changed. `stats` and `partition` are JSON text, decoded only when something asks."""

    id: str
    slot: int
    schema_id: int
    rows: int
    bytes: int
    stats: str = "{}"
    partition: str | None = None
    has_origin: bool = False
    has_row_id: bool = False
    """A rewritten part: its rows stand elsewhere than where they were written, so it stores their ids."""

    @property
    def path(self) -> str:
        """Relative to its table's folder; Spark reads the slot from it as a partition constant."""
        return f"slot={self.slot}/{self.id}.parquet"

    @property
    def partition_values(self) -> Mapping[str, Any]:
        """Physical partition column -> encoded value (see storage.statistics)."""
        return partition_values(self.partition)


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Bounds of one column in one part, encoded as JSON values; None: unknown. A NaN maximum stands as 'NaN'."""

    min: Any
    max: Any
    nulls: int | None
    rows: int


@lru_cache(maxsize=65536)
def _decoded(stats: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(stats)
    return decoded


def bounds_of(part: Part, physical: str) -> ColumnStats | None:
    """The bounds of one column; None: unknown."""
    found = _decoded(part.stats).get("columns", {}).get(physical)
    if found is None:
        return None
    low, high, nulls = found
    return ColumnStats(low, high, nulls, part.rows)


def row_groups(part: Part) -> tuple[int, ...]:
    """Rows of each row group, in order."""
    return tuple(_decoded(part.stats).get("row_groups", (part.rows,)))


# --- versions of a row ------------------------------------------------------------------------------------------------


def new_rows(part: Part) -> int:
    """How many rows of a fresh part are their own first versions: all, unless the part holds origins."""
    return _decoded(part.stats).get("new", 0) if part.has_origin else part.rows


def with_new(part: Part, rows: int) -> Part:
    """A fresh part with origins, of which so many rows have none but themselves."""
    return _noted(part, new=rows) if rows else part


def _noted(part: Part, **more: Any) -> Part:
    body = {**_decoded(part.stats), **more}
    stats = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    _decoded(stats)  # a merge that follows asks for it
    return replace(part, stats=stats)


def changed_columns(part: Part) -> frozenset[str] | None:
    """The physical columns in which rows may differ from their first versions; None: unknown, so it may be any.

    A column that is not among them has, in every row, the value that the row's first version was written with, provided
    that both parts hold the column, with the same type."""
    if not part.has_origin:
        return frozenset()
    found = _decoded(part.stats).get("changed")
    return None if found is None else frozenset(found)


def with_changed(part: Part, columns: frozenset[str] | None) -> Part:
    """A fresh part of new versions that says what it changed."""
    return part if columns is None else _noted(part, changed=sorted(columns))


def all_differ(part: Part) -> bool:
    """Whether every row is known to show something else than the version that it replaced."""
    return bool(_decoded(part.stats).get("all_differ"))


def saying_all_differ(part: Part) -> Part:
    return _noted(part, all_differ=True)
