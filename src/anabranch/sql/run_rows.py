"""Statements that change rows: INSERT, DELETE, UPDATE, TRUNCATE, CREATE TABLE AS SELECT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from anabranch.commands import partitions
from anabranch.commands.columns import ColumnSpec
from anabranch.commands.delete import delete
from anabranch.commands.fields_set import FieldsSet
from anabranch.commands.insert import (
    EVERYTHING,
    Overwrite,
    insert_arrow,
    insert_frame,
    insert_here,
    or_discard,
    write_by_spark,
)
from anabranch.commands.keyed import delete_keys, delete_labels, update_keys
from anabranch.commands.optimize import optimize
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Session
from anabranch.commands.tables import TableSpec, commit_new, prepare_table, refuse_taken
from anabranch.commands.update import update
from anabranch.errors import NeedsSpark, Refused
from anabranch.execution.estimates import is_small
from anabranch.execution.predicate import Predicate, Scope
from anabranch.execution.reader import ROW_ID
from anabranch.execution.shape import Shape, by_name, by_place, target
from anabranch.model.records import TableDelta
from anabranch.model.schema import Column
from anabranch.model.types import quote_identifier
from anabranch.sql import statements as s
from anabranch.sql.frames import run_query
from anabranch.sql.mask import without_refs
from anabranch.sql.values import value_table
from anabranch.storage.parquet import ORIGIN

Frames = Mapping[str, Any]


def writable(session: Session, name: Any) -> tuple[Session, OpenTable]:
    """The table that a statement changes, and the session on its branch."""
    if name.ref is not None and name.ref.name is not None:
        position = session.catalog.resolve(name.ref.name)
        branch = session.catalog.branch_by_id(position.branch_id)
        if branch.name.lower() != name.ref.name.lower():
            raise Refused(f"'{name.ref.name}' is a tag: tags cannot be written. Name a branch.")
        session = session.on(position.branch_id)
    return session, session.table(name.parts)


# --- INSERT -----------------------------------------------------------------------------------------------------------


def run_insert(session: Session, statement: s.Insert, args: Any, frames: Frames) -> Result:
    reading = session
    session, table = writable(session, statement.name)
    fixed = _fixed(session, table, statement)
    overwrite = _overwrite(session, table, statement)
    if isinstance(statement.source, s.Values):
        targets = _targets(table, statement, fixed)
        rows = _values_here(session, table, statement.source, targets)
        if rows is not None:
            evaluate = session.constant
            shape = by_place(table.name, table.schema, rows.num_columns, statement.columns, fixed, evaluate)
            return _rows_result("rows_inserted", insert_arrow(session, table, [rows], shape, overwrite))
        frame = run_query(reading, _as_query(statement.source, targets), args, frames)
        overwrite = overwrite and replace(overwrite, reads=True)
        shape = _shape(session, table, statement, frame, fixed)
        return _rows_result("rows_inserted", insert_here(session, table, frame, shape, overwrite))
    frame = run_query(reading, statement.source, args, frames)
    overwrite = overwrite and replace(overwrite, reads=True)
    shape = _shape(session, table, statement, frame, fixed)
    return _rows_result("rows_inserted", insert_frame(session, table, frame, shape, overwrite))


def _shape(session: Session, table: OpenTable, statement: s.Insert, frame: Any, fixed: Mapping[str, str]) -> Shape:
    evaluate = session.constant
    if statement.by_name:
        return by_name(table.name, table.schema, frame.columns, fixed, evaluate)
    return by_place(table.name, table.schema, len(frame.columns), statement.columns, fixed, evaluate)


def explained_writer(session: Session, statement: s.Insert, frame: Any) -> tuple[str, str]:
    """The table that an INSERT of the frame writes, and which writer its rows take."""
    from anabranch.execution.assignable import assignable
    from anabranch.execution.spark_keyed import is_read_here
    from anabranch.execution.spark_writer import why_kernel_writes

    session, table = writable(session, statement.name)
    shape = _shape(session, table, statement, frame, _fixed(session, table, statement))
    if table.schema.primary_key and is_small(frame, session.shared.limits.local_insert):
        return table.name, "this process: Spark takes the rows to be few"
    to, frame = session.destination(table), assignable(frame, shape)
    if table.schema.primary_key and is_read_here(frame, to, shape, table.engine):
        return table.name, "this process: the rows stand in Parquet files"
    why = why_kernel_writes(frame, to, shape)
    return table.name, "Spark's own writer" if why is None else f"kernels: {why}"


def _targets(table: OpenTable, statement: s.Insert, fixed: Mapping[str, str]) -> list[Column]:
    if statement.columns is None:
        return [column for column in table.schema.columns if column.physical not in fixed]
    return [target(table.schema, label) for label in statement.columns]


def _values_here(session: Session, table: OpenTable, values: s.Values, targets: Sequence[Column]) -> pa.Table | None:
    """VALUES of constants, without Spark; None if one of them needs it."""
    try:
        with session.times():
            return value_table(table.name, values, targets)
    except NeedsSpark:
        return None


def _as_query(values: s.Values, targets: Sequence[Column]) -> str:
    """The same for Spark. What it takes several types of a column for is one type, so a default, whose type is the
    column's, is cast to it."""

    def text(value: str | s.Default, column: Column) -> str:
        default = f"CAST({column.write_default or 'NULL'} AS {column.type})"
        return default if isinstance(value, s.Default) else value

    rows = (", ".join(map(text, row, targets)) for row in values.rows)
    return "VALUES " + ", ".join(f"({row})" for row in rows)


