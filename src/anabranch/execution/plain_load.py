"""Loads local Parquet files into a keyed table without Spark: what only has to be sorted need not become rows.

1. A sample of the keys, one row of so many, says where to cut their range.
2. Batch by batch the rows are shaped as the table's, sorted, cut, and spilled to a staging folder of the table, one
   file for each unit of the source. Memory holds a batch for each thread.
3. The pieces of every range are brought together, reduced to one row a key, and written, some ranges to a part. Pieces
   are sorted already, and the sort knows stretches.

Nothing is written for good before step 3; whoever is told None before that may load in another way.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.engines import EngineSpec, Reach, admitted, reduce, segment_starts
from anabranch.execution.keyed_writer import by_physical, keys_in, sorted_rows, write_keyed
from anabranch.execution.plain_files import PlainFiles, Unit
from anabranch.execution.shape import Shape, assigned
from anabranch.execution.slots import Reserve
from anabranch.execution.spark_parquet import STAGING
from anabranch.execution.spread import cuts
from anabranch.keyed.key_columns import Row, key_columns
from anabranch.keyed.keys import rows_below
from anabranch.model.part import Part
from anabranch.storage.arrow_types import without_negative_zeros
from anabranch.storage.parquet import ROW_GROUP, Destination

_AT_ONCE = 4  # ranges that are in memory together, at most
_RANGE_ROWS, _RANGE_BYTES = 2 * ROW_GROUP, 16 << 20
_RANGES_A_PART = 4
_SKEW = 16  # a range so many times too large is not brought together here
_MOST_RANGES = 1024
_BATCH_ROWS, _BATCH_BYTES, _LEAST_BATCH = ROW_GROUP, 8 << 20, 1024
_SMALL_UNITS = 1 << 14  # rows in a unit, on average, below which pieces would be too small
_SAMPLE = 100_000
_BUFFER = 1 << 20
_WHOLE_ROWS = ("deduplicate", "first-row")

Given = TypeVar("Given")
Made = TypeVar("Made")


class _Skewed(Exception):
    """A range holds far more rows than the sample said."""


def load_plain(
    files: PlainFiles, to: Destination, shape: Shape, spec: EngineSpec, reserve: Reserve
) -> list[Part] | None:
    """The rows of the files as parts of one run, all or none; None: they are better loaded in another way."""
    workers = min(_AT_ONCE, os.cpu_count() or 1)
    try:
        width = _width(files)
        ranges = ceil(max(files.rows / _RANGE_ROWS, files.rows * width / _RANGE_BYTES))
        if ranges > _MOST_RANGES:
            return None
        load = _Load(files, to, shape, spec, max(_LEAST_BATCH, min(_BATCH_ROWS, int(_BATCH_BYTES / width))))
        bounds = load.bounds(ranges, workers)
        with _folder(to) as folder:
            with _pool(workers + 1) as each:  # one more than cores: units are few and not alike
                spilled = list(each(lambda unit: load.spilled(folder, *unit), enumerate(files.units)))
            return load.written(spilled, len(bounds) + 1, workers, reserve)
    except (_Skewed, OSError, pa.ArrowException):
        return None  # a file that is gone or broken is Spark's to tell, or to pass over


def suits(files: PlainFiles, shape: Shape, spec: EngineSpec) -> bool:
    """Whether the files have the keys, and more rows than pieces can do without."""
    pairs = zip(shape.schema.columns, shape.sources, strict=True)
    given = {column.physical for column, source in pairs if source is not None}
    return set(spec.key) <= given and files.rows >= _SMALL_UNITS * len(files.units)


def _width(files: PlainFiles) -> float:
    """Bytes of a row in memory, by the first rows of the largest unit."""
    unit = max(files.units, key=lambda unit: unit.rows)
    first = next(_batches(unit, files.columns, _LEAST_BATCH))
    return max(1.0, first.nbytes / first.num_rows)


def _batches(unit: Unit, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(unit.path, buffer_size=_BUFFER, pre_buffer=False) as file:
        for batch in file.iter_batches(rows, list(unit.groups), list(columns), use_threads=False):
            yield batch.select(list(columns))  # the file has them in its own order


@contextmanager
def _folder(to: Destination) -> Iterator[str]:
    name = f"{STAGING}{uuid.uuid4()}"
    os.makedirs(to.files.path(name))
    try:
        yield to.files.path(name)
    finally:
        to.files.discard_folder(name)


@contextmanager
def _pool(workers: int) -> Iterator[Callable[[Callable[[Given], Made], Iterable[Given]], Iterator[Made]]]:
    """The `map` of some threads; what has not begun when something fails never does."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _Spilled:
    """A file of batches; `places`: range -> the numbers of its batches."""

    path: str
    places: Mapping[int, Sequence[int]]


