"""Superseded rows: the positions of a keyed table's parts that a scan must not show, found from key columns alone.

An index of keys is kept in *tiers*, sorted arrays of keys and of the places where they stand. What is added is matched
against every tier: that is all it takes, since a place found twice is masked once. Then it becomes a tier, and merges
with the tiers before it that are not much larger, so there are few of them however many parts came. Parts that come
together and are of like size are settled among themselves first, in one sort. Computing from nothing is adding all
parts; a flush of a thousand keys costs milliseconds.

Tombstones are always masked: where one is the last word on its key, the key's other rows are superseded by it.

Engines that combine hide all records of a key that has several, unless the newest is *whole*: it has all that the key's
row has, whatever came before, so it stays where it stands and the others are superseded by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from pyroaring import BitMap

from anabranch.keyed.key_columns import KeyColumns, Words, concat
from anabranch.keyed.keys import Flags, equal, match, segment_starts, sort_indices
from anabranch.keyed.sequences import Sequences, ascending, joined, later
from anabranch.model.part import POSITION_BITS
from anabranch.storage.row_ids import bitmap, by_slot, row_ids, united

_SMALL = 1 << 16


class Keep(Enum):
    """Which record of a key stays visible in its part."""

    NEWEST = "newest"  # deduplicate; with sequences, the newest of those with the largest
    OLDEST = "oldest"  # first-row
    LONE = "lone"  # engines that combine: a key's only record, or the newest if it is whole


@dataclass(frozen=True, slots=True)
class PartRows:
    """The keys of one part, sorted, one row a key (`Keep.LONE`: or several); which of them are tombstones, if any.

    All parts of a table have sequences, or none has.
    """

    slot: int
    keys: KeyColumns
    tombstones: Flags | None = None
    sequences: Sequences | None = None


class Found(NamedTuple):
    """Records of one part: their positions, ascending, and for each the place of its key among those asked for."""

    positions: Words
    owners: Words


@dataclass(frozen=True, slots=True)
class Superseded:
    """What is known of some parts, oldest to newest. `dead` has the masked positions of each slot that has some.

    Under `Keep.LONE`, `contested` has the keys that have several records of which the newest is not whole, `settled`
    those where it is. Each stretch is sorted and distinct, and later stretches have the last word; both tuples are as
    long, so that they can be read together (`last_word`).
    """

    keep: Keep
    dead: Mapping[int, BitMap] = field(default_factory=dict)
    contested: tuple[KeyColumns, ...] = ()
    settled: tuple[KeyColumns, ...] = ()
    tiers: tuple[_Tier, ...] = ()

    def advanced(self, parts: Iterable[PartRows], whole: Collection[int] = ()) -> Superseded:
        """With more parts, each newer than all before it; all records of the slots in `whole` are whole. What was known
        is not changed."""
        state, masked = self, _Masked()
        for group in _groups(parts):
            state = state._added(_settled(group, self.keep, masked), masked, whole)
        return replace(state, dead=united([self.dead, *masked.bitmaps()]))

    def forgetful(self) -> Superseded:
        """The same, for whoever has looked at the keys that were found."""
        return replace(self, contested=(), settled=())

    def _added(self, new: _Tier, masked: _Masked, whole: Collection[int]) -> Superseded:
        lost = _repeated(new.keys) if self.keep is Keep.LONE else np.zeros(len(new.keys), np.bool_)
        for tier in self.tiers:
            # Of equal rows in a tier only the last can still be shown.
            ours, theirs = match(tier.keys, new.keys, last=self.keep is Keep.LONE)
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
        if self.keep is Keep.LONE:
            ends = _ends(new.keys)
            ends = ends[lost[ends]]
            wins = _in_slots(new, ends, whole)
            contested, settled = new.keys.take(ends[~wins]), new.keys.take(ends[wins])
            lost[ends[wins]] = False
            masked.add(new, np.flatnonzero(lost))
            return replace(
                self,
                contested=(*self.contested, contested),
                settled=(*self.settled, settled),
                tiers=_stacked(self.tiers, new, self.keep),
            )
        masked.add(new, np.flatnonzero(lost))
        return replace(self, tiers=_stacked(self.tiers, new.take(np.flatnonzero(~lost)), self.keep))

    def records(self, keys: KeyColumns) -> dict[int, Found]:
        """Where the records of these keys (sorted, distinct) stand; under `Keep.LONE` all, else those not superseded
        and some that are."""
        found: list[tuple[Words, Words]] = []
        for tier in self.tiers:
            owners, at = match(tier.keys, keys)
            while len(at):
                found.append((tier.ids_at(at), owners))
                inside = at + 1 < len(tier.keys)
                owners, at = owners[inside], at[inside] + 1
                same = equal(tier.keys.take(at), keys.take(owners))
                owners, at = owners[same], at[same]
        return _by_slot(found)


def superseded(parts: Iterable[PartRows], keep: Keep) -> Superseded:
    """Parts from oldest to newest."""
    return Superseded(keep).advanced(parts)


def last_word(state: Superseded) -> tuple[KeyColumns, KeyColumns] | None:
    """The contested keys and the settled ones, each sorted and distinct, no key in both; None: no stretch was found."""
    if len(state.contested) <= 1:
        return (state.contested[0], state.settled[0]) if state.contested else None
    stretches = [keys for both in zip(state.contested, state.settled, strict=True) for keys in both]
    keys = concat(stretches)
    settles = np.repeat(np.arange(len(stretches)) % 2 == 1, [len(stretch) for stretch in stretches])
    order = sort_indices(keys)
    keys = keys.take(order)
    ends = _ends(keys)
    keys, settles = keys.take(ends), settles[order][ends]
    return keys.take(~settles), keys.take(settles)


@dataclass(frozen=True, slots=True)
class _Tier:
    """Keys in order, and the row id of each: its position in the one slot, or as `ids` say."""

    keys: KeyColumns
    slot: int
    ids: Words | None
    sequences: Sequences | None

    def row_ids(self) -> Words:
        return row_ids(self.slot, 0, len(self.keys)) if self.ids is None else self.ids

    def ids_at(self, at: Words) -> Words:
        """The row ids at these places."""
        return at | np.int64(self.slot << POSITION_BITS) if self.ids is None else self.ids[at]

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


def _by_slot(found: Sequence[tuple[Words, Words]]) -> dict[int, Found]:
    """Row ids and the owner of each, as what stands in each slot."""
    if not found:
        return {}
    ids, owners = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    slots = ids >> POSITION_BITS
    codes = slots - slots.min()
    order = np.argsort(codes.astype(np.uint16) if codes.max() < 1 << 16 else codes, kind="stable")
    ids, owners, slots = ids[order], owners[order], slots[order]
    starts = np.flatnonzero(np.concatenate([[True], slots[1:] != slots[:-1]]))
    pieces = {}
    for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
        positions, their = ids[start:end] & ((1 << POSITION_BITS) - 1), owners[start:end]
        if (positions[1:] < positions[:-1]).any():  # more than one record of a key in the tier
            order = np.argsort(positions, kind="stable")
            positions, their = positions[order], their[order]
        pieces[int(slots[start])] = Found(positions, their)
    return pieces


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


def _in_slots(tier: _Tier, at: Words, slots: Collection[int]) -> Flags:
    """Which of these rows stand in one of the slots."""
    if tier.ids is None or not slots:
        return np.full(len(at), tier.slot in slots)
    return np.isin(tier.ids[at] >> POSITION_BITS, np.fromiter(slots, np.int64))


def _ends(keys: KeyColumns) -> Words:
    """The last row of each key."""
    return np.append(segment_starts(keys)[1:], len(keys)) - 1 if len(keys) else np.zeros(0, np.int64)
