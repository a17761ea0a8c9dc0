"""Bounds: keys as the catalog keeps them, compared in plain Python without reading a file.

A bound is a tuple of JSON scalars, one for each key column, and bounds compare as Python compares tuples: integers for
numbers, dates, times and booleans (decimals unscaled; floats by their ordered bits), text for strings, hexadecimal
text for binaries. A bound may be shorter than a key: it then stands below all keys that begin with it. Long text is
cut, the first key downward and the last key upward, so bounds may say more than a part holds, never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from anabranch.errors import DataError
from anabranch.keyed.key_columns import KeyColumns, Row, is_text, is_wide, ordered_floats
from anabranch.model import types
from anabranch.model.types import DataType

Bound: TypeAlias = tuple[int | str, ...]

MAX_TEXT = 64
"""Characters (for binaries: bytes) of a key column that a bound keeps, where cutting it does no harm."""

_HALF = 1 << 64
_LOWEST = -(1 << 63)
_MICROS_OF_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class PartKeys:
    """What the catalog keeps of a part's keys: no key of row group i is below `firsts[i]`, none before it is above,
    and none of the part is above `last`."""

    firsts: tuple[Bound, ...]
    last: Bound

    def to_json(self) -> list[object]:
        return [[list(first) for first in self.firsts], list(self.last)]

    @staticmethod
    def from_json(body: Any) -> PartKeys:
        firsts, last = body
        return PartKeys(tuple(tuple(first) for first in firsts), tuple(last))


def part_keys(keys: KeyColumns, row_groups: Sequence[int]) -> PartKeys:
    """The bounds of a part's sorted keys; `row_groups` are the rows of each row group, none of them empty."""
    starts = np.cumsum([0, *row_groups])[:-1].tolist()
    firsts = [_cut(bound(keys, start), bound(keys, start - 1) if start else None, keys.types) for start in starts]
    return PartKeys(tuple(firsts), _raised(bound(keys, len(keys) - 1), keys.types))


# --- bounds and rows --------------------------------------------------------------------------------------------------


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"a key to look for, X'{value.hex().upper()}', is not UTF-8. Make it valid (make_valid_utf8 in SQL)."
        ) from error


def bound(keys: KeyColumns, at: int) -> Bound:
    """The whole key of one row."""
    values = list(keys.row(at))
    found: list[int | str] = []
    for type_ in keys.types:
        value = values.pop(0)
        if isinstance(value, bytes):
            found.append(value.hex() if _is_binary(type_) else _text(value))
        elif is_wide(type_):
            low = values.pop(0)
            assert isinstance(low, int)
            found.append(value * _HALF + low - _LOWEST)
        else:
            found.append(value)
    return tuple(found)


def row_of(bound: Bound, key_types: Sequence[pa.DataType]) -> Row:
    """The normal form of a bound; as short as the bound is."""
    found: list[int | bytes] = []
    for value, type_ in zip(bound, key_types, strict=False):
        if isinstance(value, str):
            found.append(_bytes(value, type_))
        elif is_wide(type_):
            high, low = divmod(value, _HALF)
            found += [high, low + _LOWEST]
        else:
            found.append(value)
    return tuple(found)


def columns_of(bounds: Sequence[Bound], key_types: Sequence[pa.DataType]) -> KeyColumns:
    """Bounds as rows; what a short bound lacks is filled with the smallest there is."""
    rows = [row_of(bound, key_types) for bound in bounds]
    smallest: list[int | bytes] = []
    for type_ in key_types:
        smallest += [b""] if is_text(type_) else [_LOWEST] * (2 if is_wide(type_) else 1)
    filled = [row + tuple(smallest[len(row) :]) for row in rows]
    columns = [
        pa.array([row[at] for row in filled], pa.large_binary())
        if isinstance(least, bytes)
        else np.array([row[at] for row in filled], np.int64)
        for at, least in enumerate(smallest)
    ]
    return KeyColumns(tuple(key_types), tuple(columns))


# --- cutting ----------------------------------------------------------------------------------------------------------


def _cut(first: Bound, before: Bound | None, key_types: Sequence[pa.DataType]) -> Bound:
    """A first key without the end of a long text, but still above the key before."""
    for at, (value, type_) in enumerate(zip(first, key_types, strict=True)):
        other = before[at] if before is not None else None
        if value == other:
            continue  # only what follows tells the two keys apart
        if isinstance(value, str) and len(value) > _limit(type_):
            differ = _common(value, other) + 1 if isinstance(other, str) else 0
            kept = max(_limit(type_), differ)
            return (*first[:at], value[: kept + kept % 2 if _is_binary(type_) else kept])
        before = None
    return first


def _limit(type_: pa.DataType) -> int:
    return 2 * MAX_TEXT if _is_binary(type_) else MAX_TEXT  # a byte is two digits


def _common(a: str, b: str) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _raised(last: Bound, key_types: Sequence[pa.DataType]) -> Bound:
    """A short bound above every key that begins like a long last key."""
    for at, (value, type_) in enumerate(zip(last, key_types, strict=True)):
        if isinstance(value, str) and len(value) > _limit(type_):
            above = _text_above(value, type_)
            return last if above is None else (*last[:at], above)
    return last


def _text_above(value: str, type_: pa.DataType) -> str | None:
    if _is_binary(type_):
        kept = bytes.fromhex(value)[:MAX_TEXT].rstrip(b"\xff")
        return (kept[:-1] + bytes([kept[-1] + 1])).hex() if kept else None
    text = value[:MAX_TEXT].rstrip("\U0010ffff")
    if not text:
        return None
    following = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if following == 0xD800 else following)  # surrogates are no characters


def _is_binary(type_: pa.DataType) -> bool:
    return type_ in (pa.binary(), pa.large_binary(), pa.binary_view())


def _bytes(value: str, type_: pa.DataType) -> bytes:
    return bytes.fromhex(value) if _is_binary(type_) else value.encode()


# --- widening ---------------------------------------------------------------------------------------------------------


def widened(bound: Bound, narrow: Sequence[DataType], wide: Sequence[DataType]) -> Bound:
    """A bound of a part that was written before its key columns were widened; the order stays."""
    return tuple(_widened(value, old, new) for value, old, new in zip(bound, narrow, wide, strict=False))


def _widened(value: int | str, old: DataType, new: DataType) -> int | str:
    if isinstance(value, str) or old == new or old == types.FLOAT:
        return value
    if isinstance(new, types.Decimal):
        return value * int(10 ** (new.scale - (old.scale if isinstance(old, types.Decimal) else 0)))
    if new == types.DOUBLE:
        return int(ordered_floats(np.array([value], np.float64))[0])
    return value * _MICROS_OF_DAY if new == types.TIMESTAMP_NTZ else value
