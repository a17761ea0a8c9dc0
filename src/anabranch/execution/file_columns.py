"""Incoming frames as frames of file columns, for Spark's own Parquet writer.

`why_kernel` (pure) says what keeps a load from that writer: where the files are, partitions, conversions whose rules
are the kernel's. `file_frame` is what `Shape.apply` is to a batch: columns in the table's order, under physical names,
by expressions that refuse a value that does not fit with the kernel's own error, in whatever mode the session is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidText, ValueOutOfRange
from anabranch.execution.shape import Shape
from anabranch.execution.spark_types import numbered, read_schema
from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.model.types import DataType
from anabranch.storage.files import Files

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_NUMBERS = {types.TINYINT, types.SMALLINT, types.INT, types.BIGINT, types.FLOAT, types.DOUBLE}
_VALUE = "\0"


def why_kernel(files: Files, shape: Shape, incoming: Sequence[DataType | None]) -> str | None:
    """Why a kernel must write rows of these types (None: a column of NULLs); None: Spark's own writer can."""
    if not files.is_local:
        return "the storage is not local"
    if shape.schema.partitioned_by:
        return "the table is partitioned"
    for column, source in zip(shape.schema.columns, shape.sources, strict=True):
        why = _why_column(column, None if source is None else incoming[source], shape)
        if why is not None:
            return f"column '{column.label}' {why}"
    return None


def _why_column(column: Column, source: DataType | None, shape: Shape) -> str | None:
    nested = not types.is_atomic(column.type)
    if nested and not column.nullable:
        return "is nested and NOT NULL"
    if any(not field.nullable for struct in types.structs_in(column.type) for field in struct.fields):
        return "has fields that are NOT NULL"
    if column.physical in shape.constants:
        return "is nested and has a default" if nested else None
    if source is None or str(source) == str(column.type) or (_is_number(source) and _is_number(column.type)):
        return None
    return f"is {column.type}, the data is {source}"


def _is_number(type_: DataType) -> bool:
    return type_ in _NUMBERS or isinstance(type_, types.Decimal)


def file_frame(frame: DataFrame, shape: Shape, incoming: Sequence[DataType | None]) -> DataFrame:
    """The frame's rows as files hold them; only for loads that need no kernel."""
    from pyspark.sql import functions as F

    fields = read_schema(shape.schema.columns, [column.physical for column in shape.schema.columns]).fields
    columns = []
    for column, source, field in zip(shape.schema.columns, shape.sources, fields, strict=True):
        if source is not None:
            value = _converted(F.col(f"c{source}"), incoming[source], column, field.dataType)
            if column.physical in shape.schema.primary_key:
                value = _of_key(value, column, shape.table)
        else:
            value = F.expr(shape.constants.get(column.physical, "NULL")).cast(field.dataType)
        columns.append(value.alias(column.physical, metadata={}))
    return numbered(frame).select(*columns)


def _converted(value: SparkColumn, source: DataType | None, column: Column, target: Any) -> SparkColumn:
    """Equal types are cast too: the fields inside get their physical names."""
    if source is None or not (_is_number(source) and _is_number(column.type)) or types.widens(source, column.type):
        return value.cast(target)
    return checked_cast(value, column, target)


def _of_key(value: SparkColumn, column: Column, table: str) -> SparkColumn:
    """As `Shape.apply` has it."""
    from pyspark.sql import functions as F

    if column.type == types.STRING:
        message = F.lit(f"anabranch.errors.InvalidText: {InvalidText(column.label, table)}")
        return F.when(~F.is_valid_utf8(value), F.raise_error(message).cast("string")).otherwise(value)
    if column.type in (types.FLOAT, types.DOUBLE):
        return value + F.lit(0.0).cast(str(column.type))  # -0.0 becomes 0.0
    return value


def checked_cast(value: SparkColumn, column: Column, target: Any, place: str = "") -> SparkColumn:
    """A cast whose failure is an error that names the column, in whatever mode the session is. `place`: the error's
    first words."""
    from pyspark.sql import functions as F

    before, after = str(ValueOutOfRange(column.label, column.type, f"the value is {_VALUE}")).split(_VALUE)
    message = F.concat(F.lit(f"anabranch.errors.ValueOutOfRange: {place}{before}"), value.cast("string"), F.lit(after))
    fitting = value.try_cast(target)
    return F.when(value.isNotNull() & fitting.isNull(), F.raise_error(message).cast(target)).otherwise(fitting)
