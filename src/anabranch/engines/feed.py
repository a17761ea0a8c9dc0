"""What a function is given, and what it gives back.

A *window* holds the records of many keys, sorted by key; the records of one key are a *segment*. A function reduces one
column of the window: it gets a `Feed` and answers for each segment, either with the position of the row whose value
stands (`Picks`, -1 for NULL), or with computed values (an Arrow array). Positions are preferred: they cost no value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask: TypeAlias = npt.NDArray[np.bool_]
Picks: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class FieldRule:
    """The function of one field, and its options."""

    function: str
    ignore_retract: bool = False
    delimiter: str = ","
    distinct: bool = False
    nested_key: tuple[str, ...] = ()
    nested_sequence: tuple[str, ...] = ()
    count_limit: int | None = None


@dataclass(frozen=True)
class Feed:
    """One column of a window: `owner` is each row's segment, ascending; there are `count` segments.

    `live` rows take part (None: all). Of these, `retract` rows take back, and rows in `front` are older than what was
    there when they came, so they count as if they had come first.
    """

    column: str
    values: pa.Array
    owner: Picks
    count: int
    rule: FieldRule
    live: Mask | None = None
    retract: Mask | None = None
    front: Mask | None = None

    def rows(self, *, nulls: bool = False, retracts: bool = False) -> Picks:
        """Positions of the live rows in arrival order; without NULLs and retracts unless asked for."""
        chosen = self.live
        if not nulls and self.values.null_count:
            chosen = both(chosen, validity(self.values))
        if not retracts and self.retract is not None:
            chosen = both(chosen, ~self.retract)
        return np.arange(len(self.owner)) if chosen is None else np.flatnonzero(chosen)

    def ordered(self, rows: Picks) -> Picks:
        """These rows as they count: in each segment those of `front`, the latest first, then the others."""
        if self.front is None:
            return rows
        ahead = self.front[rows]
        if not ahead.any():
            return rows
        moved = np.concatenate([rows[ahead][::-1], rows[~ahead]])
        return moved[np.argsort(self.owner[moved], kind="stable")]

    def empty(self) -> Picks:
        return np.full(self.count, -1, dtype=np.int64)

    def last(self, rows: Picks) -> Picks:
        """The last of these rows in each segment, as they are ordered."""
        found = self.empty()
        found[self.owner[rows]] = rows  # of assignments to one place the last stands
        return found

    def first(self, rows: Picks) -> Picks:
        return self.last(rows[::-1])

    def any(self, rows: Picks) -> Mask:
        """Which segments have one of these rows."""
        found = np.zeros(self.count, dtype=bool)
        found[self.owner[rows]] = True
        return found


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    """Rows in both masks, where None holds all rows."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def validity(array: pa.Array) -> Mask:
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def runs(owner: Picks) -> Picks:
    """Where each run of equal owners starts."""
    if not len(owner):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(owner[1:] != owner[:-1]) + 1])


def gather(values: pa.Array, picks: Picks) -> pa.Array:
    """The values at these positions; -1 is NULL."""
    missing = picks < 0
    if not missing.any():
        return values.take(pa.array(picks))
    return values.take(pa.array(np.where(missing, 0, picks), mask=missing))
