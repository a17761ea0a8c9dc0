"""Rewrites of parts as a Spark job: executors read and write them, and the driver learns what became of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.execution.living import Piece, rewrite
from anabranch.execution.reader import PartReader
from anabranch.execution.slots import Reserve, Slots, SlotsUsedUp
from anabranch.execution.spark_writer import MAX_TASKS, run_tasks, task_slots
from anabranch.model.part import Part
from anabranch.storage.parquet import Destination

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LAYERS = (8, 512)
"""Parts that one task may write, and what is tried after that."""


@dataclass
class _Report:
    """The new parts of each piece, by its number."""

    parts: dict[int, list[Part]] = field(default_factory=dict)
    too_few_slots: bool = False


def rewrite_by_job(
    spark: SparkSession, reader: PartReader, pieces: Sequence[Piece], to: Destination, reserve: Reserve
) -> list[list[Part]]:
    """The new parts of every piece, each made by one task. A job that fails leaves no file."""
    numbered = [pickle.dumps((number, piece)) for number, piece in enumerate(pieces)]
    tasks = min(len(pieces), MAX_TASKS)
    frame = spark.createDataFrame(pa.table({"piece": pa.array(numbered, pa.binary())})).repartition(tasks)
    report = run_tasks(frame, to, reserve, tasks, _LAYERS, lambda slots: _Task(reader, to, slots).__call__, _received)
    return [report.parts.get(number, []) for number in range(len(pieces))]


@dataclass(frozen=True)
class _Task:
    reader: PartReader
    to: Destination
    slots: Slots

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        next_slot, report = task_slots(self.slots), _Report()
        try:
            for batch in batches:
                for body in batch.column(0):
                    number, piece = pickle.loads(body.as_py())
                    report.parts[number] = rewrite(self.reader, piece, self.to, next_slot)
        except BaseException as error:
            for parts in report.parts.values():
                for part in parts:
                    self.to.files.discard(part.path)
            if not isinstance(error, SlotsUsedUp):
                raise
            report = _Report(too_few_slots=True)
        yield pa.record_batch([pa.array([pickle.dumps(report)], pa.binary())], names=["report"])


def _received(table: pa.Table) -> _Report:
    whole = _Report()
    for body in table.column(0):
        report: _Report = pickle.loads(body.as_py())
        whole.parts |= report.parts
        whole.too_few_slots |= report.too_few_slots
    return whole
