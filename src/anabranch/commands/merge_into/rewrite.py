"""Copy-on-write: the parts in which a MERGE INTO made rows dead are rewritten without them, in the same commit."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.rows import ids_of
from anabranch.commands.session import OpenTable, Session
from anabranch.execution.plan import ScanPlan, TableView, plan_scan
from anabranch.execution.reader import PartReader
from anabranch.execution.writer import write_parts
from anabranch.model.rewrite import Rewrite
from anabranch.parts.carriers import Unit
from anabranch.storage.parquet import ROW_ID
from anabranch.storage.row_ids import united


def rewritten(
    session: Session, table: OpenTable, view: TableView, updated: Mapping[int, BitMap], deleted: Mapping[int, BitMap]
) -> list[Rewrite]:
    """Rewrites of the touched parts; what has no live row left needs none. Only these parts are read."""
    killed = united((updated, deleted))
    touched = [unit for unit in view.carried.units if not killed.keys().isdisjoint(unit.slots)]
    plan = plan_scan(view)
    lock = threading.Lock()

    def slot() -> int:
        with lock:
            return session.next_slot(table.id)

    def rewrite(unit: Unit) -> Rewrite | None:
        gone = ids_of({slot: rows for slot, rows in killed.items() if slot in unit.slots})
        parts = write_parts(destination, _living(plan, unit, gone), slot, has_origin=True, has_row_id=True)
        if not parts:
            return None
        dead = view.state.dead
        left_out = {slot: dead.get(slot, BitMap()) | killed.get(slot, BitMap()) for slot in unit.slots}
        return Rewrite(str(uuid.uuid4()), table.id, left_out, tuple(parts))

    destination = session.destination(table)
    made: list[Rewrite] = []
    try:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            for found in pool.map(rewrite, touched):
                if found is not None:
                    made.append(found)
    except BaseException:
        for one in made:
            for part in one.parts:
                destination.files.discard(part.path)
        raise
    return made


def _living(plan: ScanPlan, unit: Unit, gone: np.ndarray) -> Iterator[pa.Table]:
    reader = PartReader.of(plan, ids=True)
    for part in unit.parts:
        for rows in reader.groups(part, plan.dead(part)):
            ids = rows.column(ROW_ID).to_numpy()
            at = np.minimum(np.searchsorted(gone, ids), len(gone) - 1)
            kept = gone[at] != ids
            yield rows if kept.all() else rows.filter(pa.array(kept))
