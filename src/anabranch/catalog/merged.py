"""The merges of branches, remembered: what a version merged never changes, so only later versions are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from sqlalchemy import Executable, bindparam, select

from anabranch.catalog.engine import Run
from anabranch.catalog.made import Made, made_along
from anabranch.catalog.tables import commit_log
from anabranch.model.history import Branch, Position, Segment

FEW = 4
"""Branches whose new merges are read one by one."""

_EVERY = (
    select(commit_log.c.branch_id, commit_log.c.version, commit_log.c.merged_branch_id, commit_log.c.merged_version)
    .where(commit_log.c.merged_branch_id.is_not(None))
    .order_by(commit_log.c.version)
)
_NEWER = _EVERY.where(commit_log.c.branch_id == bindparam("branch"), commit_log.c.version > bindparam("after"))

Merge = tuple[int, Position]
"""The version that a merge made, and what it merged."""


class Merged(NamedTuple):
    """A branch's own merges up to a version, oldest first; later ones may be among them."""

    upto: int
    merges: tuple[Merge, ...]


class Merges:
    """The merges of the branches that positions reach, which must exist when this is made: what an ancestor merged is
    then there to be read.

    A branch's new merges are read by themselves. A process that knows of none, or that has read those of a few
    branches, reads those of all at once.
    """

    def __init__(
        self,
        run: Run,
        origin: Callable[[int], Branch],
        known: MutableMapping[int, Merged],
        made: Mapping[tuple[int, int], Made],
    ) -> None:
        self._run, self._origin, self._known, self._made = run, origin, known, made
        self._reads = FEW if known else 0
        self._every: dict[int, list[Merge]] | None = None

    def __call__(self, branch_id: int, upto: int) -> Sequence[Merge]:
        """Those of a branch itself up to a version, oldest first; later ones may be among them."""
        known = self._known.get(branch_id)
        if known is None:
            known = Merged(self._origin(branch_id).fork, ())
        if known.upto < upto:
            newer = self._newer(branch_id, known.upto, upto)
            known = self._known[branch_id] = Merged(upto, (*known.merges, *newer))
        return known.merges

    def _newer(self, branch_id: int, after: int, upto: int) -> list[Merge]:
        made = made_along((Segment(branch_id, after, upto),), self._made)
        if made is not None:
            return [(one.commit.version, one.commit.merged) for one in made if one.commit.merged is not None]
        if self._every is None and self._reads > 0:
            self._reads -= 1
            found = self._read(_NEWER, {"branch": branch_id, "after": after})
        else:
            if self._every is None:
                self._every = self._read(_EVERY, {})
            found = self._every
        return [merge for merge in found.get(branch_id, ()) if after < merge[0] <= upto]

    def _read(self, statement: Executable, values: Mapping[str, int]) -> dict[int, list[Merge]]:
        found: dict[int, list[Merge]] = {}
        for branch_id, version, merged_branch_id, merged_version in self._run(statement, values):
            found.setdefault(branch_id, []).append((version, Position(merged_branch_id, merged_version)))
        return found
