"""Jobs that write: Spark brings rows together, `mapInArrow` writes Parquet, the driver gets reports and commits.

Loads that need nothing of a kernel are left to Spark's own Parquet writer (spark_parquet.py); rows need not come to
Python for it, which takes as long as writing them.

A task's k-th part has the slot `first + task * layers + k`. Attempts of one task share slots and differ in the file's
uuid; only the file of the attempt whose report Spark returns is committed. A task that needs more slots than it has
says so, and the job runs again with more. What a failed job wrote is removed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.errors import StorageError
from anabranch.execution.failures import spark_failures
from anabranch.execution.file_columns import file_frame, why_kernel
from anabranch.execution.session import temporarily
from anabranch.execution.shape import Shape
from anabranch.execution.slots import Reserve, Slots, SlotsUsedUp
from anabranch.execution.spark_parquet import write_parquet
from anabranch.execution.spark_types import from_spark, numbered
from anabranch.execution.spread import shuffled_tasks
from anabranch.execution.writer import PartsWriter
from anabranch.model.part import Part
from anabranch.model.types import DataType, backticked
from anabranch.storage.parquet import ORIGIN, Destination
from anabranch.storage.row_ids import by_slot, united

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPORT = "report binary"
_BATCH, _ROWS_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch", "65536"
_IDS_AT_ONCE = 32 << 20

MAX_TASKS = 1024
PARTS_A_TASK, MANY_PARTS_A_TASK = 64, 8192


Kernel = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
"""Takes a task's rows and gives its report."""


@dataclass
class Report:
    """What a task, or a whole job, did."""

    parts: list[Part] = field(default_factory=list)
    dead: dict[int, BitMap] = field(default_factory=dict)
    rows: int = 0
    too_few_slots: bool = False


def write_frame(frame: DataFrame, to: Destination, shape: Shape, reserve: Reserve) -> Report:
    """Inserts: the frame's rows as fresh parts."""
    if why_kernel_writes(frame, to, shape) is not None:
        return _write(frame, to, shape, reserve, updates=False)
    columns = file_frame(frame.coalesce(MAX_TASKS), shape, _types(frame))
    parts = write_parquet(columns, to, shape.table, reserve)
    return Report(parts, rows=sum(part.rows for part in parts))


def why_kernel_writes(frame: DataFrame, to: Destination, shape: Shape) -> str | None:
    """Why an insert of the frame is written by kernels; None: it is left to Spark's own writer."""
    return why_kernel(to.files, shape, _types(frame))


def _types(frame: DataFrame) -> list[DataType | None]:
    return [type_ for _, type_ in from_spark(frame.schema, lenient=True)]


def update_frame(frame: DataFrame, to: Destination, shape: Shape, reserve: Reserve) -> Report:
    """Updates: the frame's rows are new versions, followed by `_row_id` and `_origin` of the old ones, which die."""
    return _write(frame, to, shape, reserve, updates=True)


def _write(frame: DataFrame, to: Destination, shape: Shape, reserve: Reserve, *, updates: bool) -> Report:
    tasks = MAX_TASKS
    gathered = frame.coalesce(tasks)
    if shape.schema.partitioned_by:
        gathered, tasks = _by_partition(frame, shape)
    return run_job(gathered, to, reserve, tasks, lambda slots: _Task(to, shape, slots, updates).__call__)


def run_job(
    gathered: DataFrame, to: Destination, reserve: Reserve, tasks: int, kernel: Callable[[Slots], Kernel]
) -> Report:
    """Tasks write the parts of their rows; the rows of a partition are in one task. All parts or none."""
    layers = (PARTS_A_TASK, MANY_PARTS_A_TASK) if to.schema.partitioned_by else (1,)
    return run_tasks(gathered, to, reserve, tasks, layers, kernel, _received)


class _Said(Protocol):
    too_few_slots: bool


Said = TypeVar("Said", bound=_Said)


