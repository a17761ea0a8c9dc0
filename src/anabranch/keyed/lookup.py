"""Lookup: which row groups of which parts can hold some keys, and where in what was fetched they are.

Pure: the plan comes from the bounds that the catalog keeps; the caller opens the row groups and asks `found`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from anabranch.keyed.bounds import PartKeys, columns_of
from anabranch.keyed.key_columns import KeyColumns, Words
from anabranch.keyed.keys import match, search, segment_starts, sort_indices


@dataclass(frozen=True, slots=True)
class Probe:
    """A row group that has to be opened for the wanted keys `start:stop`, and holds none of the others."""

    part: int
    row_group: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Distinct keys in order; `asked` gives for every key that was asked its place among them."""

    keys: KeyColumns
    asked: Words


def wanted(keys: KeyColumns) -> Wanted:
    """The keys of a lookup, as they were asked."""
    order = sort_indices(keys)
    ranked = keys.take(order)
    starts = segment_starts(ranked)
    asked = np.empty(len(keys), np.int64)
    asked[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(keys))))
    return Wanted(ranked.take(starts), asked)


def plan(keys: KeyColumns, parts: Sequence[PartKeys]) -> list[Probe]:
    """What to open for sorted keys, by part and row group."""
    if not len(keys) or not parts:
        return []
    # A part's last bound stands behind its row groups' first ones: row group i lies between two neighbours.
    edges = columns_of([edge for part in parts for edge in (*part.firsts, part.last)], keys.types)
    # On the right, too: a key that stands on a bound can be on both sides of it.
    below, upto = search(keys, edges, "left").tolist(), search(keys, edges, "right").tolist()
    offsets = accumulate((len(part.firsts) + 1 for part in parts), initial=0)
    return [probe for at, span in enumerate(pairwise(offsets)) for probe in _probes(at, *span, below, upto)]


def _probes(part: int, first: int, last: int, below: list[int], upto: list[int]) -> Iterator[Probe]:
    for group, edge in enumerate(range(first, last - 1)):
        start, stop = below[edge], upto[edge + 1]
        if start < stop:
            yield Probe(part, group, start, stop)


def found(fetched: KeyColumns, keys: KeyColumns) -> tuple[Words, Words]:
    """(positions in `keys`, positions in `fetched`) of the keys that are there, both sorted; one row a key."""
    return match(fetched, keys)
