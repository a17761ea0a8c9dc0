"""Branches, tags, the log, and RESTORE."""

from __future__ import annotations

from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import database_name, state_of, written_table_name

_BRANCH, _TAG = "a branch name", "a tag name"


def create_branch(cursor: Cursor) -> st.CreateBranch:
    if_not_exists = clauses.if_not_exists(cursor)
    name = cursor.identifier(_BRANCH)
    from_ref, version = state_of(cursor) if cursor.take("FROM") else (None, _at_version(cursor))
    return st.CreateBranch(name, from_ref, version, if_not_exists)


def drop_branch(cursor: Cursor) -> st.DropBranch:
    if_exists = clauses.if_exists(cursor)
    return st.DropBranch(cursor.identifier(_BRANCH), if_exists)


def alter_branch(cursor: Cursor) -> st.RenameBranch:
    name = cursor.identifier(_BRANCH)
    cursor.expect("RENAME TO")
    return st.RenameBranch(name, cursor.identifier(_BRANCH))


def rename_branch(cursor: Cursor) -> st.RenameBranch:
    name = cursor.identifier(_BRANCH)
    cursor.expect("TO")
    return st.RenameBranch(name, cursor.identifier(_BRANCH))


def use_branch(cursor: Cursor) -> st.UseBranch:
    return st.UseBranch(cursor.identifier(_BRANCH))


def show_branches(cursor: Cursor) -> st.ShowBranches:
    return st.ShowBranches(clauses.like(cursor))


def show_current_branch(cursor: Cursor) -> st.ShowCurrentBranch:
    return st.ShowCurrentBranch()


def create_tag(cursor: Cursor) -> st.CreateTag:
    if_not_exists = clauses.if_not_exists(cursor)
    name = cursor.identifier(_TAG)
    ref, version = state_of(cursor) if cursor.take_any("FROM", "AS OF") else (None, _at_version(cursor))
    return st.CreateTag(name, ref, version, if_not_exists)


def drop_tag(cursor: Cursor) -> st.DropTag:
    if_exists = clauses.if_exists(cursor)
    return st.DropTag(cursor.identifier(_TAG), if_exists)


def alter_tag(cursor: Cursor) -> st.RenameTag:
    name = cursor.identifier(_TAG)
    cursor.expect("RENAME TO")
    return st.RenameTag(name, cursor.identifier(_TAG))


def rename_tag(cursor: Cursor) -> st.RenameTag:
    name = cursor.identifier(_TAG)
    cursor.expect("TO")
    return st.RenameTag(name, cursor.identifier(_TAG))


def show_tags(cursor: Cursor) -> st.ShowTags:
    return st.ShowTags(clauses.like(cursor))


def show_log(cursor: Cursor) -> st.ShowLog:
    graph = cursor.take("GRAPH")
    name, version = state_of(cursor) if cursor.take_any("IN", "FROM") else (None, None)
    limit = cursor.integer("a limit") if cursor.take("LIMIT") else None
    return st.ShowLog(name, limit, graph, version)


def restore(cursor: Cursor) -> st.Statement:
    what = cursor.expect("TABLE", "DATABASE", "SCHEMA", "NAMESPACE", "BRANCH")
    if what == "TABLE":
        return st.RestoreTable(written_table_name(cursor), *_state(cursor))
    if what == "BRANCH":
        current = cursor.at_any("TO VERSION", "TO TIMESTAMP")
        return st.RestoreBranch(None if current else cursor.identifier(_BRANCH), *_state(cursor))
    return st.RestoreDatabase(database_name(cursor), *_state(cursor))


def _at_version(cursor: Cursor) -> int | None:
    return cursor.integer("a version") if cursor.take("AT VERSION") else None


def _state(cursor: Cursor) -> tuple[int | None, str | None]:
    cursor.expect("TO")
    if cursor.expect("VERSION", "TIMESTAMP") == "VERSION":
        cursor.take("AS OF")
        return cursor.integer("a version"), None
    cursor.take("AS OF")
    return None, cursor.string("a time")
