"""Superseded rows: the positions of a keyed table's parts that a scan must not show, found from key columns alone.

An index of keys is kept in *tiers*, keys in order with the places where they stand. What is added is matched against
every tier: that is all it takes, since a place found twice is masked once. Then it becomes a tier, and merges with the
tiers before it that are not much larger, so there are few of them however many parts came. Parts that come together
and follow each other in the order of keys are one tier from the start; those of like size are settled among themselves
first, in one sort. Computing from nothing is adding all parts: four runs of a twentieth of the table are sorted, and
searched in the large one, whose parts are left as they are. A flush of a thousand keys costs milliseconds.

Tombstones are always masked: where one is the last word on its key, the key's other rows are superseded by it.

Engines that combine hide all records of a key that has several, unless the newest is *whole*: it has all that the key's
row has, whatever came before, so it stays where it stands and the others are superseded by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pyroaring import BitMap

from anabranch.keyed.key_columns import KeyColumns, Words, concat
from anabranch.keyed.keys import Flags, equal, segment_starts, sort_indices
from anabranch.keyed.sequences import Sequences, later
from anabranch.keyed.tiers import Stretch, Tier, by_age, pieces, rows_in, runs, sorted_rows
from anabranch.model.part import POSITION_BITS
from anabranch.storage.row_ids import bitmap, by_slot, united

Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""What `map` does."""

_TOGETHER = 1 << 16
_PIECE = 1 << 18


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
    tiers: tuple[Tier, ...] = ()

    def advanced(self, parts: Iterable[PartRows], whole: Collection[int] = (), each: Each = map) -> Superseded:
        """With more parts, each newer than all before it; all records of the slots in `whole` are whole. What was known
        is not changed. `each` may look at several stretches at a time, as a pool's `map` does."""
        state, masked = self, _Masked()
        for group in _groups(_masking_tombstones(parts, masked)):
            state = state._added(_settled(group, self.keep, masked, each), masked, whole, each)
        return replace(state, dead=united([self.dead, *masked.bitmaps()]))

    def forgetful(self) -> Superseded:
        """The same, for whoever has looked at the keys that were found."""
        return replace(self, contested=(), settled=())

    def _added(self, new: Tier, masked: _Masked, whole: Collection[int], each: Each) -> Superseded:
        let_in: list[Stretch] = []
        contested, settled = list(self.contested), list(self.settled)
        for stretch, lost in zip(new, each(lambda stretch: self._lost(stretch, masked), new), strict=True):
            if lost.any():
                if self.keep is Keep.LONE:
                    ends = _ends(stretch.keys)
                    ends = ends[lost[ends]]
                    wins = _in_slots(stretch, ends, whole)
                    contested.append(stretch.keys.take(ends[~wins]))
                    settled.append(stretch.keys.take(ends[wins]))
                    lost[ends[wins]] = False
                masked.add(stretch, np.flatnonzero(lost))
            if self.keep is Keep.LONE or not lost.any():
                let_in.append(stretch)
            elif not lost.all():
                let_in.append(stretch.take(np.flatnonzero(~lost)))
        tiers = _stacked(self.tiers, tuple(let_in), self.keep)
        return replace(self, contested=tuple(contested), settled=tuple(settled), tiers=tiers)

    def _lost(self, new: Stretch, masked: _Masked) -> Flags:
        """Which rows lose to known ones; the known ones that lose are masked."""
        lost = _repeated(new.keys) if self.keep is Keep.LONE else np.zeros(len(new), np.bool_)
        for known in self._stretches():
            # Of equal rows only the last can still be shown.
            ours, theirs = known.matches(new.keys, last=self.keep is Keep.LONE)
            if self.keep is not Keep.NEWEST:
                lost[ours] = True
            elif known.sequences is not None and new.sequences is not None:
                loses = later(known.sequences.take(theirs), new.sequences.take(ours))
                lost[ours[loses]] = True
                theirs = theirs[~loses]
            if self.keep is not Keep.OLDEST:
                masked.add(known, theirs)
        return lost

    def records(self, keys: KeyColumns) -> dict[int, Found]:
        """Where the records of these keys (sorted, distinct) stand; under `Keep.LONE` all, else those not superseded
        and some that are."""
        return _by_slot([found for stretch in self._stretches() for found in stretch.records(keys)])

    def _stretches(self) -> Iterator[Stretch]:
        return (stretch for tier in self.tiers for stretch in tier)


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


