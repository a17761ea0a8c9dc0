"""What a user asks of a merge, checked before anything is planned: what to compare, who wins, which commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from anabranch.branching.objects import Side as Choice
from anabranch.branching.row_merge import Detect
from anabranch.commands.merge_plan import Wishes
from anabranch.commands.session import Session
from anabranch.errors import InvalidOption, NotFound
from anabranch.model.history import Commit, Position
from anabranch.model.names import fold, qualified

SIDES = ("ours", "theirs")
DETECTS = ("file", "row", "cell")


def wishes(detect: str | None, resolve: str | None, tables: Mapping[str, str] | None = None) -> Wishes:
    """`tables`: qualified name -> the side that its conflicts go to."""
    sides = {"resolve": resolve, **{f"resolve of {name}": side for name, side in (tables or {}).items()}}
    for name, side in sides.items():
        if side is not None and side.lower() not in SIDES:
            raise InvalidOption(name, side, "'ours' or 'theirs'")
    if detect is not None and detect.lower() not in DETECTS:
        raise InvalidOption("detect", detect, "'file', 'row' or 'cell'")
    chosen = {name.lower(): cast(Choice, side.lower()) for name, side in (tables or {}).items()}
    return Wishes(
        cast("Detect | None", detect and detect.lower()), cast("Choice | None", resolve and resolve.lower()), chosen
    )


def check_tables(session: Session, theirs: str, names: Sequence[Sequence[str]]) -> None:
    """Tables that a resolution names are on one of the two sides."""
    if not names:
        return
    sides = (session.head(), session.resolve(theirs))
    for database, table in names:
        if not any(session.find_table((database, table), side) for side in sides):
            known = [name for side in sides for name in _table_names(session, side)]
            raise NotFound("table", qualified(database, table), known)


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
