"""DELETE: finds row ids and makes them dead. Small work is done here, large work by Spark; the commit is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.commands.zones import zone_told
from anabranch.errors import NeedsSpark
from anabranch.execution.plan import TableView, plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import ROW_ID, read_batches
from anabranch.model.records import TableDelta
from anabranch.model.words import counted
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FrameOf = Callable[[], "DataFrame"]
"""Makes the Spark frame of the rows to change; called only if this process should not find them itself."""


def delete(session: Session, table: OpenTable, where: Predicate | None, by_spark: FrameOf) -> int:
    """The number of rows that died."""
    with session.turn(table):
        return _delete(session, table, where, by_spark)


def _delete(session: Session, table: OpenTable, where: Predicate | None, by_spark: FrameOf) -> int:
    view = session.view(table)
    if where is None:
        return _kill(session, table, _all_live(view), None)
    with session.times():
        dead = _found_here(session, view, where)
    if dead is None:
        from anabranch.execution.spark_writer import dead_frame

        dead = dead_frame(by_spark(), view.state.rows).dead
    return _kill(session, table, dead, where)


def _found_here(session: Session, view: TableView, where: Predicate) -> dict[int, BitMap] | None:
    """None: the table is too large for this process, or only Spark can evaluate the predicate."""
    try:
        compiled = where.compiled(view.schema)
        plan = plan_scan(view, [], where)
        if not session.decides(view.schema, compiled.columns) or plan.bytes > session.shared.limits.local_work:
            return None
        ids = [batch.column(ROW_ID).to_numpy() for batch in read_batches(plan, ids=True)]
    except NeedsSpark:  # known from the text, or only from a value
        return None
    return by_slot(np.concatenate(ids)) if ids else {}


def _all_live(view: TableView) -> dict[int, BitMap]:
    live = {}
    for slot, part in view.state.parts.items():
        positions = BitMap(range(part.rows)) - view.state.dead.get(slot, BitMap())
        if positions:
            live[slot] = positions
    return live


def _kill(session: Session, table: OpenTable, dead: Mapping[int, BitMap], where: Predicate | None) -> int:
    rows = sum(map(len, dead.values()))
    if rows:
        predicate = where.physical(table.schema) if where else None
        zone = zone_told(session, table.schema, [predicate])
        change = table_change(table, "delete", rows=rows, predicate=predicate, zone=zone)
        delta = TableDelta(table.id, killed=dead, cause="delete")
        session.commit(table.position, "DELETE", f"{table.name}: {counted(rows, 'row')}", [change], deltas=(delta,))
    return rows
