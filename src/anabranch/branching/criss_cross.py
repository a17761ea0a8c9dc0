"""Rows that the bases of a criss-cross have in different versions, or that some of them lack.

No base alone tells what such a row was, so the two heads' versions are held against each other, paired by origin, and
against those of all bases: what these disagree on counts as changed on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyroaring import BitMap

from anabranch.branching.row_merge import Contest, Replay
from anabranch.branching.rows import Origins, Scope, ids_of, origins_of, visible
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.state import TableState
from anabranch.storage.row_ids import united


@dataclass(frozen=True)
class Dispute:
    """The rows that the heads have in different versions. `contest.base` is the version of one base; `versions` are
    those of all of them, -1 where a base has none."""

    contest: Contest
    origins: np.ndarray
    versions: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.origins)

    def where(self, chosen: np.ndarray) -> Dispute:
        versions = tuple(ids[chosen] for ids in self.versions)
        return Dispute(self.contest.where(chosen), self.origins[chosen], versions)


def disagreed(bases: Sequence[TableState]) -> dict[int, BitMap]:
    """Rows that some bases have and others have not."""
    slots = set().union(*(base.parts for base in bases))
    return {slot: rows for slot in slots if (rows := _disagreed(bases, slot))}


def disputed(bases: Sequence[TableState], ours: TableState, theirs: TableState, origins: Origins) -> Dispute:
    parts: dict[int, Part] = {}
    for state in (*bases, ours, theirs):
        parts |= state.parts
    rows = disagreed(bases)
    apart = ids_of(rows)
    known = origins_of(apart, parts, origins)
    here, there = _only(ours, theirs), _only(theirs, ours)
    ours_ids, ours_origins = _of(here, known, parts, origins)
    theirs_ids, theirs_origins = _of(there, known, parts, origins)
    keys = np.unique(np.concatenate([ours_origins, theirs_origins]))
    order = np.argsort(known, kind="stable")
    base = apart[order][np.searchsorted(known[order], keys)]
    contest = Contest(base, _placed(keys, ours_ids, ours_origins), _placed(keys, theirs_ids, theirs_origins))
    shown = [_of({slot: rows[slot] & visible(base, slot) for slot in rows}, keys, parts, origins) for base in bases]
    return Dispute(contest, keys, tuple(_placed(keys, ids, its) for ids, its in shown))


def overwritten(contest: Contest, side: np.ndarray, bases: Sequence[TableState], scopes: Sequence[Scope]) -> np.ndarray:
    """Rows that a side has not, where it overwrote: `side` is its column of the contest. What theirs did to rows that
    ours overwrote does not count, and rows that theirs overwrote die."""
    parts = {slot: part for base in bases for slot, part in base.parts.items()}
    slots = contest.base >> POSITION_BITS
    covered = [slot for slot in np.unique(slots).tolist() if any(scope.covers(parts[slot]) for scope in scopes)]
    found: np.ndarray = (side < 0) & np.isin(slots, covered)
    return found


def left_standing(ours: TableState, replay: Replay, ids: np.ndarray) -> np.ndarray:
    """Whether these rows are visible after the replay."""
    removed = {slot for slots in replay.removed.values() for slot in slots}
    slots = (ours.parts.keys() - removed) | {part.slot for parts in replay.placed.values() for part in parts}
    before = {slot: rows - replay.revived.get(slot, BitMap()) for slot, rows in ours.dead.items()}
    dead = united([*replay.killed.values(), before])
    gone = np.isin(ids, ids_of({slot: rows for slot, rows in dead.items() if slot in slots}))
    standing: np.ndarray = np.isin(ids >> POSITION_BITS, sorted(slots)) & ~gone
    return standing


def _disagreed(bases: Sequence[TableState], slot: int) -> BitMap:
    if len({id(base.dead.get(slot)) for base in bases}) == 1 and all(slot in base.parts for base in bases):
        return BitMap()
    seen = [visible(base, slot) for base in bases]
    return reduce(lambda a, b: a | b, seen) - reduce(lambda a, b: a & b, seen)


def _only(one: TableState, other: TableState) -> Mapping[int, BitMap]:
    """Rows that one head has and the other has not."""
    return {
        slot: rows
        for slot in one.parts
        if not (slot in other.parts and one.dead.get(slot) is other.dead.get(slot))
        and (rows := visible(one, slot) - visible(other, slot))
    }


def _of(
    rows: Mapping[int, BitMap], known: np.ndarray, parts: Mapping[int, Part], origins: Origins
) -> tuple[np.ndarray, np.ndarray]:
    ids = ids_of(rows)
    found = origins_of(ids, parts, origins)
    among = np.isin(found, known)
    return ids[among], found[among]


def _placed(keys: np.ndarray, ids: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """The id of each key; -1 where there is none."""
    found = np.full(len(keys), -1, np.int64)
    found[np.searchsorted(keys, origins)] = ids
    return found
