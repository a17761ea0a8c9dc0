"""Rows of a keyed table in a merge, by the keyed law.

1. The flush lists are merged; nothing is read for it.
2. Contested keys: those in flushes that both sides touched. Flushes whose keys cannot meet are ruled out by the
   catalog's bounds; of the others the key columns are read.
3. The records of contested keys are fetched, from flushes and never from rewrites, and reduced as the base, each head
   and the merged list have them. The law decides; its rows are kept until the whole merge passes.

The cost follows the change. Nothing is written here but by `place_decided`, when the merge commits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, cast

import numpy as np
import pyarrow as pa

from anabranch.branching.decided import decided_rows
from anabranch.branching.flushes import FlushMerge, merge_flushes
from anabranch.branching.keyed_contest import Contest, contest_of, with_returning
from anabranch.branching.keyed_law import decide, news, with_given, with_required
from anabranch.branching.keyed_rows import Records
from anabranch.branching.row_merge import Replay
from anabranch.branching.rows import Scope, Side
from anabranch.commands.keyed_conflicts import GivenRows, conflicts_of, shown_keys
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.session import Session
from anabranch.engines import KIND, SETS, EngineSpec, engine_spec
from anabranch.engines.kinds import adding
from anabranch.execution.key_index import read_columns
from anabranch.execution.keyed_writer import keys_in, sorted_rows, write_keyed
from anabranch.execution.plan import TableView
from anabranch.execution.records import giving_null, joined, places_of, rows_at
from anabranch.keyed.bounds import Bound
from anabranch.keyed.key_columns import KeyColumns, concat
from anabranch.keyed.keys import match, segment_starts, sort_indices
from anabranch.keyed.standing import keys_now
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.part import Part
from anabranch.model.records import Operation, TableDelta, TableRecord
from anabranch.model.schema import Schema
from anabranch.model.state import TableState, difference
from anabranch.options import option
from anabranch.storage.parquet import Destination

_READERS = 4


@dataclass(frozen=True)
class Lacking:
    """The side whose rows lack a field, how many rows that are, and the key of one of them."""

    side: str
    count: int
    example: Mapping[str, Any]


@dataclass(frozen=True)
class Decided:
    """`rows`: to be written and placed last; none of them: the merged flushes say all."""

    rows: pa.Table | None = None
    conflicts: tuple[ConflictRecord, ...] = ()
    resolved: bool = False
    """Keys in conflict met rows that the user gave."""
    lacking: Mapping[str, Lacking] = field(default_factory=dict)
    """By the field that rows lack and the merged schema wants."""
    news: bool = False
    """Theirs changed a contested key, and shows it otherwise than ours."""


@dataclass(frozen=True)
class Required:
    """Fields that the merged schema wants in every row. `suspects`: field -> flushes with records that may lack it.
    `firm`: fields for which theirs' rows are rather not taken. `only`: fields that the rows of one side alone have."""

    suspects: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    firm: frozenset[str] = frozenset()
    only: Mapping[str, Choice] = field(default_factory=dict)


