"""What a merged schema asks of rows that were written with another one: that they lack no value that it requires, and
that its types hold theirs. The fields of structs are asked as columns are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.model import types
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, Struct, StructField


def newly_required(merged: Schema, written: Schema) -> list[Column]:
    """The NOT NULL columns of a merged schema that rows written with another one may lack."""

    def may_lack(column: Column) -> bool:
        stored = written.stored_as(column)
        return column.initial_default is None if stored is None else stored.nullable

    return [column for column in merged.columns if not column.nullable and may_lack(column)]


def newly_required_fields(merged: Schema, written: Schema) -> list[tuple[str, ...]]:
    """The same for NOT NULL fields inside structs, in arrays and maps too, as paths of labels; a struct that is NULL
    itself lacks nothing."""
    found: list[tuple[str, ...]] = []

    def look(new: DataType, old: DataType, path: tuple[str, ...]) -> None:
        if isinstance(new, Struct) and isinstance(old, Struct):
            for field, stored in _fields(new, old):
                if not field.nullable and (stored is None or stored.nullable):
                    found.append((*path, field.label))
                if stored is not None:
                    look(field.type, stored.type, (*path, field.label))
            return
        inside = dict(types.inner_types(old))
        for step, inner in types.inner_types(new):
            if step in inside:
                look(inner, inside[step], (*path, step))

    for column in merged.columns:
        stored = written.stored_as(column)
        if stored is not None:
            look(column.type, stored.type, (column.label,))
    return found


def unreadable(merged: Schema, written: Schema) -> list[Column]:
    """The columns of a merged schema whose type does not hold what rows written with another one hold in them.

    A resolution or a RESTORE that undid a widening can make such columns; rows of that schema must not be merged then.
    """
    pairs = [(column, written.stored_as(column)) for column in merged.columns]
    return [column for column, stored in pairs if stored is not None and not holds(column.type, stored.type)]


def holds(new: DataType, old: DataType) -> bool:
    """Whether files that have the old type can be read as the new one; a struct may have fewer fields, or more."""
    return not any(_look(new, old, new, new, ()))


@dataclass(frozen=True)
class Unheld:
    """A place in a merged column, by labels, whose type does not hold the `stored` one; what ours and theirs have."""

    labels: tuple[str, ...]
    stored: DataType
    ours: DataType
    theirs: DataType


def unheld(column: Column, written: Schema, sides: tuple[Column, Column]) -> list[Unheld]:
    """Where rows written with another schema have what the merged column does not hold. `sides`: the column as ours and
    as theirs has it."""
    stored, (mine, other) = written.stored_as(column), sides
    return [] if stored is None else list(_look(column.type, stored.type, mine.type, other.type, (column.label,)))


def _look(new: DataType, old: DataType, ours: DataType, theirs: DataType, path: tuple[str, ...]) -> Iterator[Unheld]:
    if isinstance(new, Struct) and isinstance(old, Struct):
        for field, stored in _fields(new, old):
            if stored is not None:
                mine, other = (_field_type(field, side) for side in (ours, theirs))
                yield from _look(field.type, stored.type, mine, other, (*path, field.label))
    elif isinstance(new, types.Array) and isinstance(old, types.Array):
        here, there = (side if isinstance(side, types.Array) else new for side in (ours, theirs))
        yield from _look(new.element, old.element, here.element, there.element, (*path, "element"))
    elif isinstance(new, types.Map) and isinstance(old, types.Map):
        mine, other = (side if isinstance(side, types.Map) else new for side in (ours, theirs))
        yield from _look(new.key, old.key, mine.key, other.key, (*path, "key"))
        yield from _look(new.value, old.value, mine.value, other.value, (*path, "value"))
    elif not types.widens(old, new):
        yield Unheld(path, old, ours, theirs)


def _fields(new: Struct, old: Struct) -> list[tuple[StructField, StructField | None]]:
    """The fields of a struct, each with that under which another one stores it."""
    return [(field, _stored(field, old)) for field in new.fields]


def _stored(field: StructField, struct: Struct) -> StructField | None:
    by_name = {old.physical: old for old in struct.fields}
    return next((by_name[name] for name in (field.physical, *field.aliases) if name in by_name), None)


def _field_type(field: StructField, side: DataType) -> DataType:
    """As a side's struct has this field; as it is, if that side has it not."""
    found = _stored(field, side) if isinstance(side, Struct) else None
    return field.type if found is None else found.type
