"""Branches that meet: MERGE BRANCH, SHOW CONFLICTS, CHERRY PICK, REVERT, DIFF and DESCRIBE SECTIONS."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.errors import nearest
from anabranch.model.conflict import Choice
from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import Name, table_name, written_table_name
from anabranch.sql.tokens import Kind
from anabranch.texts import is_number

_BRANCH, _REF = "a branch name", "a branch or tag name"
_COMMIT = "a commit: an id or its beginning, a version, or branch@version"
_OPTIONS = ("detect",)


def merge_branch(cursor: Cursor) -> st.MergeBranch:
    theirs = _ref(cursor)
    ours = _target(cursor)
    asked = _asked(cursor, tables=True)
    return st.MergeBranch(theirs, ours, asked.dry_run, asked.resolve, asked.tables, asked.detect)


def show_conflicts(cursor: Cursor) -> st.ShowConflicts:
    cursor.expect("IN", "FROM")
    theirs = _ref(cursor)
    ours = _target(cursor)
    return st.ShowConflicts(theirs, ours, _detect(cursor) if cursor.take("WITH") else None)


def cherry_pick(cursor: Cursor) -> st.CherryPick:
    commit = _commit(cursor)
    asked = _asked(cursor)
    return st.CherryPick(commit, asked.dry_run, asked.resolve, asked.detect)


def revert(cursor: Cursor) -> st.Revert:
    commit = _commit(cursor)
    asked = _asked(cursor)
    return st.Revert(commit, asked.dry_run, asked.resolve, asked.detect)


def diff(cursor: Cursor) -> st.Diff:
    old, new = _state(cursor), _state(cursor)
    return st.Diff(old, new, _plain_table(cursor) if cursor.take("TABLE") else None)


def describe_sections(cursor: Cursor) -> st.DescribeSections:
    name = table_name(cursor)
    return st.DescribeSections(name, _ref(cursor) if cursor.take("AGAINST") else None)


# --- clauses ----------------------------------------------------------------------------------------------------------


def _target(cursor: Cursor) -> str | None:
    """`TO main`; INTO means the same."""
    return cursor.identifier(_BRANCH) if cursor.take_any("TO", "INTO") else None


@dataclass
class _Asked:
    dry_run: bool = False
    resolve: Choice | None = None
    tables: dict[Name, Choice] = field(default_factory=dict)
    detect: str | None = None


def _asked(cursor: Cursor, *, tables: bool = False) -> _Asked:
    """DRY RUN, RESOLVE … and WITH (…), in any order; RESOLVE TABLE may come for several tables."""
    asked, given = _Asked(), set()
    while True:
        position = cursor.position
        found = cursor.take_any("DRY RUN", "RESOLVE TABLE", "RESOLVE", "WITH")
        if found is None:
            return asked
        if found in given and found != "RESOLVE TABLE":
            raise cursor.error(f"{found} is given twice", position)
        given.add(found)
        if found == "DRY RUN":
            asked.dry_run = True
        elif found == "WITH":
            asked.detect = _detect(cursor)
        elif found == "RESOLVE":
            asked.resolve = _using(cursor)
        elif not tables:
            raise cursor.error("only MERGE BRANCH resolves table by table: write RESOLVE USING …", position)
        else:
            name = _plain_table(cursor)
            if name in asked.tables:
                raise cursor.error(f"the table '{name}' is given twice", name.position)
            asked.tables[name] = _using(cursor)


def _using(cursor: Cursor) -> Choice:
    cursor.expect("USING")
    return "ours" if cursor.expect("OURS", "THEIRS") == "OURS" else "theirs"


def _detect(cursor: Cursor) -> str | None:
    position = cursor.position
    options = {key.lower(): value for key, value in clauses.properties(cursor).items()}
    for name in options.keys() - set(_OPTIONS):
        guess = nearest(name, _OPTIONS)
        hint = f"Did you mean '{guess}'?" if guess else f"Known: {', '.join(_OPTIONS)}."
        raise cursor.error(f"option '{name}' does not exist. {hint}", position)
    return options.get("detect")


def _plain_table(cursor: Cursor) -> Name:
    name = written_table_name(cursor)
    if name.ref is not None:
        raise cursor.error("the branches are named already: write database.table alone", name.position)
    return name


# --- states and commits -----------------------------------------------------------------------------------------------


def _ref(cursor: Cursor) -> str:
    """`dev`, a tag, or `dev@12`."""
    name = cursor.identifier(_REF)
    if not cursor.take("@"):
        return name
    return f"{name}@{cursor.integer('a version')}"


def _state(cursor: Cursor) -> str | int:
    """A ref, or a version of the session's branch."""
    return cursor.integer("a version") if cursor.token.kind is Kind.NUMBER else _ref(cursor)


def _commit(cursor: Cursor) -> str | int:
    """The beginning of an id may look like a number, a word or several of them: what touches belongs to it."""
    if cursor.token.kind is Kind.STRING:
        return cursor.string(_COMMIT)
    if cursor.token.kind is Kind.QUOTED or cursor.at("@", 1):
        return _ref(cursor)
    start, end = cursor.position, cursor.position
    while cursor.position == end and (cursor.token.kind in (Kind.WORD, Kind.NUMBER) or cursor.at("-")):
        end = cursor.advance().end
    written = cursor.text[start:end]
    if not written:
        cursor.fail(_COMMIT)
    is_version = is_number(written) and str(int(written)) == written  # an id may begin with 0
    return int(written) if is_version else written