@dataclass
class KeyedMerge:
    """One keyed table. `bases`: the states of the true bases; the sides' base has what both sides brought as well."""

    session: Session
    table_id: str
    name: str
    bases: Sequence[TableState]
    mine: Side
    other: Side

    @cached_property
    def parts(self) -> dict[int, Part]:
        """Every flush of any side."""
        states = (*self.bases, self.mine.base, self.mine.head, self.other.head)
        return {slot: part for state in states for slot, part in state.parts.items()}

    @cached_property
    def flushes(self) -> FlushMerge:
        born = [slot for slot in self.mine.base.parts if all(slot not in base.parts for base in self.bases)]
        bases = [list(base.parts) for base in self.bases]
        covered = self._covered(self.other.scopes)
        return merge_flushes(bases, list(self.mine.head.parts), list(self.other.head.parts), covered, born)

    def _covered(self, scopes: Sequence[Scope]) -> set[int]:
        """Flushes of any side that lie in one of these scopes."""
        return {slot for slot, part in self.parts.items() if any(scope.covers(part) for scope in scopes)}

    @property
    def news(self) -> bool:
        """Whether theirs has or lacks a flush that ours lacks or has; of one that bases disagree on, both sides did.
        (Another order alone is news where it shows: see `Decided`.)"""
        return set(self.flushes.order) != self.mine.head.parts.keys() or bool(self.flushes.disputed)

    @property
    def is_open(self) -> bool:
        """Whether it takes a look at keys to say that nothing is new."""
        return self.flushes.order != tuple(self.mine.head.parts) or any(self.flushes.crossed)

    def deltas(self) -> list[TableDelta]:
        """What turns ours' list into the merged one."""
        merged = {slot: self.parts[slot] for slot in self.flushes.order}
        return list_deltas(self.mine.head, replace(self.mine.head, parts=merged), self.other)

    # --- contested keys -----------------------------------------------------------------------------------------------

    def decide(
        self,
        schema: Schema,
        spec: EngineSpec,
        choice: Choice | None,
        given: GivenRows | None = None,
        required: Required | None = None,
        returning: Mapping[str, Choice] | None = None,
    ) -> Decided:
        """By the law; `choice` settles what conflicts, and `given` what the user has rows for. `returning`: columns
        that the bases and one side have dropped, and the side that has them."""
        required, returning = required or Required(), returning or {}
        ids = {part.schema_id for part in self.parts.values()}
        written = {id: self.session.catalog.schema(self.table_id, id) for id in ids}
        view = TableView(self.name, schema, self.mine.head, written, self.session.folder(self.table_id))
        keys, partitions = self._contested(view, spec, required, self._without(view, returning))
        if keys is None:
            return Decided()
        records = self._records(view, spec, keys, partitions)
        contest = with_returning(self._contest(records), returning)
        verdict = decide(contest, np.full(records.count, choice or ""))
        resolved = False
        if given is not None:
            # Rows that were given come first; the choice settles what is left.
            clash = verdict.clash if choice is None else decide(contest, np.full(records.count, "")).clash
            resolved = bool(clash.any())
            if resolved:
                taken = with_given(replace(verdict, clash=clash), given(records, contest, clash))
                verdict = replace(taken, clash=taken.clash & verdict.clash)
        verdict, lacking = with_required(contest, verdict, required.suspects, required.firm, required.only)
        conflicts = conflicts_of(self.name, schema, records, contest, verdict)
        rows = decided_rows(records.keys, verdict, contest.merged, spec)
        told = {}
        for name, lack in lacking.items():
            places = np.flatnonzero(lack.keys)
            told[name] = Lacking(lack.side, len(places), shown_keys(schema, records, places[:1])[0])
        placed = rows if len(rows) and not conflicts else None
        return Decided(placed, tuple(conflicts), resolved, told, bool(news(contest).any()))

    def _contested(
        self, view: TableView, spec: EngineSpec, required: Required, without: set[int]
    ) -> tuple[KeyColumns | None, set[str | None]]:
        """Keys that both sides touched, that stand in flushes `without` a column, or whose rows may lack something;
        sorted and distinct. And their partitions."""
        flushes = self.flushes
        touched = (flushes.ours, flushes.theirs, flushes.displaced | flushes.disputed)
        here, there, alone = (
            {slot for slot in slots if self.parts[slot].partition in self._moving} for slots in touched
        )
        here, there, alone = here | flushes.crossed[0], there | flushes.crossed[1], alone | without
        ours, theirs = (self._standing(view, slots) for slots in (here, there))
        mine = _distinct(view, spec, _meeting(ours, theirs))
        other = _distinct(view, spec, _meeting(theirs, ours))
        found = [] if mine is None or other is None else [other.take(match(mine, other)[0])]
        extra = _distinct(view, spec, [self.parts[slot] for slot in sorted(alone)])
        found += [] if extra is None else [extra]
        for name, parts in required.suspects.items():
            found += [self._lacking(view, spec, part, name) for part in parts]
        keys = _sorted(concat(found)) if found else None
        partitions = {self.parts[slot].partition for slot in (*there, *alone)}
        partitions |= {part.partition for parts in required.suspects.values() for part in parts}
        return (keys if keys is not None and len(keys) else None), partitions

    def _without(self, view: TableView, returning: Mapping[str, Choice]) -> set[int]:
        """Flushes that hold no such column, and are new to the side that has it."""
        found = set()
        for name, choice in returning.items():
            column, having = view.schema.physical(name), self.mine if choice == "ours" else self.other
            assert column is not None
            new = (slot for slot in self.flushes.order if slot not in having.head.parts)
            found |= {slot for slot in new if view.written[self.parts[slot].schema_id].stored_as(column) is None}
        return found

    @cached_property
    def _moving(self) -> set[str | None]:
        """Partitions of which the merged list is another than ours', or on which bases disagree: they share no key, so
        each is merged for itself."""
        flushes, ours = self.flushes, tuple(self.mine.head.parts)
        lists = [((self.parts[slot].partition, slot) for slot in slots) for slots in (flushes.order, ours)]
        merged, now = (_by_partition(each) for each in lists)
        moved = {partition for partition in merged.keys() | now.keys() if merged.get(partition) != now.get(partition)}
        return moved | {self.parts[slot].partition for slot in flushes.disputed}

    def _lacking(self, view: TableView, spec: EngineSpec, part: Part, name: str) -> KeyColumns:
        """Keys of which the part has a record that gives NULL to a field."""
        column = view.schema.physical(name)
        stored = view.written[part.schema_id].stored_as(column) if column else None
        null = giving_null(view.files, self.name, part, stored.physical if stored else None)
        return keys_in(read_columns(view, part, spec.key), spec).take(null)

    def _standing(self, view: TableView, slots: Iterable[int]) -> list[_Span]:
        found = []
        for slot in sorted(slots):
            part = self.parts[slot]
            keys = keys_now(part, view.schema, view.written)
            found.append(_Span(part, keys.firsts[0], keys.last))
        return found

    def _records(self, view: TableView, spec: EngineSpec, keys: KeyColumns, partitions: set[str | None]) -> Records:
        parts = [part for part in self.parts.values() if part.partition in partitions]
        places = places_of(view, parts, keys, spec)
        with ThreadPoolExecutor(_READERS) as pool:
            fetched = pool.map(lambda slot: rows_at(view, self.parts[slot], places[slot]), places)
            pieces = list(zip(places, fetched, strict=True))
        rows = joined(rows for _, rows in pieces)
        slots = np.repeat([slot for slot, _ in pieces], [len(rows) for _, rows in pieces])
        owner = np.full(len(rows), -1, np.int64)
        start = 0
        for _, piece in pieces:
            at, here = match(keys_in(piece, spec), keys)
            owner[start + here] = at
            start += len(piece)
        return Records(len(keys), rows, owner, slots.astype(np.int64), spec)

    def _contest(self, records: Records) -> Contest:
        flushes = self.flushes
        overwritten = flushes.theirs & self._covered(self.mine.scopes)
        heads = (tuple(self.mine.head.parts), tuple(self.other.head.parts))
        return contest_of(records, flushes, *heads, overwritten, self._covered(self.other.scopes))


