"""Theirs' deletes and updates in a merge: which of them stand, and where a commit that brings them says they are.

Under detect = row and cell a statement is held against rows that it never saw, so it must be known for as long as a row
that it changed stays changed. Rows that it killed are its own until they come back by REVERT or RESTORE; if going back
kills them again (an undo is undone) they are its own again, and if another statement does, they are that one's.

What a merge or pick brings is named by the commits that ran it, and read from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from anabranch.branching.base import reached
from anabranch.branching.restores import is_left, lasting
from anabranch.branching.row_merge import NO_ROWS, Changed
from anabranch.branching.rows import Positions, ids_of, origins_of
from anabranch.model.history import Commit, Position, Segment
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import Change, TableDelta
from anabranch.storage.row_ids import by_slot, meet, united, without

if TYPE_CHECKING:
    from anabranch.commands.table_sides import TableSides

BROUGHT = "statements"
"""In what a merge or pick did to rows: where the deletes and updates are that it brought, as segments."""


_NO_PARTS: Mapping[int, Part] = MappingProxyType({})


@dataclass(frozen=True)
class Statement:
    """One that stands. `at`: the commit that ran it. `rows`: the base rows that it changed, and that stay changed."""

    at: Position
    change: Change
    rows: np.ndarray
    time: int = 0


@dataclass
class _Ran:
    """A statement as theirs had it, the rows that are its own, and the slots that it wrote."""

    at: Position
    change: Change
    own: dict[int, BitMap]
    time: int
    wrote: list[int]


_When = tuple[Position, int]
"""A commit, and its time in microseconds."""


_Said = tuple[_When, Change, Positions, list[int]]
"""A statement, the rows that it killed, and the slots that it wrote."""


def _written(deltas: Iterable[TableDelta]) -> list[int]:
    return [part.slot for delta in deltas for part in delta.placed]


def _when(commit: Commit) -> _When:
    return Position(commit.branch_id, commit.version), commit.time_us


class Statements:
    """Theirs' deletes and updates of one table since the bases."""

    def __init__(self, sides: TableSides) -> None:
        self.sides, self.catalog, self.id, self.at = sides, sides.catalog, sides.id, sides.at
        self.changes, self.deltas = sides.changes(sides.at.theirs), sides.deltas(sides.at.theirs)

    def standing(self, changed: Changed) -> list[Statement]:
        """`changed`: the base rows that theirs deleted or updated. A DELETE of a row that is there was overruled."""
        sides = self.sides
        deleted, updated = (ids_of(changed.get(cause, {})) for cause in ("delete", "update"))
        undone = np.isin(deleted >> POSITION_BITS, list(sides.other.undone))  # taken back, whatever it had become
        reach = {"delete": deleted, "update": np.concatenate([deleted[~undone], updated])}
        origins = {kind: origins_of(ids, sides.base_state.parts, sides.origins) for kind, ids in reach.items()}
        before = sides.dead_alike
        now = sides.versions_of_theirs(origins["update"]) >> POSITION_BITS if before else NO_ROWS
        found: dict[tuple[Position, str], Statement] = {}
        for ran in self._own():
            kind = ran.change.operation
            ids = self._origins(ids_of(without(ran.own, before)), ran.at)
            mine = np.isin(origins[kind], ids)
            if before and kind == "update":  # of a row that both sides changed, and that stands as this one wrote it
                mine |= np.isin(now, ran.wrote)
            rows = reach[kind][mine]
            if len(rows):
                known = found.get((ran.at, kind))
                found[ran.at, kind] = Statement(
                    ran.at, ran.change, rows if known is None else np.union1d(known.rows, rows), ran.time
                )
        return sorted(found.values(), key=lambda statement: statement.time)  # as they were run, wherever they ran

    def brought(self, changed: Changed, *, all_taken: bool) -> list[Segment]:
        """Where they are, for the commit that brings them. All stand that theirs had, where it never went back and
        every change of its is taken."""
        if self._went_back or not all_taken:
            return _joined(statement.at for statement in self.standing(changed))
        found: list[Segment] = []
        for commit, change in self.changes:
            if change.operation in ("delete", "update") and not self._is_old(commit):
                found += self._segments(commit, change)
        return _joined(Position(s.branch_id, version) for s in found for version in range(s.after + 1, s.upto + 1))

    # --- what theirs had ----------------------------------------------------------------------------------------------

    def _own(self) -> list[_Ran]:
        """Every statement that theirs had, in the order in which it came to theirs, with the rows that are its own."""
        found: list[_Ran] = []
        back: dict[int, BitMap] = {}  # rows that came back
        for statements, deltas in self._events():
            went_back = united(delta.killed for delta in deltas if delta.cause == "restore")
            back = without(back, went_back)
            for (at, time), change, killed, wrote in statements:
                for ran in found if meet(killed, back) else ():
                    ran.own = without(ran.own, meet(killed, back))
                back = without(back, killed)
                found.append(_Ran(at, change, dict(killed), time, wrote))
            back = united([back, *(delta.revived for delta in deltas)])
        for ran in found:
            ran.own = without(ran.own, back)
        return found

    def _events(self) -> Iterator[tuple[list[_Said], list[TableDelta]]]:
        """Commit by commit: the statements that theirs ran or got there, and what the commit did to rows."""
        changes, deltas = self.changes, self.deltas
        redone = any(delta.cause == "restore" and delta.killed for delta in deltas)
        if redone:  # rows of statements that are older than the bases may have been killed again
            changes = self.catalog.changes(self.at.theirs, -1, self.id)
            deltas = self.catalog.deltas(self.at.theirs, self.id, -1)
        restores = lasting(changes)
        by_version = {at: done for at, done in _by_version(deltas).items() if is_left(at, self.at.theirs, restores)}
        told: dict[int, list[tuple[Commit, Change]]] = {version: [] for version in by_version}
        for commit, change in changes:
            if not is_left(commit.version, self.at.theirs, restores):
                continue
            if change.operation in ("delete", "update") and (redone or not self._is_old(commit)):
                told.setdefault(commit.version, []).append((commit, change))
        for version in sorted(told):
            here = by_version.get(version, [])
            found = [one for commit, change in told[version] for one in self._ran(commit, change, here, whole=redone)]
            yield found, here

    def _ran(self, commit: Commit, change: Change, deltas: Sequence[TableDelta], *, whole: bool) -> Iterator[_Said]:
        if BROUGHT not in change.detail:
            yield _when(commit), change, united(delta.killed for delta in deltas), _written(deltas)
            return
        segments = [Segment(*each) for each in change.detail[BROUGHT]] if whole else self._segments(commit, change)
        ended = self._ended(commit, deltas) if segments else None
        for segment in segments:
            at = Position(segment.branch_id, segment.upto)
            by_version = _by_version(self.catalog.deltas(at, self.id, segment.after))
            for first, ran in self.catalog.changes(at, segment.after, self.id):
                if ran.operation in ("delete", "update"):
                    done = by_version.get(first.version, [])
                    killed: Positions = united(delta.killed for delta in done)
                    if ended is not None and killed:
                        ids = ids_of(killed)
                        killed = by_slot(ids[np.isin(self._origins(ids, _when(first)[0]), ended)])
                    yield _when(first), ran, killed, _written(done)

    def _ended(self, commit: Commit, deltas: Sequence[TableDelta]) -> np.ndarray | None:
        """The origins of rows of which a merge or pick ended a version that its branch showed, or brought one that it
        shows, or which came with it: what it brings changed no others there. None: the whole table came with it."""
        whole = (change for done, change in self.changes if done.version == commit.version)
        if any(change.operation in ("create", "restore") for change in whole):
            return None
        at = Position(commit.branch_id, commit.version)
        placed = [part.slot for delta in deltas for part in delta.placed]
        removed = self._parts([slot for delta in deltas for slot in delta.removed], at)
        gone = {slot: BitMap(range(part.rows)) for slot, part in removed.items()}
        killed = united(delta.killed for delta in deltas)
        ids = ids_of(united([gone, killed]))
        came = {part.slot: part for delta in deltas for part in delta.placed}
        origins = self._origins(ids, at, came)
        theirs = np.isin(ids >> POSITION_BITS, placed) & ~np.isin(origins >> POSITION_BITS, placed)
        versions = {slot: BitMap(range(part.rows)) for slot, part in came.items() if part.has_origin}
        shown = self._origins(ids_of(without(versions, killed)), at, came)
        return np.concatenate([origins[~theirs], shown])

    def _segments(self, commit: Commit, change: Change) -> list[Segment]:
        """A commit that ran a statement, or those that it names, without what all bases have."""
        if BROUGHT not in change.detail:
            return [Segment(commit.branch_id, commit.version - 1, commit.version)]
        named = [Segment(*each) for each in change.detail[BROUGHT]]
        known = [s._replace(after=max(s.after, self._reach.get(s.branch_id, -1))) for s in named]
        return [segment for segment in known if segment.after < segment.upto]

    @property
    def _went_back(self) -> bool:
        return any(delta.cause == "restore" or delta.revived for delta in self.deltas)

    def _is_old(self, commit: Commit) -> bool:
        """Whether all bases have it."""
        if len(self.at.bases) == 1 and self.sides.reads.history.reached(self.at.theirs):
            return False  # only what came after the base was read
        return commit.version <= self._reach.get(commit.branch_id, -1)

    @cached_property
    def _reach(self) -> Mapping[int, int]:
        """Branch -> its highest version that all bases have."""
        merges = self.catalog.merges()
        each = [reached(base, self.catalog.origin, merges) for base in self.at.bases]
        return {id: min(reach.get(id, -1) for reach in each) for id in each[0]}

    def _origins(self, ids: np.ndarray, at: Position, came: Mapping[int, Part] = _NO_PARTS) -> np.ndarray:
        """Of versions that theirs may never have had: a pick can bring a statement without what it ran on."""
        return origins_of(ids, self._parts(np.unique(ids >> POSITION_BITS).tolist(), at, came), self.sides.origins)

    def _parts(self, slots: Iterable[int], at: Position, came: Mapping[int, Part] = _NO_PARTS) -> dict[int, Part]:
        """These slots, as they were before a commit, or `came` with it."""
        parts = {part.slot: part for delta in self.deltas for part in delta.placed}
        parts |= {**came, **self.sides.base_state.parts}
        slots = list(slots)
        if not parts.keys() >= set(slots):
            parts |= self.catalog.state(Position(at.branch_id, at.version - 1), self.id).parts
        if missing := [slot for slot in slots if slot not in parts]:  # what a merge brings may have gone there before
            parts |= self.catalog.parts(self.id, missing)
        return {slot: parts[slot] for slot in slots}


# --- sets of rows -----------------------------------------------------------------------------------------------------


def _joined(at: Iterable[Position]) -> list[Segment]:
    """Commits as segments, each once, in their order."""
    found: list[Segment] = []
    for branch_id, version in dict.fromkeys(at):
        if found and found[-1][::2] == (branch_id, version - 1):
            found[-1] = found[-1]._replace(upto=version)
        else:
            found.append(Segment(branch_id, version - 1, version))
    return found


def _by_version(deltas: Iterable[TableDelta]) -> dict[int, list[TableDelta]]:
    found: dict[int, list[TableDelta]] = {}
    for delta in deltas:
        assert delta.version is not None
        found.setdefault(delta.version, []).append(delta)
    return found
