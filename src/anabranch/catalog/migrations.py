"""The catalog's own schema, step by step.

A catalog at schema version n has run the first n MIGRATIONS; creating one from nothing runs them all. A step that only
adds tables or columns is `introduce`, which reads from `tables.py` what that version brought.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

from sqlalchemy import Column, Connection, Index, MetaData, Table, inspect, text
from sqlalchemy.schema import CreateColumn

from anabranch.catalog import tables
from anabranch.catalog.clock import now_us
from anabranch.errors import CatalogError, CatalogVersionError

MAIN = 1
"""The id of branch 'main', which every lake has."""


def introduce(version: int, connection: Connection) -> None:
    """Creates the tables, and adds the columns, that came with this version."""
    for table in tables.metadata.sorted_tables:
        if table.info["since"] == version:
            _as_of(table, version).create(connection)
        elif table.info["since"] < version:
            for column in table.columns:
                if column.info["since"] == version:
                    name = connection.dialect.identifier_preparer.format_table(table)
                    added = CreateColumn(column).compile(dialect=connection.dialect)
                    connection.execute(text(f"ALTER TABLE {name} ADD COLUMN {added}"))


def _as_of(table: Table, version: int) -> Table:
    """The table without what later versions added to it."""
    if all(column.info["since"] <= version for column in table.columns):
        return table
    columns = [
        Column(c.name, c.type, primary_key=c.primary_key, nullable=c.nullable, autoincrement=c.autoincrement)
        for c in table.columns
        if c.info["since"] <= version
    ]
    kept = {column.name for column in columns}
    indexes = [
        Index(index.name, *index.columns.keys(), unique=index.unique, **index.dialect_kwargs)  # such as its WHERE
        for index in table.indexes
        if kept.issuperset(index.columns.keys())
    ]
    with_rowid = table.dialect_options["sqlite"]["with_rowid"]
    return Table(table.name, MetaData(), *columns, *indexes, sqlite_with_rowid=with_rowid)


def create_lake(connection: Connection) -> None:
    """Version 1: the tables, a lake id, branch 'main' and its commit 0."""
    introduce(1, connection)
    time_us = now_us()
    connection.execute(tables.meta.insert().values(key="lake_id", value=str(uuid.uuid4())))
    main = {"name": "main", "created_us": time_us}
    connection.execute(
        tables.branch.insert().values(parent_id=None, fork=-1, head=0, head_time_us=time_us, dropped=False, **main)
    )
    connection.execute(tables.ref.insert().values(folded="main", branch_id=MAIN, version=None, **main))
    connection.execute(
        tables.commit_log.insert().values(
            branch_id=MAIN,
            version=0,
            id=str(uuid.uuid4()),
            time_us=time_us,
            author="",
            operation="create lake",
            message="",
            detail="{}",
        )
    )


def index_merges(connection: Connection) -> None:
    """Version 3: merges are found among any number of commits. A new lake has the index with its table."""
    tables.commit_log_merged.create(connection, checkfirst=True)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (create_lake, partial(introduce, 2), index_merges)


def properties(connection: Connection) -> dict[str, str]:
    """The catalog's `meta` rows; empty if there is no catalog."""
    if not inspect(connection).has_table(tables.meta.name):
        return {}
    found: dict[str, str] = {row.key: row.value for row in connection.execute(_PROPERTIES)}
    if "schema_version" not in found:
        raise CatalogError("the database holds a table 'meta' that is not Anabranch's. Use a database of its own.")
    return found


def is_current(found: dict[str, str]) -> bool:
    """Whether nothing is left to migrate; a catalog from the future is refused."""
    version = int(found.get("schema_version", 0))
    if version > len(MIGRATIONS):
        raise CatalogVersionError(version, len(MIGRATIONS))
    return version == len(MIGRATIONS)


def migrate(connection: Connection) -> dict[str, str]:
    """Runs what is missing, inside the caller's transaction and under its lock."""
    found = properties(connection)
    if is_current(found):
        return found
    done = int(found.get("schema_version", 0))
    for step in MIGRATIONS[done:]:
        step(connection)
    version = str(len(MIGRATIONS))
    if done:
        connection.execute(_SET_VERSION, {"value": version})
    else:
        connection.execute(tables.meta.insert().values(key="schema_version", value=version))
    return properties(connection)


_PROPERTIES = tables.meta.select()
_SET_VERSION = tables.meta.update().where(tables.meta.c.key == "schema_version")
