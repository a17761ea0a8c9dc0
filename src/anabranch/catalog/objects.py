"""Databases, tables, schemas and partitions at a position: the last record along the lineage decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy import BindParameter, ColumnElement, Table, and_, bindparam, func, select

from anabranch import given
from anabranch.catalog.along import Along, On, in_batches
from anabranch.catalog.engine import Run
from anabranch.catalog.log import Log
from anabranch.catalog.opened import Names
from anabranch.catalog.tables import (
    commit_log,
    database_record,
    hidden_schema,
    partition_record,
    schema_body,
    table_record,
)
from anabranch.errors import CatalogError
from anabranch.model.history import Lineage, Position
from anabranch.model.names import fold
from anabranch.model.records import DatabaseRecord, TableRecord
from anabranch.model.schema import Schema


def _latest(table: Table, of: ColumnElement[bool] | None = None) -> Along:
    """The last record of each object along a lineage."""

    def build(on: On) -> Any:
        rank = func.row_number().over(partition_by=table.c.id, order_by=table.c.version.desc()).label("rank")
        ranked = select(table, rank).select_from(on(table))
        each = (ranked if of is None else ranked.where(of)).subquery("each")
        return select(each).where(each.c.rank == 1).order_by(each.c.version)

    return Along(build)


_once_database, _once_table = database_record.alias("once"), table_record.alias("once")
_names: BindParameter[Any] = bindparam("names", expanding=True)
# Objects that have, or had anywhere, one of these names or that database; their last records say whether they still do.
_any_database_named = select(_once_database.c.id).where(_once_database.c.folded.in_(_names))
_any_table_in = select(_once_table.c.id).where(_once_table.c.database_id == bindparam("database"))
_any_table_named = _any_table_in.where(_once_table.c.folded.in_(_names))
_ids: BindParameter[Any] = bindparam("ids", expanding=True)

_DATABASES = _latest(database_record)
_DATABASES_BY_ID = _latest(database_record, database_record.c.id.in_(_ids))
_DATABASES_NAMED = _latest(database_record, database_record.c.id.in_(_any_database_named))
_TABLES = _latest(table_record)
_TABLES_BY_ID = _latest(table_record, table_record.c.id.in_(_ids))
_TABLES_NAMED = _latest(table_record, table_record.c.id.in_(_any_table_named))
_TABLES_IN = _latest(table_record, table_record.c.id.in_(_any_table_in))

# All of these tables' schemas of these ids: more than was asked for, if tables differ in their ids, and never too few.
_SCHEMAS = select(schema_body).where(
    schema_body.c.table_id.in_(_ids), schema_body.c.schema_id.in_(bindparam("schemas", expanding=True))
)


def _schema_versions(on: On) -> Any:
    same = and_(commit_log.c.branch_id == table_record.c.branch_id, commit_log.c.version == table_record.c.version)
    return (
        select(table_record.c.id, table_record.c.version, commit_log.c.time_us, table_record.c.schema_id)
        .select_from(on(table_record).join(commit_log, same))
        .where(table_record.c.id.in_(_ids))
        .order_by(table_record.c.version)
    )


def _hidden(on: On) -> Any:
    return (
        select(hidden_schema.c.table_id, hidden_schema.c.version, hidden_schema.c.schema_id)
        .select_from(on(hidden_schema))
        .where(hidden_schema.c.table_id.in_(_ids))
        .order_by(hidden_schema.c.version, hidden_schema.c.schema_id)
    )


def _partition_events(on: On) -> Any:
    return (
        select(partition_record.c.table_id, partition_record.c.partition_values, partition_record.c.dropped)
        .select_from(on(partition_record))
        .where(partition_record.c.table_id.in_(_ids))
        .order_by(partition_record.c.version, partition_record.c.seq)
    )


_SCHEMA_VERSIONS, _PARTITIONS = Along(_schema_versions), Along(_partition_events)
_HIDDEN = Along(_hidden)


Found = TypeVar("Found")


class Objects(Log):
    """What there is at a position. Lists hold what is live, by name; look-ups by id find dropped objects too."""

    def databases(self, position: Position) -> list[DatabaseRecord]:
        rows = _last(_DATABASES.rows(self._db.rows, self.lineage(position)))
        return _by_name(map(_database, rows))

    def database(self, position: Position, name: str) -> DatabaseRecord | None:
        return self._meaning(
            position,
            (fold(given.name("database", name)),),
            lambda: self._databases_named(self._db.rows, self.lineage(position), [name]).get(fold(name)),
        )

    def database_by_id(self, position: Position, database_id: str) -> DatabaseRecord | None:
        return self.databases_by_id(position, [database_id]).get(database_id)

    def databases_by_id(self, position: Position, ids: Iterable[str]) -> dict[str, DatabaseRecord]:
        return self._remembered(position, ids, self._databases_by_id)

    def tables(self, position: Position, database_id: str | None = None) -> list[TableRecord]:
        return self._tables_in(self._db.rows, self.lineage(position), database_id)

    def table(self, position: Position, database_id: str, name: str) -> TableRecord | None:
        return self._meaning(
            position,
            (database_id, fold(name)),
            lambda: self.tables_named(position, database_id, [name]).get(fold(name)),
        )

    def _meaning(self, position: Position, key: tuple[str, ...], read: Callable[[], Found | None]) -> Found | None:
        """What a name means, asked once a version, and not again after commits that only changed rows."""
        names = self._memory.names.get(position.branch_id)
        if names is None or names.version != position.version:
            names = self._memory.names[position.branch_id] = Names(position.version, {})
        found: Found | None = names.found.get(key)
        if found is None:
            found = read()
            if found is not None:
                names.found[key] = found
        return found

    def tables_named(self, position: Position, database_id: str, names: Iterable[str]) -> dict[str, TableRecord]:
        """Folded name -> live table of that database."""
        return self._tables_named(self._db.rows, self.lineage(position), database_id, names)

    def table_by_id(self, position: Position, table_id: str) -> TableRecord | None:
        return self.tables_by_id(position, [table_id]).get(table_id)

    def tables_by_id(self, position: Position, ids: Iterable[str]) -> dict[str, TableRecord]:
        return self._remembered(position, ids, self._tables_by_id)

    def _remembered(
        self, position: Position, ids: Iterable[str], read: Callable[[Run, Lineage, list[str]], dict[str, Found]]
    ) -> dict[str, Found]:
        """Records by id, which at a version never change."""
        memory, found, missing = self._memory.records, dict[str, Found](), list[str]()
        for id in ids:
            record: Found | None = memory.get((position, id))
            if record is None:
                missing.append(id)
            else:
                found[id] = record
        if missing:
            for id, record in read(self._db.rows, self.lineage(position), missing).items():
                found[id] = memory[position, id] = record
        return found

    def schema(self, table_id: str, schema_id: int) -> Schema:
        return self.schema_at_hand(table_id, schema_id) or self.schemas([(table_id, schema_id)])[table_id, schema_id]

    def schema_at_hand(self, table_id: str, schema_id: int) -> Schema | None:
        """One that this process has read or made before."""
        return self._memory.schemas.get((table_id, schema_id))

    def schemas(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Schema]:
        """(table, schema id) -> schema."""
        memory, wanted = self._memory.schemas, set(keys)
        found = {key: schema for key in wanted if (schema := memory.get(key)) is not None}

        def read(batch: list[tuple[str, int]]) -> Sequence[Any]:
            values = {"ids": list({table for table, _ in batch}), "schemas": list({schema for _, schema in batch})}
            return self._db.rows(_SCHEMAS, values)

        for table_id, schema_id, body in in_batches(wanted - found.keys(), read):
            if (table_id, schema_id) in wanted:
                found[table_id, schema_id] = memory[table_id, schema_id] = Schema.from_json(schema_id, body)
        for table_id, schema_id in wanted - found.keys():
            raise CatalogError(f"the catalog holds no schema {schema_id} of table {table_id!r}")
        return found

    def schema_history(self, position: Position, table_id: str) -> list[tuple[int, int, int]]:
        """(version, time, schema id) of each change of the visible schema, oldest first."""
        found: list[tuple[int, int, int]] = []
        for _, version, time_us, schema_id in _SCHEMA_VERSIONS.rows(
            self._db.rows, self.lineage(position), {"ids": [table_id]}
        ):
            if not found or found[-1][2] != schema_id:
                found.append((version, time_us, schema_id))
        return found

    def hidden_schemas(self, position: Position, table_id: str) -> list[tuple[int, int]]:
        """(version, schema id) of the schemas that merges brought with their data, oldest first."""
        rows = _HIDDEN.rows(self._db.rows, self.lineage(position), {"ids": [table_id]})
        return [(row.version, row.schema_id) for row in rows]

    def schema_ids(self, position: Position, table_ids: Iterable[str]) -> dict[str, set[int]]:
        """Table -> its schemas up to here, those that merges brought too."""
        found: dict[str, set[int]] = {table_id: set() for table_id in table_ids}
        for along in (_SCHEMA_VERSIONS, _HIDDEN):
            for table_id, *_, schema_id in self._along(along, position, found):
                found[table_id].add(schema_id)
        return found

    def partitions(self, position: Position, table_id: str) -> list[str]:
        """The partitions that were added by name and not dropped since, in the order of adding."""
        return self.partitions_of(position, [table_id])[table_id]

    def partitions_of(self, position: Position, table_ids: Iterable[str]) -> dict[str, list[str]]:
        live: dict[str, dict[str, None]] = {table_id: {} for table_id in table_ids}
        for table_id, values, dropped in self._along(_PARTITIONS, position, live):
            live[table_id].pop(values, None)
            if not dropped:
                live[table_id][values] = None
        return {table_id: list(found) for table_id, found in live.items()}

    def _along(self, along: Along, position: Position, ids: Iterable[str]) -> list[Any]:
        segments = self.lineage(position)
        return in_batches(ids, lambda batch: along.rows(self._db.rows, segments, {"ids": batch}))

    # --- inside: the same on any connection, and for many at once

    def _databases_named(self, run: Run, segments: Lineage, names: Iterable[str]) -> dict[str, DatabaseRecord]:
        """Folded name -> live database."""
        folded = {fold(name) for name in names}
        rows = in_batches(folded, lambda batch: _DATABASES_NAMED.rows(run, segments, {"names": batch}))
        return {fold(r.name): r for r in map(_database, _last(rows)) if not r.dropped and fold(r.name) in folded}

    def _databases_by_id(self, run: Run, segments: Lineage, ids: Iterable[str]) -> dict[str, DatabaseRecord]:
        rows = in_batches(ids, lambda batch: _DATABASES_BY_ID.rows(run, segments, {"ids": batch}))
        return {record.id: record for record in map(_database, _last(rows))}

    def _tables_in(self, run: Run, segments: Lineage, database_id: str | None) -> list[TableRecord]:
        if database_id is None:
            return _by_name(map(_table, _last(_TABLES.rows(run, segments))))
        rows = _last(_TABLES_IN.rows(run, segments, {"database": database_id}))
        return _by_name(record for record in map(_table, rows) if record.database_id == database_id)

    def _tables_named(
        self, run: Run, segments: Lineage, database_id: str, names: Iterable[str]
    ) -> dict[str, TableRecord]:
        """Folded name -> live table of that database."""
        folded = {fold(name) for name in names}

        def read(batch: list[str]) -> list[Any]:
            return _TABLES_NAMED.rows(run, segments, {"database": database_id, "names": batch})

        records = (_table(row) for row in _last(in_batches(folded, read)))
        return {
            fold(r.name): r
            for r in records
            if not r.dropped and r.database_id == database_id and fold(r.name) in folded
        }

    def _tables_by_id(self, run: Run, segments: Lineage, ids: Iterable[str]) -> dict[str, TableRecord]:
        rows = in_batches(ids, lambda batch: _TABLES_BY_ID.rows(run, segments, {"ids": batch}))
        return {record.id: record for record in map(_table, _last(rows))}


def _last(rows: Iterable[Any]) -> list[Any]:
    """Each object's last row; a long lineage gives one for each of its chunks, oldest first."""
    return list({row.id: row for row in rows}.values())


def _by_name(records: Iterable[Any]) -> list[Any]:
    return sorted((record for record in records if not record.dropped), key=lambda record: fold(record.name))


def _database(row: Any) -> DatabaseRecord:
    return DatabaseRecord(row.id, row.name, json.loads(row.properties), row.comment, row.dropped)


def _table(row: Any) -> TableRecord:
    properties = json.loads(row.properties)
    return TableRecord(row.id, row.database_id, row.name, row.schema_id, properties, row.comment, row.dropped)
