"""Rows that this process holds, and expressions on them that only Spark can evaluate: a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.errors import ExpressionError
from anabranch.execution.assignable import assignable
from anabranch.execution.failures import spark_failures
from anabranch.execution.shape import Shape, assigned
from anabranch.execution.spark_types import arrow_frame
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.parquet import ROW_ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = 1 << 18
"""Rows that Spark is given at a time."""


def true_by_spark(spark: SparkSession, rows: pa.Table, text: str) -> np.ndarray:
    """Which of the rows a condition is true for; NULL is not true."""
    found = np.zeros(rows.num_rows, bool)
    for frame in _pieces(spark, rows, [text]):
        with spark_failures(text=text):
            found[frame.where(text).select(ROW_ID).toArrow().column(0).to_numpy()] = True
    return found


def values_by_spark(
    spark: SparkSession, rows: pa.Table, texts: Sequence[str], columns: Sequence[Column]
) -> list[pa.ChunkedArray]:
    """The values of expressions as UPDATE assigns them to these columns, row by row; cast in the time zone of Spark's
    session."""
    from pyspark.sql import functions as F

    shape = Shape("", Schema(0, tuple(columns)), tuple(range(1, len(columns) + 1)), {}, by_label=True)
    found: list[list[pa.Array]] = [[] for _ in columns]
    for frame in _pieces(spark, rows, texts):
        with spark_failures(text=" ".join(texts)):
            values = [F.expr(text).alias(f"c{place}") for place, text in enumerate(texts)]
            made = assignable(frame.select(ROW_ID, *values), shape).toArrow().sort_by(ROW_ID)
        for column, value, chunks in zip(columns, made.columns[1:], found, strict=True):
            chunks += assigned(value, column, by_label=True).chunks
    return [pa.chunked_array(chunks, to_arrow(column.type)) for chunks, column in zip(found, columns, strict=True)]


def _pieces(spark: SparkSession, rows: pa.Table, texts: Sequence[str]) -> Iterator[DataFrame]:
    """The rows as frames, with their places under `_row_id`."""
    for first in range(0, rows.num_rows, AT_ONCE):
        piece = rows.slice(first, AT_ONCE)
        places = pa.array(np.arange(first, first + piece.num_rows))
        frame = arrow_frame(spark, piece.append_column(ROW_ID, places))
        if not first:
            _refuse_chance(frame, texts)
        yield frame


def _refuse_chance(frame: DataFrame, texts: Sequence[str]) -> None:
    """Spark knows which functions give another value every time, users' own too: no aggregate takes them."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    with spark_failures(text=" ".join(texts)):
        try:
            _ = frame.select(*(F.count(F.expr(text)) for text in texts)).schema
        except AnalysisException as error:
            if error.getCondition() == "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION":
                raise ExpressionError("it has a function that gives another value every time.") from error
            raise
