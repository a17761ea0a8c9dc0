"""Rows of a part under another schema than they were written with, by physical name.

A column that the part has is renamed and widened; one that it lacks is its initial default, or NULL. Files are never
rewritten for this. The same rules hold inside structs, arrays and maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import expressions
from anabranch.expressions.repeated import repeated
from anabranch.model import types
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import to_arrow


def stored(columns: Sequence[Column], written: Schema) -> list[str]:
    """The physical columns to read from a part that was written with this schema."""
    return [old.physical for column in columns if (old := written.stored_as(column)) is not None]


def project(data: pa.Table, columns: Sequence[Column], written: Schema) -> pa.Table:
    """What users see of rows read by physical name."""
    if not columns:
        return data  # which still knows how many rows there are
    arrays = []
    for column in columns:
        old = written.stored_as(column)
        if old is None:
            arrays.append(repeated(initial_value(column), data.num_rows))
        else:
            arrays.append(convert(data.column(old.physical), old.type, column.type))
    return pa.table(arrays, schema=_labels(tuple(columns)))


@lru_cache(maxsize=1024)
def _labels(columns: tuple[Column, ...]) -> pa.Schema:
    """Nullable throughout: a column that became NOT NULL later is still read from files that allow NULL."""
    return pa.schema([pa.field(column.label, to_arrow(column.type)) for column in columns])


@lru_cache(maxsize=1024)
def initial_value(column: Column) -> pa.Scalar:
    """What the rows of parts older than the column hold in it."""
    if column.initial_default is None:
        return pa.scalar(None, to_arrow(column.type))
    return expressions.constant(expressions.parse_expression(column.initial_default), to_arrow(column.type))


def convert(data: pa.ChunkedArray, old: DataType, new: DataType) -> pa.ChunkedArray:
    """Values of one type as another that it can be read as; struct fields meet by physical name."""
    target = to_arrow(new)
    if data.type == target and _same_names(old, new):
        return data
    return pa.chunked_array([_converted(chunk, old, new) for chunk in data.chunks], type=target)


def _same_names(old: DataType, new: DataType) -> bool:
    """Whether equal Arrow types mean equal fields: not so where labels trade physical names."""
    return not (types.renames_fields(old) or types.renames_fields(new))


def _converted(array: pa.Array, old: DataType, new: DataType) -> pa.Array:
    target = to_arrow(new)
    if array.type == target and _same_names(old, new):
        return array
    if isinstance(new, types.Struct) and isinstance(old, types.Struct):
        return _struct(array, old, new)
    if pa.types.is_nested(target) and array.offset:
        array = pa.concat_arrays([array, array.slice(0, 0)])  # offsets of a slice do not start at 0
    if isinstance(new, types.Array) and isinstance(old, types.Array):
        values = _converted(array.values, old.element, new.element)
        return pa.ListArray.from_arrays(array.offsets, values, type=target, mask=_nulls(array))
    if isinstance(new, types.Map) and isinstance(old, types.Map):
        keys, items = _converted(array.keys, old.key, new.key), _converted(array.items, old.value, new.value)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=target, mask=_nulls(array))
    return pc.cast(array, target)


def _struct(array: pa.StructArray, old: types.Struct, new: types.Struct) -> pa.StructArray:
    places = {field.physical: (i, field) for i, field in enumerate(old.fields)}
    children = []
    for field in new.fields:
        place = next((places[name] for name in (field.physical, *field.aliases) if name in places), None)
        if place is None:
            children.append(pa.nulls(len(array), to_arrow(field.type)))
        else:
            children.append(_converted(array.field(place[0]), place[1].type, field.type))
    fields = list(to_arrow(new))
    return pa.StructArray.from_arrays(children, fields=fields, mask=_nulls(array))


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None