def _fixed(session: Session, table: OpenTable, statement: s.Insert) -> dict[str, str]:
    """Static partition values: physical column -> SQL text."""
    given = {label: text for label, text in (statement.partition or {}).items() if text is not None}
    if statement.partition is not None:
        partitions.scope(
            session, table, dict.fromkeys(statement.partition, "NULL")
        )  # every name must be a partition column
    return {table.schema.column(label).physical: text for label, text in given.items()}


def _overwrite(session: Session, table: OpenTable, statement: s.Insert) -> Overwrite | None:
    if not statement.overwrite:
        return None
    if statement.partition is None:
        return EVERYTHING
    static = {label: text for label, text in statement.partition.items() if text is not None}
    return Overwrite(partitions.scope(session, table, static), dynamic=len(static) < len(table.schema.partitioned_by))


# --- DELETE and UPDATE ------------------------------------------------------------------------------------------------


def run_delete(session: Session, statement: s.Delete, args: Any, frames: Frames) -> Result:
    on, table = writable(session, statement.name)
    where = _predicate(statement.where, _scope(statement), frames)
    if table.schema.primary_key:
        query, _ = _keys_to_delete(on, table, statement)
        rows = delete_keys(on, table, where, lambda: run_query(session, query, args, frames))
        return _rows_result("rows_deleted", rows)
    query, at = _rows_to_delete(on, table, statement)
    rows = delete(on, table, where, lambda: run_query(session, query, args, frames, ids_at=at))
    return _rows_result("rows_deleted", rows)


def run_update(session: Session, statement: s.Update, args: Any, frames: Frames) -> Result:
    on, table = writable(session, statement.name)
    scope = _scope(statement)
    where = _predicate(statement.where, scope, frames)
    asked = _assigned(on, table, statement)
    values = {name: without_refs(text, frames) for name, text in asked.items()}
    if table.schema.primary_key:
        query, _ = _rows_to_update(on, table, statement, asked)
        keyed = lambda: run_query(session, query, args, frames)  # noqa: E731
        return _rows_result("rows_updated", update_keys(on, table, values, where, scope, keyed))
    query, at = _rows_to_update(on, table, statement, asked)
    frame = lambda: run_query(session, query, args, frames, ids_at=at)  # noqa: E731
    return _rows_result("rows_updated", update(on, table, values, where, scope, frame))


def explained(session: Session, statement: s.Delete | s.Update) -> tuple[str, int]:
    """The query that finds the rows to change, as EXPLAIN shows it, and where the table's name stands in it."""
    on, table = writable(session, statement.name)
    if isinstance(statement, s.Delete):
        return _rows_to_delete(on, table, statement)
    return _rows_to_update(on, table, statement, _assigned(on, table, statement))


def _rows_to_delete(session: Session, table: OpenTable, statement: s.Delete) -> tuple[str, int]:
    return _from(session, table, f"SELECT `{ROW_ID}`", statement)


def _keys_to_delete(session: Session, table: OpenTable, statement: s.Delete) -> tuple[str, int]:
    alias = quote_identifier(_called(statement))
    columns = ", ".join(f"{alias}.{quote_identifier(label)}" for label in delete_labels(table))
    return _from(session, table, f"SELECT {columns}", statement)


