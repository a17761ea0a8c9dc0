"""ALTER TABLE: one function for each verb, in one dict."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.sql import clauses, columns
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import Name, written_table_name

_REFUSED = {
    "SET LOCATION": "the lake decides where files are",
    "SET SERDE": "every table is stored as Parquet",
    "SET FILEFORMAT": "every table is stored as Parquet",
    "RECOVER PARTITIONS": "files belong to a table only through the catalog",
    "REPLACE COLUMNS": "drop, rename and add columns one by one, so that files keep their meaning",
    "RENAME PARTITION": "use UPDATE to move rows to another partition",
    "ADD CONSTRAINT": "a primary key is declared in CREATE TABLE",
    "ADD PRIMARY KEY": "a primary key is declared in CREATE TABLE",
    "DROP CONSTRAINT": "a primary key is declared in CREATE TABLE",
    "DROP PRIMARY KEY": "a primary key is declared in CREATE TABLE",
    "CLUSTER BY": "tables are clustered by their PRIMARY KEY",
}


def table(cursor: Cursor) -> st.Statement:
    name = written_table_name(cursor)
    if refused := cursor.take_any(*_REFUSED):
        raise clauses.refuse(f"ALTER TABLE … {refused}", _REFUSED[refused])
    verb = cursor.expect(*VERBS)
    return VERBS[verb](cursor, name)


def _add(cursor: Cursor, name: Name) -> st.Statement:
    if cursor.at_any("IF NOT EXISTS", "PARTITION"):
        if_not_exists = clauses.if_not_exists(cursor)
        return st.AddPartition(name, _partitions(cursor), if_not_exists)
    cursor.expect("COLUMNS", "COLUMN", "PARTITION")
    if not cursor.take("("):
        return st.AddColumns(name, _added(cursor))
    added = _added(cursor)
    cursor.expect(")")
    return st.AddColumns(name, added)


def _added(cursor: Cursor) -> tuple[tuple[st.ColumnDef, st.Place | None], ...]:
    added = []
    while True:
        position = cursor.position
        found = columns.declared(cursor)
        if found.primary_key:
            raise cursor.error("a primary key is declared in CREATE TABLE", position)
        added.append((found.column, found.place))
        if not cursor.take(","):
            return tuple(added)


def _drop(cursor: Cursor, name: Name) -> st.Statement:
    if cursor.at_any("IF EXISTS PARTITION", "PARTITION"):
        if_exists = clauses.if_exists(cursor)
        return st.DropPartition(name, _partitions(cursor), if_exists)
    cursor.expect("COLUMNS", "COLUMN", "PARTITION")
    if_exists = clauses.if_exists(cursor)
    bracket = cursor.take("(")
    paths = [cursor.path("a column name")]
    while cursor.take(","):
        paths.append(cursor.path("a column name"))
    if bracket:
        cursor.expect(")")
    return st.DropColumns(name, tuple(paths), if_exists)


def _partitions(cursor: Cursor) -> tuple[dict[str, str], ...]:
    specs = [clauses.partition(cursor)]
    while cursor.take(",") or cursor.at("PARTITION"):
        specs.append(clauses.partition(cursor))
    if cursor.at("LOCATION"):
        raise clauses.refuse("LOCATION of a partition", "the lake decides where files are")
    cursor.take("PURGE")
    return tuple(specs)


def _rename(cursor: Cursor, name: Name) -> st.Statement:
    if cursor.take("TO"):
        return st.RenameTable(name, written_table_name(cursor))
    cursor.expect("COLUMN", "TO")
    old = cursor.path("a column name")
    cursor.expect("TO")
    return st.RenameColumn(name, old, cursor.identifier("a column name"))


def _set(cursor: Cursor, name: Name) -> st.Statement:
    cursor.expect("TBLPROPERTIES")
    return st.SetProperties(name, clauses.properties(cursor))


def _unset(cursor: Cursor, name: Name) -> st.Statement:
    cursor.expect("TBLPROPERTIES")
    if_exists = clauses.if_exists(cursor)
    return st.UnsetProperties(name, clauses.property_keys(cursor), if_exists)


def _column(cursor: Cursor, name: Name) -> st.AlterColumn:
    cursor.take("COLUMN")
    column = cursor.path("a column name")
    if cursor.take("TYPE"):
        return _retyped(cursor, name, column, None)
    if cursor.take("SET NOT NULL"):
        return st.AlterColumn(name, column, nullable=False)
    if cursor.take("DROP NOT NULL"):
        return st.AlterColumn(name, column, nullable=True)
    if cursor.take("SET DEFAULT"):
        return st.AlterColumn(name, column, default_sql=columns.default_expression(cursor))
    if cursor.take("DROP DEFAULT"):
        return st.AlterColumn(name, column, drop_default=True)
    if cursor.take("COMMENT"):
        return st.AlterColumn(name, column, comment=cursor.string("a comment"))
    if (place := columns.place(cursor)) is not None:
        return st.AlterColumn(name, column, place=place)
    return cursor.fail("TYPE, SET, DROP, COMMENT, FIRST or AFTER")


def _change(cursor: Cursor, name: Name) -> st.AlterColumn:
    """Hive's `CHANGE COLUMN old new type`; the forms of ALTER COLUMN are taken too."""
    after = 1 if cursor.at("COLUMN") else 0
    while cursor.at(".", after + 1):
        after += 2
    if any(cursor.at(word, after + 1) for word in ("TYPE", "SET", "DROP", "COMMENT", "FIRST", "AFTER")):
        return _column(cursor, name)
    cursor.take("COLUMN")
    column = cursor.path("a column name")
    new_name = cursor.identifier("the new column name")
    return _retyped(cursor, name, column, None if new_name == column[-1] else new_name)


def _retyped(cursor: Cursor, name: Name, column: st.Path, new_name: str | None) -> st.AlterColumn:
    type_text = columns.type_text(cursor)
    comment = cursor.string("a comment") if cursor.take("COMMENT") else None
    place = columns.place(cursor)
    return st.AlterColumn(name, column, new_name, type_text, comment=comment, place=place)


VERBS: dict[str, Callable[[Cursor, Name], st.Statement]] = {
    "ADD": _add,
    "DROP": _drop,
    "RENAME": _rename,
    "ALTER": _column,
    "CHANGE": _change,
    "SET": _set,
    "UNSET": _unset,
}
