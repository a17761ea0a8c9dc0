"""A6.2 and A6.3: rows that would have NULL where the merged schema says NOT NULL.

They conflict. A resolution never throws away what stands on ours: under OURS a NOT NULL that ours has stays, and the
versions of theirs that break it are not taken; any other NOT NULL that a merged row would break gives way, and so do
all under THEIRS, whose rows then come as they are. A constraint can be set again once the rows are mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.aliases import with_aliases
from anabranch.branching.fields import as_stored
from anabranch.branching.law import REQUIRED
from anabranch.branching.readable import newly_required, newly_required_fields
from anabranch.branching.row_merge import Replay
from anabranch.branching.rows import ids_of, origins_of, visible
from anabranch.commands.merge_plan import TableMerge
from anabranch.execution.required import Path, lacking, required
from anabranch.model.conflict import ConflictRecord
from anabranch.model.names import fold
from anabranch.model.part import Part, bounds_of
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.types import DataType, Struct, inner_types
from anabranch.model.words import counted
from anabranch.storage.row_ids import row_ids, united
from anabranch.texts import named_values

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger

From = Literal["ours", "theirs", "both"]
"""Whose version a row is; both: the merge makes it."""
_EXAMPLE = 3
"""So many columns of a row tell a person which it is."""


@dataclass(frozen=True)
class Lack:
    """So many rows with NULL at a path. `ids` None: nobody asked which, they are among the `part`'s; of combined rows
    they are their places."""

    path: Path
    side: From
    rule: str
    count: int
    ids: np.ndarray | None
    part: Part | None = None


def require(merger: TableMerger, made: TableMerge, replay: Replay, ours: Schema) -> tuple[Schema, list[ConflictRecord]]:
    """The schema that the merged rows fit, and the conflicts. If the user chose a side there are none, and theirs'
    versions that are not taken leave the replay. `ours`: the schema before the merge."""
    assert made.schema is not None
    schema = made.schema
    placed = (part for parts in replay.placed.values() for part in parts)
    simple = schema is ours and made.combined is None and not replay.revived
    if simple and all(part.schema_id == ours.id for part in placed):
        return schema, []
    check = _Check(merger, made, replay, ours)
    found = list(check.lacks())
    if not found or merger.choice is None:
        alike: dict[tuple[Path, From], list[Lack]] = {}
        for lack in found:
            alike.setdefault((lack.path, lack.side), []).append(lack)
        return schema, [_record(check, lacks) for lacks in alike.values()]
    paths = {lack.path for lack in found}
    kept = {path for path in paths if merger.choice == "ours" and _requires(ours, schema, path)}
    kept -= {lack.path for lack in found if lack.side == "ours"}
    for path in sorted(paths - kept):
        schema = _relaxed(schema, path)
    check.leave_out([lack for lack in found if lack.path in kept])
    return schema, []


def _record(check: _Check, lacks: Sequence[Lack]) -> ConflictRecord:
    """Of one side and path: how many rows, and one of them, so that a person finds the others."""
    last, label = lacks[-1], ".".join(lacks[-1].path)
    words = (REQUIRED, rows_without(label, sum(lack.count for lack in lacks), check.example(lacks)))
    ours, theirs = words if check.is_of_theirs(last) else words[::-1]
    return ConflictRecord(check.merger.name, "column", last.rule, ours, theirs, column=label)


def rule_of(column: Column, side: str, *, is_stored: bool) -> str:
    """A6.2 is about a column of ours that theirs' rows never had; one that has a default by now is not."""
    return "A6.2" if side == "theirs" and not is_stored and column.write_default is None else "A6.3"


def rows_without(column: str, count: int, example: Mapping[str, Any]) -> str:
    """`example`: some columns of one of the rows."""
    such = f" ({'' if count == 1 else 'such as '}{named_values(example)})" if example else ""
    return f"{counted(count, 'row')} without '{column}'{such}"


