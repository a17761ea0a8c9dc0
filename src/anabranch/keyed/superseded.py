"""Superseded rows: the positions of a keyed table's parts that a scan must not show, found from key columns alone.

An index of keys is kept in *tiers*, keys in order with the places where they stand. What is added is matched against
every tier: that is all it takes, since a place found twice is masked once. Then it becomes a tier, and merges with the
tiers before it that are not much larger, so there are few of them however many parts came. Parts that come together
and follow each other in the order of keys are one tier from the start; those of like size are settled among themselves
first, in one sort. Computing from nothing is adding all parts: four runs of a twentieth of the table are sorted, and
searched in the large one, whose parts are left as they are. A flush of a thousand keys costs milliseconds.

Tombstones are always masked: where one is the last word on its key, the key's other rows are superseded by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from pyroaring import BitMap

from anabranch.keyed.key_columns import KeyColumns, Words, concat
from anabranch.keyed.keys import Flags, equal, segment_starts, sort_indices
from anabranch.keyed.sequences import Sequences, later
from anabranch.keyed.tiers import Stretch, Tier, by_age, rows_in, runs, sorted_rows
from anabranch.storage.row_ids import bitmap, by_slot, united

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
    tiers: tuple[Tier, ...] = ()

    def advanced(self, parts: Iterable[PartRows]) -> Superseded:
        """With more parts, each newer than all before it. What was known is not changed."""
        state, masked = self, _Masked()
        for group in _groups(_masking_tombstones(parts, masked)):
            state = state._added(_settled(group, self.keep, masked), masked)
        return replace(state, dead=united([self.dead, *masked.bitmaps()]))

    def _added(self, new: Tier, masked: _Masked) -> Superseded:
        let_in: list[Stretch] = []
        contested: list[KeyColumns] = []
        for stretch in new:
            lost = self._lost(stretch, masked)
            if lost.any():
                masked.add(stretch, np.flatnonzero(lost))
                if self.keep is Keep.LONE:
                    contested.append(_distinct(stretch.keys.take(lost)))
                elif lost.all():
                    continue
                else:
                    stretch = stretch.take(np.flatnonzero(~lost))
            let_in.append(stretch)
        tiers = _stacked(self.tiers, tuple(let_in), self.keep)
        return replace(self, contested=(*self.contested, *contested), tiers=tiers)

    def _lost(self, new: Stretch, masked: _Masked) -> Flags:
        """Which rows lose to known ones; the known ones that lose are masked."""
        lost = _repeated(new.keys) if self.keep is Keep.LONE else np.zeros(len(new), np.bool_)
        for known in (stretch for tier in self.tiers for stretch in tier):
            ours, theirs = known.matches(new.keys)
            if self.keep is not Keep.NEWEST:
                lost[ours] = True
            elif known.sequences is not None and new.sequences is not None:
                loses = later(known.sequences.take(theirs), new.sequences.take(ours))
                lost[ours[loses]] = True
                theirs = theirs[~loses]
            if self.keep is not Keep.OLDEST:
                masked.add(known, theirs)
        return lost

    def places(self, keys: KeyColumns) -> dict[int, BitMap]:
        """Where the records of these keys (sorted, distinct) stand; under `Keep.LONE` all, else those not superseded
        and some that are."""
        found = _Masked()
        for stretch in (stretch for tier in self.tiers for stretch in tier):
            found.add(stretch, stretch.positions(keys))
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
        if groups and rows_in(run) <= max(2 * rows, _SMALL):
            groups[-1].insert(0, run)
            rows += rows_in(run)
        else:
            groups.append([run])
            rows = rows_in(run)
    return groups[::-1]


def _settled(group: Sequence[Tier], keep: Keep, masked: _Masked) -> Tier:
    """Several runs as one; what they supersede of each other is masked."""
    if len(group) == 1:
        return group[0]
    whole = sorted_rows(group)
    if keep is Keep.LONE:
        return (whole,)
    starts = segment_starts(whole.keys)
    winners = starts if keep is Keep.OLDEST else np.append(starts[1:], len(whole)) - 1
    losers = np.ones(len(whole), np.bool_)
    losers[winners] = False
    masked.add(whole, np.flatnonzero(losers))
    return (whole.take(winners),)


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
    starts = segment_starts(both.keys)
    return (both.take(np.append(starts[1:], len(both)) - 1),)


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
