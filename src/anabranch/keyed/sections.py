"""Sections and runs: which parts of a keyed table have to be merged with which.

A *section* is a set of parts whose keys no other part's keys meet. Within it parts are dealt onto as few *runs* as
possible (interval partition): by first key, each to the run that ended earliest, if that ended before the part begins.
A run may so mix parts of different ages; which of two rows of one key is newer is said by their parts' blocks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.keyed.bounds import Bound


@dataclass(frozen=True, slots=True)
class Placed:
    """A part where it stands on a branch. Parts whose keys meet have block ranges that do not, and the one with the
    larger blocks is newer."""

    name: str
    first: Bound
    last: Bound
    min_block: int
    max_block: int
    bytes: int = 0

    def keys_meet(self, first: Bound, last: Bound) -> bool:
        return self.first <= last and first <= self.last

    def blocks_meet(self, low: int, high: int) -> bool:
        return self.min_block <= high and low <= self.max_block


@dataclass(frozen=True, slots=True)
class Run:
    """Parts in key order whose key ranges do not overlap."""

    parts: tuple[Placed, ...]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


@dataclass(frozen=True, slots=True)
class Section:
    """Runs of parts whose keys no part outside the section meets."""

    runs: tuple[Run, ...]

    @property
    def first(self) -> Bound:
        return min(run.parts[0].first for run in self.runs)

    @property
    def last(self) -> Bound:
        return max(run.parts[-1].last for run in self.runs)

    @property
    def parts(self) -> tuple[Placed, ...]:
        """Oldest first; the place in this order is a part's age within the section."""
        return oldest_first(part for run in self.runs for part in run.parts)


def oldest_first(parts: Iterable[Placed]) -> tuple[Placed, ...]:
    return tuple(sorted(parts, key=lambda part: (part.min_block, part.max_block, part.first)))


def sections(parts: Iterable[Placed]) -> tuple[Section, ...]:
    """All parts, in key order: key-disjoint sections, each of the fewest runs."""
    return tuple(Section(_fewest_runs(together)) for together in _disjoint(parts))


def _disjoint(parts: Iterable[Placed]) -> Iterator[list[Placed]]:
    together: list[Placed] = []
    reach: Bound | None = None
    for part in sorted(parts, key=lambda part: (part.first, part.last)):
        if reach is not None and part.first > reach:
            yield together
            together, reach = [], None
        together.append(part)
        reach = part.last if reach is None else max(reach, part.last)
    if together:
        yield together


def _fewest_runs(parts: Sequence[Placed]) -> tuple[Run, ...]:
    """`parts` by first key. The heap holds the last key of every run so far."""
    runs: list[list[Placed]] = []
    ends: list[tuple[Bound, int]] = []
    for part in parts:
        if ends and ends[0][0] < part.first:
            at = ends[0][1]
            heapq.heapreplace(ends, (part.last, at))
            runs[at].append(part)
        else:
            heapq.heappush(ends, (part.last, len(runs)))
            runs.append([part])
    return tuple(Run(tuple(run)) for run in runs)


def runs_by_age(parts: Iterable[Placed]) -> tuple[Run, ...]:
    """Newest first, what the picker chooses from: neighbours in age share a run as long as their keys do not meet.

    Keys that arrive in order so make one run, however many flushes brought them.
    """
    runs: list[list[Placed]] = []
    for part in oldest_first(parts):
        if runs and not any(part.keys_meet(other.first, other.last) for other in runs[-1]):
            runs[-1].append(part)
        else:
            runs.append([part])
    return tuple(Run(tuple(sorted(run, key=lambda part: part.first))) for run in reversed(runs))


def may_merge(parts: Iterable[Placed], chosen: Sequence[Placed]) -> bool:
    """Whether the chosen parts may become one: no other part whose keys meet their key hull has a block range that
    meets their block hull."""
    return not _between(parts, chosen)


def widened(parts: Sequence[Placed], chosen: Sequence[Placed]) -> tuple[Placed, ...]:
    """The chosen parts and the fewest others without which they may not be merged, oldest first."""
    found = list(chosen)
    while more := _between(parts, found):
        found += more
    return oldest_first(found)


def _between(parts: Iterable[Placed], chosen: Sequence[Placed]) -> list[Placed]:
    """The other parts that stand in both hulls."""
    if not chosen:
        return []
    first, last = min(part.first for part in chosen), max(part.last for part in chosen)
    low, high = min(part.min_block for part in chosen), max(part.max_block for part in chosen)
    names = {part.name for part in chosen}
    return [
        part for part in parts if part.name not in names and part.keys_meet(first, last) and part.blocks_meet(low, high)
    ]
