"""What the stories say again and again: statements that follow each other, and the rows that are then there."""

from typing import Any

from anabranch.lake import Lake


def told(lake: Lake, *statements: str) -> Any:
    """Runs the statements in order; gives what the last one gave, as plain tuples."""
    result = None
    for statement in statements:
        result = lake.sql(statement)
    return [tuple(row) for row in result.collect()] if result is not None else []


def rows(lake: Lake, table: str, version: int | None = None, **how: Any) -> list[tuple[Any, ...]]:
    """All rows of a table, sorted whatever they hold; no JVM."""
    found = lake.table(table, version=version).to_arrow(**how)
    return in_order(zip(*(column.to_pylist() for column in found.columns), strict=True))


def in_order(found: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, found), key=lambda row: [(value is not None, repr(type(value)), value) for value in row])


def one(lake: Lake, table: str, version: int | None = None) -> list[Any]:
    """The values of a table's only, or first, column."""
    return [row[0] for row in rows(lake, table, version)]


def labels(lake: Lake, table: str) -> list[str]:
    return lake.table(table).schema.names
