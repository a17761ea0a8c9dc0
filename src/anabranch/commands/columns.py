"""Columns: declared at CREATE TABLE; added, dropped, renamed, widened, moved and otherwise altered by ALTER TABLE.

An ALTER TABLE that runs again, since others altered the table meanwhile, means the columns that it meant at first,
whatever they are called by then. Of one that was dropped nothing is left to alter, as if the drop had come later; one
that was added under the name that it wants to add is that column, if the two are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anabranch import expressions
from anabranch.branching.law import ADDED
from anabranch.commands.rerun import Beaten, as_first_seen
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.engines import EngineSpec, check_change, engine_spec
from anabranch.errors import (
    AnabranchError,
    ColumnInUse,
    NeedsSpark,
    NullViolation,
    OptionConflict,
    SchemaError,
    TypeMismatch,
)
from anabranch.execution.plan import plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import read_batches
from anabranch.execution.required import lacking
from anabranch.model import evolve, types
from anabranch.model.conflict import ConflictRecord
from anabranch.model.evolve import Path, Place
from anabranch.model.history import Commit
from anabranch.model.names import checked, fold
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, quote_identifier
from anabranch.storage.arrow_types import to_arrow


@dataclass(frozen=True)
class ColumnSpec:
    """A column as a user declares it; `default` is SQL text."""

    path: Path
    type: DataType
    nullable: bool = True
    default: str | None = None
    comment: str | None = None

    @property
    def label(self) -> str:
        return self.path[-1]


def define(session: Session, table_id: str, specs: Sequence[ColumnSpec]) -> tuple[Column, ...]:
    """New top-level columns with physical names of their own."""
    for spec in specs:
        checked("column", spec.label)
    defaults = [_declared(session, spec.default, spec.type, spec.label, nullable=spec.nullable) for spec in specs]
    names = session.catalog.reserve_names(table_id, [spec.label for spec in specs])
    return tuple(
        Column(
            label=spec.label,
            type=_named(session, table_id, spec.type, [physical]),
            physical=physical,
            nullable=spec.nullable,
            comment=spec.comment,
            write_default=default,
        )
        for spec, physical, default in zip(specs, names, defaults, strict=True)
    )


def _named(session: Session, table_id: str, type_: DataType, scopes: Sequence[str]) -> DataType:
    """The type with physical names for all struct fields in it, registered under the place where they stand, by all its
    names."""
    if isinstance(type_, types.Struct):
        for field in type_.fields:
            checked("column", field.label)
        names = session.catalog.reserve_names(table_id, [f.label for f in type_.fields], scopes)
        return types.Struct(
            tuple(
                replace(f, physical=name, type=_named(session, table_id, f.type, _within(scopes, name)))
                for f, name in zip(type_.fields, names, strict=True)
            )
        )
    if isinstance(type_, types.Array):
        return replace(type_, element=_named(session, table_id, type_.element, _within(scopes, "element")))
    if isinstance(type_, types.Map):
        key = _named(session, table_id, type_.key, _within(scopes, "key"))
        return replace(type_, key=key, value=_named(session, table_id, type_.value, _within(scopes, "value")))
    return type_


def _within(scopes: Sequence[str], *names: str) -> list[str]:
    return [f"{scope}.{name}" for scope in scopes for name in names]


def _declared(session: Session, default: str | None, type_: DataType, label: str, *, nullable: bool) -> str | None:
    """A default as the schema keeps it, checked. Its text, evaluated by every write; but a time that names no zone is
    fixed now, so that it is the same for sessions of all zones."""
    if default is None:
        return None
    value = literal(session, default, type_, label)
    if value.upper() == "NULL" and not nullable:
        raise SchemaError(f"column '{label}' is NOT NULL: its default cannot be NULL.")
    tree = expressions.parse_expression(default)
    try:
        with expressions.zone_of(lambda: False):
            expressions.constant(tree, to_arrow(type_))
    except NeedsSpark:
        return value if expressions.is_deterministic(tree) else default
    return default


def literal(session: Session, default: str, type_: DataType, label: str) -> str:
    """The value of a default as a literal, fixed now."""
    try:
        value = session.constant(default, Column(label, type_, label))
    except TypeMismatch as error:
        raise SchemaError(f"DEFAULT {default} does not fit column '{label}' of type {type_}.") from error
    except AnabranchError as error:
        raise SchemaError(f"DEFAULT {default} does not fit column '{label}' of type {type_}: {error}") from error
    return expressions.literal_sql(value)


def alter_schema(
    session: Session, table: OpenTable, message: str, change: Callable[[Schema], Schema], **detail: object
) -> Commit | None:
    """Commits the schema that `change` makes; a change that changes nothing is no commit."""
    changed = change(table.schema)
    if changed == table.schema:
        return None
    if table.schema.primary_key:
        # Options name columns by their labels: a rename or drop must leave them right.
        has_parts = bool(session.catalog.state(table.position, table.id).parts)
        check_change(table.engine, _engine_of(changed, table), has_parts=has_parts)
        detail["while_empty"] = None if has_parts else True
    schema = replace(changed, id=session.catalog.reserve_schema_id(table.id))
    return session.commit(
        table.position,
        "ALTER TABLE",
        f"{table.name}: {message}",
        [table_change(table, "column", **detail)],
        tables=(replace(table.record, schema_id=schema.id),),
        schemas=((table.id, schema),),
    )


def _engine_of(changed: Schema, table: OpenTable) -> EngineSpec:
    try:
        return engine_spec(changed, table.record.properties)
    except OptionConflict as error:
        missing = [label for label in table.schema.labels if changed.find(label) is None]
        if not missing:
            raise
        raise ColumnInUse(error.name, missing) from error


def add_columns(session: Session, table: OpenTable, specs: Sequence[tuple[ColumnSpec, Place | None]]) -> Commit | None:
    rows: int | None = None
    schema = table.schema
    for asked, place in specs:
        parents = _now_called(table, asked.path[:-1])
        if parents is None:
            continue
        spec = replace(asked, path=(*parents, asked.label))
        if (there := _added_meanwhile(table, spec)) is not None:
            schema = _as_one(session, table, schema, there, spec, place)
            continue
        column = added_column(session, table, schema, spec)
        if not column.nullable and column.write_default is None:
            rows = session.catalog.state(table.position, table.id).rows if rows is None else rows
            if rows:
                raise SchemaError(
                    f"column '{spec.label}' is NOT NULL without a default, but '{table.name}' has {rows} rows. "
                    "Give it a DEFAULT, or add it without NOT NULL and fill it first."
                )
        schema = evolve.add(schema, spec.path, column, place)
    names = ", ".join(".".join(spec.path) for spec, _ in specs)
    required = any(not spec.nullable and spec.default is None for spec, _ in specs)
    return alter_schema(session, table, f"add {names}", lambda _: schema, not_null=True if required else None)


def _now_called(table: OpenTable, path: Path) -> Path | None:
    """What the statement means by a path; None: it was dropped meanwhile."""
    before = as_first_seen(table).schema
    return path if not path or before.id == table.schema.id else evolve.followed(before, table.schema, path)


def _added_meanwhile(table: OpenTable, spec: ColumnSpec) -> Column | None:
    """A column of this name that others have added since the statement first looked."""
    there = table.schema.find(spec.label) if len(spec.path) == 1 else None
    return None if there is None or as_first_seen(table).schema.physical(there.physical) is not None else there


def _as_one(
    session: Session, table: OpenTable, schema: Schema, there: Column, spec: ColumnSpec, place: Place | None
) -> Schema:
    """Rule A6: a column that both added is one, of the wider type if that is this one's. What this one says of rows
    that lack it must be what the other one says: those of others may have come already."""
    wanted = evolve.adopt(there.type, spec.type)
    default = _declared(session, spec.default, spec.type, spec.label, nullable=spec.nullable)
    if types.widens(there.type, wanted) and (there.nullable, there.write_default) == (spec.nullable, default):
        schema = schema if wanted == there.type else evolve.widen(schema, spec.path, spec.type)
        if spec.comment is not None:
            schema = evolve.set_comment(schema, spec.path, spec.comment)
        return schema if place is None else evolve.move(schema, spec.path, place)
    is_narrower = wanted != there.type and types.widens(wanted, there.type)
    ours = _said(there.type, there.write_default, nullable=there.nullable)
    theirs = _said(spec.type, default, nullable=spec.nullable)
    record = ConflictRecord(
        f"table {table.name}", "table", "A6.1" if is_narrower else ADDED, ours, theirs, column=spec.label
    )
    raise Beaten(
        f"others have added the column '{spec.label}' to '{table.name}' meanwhile, as {ours}; here it is {theirs}. "
        "Nothing was changed.",
        [record],
    )


def _said(type_: DataType, default: str | None, *, nullable: bool) -> str:
    return f"{type_}{'' if nullable else ' NOT NULL'}{f' DEFAULT {default}' if default is not None else ''}"


def added_column(session: Session, table: OpenTable, schema: Schema, spec: ColumnSpec) -> Column:
    """A new column, or a field inside structs, with a physical name of its own."""
    if len(spec.path) == 1:
        evolve.add(schema, spec.path, Column(spec.label, spec.type, spec.label), None)  # names are checked first
        (column,) = define(session, table.id, [spec])
        default = None if spec.default is None else literal(session, spec.default, spec.type, spec.label)
        return replace(column, initial_default=default)
    checked("column", spec.label)
    scopes = _scopes(schema, spec.path)
    (physical,) = session.catalog.reserve_names(table.id, [spec.label], scopes)
    type_ = _named(session, table.id, spec.type, _within(scopes, physical))
    return Column(spec.label, type_, physical, spec.nullable, spec.comment, None, spec.default)


def _scopes(schema: Schema, path: Path) -> list[str]:
    """The physical place of the struct that holds the last name of a path: by all names that merges have made one."""
    column = schema.column(path[0])
    scopes, type_ = [column.physical, *column.aliases], column.type
    for step in path[1:-1]:
        if isinstance(type_, types.Struct):
            found = next((f for f in type_.fields if f.label.lower() == step.lower()), None)
            if found is None:
                raise SchemaError(f"'{'.'.join(path[:-1])}' has no field '{step}'.")
            scopes, type_ = _within(scopes, found.physical, *found.aliases), found.type
        elif isinstance(type_, types.Array):
            scopes, type_ = _within(scopes, "element"), type_.element
        elif isinstance(type_, types.Map):
            scopes, type_ = _within(scopes, "value"), type_.value
    return scopes


def drop_columns(
    session: Session, table: OpenTable, paths: Sequence[Path], *, if_exists: bool = False
) -> Commit | None:
    schema = table.schema
    for asked in paths:
        path = _now_called(table, asked)
        if path is None or (if_exists and schema.find(path[0]) is None):
            continue
        schema = evolve.drop(schema, path)
    names = ", ".join(map(".".join, paths))
    return alter_schema(session, table, f"drop {names}", lambda _: schema)


def rename_column(session: Session, table: OpenTable, path: Path, label: str) -> Commit | None:
    now = _now_called(table, path)
    if now is None:
        return None
    message = f"rename {'.'.join(now)} to {label}"
    return alter_schema(session, table, message, lambda schema: evolve.rename(schema, now, label))


def alter_column(
    session: Session,
    table: OpenTable,
    asked: Path,
    *,
    label: str | None = None,
    type: DataType | None = None,
    nullable: bool | None = None,
    default: str | None = None,
    drop_default: bool = False,
    comment: str | None = None,
    place: Place | None = None,
) -> Commit | None:
    """Any of these at once; what is None stays as it is."""
    path = _now_called(table, asked)
    if path is None:
        return None

    def changed(schema: Schema) -> Schema:
        if type is not None:
            schema = evolve.widen(schema, path, type)
        if nullable is not None:
            schema = evolve.set_nullable(schema, path, nullable)
        if default is not None or drop_default:
            if len(path) > 1:
                raise SchemaError(f"'{'.'.join(path)}' is inside a struct and can have no default.")
            column = schema.column(path[0])
            kept = _declared(session, default, column.type, column.label, nullable=column.nullable)
            schema = evolve.set_default(schema, path[0], kept)
        if comment is not None:
            schema = evolve.set_comment(schema, path, comment)
        if place is not None:
            schema = evolve.move(schema, path, place)
        return evolve.rename(schema, path, label) if label is not None else schema

    changed(table.schema)
    if nullable is False:
        _refuse_nulls(session, table, path)
    said = f"alter {'.'.join(path)}"
    return alter_schema(session, table, said, changed, not_null=True if nullable is False else None)


def _refuse_nulls(session: Session, table: OpenTable, path: Path) -> None:
    """Reads the column only where the parts' statistics leave a doubt. A predicate goes into structs alone; what is in
    arrays and maps is looked at here."""
    column = table.schema.column(path[0])
    type_, structs = column.type, 1
    while structs < len(path) and isinstance(type_, types.Struct):
        type_ = next(field.type for field in type_.fields if fold(field.label) == fold(path[structs]))
        structs += 1
    where = " AND ".join(
        [f"{'.'.join(map(quote_identifier, path[:depth]))} IS {'NOT ' * (depth < len(path))}NULL"
         for depth in range(1, structs + 1)]
    )  # fmt: skip
    plan = plan_scan(session.view(table), [column.label], Predicate(where))
    nulls = sum(int(lacking(batch.column(column.label), path[1:]).sum()) for batch in read_batches(plan))
    if nulls:
        raise NullViolation(".".join(path), table.name, nulls, wanted=True)
