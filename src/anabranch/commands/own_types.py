"""Columns that each side of a merge has in a type of its own, where neither holds the other's values.

Such a column is in conflict, or a resolution took one of the types and rows of the other are still there. Rows are
compared all the same: all other columns in the merged type, these each with the base in the side's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anabranch.branching.equality import unequal
from anabranch.branching.fields import stored_part
from anabranch.branching.law import ADDED, NARROW
from anabranch.branching.members import names_of
from anabranch.branching.readable import Unheld, holds, unreadable
from anabranch.branching.row_merge import Contest
from anabranch.branching.schema_merge import LeftOut, Pairs
from anabranch.branching.settle import Apart
from anabranch.commands.merge_plan import TableMerge
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.types import DataType, common
from anabranch.storage.arrow_types import to_arrow

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger

Versions = Sequence[tuple[TableState, np.ndarray]]
"""States, and the ids of some rows' versions in each of them."""


def pairs_apart(merger: TableMerger, made: TableMerge, versions: Versions) -> Pairs:
    """Columns that are in conflict, or that some of these rows have in a type that the merged one does not hold, or as
    the column that a resolution left out."""
    assert made.schema is not None
    found = dict(made.apart)
    parts = {slot: part for state, ids in versions for slot, part in merger.holding(state, ids).items()}
    for written in merger.written(parts).values():
        for column in unreadable(made.schema, written):
            found.setdefault(column.physical, merger.held_as(column))
        for left in made.left_out:
            if left.held(written):
                mine, other = left.sides
                found.setdefault(left.top, (mine, other))
    return found


def unreadable_type(table: str, place: Unheld, rows_of: Collection[Choice]) -> ConflictRecord:
    """A merged column, or a field inside it, does not hold what rows of these sides have in it."""

    def told(side: Choice, own: DataType) -> str:
        beyond = side in rows_of and not holds(own, place.stored)  # an undone widening leaves such rows
        return f"{own}, and rows of {place.stored}" if beyond else str(own)

    wider_here, wider_there = holds(place.ours, place.theirs), holds(place.theirs, place.ours)
    rule = NARROW if wider_there else "A6.1" if wider_here else "incompatible"
    sides = told("ours", place.ours), told("theirs", place.theirs)
    return ConflictRecord(table, "column", rule, *sides, column=".".join(place.labels))


def added_apart(table: str, left: LeftOut) -> ConflictRecord:
    """A resolution took one of two columns, and rows that stay have the other one."""
    return ConflictRecord(table, "column", ADDED, str(left.ours), str(left.theirs), column=".".join(left.labels))


def without(schema: Schema, pairs: Pairs) -> Schema:
    """What is left to compare in the merged types."""
    return replace(schema, columns=tuple(column for column in schema.columns if column.physical not in pairs))


def in_one_type(column: Column, sides: tuple[Column, Column], written: Iterable[Schema]) -> Column | None:
    """A merged column in a type of a side, or one that both widen to, which holds what all these rows have; None: there
    is no such type."""
    stored = [held.type for one in written if (held := one.stored_as(column)) is not None]
    mine, other = (side.type for side in sides)
    for type_ in (column.type, mine, other, common(mine, other)):
        if type_ is not None and all(holds(type_, one) for one in stored):
            return replace(column, type=type_)
    return None


def theirs_beside(made: TableMerge) -> dict[str, Column]:
    """Columns that both sides added under one label in types that conflict: the label -> theirs' as a column of its
    own, for reading alone. It is NOT NULL if theirs' rows may break that of ours."""
    assert made.schema is not None
    held = {name for column in made.schema.columns for name in (column.physical, *column.aliases)}
    found = {}
    for physical, (_, other) in made.apart.items():
        ours = made.schema.physical(physical)
        if ours is not None and other.physical not in held:
            label = f"{ours.label} (theirs)"
            while made.schema.find(label):
                label = f"{label} (theirs)"
            found[ours.label] = replace(other, label=label, nullable=ours.nullable or not other.nullable)
    return found


def in_one_column(conflict: ConflictRecord, beside: Mapping[str, Column]) -> ConflictRecord:
    """Of rows that were read with theirs' columns beside ours', each side's value under the one label."""

    def told(row: Any, side: Choice) -> Any:
        if not isinstance(row, Mapping):
            return row
        others = {column.label: label for label, column in beside.items()}
        taken = {others[name]: value for name, value in row.items() if name in others and side == "theirs"}
        return {name: value for name, value in row.items() if name not in others} | taken

    return replace(
        conflict,
        ours=told(conflict.ours, "ours"),
        theirs=told(conflict.theirs, "theirs"),
        base=told(conflict.base, "ours"),
    )


def read_apart(
    merger: TableMerger, schema: Schema, pairs: Pairs, contest: Contest, bases: Versions
) -> Mapping[str, Apart]:
    """The contest's rows in these columns, by their labels in the merged schema. Fields that it lacks do not count."""
    found = {}
    for column in schema.columns:
        if column.physical in pairs:
            mine, other = (_by_all_names(own, column) for own in pairs[column.physical])
            before, ours, here = _one_side(merger, mine, (merger.mine.head, contest.ours), bases)
            its, theirs, there = _one_side(merger, other, (merger.other.head, contest.theirs), bases)
            shown = next((old for old in (before, its) if old is not None), pa.nulls(len(contest), ours.type))
            found[column.label] = Apart(shown, ours, theirs, here, there)
    return found


def _by_all_names(own: Column, merged: Column) -> Column:
    """A column as a side has it, by the names that files have for the merged one if the two are one column."""
    names = {*names_of(own), *names_of(merged)} if set(names_of(own)) & set(names_of(merged)) else set(names_of(own))
    return replace(own, type=stored_part(own.type, merged.type), aliases=tuple(sorted(names - {own.physical})))


def _one_side(
    merger: TableMerger, column: Column, head: tuple[TableState, np.ndarray], bases: Versions
) -> tuple[pa.Array | None, pa.Array, np.ndarray]:
    """The column at the first base, if the side's type holds it, and at the head; and where the head differs from a
    base."""
    now = _values(merger, column, *head)
    olds = [_values(merger, column, *base) for base in bases]
    moved = np.zeros(len(head[1]), bool)
    for old, (_, ids) in zip(olds, bases, strict=True):
        # What cannot be read in the side's own type was another type before, and so another value.
        moved |= (ids < 0) | (True if old is None or now is None else unequal(old, now))
    return olds[0], pa.nulls(len(moved), to_arrow(column.type)) if now is None else now, moved


def _values(merger: TableMerger, column: Column, state: TableState, ids: np.ndarray) -> pa.Array | None:
    alone = Schema(0, (column,))
    if any(unreadable(alone, written) for written in merger.written(merger.holding(state, ids)).values()):
        return None
    return merger.rows_of(alone, state, ids).column(0).combine_chunks()