def run_tasks(
    gathered: DataFrame,
    to: Destination,
    reserve: Reserve,
    tasks: int,
    layers: Sequence[int],
    kernel: Callable[[Slots], Kernel],
    received: Callable[[pa.Table], Said],
) -> Said:
    """The same for reports of any kind; `layers`: how many parts a task may write, and what is tried after that."""
    gathered = numbered(gathered)
    for most in layers:
        slots = reserve(tasks, most)
        try:
            with spark_failures(), temporarily(gathered.sparkSession, _BATCH, _ROWS_A_BATCH):
                report = received(gathered.mapInArrow(kernel(slots), REPORT).toArrow())
        except BaseException:
            to.files.discard_slots(slots.first, slots.end)
            raise
        if not report.too_few_slots:
            return report
        to.files.discard_slots(slots.first, slots.end)
    raise StorageError(f"one task has rows of more than {most} partitions. Write fewer partitions at a time.")


def dead_frame(frame: DataFrame, most: int) -> Report:
    """Deletes: the rows whose ids are the frame's only column, `most` of them at most.

    Ids come to the driver as they are if they are not too many; else tasks make bitmaps of them, which costs workers.
    """
    if most <= _IDS_AT_ONCE:
        with spark_failures():
            found = frame.toArrow().column(0).to_numpy()
        return Report(dead=by_slot(found), rows=len(found))

    def kernel(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        ids = [batch.column(0).to_numpy(zero_copy_only=False) for batch in batches]
        if ids:
            all_ids = np.concatenate(ids)
            yield sent(Report(dead=by_slot(all_ids), rows=len(all_ids)))

    with spark_failures():
        return _received(frame.mapInArrow(kernel, REPORT).toArrow())


@dataclass(frozen=True)
class _Task:
    to: Destination
    shape: Shape
    slots: Slots
    updates: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        writer = PartsWriter(self.to, task_slots(self.slots), has_origin=self.updates)
        report = Report()
        ids = []
        try:
            for batch in batches:
                data = pa.Table.from_batches([batch])
                rows = self.shape.apply(data)
                if self.updates:
                    *_, row_id, origin = data.columns
                    rows = rows.append_column(ORIGIN, origin)
                    ids.append(row_id.to_numpy())
                writer.write(rows)
                report.rows += rows.num_rows
            report.parts = writer.close()
        except SlotsUsedUp:
            writer.abort()
            yield sent(Report(too_few_slots=True))
            return
        except BaseException:
            writer.abort()
            raise
        if ids:
            report.dead = by_slot(np.concatenate(ids))
        if report.rows:
            yield sent(report)


def task_slots(slots: Slots) -> Callable[[], int]:
    """Gives the slots of the task that calls it, one after the other."""
    from pyspark import TaskContext

    context = TaskContext.get()
    task = context.partitionId() if context else 0
    layers = iter(range(slots.layers + 1))
    return lambda: slots.of(task, next(layers))


def _by_partition(frame: DataFrame, shape: Shape) -> tuple[DataFrame, int]:
    """Rows of one partition in one task and together, so that it becomes one part; and the number of tasks at most.

    Without a number, Spark coalesces small shuffles by itself, and task ids stay below the configured one.
    """
    names = frame.columns
    keys = [
        names[source]
        for column, source in zip(shape.schema.columns, shape.sources, strict=True)
        if column.physical in shape.schema.partitioned_by and source is not None
    ]
    if not keys:
        return frame.coalesce(MAX_TASKS), MAX_TASKS
    quoted = [backticked(name) for name in keys]
    return frame.repartition(*quoted).sortWithinPartitions(*quoted), shuffled_tasks(frame)


def sent(report: Report) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(report)], pa.binary())], names=["report"])


def _received(table: pa.Table) -> Report:
    reports = [pickle.loads(data.as_py()) for data in table.column(0)]
    return Report(
        [part for report in reports for part in report.parts],
        united(report.dead for report in reports),
        sum(report.rows for report in reports),
        any(report.too_few_slots for report in reports),
    )
