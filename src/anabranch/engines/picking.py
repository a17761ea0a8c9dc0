"""Functions whose result is one of the values they were given: first, last, greatest, least."""

from __future__ import annotations

import numpy as np

from anabranch.engines.codes import ranks
from anabranch.engines.feed import Feed, Mask, Picks, runs


def last_value(feed: Feed) -> Picks:
    """The last value, NULL too; a retract leaves NULL. What is older than its group never counts as last."""
    rows = feed.rows(nulls=True, retracts=True)
    rows = rows[_counts_now(feed, rows)]
    return _unless_retracted(feed, feed.last(rows))


def last_non_null_value(feed: Feed) -> Picks:
    """The last non-null value; the retract of a non-null value leaves NULL.

    An older row is as if it had come first: it fills a NULL, and the earliest of several such rows does.
    """
    rows = feed.rows(retracts=True)
    now = _counts_now(feed, rows)
    event = feed.last(rows[now])
    found = _unless_retracted(feed, event)
    if not now.all():
        late = rows[~now]
        filling = feed.first(late[late > event[feed.owner[late]]])
        found = np.where(found < 0, filling, found)
    return found


def first_value(feed: Feed) -> Picks:
    return feed.first(feed.ordered(feed.rows(nulls=True)))


def first_non_null_value(feed: Feed) -> Picks:
    return feed.first(feed.ordered(feed.rows()))


def maximum(feed: Feed) -> Picks:
    return _extreme(feed, np.maximum)


def minimum(feed: Feed) -> Picks:
    return _extreme(feed, np.minimum)


def _extreme(feed: Feed, choose: np.ufunc) -> Picks:
    """The first row that has the segment's extreme value: `true` is above `false`, so these are bool_or, bool_and."""
    rows = feed.rows()
    if not len(rows):
        return feed.empty()
    rank, owner = ranks([feed.values.take(rows)]), feed.owner[rows]
    starts = runs(owner)
    best = np.repeat(choose.reduceat(rank, starts), np.diff(np.append(starts, len(rows))))
    return feed.first(rows[rank == best])


def _counts_now(feed: Feed, rows: Picks) -> Mask:
    """Rows that change what is last: all but adds that are older than what is there."""
    if feed.front is None:
        return np.ones(len(rows), dtype=bool)
    counts = ~feed.front[rows]
    return counts if feed.retract is None else counts | feed.retract[rows]


def _unless_retracted(feed: Feed, picks: Picks) -> Picks:
    """These rows, and NULL where the row takes back."""
    if feed.retract is None:
        return picks
    return np.where((picks >= 0) & feed.retract[picks], -1, picks)
