"""What both sides placed since the base, by a cherry-pick say: alike, so it counts as if it had been there before.

The sides' common state then shows the last version of a row that both had, and neither side is told to have made it.
Under detect = file a row still belongs to the file in which its version of the true base stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyroaring import BitMap

from anabranch.branching.rows import Origins, Positions, Versions, ids_of, lost_since, origins_of, visible
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState
from anabranch.storage.row_ids import by_slot, united

_NONE = np.empty(0, np.int64)
_STILL = np.iinfo(np.int64).max
"""The end of what is still shown: after all versions."""


@dataclass(frozen=True)
class Shared:
    """`slots`: those that no base has. `rows`, ascending: their rows of which the base shows an older version, which is
    in `older`, place by place."""

    slots: frozenset[int]
    rows: np.ndarray
    older: np.ndarray

    def in_base(self, gone: Mapping[str, Positions]) -> Mapping[str, Positions]:
        """Changed rows as rows of the true base, by class; those that it has no version of are left out."""
        if not self.slots:
            return gone
        found = {}
        for cause, slots in gone.items():
            young = ids_of({slot: rows for slot, rows in slots.items() if slot in self.slots})
            old = {slot: rows for slot, rows in slots.items() if slot not in self.slots}
            found[cause] = united([old, by_slot(self.older[np.isin(self.rows, young)])])
        return found

    def without_young(self, rows: Mapping[str, Positions]) -> dict[str, dict[int, BitMap]]:
        """Changed rows, without those that the base has no version of."""
        found = {}
        for cause, slots in rows.items():
            ids = ids_of(slots)
            found[cause] = by_slot(ids[~self.young(ids)]) if self.slots else dict(slots)
        return found

    def young(self, ids: np.ndarray) -> np.ndarray:
        """Which of these rows the base has no version of."""
        unknown: np.ndarray = np.isin(ids >> POSITION_BITS, sorted(self.slots)) & ~np.isin(ids, self.rows)
        return unknown


NOTHING_SHARED = Shared(frozenset(), _NONE, _NONE)


def discarded(deltas: Iterable[TableDelta], head: TableState, origins: Origins) -> np.ndarray:
    """Rows and versions that a merge placed and killed at once (by A4, or because they were deleted by then), where the
    side showed no other version then or later: they were never had. (Those that were updated again, or left behind for
    its own one, were.)"""
    at: dict[int, dict[int, Part]] = {}
    killed: dict[int, list[Positions]] = {}
    for delta in deltas:
        at.setdefault(delta.version or 0, {}).update({part.slot: part for part in delta.placed})
        killed.setdefault(delta.version or 0, []).append(delta.killed)
    placed: dict[int, Part] = {}
    stillborn, died = _Ended(), _Ended()
    for version, parts in sorted(at.items()):
        gone = united(killed[version])
        stillborn.add({slot: rows for slot, rows in gone.items() if slot in parts}, version)
        died.add({slot: rows for slot, rows in gone.items() if slot in placed and placed[slot].has_origin}, version)
        placed |= parts
    ids, when = stillborn.last()
    if not len(ids):
        return ids
    for slot, part in placed.items():  # of first versions only those count that are back
        rows = visible(head, slot)
        died.add({slot: rows if part.has_origin else rows & by_slot(ids).get(slot, BitMap())}, _STILL)
    others, until = died.last()
    its = origins_of(others, placed, origins)
    order = np.lexsort((until, its))
    _, ends = np.unique(its[order][::-1], return_index=True)
    last = order[len(order) - 1 - ends]  # of every origin the version that was shown for the longest
    mine = Versions.of(its[last], until[last]).find(origins_of(ids, placed, origins))
    return ids[mine <= when]


class _Ended:
    """Rows, and the version that ended them; the last one counts."""

    def __init__(self) -> None:
        self.ids, self.versions = [_NONE], [_NONE]

    def add(self, rows: Positions, version: int) -> None:
        found = ids_of(rows)
        self.ids.append(found)
        self.versions.append(np.full(len(found), version, np.int64))

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        ids, versions = np.concatenate(self.ids), np.concatenate(self.versions)
        found, ends = np.unique(ids[::-1], return_index=True)
        return found, versions[::-1][ends]


def not_shown(
    slots: Mapping[int, Part], base: TableState, heads: tuple[TableState, TableState], origins: Origins
) -> np.ndarray:
    """Rows of these slots of which not both heads show a version."""
    ids = ids_of(united({slot: head.dead[slot] for slot in slots if slot in head.dead} for head in heads))
    if not len(ids):
        return ids
    its = origins_of(ids, slots, origins)
    both = np.ones(len(ids), bool)
    for head in heads:
        new = [
            slot for slot, part in head.parts.items() if slot in slots or (part.has_origin and slot not in base.parts)
        ]
        shown = ids_of({slot: visible(head, slot) for slot in new})
        both &= np.isin(its, origins_of(shown, head.parts, origins))
    return ids[~both]


def _crossed(ids: np.ndarray, origins: np.ndarray, heads: tuple[TableState, TableState]) -> np.ndarray:
    """The origins of which each head shows another one of these versions."""
    shown = [np.isin(ids, ids_of({slot: visible(head, slot) for slot in by_slot(ids)})) for head in heads]
    here, there = (origins[one & ~other] for one, other in (shown, shown[::-1]))
    return np.intersect1d(here, there)


def with_shared(
    bases: Sequence[TableState],
    common: TableState,
    slots: Mapping[int, Part],
    heads: tuple[TableState, TableState],
    origins: Origins,
    never_had: np.ndarray = _NONE,
) -> tuple[TableState, Shared]:
    """What the bases have in common, with these slots, which both heads placed since, in the order in which one of them
    did. Where those that no base has hold several versions of a row, the last one is shown, and the common one only
    where a head still shows it. (What only some bases have, they disagree on.) Where each head shows another one of
    them, nobody knows which is newer, and both changed the row. `never_had`: versions that a side placed and never
    showed."""
    parts = {**common.parts, **slots}
    young = frozenset(slot for slot in slots if not any(slot in base.parts for base in bases))
    versions = [part for part in slots.values() if part.slot in young]
    if not any(part.has_origin for part in versions):
        never = {slot: rows for slot, rows in by_slot(never_had).items() if slot in young}
        return replace(common, parts=parts, dead=united([common.dead, never])), Shared(young, _NONE, _NONE)
    ids = np.concatenate([ids_of({part.slot: BitMap(range(part.rows))}) for part in versions])
    found = origins_of(ids, parts, origins)
    _, last = np.unique(found[::-1], return_index=True)
    newest = np.zeros(len(ids), bool)
    newest[len(ids) - 1 - last] = True
    ours, theirs = (lost_since(common, head) for head in heads)
    lost = ids_of(united([ours, theirs]))
    older = Versions.of(origins_of(lost, common.parts, origins), lost).find(found)
    both = ids_of({slot: ours[slot] & theirs[slot] for slot in ours.keys() & theirs.keys()})
    hidden = ~newest | np.isin(ids, never_had) | ((older >= 0) & ~np.isin(older, both))
    hidden |= np.isin(found, _crossed(ids, found, heads))
    dead = united([common.dead, by_slot(ids[hidden]), by_slot(older[(older >= 0) & ~hidden])])
    order = np.argsort(ids)
    rows, older = ids[order], older[order]
    return replace(common, parts=parts, dead=dead), Shared(young, rows[older >= 0], older[older >= 0])
