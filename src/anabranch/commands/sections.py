"""DESCRIBE SECTIONS: a table of a branch as the sections that its fork left behind and that it made since.

    Snapshot   what the table held at the fork, shared with the parent and never copied
    HSection   rows that the branch added (new versions of updated rows among them)
    VSection   columns that it added; rows of the snapshot have their default there
    RDel       rows of the snapshot that it deleted or updated
    CDel       columns of the snapshot that it dropped

The table is (Snapshot without RDel, without CDel, with VSection) and HSection, one after the other. Bytes are those of
parts and, of RDel, of the bitmaps that hide its rows; what metadata alone says has none. Of a keyed table the parts are
flushes, and rows are compared by key: one that the branch wrote again as it was is the snapshot's still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap

from anabranch.branching.base import canonical, merge_bases
from anabranch.branching.rows import common_state, side_of, visible
from anabranch.catalog.bitmaps import encode
from anabranch.commands.diff_rows import Counts
from anabranch.commands.keyed_diff import count_keys, end_at, end_of
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Session
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState

COLUMNS = ("section", "parts", "rows", "bytes", "columns")


@dataclass(frozen=True)
class KeyCounts:
    """How many keys the snapshot has, and how many differ since."""

    snapshot: int
    since: Counts


@dataclass(frozen=True)
class Sections:
    """`hsection` and `rdel`: slot -> positions, of append tables. `since`: the state that the branch started from.
    `hiding`: the bytes of RDel's bitmaps, one for each part; a part that is gone as a whole needs none.
    `keys`: of a keyed table, the rows of the snapshot and what became of them."""

    table: OpenTable
    since: tuple[Position, ...]
    snapshot: TableState
    snapshot_schema: Schema | None
    hsection: Mapping[int, BitMap]
    hsection_parts: tuple[Part, ...]
    rdel: Mapping[int, BitMap]
    vsection: tuple[Column, ...]
    cdel: tuple[Column, ...]
    hiding: int = 0
    keys: KeyCounts | None = None

    @property
    def rows(self) -> tuple[int, int, int]:
        """Of the snapshot, of HSection, of RDel."""
        if self.keys is None:
            return self.snapshot.rows, _size(self.hsection), _size(self.rdel)
        counts = self.keys.since
        return self.keys.snapshot, counts.inserted + counts.updated, counts.deleted + counts.updated

    def result(self) -> Result:
        held = self.snapshot_schema.columns if self.snapshot_schema else ()
        new, size = self.hsection_parts, sum(part.bytes for part in self.hsection_parts)
        parts = self.snapshot.parts.values()
        held_rows, added, gone = self.rows
        rows: list[list[Any]] = [
            ["Snapshot", len(parts), held_rows, self.snapshot.bytes, _labels(held)],
            ["HSection", len(new), added, size, _labels(self.table.schema.columns)],
            ["VSection", 0, held_rows if self.vsection else 0, 0, _labels(self.vsection)],
            ["RDel", len(self.rdel), gone, self.hiding, ""],
            ["CDel", 0, 0, 0, _labels(self.cdel)],
        ]
        return Result(COLUMNS, rows)


def sections(session: Session, table: OpenTable, against: str | None = None) -> Sections:
    """Since the fork of the table's branch, or since its merge base with another ref."""
    since = _since(session, table, against)
    states = [session.catalog.state(position, table.id) for position in since]
    snapshot, head = common_state(states), session.catalog.state(table.position, table.id)
    schema = _schema(session, table, since)
    if schema is None:
        snapshot = TableState(table.id, since[-1])
    if table.schema.primary_key:
        return _of_flushes(session, table, since, snapshot, schema)
    side = side_of(snapshot, head, ())
    added = {slot: visible(head, slot) for slot in side.placed}
    return Sections(
        table,
        since,
        snapshot,
        schema,
        {slot: rows for slot, rows in {**added, **side.back}.items() if rows},
        tuple(head.parts[slot] for slot in side.placed),
        side.lost,
        *_columns(table, schema),
        hiding=sum(_stored(rows) for slot, rows in side.lost.items() if slot in head.parts),
    )


def _of_flushes(
    session: Session, table: OpenTable, since: tuple[Position, ...], snapshot: TableState, schema: Schema | None
) -> Sections:
    """The snapshot's rows are those that the table has now, without what came and with what went."""
    old, new = end_at(session, table, snapshot), end_of(session, table)
    counts = count_keys(old, new)
    keys = KeyCounts(session.view(table).rows - counts.inserted + counts.deleted, counts)
    added = tuple(part for slot, part in new.view.state.parts.items() if slot not in snapshot.parts)
    return Sections(table, since, snapshot, schema, {}, added, {}, *_columns(table, schema), keys=keys)


def _columns(table: OpenTable, schema: Schema | None) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """VSection and CDel."""
    old, new = schema.columns if schema else (), table.schema.columns
    return (
        tuple(c for c in new if schema is None or schema.stored_as(c) is None),
        tuple(c for c in old if not any(c.physical in (n.physical, *n.aliases) for n in new)),
    )


def _since(session: Session, table: OpenTable, against: str | None) -> tuple[Position, ...]:
    catalog = session.catalog
    branch = catalog.origin
    if against is not None:
        return merge_bases(table.position, session.resolve(against), branch, catalog.merges())
    at = canonical(table.position, branch)
    found = branch(at.branch_id)
    if found.parent_id is not None:
        return (Position(found.parent_id, found.fork),)
    forks = [child.fork for child in catalog.branches() if child.parent_id == at.branch_id and child.fork <= at.version]
    return (Position(at.branch_id, max(forks, default=0)),)


def _schema(session: Session, table: OpenTable, since: Sequence[Position]) -> Schema | None:
    """The schema at the newest of the bases that have the table."""
    for position in sorted(since, key=lambda position: -position.version):
        record = session.catalog.table_by_id(position, table.id)
        if record is not None and not record.dropped:
            return session.catalog.schema(table.id, record.schema_id)
    return None


def _stored(rows: BitMap) -> int:
    """The bytes of dead rows in the catalog."""
    data, _ = encode(rows, "", None)
    return len(data or b"")


def _size(rows: Mapping[int, BitMap]) -> int:
    return sum(map(len, rows.values()))


def _labels(columns: Sequence[Column]) -> str:
    return ", ".join(column.label for column in columns)
