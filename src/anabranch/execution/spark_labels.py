"""Structs of frames that meet those of columns by the labels of their fields: Spark puts the fields in order, and from
then on they go by position, as its casts do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anabranch import expressions
from anabranch.execution.spark_types import type_of
from anabranch.model import types
from anabranch.model.names import fold
from anabranch.model.schema import Column
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

    Inner = Callable[[SparkColumn, Any, DataType], SparkColumn]


def by_label(value: SparkColumn, given: Any, column: Column) -> tuple[SparkColumn, Any]:
    """The value, and its type as Spark's JSON says it, with all fields in the column's order. Raises FieldMismatch if
    they are not the column's."""
    if isinstance(given, str):
        return value, given
    expressions.in_order(to_arrow(type_of(given, column.label)), to_arrow(column.type), column.label)
    return _ordered(value, given, column.type), in_order(given, column.type)


def in_order(given: Any, target: DataType) -> Any:
    """A type of Spark's with the fields of all structs in it as the target has them; they are the same ones."""
    if isinstance(given, str):
        return given
    if given["type"] == "array" and isinstance(target, types.Array):
        return {**given, "elementType": in_order(given["elementType"], target.element)}
    if given["type"] == "map" and isinstance(target, types.Map):
        key, value = in_order(given["keyType"], target.key), in_order(given["valueType"], target.value)
        return {**given, "keyType": key, "valueType": value}
    if given["type"] == "struct" and isinstance(target, types.Struct):
        return {
            **given,
            "fields": [{**one, "type": in_order(one["type"], type_)} for one, type_ in _met(given, target)],
        }
    return given


def _met(given: Any, target: types.Struct) -> list[tuple[Any, DataType]]:
    fields = {fold(field["name"]): field for field in given["fields"]}
    return [(fields[fold(field.label)], field.type) for field in target.fields]


def _ordered(value: SparkColumn, given: Any, target: DataType) -> SparkColumn:
    if in_order(given, target) == given:
        return value
    return rebuilt(value, given, target, _ordered)


def rebuilt(value: SparkColumn, given: Any, target: DataType, inner: Inner) -> SparkColumn:
    """An array, map or struct with what `inner` makes of the values in it, their types and the target's."""
    from pyspark.sql import functions as F

    if isinstance(target, types.Array):
        return F.transform(value, lambda one: inner(one, given["elementType"], target.element))
    if isinstance(target, types.Map):
        keys = F.transform_keys(value, lambda key, _: inner(key, given["keyType"], target.key))
        return F.transform_values(keys, lambda _, item: inner(item, given["valueType"], target.value))
    assert isinstance(target, types.Struct)
    fields = [
        inner(value.getField(one["name"]), one["type"], type_).alias(one["name"]) for one, type_ in _met(given, target)
    ]
    return F.when(value.isNotNull(), F.struct(*fields))
