"""What Spark says of a frame before anything runs: its optimizer's plan, by EXPLAIN COST.

Sizes err upward (filters take nothing off, joins multiply), except where files are packed very well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NODE = re.compile(r"^[ :+-]*(\w+)(.*), Statistics\(sizeInBytes=([0-9.]+(?:E\+?[0-9]+)?) ([KMGTPE]?)i?B", re.MULTILINE)
_UNITS = ("", "K", "M", "G", "T", "P", "E")
_CHEAP = {"Project", "Filter", "Union", "Relation", "RelationV2", "InMemoryRelation", "LocalRelation", "Range"}
_UNKNOWN = 1 << 50  # what Spark takes for the size of rows that it knows nothing of is above this
_KEEP_ORDER = {"Project", "Filter", "GlobalLimit", "LocalLimit", "Offset"}


@dataclass(frozen=True)
class Plan:
    """`bytes`: of all that the frame gives; None: Spark does not say. `is_cheap`: it reads its rows and does no more,
    so that a few of its columns cost as much less as they are smaller. `filters`: it may read many for few.
    `is_ordered`: ORDER BY is the last it does."""

    bytes: float | None
    is_cheap: bool
    filters: bool
    is_ordered: bool


def is_small(frame: DataFrame, most: int) -> bool:
    size = planned(frame).bytes
    return size is not None and size <= most


def planned(frame: DataFrame) -> Plan:
    said = frame.sparkSession.sql("EXPLAIN COST SELECT * FROM {frame}", frame=frame).collect()
    return plan_said(said[0][0])


def plan_said(text: str) -> Plan:
    """The topmost node comes first, and so does the one below as long as none has two."""
    nodes = list(_NODE.finditer(text))
    if not nodes:
        return Plan(None, is_cheap=False, filters=False, is_ordered=False)
    *_, number, unit = nodes[0].groups()
    below = next((node for node in nodes if node[1] not in _KEEP_ORDER), None)
    size = float(number) * 1024 ** _UNITS.index(unit)
    return Plan(
        bytes=size if size < _UNKNOWN else None,
        is_cheap=all(node[1] in _CHEAP for node in nodes),
        filters=any(node[1] == "Filter" for node in nodes),
        is_ordered=below is not None and below[1] == "Sort" and below[2].endswith(", true"),
    )
