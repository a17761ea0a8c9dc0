"""Key ranges: how work on a keyed table is cut into tasks.

Cuts lie where row groups of the largest run begin, so that a task reads whole row groups of what weighs most; since a
cut is a key, no key is on both sides of it. Which cuts is decided by the rows of all runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from anabranch.keyed.bounds import Bound


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys at or above `low` and below `high`; None: without end."""

    low: Bound | None = None
    high: Bound | None = None

    def meets(self, first: Bound, last: Bound) -> bool:
        """Whether a part with these bounds can hold keys of this range."""
        return (self.high is None or first < self.high) and (self.low is None or last >= self.low)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group's lower bound and its rows."""

    first: Bound
    rows: int


def cut(runs: Sequence[Sequence[RowGroup]], tasks: int) -> list[KeyRange]:
    """At most `tasks` ranges that together hold every key once, of about equal rows.

    Each run's row groups are in key order. Fewer ranges come back where the largest run has fewer row groups.
    """
    largest = max(runs, key=lambda run: sum(group.rows for group in run), default=())
    places = sorted({group.first for group in largest[1:]})
    everything = sorted((group for run in runs for group in run), key=lambda group: group.first)
    firsts = [group.first for group in everything]
    before = [0, *accumulate(group.rows for group in everything)]
    weights = [before[bisect_left(firsts, place)] for place in places]
    cuts: list[Bound] = []
    used = 0
    for task in range(1, tasks):
        goal = before[-1] * task / tasks
        at = bisect_left(weights, goal, used)
        if at > used and (at == len(weights) or goal - weights[at - 1] <= weights[at] - goal):
            at -= 1
        if used <= at < len(places):
            cuts.append(places[at])
            used = at + 1
    edges = [None, *cuts, None]
    return [KeyRange(low, high) for low, high in pairwise(edges)]
