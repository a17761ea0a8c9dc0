"""Row ids: `slot << 32 | position`. They stand nowhere in a fresh part; they are where the row stands."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from pyroaring import BitMap

from anabranch.model.part import POSITION_BITS

_POSITION = (1 << POSITION_BITS) - 1


def row_ids(slot: int, first: int, rows: int) -> np.ndarray:
    """The ids of consecutive rows of a fresh part."""
    return np.arange(first, first + rows, dtype=np.int64) | np.int64(slot << POSITION_BITS)


def bitmap(positions: np.ndarray) -> BitMap:
    """Positions as a bitmap; ten times faster than giving Roaring the numpy array, which it would walk."""
    return BitMap(array("I", positions.astype(np.uint32, copy=False).tobytes()))


def by_slot(ids: np.ndarray) -> dict[int, BitMap]:
    """Row ids as positions of each slot."""
    if not len(ids):
        return {}
    ordered = np.sort(ids, kind="stable")  # most come in a few ascending stretches, which it makes use of
    slots, positions = ordered >> POSITION_BITS, (ordered & _POSITION).astype(np.uint32)
    starts = np.flatnonzero(np.concatenate([[True], slots[1:] != slots[:-1]]))
    ends = np.append(starts[1:], len(slots))
    return {int(slots[a]): bitmap(positions[a:b]) for a, b in zip(starts, ends, strict=True)}


def united(many: Iterable[Mapping[int, BitMap]]) -> dict[int, BitMap]:
    """The union of positions, slot by slot; a slot that only one of them has keeps its bitmap."""
    found: dict[int, BitMap] = {}
    for one in many:
        for slot, positions in one.items():
            found[slot] = found[slot] | positions if slot in found else positions
    return found


def meet(one: Mapping[int, BitMap], other: Mapping[int, BitMap]) -> dict[int, BitMap]:
    """The positions that both have."""
    return {slot: rows for slot in one.keys() & other.keys() if (rows := one[slot] & other[slot])}


def without(rows: Mapping[int, BitMap], others: Mapping[int, BitMap]) -> dict[int, BitMap]:
    return {slot: left for slot in rows if (left := rows[slot] - others[slot] if slot in others else rows[slot])}


def kept(dead: BitMap | None, first: int, rows: int) -> np.ndarray | None:
    """Which of the rows from `first` on are alive; None: all of them."""
    if not dead:
        return None
    hidden = dead & BitMap(range(first, first + rows)) if not (first == 0 and dead.max() < rows) else dead
    if not hidden:
        return None
    alive = np.ones(rows, dtype=bool)
    alive[np.asarray(hidden.to_array(), dtype=np.int64) - first] = False
    return alive


def words(dead: BitMap, rows: int) -> np.ndarray:
    """One bit per row, 64 rows a word, lowest bit first: what the native mask tests."""
    bits = np.zeros((rows // 64 + 1) * 64, dtype=np.uint8)
    bits[np.asarray(dead.to_array(), dtype=np.int64)] = 1
    return np.packbits(bits, bitorder="little").view(np.int64)
