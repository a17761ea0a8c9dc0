"""What a user asks of a merge, checked before anything is planned: what to compare, who wins, which commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from anabranch.branching.objects import Side as Choice
from anabranch.branching.row_merge import Detect
from anabranch.commands.merge_plan import Wishes
from anabranch.commands.resolutions import Given
from anabranch.commands.session import Session
from anabranch.errors import InvalidOption, NotFound, Refused
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
    if detect is not None and detect.lower() not in DETECTS:
        raise InvalidOption("detect", detect, "'file', 'row' or 'cell'")
    if rows and detect is not None and detect.lower() == "file":
        raise InvalidOption("detect", detect, "'row' or 'cell' where resolutions settle rows")
    chosen = None if resolve is None else side_of("resolve", resolve)
    return Wishes(cast("Detect | None", detect and detect.lower()), chosen, tables or {}, rows or {})


def side_of(option: str, side: str) -> Choice:
    if side.lower() not in SIDES:
        raise InvalidOption(option, side, "'ours' or 'theirs'")
    return cast(Choice, side.lower())


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
    if isinstance(asked, int) or "@" in asked:
        return session.catalog.commit_at(session.resolve(asked))
    named = {fold(branch.name) for branch in session.catalog.branches()}
    if fold(asked) in named:
        head = session.resolve(asked)
        raise NotFound("commit", asked, hint=f"It is a branch: '{asked}@{head.version}' is its last commit.")
    return session.catalog.commit_by_id(asked)
