"""Rows of keyed tables: every change is a write of records, which readers bring together by key.

INSERT reads nothing of the table. DELETE writes a delete for every key that its predicate finds; UPDATE the new rows
(deduplicate) or, of engines that combine, rows that set the assigned fields and leave the others to their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.commands.compact import Compactor
from anabranch.commands.delete import FrameOf
from anabranch.commands.insert import Overwrite, commit_rows, or_discard, write_by_spark
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.engines import KIND
from anabranch.engines.kinds import DELETE, SET
from anabranch.errors import NeedsSpark, Refused
from anabranch.execution.keyed_writer import by_physical, marked, reduced, sorted_rows, write_keyed
from anabranch.execution.plan import plan_scan
from anabranch.execution.predicate import Predicate, Scope
from anabranch.execution.reader import read_batches
from anabranch.execution.shape import Shape, assignments, by_place
from anabranch.execution.spark_keyed import Mark
from anabranch.model.part import Part
from anabranch.model.records import Operation, TableDelta
from anabranch.model.words import counted
from anabranch.storage.arrow_types import arrow_schema, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.commands.update import Values


def upsert_arrow(
    session: Session, table: OpenTable, data: Sequence[pa.Table], shape: Shape, overwrite: Overwrite | None = None
) -> int:
    """Rows of this process: no Spark. The number of rows that were given."""
    with session.times():
        shaped = pa.concat_tables([shape.apply(piece) for piece in data])
    rows = reduced(shaped, table.schema, table.engine)
    parts = write_records(session, table, rows)
    commit_rows(session, table, parts, overwrite, shaped.num_rows)
    flushed(session, table)
    return shaped.num_rows


def flushed(session: Session, table: OpenTable) -> None:
    """Tells the process's compactor, if it may have work."""
    shared = session.shared
    with shared.frames_lock:
        compactor = shared.compactor = shared.compactor or Compactor(shared)
    compactor.flushed(session, table)


def write_records(session: Session, table: OpenTable, rows: pa.Table) -> list[Part]:
    """Parts of rows by physical names that are reduced and sorted already."""
    if not rows.num_rows:
        return []
    slots = lambda: session.next_slot(table.id)  # noqa: E731
    return write_keyed(session.destination(table), [rows], slots, kinds=KIND in rows.column_names)


# --- DELETE and UPDATE ------------------------------------------------------------------------------------------------


def delete_keys(session: Session, table: OpenTable, where: Predicate | None, by_spark: FrameOf) -> int:
    """The number of keys that are gone. `by_spark` gives the key and sequence columns of the rows to delete."""
    spec = table.engine
    if spec.engine != "deduplicate" and not spec.remove_on_delete:
        raise Refused(
            f"rows of table '{table.name}' cannot be deleted: its merge engine is '{spec.engine}'"
            + (
                ". Set 'partial-update.remove-record-on-delete' to 'true' to allow it."
                if spec.engine == "partial-update"
                else ", which keeps what it has."
            )
        )
    with session.turn(table):
        return _delete_keys(session, table, where, by_spark)


def _delete_keys(session: Session, table: OpenTable, where: Predicate | None, by_spark: FrameOf) -> int:
    spec = table.engine
    with session.times():
        rows = _found_here(session, table, delete_labels(table), where)
    if rows is None:
        return _by_spark(session, table, by_spark(), delete_shape(table), Mark(DELETE), "delete", where)
    if rows.num_rows:
        found = _filled(rows, table).append_column(KIND, pa.array(np.full(rows.num_rows, DELETE, np.int8)))
        parts = write_records(session, table, sorted_rows(by_physical(found, table.schema), spec))
        _commit(session, table, parts, "delete", rows.num_rows, where)
    return rows.num_rows


def _by_spark(
    session: Session,
    table: OpenTable,
    frame: DataFrame,
    shape: Shape,
    mark: Mark | None,
    operation: Operation,
    where: Predicate | None,
) -> int:
    report = write_by_spark(session, table, frame, shape, mark)
    if report.rows:
        _commit(session, table, report.parts, operation, report.rows, where)
    return report.rows


def delete_shape(table: OpenTable) -> Shape:
    """Keys and sequences of deletes as rows of the table; what they do not say is NULL, even where none may be."""
    given = delete_labels(table)
    columns = tuple(replace(c, nullable=True, write_default=None) for c in table.schema.columns)
    schema = replace(table.schema, columns=columns)
    return by_place(table.name, schema, len(given), given)


