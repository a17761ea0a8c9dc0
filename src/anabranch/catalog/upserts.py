"""INSERT … ON CONFLICT, which SQLite and PostgreSQL both have and SQLAlchemy keeps per dialect."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam
from sqlalchemy.dialects import postgresql, sqlite

from anabranch.catalog.links import Answer, Link

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@cache
def _if_absent(dialect: str, table: Table) -> Any:
    return _INSERT[dialect](table).on_conflict_do_nothing()


def insert_if_absent(link: Link, table: Table, rows: list[dict[str, Any]]) -> Answer:
    """Adds the rows whose keys are new; the answer counts them."""
    return link.ask(_if_absent(link.dialect, table), rows)


@cache
def replacing(dialect: str, table: Table, column: str) -> Any:
    """A statement that adds a row, or gives the one of its key another value in a column."""
    insert = _INSERT[dialect](table)
    keys = [key.name for key in table.primary_key]
    return insert.on_conflict_do_update(index_elements=keys, set_={column: insert.excluded[column]})


@cache
def adding(dialect: str, table: Table, column: str) -> Any:
    """A statement that adds :step to a counter, beginning at :first, and returns the counter's new value."""
    insert = _INSERT[dialect](table)
    keys = [key.name for key in table.primary_key]
    step = bindparam("step", type_=table.c[column].type)
    return (
        insert.values({column: bindparam("first", type_=table.c[column].type) + step})
        .on_conflict_do_update(index_elements=keys, set_={column: table.c[column] + step})
        .returning(table.c[column])
    )
