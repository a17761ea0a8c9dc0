"""Names and column declarations that Python code hands over as text or as Arrow schemas."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch import given
from anabranch.commands.columns import ColumnSpec
from anabranch.errors import DataError, Refused, SchemaError, SqlError
from anabranch.model.names import fold
from anabranch.model.types import DataType, parse_type
from anabranch.sql import refs
from anabranch.sql import statements as s
from anabranch.sql.cursor import Cursor
from anabranch.sql.parser import parse
from anabranch.sql.run import column_spec

if TYPE_CHECKING:
    import pyarrow as pa


Tables = Callable[[], Iterable[str]]
"""The tables among which a name may be meant, as `database.table`."""


def table_name(text: str, known: Tables = list) -> refs.Name:
    """`database.table`, perhaps with `@ref`."""
    if not isinstance(text, str):
        raise Refused(f"{reprlib.repr(text)} names no table: write 'database.table'.")
    cursor = Cursor(text)
    parts = cursor.path("a table name")
    if len(parts) != 2:
        raise SqlError(f"{refs.not_qualified(parts)}.{_guess(parts[-1], known)}")
    name = refs.Name(parts, refs.ref(cursor))
    cursor.end()
    return name


def _guess(table: str, known: Tables) -> str:
    """The only table that is called so."""
    found = [name for name in known() if fold(table_parts(name)[-1]) == fold(table)]
    return f" Did you mean '{found[0]}'?" if len(found) == 1 else ""


def table_parts(text: str, known: Tables = list) -> tuple[str, ...]:
    name = table_name(text, known)
    if name.ref is not None:
        raise SqlError(f"'{text}': a ref cannot stand here; use lake.on(branch)", text, 0)
    return name.parts


def columns_of(schema: Any) -> tuple[list[ColumnSpec], Sequence[str]]:
    """Columns, and the primary key that a text declares."""
    if isinstance(schema, str):
        parsed = parse(f"CREATE TABLE d.t (\n{schema}\n)")
        assert isinstance(parsed, s.CreateTable)
        if parsed != s.CreateTable(parsed.name, columns=parsed.columns, primary_key=parsed.primary_key):
            raise SqlError("only columns and PRIMARY KEY can stand here; the rest are arguments of create_table")
        return [column_spec(definition) for definition in parsed.columns], parsed.primary_key
    if isinstance(schema, Mapping):
        return [ColumnSpec((name,), as_type(type_)) for name, type_ in schema.items()], ()
    if type(schema).__name__ == "Schema" and type(schema).__module__.startswith("pyarrow"):
        from anabranch.storage.arrow_types import from_arrow

        return [ColumnSpec((f.name,), from_arrow(f.type, f"column '{f.name}'"), f.nullable) for f in schema], ()
    if type(schema).__name__ == "StructType" and type(schema).__module__.startswith("pyspark"):
        from anabranch.execution.spark_types import from_spark

        return [ColumnSpec((name,), type_) for name, type_ in from_spark(schema) if type_ is not None], ()
    raise SchemaError(f"{type(schema).__name__} is not a schema: give SQL columns, an Arrow schema or a mapping.")


def as_type(type_: Any) -> DataType:
    """A type by its SQL name, as an Arrow type, or as it is."""
    if isinstance(type_, DataType):
        return type_
    if isinstance(type_, str):
        return parse_type(type_)
    import pyarrow as pa

    from anabranch.storage.arrow_types import from_arrow

    if not isinstance(type_, pa.DataType):
        raise SchemaError(f"{reprlib.repr(type_)} is not a type: give its SQL name ('bigint') or an Arrow type.")
    return from_arrow(type_)


def column_path(text: str) -> tuple[str, ...]:
    """`a`, or `a.b` for a field; a name that needs backquotes in SQL needs them here."""
    cursor = Cursor(given.name("column", text))
    path = cursor.path("a column name")
    cursor.end()
    return tuple(path)


def sql_literal(value: Any) -> str:
    """A Python value as a SQL literal."""
    from anabranch.expressions import literal_sql

    return literal_sql(scalar(value))


def scalar(value: Any) -> pa.Scalar:
    import pyarrow as pa

    try:
        return pa.scalar(value)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{reprlib.repr(value)} is no value that a table can hold: {error}.") from error


def sql_text(value: Any) -> str:
    """Text is an expression; any other value is a literal."""
    return value if isinstance(value, str) else sql_literal(value)
