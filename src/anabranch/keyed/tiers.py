"""Tiers: keys in order, and the places where they stand.

A tier is one stretch of rows or several, each of which begins after the one before it has ended: the parts of a large
run stand in it as they are, and nothing has to be sorted or copied for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anabranch.keyed.key_columns import KeyColumns, Words, concat
from anabranch.keyed.keys import equal, match, rows_below, sort_indices, span
from anabranch.keyed.sequences import Sequences, ascending, joined
from anabranch.model.part import POSITION_BITS
from anabranch.storage.row_ids import row_ids

_SMALL = 1 << 16
"""Stretches of fewer rows are joined: many of them would cost more to walk than to copy."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Keys in order, and the row id of each: its position in the one slot, or as `ids` say. Never empty."""

    keys: KeyColumns
    slot: int
    ids: Words | None = None
    sequences: Sequences | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def row_ids(self) -> Words:
        return row_ids(self.slot, 0, len(self)) if self.ids is None else self.ids

    def ids_at(self, at: Words) -> Words:
        """The row ids at these places."""
        return at | np.int64(self.slot << POSITION_BITS) if self.ids is None else self.ids[at]

    def take(self, at: Words) -> Stretch:
        sequences = self.sequences.take(at) if self.sequences is not None else None
        return Stretch(self.keys.take(at), self.slot, self.ids_at(at), sequences)

    def slice(self, start: int, stop: int) -> Stretch:
        ids = row_ids(self.slot, start, stop - start) if self.ids is None else self.ids[start:stop]
        sequences = self.sequences.slice(start, stop) if self.sequences is not None else None
        return Stretch(self.keys.slice(start, stop), self.slot, ids, sequences)

    def matches(self, wanted: KeyColumns, *, last: bool = False) -> tuple[Words, Words]:
        """(positions in sorted `wanted`, positions here) of the keys that both hold; of equal rows here the first, or
        the last."""
        first, end = self._reach(wanted)
        theirs, ours = match(self.keys, wanted.slice(first, end), last=last)
        return theirs + first, ours

    def records(self, keys: KeyColumns) -> Iterator[tuple[Words, Words]]:
        """The row ids of all rows with these keys (sorted, distinct), each with the place of its key among them."""
        owners, at = self.matches(keys)
        while len(at):
            yield self.ids_at(at), owners
            inside = at + 1 < len(self)
            owners, at = owners[inside], at[inside] + 1
            same = equal(self.keys.take(at), keys.take(owners))
            owners, at = owners[same], at[same]

    def _reach(self, wanted: KeyColumns) -> tuple[int, int]:
        """Which of the sorted keys can stand here."""
        return span(wanted, self.keys.row(0))[0], span(wanted, self.keys.row(len(self) - 1))[1]

    def ends_before(self, other: Stretch) -> bool:
        return self.keys.row(len(self) - 1) < other.keys.row(0)


Tier = tuple[Stretch, ...]


def rows_in(tier: Tier) -> int:
    return sum(map(len, tier))


def runs(stretches: Iterable[Stretch]) -> list[Tier]:
    """Neighbours that follow each other in the order of keys, as one tier; their order stays."""
    found: list[list[Stretch]] = []
    for stretch in stretches:
        if not found or not found[-1][-1].ends_before(stretch):
            found.append([stretch])
        elif len(found[-1][-1]) + len(stretch) <= _SMALL:
            found[-1][-1] = _joined([found[-1][-1], stretch])
        else:
            found[-1].append(stretch)
    return [tuple(tier) for tier in found]


def pieces(tiers: Sequence[Tier], rows: int) -> Iterator[list[Stretch]]:
    """The rows of all tiers, cut at keys into about so many at a time; each key's rows are in one piece."""
    stretches = [stretch for tier in tiers for stretch in tier]
    largest = max(stretches, key=len)
    count = -(-sum(map(len, stretches)) // rows)
    cuts = [largest.keys.row(at * len(largest) // count) for at in range(1, count)]
    ends = [[rows_below(stretch.keys, cut) for cut in cuts] for stretch in stretches]
    edges = [[0, *below, len(stretch)] for stretch, below in zip(stretches, ends, strict=True)]
    for at in range(count):
        spans = ((stretch, edge[at], edge[at + 1]) for stretch, edge in zip(stretches, edges, strict=True))
        piece = [stretch.slice(start, stop) for stretch, start, stop in spans if start < stop]
        if piece:
            yield piece


def sorted_rows(stretches: Sequence[Stretch]) -> Stretch:
    """All rows, by key, sequence and age."""
    whole = _joined(stretches)
    if whole.sequences is None:
        return whole.take(sort_indices(whole.keys))
    return whole.take(sort_indices(KeyColumns((), (*whole.keys.columns, *ascending(whole.sequences)))))


def by_age(old: Tier, new: Tier) -> Stretch:
    """The rows of both by key, and of one key the older first."""
    both = _joined([*old, *new])
    return both.take(sort_indices(both.keys))


def _joined(stretches: Sequence[Stretch]) -> Stretch:
    """One after another."""
    if len(stretches) == 1:
        return stretches[0]
    whole = Stretch(concat([one.keys for one in stretches]), 0, np.concatenate([one.row_ids() for one in stretches]))
    known = [one.sequences for one in stretches if one.sequences is not None]
    return replace(whole, sequences=joined(known)) if known else whole
