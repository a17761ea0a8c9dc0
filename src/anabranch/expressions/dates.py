"""Date functions: pieces of a date, and days between dates. (Moving a date is arithmetic.)"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.compute as pc

from anabranch.errors import NeedsSpark
from anabranch.expressions.casts import cast
from anabranch.expressions.nodes import Datum, Node, any_true, strict
from anabranch.expressions.types import DATE, INT, NULL, STRING, is_temporal, spark_name

PIECES: dict[str, Callable[[Datum], Datum]] = {
    "year": pc.year,
    "month": pc.month,
    "day": pc.day,
    "quarter": pc.quarter,
}

# Arrow's calendar counts years in 16 bits.
_LARGEST_DAY = 11_000_000


def date(node: Node, what: str) -> Node:
    """The node as a date operand."""
    if not is_temporal(node.type) and node.type not in (NULL, STRING):
        raise NeedsSpark(f"{what} of {spark_name(node.type)}")
    return cast(node, DATE)


def piece(name: str, node: Node) -> Node:
    """YEAR, MONTH, DAY and QUARTER."""

    def kernel(values: Datum) -> Datum:
        if any_true(pc.greater(pc.abs(pc.cast(values, INT)), _LARGEST_DAY)):
            raise NeedsSpark(f"the {name} of a date beyond the year 30000")
        return pc.cast(PIECES[name](values), INT)

    return strict(INT, [date(node, name)], kernel, fallible=True)


def difference(end: Node, start: Node) -> Node:
    """DATEDIFF: days from the start to the end."""

    def kernel(last: Datum, first: Datum) -> Datum:
        return pc.subtract_checked(pc.cast(last, INT), pc.cast(first, INT))

    return strict(INT, [date(end, "datediff"), date(start, "datediff")], kernel, fallible=True)
