"""Compaction of keyed tables: runs become one, merged by key through the table's engine.

What is written is a rewrite (model/rewrite.py): another way to read the same rows. It changes no state and needs no
version, so nobody has to wait for it or can be in its way; readers take it wherever it fits (keyed/standing.py).

A writer counts its flushes, and when there may be more runs than the table likes it wakes the `Compactor`, a thread of
its own, after its commit has returned. A process that ends first leaves the work to the next writer.
"""

from __future__ import annotations

import atexit
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import BitMap

from anabranch.commands.session import OpenTable, Session, Shared
from anabranch.engines import EngineSpec, Reach, reduce, segment_starts, sort_order
from anabranch.engines.kinds import remembers
from anabranch.errors import AnabranchError
from anabranch.execution.keyed_writer import with_marks, write_keyed
from anabranch.execution.plan import TableView
from anabranch.execution.records import read_records
from anabranch.forks import renew_after_fork
from anabranch.keyed import picker
from anabranch.keyed.sections import Placed, runs_by_age, sections, widened
from anabranch.keyed.sorted_merge import aged, batch_rows, sorted_merge
from anabranch.keyed.standing import has_kinds, keys_now, older_meet
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite
from anabranch.options import option
from anabranch.parts.carriers import Unit


class Stopped(Exception):
    """The process ends; the work is left to the next one."""


@dataclass(frozen=True)
class Plan:
    """Units to merge, oldest first. `oldest`: no other part that is older could hold a key of theirs."""

    units: tuple[Unit, ...]
    oldest: bool
    reason: str


# --- deciding ---------------------------------------------------------------------------------------------------------


def picked(view: TableView, options: picker.PickerOptions) -> list[Plan]:
    """What the universal picker wants, partition by partition."""
    found = []
    for units in _partitions(view):
        standing = _standing(view, units)
        runs = runs_by_age(standing)
        choice = picker.pick([run.bytes for run in runs], options)
        if choice is not None:
            chosen = [part for run in runs[: choice.runs] for part in run.parts]
            found.append(_plan(units, standing, chosen, choice.reason))
    return found


def everything(view: TableView) -> list[Plan]:
    """All that more than one part holds, or that is no plain add: what OPTIMIZE merges."""
    assert view.keyed is not None
    found = []
    for units in _partitions(view):
        standing = _standing(view, units)
        dirty = any(has_kinds(part) for unit in units for part in unit.parts)
        if len(units) == 1 and remembers(view.keyed.spec):
            dirty = dirty and units[0].parts[0].slot in units[0].slots  # else it is what compaction has left
        if dirty or (len(units) > 1 and (any(len(s.runs) > 1 for s in sections(standing)) or _many_small(units))):
            found.append(_plan(units, standing, standing, "all runs become one"))
    return found


def _many_small(units: Sequence[Unit]) -> bool:
    return sum(part.bytes for unit in units for part in unit.parts) < len(units) * SMALL


SMALL = 64 << 20


def _partitions(view: TableView) -> list[list[Unit]]:
    found: dict[str | None, list[Unit]] = {}
    for unit in view.standing.units:
        if unit.parts:
            found.setdefault(unit.parts[0].partition, []).append(unit)
    return list(found.values())


def _standing(view: TableView, units: Sequence[Unit]) -> list[Placed]:
    """One for each unit, so that none is taken apart."""
    found = []
    for block, unit in enumerate(units):
        keys = [keys_now(part, view.schema, view.written) for part in unit.parts]
        first, last = min(key.firsts[0] for key in keys), max(key.last for key in keys)
        found.append(Placed(str(block), first, last, block, block, sum(part.bytes for part in unit.parts)))
    return found


def _plan(units: Sequence[Unit], standing: Sequence[Placed], chosen: Sequence[Placed], reason: str) -> Plan:
    chosen = widened(standing, chosen)
    return Plan(tuple(units[int(part.name)] for part in chosen), not older_meet(standing, chosen), reason)


# --- doing ------------------------------------------------------------------------------------------------------------


