"""Data that users hand over: Arrow, pandas, polars, dicts, or a Spark DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from anabranch import expressions
from anabranch.errors import DataError, TypeMismatch, ValueOutOfRange
from anabranch.model import types
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import to_arrow


def is_spark_frame(data: Any) -> bool:
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


def arrow_table(data: Any, schema: Schema | None = None) -> pa.Table:
    """The data as an Arrow table; `schema` says what the values of plain Python objects should become."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    kind = type(data).__module__.partition(".")[0]
    if kind == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if kind == "polars":
        return (data.collect() if hasattr(data, "collect") else data).to_arrow()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if isinstance(data, Mapping):
        return _from_columns(data, schema)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        rows = list(data)
        if all(isinstance(row, Mapping) for row in rows):
            return _from_rows(rows, schema)
    raise DataError(
        f"{type(data).__name__} cannot be written: give an Arrow table, a pandas or polars DataFrame, "
        "a list of dicts, a dict of lists, or a Spark DataFrame."
    )


def repeatable(data: Any) -> Any:
    """The same data, read here if it can be read only once: a statement that does not fit beside others runs again."""
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if isinstance(data, Iterator):
        return list(data)
    known = type(data).__module__.partition(".")[0] in ("pyarrow", "pandas", "polars", "pyspark")
    return pa.table(data) if hasattr(data, "__arrow_c_stream__") and not known else data


def _from_rows(rows: Sequence[Mapping[str, Any]], schema: Schema | None) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if rows and not names and schema is not None:
        # Rows of defaults. An Arrow table without columns has no rows, so one that is NULL anyway stands for them.
        names = [column.label for column in schema.columns if column.nullable and column.write_default is None][:1]
        if not names:
            raise DataError("the rows name no column: give a value for one of them at least.")
    return _from_columns({name: [row.get(name) for row in rows] for name in names}, schema)


def _from_columns(columns: Mapping[str, Sequence[Any]], schema: Schema | None) -> pa.Table:
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"{name!r} names no column: the names of the data's columns are text.")
    arrays = [_array(name, values, schema) for name, values in columns.items()]
    if len({len(array) for array in arrays}) > 1:
        raise DataError("the columns of the data have different lengths.")
    return pa.table(arrays, names=list(columns))


def _refuse_unknown_fields(name: str, values: Any, target: pa.DataType) -> None:
    """Arrow drops the keys of dicts that a struct type lacks; here they are an error."""
    try:
        found = pa.array(values).type
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return  # not of one type by themselves; the conversion to the column's type decides
    extra = _unknown(name, found, target)
    if extra:
        raise DataError(
            f"the data has the field '{extra}', which the column's type {expressions.spark_name(target)} lacks."
        )


def _unknown(path: str, found: pa.DataType, target: pa.DataType) -> str | None:
    if pa.types.is_struct(found) and pa.types.is_struct(target):
        known = {field.name: field.type for field in target}
        for field in found:
            inner = f"{path}.{field.name}"
            extra = inner if field.name not in known else _unknown(inner, field.type, known[field.name])
            if extra:
                return extra
    if pa.types.is_list(found) and pa.types.is_list(target):
        return _unknown(path, found.value_type, target.value_type)
    return None


def _array(name: str, values: Any, schema: Schema | None) -> pa.Array:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise DataError(f"the data's column '{name}' is {values!r}: give a list of values, one for each row.")
    column = schema.find(name) if schema else None
    if column is not None and not types.is_atomic(column.type):
        _refuse_unknown_fields(name, values, to_arrow(column.type))
    try:
        return pa.array(values, to_arrow(column.type) if column else None)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refused(name, values, column, error) from error


_TOO_LARGE = re.compile("large|precision|out of|data loss", re.IGNORECASE)


def _refused(name: str, values: Iterable[Any], column: Column | None, error: Exception) -> DataError:
    """Says it by the first value that cannot be stored, in the words of the table rather than of Arrow."""
    if column is None and isinstance(error, OverflowError):
        return ValueOutOfRange(name, "bigint", "a number has more than 64 bits")
    if isinstance(error, UnicodeError):
        return DataError(
            f"column '{name}' is given text with half a surrogate pair in it: {error}. Nothing was written."
        )
    if column is None:
        return DataError(f"the values of the data's column '{name}' are not of one type: {error}.")
    target = to_arrow(column.type)
    for value in values:
        try:
            pa.array([value], target)
        except (ValueError, TypeError, OverflowError) as found:
            if not isinstance(found, (TypeError, pa.ArrowTypeError)) and _TOO_LARGE.search(str(found)):
                return ValueOutOfRange(name, column.type, f"the value is {expressions.shown(value)}")
            return TypeMismatch(name, type(value).__name__, column.type, repr(value)[:40])
    return TypeMismatch(name, str(error), column.type)
