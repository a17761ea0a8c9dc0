"""CREATE, ALTER and DROP DATABASE."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from anabranch import given
from anabranch.commands.rerun import Dropped
from anabranch.commands.session import Session
from anabranch.errors import AlreadyExists, NotFound, Refused
from anabranch.model.history import Commit, Position
from anabranch.model.names import checked, qualified
from anabranch.model.records import Change, DatabaseRecord
from anabranch.model.words import counted


def create_database(
    session: Session,
    name: str,
    *,
    if_not_exists: bool = False,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Commit | None:
    checked("database", name)
    head = session.head()
    if session.catalog.database(head, name):
        if if_not_exists:
            return None
        raise AlreadyExists("database", name)
    stored = {} if properties is None else given.properties("properties", properties)
    record = DatabaseRecord(str(uuid.uuid4()), name, stored, given.text_or_none("comment", comment))
    return session.commit(head, "CREATE DATABASE", name, [_change(record, "create")], databases=(record,))


def drop_database(session: Session, name: str, *, if_exists: bool = False, cascade: bool = False) -> Commit | None:
    given.flag("cascade", cascade)
    head = session.head()
    try:
        if session.find_database(name, head) is None and if_exists:
            return None
    except Dropped:  # others were first, and that is all that was asked for
        return None
    record = session.database(name, head)
    tables = session.catalog.tables(head, record.id)
    if tables and not cascade:
        raise Refused(
            f"database '{record.name}' still has {counted(len(tables), 'table')}. "
            "Drop them first, or DROP DATABASE … CASCADE."
        )
    name_of = lambda table: qualified(record.name, table.name)  # noqa: E731
    changes = [Change("table", t.id, "drop", {"name": name_of(t), "database": record.id}) for t in tables]
    return session.commit(
        head,
        "DROP DATABASE",
        record.name,
        [_change(record, "drop", cascade=cascade), *changes],
        databases=(replace(record, dropped=True),),
        tables=tuple(replace(table, dropped=True) for table in tables),
    )


def rename_database(session: Session, name: str, new_name: str) -> Commit:
    checked("database", new_name)
    head = session.head()
    old = session.database(name, head)
    taken = session.catalog.database(head, new_name)
    if taken is not None and taken.id != old.id:
        raise AlreadyExists("database", new_name)
    change, message = _change(old, "rename"), f"{old.name} to {new_name}"
    return session.commit(head, "RENAME DATABASE", message, [change], databases=(replace(old, name=new_name),))


def set_database_properties(session: Session, name: str, properties: Mapping[str, str]) -> Commit:
    head = session.head()
    old = session.database(name, head)
    return _with_properties(session, head, old, {**old.properties, **given.properties("properties", properties)})


def unset_database_properties(
    session: Session, name: str, keys: given.Names, *, if_exists: bool = False
) -> Commit | None:
    head = session.head()
    old = session.database(name, head)
    left = without_keys(old.properties, keys, if_exists=if_exists)
    return None if left == old.properties else _with_properties(session, head, old, left)


def _with_properties(session: Session, head: Position, old: DatabaseRecord, properties: Mapping[str, str]) -> Commit:
    new = replace(old, properties=properties)
    return session.commit(head, "ALTER DATABASE", old.name, [_change(old, "properties")], databases=(new,))


def without_keys(properties: Mapping[str, str], keys: given.Names, *, if_exists: bool) -> dict[str, str]:
    """The properties that stay; a key that is not there is an error unless told otherwise."""
    keys = given.names("keys", keys)
    for key in keys:
        if key not in properties and not if_exists:
            raise NotFound("property", key, properties, "Nothing sets it.")
    return {key: value for key, value in properties.items() if key not in keys}


def _change(record: DatabaseRecord, operation: str, **detail: object) -> Change:
    return Change("database", record.id, operation, {"name": record.name, **detail})  # type: ignore[arg-type]