def delete_labels(table: OpenTable) -> list[str]:
    """The columns that a delete needs: the key, and what it must not come before."""
    spec = table.engine
    names = (*spec.key, *spec.sequence)
    return [column.label for column in table.schema.columns if column.physical in names]


def update_keys(
    session: Session, table: OpenTable, values: Values, where: Predicate | None, scope: Scope, by_spark: FrameOf
) -> int:
    """The number of rows that changed. `by_spark` gives all columns, new values in place."""
    spec = table.engine
    for column in table.schema.columns:
        if column.physical in values and column.physical in spec.key:
            raise Refused(f"'{column.label}' is part of the primary key and cannot be updated: delete and insert rows.")
    if spec.engine == "first-row":
        raise Refused(f"rows of table '{table.name}' cannot be updated: its merge engine 'first-row' keeps the first.")
    with session.turn(table):
        return _update_keys(session, table, values, where, scope, by_spark)


def _update_keys(
    session: Session, table: OpenTable, values: Values, where: Predicate | None, scope: Scope, by_spark: FrameOf
) -> int:
    spec = table.engine
    shape = assignments(table.name, table.schema)
    try:
        with session.times():
            rows = _changed_here(session, table, values, where, scope, shape)
    except NeedsSpark:
        rows = None
    fields = tuple(name for name in spec.fields if name in values)
    if rows is None:
        mark = None if spec.engine == "deduplicate" else Mark(SET, fields)
        return _by_spark(session, table, by_spark(), shape, mark, "update", where)
    if rows.num_rows:
        rows = by_physical(rows, table.schema)
        if spec.engine != "deduplicate":
            rows = marked(rows, SET, fields, spec)
        parts = write_records(session, table, sorted_rows(rows, spec))
        _commit(session, table, parts, "update", rows.num_rows, where)
    return rows.num_rows


def _found_here(session: Session, table: OpenTable, labels: Sequence[str], where: Predicate | None) -> pa.Table | None:
    view = session.view(table)
    try:
        compiled = None if where is None else where.compiled(table.schema)
        plan = plan_scan(view, labels, where)
        if compiled is not None and not session.decides(table.schema, compiled.columns):
            return None
        if plan.bytes > session.shared.limits.local_work:
            return None
        return pa.concat_tables(read_batches(plan)) if plan.rows else table_of(table, labels)
    except NeedsSpark:
        return None


def table_of(table: OpenTable, labels: Sequence[str]) -> pa.Table:
    """No rows, with these columns."""
    schema = arrow_schema(table.schema.select(labels))
    return pa.schema([field.with_nullable(True) for field in schema]).empty_table()


def _changed_here(
    session: Session,
    table: OpenTable,
    values: Mapping[str, str],
    where: Predicate | None,
    scope: Scope,
    shape: Shape,
) -> pa.Table | None:
    """The new rows; None: there is too much for this process."""
    read = set() if where is None else set(where.compiled(table.schema).columns)
    compiled = {physical: scope.compiled(text, table.schema) for physical, text in values.items()}
    read |= {c.label for c in table.schema.columns if c.physical in compiled}
    read |= {label for value in compiled.values() for label in value.columns}
    plan = plan_scan(session.view(table), None, where)
    if not session.decides(table.schema, read) or plan.bytes > session.shared.limits.local_work:
        return None

    def pieces() -> Iterator[pa.Table]:
        yield table_of(table, list(table.schema.labels))
        for batch in read_batches(plan):
            if batch.num_rows:
                columns = [
                    compiled[column.physical](batch) if column.physical in compiled else batch.column(column.label)
                    for column in table.schema.columns
                ]
                yield shape.apply(pa.table(columns, names=list(table.schema.labels)))

    return pa.concat_tables(pieces())


def _filled(rows: pa.Table, table: OpenTable) -> pa.Table:
    """Rows with all columns of the table, NULL where they say nothing."""
    arrays = [
        rows.column(column.label)
        if column.label in rows.column_names
        else pa.nulls(rows.num_rows, to_arrow(column.type))
        for column in table.schema.columns
    ]
    return pa.table(arrays, names=list(table.schema.labels))


def _commit(
    session: Session, table: OpenTable, parts: Sequence[Part], operation: Operation, rows: int, where: Predicate | None
) -> None:
    predicate = where.physical(table.schema) if where else None
    change = table_change(table, operation, rows=rows, predicate=predicate, keyed=True)
    delta = TableDelta(table.id, tuple(parts), cause=operation)
    message = f"{table.name}: {counted(rows, 'row')}"
    verb = operation.upper()
    or_discard(session, table, parts, lambda: session.commit(table.position, verb, message, [change], deltas=(delta,)))
    flushed(session, table)
