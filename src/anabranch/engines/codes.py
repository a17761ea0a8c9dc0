"""Values as numbers: codes that sort as the values do, and codes that are equal where the values are.

Order is Spark's: false before true, text and bytes by byte, NaN above all numbers, -0.0 equal to 0.0. NULL comes first,
by a code of its own, where a column has any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.feed import Mask, Numbers, Picks, validity
from anabranch.storage.arrow_types import without_negative_zeros

Words = npt.NDArray[np.uint64]
_SIGN = np.uint64(1 << 63)
_NAN = np.uint64(0x7FF8000000000000)


@dataclass(frozen=True)
class OrderCodes:
    """Words that compare as the values do, the most significant first; `exact` if equal words mean equal values."""

    words: tuple[Words, ...]
    exact: bool


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as one array."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def fixed(array: pa.Array) -> Numbers:
    """The values of a fixed-width array, whatever stands where it is NULL; times and dates as integers."""
    if pa.types.is_boolean(array.type):
        flags: Numbers = array.fill_null(False).to_numpy(zero_copy_only=False)
        return flags
    width = array.type.bit_width // 8
    kind = "f" if pa.types.is_floating(array.type) else "i"
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype=f"{kind}{width}")
    return np.frombuffer(buffer, dtype=f"{kind}{width}", count=array.offset + len(array))[array.offset :]


def is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))


def order_codes(array: pa.Array, *, descending: bool = False) -> OrderCodes:
    """Codes of the values in their order, or in the reverse of it; NULL comes first either way."""
    valid = validity(array) if array.null_count else None
    words, exact = _text_words(array) if is_text(array.type) else (_fixed_words(array), True)
    if descending:
        words = tuple(~word for word in words)
    if valid is not None:
        words = (valid.astype(np.uint64), *(np.where(valid, word, np.uint64(0)) for word in words))
    return OrderCodes(words, exact)


def _fixed_words(array: pa.Array) -> tuple[Words, ...]:
    type_ = array.type
    if pa.types.is_decimal(type_):
        low, high = decimal_words(array)
        return (low.view(np.uint64) ^ _SIGN,) if type_.precision <= 18 else (high.view(np.uint64) ^ _SIGN, low)
    values = fixed(array)
    if pa.types.is_floating(type_):
        values = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        bits = np.where(np.isnan(values), _NAN, values.view(np.uint64))
        return (np.where(bits & _SIGN, ~bits, bits | _SIGN),)
    return (values.astype(np.int64).view(np.uint64) ^ _SIGN,)


def decimal_words(array: pa.Array) -> tuple[Words, npt.NDArray[np.int64]]:
    """Low and high half of 128-bit decimals."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    halves = np.frombuffer(buffer, dtype=np.uint64, count=2 * (array.offset + len(array))).reshape(-1, 2)
    halves = halves[array.offset :]
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]).view(np.int64)


def _text_words(array: pa.Array) -> tuple[tuple[Words, ...], bool]:
    """The first bytes after the common prefix. Up to seven and the length tell all; else eight, and ties are open."""
    if array.null_count == len(array):
        return (np.zeros(len(array), dtype=np.uint64),), True
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32, count=array.offset + len(array) + 1)[array.offset :]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    data = np.frombuffer(array.buffers()[2] or b"\0", dtype=np.uint8)
    prefix = _common_prefix(array)
    starts, lengths = starts + prefix, np.maximum(lengths - prefix, 0)
    longest = int(lengths.max(initial=0))
    exact = longest <= 7
    word = np.zeros(len(array), dtype=np.uint64)
    for place in range(min(longest, 8)):
        inside = lengths > place
        byte = data[np.where(inside, starts + place, 0)] if len(data) else 0
        word |= np.where(inside, byte, 0).astype(np.uint64) << np.uint64(56 - 8 * place)
    if exact:
        word |= lengths.astype(np.uint64)
    return (word,), exact


