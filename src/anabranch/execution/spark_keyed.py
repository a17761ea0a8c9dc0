"""Spark jobs that write keyed tables: rows come together by key ranges, sorted, and become parts that do not overlap.

Rows that just stand in local Parquet files are not brought into the JVM at all (plain_load.py). Of the others, where
Spark's own Parquet writer can write them it does, and only the key columns are read back: for their bounds, and
for keys that came several times, whose parts are then written anew with one row a key. Else kernels reduce and write
the rows of each task, window by window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.engines import EngineSpec, Reach, admitted, reduce, segment_starts
from anabranch.execution.estimates import planned
from anabranch.execution.file_columns import checked_cast, file_frame, why_kernel
from anabranch.execution.keyed_writer import by_physical, keys_in, marked, sorted_rows, with_marks, write_keyed
from anabranch.execution.plain_files import PlainFiles, plain_files
from anabranch.execution.plain_load import load_plain, suits
from anabranch.execution.shape import Shape
from anabranch.execution.slots import Reserve, Slots, SlotsUsedUp
from anabranch.execution.spark_parquet import unlike, write_parquet
from anabranch.execution.spark_types import from_spark, numbered
from anabranch.execution.spark_writer import Report, run_job, sent, task_slots
from anabranch.execution.spread import spread
from anabranch.keyed.bounds import part_keys
from anabranch.keyed.keys import is_sorted
from anabranch.keyed.keys import segment_starts as key_starts
from anabranch.keyed.sorted_merge import aged, sorted_merge
from anabranch.keyed.standing import noted
from anabranch.model.part import Part, row_groups
from anabranch.model.schema import Schema
from anabranch.model.types import DataType
from anabranch.storage.parquet import Destination, read_groups, read_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_READERS = 4


@dataclass(frozen=True)
class Mark:
    """What all rows of a job are, if not what they say themselves: a kind, and the fields that set rows set."""

    kind: int
    sets: tuple[str, ...] | None = None


def upsert_frame(
    frame: DataFrame,
    to: Destination,
    shape: Shape,
    spec: EngineSpec,
    reserve: Reserve,
    next_slot: Callable[[], int],
    mark: Mark | None = None,
) -> Report:
    """The frame's rows as parts of one run. Reads nothing of the table."""
    incoming = [type_ for _, type_ in from_spark(frame.schema, lenient=True)]
    plain = shape.kind is None and spec.rowkind is None and mark is None
    if plain and why_kernel(to.files, shape, incoming) is None:
        files = _read_here(frame, incoming, shape, spec)
        if files is not None and (loaded := load_plain(files, to, shape, spec, reserve)) is not None:
            return Report(loaded, rows=files.rows)
        columns = file_frame(frame, shape, incoming)
        plan = planned(columns)
        with ThreadPoolExecutor(1) as pool:
            looked = pool.submit(unlike, columns, plan)
            gathered, _ = spread(columns, plan, spec.key)
        parts = write_parquet(gathered, to, shape.table, reserve, unlike=looked.result())
        rows = sum(part.rows for part in parts)
        return Report(_checked(to, shape.table, parts, spec, next_slot), rows=rows)
    gathered, tasks = _by_key(frame, shape, spec, incoming)
    return run_job(gathered, to, reserve, tasks, lambda slots: _Task(to, shape, spec, slots, mark).__call__)


def is_read_here(frame: DataFrame, to: Destination, shape: Shape, spec: EngineSpec) -> bool:
    """Whether the frame is Parquet files that need no Spark to be loaded, unless their keys turn out to be few."""
    incoming = [type_ for _, type_ in from_spark(frame.schema, lenient=True)]
    if shape.kind is not None or spec.rowkind is not None or why_kernel(to.files, shape, incoming) is not None:
        return False
    return _read_here(frame, incoming, shape, spec) is not None


def _read_here(
    frame: DataFrame, incoming: Sequence[DataType | None], shape: Shape, spec: EngineSpec
) -> PlainFiles | None:
    files = plain_files(frame, incoming)
    return files if files is not None and suits(files, shape, spec) else None


# --- written by Spark -------------------------------------------------------------------------------------------------


