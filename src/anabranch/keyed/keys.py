"""The order of keys: sorting, searching and cutting rows into segments of one key.

One integer column is numpy's own work. Anything else is first packed into a *code*, an unsigned 64-bit prefix of the
key after what all rows have in common: where codes differ they decide, and only rows with equal codes are compared in
full (unless the codes are exact, which they are for keys of few distinct bits).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.keyed.key_columns import KeyColumns, Row, Words, concat

Flags: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.uint64]
Side: TypeAlias = Literal["left", "right"]

_BITS = 64
_SIGN = np.uint64(1 << 63)
_BLOCK = 4096


# --- codes ------------------------------------------------------------------------------------------------------------


def codes_of(keys: KeyColumns) -> tuple[Codes, bool]:
    """A prefix of each key as a number in the same order; True: equal codes are equal keys."""
    codes = np.zeros(len(keys), np.uint64)
    left, exact = _BITS, True
    for column in keys.columns:
        if not len(column):
            break
        if not left or not exact:
            exact = False
            break
        part, bits, whole = _word_prefix(column) if isinstance(column, np.ndarray) else _text_prefix(column)
        if bits > left:
            part, bits, whole = part >> np.uint64(bits - left), left, False
        codes = part if left == _BITS and bits == _BITS else (codes << np.uint64(bits)) | part
        left, exact = left - bits, whole
    return codes, exact


def _word_prefix(column: Words) -> tuple[Codes, int, bool]:
    low, high = int(column.min()), int(column.max())
    return column.view(np.uint64) - np.uint64(low % (1 << _BITS)), (high - low).bit_length(), True


def _text_prefix(column: pa.Array) -> tuple[Codes, int, bool]:
    """Eight bytes after the common ones; exact if none is left behind and padding with zeros cannot be mistaken."""
    offsets, data = _text(column)
    ends = pc.min_max(column)
    common = _common(ends["min"].as_py(), ends["max"].as_py())
    starts = offsets[:-1] + common
    lengths = offsets[1:] - starts
    longest = int(lengths.max())
    if not longest:
        return np.zeros(len(column), np.uint64), 0, True
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    windows = np.ndarray((len(padded) - 7,), np.dtype(">u8"), padded, strides=(1,))
    found = windows[starts].astype(np.uint64)
    spare = (8 - np.minimum(lengths, 8)).astype(np.uint64) * np.uint64(8)
    found = np.where(spare == _BITS, np.uint64(0), found >> (spare % np.uint64(_BITS)) << (spare % np.uint64(_BITS)))
    used = min(longest, 8)
    whole = longest <= 8 and (int(lengths.min()) == longest or bool(data.all()))
    return found >> np.uint64(_BITS - 8 * used), 8 * used, whole


def _text(column: pa.Array) -> tuple[Words, npt.NDArray[np.uint8]]:
    """Offsets from zero, and the bytes that they cut."""
    _, places, content = column.buffers()
    offsets = np.frombuffer(places, np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _common(first: bytes, last: bytes) -> int:
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


# --- sorting and segments ---------------------------------------------------------------------------------------------


def sort_indices(keys: KeyColumns) -> Words:
    """The order of the rows by key; rows of one key stay in the order they have."""
    single = keys.single
    if single is not None:
        return np.argsort(single, kind="stable")
    codes, exact = codes_of(keys)
    order = np.argsort(codes, kind="stable")
    return order if exact else _with_ties_sorted(keys, codes, order)


def _with_ties_sorted(keys: KeyColumns, codes: Codes, order: Words) -> Words:
    ranked = codes[order]
    new_code = np.concatenate([[True], ranked[1:] != ranked[:-1]])[: len(ranked)]
    if new_code.all():
        return order
    group = np.cumsum(new_code)
    # Most ties are one key in several runs, and these stand as they should.
    after = np.flatnonzero(~new_code)
    unequal = ~equal(keys.take(order[after - 1]), keys.take(order[after]))
    mixed = np.zeros(len(order) + 2, np.bool_)
    mixed[group[after[unequal]]] = True
    tied = np.flatnonzero(mixed[group])
    if not len(tied):
        return order
    rows = order[tied]
    columns = [pa.array(group[tied]), *(pa.array(c) for c in keys.take(rows).columns)]
    names = [str(at) for at in range(len(columns))]
    sorted_ = pc.sort_indices(pa.table(columns, names), sort_keys=[(name, "ascending") for name in names])
    result: Words = order.copy()
    result[tied] = rows[sorted_.to_numpy()]
    return result


def segment_starts(keys: KeyColumns) -> Words:
    """Where in sorted rows a new key begins."""
    if not len(keys):
        return np.zeros(0, np.int64)
    differs = ~equal(keys.slice(0, len(keys) - 1), keys.slice(1, len(keys)))
    starts: Words = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(differs) + 1])
    return starts


def is_sorted(keys: KeyColumns) -> bool:
    """Whether no row's key is below that of the row before."""
    return not less(keys.slice(1, len(keys)), keys.slice(0, len(keys) - 1)).any() if len(keys) else True


# --- comparing row by row ---------------------------------------------------------------------------------------------


