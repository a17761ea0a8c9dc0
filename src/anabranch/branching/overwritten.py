"""Rows that overwrites took from a side, by origin.

A row is gone by what ended its last version, so a side's commits are followed from a state on: what an overwrite hides
it has taken, and what a DELETE had killed there before as well (the last statement gives the class), until a version of
the row is shown again. A RESTORE brings back what was taken then, and what a REVERT hides again is taken as before.

Rows are sets of origins, slot by slot: of parts that hold first versions, which most are, nothing is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from pyroaring import BitMap

from anabranch.branching.rows import Origins, Positions, Scope, Side, ids_of, versions, visible
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState, advance
from anabranch.storage.row_ids import bitmap, by_slot, meet, united, without

_NONE = BitMap()
ANYWHERE = "*"
_By = tuple[int, str | None]
"""The version of the side's commit, and the partition that it took rows from. (A merge takes the current version of a
row that theirs overwrote ANYWHERE.)"""


@dataclass(frozen=True)
class Taken:
    """`by` commit and partition: rows that its overwrites took and that have not come back, as origins. `wrote`: the
    slots that each commit's overwrites placed."""

    by: Mapping[_By, Positions] = field(default_factory=dict)
    wrote: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Positions:
        return united(self.by.values())

    def only(self, scopes: Collection[Scope]) -> Taken:
        """What these overwrites took; others were undone, whatever has become of their rows."""
        its = {by: rows for by, rows in self.by.items() if any(_took(scope, by) for scope in scopes)}
        return replace(self, by=its)

    def of(self, scopes: Iterable[Scope]) -> Positions:
        """What these overwrites took."""
        return united(rows for scope in scopes for by, rows in self.by.items() if _took(scope, by))


def _took(scope: Scope, by: _By) -> bool:
    at, partition = by
    return at == scope.at and (partition == ANYWHERE or scope.holds(partition))


def taken_by_overwrites(
    start: TableState, deltas: Iterable[TableDelta], origins: Origins, restores: Mapping[int, int]
) -> Taken:
    """`deltas`: what a side's commits did since `start`, oldest first. `restores`: the version that a RESTORE made ->
    the one that it went back to."""
    followed = _Followed(start, origins)
    for version, done in groupby(deltas, lambda delta: delta.version or 0):
        followed.commit(version, list(done))
        if version in restores:
            followed.go_back(restores[version])
        followed.known[version] = followed.taken, followed.deleted
    return Taken(followed.taken, followed.wrote)


