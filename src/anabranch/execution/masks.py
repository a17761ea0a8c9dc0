"""Masks: dead rows as broadcast bitmaps that Spark's own scan tests, one bit a row.

A part's mask is one array of words where the masks together are small; else it is cut into chunks of `CHUNK` rows, and
chunks without dead rows are left out, so that a few dead rows in a very large table cost little.
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
POSITION, MASKED, CHUNK, WORDS = "\x01position", "\x01slot", "\x01chunk", "\x01words"
CHUNK_BITS = 16
WHOLE_LIMIT = 16 << 20
_WORD = f"`{WORDS}`[cast(shiftright({{at}}, 6) as int)]"
_LIVE = f"(shiftrightunsigned({_WORD}, cast({{at}} & 63 as int)) & 1) = 0"


def hide(frame: DataFrame, spark: SparkSession, dead: Sequence[tuple[Part, BitMap]]) -> DataFrame:
    """`frame` has the columns SLOT and POSITION; what is left are its live rows."""
    from pyspark.sql import functions as F

    chunked = sum(part.rows for part, _ in dead) // 8 > WHOLE_LIMIT
    table = chunk_table(dead) if chunked else whole_table(dead)
    mask = F.broadcast(spark.createDataFrame(table, schema=_schema(table)))
    matches = F.col(SLOT) == F.col(f"`{MASKED}`")
    at = f"`{POSITION}`"
    if chunked:
        matches = matches & (F.shiftright(F.col(f"`{POSITION}`"), CHUNK_BITS) == F.col(f"`{CHUNK}`"))
        at = f"({at} & {(1 << CHUNK_BITS) - 1})"
        return frame.join(mask, matches, "left").where(f"`{WORDS}` is null or {_LIVE.format(at=at)}")
    return frame.join(mask, matches).where(_LIVE.format(at=at))  # every part here has a mask


def _schema(table: pa.Table) -> StructType:
    """Words are never NULL, and Spark's code is shorter if it knows."""
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    words = ArrayType(LongType(), containsNull=False)
    return StructType([StructField(n, words if n == WORDS else LongType(), False) for n in table.column_names])


def whole_table(dead: Sequence[tuple[Part, BitMap]]) -> pa.Table:
    arrays = [words(positions, part.rows) for part, positions in dead]
    slots = [part.slot for part, _ in dead]
    return pa.table({MASKED: pa.array(slots, pa.int64()), WORDS: _lists(arrays)})


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