# --- lists ------------------------------------------------------------------------------------------------------------


def list_deltas(now: TableState, then: TableState, theirs: Side, *, undone: bool = False) -> list[TableDelta]:
    """The events that turn one flush list into another, by the classes that theirs knows them by. `undone`: what goes
    counts as never had.

    All placements stand in one delta, the last: their order is the order of arrival.
    """
    change = difference(now, then, ordered=True)
    removed: dict[str, list[int]] = {}
    for slot in change.removed:
        causes = (cause for cause, slots in theirs.gone.items() if slot in slots)
        known = next(causes, "overwrite" if theirs.scopes else "delete")
        removed.setdefault("restore" if undone or slot in theirs.undone else known, []).append(slot)
    classes = [theirs.placed[part.slot] for part in change.placed if part.slot in theirs.placed]
    placing = "overwrite" if "overwrite" in classes else classes[0] if classes else "insert"
    last = replace(change, removed=tuple(removed.pop(placing, ())), cause=cast(Operation, placing))
    made = [
        TableDelta(now.table_id, removed=tuple(slots), cause=cast(Operation, cause)) for cause, slots in removed.items()
    ]
    return [delta for delta in (*made, last) if not delta.is_empty]


def as_replay(deltas: Sequence[TableDelta]) -> Replay:
    """The same events for whoever asks what a merge places."""
    replay = Replay(deltas[0].table_id if deltas else "")
    for delta in deltas:
        replay.placed.setdefault(delta.cause, []).extend(delta.placed)
        replay.removed.setdefault(delta.cause, set()).update(delta.removed)
    return replay