def _common_prefix(array: pa.Array) -> int:
    """How many bytes all values begin with alike: as many as the least and the greatest do."""
    bounds = pc.min_max(array if pa.types.is_binary(array.type) else array.cast(pa.binary()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    same = 0
    while same < len(low) and same < len(high) and low[same] == high[same]:
        same += 1
    return same


def packed(words: tuple[Words, ...]) -> list[npt.NDArray[np.int64]]:
    """The same order in as few words as the values' ranges allow."""
    done: list[npt.NDArray[np.int64]] = []
    spans = 1 << 63  # nothing joins the first word
    for word in words:
        low, high = (int(word.min()), int(word.max())) if len(word) else (0, 0)
        span = high - low + 1
        if span > 1 << 62:
            done.append((word ^ _SIGN).view(np.int64))
            spans = 1 << 63
            continue
        digits = (word - np.uint64(low)).view(np.int64)
        if spans * span <= 1 << 62:
            done[-1] = done[-1] * span + digits
            spans *= span
        else:
            done.append(digits)
            spans = span
    return done


def sorting(words: list[npt.NDArray[np.int64]], size: int) -> Picks:
    """The stable order of these words, the first the most significant."""
    if not words:
        return np.arange(size)
    if len(words) > 1:
        return np.lexsort(words[::-1])
    word = words[0]
    falls = int(np.count_nonzero(word[1:] < word[:-1]))
    if not falls:
        return np.arange(size)
    bits, low = size.bit_length(), int(word.min())
    if falls * 16 > size and int(word.max()) - low < 1 << (63 - bits):
        # Far from sorted: values with their positions behind them sort twice as fast as positions by their values.
        joined = ((word - low) << bits) | np.arange(size)
        joined.sort()
        return joined & ((1 << bits) - 1)
    return np.argsort(word, kind="stable")  # merges what is sorted already: runs, one after the other


def ranks(columns: list[pa.Array]) -> Picks:
    """A number for each row that compares as the rows of these columns do; equal rows have equal numbers."""
    size = len(columns[0])
    words: list[Words] = []
    for column in columns:
        codes = order_codes(column)
        words += codes.words if codes.exact else (_text_ranks(column),)
    short = packed(tuple(words))
    if len(short) == 1:
        return short[0]
    order = sorting(short, size)
    steps = np.zeros(size, dtype=bool)
    for word in short:
        steps[1:] |= word[order][1:] != word[order][:-1]
    found = np.empty(size, dtype=np.int64)
    found[order] = np.cumsum(steps)
    return found


def _text_ranks(column: pa.Array) -> Words:
    """Ranks of texts, from 1; NULL is 0."""
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, dtype=np.uint64)
    rank[order] = np.arange(1, len(order) + 1, dtype=np.uint64)
    rank[-1] = 0
    found: Words = rank[encoded.indices.fill_null(-1).to_numpy()]
    return found


def identities(values: pa.Array) -> Picks:
    """A number for each value, equal where the values are; NULL has one too."""
    type_ = values.type
    if pa.types.is_struct(type_):
        parts = [validity(values).astype(np.int64), *(identities(child) for child in values.flatten())]
        return _joined(parts)
    if pa.types.is_nested(type_):
        return _list_identities(values)
    codes: Picks = without_negative_zeros(values).dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _list_identities(values: pa.Array) -> Picks:
    """Of lists and maps, which Arrow does not hash: lists of one length are rows of numbers."""
    valid = validity(values)
    lists = values.filter(pa.array(valid))
    if pa.types.is_map(values.type):
        elements = _joined([identities(lists.keys), identities(lists.items)])
    else:
        elements = identities(lists.flatten())
    offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    lengths, found, used = np.diff(offsets), np.zeros(len(lists), np.int64), 0
    for length in np.unique(lengths):
        alike = np.flatnonzero(lengths == length)
        rows = elements[offsets[alike][:, None] + np.arange(length)]
        _, codes = np.unique(rows, axis=0, return_inverse=True) if length else (None, np.zeros(len(alike), np.int64))
        found[alike] = codes.reshape(-1) + used
        used += int(codes.max()) + 1
    codes = np.full(len(values), -1, np.int64)
    codes[valid] = found
    return codes


def _joined(parts: list[Picks]) -> Picks:
    joined = parts[0]
    for part in parts[1:]:
        width = int(part.max(initial=0)) + 2
        joined = joined * width + part + 1
        joined = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return joined


def differs(array: pa.Array) -> Mask:
    """For each row but the first, whether its value is another than the one before."""
    if is_text(array.type):
        before, after = array.slice(0, len(array) - 1), array.slice(1)
        other: Mask = pc.not_equal(after, before).fill_null(False).to_numpy(zero_copy_only=False)
        if array.null_count:
            valid = validity(array)
            other = other | (valid[1:] != valid[:-1])
        return other
    if not array.null_count and not pa.types.is_floating(array.type) and not pa.types.is_decimal(array.type):
        values = fixed(array)
        return np.asarray(values[1:] != values[:-1])
    found = np.zeros(max(len(array) - 1, 0), dtype=bool)
    for word in order_codes(array).words:
        found |= word[1:] != word[:-1]
    return found
