"""UPDATE: the old versions die, the new ones become a fresh part whose `_origin` names the row's first version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.equality import unequal
from anabranch.branching.versions import changed_by
from anabranch.commands.delete import FrameOf
from anabranch.commands.insert import or_discard
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.commands.zones import zone_told
from anabranch.errors import NeedsSpark
from anabranch.execution.plan import TableView, plan_scan
from anabranch.execution.predicate import Predicate, Scope
from anabranch.execution.reader import ROW_ID, read_batches
from anabranch.execution.shape import Shape, assignments
from anabranch.execution.writer import write_parts
from anabranch.model.part import Part, saying_all_differ, with_changed
from anabranch.model.records import TableDelta
from anabranch.model.words import counted
from anabranch.storage.parquet import ORIGIN
from anabranch.storage.row_ids import by_slot

Values = Mapping[str, str]
"""Physical column -> SQL text of its new value."""


def update(
    session: Session, table: OpenTable, values: Values, where: Predicate | None, scope: Scope, by_spark: FrameOf
) -> int:
    """The number of rows that changed. `by_spark` gives all columns, new values in place, then `_row_id`, `_origin`."""
    with session.turn(table):
        return _update(session, table, values, where, scope, by_spark)


def _update(
    session: Session, table: OpenTable, values: Values, where: Predicate | None, scope: Scope, by_spark: FrameOf
) -> int:
    view = session.view(table)
    shape = assignments(table.name, table.schema)
    try:
        with session.times():
            changed = _changed_here(session, table, view, values, where, scope, shape)
    except NeedsSpark:  # known from the text, or only from a value
        changed = None
    if changed is None:
        parts, dead = _update_by_spark(session, table, view, shape, by_spark)
    else:
        parts, dead = _write_here(session, table, changed)
    sources = [view.state.parts[slot] for slot in dead]
    changed_since = changed_by(values, sources, view.written, table.schema)
    parts = [with_changed(part, changed_since) for part in parts]
    stored = {physical: Predicate(text, scope).physical(table.schema) for physical, text in values.items()}
    return _commit(session, table, parts, dead, where, stored)


def _changed_here(
    session: Session,
    table: OpenTable,
    view: TableView,
    values: Values,
    where: Predicate | None,
    scope: Scope,
    shape: Shape,
) -> _Changed | None:
    """None: there is too much for this process."""
    read = set() if where is None else set(where.compiled(table.schema).columns)
    compiled = {physical: scope.compiled(text, table.schema) for physical, text in values.items()}
    touched = {column.label for column in table.schema.columns if column.physical in compiled}
    read |= touched.union(*(value.columns for value in compiled.values()))
    plan = plan_scan(view, None, where)
    if not session.decides(table.schema, read) or plan.bytes > session.shared.limits.local_work:
        return None
    found = _Changed([], [])
    for batch in read_batches(plan, ids=True):
        if not batch.num_rows:
            continue
        found.ids.append(batch.column(ROW_ID).to_numpy())
        columns = [
            compiled[column.physical](batch) if column.physical in compiled else batch.column(column.label)
            for column in table.schema.columns
        ]
        rows = shape.apply(pa.table(columns, names=list(table.schema.labels)))
        found.rows.append(rows.append_column(ORIGIN, batch.column(ORIGIN)))
        found.all_differ = found.all_differ and _all_differ(batch, rows, touched)
    return found


@dataclass
class _Changed:
    """The new versions, and the ids of the old ones; `all_differ`: no row was set to what it was."""

    rows: list[pa.Table]
    ids: list[np.ndarray]
    all_differ: bool = True


def _all_differ(before: pa.Table, after: pa.Table, touched: set[str]) -> bool:
    differ = np.zeros(after.num_rows, bool)
    for label, column in zip(before.column_names, after.columns, strict=False):
        if label in touched and not pa.types.is_nested(column.type):
            differ |= unequal(before.column(label).combine_chunks(), column.combine_chunks())
    return bool(differ.all())


def _write_here(session: Session, table: OpenTable, changed: _Changed) -> tuple[list[Part], dict[int, BitMap]]:
    if not changed.ids:
        return [], {}
    merged = [pa.concat_tables(changed.rows)]  # so that a partition's rows of all parts become one part
    slots = lambda: session.next_slot(table.id)  # noqa: E731
    parts = write_parts(session.destination(table), merged, slots, has_origin=True)
    if changed.all_differ:
        parts = [saying_all_differ(part) for part in parts]
    return parts, by_slot(np.concatenate(changed.ids))


def _update_by_spark(
    session: Session, table: OpenTable, view: TableView, shape: Shape, by_spark: FrameOf
) -> tuple[list[Part], dict[int, BitMap]]:
    from anabranch.execution.assignable import assignable
    from anabranch.execution.spark_writer import update_frame

    if not view.state.parts:
        return [], {}
    with session.slots_for_jobs(table) as slots:
        frame = assignable(by_spark(), shape)
        report = update_frame(frame, session.destination(table), shape, slots.reserve)
        slots.used = report.parts
    return report.parts, report.dead


def _commit(
    session: Session,
    table: OpenTable,
    parts: Sequence[Part],
    dead: Mapping[int, BitMap],
    where: Predicate | None,
    values: Mapping[str, str | None],
) -> int:
    rows = sum(map(len, dead.values()))
    if rows:
        predicate = where.physical(table.schema) if where else None
        zone = zone_told(session, table.schema, [predicate, *values.values()], values.keys())
        change = table_change(table, "update", rows=rows, predicate=predicate, values=values, zone=zone)
        delta = TableDelta(table.id, tuple(parts), killed=dead, cause="update")
        message = f"{table.name}: {counted(rows, 'row')}"
        or_discard(
            session,
            table,
            parts,
            lambda: session.commit(table.position, "UPDATE", message, [change], deltas=(delta,)),
        )
    return rows
