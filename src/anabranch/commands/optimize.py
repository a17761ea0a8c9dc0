"""OPTIMIZE: rewrites small parts and parts with dead rows as larger ones. No row changes, so nobody is in its way.

The new parts are another way to read the same rows; whoever reads decides whether they fit (parts/carriers.py). What
others commit meanwhile never harms: rows that die are hidden in the new parts, and a slot that goes makes the rewrite
stand for nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from functools import partial

import pyarrow as pa
from pyroaring import BitMap

from anabranch.commands.compact import compacted, everything
from anabranch.commands.insert import or_discard
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.execution.plan import ScanPlan, TableView, plan_scan
from anabranch.execution.reader import PartReader
from anabranch.execution.writer import write_parts
from anabranch.model.rewrite import Rewrite
from anabranch.model.words import counted
from anabranch.parts.carriers import Unit
from anabranch.parts.pick import pick


@dataclass(frozen=True)
class Optimized:
    """What OPTIMIZE did; nothing is zeros."""

    parts_before: int = 0
    parts_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0

    def result(self) -> Result:
        return Result([field.name for field in fields(self)], [list(astuple(self))])


def optimize(session: Session, table: OpenTable) -> Optimized:
    """One commit with all rewrites; none if nothing is worth it."""
    view = session.view(table)
    jobs = list(_keyed_jobs(session, table) if table.schema.primary_key else _jobs(session, table, view))
    made: list[Rewrite] = []
    try:
        for _, job in jobs:
            made.append(job())
    except BaseException:
        _discard(session, table, made)
        raise
    if not made:
        return Optimized()
    old = [part for units, _ in jobs for unit in units for part in unit.parts]
    new = [part for rewrite in made for part in rewrite.parts]
    message = f"{table.name}: {counted(len(old), 'part')} became {counted(len(new), 'part')}"
    change = table_change(table, "compaction", rows=sum(part.rows for part in new))
    commit = lambda: session.commit(table.position, "OPTIMIZE", message, [change], rewrites=tuple(made))  # noqa: E731
    or_discard(session, table, new, commit)
    return Optimized(len(old), len(new), sum(part.bytes for part in old), sum(part.bytes for part in new))


Job = tuple[tuple[Unit, ...], Callable[[], Rewrite]]
"""What is rewritten, and how."""


def _jobs(session: Session, table: OpenTable, view: TableView) -> Iterator[Job]:
    plan = plan_scan(view)
    for picked in pick(view.carried):
        yield picked.units, partial(_rewritten, session, table, plan, picked.units)


def _keyed_jobs(session: Session, table: OpenTable) -> Iterator[Job]:
    for plan in everything(session.view(table)):
        yield plan.units, partial(compacted, session, table, plan)


def _rewritten(session: Session, table: OpenTable, plan: ScanPlan, units: tuple[Unit, ...]) -> Rewrite:
    destination, slot = session.destination(table), lambda: session.next_slot(table.id)
    parts = write_parts(destination, _rows(plan, units), slot, has_origin=True, has_row_id=True)
    left_out = {slot: _dead(plan.view, slot) for unit in units for slot in unit.slots}
    return Rewrite(str(uuid.uuid4()), table.id, left_out, tuple(parts))


def _rows(plan: ScanPlan, units: tuple[Unit, ...]) -> Iterator[pa.Table]:
    reader = PartReader.of(plan, ids=True)
    for unit in units:
        for part in unit.parts:
            yield from reader.groups(part, plan.dead(part))


def _dead(view: TableView, slot: int) -> BitMap:
    return view.state.dead.get(slot, BitMap())


def _discard(session: Session, table: OpenTable, made: list[Rewrite]) -> None:
    for rewrite in made:
        for part in rewrite.parts:
            session.folder(table.id).discard(part.path)
