"""Masks: dead rows as bitmaps that Spark's own scan tests, one bit a row.

flat     the words of all parts in one array, which a scalar subquery makes a constant of the scan's code; a second
         array says where the words of each slot begin
chunked  where that array would be large, or the slots lie far apart: chunks of `CHUNK_BITS` rows, joined by broadcast;
         chunks without dead rows are left out, so that a few dead rows in a very large table cost little
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.model.part import Part
from anabranch.storage.row_ids import words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SLOT = "slot"
# No column of a user can have these names: they hold a control character.
POSITION, MASKED, CHUNK, WORDS, STARTS = "\x01position", "\x01slot", "\x01chunk", "\x01words", "\x01starts"
CHUNK_BITS = 16
FLAT_LIMIT = 16 << 20
SLOT_SPAN = 1 << 17


def hide(frame: DataFrame, spark: SparkSession, dead: Sequence[tuple[Part, BitMap]]) -> DataFrame:
    """`frame` has the columns SLOT and POSITION, and only rows of these parts; what is left are its live rows."""
    return _flat(frame, spark, dead) if is_flat([part for part, _ in dead]) else _chunked(frame, spark, dead)


def is_flat(parts: Sequence[Part]) -> bool:
    slots = [part.slot for part in parts]
    return sum(part.rows for part in parts) // 8 <= FLAT_LIMIT and max(slots) - min(slots) < SLOT_SPAN


def _flat(frame: DataFrame, spark: SparkSession, dead: Sequence[tuple[Part, BitMap]]) -> DataFrame:
    """No join: it would look the slot up and make an array object for every row."""
    table = flat_table(dead)
    mask = spark.createDataFrame(table, schema=_schema(table))
    # Two subqueries: each is shipped with the tasks, and one array used twice would be shipped twice.
    arrays = [mask.select(f"`{name}`").scalar().alias(name) for name in (STARTS, WORDS)]
    first = min(part.slot for part, _ in dead)
    start = f"`{STARTS}`[cast({SLOT} - {first}L AS int)]"
    word = f"`{WORDS}`[cast({start} + shiftright(`{POSITION}`, 6) AS int)]"
    return frame.select("*", *arrays).where(f"getbit({word}, cast(`{POSITION}` & 63 AS int)) = 0")


def _chunked(frame: DataFrame, spark: SparkSession, dead: Sequence[tuple[Part, BitMap]]) -> DataFrame:
    from pyspark.sql import functions as F

    table = chunk_table(dead)
    mask = F.broadcast(spark.createDataFrame(table, schema=_schema(table)))
    matches = F.expr(f"{SLOT} = `{MASKED}` AND shiftright(`{POSITION}`, {CHUNK_BITS}) = `{CHUNK}`")
    word = f"`{WORDS}`[cast(shiftright(`{POSITION}` & {(1 << CHUNK_BITS) - 1}, 6) AS int)]"
    live = f"getbit({word}, cast(`{POSITION}` & 63 AS int)) = 0"
    return frame.join(mask, matches, "left").where(f"`{WORDS}` IS NULL OR {live}")


def _schema(table: pa.Table) -> StructType:
    """Words are never NULL, and Spark's code is shorter if it knows."""
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    array = ArrayType(LongType(), containsNull=False)
    types = {name: array if name in (STARTS, WORDS) else LongType() for name in table.column_names}
    return StructType([StructField(name, type_, False) for name, type_ in types.items()])


def flat_table(dead: Sequence[tuple[Part, BitMap]]) -> pa.Table:
    """One row. The words of a part begin at `starts[slot - the lowest slot]`; what stands at gaps is never used."""
    arrays = [words(positions, part.rows) for part, positions in dead]
    slots = np.array([part.slot for part, _ in dead])
    starts = np.zeros(slots.max() - slots.min() + 1, np.int64)
    starts[slots - slots.min()] = np.cumsum([0, *map(len, arrays[:-1])])
    return pa.table({STARTS: _lists([starts]), WORDS: _lists([np.concatenate(arrays)])})


def chunk_table(dead: Sequence[tuple[Part, BitMap]]) -> pa.Table:
    slots, chunks, arrays = [], [], []
    per_chunk = (1 << CHUNK_BITS) // 64
    for part, positions in dead:
        bits = words(positions, part.rows)
        bits = np.concatenate([bits, np.zeros(-len(bits) % per_chunk, np.int64)]).reshape(-1, per_chunk)
        filled = np.flatnonzero(bits.any(axis=1))
        slots += [part.slot] * len(filled)
        chunks += filled.tolist()
        arrays += list(bits[filled])
    columns = {MASKED: pa.array(slots, pa.int64()), CHUNK: pa.array(chunks, pa.int64()), WORDS: _lists(arrays)}
    return pa.table(columns)


def _lists(arrays: Sequence[np.ndarray]) -> pa.Array:
    offsets = np.cumsum([0, *map(len, arrays)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(np.concatenate(arrays)))