def place_decided(
    session: Session, record: TableRecord, made: TableMerge, written: list[tuple[str, Part]]
) -> list[TableDelta]:
    """Writes the decided rows as fresh parts, which are placed after everything else."""
    assert made.decided is not None
    assert made.schema is not None
    spec = engine_spec(made.schema, record.properties)
    rows = sorted_rows(made.decided, spec)
    plain = bool(adding(rows[KIND].to_numpy()).all())
    rows = rows.select([column.physical for column in made.schema.columns] + ([] if plain else [KIND, SETS]))
    to = Destination(session.folder(record.id), made.schema, option(record.properties, "write.compression"))
    parts = write_keyed(to, [rows], lambda: session.next_slot(record.id), kinds=not plain)
    written += [(record.id, part) for part in parts]
    others, last = made.deltas[:-1], made.deltas[-1] if made.deltas else TableDelta(record.id, cause="update")
    return [*others, replace(last, placed=(*last.placed, *parts))]


def _by_partition(slots: Iterable[tuple[str | None, int]]) -> dict[str | None, list[int]]:
    found: dict[str | None, list[int]] = {}
    for partition, slot in slots:
        found.setdefault(partition, []).append(slot)
    return found


# --- keys -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Span:
    """A part and the bounds of its keys."""

    part: Part
    first: Bound
    last: Bound


def _meeting(some: Sequence[_Span], others: Sequence[_Span]) -> list[Part]:
    """The parts of `some` whose bounds meet those of another in the same partition."""
    by_partition: dict[str | None, list[_Span]] = {}
    for span in others:
        by_partition.setdefault(span.part.partition, []).append(span)
    firsts, reach = {}, {}
    for partition, spans in by_partition.items():
        spans.sort(key=lambda span: span.first)
        firsts[partition] = [span.first for span in spans]
        reach[partition] = list(accumulate((span.last for span in spans), max))
    found = []
    for span in some:
        below = bisect_right(firsts.get(span.part.partition, []), span.last)
        if below and reach[span.part.partition][below - 1] >= span.first:
            found.append(span.part)
    return found


def _distinct(view: TableView, spec: EngineSpec, parts: Sequence[Part]) -> KeyColumns | None:
    """The keys that these parts hold, sorted; only key columns are read."""
    if not parts:
        return None
    with ThreadPoolExecutor(_READERS) as pool:
        return _sorted(concat(list(pool.map(lambda part: keys_in(read_columns(view, part, spec.key), spec), parts))))


def _sorted(keys: KeyColumns) -> KeyColumns:
    keys = keys.take(sort_indices(keys))
    return keys.take(segment_starts(keys))
