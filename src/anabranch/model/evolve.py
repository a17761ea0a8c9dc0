"""Column changes as pure functions: a schema and a wish give the next schema, or an error and nothing else.

`path` names a column, or a field inside structs: ('address', 'street'). Array elements and map values are reached by
the words `element`, `key` and `value`, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from anabranch.errors import AlreadyExists, NotFound, Refused, SchemaError
from anabranch.model import types
from anabranch.model.names import checked, fold
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, Struct, StructField

Path = tuple[str, ...]
Item = TypeVar("Item", bound=Column | StructField)


@dataclass(frozen=True)
class Place:
    """Where a column goes: first, or after another; without it, last."""

    after: str | None = None


def add(schema: Schema, path: Path, column: Column, place: Place | None = None) -> Schema:
    """`column` has its physical name already; a nested field has no default."""
    checked("column", path[-1])
    if len(path) == 1:
        if schema.find(column.label):
            raise AlreadyExists("column", column.label)
        return replace(schema, columns=_placed((*schema.columns, column), column, place))
    if column.write_default is not None or not column.nullable:
        raise SchemaError(f"the field '{'.'.join(path)}' must allow NULL and have no default: it is inside a struct.")
    field = StructField(path[-1], column.type, column.physical, True, column.comment)

    def grown(struct: Struct) -> Struct:
        if any(fold(f.label) == fold(field.label) for f in struct.fields):
            raise AlreadyExists("field", ".".join(path))
        return Struct(_placed((*struct.fields, field), field, place))

    return _in_struct(schema, path, grown)


def drop(schema: Schema, path: Path) -> Schema:
    if len(path) == 1:
        column = schema.column(path[0])
        _refuse_key(schema, column, "dropped")
        if len(schema.columns) - len(schema.partitioned_by) == 1:
            which = "column that is not a partition column" if schema.partitioned_by else "column"
            raise Refused(f"'{column.label}' is the last {which} and cannot be dropped. Drop the table instead.")
        return replace(schema, columns=tuple(c for c in schema.columns if c is not column))

    def shrunk(struct: Struct) -> Struct:
        field = _field(struct, path)
        if len(struct.fields) == 1:
            raise Refused(f"'{'.'.join(path)}' is the last field of its struct. Drop the whole column instead.")
        return Struct(tuple(f for f in struct.fields if f is not field))

    return _in_struct(schema, path, shrunk)


def rename(schema: Schema, path: Path, label: str) -> Schema:
    checked("column", label)
    if len(path) == 1:
        column = schema.column(path[0])
        other = schema.find(label)
        if other is not None and other is not column:
            raise AlreadyExists("column", label)
        return _with(schema, column, replace(column, label=label))

    def renamed(struct: Struct) -> Struct:
        field = _field(struct, path)
        if any(fold(f.label) == fold(label) and f is not field for f in struct.fields):
            raise AlreadyExists("field", label)
        return _with_field(struct, field, replace(field, label=label))

    return _in_struct(schema, path, renamed)


def widen(schema: Schema, path: Path, type_: DataType) -> Schema:
    """The new type must hold every value of the old one; files are not rewritten."""

    def wider(item: Item) -> Item:
        adopted = adopt(item.type, type_)
        if not types.widens(item.type, adopted):
            raise SchemaError(
                f"column '{'.'.join(path)}' is {item.type} and cannot become {type_}: a type only widens "
                "(tinyint, smallint, int, bigint; float or int to double; to a decimal that holds it; date to "
                "timestamp_ntz). Add a new column and UPDATE it instead."
            )
        return replace(item, type=adopted)

    if len(path) > 1 and fold(path[-1]) in ("element", "value") and not _is_field(schema, path):
        return _retyped(schema, path, lambda old: wider(StructField(path[-1], old, "")).type)
    # A wider key orders as it did, so only partition columns, whose values name partitions, stay as they are.
    key = len(path) == 1 and schema.column(path[0]).physical in set(schema.primary_key) - set(schema.partitioned_by)
    return _changed(schema, path, wider, wider, key_safe=key)


def set_nullable(schema: Schema, path: Path, nullable: bool) -> Schema:
    def done(item: Item) -> Item:
        return replace(item, nullable=nullable)

    return _changed(schema, path, done, done, key_safe=not nullable)


def set_comment(schema: Schema, path: Path, comment: str | None) -> Schema:
    def done(item: Item) -> Item:
        return replace(item, comment=comment)

    return _changed(schema, path, done, done)


def set_default(schema: Schema, label: str, default: str | None) -> Schema:
    column = schema.column(label)
    return _with(schema, column, replace(column, write_default=default))


def move(schema: Schema, path: Path, place: Place) -> Schema:
    if len(path) == 1:
        column = schema.column(path[0])
        return replace(schema, columns=_placed(schema.columns, column, place))
    return _in_struct(schema, path, lambda struct: Struct(_placed(struct.fields, _field(struct, path), place)))


def followed(before: Schema, now: Schema, path: Path) -> Path | None:
    """What a path of an earlier schema is called now, by physical names; None: it was dropped. What `before` does not
    know stays as it is."""
    old = before.find(path[0])
    if old is None:
        return path
    new = now.physical(old.physical)
    if new is None:
        return None
    steps, was, is_ = [new.label], old.type, new.type
    for step in path[1:]:
        if isinstance(was, Struct) and isinstance(is_, Struct):
            field = next((f for f in was.fields if fold(f.label) == fold(step)), None)
            if field is None:
                return (*steps, *path[len(steps) :])
            found = next((f for f in is_.fields if f.physical == field.physical), None)
            if found is None:
                return None
            step, was, is_ = found.label, field.type, found.type
        elif isinstance(was, types.Array) and isinstance(is_, types.Array):
            was, is_ = was.element, is_.element
        elif isinstance(was, types.Map) and isinstance(is_, types.Map):
            was, is_ = (was.key, is_.key) if fold(step) == "key" else (was.value, is_.value)
        steps.append(step)
    return tuple(steps)


def adopt(old: DataType, new: DataType) -> DataType:
    """`new` as users wrote it, with the physical names that `old` has in the same places."""
    if isinstance(old, Struct) and isinstance(new, Struct) and len(old.fields) == len(new.fields):
        if any(fold(a.label) != fold(b.label) for a, b in zip(old.fields, new.fields, strict=True)):
            return new
        pairs = zip(old.fields, new.fields, strict=True)
        return Struct(tuple(replace(a, type=adopt(a.type, b.type)) for a, b in pairs))
    if isinstance(old, types.Array) and isinstance(new, types.Array):
        return replace(new, element=adopt(old.element, new.element))
    if isinstance(old, types.Map) and isinstance(new, types.Map):
        return replace(new, key=adopt(old.key, new.key), value=adopt(old.value, new.value))
    return new


def _placed(items: Sequence[Item], item: Item, place: Place | None) -> tuple[Item, ...]:
    if place is None:
        return tuple(items)
    others: list[Item] = [other for other in items if other is not item]
    if place.after is None:
        return (item, *others)
    for index, other in enumerate(others):
        if fold(other.label) == fold(place.after):
            return (*others[: index + 1], item, *others[index + 1 :])
    raise NotFound("column", place.after, [other.label for other in others])


def _with(schema: Schema, old: Column, new: Column) -> Schema:
    return replace(schema, columns=tuple(new if column is old else column for column in schema.columns))


def _with_field(struct: Struct, old: StructField, new: StructField) -> Struct:
    return Struct(tuple(new if field is old else field for field in struct.fields))


def _refuse_key(schema: Schema, column: Column, what: str) -> None:
    if column.physical in schema.primary_key:
        raise Refused(f"'{column.label}' is part of the primary key and cannot be {what}.")
    if column.physical in schema.partitioned_by:
        raise Refused(f"'{column.label}' is a partition column and cannot be {what}.")


def _changed(
    schema: Schema,
    path: Path,
    column_change: Callable[[Column], Column],
    field_change: Callable[[StructField], StructField],
    *,
    key_safe: bool = True,
) -> Schema:
    if len(path) == 1:
        column = schema.column(path[0])
        if not key_safe:
            _refuse_key(schema, column, "changed")
        return _with(schema, column, column_change(column))

    def changed(struct: Struct) -> Struct:
        field = _field(struct, path)
        return _with_field(struct, field, field_change(field))

    return _in_struct(schema, path, changed)


def _field(struct: Struct, path: Path) -> StructField:
    for field in struct.fields:
        if fold(field.label) == fold(path[-1]):
            return field
    raise NotFound("field", ".".join(path), [".".join((*path[:-1], field.label)) for field in struct.fields])


def _in_struct(schema: Schema, path: Path, change: Callable[[Struct], Struct]) -> Schema:
    """Changes the struct that holds the last name of the path."""
    column = schema.column(path[0])
    return _with(schema, column, replace(column, type=_descend(column.type, path, 1, change)))


def _is_field(schema: Schema, path: Path) -> bool:
    """Whether the last name of a path is a struct's field, and not the element or value of a collection."""
    try:
        _in_struct(schema, path, lambda struct: struct)
    except SchemaError:
        return False
    return True


