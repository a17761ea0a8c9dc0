"""Superseded rows: the positions of a keyed table's parts that a scan must not show, found from key columns alone.

An index of keys is kept in *tiers*, sorted arrays of keys and of the places where they stand. What is added is matched
against every tier: that is all it takes, since a place found twice is masked once. Then it becomes a tier, and merges
with the tiers before it that are not much larger, so there are few of them however many parts came. Parts that come
together and are of like size are settled among themselves first, in one sort. Computing from nothing is adding all
parts; a flush of a thousand keys costs milliseconds.

Tombstones are always masked: where one is the last word on its key, the key's other rows are superseded by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from pyroaring import BitMap

from anabranch.keyed.key_columns import KeyColumns, Words, concat
from anabranch.keyed.keys import Flags, equal, match, search, segment_starts, sort_indices
from anabranch.keyed.sequences import Sequences, ascending, joined, later
from anabranch.storage.row_ids import bitmap, by_slot, row_ids, united

_SMALL = 1 << 16


class Keep(Enum):
    """Which record of a key stays visible in its part."""

    NEWEST = "newest"  # deduplicate; with sequences, the newest of those with the largest
    OLDEST = "oldest"  # first-row
    LONE = "lone"  # engines that combine: only a key's only record


@dataclass(frozen=True, slots=True)
class PartRows:
    """The keys of one part, sorted, one row a key (`Keep.LONE`: or several); which of them are tombstones, if any.

    All parts of a table have sequences, or none has.
    """

    slot: int
    keys: KeyColumns
    tombstones: Flags | None = None
    sequences: Sequences | None = None


@dataclass(frozen=True, slots=True)
class Superseded:
    """What is known of some parts, oldest to newest. `dead` has the masked positions of each slot that has some.

    Under `Keep.LONE`, `contested` has the keys that have several records, each stretch sorted and distinct: what each
    `advanced` found stands last.
    """

    keep: Keep
    dead: Mapping[int, BitMap] = field(default_factory=dict)
    contested: tuple[KeyColumns, ...] = ()
    tiers: tuple[_Tier, ...] = ()

    def advanced(self, parts: Iterable[PartRows]) -> Superseded:
        """With more parts, each newer than all before it. What was known is not changed."""
        state, masked = self, _Masked()
        for group in _groups(parts):
            state = state._added(_settled(group, self.keep, masked), masked)
        return replace(state, dead=united([self.dead, *masked.bitmaps()]))

    def _added(self, new: _Tier, masked: _Masked) -> Superseded:
        lost = _repeated(new.keys) if self.keep is Keep.LONE else np.zeros(len(new.keys), np.bool_)
        for tier in self.tiers:
            ours, theirs = match(tier.keys, new.keys)
            if self.keep is not Keep.NEWEST:
                lost[ours] = True
            elif tier.sequences is not None and new.sequences is not None:
                loses = later(tier.sequences.take(theirs), new.sequences.take(ours))
                lost[ours[loses]] = True
                theirs = theirs[~loses]
            if self.keep is not Keep.OLDEST:
                masked.add(tier, theirs)
        if not lost.any():
            return replace(self, tiers=_stacked(self.tiers, new, self.keep))
        masked.add(new, np.flatnonzero(lost))
        if self.keep is Keep.LONE:
            contested = (*self.contested, _distinct(new.keys.take(lost)))
            return replace(self, contested=contested, tiers=_stacked(self.tiers, new, self.keep))
        return replace(self, tiers=_stacked(self.tiers, new.take(np.flatnonzero(~lost)), self.keep))

    def places(self, keys: KeyColumns) -> dict[int, BitMap]:
        """Where the records of these keys (sorted, distinct) stand; under `Keep.LONE` all, else those not superseded
        and some that are."""
        found = _Masked()
        for tier in self.tiers:
            left, right = search(tier.keys, keys, "left"), search(tier.keys, keys, "right")
            counts = right - left
            if counts.any():
                before = np.cumsum(counts) - counts
                found.add(tier, np.arange(counts.sum()) + np.repeat(left - before, counts))
        return united(found.bitmaps())


def superseded(parts: Iterable[PartRows], keep: Keep) -> Superseded:
    """Parts from oldest to newest."""
    return Superseded(keep).advanced(parts)


def all_contested(state: Superseded) -> KeyColumns | None:
    """Every key with several records, sorted; None: there is none."""
    if not state.contested:
        return None
    keys = concat(state.contested)
    return _distinct(keys.take(sort_indices(keys)))


@dataclass(frozen=True, slots=True)
class _Tier:
    """Keys in order, and the row id of each: its position in the one slot, or as `ids` say."""

    keys: KeyColumns
    slot: int
    ids: Words | None
    sequences: Sequences | None

    def row_ids(self) -> Words:
        return row_ids(self.slot, 0, len(self.keys)) if self.ids is None else self.ids

    def take(self, at: Words) -> _Tier:
        sequences = self.sequences.take(at) if self.sequences is not None else None
        return _Tier(self.keys.take(at), self.slot, self.row_ids()[at], sequences)


def _groups(parts: Iterable[PartRows]) -> list[list[PartRows]]:
    """Neighbours that are not much larger than what is newer, together; none is empty."""
    groups: list[list[PartRows]] = []
    rows = 0
    for part in reversed([part for part in parts if len(part.keys)]):
        if groups and len(part.keys) <= max(2 * rows, _SMALL):
            groups[-1].insert(0, part)
            rows += len(part.keys)
        else:
            groups.append([part])
            rows = len(part.keys)
    return groups[::-1]


def _settled(parts: Sequence[PartRows], keep: Keep, masked: _Masked) -> _Tier:
    """Some parts as one tier; what they supersede of each other, and their tombstones, are masked."""
    tiers = [_Tier(part.keys, part.slot, None, part.sequences) for part in parts]
    for tier, part in zip(tiers, parts, strict=True):
        if part.tombstones is not None:
            masked.add(tier, np.flatnonzero(part.tombstones))
    if len(tiers) == 1:
        return tiers[0]
    whole = _sorted(tiers)
    if keep is Keep.LONE:
        return whole
    starts = segment_starts(whole.keys)
    winners = starts if keep is Keep.OLDEST else np.append(starts[1:], len(whole.keys)) - 1
    losers = np.ones(len(whole.keys), np.bool_)
    losers[winners] = False
    masked.add(whole, np.flatnonzero(losers))
    return whole.take(winners)


class _Masked:
    """Places that were found, by slot where a tier has only one, else as row ids: they become bitmaps all at once."""

    def __init__(self) -> None:
        self.of_one: list[Mapping[int, BitMap]] = []
        self.ids: list[Words] = []

    def add(self, tier: _Tier, at: Words) -> None:
        if tier.ids is not None:
            self.ids.append(tier.ids[at])
        elif len(at):
            self.of_one.append({tier.slot: bitmap(at)})

    def bitmaps(self) -> list[Mapping[int, BitMap]]:
        return [*self.of_one, by_slot(np.concatenate(self.ids))] if self.ids else self.of_one


def _stacked(tiers: Sequence[_Tier], new: _Tier, keep: Keep) -> tuple[_Tier, ...]:
    """Each tier stays more than twice as large as the next."""
    left = list(tiers)
    while left and len(left[-1].keys) <= 2 * len(new.keys):
        new = _merged(left.pop(), new, keep)
    return (*left, new) if len(new.keys) else tuple(left)


def _merged(old: _Tier, new: _Tier, keep: Keep) -> _Tier:
    """Of a key in both the newer place counts: it was let in because it won. `Keep.LONE` keeps all."""
    both = _Tier(concat([old.keys, new.keys]), 0, np.concatenate([old.row_ids(), new.row_ids()]), None)
    if old.sequences is not None and new.sequences is not None:
        both = replace(both, sequences=joined([old.sequences, new.sequences]))
    order = sort_indices(both.keys)
    if keep is not Keep.LONE:
        starts = segment_starts(both.keys.take(order))
        order = order[np.append(starts[1:], len(order)) - 1]
    return both.take(order)


def _sorted(tiers: Sequence[_Tier]) -> _Tier:
    """All rows, by key, sequence and age."""
    keys = concat([tier.keys for tier in tiers])
    ids = np.concatenate([tier.row_ids() for tier in tiers])
    known = [tier.sequences for tier in tiers if tier.sequences is not None]
    if not known:
        return _Tier(keys, 0, ids, None).take(sort_indices(keys))
    sequences = joined(known)
    order = sort_indices(KeyColumns((), (*keys.columns, *ascending(sequences))))
    return _Tier(keys, 0, ids, sequences).take(order)


def _repeated(keys: KeyColumns) -> Flags:
    """Rows of keys that occur more than once."""
    same = equal(keys.slice(0, len(keys) - 1), keys.slice(1, len(keys)))
    found = np.zeros(len(keys), np.bool_)
    found[1:] = same
    found[:-1] |= same
    return found


def _distinct(keys: KeyColumns) -> KeyColumns:
    starts = segment_starts(keys)
    return keys if len(starts) == len(keys) else keys.take(starts)