def _rows_to_update(
    session: Session, table: OpenTable, statement: s.Update, values: Mapping[str, str]
) -> tuple[str, int]:
    """All columns, new values in their places, then the row's ids."""
    alias = quote_identifier(_called(statement))
    columns = [
        f"({values[c.physical]}) AS {quote_identifier(c.label)}" if c.physical in values
        else f"{alias}.{quote_identifier(c.label)} AS {quote_identifier(c.label)}"
        for c in table.schema.columns
    ]  # fmt: skip
    select = f"SELECT {', '.join(columns)}"
    if not table.schema.primary_key:
        select += f", {alias}.`{ROW_ID}`, {alias}.`{ORIGIN}`"
    return _from(session, table, select, statement)


def _assigned(session: Session, table: OpenTable, statement: s.Update) -> dict[str, str]:
    """Physical column -> the text of its new value."""
    values: dict[str, FieldsSet] = {}
    qualifiers = {name.lower() for name in (statement.alias, *statement.name.parts) if name}
    for path, text in statement.assignments:
        names = list(path)
        while len(names) > 1 and names[0].lower() in qualifiers and table.schema.find(names[0]) is None:
            names = names[1:]
        column = table.schema.column(names[0])
        if isinstance(text, s.Default):
            text = "NULL" if len(names) > 1 else session.default(column)  # fields have none
        values.setdefault(column.physical, FieldsSet(column)).add(tuple(names[1:]), text)
    called = quote_identifier(_called(statement))
    return {name: found.text(f"{called}.{quote_identifier(found.column.label)}") for name, found in values.items()}


def _scope(statement: s.Delete | s.Update) -> Scope:
    """By the name that the statement knows: others may have renamed the table since it was first looked up."""
    return Scope(statement.name.parts, statement.alias)


def _called(statement: s.Delete | s.Update) -> str:
    return statement.alias or statement.name.parts[-1]


def _predicate(where: str | None, scope: Scope, frames: Frames) -> Predicate | None:
    return None if where is None else Predicate(without_refs(where, frames), scope)


def _from(session: Session, table: OpenTable, select: str, statement: s.Delete | s.Update) -> tuple[str, int]:
    """A query over the table as it was opened, whatever the branch that its other names mean, and where its name
    stands in the text."""
    branch = session.catalog.branch_by_id(table.position.branch_id).name
    names = ".".join(f"`{_escaped(name)}`" for name in statement.name.parts)
    names += f"@`{_escaped(branch)}`@{table.position.version}"
    tail = f" AS {quote_identifier(_called(statement))}" + (f" WHERE {statement.where}" if statement.where else "")
    return f"{select} FROM {names}{tail}", len(f"{select} FROM ")


def _escaped(name: str) -> str:
    return name.replace("`", "``")


def run_truncate(session: Session, statement: s.TruncateTable) -> Result:
    session, table = writable(session, statement.name)
    before = session.catalog.state(table.position, table.id).rows
    commit = partitions.truncate(session, table, statement.partition)
    after = 0 if commit is None else session.catalog.state(session.head(), table.id).rows
    return _rows_result("rows_deleted", before - after if commit else 0)


def run_optimize(session: Session, statement: s.OptimizeTable) -> Result:
    session, table = writable(session, statement.name)
    return optimize(session, table).result()


# --- CREATE TABLE AS --------------------------------------------------------------------------------------------------


def run_create_as(session: Session, statement: s.CreateTable, args: Any, frames: Frames) -> Result:
    from anabranch.execution.spark_types import from_spark

    assert statement.query is not None
    head = session.head()
    names = statement.name.parts
    if refuse_taken(session, names, head, if_not_exists=statement.if_not_exists):
        return _rows_result("rows_inserted", 0)
    frame = run_query(session, statement.query, args, frames)
    columns = [ColumnSpec((label,), type_) for label, type_ in from_spark(frame.schema) if type_ is not None]
    spec = TableSpec(columns, statement.primary_key, statement.partitioned_by, statement.properties, statement.comment)
    table = prepare_table(session, names, spec, head)
    shape = by_place(table.name, table.schema, len(columns))
    report = write_by_spark(session, table, frame, shape)
    parts = report.parts
    delta = TableDelta(table.id, tuple(parts))
    or_discard(session, table, parts, lambda: commit_new(session, table, delta))
    return _rows_result("rows_inserted", report.rows)


def _rows_result(name: str, rows: int) -> Result:
    return Result([name], [[rows]])
