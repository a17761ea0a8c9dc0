"""Copy-on-write: the parts in which a MERGE INTO made rows dead are rewritten without them, in the same commit.

Rows never pass Spark: tasks read and write parts with Arrow. On a cluster a large rewrite is a job of its executors;
where all cores are this machine's, or there is little to do, threads of this process do the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.rows import ids_of
from anabranch.commands.session import OpenTable, Session
from anabranch.execution.living import Piece, rewrite
from anabranch.execution.plan import TableView, plan_scan
from anabranch.execution.reader import PartReader
from anabranch.execution.session import on_cluster
from anabranch.execution.writer import MAX_PART_ROWS
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite
from anabranch.storage.row_ids import united

LARGE = 128 << 20
"""Bytes above which a cluster's executors rewrite parts."""


def rewritten(
    session: Session, table: OpenTable, view: TableView, updated: Mapping[int, BitMap], deleted: Mapping[int, BitMap]
) -> list[Rewrite]:
    """Rewrites of the touched parts; what has no live row left needs none. Only these parts are read."""
    killed = united((updated, deleted))
    touched = [unit for unit in view.carried.units if not killed.keys().isdisjoint(unit.slots)]
    plan = plan_scan(view)
    reader = PartReader.of(plan, ids=True)
    pieces = [
        Piece(
            tuple((part, plan.dead(part)) for part in unit.parts),
            ids_of({slot: rows for slot, rows in killed.items() if slot in unit.slots}),
        )
        for unit in touched
    ]
    dead, made = view.state.dead, []
    for unit, parts in zip(touched, _parts(session, table, reader, pieces), strict=True):
        if parts:
            left_out = {slot: dead.get(slot, BitMap()) | killed.get(slot, BitMap()) for slot in unit.slots}
            made.append(Rewrite(str(uuid.uuid4()), table.id, left_out, tuple(parts)))
    return made


def by_executors(session: Session, pieces: Sequence[Piece]) -> bool:
    spark = session.shared.spark.there
    return spark is not None and sum(piece.bytes for piece in pieces) > LARGE and on_cluster(spark)


def _parts(session: Session, table: OpenTable, reader: PartReader, pieces: Sequence[Piece]) -> list[list[Part]]:
    """The new parts of each piece; all of them or none."""
    if not by_executors(session, pieces):
        return _by_threads(session, table, reader, pieces)
    from anabranch.execution.spark_rewrite import rewrite_by_job

    with session.slots_for_jobs(table) as slots:
        spark, to = session.shared.spark(), session.destination(table)
        found = rewrite_by_job(spark, reader, pieces, to, slots.reserve)
        slots.used = [part for parts in found for part in parts]
    return found


def _by_threads(session: Session, table: OpenTable, reader: PartReader, pieces: Sequence[Piece]) -> list[list[Part]]:
    destination = session.destination(table)
    # Reserved by this thread: where it holds the head, another one that wrote to the catalog would wait for it.
    slots = [[session.next_slot(table.id) for _ in range(_most_parts(piece))] for piece in pieces]
    work: list[Future[list[Part]]] = []
    _ = reader.output  # what a reader finds out it finds out here, not once in every thread
    try:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            for piece, its in zip(pieces, slots, strict=True):
                work.append(pool.submit(rewrite, reader, piece, destination, iter(its).__next__))
            return [future.result() for future in work]
    except BaseException:
        for future in work:  # the pool has waited for all that had begun
            if future.cancel() or future.exception() is not None:
                continue
            for part in future.result():
                destination.files.discard(part.path)
        raise


def _most_parts(piece: Piece) -> int:
    """A part ends where the next one's partition begins, or where it is full."""
    return len(piece.parts) + sum(part.rows for part, _ in piece.parts) // MAX_PART_ROWS
