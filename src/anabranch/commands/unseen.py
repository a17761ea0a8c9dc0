"""Rows that a statement has not seen, because others brought them while it ran: LAW.md, "Concurrent commits".

They stand in parts that were placed meanwhile, or were dead before and are not now: RESTORE, REVERT and MERGE BRANCH
revive rows in the parts that have always been there. In a keyed table a flush that was taken away shows what its
records hid, so its keys count, too.

All of it is asked while the branch's head is locked, so little is read: parts that their statistics do not exclude,
and of these the columns asked for. Of more than MOST_BYTES nothing is read, and every row may be meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyroaring import BitMap

from anabranch.commands.session import Session
from anabranch.errors import AnabranchError
from anabranch.execution.plan import TableView, plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import read_batches
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import Change, TableDelta
from anabranch.model.schema import Schema
from anabranch.model.state import TableState

MOST_BYTES = 8 << 20


def unseen_rows(
    session: Session, table_id: str, head: Position, since: Sequence[TableDelta], keyed: bool
) -> TableState:
    """The parts that hold such rows, all others in them being dead. `since`: what others did up to `head`."""
    state = session.catalog.state(head, table_id)
    parts: dict[int, Part] = {part.slot: part for delta in since for part in delta.placed if part.slot in state.parts}
    dead = {slot: state.dead[slot] for slot in parts if slot in state.dead}
    revived: dict[int, BitMap] = {}
    for delta in since:
        for slot, rows in delta.revived.items():
            if slot in state.parts and slot not in parts:
                revived[slot] = revived.get(slot, BitMap()) | rows
    for slot, rows in revived.items():
        alive = rows - state.dead.get(slot, BitMap())
        if alive:
            parts[slot] = state.parts[slot]
            dead[slot] = BitMap(range(parts[slot].rows)) - alive
    gone = [slot for delta in since for slot in delta.removed if slot not in state.parts] if keyed else []
    if gone:
        parts |= session.catalog.parts(table_id, gone)
    return TableState(table_id, head, parts, dead)


def view_of(session: Session, name: str, schema: Schema, rows: TableState) -> TableView:
    written = {id: session.catalog.schema(rows.table_id, id) for id in {part.schema_id for part in rows.parts.values()}}
    return TableView(name, schema, rows, written, session.folder(rows.table_id))


def may_match(session: Session, change: Change, base: Position, head: Position, since: Sequence[TableDelta]) -> bool:
    """Whether the condition of a statement that began at `base` may be true for such a row. What rows alone do not
    decide, or only Spark can evaluate, may be."""
    table_id = change.object_id
    record = session.catalog.table_by_id(base, table_id)
    if record is None:
        return True
    schema = session.catalog.schema(table_id, record.schema_id)
    rows = unseen_rows(session, table_id, head, since, keyed=bool(schema.primary_key))
    if not rows.parts:
        return False
    text = change.detail.get("predicate")
    if text is None:
        return True
    physical = replace(schema, columns=tuple(replace(column, label=column.physical) for column in schema.columns))
    where = Predicate(text)
    try:
        with session.times():
            columns = where.compiled(physical).columns
            if not set(columns) <= set(schema.primary_key or columns):  # a record need not be what the row becomes
                return True
            plan = plan_scan(view_of(session, change.detail["name"], physical, rows), [], where)
            if plan.parts and (plan.bytes > MOST_BYTES or not session.decides(physical, columns)):
                return True
            return any(batch.num_rows for batch in read_batches(plan))
    except (
        AnabranchError
    ):  # only Spark knows; or the row makes it fail, which the statement says itself when it runs again
        return True