class _Check:
    def __init__(self, merger: TableMerger, made: TableMerge, replay: Replay, ours: Schema) -> None:
        assert made.schema is not None
        self.merger, self.made, self.replay, self.ours = merger, made, replay, ours
        self.schema = self._with_others(made.schema)
        self.head = merger.mine.head
        self.dead = united([self.head.dead, *replay.killed.values()])
        self.placed = {part.slot: part for parts in replay.placed.values() for part in parts}

    def _with_others(self, schema: Schema) -> Schema:
        """Of two columns that both sides added, and that cannot be one, the rows of each side have its own."""
        theirs = self.merger.theirs
        if not self.made.beside or theirs is None:
            return schema
        written = [self.ours.columns, self.merger.schema(theirs).columns]
        return replace(schema, columns=with_aliases(schema.columns, written, self.made.beside.items()))

    def lacks(self) -> Iterator[Lack]:
        for part in self.placed.values():
            back = self.replay.revived.get(part.slot, BitMap())
            yield from self._of_part(part, "theirs", self.dead.get(part.slot, BitMap()) - back)
        for slot, rows in self.replay.revived.items():
            if slot in self.head.parts:
                part = self.head.parts[slot]
                yield from self._of_part(part, "theirs", BitMap(range(part.rows)) - rows)
        if self.schema != self.ours:
            removed = {slot for slots in self.replay.removed.values() for slot in slots}
            for slot, part in self.head.parts.items():
                if slot not in removed:
                    yield from self._of_part(part, "ours", self.dead.get(slot, BitMap()))
        yield from self._of_combined()

    def _of_part(self, part: Part, side: From, dead: BitMap) -> Iterator[Lack]:
        if len(dead) >= part.rows:
            return
        written = self.merger.catalog.schema(self.merger.id, part.schema_id)
        for column in newly_required(self.schema, written):
            stored = written.stored_as(column)
            stats = None if stored is None else bounds_of(part, stored.physical)
            if stats is not None and stats.nulls == 0:
                continue
            rule = rule_of(column, side, is_stored=stored is not None)
            known = part.rows if stored is None else (stats.nulls or 0) if stats is not None else 0
            if known and not dead and self.merger.choice is None:
                # All rows of the part are there: nothing to read.
                ids = row_ids(part.slot, 0, part.rows) if stored is None else None
                yield Lack((column.label,), side, rule, known, ids, part)
            else:
                yield from self._read(part, dead, (column.label,), side, rule)
        for path in newly_required_fields(self.schema, written):
            yield from self._read(part, dead, path, side, "A6.3")

    def _read(self, part: Part, dead: BitMap, path: Path, side: From, rule: str) -> Iterator[Lack]:
        ids = row_ids(part.slot, 0, part.rows)
        ids = np.delete(ids, np.asarray(dead.to_array(), np.int64)) if dead else ids
        rows = self._rows_of([self.schema.column(path[0])], side, part, ids)
        found = ids[lacking(rows.column(path[0]), path[1:])]
        if len(found):
            yield Lack(path, side, rule, len(found), found)

    def _rows_of(self, columns: Iterable[Column], side: From, part: Part, ids: np.ndarray) -> pa.Table:
        """In the part's own types, which the merged ones need not hold."""
        written = self.merger.written({part.slot: part})[part.schema_id]
        schema = Schema(0, tuple(as_stored(column, written) for column in columns))
        return self.merger.rows_of(schema, self._state(side), ids)

    def _of_combined(self) -> Iterator[Lack]:
        rows = self.made.combined
        for column in self.schema.columns if rows is not None else ():
            assert rows is not None
            for path in required(column):
                places = np.flatnonzero(lacking(rows.column(path[0]), path[1:]))
                if len(places):
                    yield Lack(path, "both", "A6.3", len(places), places)

    def is_of_theirs(self, lack: Lack) -> bool:
        """Who brought the NULL. Into a row that the merge makes it came from the side that allows it."""
        return lack.side == "theirs" or (lack.side == "both" and _requires(self.ours, self.schema, lack.path))

    def example(self, lacks: Sequence[Lack]) -> dict[str, Any]:
        """The first columns of a row that lacks something; one part is searched for it at most."""
        known = next((lack for lack in lacks if lack.ids is not None), lacks[0])
        if known.ids is None:
            assert known.part is not None
            known = next(self._read(known.part, BitMap(), known.path, known.side, known.rule), known)
        if known.ids is None:
            return {}
        labels = {fold(column.label): column for column in self.schema.columns}  # two may have one, and conflict
        columns = [column for column in labels.values() if column.label != known.path[0]][:_EXAMPLE]
        if known.side == "both":
            assert self.made.combined is not None
            rows = self.made.combined.take(pa.array(known.ids[:1])).select([column.label for column in columns])
        else:
            ids = known.ids[:1]
            part = next(iter(self.merger.holding(self._state(known.side), ids).values()))
            rows = self._rows_of(columns, known.side, part, ids)
        example: dict[str, Any] = rows.to_pylist()[0] if columns else {}
        return example

    def _state(self, side: From) -> TableState:
        return self.head if side == "ours" else self.merger.other.head

    # --- under OURS ---------------------------------------------------------------------------------------------------

    def leave_out(self, lacks: list[Lack]) -> None:
        """Theirs' versions go; of rows that ours has too, ours' version is written again as the latest one."""
        none = np.empty(0, np.int64)
        ids = np.unique(np.concatenate([none, *(k.ids for k in lacks if k.side == "theirs" and k.ids is not None)]))
        places = np.unique(np.concatenate([none, *(k.ids for k in lacks if k.side == "both" and k.ids is not None)]))
        origins = origins_of(ids, {**self.head.parts, **self.placed}, self.merger.origins)
        made, schema = self.made, self.made.schema
        assert schema is not None
        if len(places):
            assert made.combined is not None
            assert made.origins is not None
            origins = np.concatenate([origins, made.origins[places]])
            keep = np.setdiff1d(np.arange(len(made.origins)), places)
            made.combined, made.origins = made.combined.take(pa.array(keep)), made.origins[keep]
        self.replay.kill_ids("update", ids)
        killed = united(self.replay.killed.values())
        ours = {slot: rows & visible(self.head, slot) for slot, rows in killed.items() if slot in self.head.parts}
        candidates = ids_of(ours)
        own = origins_of(candidates, self.head.parts, self.merger.origins)
        back = np.isin(own, origins)
        if back.any():
            made.repeat(self.merger.rows_of(schema, self.head, candidates[back]), own[back], candidates[back])


