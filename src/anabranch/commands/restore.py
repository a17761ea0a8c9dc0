"""RESTORE: a forward commit that makes a table, a database or a branch what it was. Nothing is copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from anabranch.commands.session import Session
from anabranch.errors import AlreadyExists, NotFound
from anabranch.model.history import Commit, Position
from anabranch.model.names import qualified
from anabranch.model.records import Change, DatabaseRecord, PartitionRecord, TableDelta, TableRecord
from anabranch.model.state import difference


def restore_table(session: Session, names: Sequence[str], then: Position) -> Commit | None:
    """The name is looked up as of `then`; if another table holds it now, that is refused."""
    head = session.head()
    old = session.table(names, then)
    database = session.catalog.database_by_id(head, old.database.id)
    if database is None or database.dropped:
        raise NotFound("database", old.database.name, hint="RESTORE DATABASE brings it back with its tables.")
    taken = session.catalog.table(head, database.id, old.record.name)
    if taken is not None and taken.id != old.id:
        hint = "Another table has this name now: rename it first."
        raise AlreadyExists("table", qualified(database.name, taken.name), hint)
    return _restore(session, head, then, [], [old.record], old.name)


def restore_database(session: Session, name: str, then: Position) -> Commit | None:
    """Its tables are what they were; tables that came since are dropped."""
    head = session.head()
    old = session.database(name, then)
    tables = {record.id: record for record in session.catalog.tables(then, old.id)}
    later = [replace(t, dropped=True) for t in session.catalog.tables(head, old.id) if t.id not in tables]
    return _restore(session, head, then, [old], [*tables.values(), *later], f"database {old.name}")


def restore_branch(session: Session, then: Position) -> Commit | None:
    head = session.head()
    databases = {record.id: record for record in session.catalog.databases(then)}
    tables = {record.id: record for record in session.catalog.tables(then)}
    later_databases = [replace(d, dropped=True) for d in session.catalog.databases(head) if d.id not in databases]
    later_tables = [replace(t, dropped=True) for t in session.catalog.tables(head) if t.id not in tables]
    return _restore(
        session, head, then, [*databases.values(), *later_databases], [*tables.values(), *later_tables], "branch"
    )


def _restore(
    session: Session,
    head: Position,
    then: Position,
    databases: Iterable[DatabaseRecord],
    tables: Iterable[TableRecord],
    what: str,
) -> Commit | None:
    """Commits what differs between then and now; nothing, if nothing does."""
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
                {"name": t.name, "database": t.database_id, "version": then.version, "not_null": t.id in reshaped},
            )
            for t in touched
        ),
    ]
    if not changes:
        return None
    return session.commit(
        head,
        "RESTORE",
        f"{what} to version {then.version}",
        changes,
        databases=tuple(changed_databases),
        tables=tuple(changed_tables),
        partitions=tuple(partitions),
        deltas=tuple(deltas),
    )


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
