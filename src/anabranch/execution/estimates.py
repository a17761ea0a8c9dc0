"""How large Spark takes a frame's rows to be, before anything runs: what its optimizer says, by EXPLAIN COST.

Filters take nothing off and joins multiply, so it errs upward, except where files are packed very well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZE = re.compile(r"Statistics\(sizeInBytes=([0-9.]+(?:E\+?[0-9]+)?) ([KMGTPE]?)i?B")
_UNITS = ("", "K", "M", "G", "T", "P", "E")


def is_small(frame: DataFrame, most: int) -> bool:
    size = estimated_bytes(frame)
    return size is not None and size <= most


def estimated_bytes(frame: DataFrame) -> float | None:
    """None: Spark does not say."""
    said = frame.sparkSession.sql("EXPLAIN COST SELECT * FROM {frame}", frame=frame).collect()
    return size_said(said[0][0])


def size_said(plan: str) -> float | None:
    """Of the topmost node, which comes first: the size of what the plan gives."""
    found = _SIZE.search(plan)
    return None if found is None else float(found[1]) * 1024 ** _UNITS.index(found[2])
