"""Unions of sketches and bitmaps, which are opaque bytes: each is read once, one segment after the other.

Bitmaps are in the portable Roaring format. Sketches are in the Apache DataSketches format and need `datasketches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.engines.feed import Feed, runs
from anabranch.errors import AnabranchError, DataError

_SKETCH_SIZE = 12
"""The logarithm of the number of buckets that a union keeps: the default of the DataSketches library."""


def rbm32(feed: Feed) -> pa.Array:
    from pyroaring import BitMap

    return _united(feed, lambda parts: bytes(reduce(or_, map(BitMap.deserialize, parts)).serialize()))


def rbm64(feed: Feed) -> pa.Array:
    from pyroaring import BitMap64

    return _united(feed, lambda parts: bytes(reduce(or_, map(BitMap64.deserialize, parts)).serialize()))


def theta_sketch(feed: Feed) -> pa.Array:
    library = _library(feed)

    def union(parts: list[bytes]) -> bytes:
        united = library.theta_union()
        for part in parts:
            united.update(library.compact_theta_sketch.deserialize(part))
        return bytes(united.get_result().serialize())

    return _united(feed, union)


def hll_sketch(feed: Feed) -> pa.Array:
    library = _library(feed)

    def union(parts: list[bytes]) -> bytes:
        united = library.hll_union(_SKETCH_SIZE)
        for part in parts:
            united.update(library.hll_sketch.deserialize(part))
        return bytes(united.get_result(library.tgt_hll_type.HLL_4).serialize_compact())

    return _united(feed, union)


def _library(feed: Feed) -> Any:
    try:
        import datasketches
    except ImportError as error:
        raise AnabranchError(
            f"the function '{feed.rule.function}' of column '{feed.column}' needs the package 'datasketches'. "
            "Install it: pip install datasketches."
        ) from error
    return datasketches


def _united(feed: Feed, union: Callable[[list[bytes]], bytes]) -> pa.Array:
    every: list[bytes | None] = [None] * feed.count
    for segment, parts in _parts(feed):
        try:
            every[segment] = union(parts)
        except Exception as error:  # whatever the library raises for bytes that it cannot read
            raise DataError(
                f"column '{feed.column}' holds a value that is no {feed.rule.function}: {error}. Nothing was written."
            ) from error
    return pa.array(every, type=feed.values.type)


def _parts(feed: Feed) -> Iterator[tuple[int, list[bytes]]]:
    rows = feed.ordered(feed.rows())
    owner, values = feed.owner[rows], feed.values.take(pa.array(rows))
    ends = np.append(runs(owner), len(rows))
    for start, end in pairwise(ends):
        yield int(owner[start]), values.slice(start, end - start).to_pylist()
