"""CREATE, DROP and TRUNCATE TABLE. What Spark's CREATE TABLE has and a lake cannot keep is refused by name."""

from __future__ import annotations

from typing import NoReturn

from anabranch.sql import clauses, columns
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import Name, table_name, written_table_name

_FORMATS = ("ANABRANCH", "PARQUET")
_REFUSED = {
    "LOCATION": "the lake decides where files are; load other files with INSERT INTO … SELECT",
    "CLUSTERED BY": "tables have no buckets; give a PRIMARY KEY, or PARTITIONED BY",
    "CLUSTER BY": "tables are clustered by their PRIMARY KEY",
    "SKEWED BY": "tables have no skewed storage",
    "SORTED BY": "tables are sorted by their PRIMARY KEY",
    "STORED AS": "every table is stored as Parquet",
    "STORED BY": "every table is stored as Parquet",
    "ROW FORMAT": "every table is stored as Parquet",
    "OPTIONS": "tables have no source options; use TBLPROPERTIES",
    "DEFAULT COLLATION": "collations are not available",
}
_CONSTRAINTS = ("UNIQUE (", "FOREIGN KEY", "CHECK (")


def create(cursor: Cursor) -> st.CreateTable:
    if_not_exists = clauses.if_not_exists(cursor)
    name = written_table_name(cursor)
    if cursor.take("LIKE"):
        return _like(cursor, name, if_not_exists=if_not_exists)
    body = _Body()
    if cursor.at("(") and not _at_query(cursor):
        body.columns(cursor)
    body.clauses(cursor)
    query = None
    if cursor.take("AS") or _at_query(cursor):
        query = cursor.expression("a query")
        if body.defined:
            raise cursor.error("columns cannot be declared with AS SELECT: the query gives them", name.position)
    elif not body.defined:
        cursor.fail("( with columns, or AS with a query")
    return st.CreateTable(
        name,
        if_not_exists,
        tuple(body.defined),
        tuple(body.primary_key),
        tuple(body.partitioned_by),
        body.properties,
        body.comment,
        query,
    )


def create_or_replace(cursor: Cursor) -> NoReturn:
    raise clauses.refuse(
        "CREATE OR REPLACE TABLE", "it would lose the table's history; use INSERT OVERWRITE, or DROP TABLE first"
    )


def create_external(cursor: Cursor) -> NoReturn:
    raise clauses.refuse("CREATE EXTERNAL TABLE", "a lake owns the files of its tables")


def create_temporary(cursor: Cursor) -> NoReturn:
    raise clauses.refuse("CREATE TEMPORARY TABLE", "every table belongs to a branch; use a branch for passing work")


def drop(cursor: Cursor) -> st.DropTable:
    if_exists = clauses.if_exists(cursor)
    return st.DropTable(written_table_name(cursor), if_exists, cursor.take("PURGE"))


def truncate(cursor: Cursor) -> st.TruncateTable:
    name = written_table_name(cursor)
    return st.TruncateTable(name, clauses.partition(cursor) if cursor.at("PARTITION") else None)


def comment_on(cursor: Cursor) -> st.CommentOnTable:
    name = written_table_name(cursor)
    cursor.expect("IS")
    return st.CommentOnTable(name, None if cursor.take("NULL") else cursor.string("a comment"))


def optimize(cursor: Cursor) -> st.OptimizeTable:
    return st.OptimizeTable(written_table_name(cursor))


def _like(cursor: Cursor, name: Name, *, if_not_exists: bool) -> st.CreateTable:
    like, body = table_name(cursor), _Body()
    body.clauses(cursor)
    if body.partitioned_by or body.comment is not None:
        raise cursor.error("CREATE TABLE … LIKE takes no clause but TBLPROPERTIES", name.position)
    return st.CreateTable(name, if_not_exists, properties=body.properties, like=like)


def _at_query(cursor: Cursor) -> bool:
    inside = 0
    while cursor.at("(", inside):
        inside += 1
    return any(cursor.at(word, inside) for word in ("SELECT", "WITH", "FROM", "VALUES", "TABLE"))


class _Body:
    """What the clauses of a CREATE TABLE add up to."""

    def __init__(self) -> None:
        self.defined: list[st.ColumnDef] = []
        self.primary_key: list[str] = []
        self.partitioned_by: list[str] = []
        self.properties: dict[str, str] = {}
        self.comment: str | None = None

    def columns(self, cursor: Cursor) -> None:
        cursor.expect("(")
        while True:
            self._column_or_key(cursor)
            if not cursor.take(","):
                break
        cursor.expect(")")

    def clauses(self, cursor: Cursor) -> None:
        seen: set[str] = set()
        known = ("USING", "COMMENT", "PARTITIONED BY", "TBLPROPERTIES")
        while True:
            position = cursor.position
            if refused := cursor.take_any(*_REFUSED):
                raise clauses.refuse(f"{refused} in CREATE TABLE", _REFUSED[refused])
            clause = cursor.take_any(*known)
            if clause is None:
                return
            if clause in seen:
                raise cursor.error(f"{clause} is given twice", position)
            seen.add(clause)
            if clause == "USING":
                self._format(cursor)
            elif clause == "COMMENT":
                self.comment = cursor.string("a comment")
            elif clause == "PARTITIONED BY":
                self._partitions(cursor)
            else:
                self.properties = clauses.properties(cursor)

    def _column_or_key(self, cursor: Cursor) -> None:
        position = cursor.position
        named = cursor.at("CONSTRAINT") and cursor.at("PRIMARY KEY", 2)
        if named:
            cursor.advance()
            cursor.advance()
        if cursor.take("PRIMARY KEY"):
            self._key(cursor, cursor.listed("a column name"), position)
            return
        if cursor.at_any(*_CONSTRAINTS) or (cursor.at("CONSTRAINT") and not named):
            raise clauses.refuse(
                f"{cursor.found()} in CREATE TABLE", "constraints other than PRIMARY KEY and NOT NULL are not available"
            )
        found = columns.declared(cursor)
        if len(found.column.path) != 1:
            raise cursor.error("a field cannot be declared apart from its column", position)
        if found.place is not None:
            raise cursor.error("FIRST and AFTER are for ALTER TABLE", position)
        self.defined.append(found.column)
        if found.primary_key:
            self._key(cursor, (found.column.name,), position)

    def _key(self, cursor: Cursor, key: tuple[str, ...], position: int) -> None:
        if self.primary_key:
            raise cursor.error("the table has two primary keys; write one, PRIMARY KEY (a, b)", position)
        self.primary_key.extend(key)

    def _format(self, cursor: Cursor) -> None:
        position = cursor.position
        found = cursor.identifier("a format")
        if found.upper() not in _FORMATS:
            raise cursor.error(f"USING {found} is refused: every table is USING anabranch", position)

    def _partitions(self, cursor: Cursor) -> None:
        cursor.expect("(")
        while True:
            if cursor.at("(", 1):
                raise clauses.refuse(
                    f"PARTITIONED BY {cursor.found()}(…)", "partitions are plain columns; add a column for the value"
                )
            if cursor.at(",", 1) or cursor.at(")", 1):
                self.partitioned_by.append(cursor.identifier("a column name"))
            else:
                found = columns.declared(cursor)
                self.defined.append(found.column)
                self.partitioned_by.append(found.column.name)
            if not cursor.take(","):
                break
        cursor.expect(")")
