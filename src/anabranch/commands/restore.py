"""RESTORE: a forward commit that makes a table, a database or a branch what it was. Nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.branching.admit import Moved
from anabranch.commands.session import Session
from anabranch.errors import AlreadyExists, CommitConflict, NotFound
from anabranch.model.history import Commit, Position
from anabranch.model.names import fold, qualified
from anabranch.model.records import Change, CommitRequest, DatabaseRecord, PartitionRecord, TableDelta, TableRecord
from anabranch.model.state import difference

Wanted = tuple[Sequence[DatabaseRecord], Sequence[TableRecord]]
"""Databases and tables as they were; what came since is dropped."""


def restore_table(session: Session, names: Sequence[str], then: Position) -> Commit | None:
    """The name is looked up as of `then`; if another table holds it now, that is refused."""
    old = session.table(names, then)

    def wanted(head: Position) -> Wanted:
        database = session.catalog.database_by_id(head, old.database.id)
        if database is None or database.dropped:
            _refuse_taken(session, head, old.database)
            raise NotFound("database", old.database.name, hint="RESTORE DATABASE brings it back with its tables.")
        taken = session.catalog.table(head, database.id, old.record.name)
        if taken is not None and taken.id != old.id:
            hint = "Another table has this name now: rename it first."
            raise AlreadyExists("table", qualified(database.name, taken.name), hint)
        return [], [old.record]

    return _restore(session, then, wanted, old.name)


def restore_database(session: Session, name: str, then: Position) -> Commit | None:
    """Its tables are what they were; tables that were created since are dropped, and tables that came from another
    database stay: that one does not go back, so they would be nowhere."""
    old = session.database(name, then)
    tables = {record.id: record for record in session.catalog.tables(then, old.id)}
    names = {fold(record.name) for record in tables.values()}

    def wanted(head: Position) -> Wanted:
        _refuse_taken(session, head, old)
        later = {t.id: t for t in session.catalog.tables(head, old.id) if t.id not in tables}
        before = session.catalog.tables_by_id(then, later)
        created = [t for id, t in later.items() if id not in before or before[id].dropped]
        for table in later.values():
            if table not in created and fold(table.name) in names:
                hint = "This one came from another database since: rename it first."
                raise AlreadyExists("table", qualified(old.name, table.name), hint)
        return [old], [*tables.values(), *(replace(t, dropped=True) for t in created)]

    return _restore(session, then, wanted, f"database {old.name}")


def _refuse_taken(session: Session, head: Position, old: DatabaseRecord) -> None:
    taken = session.catalog.database(head, old.name)
    if taken is not None and taken.id != old.id:
        hint = "It is another one than then: rename it, and RESTORE DATABASE brings the old one back with its tables."
        raise AlreadyExists("database", taken.name, hint)


def restore_branch(session: Session, then: Position) -> Commit | None:
    databases = {record.id: record for record in session.catalog.databases(then)}
    tables = {record.id: record for record in session.catalog.tables(then)}

    def wanted(head: Position) -> Wanted:
        later_databases = [replace(d, dropped=True) for d in session.catalog.databases(head) if d.id not in databases]
        later_tables = [replace(t, dropped=True) for t in session.catalog.tables(head) if t.id not in tables]
        return [*databases.values(), *later_databases], [*tables.values(), *later_tables]

    return _restore(session, then, wanted, "branch")


def _restore(session: Session, then: Position, wanted: Callable[[Position], Wanted], what: str) -> Commit | None:
    """Commits what differs between then and now; nothing, if nothing does. What others commit meanwhile came after
    `then`, too: on a head that moved, the difference is taken again."""
    head = session.head()
    written = _difference(session, head, then, *wanted(head))
    if not written["changes"]:
        return None

    def again(moved: Position) -> Mapping[str, Any]:
        found = _difference(session, moved, then, *wanted(moved))
        if not found["changes"]:
            raise CommitConflict("others have restored the same meanwhile. Nothing was written.")
        return found

    message = f"{what} to version {then.version}"
    return session.commit(head, "RESTORE", message, admit=_anything, replay=again, **written)


def _anything(request: CommitRequest, moved: Moved) -> None:
    """Whatever others did is undone."""


def _difference(
    session: Session,
    head: Position,
    then: Position,
    databases: Sequence[DatabaseRecord],
    tables: Sequence[TableRecord],
) -> dict[str, Any]:
    """What a commit at `head` writes."""
    catalog = session.catalog
    changed_databases = [d for d in databases if catalog.database_by_id(head, d.id) != d]
    changed_tables, deltas, partitions, touched = [], [], [], []
    reshaped: set[str] = set()  # a schema of the past may have a NOT NULL that rows on their way do not know
    for record in tables:
        now = catalog.table_by_id(head, record.id)
        moved = now != record
        if now is not None and now.schema_id != record.schema_id:
            reshaped.add(record.id)
        if moved:
            changed_tables.append(record)
        delta = None if record.dropped else _rows(session, head, then, record)
        if delta is not None:
            deltas.append(delta)
        named = [] if record.dropped else _partitions(session, head, then, record)
        partitions += named
        if moved or delta is not None or named:
            touched.append(record)
    ids = {record.database_id for record in touched} - {d.id for d in databases}
    names = {d.id: d.name for d in (*databases, *catalog.databases_by_id(head, ids).values())}
    changes = [
        *(
            Change("database", d.id, "drop" if d.dropped else "restore", {"name": d.name, "version": then.version})
            for d in changed_databases
        ),
        *(
            Change(
                "table",
                t.id,
                "drop" if t.dropped else "restore",
                {
                    "name": qualified(names[t.database_id], t.name),
                    "database": t.database_id,
                    "version": then.version,
                    "not_null": t.id in reshaped,
                },
            )
            for t in touched
        ),
    ]
    return {
        "changes": tuple(changes),
        "databases": tuple(changed_databases),
        "tables": tuple(changed_tables),
        "partitions": tuple(partitions),
        "deltas": tuple(deltas),
    }


def _rows(session: Session, head: Position, then: Position, record: TableRecord) -> TableDelta | None:
    now, before = session.catalog.state(head, record.id), session.catalog.state(then, record.id)
    keyed = bool(session.catalog.schema(record.id, record.schema_id).primary_key)
    delta = replace(difference(now, before, ordered=keyed), cause="restore")
    return None if delta.is_empty else delta


def _partitions(session: Session, head: Position, then: Position, record: TableRecord) -> list[PartitionRecord]:
    now = set(session.catalog.partitions(head, record.id))
    before = set(session.catalog.partitions(then, record.id))
    added = [PartitionRecord(record.id, text) for text in sorted(before - now)]
    return added + [PartitionRecord(record.id, text, dropped=True) for text in sorted(now - before)]