def _retyped(schema: Schema, path: Path, change: Callable[[DataType], DataType]) -> Schema:
    """Changes the type of an array's element or a map's value."""
    column = schema.column(path[0])

    def inner(type_: DataType, steps: Path) -> DataType:
        if not steps:
            return change(type_)
        step = fold(steps[0])
        if isinstance(type_, types.Array) and step == "element":
            return replace(type_, element=inner(type_.element, steps[1:]))
        if isinstance(type_, types.Map) and step == "value":
            return replace(type_, value=inner(type_.value, steps[1:]))
        if isinstance(type_, Struct):
            field = _field(type_, path[: len(path) - len(steps) + 1])
            return _with_field(type_, field, replace(field, type=inner(field.type, steps[1:])))
        raise SchemaError(f"'{'.'.join(path)}': {type_} has no '{steps[0]}'.")

    return _with(schema, column, replace(column, type=inner(column.type, path[1:])))


def _descend(type_: DataType, path: Path, depth: int, change: Callable[[Struct], Struct]) -> DataType:
    if depth == len(path) - 1:
        if isinstance(type_, Struct):
            return change(type_)
        raise SchemaError(f"'{'.'.join(path[:depth])}' is {type_} and has no field '{path[depth]}'.")
    step = fold(path[depth])
    if isinstance(type_, Struct):
        field = _field(type_, path[: depth + 1])
        return _with_field(type_, field, replace(field, type=_descend(field.type, path, depth + 1, change)))
    if isinstance(type_, types.Array) and step == "element":
        return replace(type_, element=_descend(type_.element, path, depth + 1, change))
    if isinstance(type_, types.Map) and step == "value":
        return replace(type_, value=_descend(type_.value, path, depth + 1, change))
    raise SchemaError(f"'{'.'.join(path[:depth])}' is {type_} and has no field '{path[depth]}'.")
