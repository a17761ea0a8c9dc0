"""Whether the names that a commit gives are free at the head, and its tables have a database to live in.

A record gives a name if its object is new, revived, renamed or moved. Names that the same commit gives up are free.
"""

from __future__ import annotations

from collections import Counter

from anabranch.catalog.engine import Run
from anabranch.catalog.objects import Objects
from anabranch.errors import AlreadyExists, CommitConflict, NotFound
from anabranch.model.history import Lineage
from anabranch.model.names import fold
from anabranch.model.records import CommitRequest, DatabaseRecord, TableRecord


class Vacancy:
    """The check of one request at one head, on the connection that holds the head's lock."""

    def __init__(self, objects: Objects, run: Run, segments: Lineage) -> None:
        self._objects, self._run, self._segments = objects, run, segments

    def check(self, request: CommitRequest) -> None:
        if request.databases:
            self._check_databases({record.id: record for record in request.databases})
        if request.databases or request.tables:
            self._check_tables(
                {record.id: record for record in request.databases}, {record.id: record for record in request.tables}
            )

    def _check_databases(self, written: dict[str, DatabaseRecord]) -> None:
        before = self._objects._databases_by_id(self._run, self._segments, written)
        given = [r for r in written.values() if not r.dropped and _gives_name(before.get(r.id), r)]
        if not given:
            return
        _refuse_twice("database", [fold(r.name) for r in written.values() if not r.dropped], given)
        holders = self._objects._databases_named(self._run, self._segments, [r.name for r in given])
        for record in given:
            holder = holders.get(fold(record.name))
            if holder is not None and holder.id not in written:
                raise AlreadyExists("database", record.name)

    def _check_tables(self, databases: dict[str, DatabaseRecord], written: dict[str, TableRecord]) -> None:
        live = [record for record in written.values() if not record.dropped]
        homes = self._homes(databases, live)
        for database in databases.values():
            if database.dropped:
                self._refuse_orphans(database, written)
        if not live:
            return
        before = self._objects._tables_by_id(self._run, self._segments, [record.id for record in live])
        given: dict[str, list[TableRecord]] = {}
        for record in live:
            if _gives_name(before.get(record.id), record):
                given.setdefault(record.database_id, []).append(record)
        for database_id, records in given.items():
            names = [fold(record.name) for record in live if record.database_id == database_id]
            _refuse_twice("table", names, records)
            holders = self._objects._tables_named(
                self._run, self._segments, database_id, [record.name for record in records]
            )
            for record in records:
                holder = holders.get(fold(record.name))
                if holder is not None and holder.id not in written:
                    raise AlreadyExists("table", f"{homes[database_id].name}.{record.name}")

    def _homes(self, databases: dict[str, DatabaseRecord], live: list[TableRecord]) -> dict[str, DatabaseRecord]:
        """The live databases of these tables, as the commit leaves them."""
        wanted = {record.database_id for record in live}
        homes = self._objects._databases_by_id(self._run, self._segments, wanted - databases.keys())
        homes.update({id: databases[id] for id in wanted & databases.keys()})
        for record in live:
            home = homes.get(record.database_id)
            if home is None:
                raise NotFound("database", record.database_id, hint=f"The table '{record.name}' needs one.")
            if home.dropped:
                raise CommitConflict(
                    f"the database '{home.name}' of table '{record.name}' is dropped. Nothing was committed."
                )
        return homes

    def _refuse_orphans(self, database: DatabaseRecord, written: dict[str, TableRecord]) -> None:
        for table in self._objects._tables_in(self._run, self._segments, database.id):
            if table.id not in written:
                raise CommitConflict(
                    f"the database '{database.name}' holds the table '{table.name}'. Nothing was committed."
                )


def _gives_name(before: DatabaseRecord | TableRecord | None, after: DatabaseRecord | TableRecord) -> bool:
    if before is None or before.dropped or fold(before.name) != fold(after.name):
        return True
    return getattr(before, "database_id", None) != getattr(after, "database_id", None)


def _refuse_twice(kind: str, names: list[str], given: list[DatabaseRecord] | list[TableRecord]) -> None:
    held = Counter(names)
    for record in given:
        if held[fold(record.name)] > 1:
            raise AlreadyExists(kind, record.name)
