"""Anabranch types and Arrow types, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import UnsupportedType
from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.model.types import DataType

_ARROW: dict[DataType, pa.DataType] = {
    types.TINYINT: pa.int8(),
    types.SMALLINT: pa.int16(),
    types.INT: pa.int32(),
    types.BIGINT: pa.int64(),
    types.FLOAT: pa.float32(),
    types.DOUBLE: pa.float64(),
    types.STRING: pa.string(),
    types.BINARY: pa.binary(),
    types.BOOLEAN: pa.bool_(),
    types.DATE: pa.date32(),
    types.TIMESTAMP: pa.timestamp("us", "UTC"),
    types.TIMESTAMP_NTZ: pa.timestamp("us"),
}
_SAME = {arrow: ours for ours, arrow in _ARROW.items()} | {
    pa.large_string(): types.STRING,
    pa.string_view(): types.STRING,
    pa.large_binary(): types.BINARY,
    pa.binary_view(): types.BINARY,
    pa.uint8(): types.SMALLINT,
    pa.uint16(): types.INT,
    pa.uint32(): types.BIGINT,
    pa.uint64(): types.Decimal(20, 0),
    pa.float16(): types.FLOAT,
    pa.date64(): types.DATE,
}


def to_arrow(type_: DataType) -> pa.DataType:
    """The Arrow type that holds a column of this type; struct fields go by their labels.

    Inside a column everything may be NULL: a NULL struct has no fields, whatever these require of a present one.
    """
    found = _ARROW.get(type_)
    if found is not None:
        return found
    if type_ == types.VOID:
        return pa.null()
    if isinstance(type_, types.Decimal):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, types.Array):
        return pa.list_(pa.field("element", to_arrow(type_.element)))
    if isinstance(type_, types.Map):
        item = pa.field("value", to_arrow(type_.value))
        return pa.map_(pa.field("key", to_arrow(type_.key), nullable=False), item)
    assert isinstance(type_, types.Struct)
    return pa.struct([pa.field(f.label, to_arrow(f.type)) for f in type_.fields])


def _is_kind_of_list(type_: pa.DataType) -> bool:
    kinds = pa.types
    return (
        kinds.is_large_list(type_)
        or kinds.is_fixed_size_list(type_)
        or kinds.is_list_view(type_)
        or kinds.is_large_list_view(type_)
    )


def from_arrow(type_: pa.DataType, where: str = "", *, voids: bool = False) -> DataType:
    """The column type that a table made from such data has. `voids`: the data need not make one, and may have NULLs of
    no type."""
    found = _SAME.get(type_)
    if found is not None:
        return found
    inner = partial(from_arrow, voids=voids)
    if voids and pa.types.is_null(type_):
        return types.VOID
    if pa.types.is_dictionary(type_):
        return inner(type_.value_type, where)
    if pa.types.is_timestamp(type_):
        return types.TIMESTAMP if type_.tz else types.TIMESTAMP_NTZ
    if pa.types.is_decimal(type_) and type_.precision <= 38 and 0 <= type_.scale <= type_.precision:
        return types.Decimal(type_.precision, type_.scale)
    if pa.types.is_list(type_) or _is_kind_of_list(type_):
        return types.Array(inner(type_.value_type, where), type_.value_field.nullable)
    if pa.types.is_map(type_):
        value = type_.item_field
        return types.Map(inner(type_.key_type, where), inner(value.type, where), value.nullable)
    if pa.types.is_struct(type_) and type_.num_fields:
        return types.Struct(
            tuple(types.StructField(f.name, inner(f.type, f"{where}.{f.name}"), f.name, f.nullable) for f in type_)
        )
    raise UnsupportedType(str(type_), where)


def canonical(type_: pa.DataType, where: str = "") -> pa.DataType:
    """The type among ours that holds the same values: any unit and zone of time, any width of offsets. NULLs of no type
    stay so, at any depth."""
    return to_arrow(from_arrow(type_, where, voids=True))


def without_negative_zeros(values: Any) -> Any:
    """An array whose -0.0 is 0.0, which SQL takes for the same value; anything but floats is itself."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """What users see: labels."""
    return pa.schema([pa.field(c.label, to_arrow(c.type), c.nullable) for c in columns])


def file_schema(columns: Sequence[Column]) -> pa.Schema:
    """What files hold: physical names."""
    return pa.schema([pa.field(c.physical, to_arrow(types.physical_type(c.type)), c.nullable) for c in columns])
