"""Columns of a table and fields of a struct in one shape: what holds for columns in a merge holds for fields.

A column inside structs is found by a path of physical names, joined by STEP, which no name can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.model.types import DataType, Struct, StructField

STEP = "\x1f"

Members = tuple[Column, ...]
"""A table's columns, or a struct's fields in the shape of columns."""


def members_of(struct: Struct) -> Members:
    return tuple(Column(f.label, f.type, f.physical, f.nullable, f.comment, aliases=f.aliases) for f in struct.fields)


def struct_of(members: Members) -> Struct:
    return Struct(tuple(StructField(c.label, c.type, c.physical, c.nullable, c.comment, c.aliases) for c in members))


def names_of(column: Column) -> tuple[str, ...]:
    return (column.physical, *column.aliases)


def path_to(parent: str, name: str) -> str:
    return f"{parent}{STEP}{name}" if parent else name


def paths_in(columns: Iterable[Column], parent: str) -> Iterator[str]:
    """The physical paths of columns and of all fields inside them."""
    for column in columns:
        yield path_to(parent, column.physical)
        yield from _inner_paths(column.type, path_to(parent, column.physical))


def _inner_paths(type_: DataType, parent: str) -> Iterator[str]:
    if isinstance(type_, Struct):
        yield from paths_in(members_of(type_), parent)
    elif isinstance(type_, types.Array):
        yield from _inner_paths(type_.element, path_to(parent, "element"))
    elif isinstance(type_, types.Map):
        yield from _inner_paths(type_.key, path_to(parent, "key"))
        yield from _inner_paths(type_.value, path_to(parent, "value"))


def stored_in(column: Column, written: Members) -> Column | None:
    """The one under which members of another schema hold it; None: they lack it."""
    by_name = {old.physical: old for old in written}
    return next((by_name[name] for name in names_of(column) if name in by_name), None)