class _Load:
    def __init__(self, files: PlainFiles, to: Destination, shape: Shape, spec: EngineSpec, batch: int) -> None:
        self.files, self.to, self.shape, self.spec, self.batch = files, to, shape, spec, batch
        self._bounds: list[Row] = []

    def bounds(self, ranges: int, workers: int) -> list[Row]:
        """The first key of every range but the first, as keys compare."""
        step = max(1, self.files.rows // _SAMPLE)
        with _pool(workers) as each:
            sample = pa.concat_tables(each(lambda unit: self._sampled(unit, step), self.files.units))
        chosen = cuts(sample.drop_null(), ranges)
        keys = key_columns(chosen.columns, nullable=self.spec.nullable_key)
        self._bounds = [keys.row(at) for at in range(len(keys))]
        return self._bounds

    def _sampled(self, unit: Unit, step: int) -> pa.Table:
        columns = [column for name in self.spec.key if (column := self.shape.schema.physical(name)) is not None]
        places = [self.shape.sources[self.shape.schema.columns.index(column)] for column in columns]
        names = [self.files.columns[place] for place in places if place is not None]
        pieces = [batch.take(pa.array(range(0, batch.num_rows, step))) for batch in _batches(unit, names, self.batch)]
        table = pa.Table.from_batches(pieces)
        keys = (assigned(array, column) for array, column in zip(table.columns, columns, strict=True))
        return pa.table([without_negative_zeros(key) for key in keys], names=list(self.spec.key))

    def spilled(self, folder: str, number: int, unit: Unit) -> _Spilled:
        path, count = os.path.join(folder, f"{number}.arrow"), 0
        places: dict[int, list[int]] = {}
        with pa.OSFile(path, "wb") as sink:
            writer: pa.ipc.RecordBatchFileWriter | None = None
            for batch in _batches(unit, self.files.columns, self.batch):
                rows = self._sorted(pa.Table.from_batches([batch])).combine_chunks()
                writer = writer or pa.ipc.new_file(sink, rows.schema)
                for range_, piece in self._cut(rows):
                    for part in piece.to_batches():
                        writer.write_batch(part)
                        places.setdefault(range_, []).append(count)
                        count += 1
            if writer is not None:
                writer.close()
        return _Spilled(path, places)

    def _sorted(self, batch: pa.Table) -> pa.Table:
        """In the table's form and order. Where the engine keeps one of a key's rows, the others go at once."""
        rows = sorted_rows(admitted(by_physical(self.shape.apply(batch), self.to.schema), self.spec), self.spec)
        return self._reduced(rows) if self.spec.engine in _WHOLE_ROWS else rows

    def _reduced(self, rows: pa.Table) -> pa.Table:
        return reduce(rows, segment_starts(rows, self.spec.key), self.spec, Reach.WRITE).rows

    def _cut(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        keys = keys_in(rows, self.spec)
        edges = [0, *(rows_below(keys, bound) for bound in self._bounds), len(rows)]
        for range_, (start, end) in enumerate(pairwise(edges)):
            if end > start:
                yield range_, rows.slice(start, end - start)

    def written(self, spilled: Sequence[_Spilled], ranges: int, workers: int, reserve: Reserve) -> list[Part]:
        of_parts = [range(ranges)[first : first + _RANGES_A_PART] for first in range(0, ranges, _RANGES_A_PART)]
        slots = reserve(len(of_parts), 1)

        def part(number: int) -> list[Part]:
            rows = (rows for range_ in of_parts[number] if (rows := self._gathered(spilled, range_)) is not None)
            return write_keyed(self.to, rows, lambda: slots.of(number, 0), kinds=False)

        try:
            with _pool(workers) as each:
                return [made for parts in each(part, range(len(of_parts))) for made in parts]
        except BaseException:
            self.to.files.discard_slots(slots.first, slots.end)
            raise

    def _gathered(self, spilled: Sequence[_Spilled], range_: int) -> pa.Table | None:
        """The rows of a range, one for each key."""
        pieces = [piece for file in spilled for piece in _pieces(file, range_)]
        if sum(piece.nbytes for piece in pieces) > _SKEW * _RANGE_BYTES:
            raise _Skewed
        return self._reduced(sorted_rows(pa.Table.from_batches(pieces), self.spec)) if pieces else None


def _pieces(file: _Spilled, range_: int) -> Iterator[pa.RecordBatch]:
    numbers = file.places.get(range_)
    if numbers:
        with pa.memory_map(file.path) as source:
            reader = pa.ipc.open_file(source)
            yield from (reader.get_batch(number) for number in numbers)