class _Followed:
    """A side's rows, commit by commit."""

    def __init__(self, start: TableState, origins: Origins) -> None:
        self.state, self.origins = start, origins
        self.taken: dict[_By, Positions] = {}
        self.ever: dict[_By, Positions] = {}
        self.wrote: dict[int, frozenset[int]] = {}
        self.deleted: dict[int, BitMap] = {}
        self.known: dict[int, tuple[dict[_By, Positions], dict[int, BitMap]]] = {start.position.version: ({}, {})}

    def go_back(self, version: int) -> None:
        """To what was known at a version, if that is not older than the start."""
        last = max((known for known in self.known if known <= version), default=None)
        if last is not None:
            taken, deleted = self.known[last]
            self.taken, self.deleted = dict(taken), dict(deleted)

    def commit(self, version: int, done: list[TableDelta]) -> None:
        after = advance(self.state, self.state.position, done)
        parts = {**self.state.parts, **after.parts}
        by_overwrite, going_back = (_Ended.by(cause, done) for cause in ("overwrite", "restore"))
        touched = {slot for delta in done for slot in (*delta.removed, *delta.killed, *delta.revived)}
        touched |= {part.slot for delta in done for part in delta.placed}
        shown: list[Positions] = []
        took_by: dict[_By, list[Positions]] = {}
        again: list[Positions] = []
        for slot in sorted(touched & parts.keys()):
            part, before, now = parts[slot], visible(self.state, slot), visible(after, slot)
            ended = before - now
            took = by_overwrite.among(slot, ended)
            if slot in by_overwrite.slots:
                took = took | (self.deleted.get(slot, _NONE) - now)
            where = part.partition if slot in by_overwrite.slots else ANYWHERE
            took_by.setdefault((version, where), []).append(self._origins(part, took))
            again.append(self._origins(part, going_back.among(slot, ended)))
            shown.append(self._origins(part, now - before))
        self._take({by: united(rows) for by, rows in took_by.items()})
        self._take_again(united(again))
        back = united(shown)
        self.taken = {by: left for by, rows in self.taken.items() if (left := without(rows, back))}
        self._note(version, done)
        self.state = after

    def _origins(self, part: Part, rows: BitMap) -> Positions:
        if not rows or not part.has_origin:
            return {part.slot: rows} if rows else {}
        return by_slot(self.origins(part)[np.asarray(rows.to_array())])

    def _take(self, taken: Mapping[_By, Positions]) -> None:
        """By one commit; of the same row the last one counts."""
        rows = united(taken.values())
        if rows:
            self.taken = {by: left for by, others in self.taken.items() if (left := without(others, rows))}
            self.ever = {by: left for by, others in self.ever.items() if (left := without(others, rows))}
            self.taken |= taken
            self.ever |= taken

    def _take_again(self, rows: Positions) -> None:
        again = {by: meet(rows, before) for by, before in self.ever.items()} if rows else {}
        self.taken = {
            by: united([self.taken.get(by, {}), again.get(by, {})]) for by in self.taken.keys() | again.keys()
        }

    def _note(self, version: int, done: list[TableDelta]) -> None:
        """What later commits need to know of this one."""
        for delta in done:
            if delta.cause == "overwrite" and delta.placed:
                known = self.wrote.get(version, frozenset())
                self.wrote[version] = known | {part.slot for part in delta.placed}
            changed = united([delta.killed, delta.revived])
            self.deleted = without(self.deleted, changed)
            if delta.cause == "delete":
                self.deleted = united([self.deleted, delta.killed])


@dataclass(frozen=True)
class _Ended:
    """What a commit ended for one cause: whole slots, and single rows."""

    slots: frozenset[int]
    rows: Positions

    @classmethod
    def by(cls, cause: str, done: list[TableDelta]) -> _Ended:
        of_it = [delta for delta in done if delta.cause == cause]
        return cls(frozenset(slot for delta in of_it for slot in delta.removed), united(d.killed for d in of_it))

    def among(self, slot: int, ended: BitMap) -> BitMap:
        return ended if slot in self.slots else ended & self.rows.get(slot, _NONE)


def with_origin(part: Part, rows: BitMap, wanted: Positions, origins: Origins) -> BitMap:
    """Those of a part's rows that have one of these origins."""
    if not rows or not wanted:
        return _NONE
    if not part.has_origin:
        return rows & wanted.get(part.slot, _NONE)
    places = np.asarray(rows.to_array())
    its = origins(part)[places]
    return bitmap(places[np.isin(its, ids_of(meet(by_slot(its), wanted)))])


def stands(scope: Scope, taken: Taken, side: Side, origins: Origins) -> bool:
    """Whether an overwrite of a side changed something that stays changed: a row of the base is gone by it, or one that
    it wrote is there, as it was or updated since."""
    took = taken.of([scope])
    if any(with_origin(side.base.parts[slot], rows, took, origins) for slot, rows in side.lost.items()):
        return True
    new = taken.wrote.get(scope.at, frozenset()) - side.base.parts.keys()
    wrote = {slot for slot in new if slot not in side.head.parts or scope.covers(side.head.parts[slot])}
    if any(visible(side.head, slot) for slot in wrote & side.head.parts.keys()):
        return True
    return bool(wrote) and bool(np.isin(versions(side, origins).origin >> POSITION_BITS, sorted(wrote)).any())
