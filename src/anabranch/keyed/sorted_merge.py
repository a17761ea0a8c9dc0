"""Sorted merge: runs in, windows of rows sorted by key and age out, with memory for runs x batch.

1. Of every run some rows are loaded. Up to the smallest last key among runs that have more, all rows are at hand.
2. The rows below that key are a window, unless they are few: then the runs that end there load on first.
3. A window's stretches are laid one after another, oldest first, and sorted stably by key (`sort-engine`).

The limiting key itself stays for the next window, so no key is ever in two, even if a run holds it several times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.errors import DataError
from anabranch.keyed.key_columns import KeyColumns, Row, Words, concat, key_columns
from anabranch.keyed.keys import is_sorted, rows_below, segment_starts
from anabranch.keyed.sort_engines import SORT_ENGINES, SortEngine

Aged: TypeAlias = tuple[int, pa.RecordBatch]
"""Rows and the age of their part: of two rows of one key that with the larger age is newer."""

_ROWS_AT_HAND = 1 << 18
_LEAST_BATCH, _LARGEST_BATCH = 4096, 1 << 16


@dataclass(frozen=True, slots=True)
class Window:
    """All rows of a stretch of keys, sorted by key and age. No other window has a row of these keys.

    `starts` says where each key's segment begins, `ages` which part each row came from.
    """

    rows: pa.Table
    keys: KeyColumns
    starts: Words
    ages: npt.NDArray[np.int32]


def batch_rows(runs: int) -> int:
    """How many rows a batch should have when so many runs are merged."""
    return max(_LEAST_BATCH, min(_LARGEST_BATCH, _ROWS_AT_HAND // max(runs, 1)))


def aged(age: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Aged]:
    """The batches of one part, or of one run whose parts are all of one age."""
    return ((age, batch) for batch in batches)


def sorted_merge(
    runs: Sequence[Iterable[Aged]],
    key: Sequence[str],
    *,
    engine: str = "vectorized",
    fill: int | None = None,
    nullable: bool = False,
) -> Iterator[Window]:
    """The windows of some runs, in key order. Each run's rows are sorted by key; all have one schema.

    `fill` is how many rows of a run are loaded at a time, and the least that a window has while more can be had.
    """
    sort = SORT_ENGINES[engine]
    least = fill or batch_rows(len(runs))
    readings = [_Reading(iter(run), tuple(key), nullable=nullable) for run in runs]
    for reading in readings:
        reading.load(least)
    while any(reading.pieces for reading in readings):
        limit = min((reading.last for reading in readings if not reading.done), default=None)
        taken = [piece for reading in readings for piece in reading.below(limit)]
        if limit is not None and sum(len(piece.keys) for piece in taken) < least:
            for reading in readings:
                if not reading.done and reading.last == limit:
                    reading.load(least)
            continue
        for reading in readings:
            reading.drop(limit)
        yield _window(taken, sort)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of one part, not empty."""

    age: int
    rows: pa.RecordBatch
    keys: KeyColumns
    last: Row

    def before(self, count: int) -> _Piece:
        return _Piece(self.age, self.rows.slice(0, count), self.keys.slice(0, count), self.last)

    def after(self, count: int) -> _Piece:
        return _Piece(self.age, self.rows.slice(count), self.keys.slice(count, len(self.keys)), self.last)


class _Reading:
    """A run that is being read: the pieces at hand, in key order; `done` when there are no more."""

    def __init__(self, batches: Iterator[Aged], key: tuple[str, ...], *, nullable: bool) -> None:
        self.batches, self.key, self.nullable = batches, key, nullable
        self.pieces: deque[_Piece] = deque()
        self.done = False

    @property
    def last(self) -> Row:
        return self.pieces[-1].last

    def load(self, rows: int) -> None:
        """Adds at least so many rows, or all that are left."""
        while rows > 0 and not self.done:
            age, batch = next(self.batches, (0, None))
            if batch is None:
                self.done = True
            elif batch.num_rows:
                self._add(age, batch)
                rows -= batch.num_rows

    def _add(self, age: int, batch: pa.RecordBatch) -> None:
        keys = key_columns([batch.column(name) for name in self.key], nullable=self.nullable)
        if not is_sorted(keys) or (self.pieces and keys.row(0) < self.last):
            raise DataError("rows of a run are not in the order of their key. Its file is damaged: restore it.")
        self.pieces.append(_Piece(age, batch, keys, keys.row(len(keys) - 1)))

    def below(self, limit: Row | None) -> Iterator[_Piece]:
        """The rows at hand with smaller keys."""
        for piece in self.pieces:
            if limit is None or piece.last < limit:
                yield piece
                continue
            count = rows_below(piece.keys, limit)
            if count:
                yield piece.before(count)
            return

    def drop(self, limit: Row | None) -> None:
        """Lets go of the rows that `below` gave."""
        while self.pieces and (limit is None or self.pieces[0].last < limit):
            self.pieces.popleft()
        if self.pieces and limit is not None:
            self.pieces[0] = self.pieces[0].after(rows_below(self.pieces[0].keys, limit))


def _window(taken: list[_Piece], sort: SortEngine) -> Window:
    """Pieces of one run may touch in a key, so the sort also keeps the order that they come in."""
    pieces = sorted(taken, key=lambda piece: piece.age)
    rows = pa.Table.from_batches([piece.rows for piece in pieces])
    keys = concat([piece.keys for piece in pieces])
    ages = np.repeat(np.array([piece.age for piece in pieces], np.int32), [len(piece.keys) for piece in pieces])
    if len(pieces) > 1:
        order = sort([piece.keys for piece in pieces])
        if not bool((order[1:] > order[:-1]).all()):
            rows, keys, ages = rows.combine_chunks().take(pa.array(order)), keys.take(order), ages[order]
    return Window(rows, keys, segment_starts(keys), ages)
