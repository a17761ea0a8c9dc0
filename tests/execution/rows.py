"""Rows of Arrow tables as plain values that compare exactly: NaN equals itself, 0.0 is not -0.0, times are numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from pyarrow import types as pat


def plain(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array, hashable; times beyond Python's calendar are fine."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in plain(chunk)]
    kind = array.type
    if pat.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pat.is_date(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    elif pat.is_struct(kind):
        fields = [plain(array.field(place)) for place in range(kind.num_fields)]
        rows = list(zip(*fields, strict=True))
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    elif pat.is_map(kind):
        return [None if item is None else tuple(zip(*map(plain, item), strict=True)) for item in _items(array)]
    elif pat.is_list(kind) or pat.is_large_list(kind):
        return [None if item is None else tuple(plain(item[0])) for item in _items(array)]
    values = array.to_pylist()
    return [repr(value) for value in values] if pat.is_floating(kind) else values


def _items(array: pa.Array) -> list[tuple[pa.Array, ...] | None]:
    children = (array.keys, array.items) if pat.is_map(array.type) else (array.values,)
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [
        tuple(child.slice(offsets[i], offsets[i + 1] - offsets[i]) for child in children) if valid[i] else None
        for i in range(len(array))
    ]


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset."""
    return Counter(zip(*[plain(column) for column in table.columns], strict=True))
