"""INSERT, DELETE, UPDATE, and the queries among the statements."""

from __future__ import annotations

from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import written_table_name
from anabranch.sql.tokens import Kind

_QUERY = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(")
_CHANGES = ("INSERT", "DELETE", "UPDATE", "MERGE")
_NO_ALIAS = ("SET", "WHERE", "LIMIT")
"""Without AS, these are words of a clause: where one is missing or refused, the error points there."""


def insert_into(cursor: Cursor) -> st.Insert:
    return _insert(cursor, "", overwrite=False)


def insert_overwrite(cursor: Cursor) -> st.Insert:
    return _insert(cursor, "", overwrite=True)


def query(cursor: Cursor) -> st.Statement:
    """A query, begun by the word before the cursor; WITH … INSERT is an insert of that query."""
    cursor.index -= 1
    start, leading = cursor.position, cursor.token.value
    while cursor.token.kind is not Kind.END and not cursor.at(";"):
        if leading == "WITH" and cursor.at(")", -1) and (change := cursor.take_any(*_CHANGES)):
            if change != "INSERT":
                raise cursor.error(f"{change} takes no WITH; use a subquery", start)
            prefix = cursor.text[start : cursor.tokens[cursor.index - 1].start].rstrip()
            overwrite = cursor.expect("INTO", "OVERWRITE") == "OVERWRITE"
            return _insert(cursor, prefix, overwrite=overwrite)
        if leading == "FROM" and cursor.at_any("INSERT INTO", "INSERT OVERWRITE"):
            raise clauses.refuse("FROM … INSERT", "write INSERT INTO … SELECT, once for each table")
        cursor.skip()
    return st.Query()


def delete(cursor: Cursor) -> st.Delete:
    name = written_table_name(cursor)
    alias = _alias(cursor)
    return st.Delete(name, alias, _where(cursor))


def update(cursor: Cursor) -> st.Update:
    name = written_table_name(cursor)
    alias = _alias(cursor)
    cursor.expect("SET")
    assignments = [_assignment(cursor)]
    while cursor.take(","):
        assignments.append(_assignment(cursor))
    return st.Update(name, tuple(assignments), alias, _where(cursor))


def _insert(cursor: Cursor, prefix: str, *, overwrite: bool) -> st.Insert:
    if cursor.at_any("DIRECTORY", "LOCAL DIRECTORY") and not cursor.at(".", 1):
        raise clauses.refuse("INSERT OVERWRITE DIRECTORY", "write a query's rows with its DataFrame")
    if not cursor.at(".", 1):
        cursor.take("TABLE")
    name = written_table_name(cursor)
    partition = clauses.open_partition(cursor) if cursor.at("PARTITION") else None
    if cursor.at("IF NOT EXISTS"):
        raise clauses.refuse("INSERT … IF NOT EXISTS", "look with SHOW PARTITIONS first")
    if cursor.at("REPLACE"):
        raise clauses.refuse("INSERT INTO … REPLACE WHERE", "use DELETE and INSERT, or INSERT OVERWRITE … PARTITION")
    by_name = cursor.take("BY NAME")
    columns = None if by_name or not _at_columns(cursor) else cursor.listed("a column name")
    source = (None if prefix else _values(cursor)) or _source(cursor, prefix)
    return st.Insert(name, source, columns, overwrite, partition, by_name)


def _at_columns(cursor: Cursor) -> bool:
    """Whether `(` opens a list of columns, not a query; a column may be called `values` or `from`."""
    if not cursor.at("("):
        return False
    opens_query = any(cursor.at(word, 1) for word in _QUERY)
    return not opens_query or (not cursor.at("(", 1) and (cursor.at(",", 2) or cursor.at(")", 2)))


def _values(cursor: Cursor) -> st.Values | None:
    """Rows if VALUES and nothing but rows in brackets follows; else None, and the cursor stays."""
    before = cursor.index
    if not cursor.take("VALUES"):
        return None
    rows = []
    while cursor.take("("):
        rows.append(_row(cursor))
        if not cursor.take(","):
            break
    else:
        cursor.index = before
        return None
    if cursor.token.kind is Kind.END or cursor.at(";"):
        return st.Values(tuple(rows))
    cursor.index = before
    return None


def _row(cursor: Cursor) -> tuple[str | st.Default, ...]:
    row = [_value(cursor, ",")]
    while cursor.take(","):
        row.append(_value(cursor, ","))
    cursor.expect(")")
    return tuple(row)


def _source(cursor: Cursor, prefix: str) -> str:
    if not cursor.at_any(*_QUERY):
        cursor.fail("VALUES or a query")
    nested = cursor.at("WITH")
    text = cursor.expression("a query")
    if not prefix:
        return text
    return f"{prefix} ({text})" if nested else f"{prefix} {text}"


def _assignment(cursor: Cursor) -> tuple[st.Path, str | st.Default]:
    column = cursor.path("a column name")
    cursor.expect("=", "==")
    return column, _value(cursor, ",", "WHERE")


def _value(cursor: Cursor, *stops: str) -> str | st.Default:
    text = cursor.expression("a value", *stops)
    return st.DEFAULT if text.upper() == "DEFAULT" else text


def _alias(cursor: Cursor) -> str | None:
    if cursor.take("AS") or (cursor.token.kind in (Kind.WORD, Kind.QUOTED) and not cursor.at_any(*_NO_ALIAS)):
        return cursor.identifier("an alias")
    return None


def _where(cursor: Cursor) -> str | None:
    return cursor.expression("a condition") if cursor.take("WHERE") else None
