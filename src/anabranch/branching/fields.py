"""What rows lack that were written without a column, or without a field inside one, and how another version mends it.

Columns and fields are found by their physical names, whatever they are called. A field inside structs is mended like a
column: each struct has it as the other version's struct has it. Elements of arrays and entries of maps cannot be told
apart, so those are mended where the whole array or map is as it is in the other version, but for what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.equality import unequal
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Array, DataType, Map, Struct, StructField
from anabranch.storage.projection import convert

Path = tuple[str, ...]
"""A column, or a field inside it: physical names and steps into arrays and maps, from outside in."""


def lacking(columns: Sequence[Column], written: Schema) -> list[Column]:
    """The columns that rows of another schema lack, or lack fields of."""
    return [column for column in columns if _lacks(column.type, _stored(column, written))]


def held(columns: Sequence[Column], written: Schema) -> frozenset[Path]:
    """What rows of another schema hold of these columns."""
    found = ((column, _stored(column, written)) for column in columns)
    return frozenset(path for column, stored in found for path in _held(column.type, stored, (column.physical,)))


def mended(rows: pa.Array, others: pa.Array, column: Column, written: Schema) -> pa.Array:
    """Values of a column, read under its type from rows of another schema, with what they lack as others have it."""
    return mend(rows, others, column.type, _stored(column, written))


def seen_as(type_: DataType, older: DataType) -> DataType:
    """A type with the fields that an older one has, under their labels there, each as wide as it is now."""
    if isinstance(type_, Struct) and isinstance(older, Struct):
        now = {name: field for field in type_.fields for name in _names(field)}
        return Struct(tuple(_seen_field(now, field) for field in older.fields))
    if isinstance(type_, Array) and isinstance(older, Array):
        return replace(type_, element=seen_as(type_.element, older.element))
    if isinstance(type_, Map) and isinstance(older, Map):
        return replace(type_, key=seen_as(type_.key, older.key), value=seen_as(type_.value, older.value))
    return type_


def _seen_field(now: Mapping[str, StructField], older: StructField) -> StructField:
    held = next((now[name] for name in _names(older) if name in now), None)
    return older if held is None else replace(held, label=older.label, type=seen_as(held.type, older.type))


def as_stored(column: Column, written: Schema) -> Column:
    """A column, with its own labels and fields, in the types in which rows of another schema have it."""
    return replace(column, type=_in_types_of(column.type, _stored(column, written)))


def _in_types_of(type_: DataType, stored: DataType | None) -> DataType:
    if stored is None:
        return type_
    inner = [_in_types_of(each, old) for _, each, old in _inner(type_, stored)]
    if isinstance(type_, Struct) and isinstance(stored, Struct):
        return Struct(tuple(replace(field, type=each) for field, each in zip(type_.fields, inner, strict=True)))
    if isinstance(type_, Array) and isinstance(stored, Array):
        return replace(type_, element=inner[0])
    if isinstance(type_, Map) and isinstance(stored, Map):
        return replace(type_, key=inner[0], value=inner[1])
    return stored


def _stored(column: Column, written: Schema) -> DataType | None:
    found = written.stored_as(column)
    return None if found is None else found.type


def _inner(type_: DataType, stored: DataType | None) -> Iterator[tuple[str, DataType, DataType | None]]:
    """The types that a type is made of, each with that under which another one stores it, if it does."""
    if isinstance(type_, Struct):
        fields = {field.physical: field.type for field in stored.fields} if isinstance(stored, Struct) else {}
        for field in type_.fields:
            name = next((name for name in _names(field) if name in fields), None)
            yield field.physical, field.type, fields[name] if name is not None else None
    elif isinstance(type_, Array):
        yield "element", type_.element, stored.element if isinstance(stored, Array) else None
    elif isinstance(type_, Map):
        key, value = (stored.key, stored.value) if isinstance(stored, Map) else (None, None)
        yield "key", type_.key, key
        yield "value", type_.value, value


def _names(field: StructField) -> tuple[str, ...]:
    return (field.physical, *field.aliases)


def _lacks(type_: DataType, stored: DataType | None) -> bool:
    if stored is None or stored == type_:
        return stored is None
    return any(_lacks(inner, old) for _, inner, old in _inner(type_, stored))


def _held(type_: DataType, stored: DataType | None, path: Path) -> Iterator[Path]:
    if stored is not None:
        yield path
        for name, inner, old in _inner(type_, stored):
            yield from _held(inner, old, (*path, name))


def mend(rows: pa.Array, others: pa.Array, type_: DataType, stored: DataType | None) -> pa.Array:
    """The same for types."""
    if stored is None:
        return others
    if not _lacks(type_, stored):
        return rows
    if isinstance(type_, Struct):
        pairs = zip(rows.flatten(), others.flatten(), _inner(type_, stored), strict=True)
        children = [mend(mine, other, inner, old) for mine, other, (_, inner, old) in pairs]
        return pa.StructArray.from_arrays(children, fields=list(rows.type), mask=rows.is_null())
    known = stored_part(type_, stored)
    differ = unequal(*(convert(pa.chunked_array([side]), type_, known).combine_chunks() for side in (rows, others)))
    return pc.if_else(pa.array(differ), rows, others)


def stored_part(type_: DataType, stored: DataType) -> DataType:
    """The part of a type that another one stores; all of it where they have nothing in common."""
    kept = {name: stored_part(inner, old) for name, inner, old in _inner(type_, stored) if old is not None}
    if not kept:
        return type_
    if isinstance(type_, Struct):
        return Struct(tuple(replace(f, type=kept[f.physical]) for f in type_.fields if f.physical in kept))
    if isinstance(type_, Array):
        return replace(type_, element=kept["element"])
    assert isinstance(type_, Map)
    return replace(type_, key=kept["key"], value=kept["value"])
