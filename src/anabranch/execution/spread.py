"""Brings a frame's rows together by ranges of their keys, sorted, so that parts of one write do not overlap.

Spark's `repartitionByRange` reads all columns of all rows twice, the first time only to find where to cut. Where a
frame just reads rows, a sample of its keys says that sooner; where it joins or aggregates, Spark keeps what it
shuffled for the second time, and a sample would do that work anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.errors import NeedsSpark
from anabranch.execution.estimates import Plan
from anabranch.execution.failures import spark_failures
from anabranch.expressions.literals import literal_sql
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.keys import segment_starts, sort_indices
from anabranch.model.types import backticked
from anabranch.storage.arrow_types import canonical

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ONE_TASK = 16 << 20  # bytes that one task sorts and writes sooner than several find their ranges
_A_RANGE, _ROWS_A_RANGE = 40 << 20, 2_000_000
_SAMPLE, _BYTES_A_ROW = 100_000, 16  # rows to sample, should they be this small; larger ones give fewer
_SAMPLED_A_RANGE = 200
_TOGETHER = 4  # ranges come in so many, lest most cores wait for the last of them
_MOST_RANGES = 256
_SEED = 42
_ARRIVAL = "_arrival"


def spread(frame: DataFrame, plan: Plan, keys: Sequence[str], partition: Sequence[str] = ()) -> tuple[DataFrame, int]:
    """Rows by ranges of their keys, or those of one partition together, and sorted by partition and key; rows of one
    key in the order of the frame, if it has one. Few rows are in one task. And how many tasks there are at most."""
    from pyspark.sql import functions as F

    by = [backticked(name) for name in dict.fromkeys((*partition, *keys))]
    if plan.is_ordered:
        frame = frame.withColumn(_ARRIVAL, F.monotonically_increasing_id())
    gathered, tasks = _gathered(frame, keys, partition, plan)
    if plan.is_ordered:
        return gathered.sortWithinPartitions(*by, _ARRIVAL).drop(_ARRIVAL), tasks
    return gathered.sortWithinPartitions(*by), tasks


def _gathered(frame: DataFrame, keys: Sequence[str], partition: Sequence[str], plan: Plan) -> tuple[DataFrame, int]:
    from pyspark.sql import functions as F

    if plan.bytes is not None and plan.bytes <= ONE_TASK:
        return frame.repartition(1), 1
    if partition:
        return frame.repartition(*map(backticked, partition)), shuffled_tasks(frame)
    ids = _range_ids(frame, keys, plan.bytes) if plan.bytes is not None and plan.is_cheap else None
    if ids is None:
        return frame.repartitionByRange(*map(backticked, keys)), shuffled_tasks(frame)
    ranges, of_row = ids
    return frame.repartitionById(ranges, F.expr(of_row)), ranges


def shuffled_tasks(frame: DataFrame) -> int:
    """How many tasks a shuffle of the frame has at most."""
    conf = frame.sparkSession.conf
    settings = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.coalescePartitions.initialPartitionNum")
    return max(int(conf.get(name, None) or 1) for name in settings)


def _range_ids(frame: DataFrame, keys: Sequence[str], size: float) -> tuple[int, str] | None:
    """How many ranges there are, and the number of a row's range in SQL; None: Spark may find them."""
    share = min(1.0, _SAMPLE * _BYTES_A_ROW / size)
    with spark_failures():
        sample = frame.select(*[backticked(name) for name in keys]).sample(share, _SEED).toArrow()
    sample = sample.cast(pa.schema([(field.name, canonical(field.type)) for field in sample.schema])).drop_null()
    ranges = max(ceil(size / _A_RANGE), ceil(sample.num_rows / share / _ROWS_A_RANGE))
    ranges = min(_TOGETHER * ceil(ranges / _TOGETHER), 1 + sample.num_rows // _SAMPLED_A_RANGE)
    if ranges > _MOST_RANGES:
        return None
    try:
        bounds = cuts(sample, ranges)
        return bounds.num_rows + 1, range_number(bounds)
    except NeedsSpark:
        return None


def cuts(sample: pa.Table, ranges: int) -> pa.Table:
    """The keys at which to cut, ascending and each once: at most one fewer than ranges."""
    keys = key_columns(sample.columns, nullable=True)
    order = sort_indices(keys)
    places = order[[len(order) * at // ranges for at in range(1, ranges)]]
    chosen = keys.take(places)
    return sample.take(pa.array(places[segment_starts(chosen)] if len(places) else np.zeros(0, np.int64)))


def range_number(bounds: pa.Table) -> str:
    """The number of a row's range, as an expression that halves the ranges in every step. NULL comes first."""
    names = [backticked(name) for name in bounds.column_names]
    if len(names) == 1:
        column = bounds.column(0)
        below = [f"coalesce({names[0]} < {literal_sql(value)}, true)" for value in column]
    else:
        key = f"struct({', '.join(names)})"
        below = [f"{key} < {literal_sql(row)}" for row in bounds.to_struct_array()]

    def among(first: int, end: int) -> str:
        """Of the ranges from `first` to before `end`."""
        if end - first == 1:
            return str(first)
        middle = (first + end) // 2
        return f"IF({below[middle - 1]}, {among(first, middle)}, {among(middle, end)})"

    return among(0, len(below) + 1)
