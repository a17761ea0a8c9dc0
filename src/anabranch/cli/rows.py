"""The rows of a query: fetched from Spark as Arrow, since Spark's own rows have lost the zone of their timestamps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

STRANGERS = frozenset({"interval", "variant", "yearmonthinterval"})
"""Types that Arrow lacks, by Spark's names."""


def fetched(frame: DataFrame, limit: int | None) -> pa.Table:
    """The first rows, and one beyond the limit to tell that there are more; all of them without a limit."""
    from anabranch.execution.failures import spark_failures

    with spark_failures():
        return _without_strangers(frame.limit(limit + 1) if limit else frame).toArrow()


def _without_strangers(frame: DataFrame) -> DataFrame:
    """Columns of types that Arrow lacks, as Spark's text of them."""
    fields = frame.schema.fields
    if not any(field.dataType.typeName() in STRANGERS for field in fields):
        return frame
    from pyspark.sql.functions import col

    numbered = frame.toDF(*(f"c{place}" for place in range(len(fields))))  # two columns may have one name
    columns = []
    for place, field in enumerate(fields):
        column = col(f"c{place}")
        strange = field.dataType.typeName() in STRANGERS
        columns.append((column.cast("string") if strange else column).alias(field.name))
    return numbered.select(*columns)


def rows_of(found: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in found.to_batches():
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist(maps_as_pydicts="strict")
    except TypeError:  # a map whose keys are structs: pairs
        return column.to_pylist()
