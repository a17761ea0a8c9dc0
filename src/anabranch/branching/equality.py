"""Whether values are the same, row by row: NULL is equal to NULL and NaN to NaN, at any depth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags = npt.NDArray[np.bool_]


def unequal(one: pa.Array, other: pa.Array) -> Flags:
    """Which rows of two arrays of one type differ."""
    if pa.types.is_nested(one.type):
        return _nested_unequal(one, other)
    same = pc.fill_null(pc.equal(one, other), False)
    same = pc.or_(same, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(one.type):
        nan = pc.and_(pc.fill_null(pc.is_nan(one), False), pc.fill_null(pc.is_nan(other), False))
        same = pc.or_(same, nan)
    return ~_flags(same)


def _nested_unequal(one: pa.Array, other: pa.Array) -> Flags:
    differ: Flags = _flags(one.is_valid()) != _flags(other.is_valid())
    both = np.flatnonzero(_flags(one.is_valid()) & _flags(other.is_valid()))
    one, other = one.take(pa.array(both)), other.take(pa.array(both))
    compare = _structs_unequal if pa.types.is_struct(one.type) else _lists_unequal
    differ[both] |= compare(one, other)
    return differ


def _structs_unequal(one: pa.Array, other: pa.Array) -> Flags:
    differ = np.zeros(len(one), bool)
    for mine, theirs in zip(one.flatten(), other.flatten(), strict=True):
        differ |= unequal(mine, theirs)
    return differ


def _lists_unequal(one: pa.Array, other: pa.Array) -> Flags:
    """Of lists and maps; maps by the order of their entries. Elements are compared where the lengths are the same."""
    lengths = np.diff(one.offsets.to_numpy())
    differ: Flags = lengths != np.diff(other.offsets.to_numpy())
    alike = np.flatnonzero(~differ)
    owners = np.repeat(alike, lengths[alike])
    for mine, theirs in zip(_elements(one.take(pa.array(alike))), _elements(other.take(pa.array(alike))), strict=True):
        differ[owners[unequal(mine, theirs)]] = True
    return differ


def _elements(lists: pa.Array) -> tuple[pa.Array, ...]:
    return (lists.keys, lists.items) if pa.types.is_map(lists.type) else (lists.flatten(),)


def _flags(column: pa.Array) -> Flags:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
