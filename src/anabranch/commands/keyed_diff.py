"""The rows in which two states of a keyed table differ, by key.

1. Only flushes that one of the states lacks, or has in another order, can make a key's row differ: of these the key
   columns are read, and of nothing else.
2. The rows of these keys are brought together on both sides, from the row groups that can hold them, some keys at a
   time; rows that show the same values are left out.

The cost follows the change and not the table. Nothing is asked of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from anabranch.branching.flushes import displaced
from anabranch.commands.diff_rows import Counts, RowDiff, common_columns, equal_rows
from anabranch.commands.session import OpenTable, Session
from anabranch.engines import EngineSpec
from anabranch.execution.key_index import read_columns
from anabranch.execution.keyed_writer import keys_in
from anabranch.execution.plan import TableView
from anabranch.execution.records import rows_of
from anabranch.keyed.key_columns import KeyColumns, concat
from anabranch.keyed.keys import match, segment_starts, sort_indices
from anabranch.model import types
from anabranch.model.part import Part
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.storage.projection import project

KEYS_AT_ONCE = 1 << 18
_READERS = 4


@dataclass(frozen=True)
class End:
    """One of the two states: what its flushes are, what is read in their place, and how records become rows."""

    view: TableView
    parts: tuple[Part, ...]
    spec: EngineSpec

    @property
    def schema(self) -> Schema:
        return self.view.schema

    def none_of(self) -> End:
        """The same table without a record."""
        state = TableState(self.view.state.table_id, self.view.state.position)
        return End(replace(self.view, state=state, rewrites=()), (), self.spec)

    def with_keys(self, key: Sequence[Column]) -> End:
        """Keys read as these types, which are as wide as the table's own or wider."""
        wide = {column.physical: column.type for column in key}
        columns = tuple(replace(c, type=wide.get(c.physical, c.type)) for c in self.schema.columns)
        return replace(self, view=replace(self.view, schema=replace(self.schema, columns=columns)))


@dataclass(frozen=True)
class Changed:
    """Keys whose rows differ: before and after place by place, all NULL where there is none, and which are there."""

    found: RowDiff
    before: pa.Table
    after: pa.Table

    @property
    def counts(self) -> Counts:
        was, now = self.found.before >= 0, self.found.after >= 0
        return Counts(int((now & ~was).sum()), int((was & ~now).sum()), int((was & now).sum()))


def end_of(session: Session, table: OpenTable) -> End:
    view = session.view(table)
    return End(view, view.standing.parts, table.engine)


def end_at(session: Session, table: OpenTable, state: TableState) -> End:
    """The table as if it had this state; read from its flushes as they are."""
    written = {part.schema_id: session.catalog.schema(table.id, part.schema_id) for part in state.parts.values()}
    view = TableView(table.name, table.schema, state, written, session.folder(table.id))
    return End(view, tuple(state.parts.values()), table.engine)


def count_keys(old: End, new: End) -> Counts:
    """How many rows differ, in values: a key that was written again as it was is no difference."""
    counts = [piece.counts for piece in changed(old, new)]
    return Counts(*(sum(getattr(c, name) for c in counts) for name in ("inserted", "deleted", "updated")))


def changed(old: End, new: End) -> Iterator[Changed]:
    """In the order of keys, under the columns of `new`."""
    columns = common_columns(new.schema, old.schema)
    key = [column for column in columns if column.physical in new.spec.key]
    if not all(_reads_as(end.schema, column) for end in (old, new) for column in key):
        # Keys of types that no type holds are different keys.
        yield from _pieces(old, old.none_of(), columns)
        yield from _pieces(new.none_of(), new, columns)
        return
    yield from _pieces(old.with_keys(key), new.with_keys(key), columns)


def _reads_as(schema: Schema, column: Column) -> bool:
    own = schema.physical(column.physical)
    return own is not None and (own.type == column.type or types.widens(own.type, column.type))


def _pieces(old: End, new: End, columns: Sequence[Column]) -> Iterator[Changed]:
    was_parts, now_parts = old.view.state.parts, new.view.state.parts
    gone, came = differing(tuple(was_parts), tuple(now_parts))
    flushes = [(old, was_parts[slot]) for slot in sorted(gone)] + [(new, now_parts[slot]) for slot in sorted(came)]
    if not flushes:
        return
    keys = _keys(flushes)
    partitions = {part.partition for _, part in flushes}
    ends = [replace(e, parts=tuple(p for p in e.parts if p.partition in partitions)) for e in (old, new)]
    for start in range(0, len(keys), KEYS_AT_ONCE):
        some = keys.take(np.arange(start, min(start + KEYS_AT_ONCE, len(keys))))
        (was, before), (now, after) = (_aligned(end, some, columns) for end in ends)
        both = np.flatnonzero(was & now)
        same = both[equal_rows(before.take(pa.array(both)), after.take(pa.array(both)))]
        kept = np.setdiff1d(np.flatnonzero(was | now), same, assume_unique=True)
        found = RowDiff(np.where(was[kept], kept, -1), np.where(now[kept], kept, -1))
        yield Changed(found, before.take(pa.array(kept)), after.take(pa.array(kept)))


def differing(old: Sequence[int], new: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Flushes, by the state that names them, whose keys may have another row: those that one list lacks, and for every
    two that the lists have in another order, one."""
    moved = displaced(old, new)
    return frozenset(old) - frozenset(new), (frozenset(new) - frozenset(old)) | moved


def _keys(flushes: Iterable[tuple[End, Part]]) -> KeyColumns:
    """The keys of these flushes, sorted and distinct."""

    def read(flush: tuple[End, Part]) -> KeyColumns:
        end, part = flush
        return keys_in(read_columns(end.view, part, end.spec.key), end.spec)

    with ThreadPoolExecutor(_READERS) as pool:
        keys = concat(list(pool.map(read, flushes)))
    keys = keys.take(sort_indices(keys))
    return keys.take(segment_starts(keys))


def _aligned(end: End, keys: KeyColumns, columns: Sequence[Column]) -> tuple[np.ndarray, pa.Table]:
    """Which keys are there, and their rows, place by place."""
    rows = rows_of(end.view, end.parts, keys, end.spec)
    there, at = match(keys_in(rows, end.spec), keys)
    places = np.full(len(keys), -1, np.int64)
    places[there] = at
    seen = project(rows, columns, end.schema)
    return places >= 0, seen.take(pa.array(places, mask=places < 0))
