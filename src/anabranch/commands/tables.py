"""CREATE, DROP and RENAME TABLE, and table properties."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.commands.columns import ColumnSpec, define
from anabranch.commands.databases import without_keys
from anabranch.commands.rerun import Dropped
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.engines import check_change, check_unkeyed, engine_spec
from anabranch.errors import AlreadyExists, SchemaError, UnsupportedType
from anabranch.given import Names
from anabranch.model import types
from anabranch.model.history import Commit, Position
from anabranch.model.names import checked, fold, qualified
from anabranch.model.records import TableDelta, TableRecord
from anabranch.model.schema import Schema
from anabranch.options import checked_properties, option


@dataclass(frozen=True)
class TableSpec:
    """A table as a user declares it."""

    columns: Sequence[ColumnSpec]
    primary_key: Sequence[str] = ()
    partitioned_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


def create_table(
    session: Session, names: Sequence[str], spec: TableSpec, *, if_not_exists: bool = False
) -> Commit | None:
    head = session.head()
    if refuse_taken(session, names, head, if_not_exists=if_not_exists):
        return None
    return commit_new(session, prepare_table(session, names, spec, head))


def refuse_taken(session: Session, names: Sequence[str], head: Position, *, if_not_exists: bool) -> bool:
    """True: the table exists and that is fine."""
    checked("table", names[1])
    session.database(names[0], head)
    if session.find_table(names, head) is None:
        return False
    if if_not_exists:
        return True
    raise AlreadyExists("table", qualified(*names))


def prepare_table(session: Session, names: Sequence[str], spec: TableSpec, head: Position) -> OpenTable:
    """A table that no commit knows yet; CREATE TABLE … AS SELECT writes its parts before it exists."""
    database = session.database(names[0], head)
    _check(spec)
    table_id = str(uuid.uuid4())
    nullable = option(spec.properties, "primary-key.nullable") == "true"
    key = set() if nullable else {fold(name) for name in spec.primary_key}
    declared = [replace(column, nullable=column.nullable and fold(column.label) not in key) for column in spec.columns]
    columns = define(session, table_id, declared)
    physical = {fold(column.label): column.physical for column in columns}
    schema = Schema(
        session.catalog.reserve_schema_id(table_id),
        columns,
        tuple(physical[fold(name)] for name in spec.primary_key),
        tuple(physical[fold(name)] for name in spec.partitioned_by),
    )
    properties = checked_properties(spec.properties)
    _check_engine(schema, properties)
    record = TableRecord(table_id, database.id, names[1], schema.id, properties, spec.comment)
    return OpenTable(database, record, schema, head)


def _check_engine(schema: Schema, properties: Mapping[str, str]) -> None:
    """Refuses options that do not go together, or do not fit the table."""
    if schema.primary_key:
        engine_spec(schema, properties)
    else:
        check_unkeyed(properties)


def commit_new(session: Session, table: OpenTable, delta: TableDelta | None = None) -> Commit:
    changes = [table_change(table, "create")]
    if delta is not None:
        changes.append(table_change(table, "insert", rows=sum(part.rows for part in delta.placed)))
    return session.commit(
        table.position,
        "CREATE TABLE" if delta is None else "CREATE TABLE AS SELECT",
        table.name,
        changes,
        tables=(table.record,),
        schemas=((table.id, table.schema),),
        deltas=() if delta is None else (delta,),
    )


def _check(spec: TableSpec) -> None:
    if not spec.columns:
        raise SchemaError("a table needs at least one column.")
    seen: set[str] = set()
    for column in spec.columns:
        if fold(column.label) in seen:
            raise AlreadyExists("column", column.label)
        seen.add(fold(column.label))
    by_label = {fold(column.label): column for column in spec.columns}
    for name in spec.partitioned_by:
        found = by_label.get(fold(name))
        if found is None:
            raise SchemaError(f"the partition column '{name}' is not a column of the table.")
        if not types.is_atomic(found.type):
            raise UnsupportedType(str(found.type), f"partition column '{name}'")
    if len(set(map(fold, spec.partitioned_by))) < len(spec.partitioned_by):
        raise SchemaError("a partition column is named twice.")
    if len(spec.partitioned_by) == len(spec.columns):
        raise SchemaError("a table needs a column that it is not partitioned by.")
    _check_key(spec, by_label)


def _check_key(spec: TableSpec, by_label: Mapping[str, ColumnSpec]) -> None:
    key = [fold(name) for name in spec.primary_key]
    if not key:
        return
    if len(set(key)) < len(key):
        raise SchemaError("the primary key names a column twice.")
    for name in spec.primary_key:
        found = by_label.get(fold(name))
        if found is None:
            raise SchemaError(f"the primary key's column '{name}' is not a column of the table.")
        if not types.is_atomic(found.type):
            raise UnsupportedType(str(found.type), f"primary key column '{name}'")
    for name in spec.partitioned_by:
        if fold(name) not in key:
            raise SchemaError(f"the partition column '{name}' must be part of the primary key.")


def drop_table(session: Session, names: Sequence[str], *, if_exists: bool = False) -> Commit | None:
    head = session.head()
    try:
        if session.find_table(names, head) is None and if_exists:
            return None
    except Dropped:  # others were first, and that is all that was asked for
        return None
    table = session.table(names, head)
    dropped = replace(table.record, dropped=True)
    return session.commit(head, "DROP TABLE", table.name, [table_change(table, "drop")], tables=(dropped,))


def rename_table(session: Session, table: OpenTable, new_names: Sequence[str]) -> Commit:
    """Within its database, or into another one."""
    checked("table", new_names[-1])
    target = table.database if len(new_names) == 1 else session.database(new_names[0], table.position)
    new_name = qualified(target.name, new_names[-1])
    taken = session.catalog.table(table.position, target.id, new_names[-1])
    if taken is not None and taken.id != table.id:
        raise AlreadyExists("table", new_name)
    renamed = replace(table.record, name=new_names[-1], database_id=target.id)
    change = replace(table_change(table, "rename"), detail={"name": table.name, "database": target.id})
    return session.commit(table.position, "RENAME TABLE", f"{table.name} to {new_name}", [change], tables=(renamed,))


def set_properties(session: Session, table: OpenTable, properties: Mapping[str, str]) -> Commit:
    return _with_properties(session, table, {**table.record.properties, **checked_properties(properties)})


def unset_properties(session: Session, table: OpenTable, keys: Names, *, if_exists: bool = False) -> Commit | None:
    left = without_keys(table.record.properties, keys, if_exists=if_exists)
    return None if left == table.record.properties else _with_properties(session, table, left)


def _with_properties(session: Session, table: OpenTable, properties: Mapping[str, str]) -> Commit:
    _check_engine(table.schema, properties)
    while_empty = None  # what parts forbid was not asked of those that come meanwhile
    if table.schema.primary_key:
        has_parts = bool(session.catalog.state(table.position, table.id).parts)
        check_change(table.engine, engine_spec(table.schema, properties), has_parts=has_parts)
        while_empty = None if has_parts else True
    message = f"{table.name}: properties"
    record = replace(table.record, properties=properties)
    change = table_change(table, "properties", while_empty=while_empty)
    return session.commit(table.position, "ALTER TABLE", message, [change], tables=(record,))


def set_table_comment(session: Session, table: OpenTable, comment: str | None) -> Commit:
    record = replace(table.record, comment=comment)
    change = table_change(table, "comment")
    return session.commit(table.position, "ALTER TABLE", f"{table.name}: comment", [change], tables=(record,))
