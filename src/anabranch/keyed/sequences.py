"""`sequence.field`: which of two rows of one key comes later. NULL comes first, whichever way the fields are sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.keyed.key_columns import KeyColumns, Words, concat, normal_form
from anabranch.keyed.keys import Flags, equal, less, ranks


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sequence fields of some rows: for each field whether it is there, then its value in normal form.

    Descending integers are stored flipped; descending bytes cannot be, so they are compared the other way round.
    """

    fields: tuple[KeyColumns, ...]
    flipped: tuple[bool, ...]

    def take(self, at: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Sequences:
        return Sequences(tuple(field.take(at) for field in self.fields), self.flipped)

    def slice(self, start: int, stop: int) -> Sequences:
        return Sequences(tuple(field.slice(start, stop) for field in self.fields), self.flipped)


def sequences(columns: Sequence[pa.Array | pa.ChunkedArray], *, descending: bool = False) -> Sequences:
    fields, flipped = [], []
    for column in columns:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        there: Flags = whole.is_valid().to_numpy(zero_copy_only=False)
        values: list[Words | pa.Array] = []
        for part in normal_form(whole):
            if isinstance(part, np.ndarray):
                values.append(np.where(there, ~part if descending else part, 0))
            else:
                values.append(part.fill_null(b""))
        flip = descending and not isinstance(values[0], np.ndarray)
        fields += [KeyColumns((), (there.astype(np.int64),)), KeyColumns((), tuple(values))]
        flipped += [False, flip]
    return Sequences(tuple(fields), tuple(flipped))


def joined(many: Sequence[Sequences]) -> Sequences:
    fields = zip(*(one.fields for one in many), strict=True)
    return Sequences(tuple(concat(same) for same in fields), many[0].flipped)


def later(a: Sequences, b: Sequences) -> Flags:
    """Row by row: whether a's sequence is above b's."""
    above, same = np.zeros(len(a.fields[0]), np.bool_), np.ones(len(a.fields[0]), np.bool_)
    for one, other, flip in zip(a.fields, b.fields, a.flipped, strict=True):
        above |= same & (less(one, other) if flip else less(other, one))
        same &= equal(one, other)
    return above


def ascending(rows: Sequences) -> Iterator[Words | pa.Array]:
    """Columns whose plain order is the order of the sequences."""
    for field, flip in zip(rows.fields, rows.flipped, strict=True):
        yield from (~ranks(field),) if flip else field.columns
