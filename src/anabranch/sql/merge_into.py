"""MERGE [WITH SCHEMA EVOLUTION] INTO target USING source ON condition WHEN … THEN …, read from the tokens.

Expressions are slices of the text. They end at a word outside all brackets and outside CASE … END, which has WHEN and
THEN of its own.
"""

from __future__ import annotations

from anabranch.model.merge import Clause, Kind
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import at_time_travel, table_name, written_table_name
from anabranch.sql.tokens import Kind as TokenKind
from anabranch.sql.views import may_be_view

_ENDS = ("USING", "ON", "WHEN")


def merge_into(cursor: Cursor) -> st.MergeInto:
    return _merge(cursor, evolves=False)


def merge_with_evolution(cursor: Cursor) -> st.MergeInto:
    return _merge(cursor, evolves=True)


def _merge(cursor: Cursor, *, evolves: bool) -> st.MergeInto:
    name = written_table_name(cursor)
    alias = _alias(cursor)
    cursor.expect("USING")
    source = _source(cursor)
    cursor.expect("ON")
    on = _expression(cursor, "a condition", "WHEN")
    clauses = []
    while cursor.take("WHEN"):
        clauses.append(_clause(cursor))
    if not clauses:
        cursor.fail("WHEN MATCHED, WHEN NOT MATCHED or WHEN NOT MATCHED BY SOURCE")
    return st.MergeInto(name, source, on, tuple(clauses), alias, evolves)


def _source(cursor: Cursor) -> st.MergeSource:
    """A table, a temporary view, a query in brackets, VALUES, a frame in braces, or a function; then its alias."""
    start = cursor.position
    table, frame, values = None, None, None
    names: tuple[str, ...] = ()
    if cursor.at("( VALUES"):
        values = _values_in_brackets(cursor)
    elif cursor.at("("):
        cursor.skip()
    elif cursor.at("{"):
        frame = cursor.text[cursor.ahead(1).start : cursor.ahead(1).end]
        cursor.skip()
    elif cursor.at("VALUES"):
        values = _values(cursor)
    elif cursor.ahead(1).value == "(" and cursor.token.kind is TokenKind.WORD:
        names = (cursor.identifier("a function"),)
        cursor.skip()
    else:
        before = cursor.index
        names = cursor.path("a table name")
        if not may_be_view(names) or cursor.at("@") or at_time_travel(cursor):
            cursor.index = before
            table = table_name(cursor)
    alias = _alias(cursor)
    labels = cursor.listed("a column name") if alias is not None and cursor.at("(") else None
    return st.MergeSource(cursor.slice(start), (alias,) if alias else names, table, frame, values, labels)


def _values_in_brackets(cursor: Cursor) -> st.Values | None:
    """None: more than rows stands there, so it is a query."""
    before = cursor.index
    cursor.expect("(")
    found = _values(cursor)
    if cursor.take(")"):
        return found
    cursor.index = before
    cursor.skip()
    return None


def _values(cursor: Cursor) -> st.Values:
    cursor.expect("VALUES")
    rows: list[tuple[str | st.Default, ...]] = []
    while True:
        bracketed = cursor.take("(")
        row = [cursor.expression("a value", ",", *_ENDS)]
        while bracketed and cursor.take(","):
            row.append(cursor.expression("a value", ","))
        if bracketed:
            cursor.expect(")")
        rows.append(tuple(row))
        if not cursor.take(","):
            return st.Values(tuple(rows))


def _clause(cursor: Cursor) -> Clause:
    start = cursor.position
    kind: Kind = "matched"
    if cursor.take("NOT MATCHED BY SOURCE"):
        kind = "not matched by source"
    elif cursor.take("NOT MATCHED BY TARGET") or cursor.take("NOT MATCHED"):
        kind = "not matched"
    else:
        cursor.expect("MATCHED", "NOT MATCHED")
    condition = _expression(cursor, "a condition", "THEN") if cursor.take("AND") else None
    cursor.expect("THEN")
    if kind == "not matched":
        if cursor.at_any("UPDATE", "DELETE"):
            raise cursor.error("WHEN NOT MATCHED can only INSERT: there is no target row to change", start)
        cursor.expect("INSERT")
        return _insert(cursor, condition)
    if cursor.at("INSERT"):
        raise cursor.error(f"WHEN {kind.upper()} can only UPDATE or DELETE; WHEN NOT MATCHED inserts", start)
    if cursor.expect("UPDATE", "DELETE") == "DELETE":
        return Clause(kind, "delete", condition)
    cursor.expect("SET")
    if cursor.take("*"):
        if kind == "not matched by source":
            raise cursor.error("UPDATE SET * has no source row here: list the columns to set", start)
        return Clause(kind, "update", condition)
    columns, values = [], []
    while True:
        columns.append(cursor.path("a column name"))
        cursor.expect("=", "==")
        values.append(_value(cursor))
        if not cursor.take(","):
            return Clause(kind, "update", condition, tuple(columns), tuple(values))


def _insert(cursor: Cursor, condition: str | None) -> Clause:
    if cursor.take("*"):
        return Clause("not matched", "insert", condition)
    columns = []
    if cursor.take("("):
        columns.append(cursor.path("a column name"))
        while cursor.take(","):
            columns.append(cursor.path("a column name"))
        cursor.expect(")")
    cursor.expect("VALUES")
    cursor.expect("(")
    values = [_value(cursor)]
    while cursor.take(","):
        values.append(_value(cursor))
    cursor.expect(")")
    if columns and len(columns) != len(values):
        raise cursor.error(f"INSERT lists {len(columns)} columns and {len(values)} values")
    return Clause("not matched", "insert", condition, tuple(columns), tuple(values))


def _value(cursor: Cursor) -> str | None:
    text = _expression(cursor, "a value", ",", "WHEN")
    return None if text.upper() == "DEFAULT" else text


def _expression(cursor: Cursor, what: str, *stops: str) -> str:
    """As `cursor.expression`, past the WHEN and THEN of a CASE."""
    start, cases = cursor.position, 0
    while cursor.token.kind is not TokenKind.END and not cursor.at(";"):
        named = cursor.at(".", -1) if cursor.index else False
        if not cases and (cursor.at_any(*stops) or cursor.at_any(")", "]", "}")) and not named:
            break
        if cursor.at("CASE") and not named:
            cases += 1
        elif cursor.at("END") and cases and not named:
            cases -= 1
        cursor.skip()
    return cursor.slice(start, what)


def _alias(cursor: Cursor) -> str | None:
    if cursor.take("AS") or (cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and not cursor.at_any(*_ENDS)):
        return cursor.identifier("an alias")
    return None
