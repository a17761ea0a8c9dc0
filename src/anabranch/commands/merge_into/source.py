"""The source of a MERGE INTO: rows of this process, or a Spark frame that is evaluated once.

A frame that turns out small comes here, so that matching and deciding need one join of the target's columns and no
more. It is kept by Spark meanwhile: whichever way it goes, it is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.commands.merge_into.clauses import Labelled
from anabranch.errors import AnabranchError
from anabranch.execution.failures import spark_failures
from anabranch.storage.arrow_types import canonical, from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST_ROWS, MOST_ROWS, MOST_BYTES = 4096, 1 << 20, 256 << 20
"""A frame of more rows, or more bytes, than that stays with Spark."""


@dataclass(frozen=True)
class Source:
    """Exactly one of `rows` and `frame` is given; columns stand in the order of `columns`."""

    columns: Labelled
    rows: pa.Table | None = None
    frame: DataFrame | None = None

    def flat_rows(self) -> pa.Table:
        assert self.rows is not None
        return self.rows.rename_columns([f"_s{place}" for place in range(len(self.columns))])

    def flat_frame(self, spark: Any) -> DataFrame:
        from anabranch.execution.spark_types import arrow_frame

        names = [f"_s{place}" for place in range(len(self.columns))]
        frame = arrow_frame(spark, self.flat_rows()) if self.frame is None else self.frame
        return frame.toDF(*names)


def of_arrow(data: pa.Table) -> Source:
    columns = [
        (f.name, None if pa.types.is_null(f.type) else from_arrow(f.type, f"column '{f.name}'", voids=True))
        for f in data.schema
    ]
    arrays = [
        column.cast(type_) if column.type != (type_ := canonical(column.type)) else column for column in data.columns
    ]
    return Source(columns, pa.table(arrays, names=[f"_s{place}" for place in range(len(arrays))]))


def of_frame(frame: DataFrame) -> Source:
    from anabranch.execution.spark_types import from_spark

    return Source(from_spark(frame.schema, lenient=True), frame=frame)


@contextmanager
def brought(source: Source) -> Iterator[Source]:
    """The source with its rows here if they are few, else with its frame kept by Spark until the MERGE is done."""
    if source.frame is None:
        yield source
        return
    frame = source.frame.toDF(*[f"_s{place}" for place in range(len(source.columns))]).persist()
    try:
        few = _few(frame)
        here = None if few is None else _here(source, few)
        yield here or replace(source, frame=frame)
    finally:
        frame.unpersist()


def _few(frame: DataFrame) -> pa.Table | None:
    """All rows, if they are few. The first ones tell how wide rows are, so that what comes here is bounded in bytes.

    They are counted, which fills what Spark keeps of them; a limit would bring rows of all tasks to one.
    """
    with spark_failures():
        try:
            first = frame.limit(FIRST_ROWS).toArrow() if MOST_ROWS >= 0 else None
        except ValueError:  # nested values that PySpark cannot make Arrow of: `array()`, a NULL among structs
            return None
        if first is None or first.num_rows < FIRST_ROWS:
            return first
        most = min(MOST_ROWS, MOST_BYTES * first.num_rows // max(first.nbytes, 1))
        return frame.toArrow() if frame.count() <= most else None


def _here(source: Source, rows: pa.Table) -> Source | None:
    try:
        return replace(of_arrow(rows), columns=source.columns)
    except (AnabranchError, pa.ArrowException):  # a type that Arrow's kernels here do not know
        return None