def equal(a: KeyColumns, b: KeyColumns) -> Flags:
    """Row by row."""
    same = np.ones(len(a), np.bool_)
    for one, other in zip(a.columns, b.columns, strict=True):
        same &= one == other if isinstance(one, np.ndarray) else _flags(pc.equal(one, other))
    return same


def less(a: KeyColumns, b: KeyColumns) -> Flags:
    """Row by row: whether a's key is below b's."""
    below, same = np.zeros(len(a), np.bool_), np.ones(len(a), np.bool_)
    for at, (one, other) in enumerate(zip(a.columns, b.columns, strict=True)):
        words = isinstance(one, np.ndarray)
        below |= same & (one < other if words else _flags(pc.less(one, other)))
        if at + 1 < len(a.columns):
            same &= one == other if words else _flags(pc.equal(one, other))
    return below


def _flags(column: pa.Array) -> Flags:
    flags: Flags = column.to_numpy(zero_copy_only=False)
    return flags


# --- searching --------------------------------------------------------------------------------------------------------


def rows_below(keys: KeyColumns, row: Row) -> int:
    """How many of the sorted rows have a smaller key. `row` may be shorter than a key: what is missing is smallest."""
    return span(keys, row)[0]


def span(keys: KeyColumns, row: Row) -> tuple[int, int]:
    """Where in sorted rows those that begin like `row` stand: from the first of them to after the last."""
    start, stop = 0, len(keys)
    for value, column in zip(row, keys.columns, strict=False):
        if isinstance(column, np.ndarray):
            held = column[start:stop]
            below, upto = (start + int(np.searchsorted(held, np.int64(value), side)) for side in ("left", "right"))
        else:
            below = bisect_left(range(len(keys)), (value, 0), start, stop, key=lambda at: (column[at].as_py(), 0))
            upto = bisect_left(range(len(keys)), (value, 1), start, stop, key=lambda at: (column[at].as_py(), 0))
        start, stop = below, upto
    return start, stop


def search(keys: KeyColumns, wanted: KeyColumns, side: Side = "left") -> Words:
    """Where each wanted key would be inserted into sorted keys. Wanted keys that are sorted too are found faster."""
    single, wanted_single = keys.single, wanted.single
    if single is not None and wanted_single is not None:
        return _search_words(single, wanted_single, side)
    steps = len(keys).bit_length()
    if len(wanted) * steps > len(keys) + len(wanted):
        both = ranks(concat([keys, wanted]))
        return _search_words(both[: len(keys)], both[len(keys) :], side)
    return _bisect(keys, wanted, side, steps)


def _search_words(words: Words, wanted: Words, side: Side) -> Words:
    """Block by block, each within the stretch that its first and the next block's first wanted key span."""
    if len(wanted) <= _BLOCK or not bool((wanted[1:] >= wanted[:-1]).all()):
        return np.searchsorted(words, wanted, side)
    edges = np.append(np.searchsorted(words, wanted[::_BLOCK], side), len(words))
    found = np.empty(len(wanted), np.int64)
    for block, start in enumerate(range(0, len(wanted), _BLOCK)):
        low, high = edges[block], edges[block + 1]
        found[start : start + _BLOCK] = np.searchsorted(words[low:high], wanted[start : start + _BLOCK], side) + low
    return found


def ranks(keys: KeyColumns) -> Words:
    """For each row a number in the same order."""
    codes, exact = codes_of(keys)
    if exact:
        exactly: Words = (codes ^ _SIGN).view(np.int64)
        return exactly
    order = sort_indices(keys)
    new_key = np.zeros(len(keys), np.int64)
    new_key[segment_starts(keys.take(order))] = 1
    found = np.empty(len(keys), np.int64)
    found[order] = np.cumsum(new_key)
    return found


def _bisect(keys: KeyColumns, wanted: KeyColumns, side: Side, steps: int) -> Words:
    """All wanted keys halve their stretches together: few wanted keys touch few of the others."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(keys), np.int64)
    if not len(keys):
        return low
    for _ in range(steps):
        middle = (low + high) // 2
        probe = keys.take(np.minimum(middle, len(keys) - 1))
        goes_right = less(probe, wanted) if side == "left" else ~less(wanted, probe)
        goes_right &= low < high
        low = np.where(goes_right, middle + 1, low)
        high = np.where(goes_right, high, middle)
    return low


def match(keys: KeyColumns, wanted: KeyColumns, *, last: bool = False) -> tuple[Words, Words]:
    """(positions in `wanted`, positions in `keys`) of the keys that both hold; of equal rows in `keys` the first, or
    the last."""
    if not len(keys) or not len(wanted):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = search(keys, wanted, "right") - 1 if last else search(keys, wanted)
    single, wanted_single = keys.single, wanted.single
    if single is not None and wanted_single is not None:
        hits = np.flatnonzero(single[np.clip(at, 0, len(keys) - 1)] == wanted_single)
        return hits, at[hits]
    inside = np.flatnonzero((at >= 0) & (at < len(keys)))
    hits = inside[equal(keys.take(at[inside]), wanted.take(inside))]
    return hits, at[hits]