def _masking_tombstones(parts: Iterable[PartRows], masked: _Masked) -> Iterator[Stretch]:
    """The rows of parts that have some, all of them: a tombstone supersedes, too."""
    for part in parts:
        if len(part.keys):
            stretch = Stretch(part.keys, part.slot, None, part.sequences)
            if part.tombstones is not None:
                masked.add(stretch, np.flatnonzero(part.tombstones))
            yield stretch


def _groups(stretches: Iterable[Stretch]) -> list[list[Tier]]:
    """Neighbours that are not much larger than what is newer, together."""
    groups: list[list[Tier]] = []
    rows = 0
    for run in reversed(runs(stretches)):
        if groups and rows_in(run) <= max(2 * rows, _TOGETHER):
            groups[-1].insert(0, run)
            rows += rows_in(run)
        else:
            groups.append([run])
            rows = rows_in(run)
    return groups[::-1]


def _settled(group: Sequence[Tier], keep: Keep, masked: _Masked, each: Each) -> Tier:
    """Several runs as one; what they supersede of each other is masked.

    One stretch of keys at a time: memory that was used a moment ago is far quicker than as much that is new.
    """
    if len(group) == 1:
        return group[0]
    return tuple(each(lambda piece: _winners(sorted_rows(piece), keep, masked), pieces(group, _PIECE)))


def _winners(rows: Stretch, keep: Keep, masked: _Masked) -> Stretch:
    """Of rows by age within keys those that a scan may show; the others are masked."""
    if keep is Keep.LONE:
        return rows
    starts = segment_starts(rows.keys)
    winners = starts if keep is Keep.OLDEST else np.append(starts[1:], len(rows)) - 1
    losers = np.ones(len(rows), np.bool_)
    losers[winners] = False
    masked.add(rows, np.flatnonzero(losers))
    return rows.take(winners)


class _Masked:
    """Places that were found, by slot where a stretch has only one, else as row ids: they become bitmaps all at
    once."""

    def __init__(self) -> None:
        self.of_one: list[Mapping[int, BitMap]] = []
        self.ids: list[Words] = []

    def add(self, stretch: Stretch, at: Words) -> None:
        if stretch.ids is not None:
            self.ids.append(stretch.ids[at])
        elif len(at):
            self.of_one.append({stretch.slot: bitmap(at)})

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


def _stacked(tiers: Sequence[Tier], new: Tier, keep: Keep) -> tuple[Tier, ...]:
    """Each tier stays more than twice as large as the next."""
    left = list(tiers)
    while left and new and rows_in(left[-1]) <= 2 * rows_in(new):
        new = _merged(left.pop(), new, keep)
    return (*left, new) if new else tuple(left)


def _merged(old: Tier, new: Tier, keep: Keep) -> Tier:
    """Of a key in both the newer place counts: it was let in because it won. `Keep.LONE` keeps all."""
    both = by_age(old, new)
    if keep is Keep.LONE:
        return (both,)
    return (both.take(_ends(both.keys)),)


def _repeated(keys: KeyColumns) -> Flags:
    """Rows of keys that occur more than once."""
    same = equal(keys.slice(0, len(keys) - 1), keys.slice(1, len(keys)))
    found = np.zeros(len(keys), np.bool_)
    found[1:] = same
    found[:-1] |= same
    return found


def _in_slots(stretch: Stretch, at: Words, slots: Collection[int]) -> Flags:
    """Which of these rows stand in one of the slots."""
    if stretch.ids is None or not slots:
        return np.full(len(at), stretch.slot in slots)
    return np.isin(stretch.ids[at] >> POSITION_BITS, np.fromiter(slots, np.int64))


def _ends(keys: KeyColumns) -> Words:
    """The last row of each key."""
    return np.append(segment_starts(keys)[1:], len(keys)) - 1 if len(keys) else np.zeros(0, np.int64)
