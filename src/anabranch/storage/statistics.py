"""Bounds of a part's columns: taken from the Parquet writer, kept in the catalog as JSON, read back for pruning.

Encoded values are JSON scalars: integers and booleans as they are, dates as days, timestamps as microseconds, decimals
as text. A bound that would mislead is left out (null): it may widen what is read, never narrow it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow.parquet as pq

from anabranch.model import types
from anabranch.model.part import ColumnStats, Part, bounds_of
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType

MAX_TEXT = 64
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)


def encode(value: Any, type_: DataType) -> Any:
    """A Python value as JSON."""
    return None if value is None else _encoder(type_)(value)


@lru_cache(maxsize=256)
def _encoder(type_: DataType) -> Callable[[Any], Any]:
    if type_ == types.DATE:
        return lambda value: (value - _EPOCH.date()).days if isinstance(value, date) else int(value)
    if type_ == types.TIMESTAMP:
        return lambda value: _micros(value - _EPOCH_UTC)
    if type_ == types.TIMESTAMP_NTZ:
        return lambda value: _micros(value - _EPOCH)
    if isinstance(type_, types.Decimal):
        return str
    if type_ == types.BINARY:
        return bytes.hex
    return _number


def _number(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else str(value) if math.isinf(value) else value + 0.0  # -0.0 equals 0.0


def decode(value: Any, type_: DataType) -> Any:
    """The Python value of an encoded one."""
    return None if value is None else _decoder(type_)(value)


@lru_cache(maxsize=256)
def _decoder(type_: DataType) -> Callable[[Any], Any]:
    if type_ == types.DATE:
        return lambda value: _EPOCH.date() + timedelta(days=value)
    if type_ == types.TIMESTAMP:
        return lambda value: _EPOCH_UTC + timedelta(microseconds=value)
    if type_ == types.TIMESTAMP_NTZ:
        return lambda value: _EPOCH + timedelta(microseconds=value)
    if isinstance(type_, types.Decimal):
        return Decimal
    if type_ in (types.FLOAT, types.DOUBLE):
        return float
    if type_ == types.BINARY:
        return bytes.fromhex
    return lambda value: value


def _micros(delta: timedelta) -> int:
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def collect(metadata: pq.FileMetaData, schema: Schema, with_nan: frozenset[str] = frozenset()) -> str:
    """The JSON that Part.stats keeps.

    Arrow's bounds leave NaN out, so its writer names the physical float columns that hold one (`with_nan`); in the
    bounds that Spark's writer makes, NaN stands as the largest value.
    """
    leaves = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns: dict[str, list[Any]] = {}
    for column in schema.columns:
        leaf = leaves.get(column.physical)
        if leaf is None or not types.is_atomic(column.type):
            continue
        chunks = [group.column(leaf).statistics for group in groups]
        columns[column.physical] = _bounds(chunks, column.type, nan=column.physical in with_nan)
    body = {"row_groups": [group.num_rows for group in groups], "columns": columns}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _bounds(chunks: list[Any], type_: DataType, *, nan: bool) -> list[Any]:
    if any(chunk is None or not chunk.has_null_count for chunk in chunks):
        return [None, None, None]
    nulls = sum(chunk.null_count for chunk in chunks)
    filled = [chunk for chunk in chunks if chunk.num_values]
    if type_ == types.BINARY or not filled or not all(chunk.has_min_max for chunk in filled):
        return [None, "NaN" if nan else None, nulls]
    try:
        ends = [(chunk.min, chunk.max) for chunk in filled]
    except (OverflowError, ValueError):  # a date or timestamp that Python's calendar cannot hold, text that is none
        return [None, None, nulls]
    nan = nan or any(high != high for _, high in ends)
    lows = [low for low, _ in ends if low == low]
    if nan:
        return [encode(min(lows), type_) if lows else None, "NaN", nulls]
    low, high = min(lows), max(high for _, high in ends)
    if type_ == types.STRING:
        return [low[:MAX_TEXT], high if len(high) <= MAX_TEXT else None, nulls]
    return [encode(low, type_), encode(high, type_), nulls]


def nulls(metadata: pq.FileMetaData, physical: str) -> int | None:
    """How many NULLs a column of an atomic type has; None: the file does not say."""
    count = 0
    for group in range(metadata.num_row_groups):
        chunks = (metadata.row_group(group).column(leaf) for leaf in range(metadata.num_columns))
        chunk = next(chunk for chunk in chunks if chunk.path_in_schema == physical).statistics
        if chunk is None or not chunk.has_null_count:
            return None
        count += chunk.null_count
    return count


def bounds_by_label(part: Part, written: Schema, columns: Sequence[Column]) -> Mapping[str, ColumnStats]:
    """What pruning reads: label -> decoded bounds, for the columns whose bounds this part knows.

    Bounds are decoded by the type that the part was `written` with; of the widenings only a date that became a
    timestamp changes how they compare.
    """
    found = {}
    for column in columns:
        old = written.stored_as(column)
        stats = bounds_of(part, old.physical) if old is not None else None
        if stats is None or old is None:
            continue
        low, high = decode(stats.min, old.type), decode(stats.max, old.type)
        if old.type == types.DATE and column.type == types.TIMESTAMP_NTZ:
            low, high = (day and datetime(day.year, day.month, day.day) for day in (low, high))
        found[column.label] = ColumnStats(low, high, stats.nulls, stats.rows)
    return found
