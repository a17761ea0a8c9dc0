"""Jobs that write: Spark brings rows together, `mapInArrow` writes Parquet, the driver gets reports and commits.

A task's k-th part has the slot `first + k * tasks + task`. Attempts of one task share slots and differ in the file's
uuid; only the file of the attempt whose report Spark returns is committed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.errors import StorageError
from anabranch.execution.failures import spark_failures
from anabranch.execution.reader import ROW_ID
from anabranch.execution.shape import Shape
from anabranch.execution.writer import PartsWriter
from anabranch.model.part import Part
from anabranch.model.schema import Schema
from anabranch.storage.parquet import ORIGIN, Destination
from anabranch.storage.row_ids import by_slot, united

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPORT = "report binary"


TASKS, PARTITION_TASKS, PARTITION_LAYERS = 1024, 32, 512


@dataclass(frozen=True)
class Slots:
    """A block of slots for one job: `layers` for each of `tasks` tasks."""

    first: int
    tasks: int
    layers: int

    @staticmethod
    def needed(schema: Schema) -> tuple[int, int]:
        """Tasks and layers of a job that writes a table of this schema."""
        return (PARTITION_TASKS, PARTITION_LAYERS) if schema.partitioned_by else (TASKS, 1)

    @property
    def end(self) -> int:
        return self.first + self.tasks * self.layers

    def of(self, task: int, layer: int) -> int:
        if task >= self.tasks or layer >= self.layers:
            raise StorageError(
                f"one task has rows of more than {self.layers} partitions. Write fewer partitions at a time."
            )
        return self.first + layer * self.tasks + task


@dataclass
class Report:
    """What a task, or a whole job, did."""

    parts: list[Part] = field(default_factory=list)
    dead: dict[int, BitMap] = field(default_factory=dict)
    rows: int = 0


def write_frame(frame: DataFrame, to: Destination, shape: Shape, slots: Slots) -> Report:
    """Inserts: the frame's rows as fresh parts."""
    return _run(_gathered(frame, shape, slots), _Task(to, shape, slots, updates=False))


def update_frame(frame: DataFrame, to: Destination, shape: Shape, slots: Slots) -> Report:
    """Updates: the frame's rows are new versions, followed by `_row_id` and `_origin` of the old ones, which die."""
    return _run(_gathered(frame, shape, slots), _Task(to, shape, slots, updates=True))


def dead_frame(frame: DataFrame) -> Report:
    """Deletes: the rows whose ids are the frame's only column."""

    def kernel(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        ids = [batch.column(0).to_numpy(zero_copy_only=False) for batch in batches]
        if ids:
            all_ids = np.concatenate(ids)
            yield _sent(Report(dead=by_slot(all_ids), rows=len(all_ids)))

    with spark_failures():
        return _received(frame.mapInArrow(kernel, REPORT).toArrow())


@dataclass(frozen=True)
class _Task:
    to: Destination
    shape: Shape
    slots: Slots
    updates: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        layers = iter(range(self.slots.layers + 1))
        writer = PartsWriter(self.to, lambda: self.slots.of(task, next(layers)), has_origin=self.updates)
        report = Report()
        ids = []
        try:
            for batch in batches:
                data = pa.Table.from_batches([batch])
                rows = self.shape.apply(data)
                if self.updates:
                    rows = rows.append_column(ORIGIN, data.column(ORIGIN))
                    ids.append(data.column(ROW_ID).to_numpy())
                writer.write(rows)
                report.rows += rows.num_rows
            report.parts = writer.close()
        except BaseException:
            writer.abort()
            raise
        if ids:
            report.dead = by_slot(np.concatenate(ids))
        if report.rows:
            yield _sent(report)


def _gathered(frame: DataFrame, shape: Shape, slots: Slots) -> DataFrame:
    """No more tasks than there are slots for; and rows of one partition together, so that it becomes one part."""
    if not shape.schema.partitioned_by:
        return frame.coalesce(slots.tasks)
    names = frame.columns
    keys = [
        names[source]
        for column, source in zip(shape.schema.columns, shape.sources, strict=True)
        if column.physical in shape.schema.partitioned_by and source is not None
    ]
    if not keys:
        return frame.coalesce(slots.tasks)
    quoted = ["`" + name.replace("`", "``") + "`" for name in keys]
    return frame.repartition(slots.tasks, *quoted).sortWithinPartitions(*quoted)


def _run(frame: DataFrame, task: _Task) -> Report:
    with spark_failures():
        return _received(frame.mapInArrow(task.__call__, REPORT).toArrow())


def _sent(report: Report) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(report)], pa.binary())], names=["report"])


def _received(table: pa.Table) -> Report:
    reports = [pickle.loads(data.as_py()) for data in table.column(0)]
    return Report(
        [part for report in reports for part in report.parts],
        united(report.dead for report in reports),
        sum(report.rows for report in reports),
    )
