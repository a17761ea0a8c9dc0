"""Branches side by side: where each forked, how far it is from its parent, and what it alone keeps on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from anabranch.branching.base import reached
from anabranch.commands.result import Result
from anabranch.commands.session import Session
from anabranch.model.history import Branch, Position

COLUMNS = ("branch", "current", "parent", "fork", "head", "ahead", "behind", "bytes_pinned", "created")


def branch_table(session: Session, chosen: Callable[[Iterable[str]], Iterable[str]] = list) -> Result:
    """`ahead` and `behind` count commits against the parent's head; `bytes_pinned`: parts that it alone placed."""
    every = {branch.id: branch for branch in session.catalog.branches(dropped=True)}
    branches = [branch for branch in every.values() if not branch.dropped]
    kept = set(chosen(branch.name for branch in branches))
    apart = Apart(session, branches)
    pinned = session.catalog.bytes_pinned()
    rows: list[list[Any]] = []
    for branch in sorted(branches, key=lambda branch: branch.id):
        if branch.name in kept:
            parent = None if branch.parent_id is None else every[branch.parent_id].shown
            fork = None if branch.parent_id is None else branch.fork
            current = "*" if branch.id == session.branch_id else ""
            created = datetime.fromtimestamp(branch.created_us / 1_000_000, tz=timezone.utc)
            counted = [*apart.from_parent(branch), pinned.get(branch.id, 0)]
            rows.append([branch.name, current, parent, fork, branch.head, *counted, created])
    return Result(COLUMNS, rows)


class Apart:
    """How far branches are from their parents: commits that one of them reaches and the other does not."""

    def __init__(self, session: Session, live: Iterable[Branch]) -> None:
        self._live = {branch.id: branch for branch in live}
        self._branch = session.catalog.origin
        self._merges = session.catalog.merges()

    def from_parent(self, branch: Branch) -> tuple[int | None, int | None]:
        """(ahead, behind); nothing for `main`, and for a branch whose parent was dropped."""
        parent = None if branch.parent_id is None else self._live.get(branch.parent_id)
        if parent is None:
            return None, None
        here = reached(Position(branch.id, branch.head), self._branch, self._merges)
        there = reached(Position(parent.id, parent.head), self._branch, self._merges)
        return self._beyond(here, there), self._beyond(there, here)

    def _beyond(self, one: Mapping[int, int], other: Mapping[int, int]) -> int:
        count = 0
        for id, highest in one.items():
            branch = self._branch(id)
            start = branch.fork if branch.parent_id is not None else -1
            count += max(0, highest - max(start, other.get(id, start)))
        return count
