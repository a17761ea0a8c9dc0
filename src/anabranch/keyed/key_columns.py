"""Key columns in normal form: what Arrow holds, as arrays whose plain order is the order of keys.

Integers, dates, times, booleans, decimals of up to 18 digits and floats become one int64 array each (-0.0 as 0.0, NaN
above everything); wider decimals become two, the upper half first; strings and binaries become bytes, which order as
Spark orders them. Rows compare by these columns from left to right, so keys of any types compare in one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.errors import DataError, UnsupportedType

Words: TypeAlias = npt.NDArray[np.int64]
Row: TypeAlias = tuple[int | bytes, ...]
"""A key in normal form; keys compare as Python compares these tuples."""

_SIGN = np.int64(-(2**63))
_MAGNITUDE = np.int64(2**63 - 1)
_NARROW_DECIMAL = 18
_TEXT = frozenset((pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()))


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The keys of some rows. `columns` are int64 or large_binary, all of one length and without nulls."""

    types: tuple[pa.DataType, ...]
    columns: tuple[Words | pa.Array, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def single(self) -> Words | None:
        """The one integer column, if the key is no more than that: the fast path of everything."""
        first = self.columns[0]
        return first if len(self.columns) == 1 and isinstance(first, np.ndarray) else None

    def row(self, at: int) -> Row:
        return tuple(int(c[at]) if isinstance(c, np.ndarray) else c[at].as_py() for c in self.columns)

    def slice(self, start: int, stop: int) -> KeyColumns:
        parts = (c[start:stop] if isinstance(c, np.ndarray) else c.slice(start, stop - start) for c in self.columns)
        return KeyColumns(self.types, tuple(parts))

    def take(self, at: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> KeyColumns:
        """The rows at these positions, or those that a boolean mask picks."""
        places = np.flatnonzero(at) if at.dtype == np.bool_ else at
        taken = (c[places] if isinstance(c, np.ndarray) else c.take(pa.array(places)) for c in self.columns)
        return KeyColumns(self.types, tuple(taken))


def key_columns(columns: Sequence[pa.Array | pa.ChunkedArray], *, nullable: bool = False) -> KeyColumns:
    """The normal form of a key's columns, in the key's order. `nullable`: NULL is a value too, below all others; every
    column then has one before it that says whether it is there."""
    whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    if nullable:
        whole = [part for column in whole for part in (column.is_valid().cast(pa.int8()), _without_nulls(column))]
    if any(column.null_count for column in whole):
        raise DataError("a key column holds NULL. A primary key needs a value in each of its columns.")
    normal = [part for column in whole for part in normal_form(column)]
    return KeyColumns(tuple(column.type for column in whole), tuple(normal))


def _without_nulls(column: pa.Array) -> pa.Array:
    """Some value in the place of NULLs; the column before this one tells them apart."""
    if not column.null_count:
        return column
    some: object = 0
    if is_text(column.type):
        some = b"" if pa.types.is_binary(column.type) else ""
    elif pa.types.is_date(column.type):
        return column.fill_null(pa.scalar(0, pa.int32()).cast(column.type))
    elif pa.types.is_decimal(column.type):
        return column.fill_null(pa.scalar(Decimal(0), column.type))
    return column.fill_null(pa.scalar(some).cast(column.type))


def concat(many: Sequence[KeyColumns]) -> KeyColumns:
    """The rows of all, one after another; there is at least one, and all have the same types."""
    if len(many) == 1:
        return many[0]
    joined = (
        np.concatenate(same) if isinstance(same[0], np.ndarray) else pa.concat_arrays(same)
        for same in zip(*(keys.columns for keys in many), strict=True)
    )
    return KeyColumns(many[0].types, tuple(joined))


def normal_form(column: pa.Array) -> tuple[Words | pa.Array, ...]:
    """One column as the arrays that order it; what stands for a null is not defined."""
    type_ = column.type
    kinds = pa.types
    if kinds.is_dictionary(type_):
        return normal_form(column.dictionary_decode())
    if kinds.is_integer(type_) and type_ != pa.uint64():
        return (_filled(column).astype(np.int64, copy=False),)
    if kinds.is_boolean(type_):
        return (_filled(column.cast(pa.int8())).astype(np.int64),)
    if kinds.is_date32(type_):
        return (_filled(column.view(pa.int32())).astype(np.int64),)
    if kinds.is_timestamp(type_):
        return (_filled(column.view(pa.int64())),)
    if kinds.is_floating(type_):
        return (ordered_floats(_filled(column).astype(np.float64)),)
    if kinds.is_decimal(type_):
        return _decimal(column.cast(pa.decimal128(type_.precision, type_.scale)))
    if is_text(type_):
        return (column.cast(pa.large_binary()),)
    raise UnsupportedType(str(type_), "a key column")


def is_text(type_: pa.DataType) -> bool:
    """Whether the normal form is bytes."""
    return type_ in _TEXT


def is_wide(type_: pa.DataType) -> bool:
    """Whether the normal form is two columns."""
    return bool(pa.types.is_decimal(type_)) and type_.precision > _NARROW_DECIMAL


def _filled(column: pa.Array) -> npt.NDArray[np.generic]:
    filled: npt.NDArray[np.generic] = (column.fill_null(0) if column.null_count else column).to_numpy(
        zero_copy_only=False
    )
    return filled


def ordered_floats(values: npt.NDArray[np.float64]) -> Words:
    """Doubles as integers in the same order: negative ones have all but their sign flipped."""
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN of the many; -0.0 + 0.0 is 0.0
    bits = canonical.view(np.int64)
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def _decimal(column: pa.Array) -> tuple[Words, ...]:
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    low = halves[:, 0]
    if not is_wide(column.type):
        return (np.ascontiguousarray(low),)
    return np.ascontiguousarray(halves[:, 1]), low ^ _SIGN  # the lower half is unsigned
