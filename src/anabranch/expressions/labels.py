"""Structs that meet by the labels of their fields: first their fields are put in order, then they go by position."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from anabranch.errors import FieldMismatch, nearest
from anabranch.model.names import fold


def in_order(source: pa.DataType, target: pa.DataType, column: str) -> pa.DataType:
    """The source's type with the fields of all structs in it as the target has them, under the target's labels; case
    does not count. Raises FieldMismatch if they are not the same fields."""
    if pat.is_list(source) and pat.is_list(target):
        return pa.list_(in_order(source.value_type, target.value_type, f"{column}.element"))
    if pat.is_map(source) and pat.is_map(target):
        key = in_order(source.key_type, target.key_type, f"{column}.key")
        return pa.map_(key, in_order(source.item_type, target.item_type, f"{column}.value"))
    if not pat.is_struct(source) or not pat.is_struct(target):
        return source
    given = _by_label(source, target, column)
    return pa.struct([(f.name, in_order(given[fold(f.name)], f.type, f"{column}.{f.name}")) for f in target])


def _by_label(source: pa.StructType, target: pa.StructType, column: str) -> dict[str, pa.DataType]:
    labels = [field.name for field in target]
    known = {fold(label) for label in labels}
    given: dict[str, pa.DataType] = {}
    for field in source:
        if fold(field.name) in given:
            raise FieldMismatch(column, f"has the field '{field.name}' twice", labels)
        if fold(field.name) not in known:
            guess = nearest(field.name, labels)
            hint = f" (did you mean '{guess}'?)" if guess else ""
            raise FieldMismatch(column, f"has the field '{field.name}', which the column lacks{hint}", labels)
        given[fold(field.name)] = field.type
    for label in labels:
        if fold(label) not in given:
            raise FieldMismatch(column, f"lacks the field '{label}'", labels)
    return given


def ordered(data: pa.Array | pa.ChunkedArray, target: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """The data as the type that `in_order` gave for its own."""
    if data.type == target:
        return data
    if isinstance(data, pa.ChunkedArray):
        return pa.chunked_array([ordered(chunk, target) for chunk in data.chunks], target)
    array, mask = whole(data), pc.is_null(data)
    if pat.is_struct(target):
        places = {fold(field.name): place for place, field in enumerate(array.type)}
        children = [ordered(pc.struct_field(array, [places[fold(field.name)]]), field.type) for field in target]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
    if pat.is_map(target):
        keys, items = ordered(array.keys, target.key_type), ordered(array.items, target.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=target, mask=mask)
    return pa.ListArray.from_arrays(array.offsets, ordered(array.values, target.value_type), type=target, mask=mask)


def whole(array: pa.Array) -> pa.Array:
    """Arrow does not build a nested array from a slice and a mask."""
    return array.take(pa.array(range(len(array)), pa.int64())) if array.offset else array