def _checked(
    to: Destination, table: str, parts: Sequence[Part], spec: EngineSpec, next_slot: Callable[[], int]
) -> list[Part]:
    """The parts with the bounds of their keys; those in which a key stands twice are written anew."""
    found: list[Part] = []
    try:
        with ThreadPoolExecutor(_READERS) as pool:
            bounded = list(pool.map(lambda part: _bounded(to, table, part, spec), parts))
        for part, known in zip(parts, bounded, strict=True):
            found += [known] if known is not None else _reduced(to, table, part, spec, next_slot)
    except BaseException:
        for part in (*parts, *found):
            to.files.discard(part.path)
        raise
    return found


def _bounded(to: Destination, table: str, part: Part, spec: EngineSpec) -> Part | None:
    """The part with the bounds of its keys; None: a key stands there twice."""
    keys = keys_in(read_part(to.files, part, table, list(spec.key)), spec)
    if len(key_starts(keys)) < len(keys) or not is_sorted(keys):
        return None
    return replace(part, stats=noted(part.stats, part_keys(keys, row_groups(part)), kinds=False))


def _reduced(to: Destination, table: str, part: Part, spec: EngineSpec, next_slot: Callable[[], int]) -> list[Part]:
    names = [column.physical for column in to.schema.columns]
    batches = (data.select(names) for _, data in read_groups(to.files, part, table, names))
    made = write_keyed(to, _windows(batches, spec), next_slot, kinds=False)
    to.files.discard(part.path)
    return made


def _windows(tables: Iterable[pa.Table], spec: EngineSpec) -> Iterator[pa.Table]:
    """Sorted rows with one row a key, in stretches that no key is cut by."""
    batches = (batch for table in tables for batch in table.combine_chunks().to_batches())
    for window in sorted_merge([aged(0, batches)], spec.key, nullable=spec.nullable_key):
        rows = sorted_rows(window.rows, spec)
        yield reduce(rows, segment_starts(rows, spec.key), spec, Reach.WRITE).rows


# --- written by kernels -----------------------------------------------------------------------------------------------


def _by_key(
    frame: DataFrame, shape: Shape, spec: EngineSpec, incoming: Sequence[DataType | None]
) -> tuple[DataFrame, int]:
    """Rows of one partition in one task, sorted by partition and key; and how many tasks there are at most.

    Keys are cast to their type before: '9' is above '10', and '1' and '01' may be one key.
    """
    from pyspark.sql import functions as F

    named = numbered(frame)
    places = {}
    for column, place in zip(shape.schema.columns, shape.sources, strict=True):
        if place is None or column.physical not in spec.key:
            continue
        places[column.physical] = f"c{place}"
        if incoming[place] is not None and str(incoming[place]) != str(column.type):
            named = named.withColumn(f"c{place}", checked_cast(F.col(f"c{place}"), column, str(column.type)))

    def columns(wanted: Sequence[str]) -> list[str]:
        return [places[name] for name in wanted if name in places]

    keys = columns(spec.key)
    return spread(named, planned(named), keys, columns(shape.schema.partitioned_by)) if keys else (named.coalesce(1), 1)


def _partition_first(schema: Schema, spec: EngineSpec) -> tuple[str, ...]:
    return (*schema.partitioned_by, *(name for name in spec.key if name not in schema.partitioned_by))


@dataclass(frozen=True)
class _Task:
    to: Destination
    shape: Shape
    spec: EngineSpec
    slots: Slots
    mark: Mark | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        report = Report()
        try:
            # Rows come sorted by partition first, so the key is taken in that order; inside a partition it is the same.
            by_partition = replace(self.spec, key=_partition_first(self.to.schema, self.spec))
            windows = _windows(self._rows(batches, report), by_partition)
            report.parts = write_keyed(self.to, windows, task_slots(self.slots), kinds=self._has_kinds)
        except SlotsUsedUp:
            yield sent(Report(too_few_slots=True))
            return
        if report.rows:
            yield sent(report)

    @property
    def _has_kinds(self) -> bool:
        return self.mark is not None or self.shape.kind is not None or self.spec.rowkind is not None

    def _rows(self, batches: Iterable[pa.RecordBatch], report: Report) -> Iterator[pa.Table]:
        for batch in batches:
            rows = by_physical(self.shape.apply(pa.Table.from_batches([batch])), self.to.schema)
            report.rows += rows.num_rows
            if self.mark is None:
                rows = admitted(rows, self.spec)
                yield with_marks(rows) if self._has_kinds else rows
                continue
            yield marked(rows, self.mark.kind, self.mark.sets, self.spec)
