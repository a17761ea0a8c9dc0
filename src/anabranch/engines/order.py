"""The order in which records meet: key, `sequence.field`, age, on a full tie retracts before adds, arrival.

One stable sort of integers where the values allow it: codes of all columns are packed into as few words as their ranges
need. Long texts give their first bytes; only rows that tie there are sorted by value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.codes import Words, differs, order_codes, packed, sorting, whole
from anabranch.engines.feed import Mask, Numbers, Picks
from anabranch.engines.kinds import kinds_of, retracting
from anabranch.engines.spec import EngineSpec


def sort_order(rows: pa.Table, spec: EngineSpec, *, age: Numbers | None = None) -> Picks:
    """Positions of the rows in the order in which they meet.

    `age` tells when each row came, the oldest lowest; rows of equal age are tied, and of these retracts come first.
    Without it rows have come in the order in which they stand. A set row must carry the sequence fields of what it
    sets: it takes its place by them like any record.
    """
    columns = [(rows[name], False) for name in spec.key] + [(rows[name], spec.descending) for name in spec.sequence]
    extra: list[Words] = []
    if age is not None:
        extra.append(age.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63))
        kinds = kinds_of(rows)
        if kinds is not None:
            extra.append((~retracting(kinds)).astype(np.uint64))
    return _sorted(columns, extra, len(rows))


def segment_starts(rows: pa.Table, key: Sequence[str]) -> Picks:
    """Where each key's records start, in rows sorted by key; NULLs of a key column are alike."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    other = np.zeros(len(rows) - 1, dtype=bool)
    for name in key:
        other |= differs(whole(rows[name]))
    return np.concatenate([[0], np.flatnonzero(other) + 1])


def _sorted(columns: list[tuple[pa.ChunkedArray, bool]], extra: list[Words], size: int) -> Picks:
    words: list[Words] = []
    for place, (column, descending) in enumerate(columns):
        array = whole(column)
        codes = order_codes(array, descending=descending)
        words += codes.words
        if not codes.exact:
            rest = [(array, descending), *((whole(c), d) for c, d in columns[place + 1 :])]
            return _settled(packed(tuple(words)), rest, extra, size)
    return sorting(packed((*words, *extra)), size)


def _settled(words: list[Numbers], rest: list[tuple[pa.Array, bool]], extra: list[Words], size: int) -> Picks:
    """The order by `words`, and inside their ties by the values of `rest`."""
    order = sorting(words, size)
    alike: Mask = np.ones(max(size - 1, 0), dtype=bool)
    for word in words:
        placed = word[order]
        alike &= placed[1:] == placed[:-1]
    tied = np.zeros(size, dtype=bool)
    tied[1:] |= alike
    tied[:-1] |= alike
    slots = np.flatnonzero(tied)
    if not len(slots):
        return order
    group = np.cumsum(np.concatenate([[True], ~alike]))[slots]
    inside = pa.array(order[slots])
    keys, arrays = [("group", "ascending")], {"group": pa.array(group)}
    for place, (array, descending) in enumerate(rest):
        some = array.take(inside)
        codes = order_codes(some, descending=descending)
        for number, word in enumerate(codes.words):
            arrays[f"{place}.{number}"] = pa.array(word)
            keys.append((f"{place}.{number}", "ascending"))
        if not codes.exact:
            arrays[f"{place}"] = some
            keys.append((f"{place}", "descending" if descending else "ascending"))
    for number, word in enumerate(extra):
        arrays[f"extra.{number}"] = pa.array(word[order[slots]])
        keys.append((f"extra.{number}", "ascending"))
    settled = pc.sort_indices(pa.table(arrays), sort_keys=keys)
    order[slots] = order[slots][settled.to_numpy()]
    return order
