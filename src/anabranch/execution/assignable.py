"""Frames on their way into a table: what only Spark can cast, Spark casts; the rest is the kernels' work, here or in
tasks.

Four things are Spark's: what depends on the time zone of its session (`ZONED`, at any depth), what has no type (void,
as in `array()` and `map()`), pairs of types that kernels do not know, and the order of fields that meet by label, since
its casts go by position. Every path that takes a frame starts here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import NeedsSpark
from anabranch.execution.failures import spark_failures
from anabranch.execution.file_columns import checked_cast
from anabranch.execution.shape import Shape, assigned
from anabranch.execution.spark_labels import by_label as in_columns_order
from anabranch.execution.spark_types import from_spark, numbered, spark_type, type_json
from anabranch.expressions.casts import ZONED
from anabranch.model import types
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


def assignable(frame: DataFrame, shape: Shape) -> DataFrame:
    """The frame with what only Spark can cast cast to the columns' types; refused before a job starts if a type cannot
    be assigned at all."""
    from pyspark.sql import functions as F

    fields = frame.schema.jsonValue()["fields"]
    casts: dict[int, SparkColumn] = {}
    for column, source in zip(shape.schema.columns, shape.sources, strict=True):
        if source is None:
            continue
        value = _cast(F.col(f"c{source}"), fields[source], column, by_label=shape.by_label)
        if value is not None:
            casts[source] = value
    if not casts:
        return frame
    return numbered(frame).select(
        *[casts.get(place, F.col(f"c{place}")).alias(field["name"]) for place, field in enumerate(fields)]
    )


def _cast(value: SparkColumn, field: dict[str, Any], column: Column, *, by_label: bool) -> SparkColumn | None:
    """What Spark makes of a column; None: nothing."""
    given = field["type"]
    if by_label:
        value, given = in_columns_order(value, given, column)
    made = meeting(given, column.type)
    if made is not None and isinstance(given, str) and given != "void":
        return checked_cast(value, column, spark_type(made))
    met = spark_type(given if made is None else made)
    (_, type_) = from_spark(_one(field["name"], met))[0]
    assert type_ is not None
    try:
        assigned(pa.chunked_array([pa.array([], to_arrow(type_))]), column)
    except NeedsSpark:
        return checked_cast(value, column, str(column.type))
    if made is not None:
        return value.cast(met)
    return None if given == field["type"] else value


def _one(name: str, type_: Any) -> Any:
    from pyspark.sql.types import StructType

    return StructType().add(name, type_)


def meeting(given: Any, target: DataType) -> Any:
    """A type of Spark's (as its JSON says it) with the target's in the places that Spark must cast; None: there are
    none."""
    if given == "void":
        return type_json(target)
    if isinstance(given, str):
        return type_json(target) if (given, str(target)) in ZONED else None
    if isinstance(target, types.Array) and given["type"] == "array":
        element = meeting(given["elementType"], target.element)
        return element and {**given, "elementType": element, "containsNull": True}
    if isinstance(target, types.Map) and given["type"] == "map":
        key, value = meeting(given["keyType"], target.key), meeting(given["valueType"], target.value)
        if key is None and value is None:
            return None
        pieces = {"keyType": key or given["keyType"], "valueType": value or given["valueType"]}
        return {**given, **pieces, "valueContainsNull": True}
    if isinstance(target, types.Struct) and given["type"] == "struct" and len(given["fields"]) == len(target.fields):
        made = [meeting(one["type"], two.type) for one, two in zip(given["fields"], target.fields, strict=True)]
        if not any(made):
            return None
        fields = [
            {**one, "type": type_ or one["type"], "nullable": True}
            for one, type_ in zip(given["fields"], made, strict=True)
        ]
        return {**given, "fields": fields}
    return None


def constant_by_spark(spark: SparkSession, text: str, column: Column) -> pa.Scalar:
    """The value of a constant expression as the column would hold it, in the session's time zone."""
    shape = Shape("", Schema(0, (column,)), (0,), {})
    with spark_failures(text=text):
        rows = assignable(spark.sql(f"SELECT {text} AS c0"), shape).toArrow()
    return assigned(rows.column(0), column)[0]
