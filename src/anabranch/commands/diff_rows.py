"""The rows in which two states of a table differ, by origin: inserted, deleted, or another version of the same row.

Counts come from the states alone; of the files nothing is read but the origins of updated parts that only one of the
states has. Rows are then fetched by their ids, so the cost follows the change and not the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.equality import unequal
from anabranch.branching.rows import Origins, Side, ids_of, origins_of, side_of, visible
from anabranch.model import types
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.types import Array, DataType, Map, Struct, StructField


@dataclass(frozen=True)
class Counts:
    inserted: int = 0
    deleted: int = 0
    updated: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.deleted or self.updated)


@dataclass(frozen=True)
class RowDiff:
    """Ids before and after, place by place: -1 where there is no row. In the order of origins."""

    before: np.ndarray
    after: np.ndarray

    def without(self, places: np.ndarray) -> RowDiff:
        return RowDiff(np.delete(self.before, places), np.delete(self.after, places))

    def before_is_smaller(self, parts: Mapping[int, Part]) -> np.ndarray:
        """Where the version before lies in the smaller part, or is the only one."""
        sizes = [_sizes(ids, parts) for ids in (self.before, self.after)]
        return sizes[0] < sizes[1]


def _sizes(ids: np.ndarray, parts: Mapping[int, Part]) -> np.ndarray:
    """The bytes of every row's part; more than any part has where there is no row."""
    slots, at = np.unique(np.where(ids >= 0, ids >> POSITION_BITS, -1), return_inverse=True)
    none = np.iinfo(np.int64).max
    return np.array([parts[slot].bytes if slot >= 0 else none for slot in slots.tolist()], np.int64)[at]


def compared(old: TableState, new: TableState) -> Side:
    """What `new` has and `old` has not, and the other way round."""
    return side_of(old, new, ())


def count_rows(side: Side, origins: Origins) -> Counts:
    """How many rows differ. A row of which only the version differs counts as updated, whatever its values."""
    gone, new = side.lost, _new(side)
    lost, gained = _size(gone), _size(new)
    if not (lost and gained and _may_pair(side, gone, new)):
        return Counts(gained, lost)
    was = origins_of(ids_of(gone), side.base.parts, origins)
    # A row of a part without origins can only be another version of a row that came from that very part.
    came_from = set(np.unique(was >> POSITION_BITS).tolist())
    parts = side.head.parts
    near = {slot: rows for slot, rows in new.items() if parts[slot].has_origin or slot in came_from}
    both = len(np.intersect1d(was, origins_of(ids_of(near), parts, origins), assume_unique=True))
    return Counts(gained - both, lost - both, both)


def pair_rows(side: Side, origins: Origins) -> RowDiff:
    """Every row that differs; versions of one row stand together."""
    before, after = ids_of(side.lost), ids_of(_new(side))
    was, now = origins_of(before, side.base.parts, origins), origins_of(after, side.head.parts, origins)
    every = np.unique(np.concatenate([was, now]))
    paired = RowDiff(np.full(len(every), -1, np.int64), np.full(len(every), -1, np.int64))
    paired.before[np.searchsorted(every, was)] = before
    paired.after[np.searchsorted(every, now)] = after
    return paired


def _new(side: Side) -> dict[int, BitMap]:
    return {**{slot: visible(side.head, slot) for slot in side.placed}, **side.back}


def _size(rows: Mapping[int, BitMap]) -> int:
    return sum(map(len, rows.values()))


def _may_pair(side: Side, gone: Mapping[int, BitMap], new: Mapping[int, BitMap]) -> bool:
    """Without origins on either side, no row is a version of another."""
    return any(side.base.parts[slot].has_origin for slot in gone) or any(side.head.parts[s].has_origin for s in new)


# --- values -----------------------------------------------------------------------------------------------------------


def common_columns(new: Schema, *old: Schema) -> tuple[Column, ...]:
    """The columns of `new`, wide enough to hold the rows of the others too; text where no type holds both."""
    columns = new.columns
    for schema in old:
        columns = tuple(_wide_enough(column, schema.columns) for column in columns)
    return columns


Named = TypeVar("Named", Column, StructField)


def _wide_enough(column: Named, old: Sequence[Named]) -> Named:
    """Of columns, and of fields inside structs."""
    names = _names(column)
    for other in old:
        if names & _names(other):
            aliases = tuple(sorted((names | _names(other)) - {column.physical}))
            return replace(column, type=_wide_type(column.type, other.type), aliases=aliases)
    return column


def _names(column: Column | StructField) -> set[str]:
    """All that files may call it."""
    return {column.physical, *column.aliases}


def _wide_type(new: DataType, old: DataType) -> DataType:
    if types.widens(old, new):
        return new
    if isinstance(new, Struct) and isinstance(old, Struct):
        return Struct(tuple(_wide_enough(field, old.fields) for field in new.fields))
    if isinstance(new, Array) and isinstance(old, Array):
        return replace(new, element=_wide_type(new.element, old.element))
    if isinstance(new, Map) and isinstance(old, Map):
        return replace(new, key=_wide_type(new.key, old.key), value=_wide_type(new.value, old.value))
    if not types.is_atomic(new):
        return new
    return old if types.widens(new, old) else types.STRING


def equal_rows(one: pa.Table, other: pa.Table) -> np.ndarray:
    """Row by row, NULL equal to NULL and NaN to NaN."""
    same = np.ones(one.num_rows, bool)
    for mine, its in zip(one.columns, other.columns, strict=True):
        same &= ~unequal(mine.combine_chunks(), its.combine_chunks())
    return same


def parts_of(state: TableState, ids: np.ndarray) -> dict[int, Part]:
    return {slot: state.parts[slot] for slot in np.unique(ids[ids >= 0] >> POSITION_BITS).tolist()}
