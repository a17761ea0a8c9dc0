"""DIFF: what turns one state of the lake into another.

The log names the objects that either side touched since their histories parted; only these are compared, attribute by
attribute and, for rows, by origin or, of keyed tables, by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.branching.rows import Origins
from anabranch.branching.versions import alike
from anabranch.commands import partitions
from anabranch.commands.diff_rows import (
    Counts,
    RowDiff,
    common_columns,
    compared,
    count_rows,
    equal_rows,
    pair_rows,
    parts_of,
)
from anabranch.commands.keyed_diff import changed, count_keys, end_of
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Session
from anabranch.drawn import value_shown
from anabranch.errors import NotFound
from anabranch.execution.fetch import Alike, fetch, read_origins
from anabranch.model.history import Position, shared_version
from anabranch.model.names import fold, qualified
from anabranch.model.part import Part
from anabranch.model.records import DatabaseRecord
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.types import DataType, Struct, StructField, declared, inner_types, quote_identifier
from anabranch.storage.arrow_types import arrow_schema

CHANGE = "_change"
COLUMNS = ("object", "kind", "change", "before", "after", "inserted", "deleted", "updated")


@dataclass(frozen=True)
class Line:
    """One difference. Rows are counted where the object is a table, or its rows."""

    object: str
    kind: str
    change: str
    before: Any = None
    after: Any = None
    rows: Counts | None = None

    def cells(self) -> list[Any]:
        counted = [None] * 3 if self.rows is None else [self.rows.inserted, self.rows.deleted, self.rows.updated]
        return [self.object, self.kind, self.change, self.before, self.after, *counted]


def diff(session: Session, old: Position, new: Position) -> Result:
    """Databases, tables, columns, properties, and how many rows; by name."""
    databases, tables = _touched(session, old, new)
    reader = _Reader(session, old, new)
    lines = [line for id in databases for line in reader.database(id)]
    lines.sort(key=lambda line: fold(line.object))
    of_tables = [line for id in tables for line in reader.table(id)]
    of_tables.sort(key=lambda line: fold(line.object))  # stable: the lines of one table stay in their order
    return Result(COLUMNS, [line.cells() for line in (*lines, *of_tables)])


def _touched(session: Session, old: Position, new: Position) -> tuple[list[str], list[str]]:
    catalog = session.catalog
    after = shared_version(catalog.lineage(old), catalog.lineage(new))
    databases: dict[str, None] = {}
    tables: dict[str, None] = {}
    for position in (old, new):
        for _, change in catalog.changes(position, after):
            (databases if change.kind == "database" else tables)[change.object_id] = None
    return list(databases), list(tables)


@dataclass
class _Reader:
    session: Session
    old: Position
    new: Position
    _databases: dict[tuple[Position, str], DatabaseRecord | None] = field(default_factory=dict)

    def _database(self, at: Position, id: str) -> DatabaseRecord | None:
        if (at, id) not in self._databases:
            found = self.session.catalog.database_by_id(at, id)
            self._databases[at, id] = None if found is None or found.dropped else found
        return self._databases[at, id]

    def _table(self, at: Position, id: str) -> OpenTable | None:
        record = self.session.catalog.table_by_id(at, id)
        if record is None or record.dropped:
            return None
        database = self._database(at, record.database_id)
        schema = self.session.catalog.schema(id, record.schema_id)
        return None if database is None else OpenTable(database, record, schema, at)

    def database(self, id: str) -> Iterator[Line]:
        old, new = self._database(self.old, id), self._database(self.new, id)
        if old is None or new is None:
            known = old or new
            if known is not None:
                yield Line(quote_identifier(known.name), "database", "added" if old is None else "dropped")
            return
        name = quote_identifier(new.name)
        if old.name != new.name:
            yield Line(name, "database", "renamed", old.name, new.name)
        yield from _attributes(name, old, new)

    def table(self, id: str) -> Iterator[Line]:
        old, new = self._table(self.old, id), self._table(self.new, id)
        if old is None or new is None:
            known = old or new
            if known is not None:
                rows = self.session.view(known).rows
                counts = Counts(inserted=rows) if old is None else Counts(deleted=rows)
                yield Line(known.name, "table", "added" if old is None else "dropped", rows=counts)
            return
        if (old.database.id, old.record.name) != (new.database.id, new.record.name):
            yield Line(new.name, "table", "renamed", old.name, new.name)
        yield from _attributes(new.name, old.record, new.record)
        if old.schema.id != new.schema.id:
            yield from _columns(new.name, old.schema, new.schema)
        yield from self._named_partitions(old, new)
        counts = self._rows(old, new)
        if counts:
            yield Line(new.name, "rows", "changed", rows=counts)

    def _rows(self, old: OpenTable, new: OpenTable) -> Counts:
        if new.schema.primary_key:
            return count_keys(end_of(self.session, old), end_of(self.session, new))
        states = [self.session.catalog.state(at, new.id) for at in (self.old, self.new)]
        return count_rows(compared(*states), _origins(self.session, new))

    def _named_partitions(self, old: OpenTable, new: OpenTable) -> Iterator[Line]:
        if not new.schema.partitioned_by:
            return
        was, now = (set(self.session.catalog.partitions(table.position, table.id)) for table in (old, new))
        for text in sorted(was ^ now):
            shown = partitions.describe(new, text)
            if text in now:
                yield Line(new.name, "partition", "added", None, shown)
            else:
                yield Line(new.name, "partition", "dropped", shown)


def _attributes(name: str, old: Any, new: Any) -> Iterator[Line]:
    """Properties and comment, of a database or a table."""
    was, now = old.properties, new.properties
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) != now.get(key):
            change = "set" if key in now else "unset"
            yield Line(name, "property", change, _pair(was, key), _pair(now, key))
    if old.comment != new.comment:
        yield Line(name, "comment", "changed", old.comment, new.comment)


def _pair(properties: Mapping[str, str], key: str) -> str | None:
    return f"{key} = {properties[key]}" if key in properties else None


def _columns(table: str, old: Schema, new: Schema) -> Iterator[Line]:
    kept = {c.physical: c for c in old.columns}
    for column in old.columns:
        if new.physical(column.physical) is None and not _unified(column, new):
            yield Line(table, "column", "dropped", _declared(column))
    for column in new.columns:
        before = kept.get(column.physical) or _unified(column, old)
        if before is None:
            yield Line(table, "column", "added", None, _declared(column))
        else:
            yield from _column(table, before, column)
    order = [[c.physical for c in s.columns if new.physical(c.physical) and c.physical in kept] for s in (old, new)]
    if order[0] != order[1]:
        yield Line(table, "column", "moved", ", ".join(old.labels), ", ".join(new.labels))


def _unified(column: Column, other: Schema) -> Column | None:
    """The column of `other` that a merge made one with this one."""
    names = {column.physical, *column.aliases}
    return next((c for c in other.columns if names & {c.physical, *c.aliases}), None)


def _column(table: str, old: Column, new: Column) -> Iterator[Line]:
    if old.label != new.label:
        yield Line(table, "column", "renamed", old.label, new.label)
    if str(old.type) != str(new.type):  # else attributes of fields are told one by one
        label = quote_identifier(new.label)
        yield Line(table, "column", "type", f"{label} {declared(old.type)}", f"{label} {declared(new.type)}")
    for change, was, now in (
        ("nullable", _nullable(old), _nullable(new)),
        ("default", old.write_default, new.write_default),
        ("comment", old.comment, new.comment),
    ):
        if was != now:
            label = quote_identifier(new.label)
            before, after = (None if value is None else f"{label} {value}" for value in (was, now))
            yield Line(table, "column", change, before, after)
    were, are = (dict(_fields(column.type, quote_identifier(new.label))) for column in (old, new))
    for path in [path for path in are if path in were]:
        fields = were[path], are[path]
        if fields[0].nullable != fields[1].nullable:
            before, after = (f"{path} {_nullable(field)}" for field in fields)
            yield Line(table, "column", "nullable", before, after)
        if fields[0].comment != fields[1].comment:
            before, after = (None if field.comment is None else f"{path} {field.comment}" for field in fields)
            yield Line(table, "column", "comment", before, after)


def _nullable(item: Column | StructField) -> str:
    return "NULL" if item.nullable else "NOT NULL"


def _fields(type_: DataType, path: str) -> Iterator[tuple[str, StructField]]:
    """The fields inside a type, by their paths."""
    if isinstance(type_, Struct):
        yield from ((f"{path}.{quote_identifier(field.label)}", field) for field in type_.fields)
    for step, inner in inner_types(type_):
        yield from _fields(inner, f"{path}.{quote_identifier(step)}")


def _declared(column: Column) -> str:
    return f"{quote_identifier(column.label)} {declared(column.type)}{'' if column.nullable else ' NOT NULL'}"


# --- rows -------------------------------------------------------------------------------------------------------------


class Rows(Result):
    """A Result that keeps the Arrow table it was made from, and with it the types."""

    _cell = staticmethod(value_shown)

    def __init__(self, rows: pa.Table, spark: Any = None) -> None:
        values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        super().__init__(rows.column_names, values, spark)
        self._arrow = rows

    def toArrow(self) -> pa.Table:
        return self._arrow


def diff_table(session: Session, old: Position, new: Position, names: Sequence[str]) -> Rows:
    """The rows that differ, `_change` first: '+I', '-D', and '-U' with '+U' right after it.

    Under the columns of `new`. A row that has the same values in both states is left out."""
    rows = changed_rows(session, old, new, names)
    return Rows(rows, session.shared.spark)


def changed_rows(session: Session, old: Position, new: Position, names: Sequence[str]) -> pa.Table:
    before, after = _both(session, old, new, names)
    known = after or before
    assert known is not None
    if known.schema.primary_key:
        return _changed_keys(session, before, after, known)
    was, now = _state(session, before, known.id, old), _state(session, after, known.id, new)
    found = pair_rows(compared(was, now), _origins(session, known))
    columns = known.schema.columns
    if before and after:
        # Files may hold a column that was widened and then dropped, so that the schema tells nothing of it.
        held = {part.schema_id for part in parts_of(was, found.before).values()}
        written = [session.catalog.schema(known.id, id) for id in sorted(held)]
        columns = common_columns(after.schema, before.schema, *written)
    found, pieces = _fetched(session, known, columns, (was, now), found)
    return _marked(found, *pieces)


def _changed_keys(session: Session, before: OpenTable | None, after: OpenTable | None, known: OpenTable) -> pa.Table:
    """The same of a keyed table, in the order of keys."""
    end = end_of(session, known)
    old, new = (end.none_of() if table is None else end_of(session, table) for table in (before, after))
    pieces = [_marked(piece.found, piece.before, piece.after) for piece in changed(old, new)]
    empty = RowDiff(np.empty(0, np.int64), np.empty(0, np.int64))
    columns = [replace(column, nullable=True) for column in common_columns(new.schema, old.schema)]
    none = arrow_schema(columns).empty_table()
    return pa.concat_tables([_marked(empty, none, none), *pieces])


def _state(session: Session, table: OpenTable | None, id: str, at: Position) -> TableState:
    """Of a table that is not there, nothing: its parts outlive a drop."""
    return TableState(id, at) if table is None else session.catalog.state(at, id)


def _both(
    session: Session, old: Position, new: Position, names: Sequence[str]
) -> tuple[OpenTable | None, OpenTable | None]:
    """The table at both ends, by the name that it has at either; the newer one decides what the name means."""
    reader = _Reader(session, old, new)
    found = session.find_table(names, new) or session.find_table(names, old)
    if found is None:
        known = [r for at in (new, old) for r in _names(session, at)]
        raise NotFound("table", qualified(*names), known)
    return reader._table(old, found.id), reader._table(new, found.id)


def _names(session: Session, at: Position) -> list[str]:
    names = {record.id: record.name for record in session.catalog.databases(at)}
    return [qualified(names[r.database_id], r.name) for r in session.catalog.tables(at) if r.database_id in names]


def _fetched(
    session: Session, table: OpenTable, columns: Sequence[Column], states: Sequence[TableState], found: RowDiff
) -> tuple[RowDiff, tuple[pa.Table, pa.Table]]:
    """The values before and after; rows that are alike are left out of all three.

    Of two versions, the one in the smaller part is read in full, the other only where it may differ."""
    parts = {**parts_of(states[0], found.before), **parts_of(states[1], found.after)}
    written = {part.schema_id: session.catalog.schema(table.id, part.schema_id) for part in parts.values()}

    def read(ids: np.ndarray, known: Sequence[Alike] = ()) -> pa.Table:
        return fetch(session.folder(table.id), table.name, parts, written, columns, ids, known)

    before_first = found.before_is_smaller(parts)
    first = np.where(before_first, found.before, found.after)
    second = np.where(before_first, found.after, found.before)
    rows = read(first)
    others = read(second, [Alike(rows, alike(columns, second, first, parts, written))])
    both = np.flatnonzero(second >= 0)
    same = both[equal_rows(rows.take(pa.array(both)), others.take(pa.array(both)))]
    kept = np.delete(np.arange(len(first)), same)
    pieces = pa.concat_tables([rows, others])
    before, after = (
        pieces.take(pa.array(np.where(is_first, kept, len(first) + kept)))
        for is_first in (before_first[kept], ~before_first[kept])
    )
    return found.without(same), (before, after)


def _marked(found: RowDiff, before: pa.Table, after: pa.Table) -> pa.Table:
    """Both tables in one, place by place, what was before what is."""
    was, now = found.before >= 0, found.after >= 0
    count = len(was)
    marks = np.concatenate([np.where(now, "-U", "-D"), np.where(was, "+U", "+I")])
    place = np.concatenate([np.flatnonzero(was), count + np.flatnonzero(now)])
    order = pa.array(place[np.argsort(place % max(count, 1), kind="stable")])
    rows = pa.concat_tables([before, after]).take(order)
    return rows.add_column(0, CHANGE, pa.array(marks, pa.string()).take(order))


def _origins(session: Session, table: OpenTable) -> Origins:
    @cache
    def read(part: Part) -> np.ndarray:
        return read_origins(session.folder(table.id), part, table.name)

    return read
