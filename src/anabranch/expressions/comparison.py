"""Comparisons with Spark's order.

NaN equals NaN and is greater than any number, -0.0 equals 0.0, text and binary are ordered by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import NeedsSpark
from anabranch.expressions.casts import cast
from anabranch.expressions.nodes import Datum, Node, derived, literal, strict
from anabranch.expressions.types import (
    BOOLEAN,
    NULL,
    common,
    decimal_of,
    is_atomic,
    is_decimal,
    is_floating,
    is_integral,
    spark_name,
    tightest,
    widest,
)


def equal(left: Datum, right: Datum) -> Datum:
    same = pc.equal(left, right)
    if is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def less(left: Datum, right: Datum) -> Datum:
    below = pc.less(left, right)
    if is_floating(left.type):
        below = pc.or_(below, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return below


def null_safe_equal(left: Datum, right: Datum) -> Datum:
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both_null, pc.fill_null(equal(left, right), False))


KERNELS: dict[str, Callable[[Datum, Datum], Datum]] = {
    "=": equal,
    "<>": lambda left, right: pc.invert(equal(left, right)),
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": lambda left, right: pc.invert(less(right, left)),
    ">=": lambda left, right: pc.invert(less(left, right)),
}


def compare(op: str, left: Node, right: Node) -> Node:
    left, right = aligned(left, right, "the comparison")
    return strict(BOOLEAN, [left, right], KERNELS[op])


def null_safe(left: Node, right: Node) -> Node:
    left, right = aligned(left, right, "the comparison")
    return derived(BOOLEAN, [left, right], lambda rows: null_safe_equal(left.run(rows), right.run(rows)))


def aligned(left: Node, right: Node, what: str) -> tuple[Node, Node]:
    """Both operands in their common type."""
    left, right = shrunk_to_decimals(left, right)
    type = common(left.type, right.type, what)
    if type == NULL:
        return cast(left, BOOLEAN), cast(right, BOOLEAN)
    if not is_atomic(type):
        raise NeedsSpark(f"{what} of {spark_name(type)} values")
    return cast(left, type), cast(right, type)


def shrunk_to_decimals(left: Node, right: Node) -> tuple[Node, Node]:
    """Integers next to a decimal as decimals; an integer literal as the smallest decimal that holds it."""
    if is_decimal(left.type) and is_integral(right.type):
        return left, _decimal(right)
    if is_integral(left.type) and is_decimal(right.type):
        return _decimal(left), right
    return left, right


def _decimal(node: Node) -> Node:
    if node.literal:
        return cast(node, pa.decimal128(len(str(abs(int(str(node.value()))))), 0))
    return cast(node, decimal_of(node.type))


def is_in(value: Node, options: Sequence[Node]) -> Node:
    """IN: NULL where the value is NULL, or where nothing is equal and an option is NULL."""
    type = widest([value.type, *(node.type for node in options)], "the list")
    if type == NULL:
        return literal(None, BOOLEAN)
    if not is_atomic(type):
        raise NeedsSpark(f"IN over {spark_name(type)} values")
    if any(node.fallible for node in options):
        raise NeedsSpark("IN over a list that may fail")
    value, options = cast(value, type), [cast(node, type) for node in options]
    if any(node.fallible for node in options):
        raise NeedsSpark("IN over a list that may fail")
    plain = [node for node in options if node.constant]
    if len(plain) == len(options) and len(options) > 1 and not is_floating(type) and not is_decimal(type):
        return _in_set(value, [node.value() for node in plain], type)

    def run(rows: pa.RecordBatch) -> Datum:
        found = value.run(rows)
        return reduce(pc.or_kleene, (equal(found, node.run(rows)) for node in options))

    return derived(BOOLEAN, [value, *options], run)


def _in_set(value: Node, options: Sequence[object], type: pa.DataType) -> Node:
    """IN over constants, by one hash table."""
    known = pa.array([option for option in options if option is not None], type)
    # A NULL among the options turns "not in" into "unknown".
    missing = pa.scalar(None if len(known) < len(options) else False, BOOLEAN)

    def kernel(values: Datum) -> Datum:
        found = pc.if_else(pc.is_in(values, value_set=known), pa.scalar(True), missing)
        return pc.if_else(pc.is_valid(values), found, pa.scalar(None, BOOLEAN))

    return strict(BOOLEAN, [value], kernel)


def extreme(nodes: Sequence[Node], *, largest: bool) -> Node:
    """GREATEST and LEAST: NULLs are skipped, the first of equals is kept."""
    name = "greatest" if largest else "least"
    if len(nodes) < 2:
        raise NeedsSpark(f"{name} of one value")
    type = NULL
    for node in nodes:
        found = tightest(type, node.type)
        if found is None or not is_atomic(found):
            raise NeedsSpark(f"{name} of {spark_name(type)} and {spark_name(node.type)}")
        type = found
    if type == NULL:
        raise NeedsSpark(f"{name} of NULL")
    cast_nodes = [cast(node, type) for node in nodes]

    def better(best: Datum, value: Datum) -> Datum:
        beats = less(best, value) if largest else less(value, best)
        return pc.if_else(pc.or_kleene(pc.is_null(best), pc.fill_null(beats, False)), value, best)

    return derived(type, cast_nodes, lambda rows: reduce(better, [node.run(rows) for node in cast_nodes]))
