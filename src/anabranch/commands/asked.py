"""What a user asks of a merge, checked before anything is planned: what to compare, who wins, which commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from anabranch import given
from anabranch.branching.row_merge import Detect
from anabranch.commands.merge_plan import Wishes
from anabranch.commands.resolutions import Given
from anabranch.commands.session import Session
from anabranch.errors import InvalidOption, NotFound, Refused
from anabranch.model.conflict import Choice
from anabranch.model.history import Commit, Position
from anabranch.model.names import fold, qualified

SIDES = ("ours", "theirs")
DETECTS = ("file", "row", "cell")
Wanted = TypeVar("Wanted")


def wishes(
    detect: str | None,
    resolve: str | None,
    tables: Mapping[str, Choice] | None = None,
    rows: Mapping[str, Given] | None = None,
) -> Wishes:
    """`tables` and `rows` by table id, as `tables_of` finds them."""
    compared = None if detect is None else str(detect).lower()
    if compared not in (None, *DETECTS):
        raise InvalidOption("detect", detect, "'file', 'row' or 'cell'")
    if rows and compared == "file":
        raise InvalidOption("detect", detect, "'row' or 'cell' where resolutions settle rows")
    chosen = None if resolve is None else side_of("resolve", resolve)
    return Wishes(cast("Detect | None", compared), chosen, tables or {}, rows or {})


def side_of(option: str, side: str) -> Choice:
    chosen = str(side).lower()
    if chosen not in SIDES:
        raise InvalidOption(option, side, "'ours' or 'theirs'")
    return cast(Choice, chosen)


def by_table(option: str, asked: Mapping[str, Wanted] | None, values: str) -> Mapping[str, Wanted]:
    """What was asked of tables, if it is a mapping from their names to `values`."""
    if asked is None:
        return {}
    return given.mapping(option, asked, f"names of tables to {values}", "{'d.t': …}")


def tables_of(session: Session, theirs: str, asked: Mapping[tuple[str, ...], Wanted]) -> dict[str, Wanted]:
    """What is asked of tables by name, by their ids: a table may have another name on each side."""
    if not asked:
        return {}
    sides = (session.head(), session.resolve(theirs))
    found: dict[str, Wanted] = {}
    for names, wanted in asked.items():
        known = [open_.id for side in sides if (open_ := session.find_table(names, side)) is not None]
        if not known:
            raise NotFound("table", qualified(*names), [name for side in sides for name in _table_names(session, side)])
        # Two tables that have the name, one a side: what is asked is asked of ours.
        if known[0] in found:
            raise Refused(f"the table '{qualified(*names)}' is resolved twice, under two names.")
        found[known[0]] = wanted
    return found


def _table_names(session: Session, at: Position) -> list[str]:
    databases = {record.id: record.name for record in session.catalog.databases(at)}
    records = session.catalog.tables(at)
    return [qualified(databases[r.database_id], r.name) for r in records if r.database_id in databases]


def commit_of(session: Session, asked: str | int) -> Commit:
    """A commit by a version of the session's branch, by `branch@version`, or by the beginning of its id."""
    if isinstance(asked, bool) or not isinstance(asked, (int, str)) or (isinstance(asked, str) and not asked.strip()):
        raise Refused(f"{asked!r} names no commit: write a version, 'branch@version', or an id or its beginning.")
    if isinstance(asked, int):
        return session.catalog.commit_at(_version(session, asked))
    if "@" in asked:
        return session.catalog.commit_at(session.resolve(asked))
    if fold(asked) in {fold(branch.name) for branch in session.catalog.branches()}:
        head = session.resolve(asked)
        raise NotFound("commit", asked, hint=f"It is a branch: '{asked}@{head.version}' is its last commit.")
    if fold(asked) in {fold(tag.name) for tag in session.catalog.tags()}:
        raise NotFound("commit", asked, hint=f"It is a tag of '{_written(session, session.resolve(asked))}'.")
    return session.catalog.commit_by_id(asked)


def _version(session: Session, asked: int) -> Position:
    """A version of the session's branch. An id may begin with digits alone, too: that is told and never taken, since
    any small number that is no version may well begin one."""
    try:
        return session.resolve(asked)
    except NotFound as error:
        try:
            meant = session.catalog.commit_by_id(str(asked))
        except NotFound:
            raise error from None
        raise NotFound("version", asked, hint=f"For the commit of that id write '{meant.id}'.") from None


def _written(session: Session, at: Position) -> str:
    """A position as a commit is written: by its branch, or by its id where that was dropped."""
    branch = session.catalog.branch_by_id(at.branch_id)
    return session.catalog.commit_at(at).id if branch.dropped else f"{branch.name}@{at.version}"
