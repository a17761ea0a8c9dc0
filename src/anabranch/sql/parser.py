"""One statement from text: the leading words choose a function in STATEMENTS, which reads the rest.

The longest phrase that matches wins. To add a statement, add its dataclass to `statements`, its function to the module
of its subject, and a line here; and take its phrase out of LATER.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anabranch import given
from anabranch.errors import SqlError, nearest
from anabranch.sql import alter, branches, databases, lakes, merge_into, merging, rows, show, tables
from anabranch.sql.cursor import Cursor
from anabranch.sql.statements import Explain, Statement
from anabranch.sql.tokens import Kind


def parse(text: str) -> Statement:
    """The one statement in `text`; a `;` may close it."""
    cursor = Cursor(given.text("a statement", text, "SQL text"))
    statement = _statement(cursor)
    cursor.end()
    return statement


def _statement(cursor: Cursor) -> Statement:
    start = cursor.position
    if cursor.token.kind is Kind.END:
        raise cursor.error("there is no statement here")
    for phrase in LATER:
        # A database may be called `sections`: DESCRIBE sections.t.
        if cursor.at(phrase) and not cursor.at(".", len(phrase.split())):
            raise cursor.error(f"{phrase} is not available in this version")
    for phrase in _LONGEST_FIRST:
        if cursor.take(phrase):
            statement = STATEMENTS[phrase](cursor)
            return replace(statement, text=cursor.slice(start))
    raise _unknown(cursor)


def _explain(cursor: Cursor) -> Explain:
    extended = cursor.take_any("EXTENDED", "FORMATTED") is not None
    if cursor.at_any("CODEGEN", "COST", "EXPLAIN"):
        cursor.fail("a statement, or EXTENDED and a statement")
    return Explain(_statement(cursor), extended)


def _unknown(cursor: Cursor) -> SqlError:
    """Names the longest beginning of a statement that the text shares, or else the nearest known statement."""
    words: list[str] = []
    while cursor.token.kind is Kind.WORD and len(words) < 4:
        words.append(cursor.advance().value)
    cursor.index -= len(words)
    known = [phrase for phrase in (*STATEMENTS, *LATER) if phrase != "("]
    for count in range(len(words), 0, -1):
        lead = " ".join(words[:count])
        following = [phrase.removeprefix(lead + " ") for phrase in known if phrase.startswith(lead + " ")]
        if following:
            cursor.index += count
            said = f"expected {', '.join(following)} after {lead}, found {cursor.found()}"
            guess = nearest(cursor.token.value, following) if cursor.token.kind is Kind.WORD else None
            if guess:
                said += f". Did you mean {lead} {guess}?"
            elif len(following) == 1 and _is_last_name(cursor):
                said += f": write {lead} {following[0]} {cursor.found()}"
            return cursor.error(said)
    guess = nearest(" ".join(words[:2]), known) or nearest(words[0] if words else "", {p.split()[0] for p in known})
    hint = f". Did you mean {guess}?" if guess else ""
    return cursor.error(f"{cursor.found()} does not begin a statement{hint}")


def _is_last_name(cursor: Cursor) -> bool:
    """Whether a name stands here, and nothing after it."""
    is_name = cursor.token.kind in (Kind.WORD, Kind.QUOTED)
    return is_name and (cursor.ahead(1).kind is Kind.END or cursor.at(";", 1))


STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE DATABASE": databases.create,
    "CREATE SCHEMA": databases.create,
    "CREATE NAMESPACE": databases.create,
    "ALTER DATABASE": databases.alter,
    "ALTER SCHEMA": databases.alter,
    "ALTER NAMESPACE": databases.alter,
    "DROP DATABASE": databases.drop,
    "DROP SCHEMA": databases.drop,
    "DROP NAMESPACE": databases.drop,
    "CREATE TABLE": tables.create,
    "CREATE OR REPLACE TABLE": tables.create_or_replace,
    "REPLACE TABLE": tables.create_or_replace,
    "CREATE EXTERNAL TABLE": tables.create_external,
    "CREATE TEMPORARY TABLE": tables.create_temporary,
    "CREATE TEMP TABLE": tables.create_temporary,
    "ALTER TABLE": alter.table,
    "DROP TABLE": tables.drop,
    "TRUNCATE TABLE": tables.truncate,
    "COMMENT ON TABLE": tables.comment_on,
    "OPTIMIZE": tables.optimize,
    "INSERT INTO": rows.insert_into,
    "INSERT OVERWRITE": rows.insert_overwrite,
    "DELETE FROM": rows.delete,
    "UPDATE": rows.update,
    "MERGE INTO": merge_into.merge_into,
    "MERGE WITH SCHEMA EVOLUTION INTO": merge_into.merge_with_evolution,
    "SELECT": rows.query,
    "WITH": rows.query,
    "VALUES": rows.query,
    "TABLE": rows.query,
    "FROM": rows.query,
    "(": rows.query,
    "ALTER LAKE": lakes.alter,
    "SHOW LAKE OPTIONS": lakes.show_options,
    "SHOW DATABASES": show.databases,
    "SHOW SCHEMAS": show.databases,
    "SHOW NAMESPACES": show.databases,
    "SHOW TABLES": show.tables,
    "SHOW COLUMNS": show.columns,
    "SHOW PARTITIONS": show.partitions,
    "SHOW CREATE TABLE": show.create_table,
    "SHOW TBLPROPERTIES": show.tblproperties,
    "DESCRIBE": show.describe,
    "DESC": show.describe,
    "CREATE BRANCH": branches.create_branch,
    "ALTER BRANCH": branches.alter_branch,
    "RENAME BRANCH": branches.rename_branch,
    "DROP BRANCH": branches.drop_branch,
    "USE BRANCH": branches.use_branch,
    "SHOW BRANCHES": branches.show_branches,
    "SHOW CURRENT BRANCH": branches.show_current_branch,
    "CREATE TAG": branches.create_tag,
    "ALTER TAG": branches.alter_tag,
    "RENAME TAG": branches.rename_tag,
    "DROP TAG": branches.drop_tag,
    "SHOW TAGS": branches.show_tags,
    "SHOW LOG": branches.show_log,
    "RESTORE": branches.restore,
    "MERGE BRANCH": merging.merge_branch,
    "SHOW CONFLICTS": merging.show_conflicts,
    "CHERRY PICK": merging.cherry_pick,
    "REVERT": merging.revert,
    "DIFF": merging.diff,
    "EXPLAIN": _explain,
}

_LONGEST_FIRST = sorted(STATEMENTS, key=lambda phrase: -len(phrase.split()))

LATER = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "VACUUM",
    "SHOW PARTS",
    "SHOW VIEWS",
    "CREATE VIEW",
    "CREATE OR REPLACE VIEW",
    "ALTER VIEW",
    "DROP VIEW",
)
"""Statements of the design that a later version brings."""
