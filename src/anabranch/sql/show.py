"""SHOW and DESCRIBE: statements that read the catalog."""

from __future__ import annotations

from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.merging import describe_sections
from anabranch.sql.refs import Name, database_name, ref, table_name
from anabranch.sql.tokens import Kind


def databases(cursor: Cursor) -> st.ShowDatabases:
    return st.ShowDatabases(clauses.like(cursor))


def tables(cursor: Cursor) -> st.ShowTables:
    database = database_name(cursor) if cursor.take_any("IN", "FROM") else None
    return st.ShowTables(database, clauses.like(cursor))


def columns(cursor: Cursor) -> st.ShowColumns:
    """`IN d.t`, or Spark's `IN t IN d`."""
    cursor.expect("IN", "FROM")
    position = cursor.position
    if not cursor.at(".", 1) and (cursor.at("IN", 1) or cursor.at("FROM", 1)):
        table = cursor.identifier("a table name")
        cursor.expect("IN", "FROM")
        return st.ShowColumns(Name((cursor.identifier("a database name"), table), ref(cursor), position))
    return st.ShowColumns(table_name(cursor))


def partitions(cursor: Cursor) -> st.ShowPartitions:
    name = table_name(cursor)
    return st.ShowPartitions(name, clauses.partition(cursor) if cursor.at("PARTITION") else None)


def create_table(cursor: Cursor) -> st.ShowCreateTable:
    return st.ShowCreateTable(table_name(cursor))


def tblproperties(cursor: Cursor) -> st.ShowTblProperties:
    name = table_name(cursor)
    if not cursor.take("("):
        return st.ShowTblProperties(name)
    key = clauses.property_key(cursor)
    cursor.expect(")")
    return st.ShowTblProperties(name, key)


def describe(cursor: Cursor) -> st.Statement:
    """DESCRIBE DATABASE | HISTORY | SECTIONS | [TABLE]; a database may bear one of these words as its name."""
    named = cursor.at(".", 1)
    if not named and cursor.take_any("DATABASE", "SCHEMA", "NAMESPACE"):
        extended = cursor.take("EXTENDED")
        return st.DescribeDatabase(database_name(cursor), extended)
    if not named and cursor.take("HISTORY"):
        return st.DescribeHistory(table_name(cursor))
    if not named and cursor.take("SECTIONS"):
        return describe_sections(cursor)
    if not named and cursor.at_any("QUERY", "FUNCTION"):
        cursor.fail("a table name, DATABASE or HISTORY")
    if not named:
        cursor.take("TABLE")
    extended = not cursor.at(".", 1) and cursor.take_any("EXTENDED", "FORMATTED") is not None
    name = table_name(cursor)
    if cursor.token.kind in (Kind.WORD, Kind.QUOTED):
        raise cursor.error("DESCRIBE shows whole tables: name no column")
    return st.DescribeTable(name, extended)