def _requires(ours: Schema, merged: Schema, path: Path) -> bool:
    """Whether ours itself has NOT NULL there."""
    column = merged.column(path[0])
    mine = ours.stored_as(column)
    if mine is None:
        return False
    type_, other, nullable = mine.type, column.type, mine.nullable
    for step in path[1:]:
        if not isinstance(other, Struct):
            there = dict(inner_types(type_))
            if step not in there:
                return False
            type_, other, nullable = there[step], dict(inner_types(other))[step], True
            continue
        wanted = next(field for field in other.fields if field.label == step)
        names = {wanted.physical, *wanted.aliases}
        fields = type_.fields if isinstance(type_, Struct) else ()
        held = next((field for field in fields if field.physical in names), None)
        if held is None:
            return False
        type_, other, nullable = held.type, wanted.type, held.nullable
    return not nullable


def _relaxed(schema: Schema, path: Path) -> Schema:
    label, *fields = path
    columns = tuple(
        column if column.label != label
        else replace(column, type=_relaxed_type(column.type, fields)) if fields
        else replace(column, nullable=True)
        for column in schema.columns
    )  # fmt: skip
    return replace(schema, columns=columns)


def _relaxed_type(type_: DataType, path: list[str]) -> DataType:
    step, *rest = path
    if isinstance(type_, Struct):
        fields = tuple(
            field if field.label != step
            else replace(field, type=_relaxed_type(field.type, rest)) if rest
            else replace(field, nullable=True)
            for field in type_.fields
        )  # fmt: skip
        return Struct(fields)
    return replace(type_, **{step: _relaxed_type(dict(inner_types(type_))[step], rest)})