def compacted(session: Session, table: OpenTable, plan: Plan, stop: Callable[[], bool] = lambda: False) -> Rewrite:
    """The merge of the plan's units, written and not known to the catalog yet."""
    view = session.view(table)
    kinds = any(has_kinds(part) for unit in plan.units for part in unit.parts)
    kinds = kinds and (not plan.oldest or remembers(table.engine))
    slots = lambda: session.next_slot(table.id)  # noqa: E731
    engine = option(table.record.properties, "sort-engine")
    rows = _merged(view, plan, table.engine, engine, stop)
    parts = write_keyed(session.destination(table), rows, slots, kinds=kinds)
    inputs = {slot: BitMap() for unit in plan.units for slot in unit.slots}
    return Rewrite(str(uuid.uuid4()), table.id, inputs, tuple(parts), keyed=True, oldest=plan.oldest)


def _merged(view: TableView, plan: Plan, spec: EngineSpec, engine: str, stop: Callable[[], bool]) -> Iterator[pa.Table]:
    size = batch_rows(len(plan.units))
    marked = any(has_kinds(part) for unit in plan.units for part in unit.parts)
    runs = [aged(age, _batches(view, unit.parts, size, marked=marked)) for age, unit in enumerate(plan.units)]
    for window in sorted_merge(runs, spec.key, engine=engine, nullable=spec.nullable_key):
        if stop():
            raise Stopped
        rows, starts = window.rows, window.starts
        if spec.sequence or marked:
            rows = rows.take(pa.array(sort_order(rows, spec, age=window.ages)))
            starts = segment_starts(rows, spec.key)
        yield reduce(rows, starts, spec, Reach.OLDEST if plan.oldest else Reach.SOME).rows


def _batches(view: TableView, parts: Sequence[Part], size: int, *, marked: bool) -> Iterator[pa.RecordBatch]:
    for part in sorted(parts, key=lambda part: keys_now(part, view.schema, view.written).firsts[0]):
        for rows in read_records(view, part):
            yield from (with_marks(rows) if marked else rows).combine_chunks().to_batches(max_chunksize=size)


# --- in the background ------------------------------------------------------------------------------------------------


class Compactor:
    """One thread that compacts the tables that writers name. It never raises: what fails is left to the next writer."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared.apart()
        self._stopping = False
        self.start_anew()
        renew_after_fork(self)
        atexit.register(self.close)

    def start_anew(self) -> None:
        """A forked process has neither the thread nor what it was asked for."""
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, int], tuple[str, ...]] = {}
        self._flushes: dict[tuple[str, int], int] = {}
        self._thread: threading.Thread | None = None

    def flushed(self, session: Session, table: OpenTable) -> None:
        """A writer's flush is committed. Costs nothing until there may be enough of them."""
        key = (table.id, session.branch_id)
        options = picker_options(table)
        with self._lock:
            self._flushes[key] = self._flushes.get(key, options.stop) + 1
            if self._flushes[key] <= options.stop or self._stopping:
                return
            self._flushes[key] = 0
            self._waiting[key] = (table.database.name, table.record.name)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="anabranch-compaction", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Lets the thread end soon, and waits for it."""
        self._stopping = True
        atexit.unregister(self.close)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def wait(self) -> None:
        """Until all that was asked for is done."""
        while (thread := self._thread) is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._stopping:
                    self._thread = None
                    return
                (_, branch_id), names = self._waiting.popitem()
            try:
                self._compact(Session(self._shared, branch_id), names)
            except (AnabranchError, Stopped, OSError):
                continue

    def _compact(self, session: Session, names: tuple[str, ...]) -> None:
        table = session.find_table(names)
        if table is None or not table.schema.primary_key:
            return
        for plan in picked(session.view(table), picker_options(table)):
            made = compacted(session, table, plan, lambda: self._stopping)
            session.catalog.add_rewrites([made])


def picker_options(table: OpenTable) -> picker.PickerOptions:
    properties = table.record.properties
    stop = option(properties, "num-sorted-run.stop-trigger")
    return picker.PickerOptions(
        int(option(properties, "num-sorted-run.compaction-trigger")),
        int(stop) if stop else None,
        int(option(properties, "compaction.max-size-amplification-percent")),
        int(option(properties, "compaction.size-ratio")),
    )
