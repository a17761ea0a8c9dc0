"""Checked arithmetic with Spark's result types.

Integers keep their common type and fail on overflow; `/` is a double unless a decimal takes part; a decimal result has
the precision and scale of Spark's formulas, is computed exactly in 256 bits, and then rounded half up to that type.
A division by zero fails, but only where neither side is NULL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions.casts import ROOMY, cast, rescale
from anabranch.expressions.comparison import shrunk_to_decimals
from anabranch.expressions.nodes import Datum, Node, any_true, as_arrays, derived, failing, run_where, strict
from anabranch.expressions.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    capped,
    common,
    is_decimal,
    is_floating,
    is_integral,
    is_numeric,
    spark_name,
)

_INTEGER_KERNELS = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING_KERNELS = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def binary(op: str, left: Node, right: Node) -> Node:
    """`left op right` for + - * / % and div."""
    if left.type == DATE and op in ("+", "-") and is_integral(right.type):
        return shifted(left, right, backwards=op == "-")
    left, right = _operands(op, left, right)
    if is_decimal(left.type):
        return _decimal(op, left, right)
    if op in _INTEGER_KERNELS:
        floating = is_floating(left.type)
        kernel = (_FLOATING_KERNELS if floating else _INTEGER_KERNELS)[op]
        return strict(left.type, [left, right], kernel, fallible=not floating)
    if op == "/":
        return _divisive(DOUBLE, cast(left, DOUBLE), cast(right, DOUBLE), pc.divide)
    if op == "%":
        return _divisive(left.type, left, right, _remainder)
    if is_floating(left.type):
        raise NeedsSpark("div of fractional numbers")
    return _divisive(BIGINT, cast(left, BIGINT), cast(right, BIGINT), pc.divide_checked)


def negated(node: Node) -> Node:
    node = _number(node)
    _refuse_rounded_sign(node)
    kernel = pc.negate_checked if is_integral(node.type) else pc.negate
    return strict(node.type, [node], kernel, fallible=is_integral(node.type))


def absolute(node: Node) -> Node:
    node = _number(node)
    _refuse_rounded_sign(node)
    kernel = pc.abs_checked if is_integral(node.type) else pc.abs
    return strict(node.type, [node], kernel, fallible=is_integral(node.type))


def _refuse_rounded_sign(node: Node) -> None:
    if is_decimal(node.type) and node.type.precision > 34:
        # Spark's unary minus rounds a decimal to 34 digits.
        raise NeedsSpark(f"the sign of a {spark_name(node.type)}")


def whole(node: Node) -> Node:
    """FLOOR and CEIL of an integer: the integer, as a bigint."""
    if not is_integral(node.type):
        raise NeedsSpark(f"floor or ceil of {spark_name(node.type)}")
    return cast(node, BIGINT)


def shifted(date: Node, days: Node, *, backwards: bool) -> Node:
    """DATE_ADD and DATE_SUB."""
    if days.type == STRING and days.constant:
        days = cast(days, INT)
    if not is_integral(days.type) or days.type == BIGINT:
        raise NeedsSpark(f"a date moved by {spark_name(days.type)}")
    kernel = pc.subtract_checked if backwards else pc.add_checked

    def run(start: Datum, distance: Datum) -> Datum:
        try:
            return pc.cast(kernel(pc.cast(start, INT), distance), DATE)
        except pa.ArrowInvalid as error:
            # Spark wraps here instead of failing.
            raise NeedsSpark("a date beyond the calendar") from error

    return strict(DATE, [cast(date, DATE), cast(days, INT)], run, fallible=True)


def _number(node: Node) -> Node:
    if node.type in (NULL, STRING):
        return cast(node, DOUBLE)
    if not is_numeric(node.type):
        raise NeedsSpark(f"arithmetic on {spark_name(node.type)}")
    return node


def _operands(op: str, left: Node, right: Node) -> tuple[Node, Node]:
    """Both operands in their common type, except that decimals keep theirs: the result type is made of both."""
    for node in (left, right):
        if not (is_numeric(node.type) or node.type in (STRING, NULL)):
            raise NeedsSpark(f"arithmetic on {spark_name(node.type)}")
    if {left.type, right.type} <= {STRING, NULL}:
        raise NeedsSpark("arithmetic on text alone")
    if is_decimal(left.type) or is_decimal(right.type):
        if left.suffixed or right.suffixed:
            raise NeedsSpark("arithmetic on a decimal and an integer with a suffix or a cast")
        left, right = shrunk_to_decimals(left, right)
    if is_decimal(left.type) and is_decimal(right.type):
        return left, right
    type = common(left.type, right.type, "arithmetic")
    return cast(left, type), cast(right, type)


def _decimal(op: str, left: Node, right: Node) -> Node:
    if op not in _INTEGER_KERNELS:
        raise NeedsSpark(f"the operator {op} on decimals")
    one, two = left.type, right.type
    if op == "*":
        type = capped(one.precision + two.precision + 1, one.scale + two.scale)
        if one.precision + two.precision + 1 > ROOMY:
            raise NeedsSpark("the product of decimals of 38 digits")
    else:
        scale = max(one.scale, two.scale)
        type = capped(max(one.precision - one.scale, two.precision - two.scale) + scale + 1, scale)

    def kernel(first: Datum, second: Datum) -> Datum:
        first = pc.cast(first, pa.decimal256(one.precision, one.scale))
        second = pc.cast(second, pa.decimal256(two.precision, two.scale))
        found, bad = rescale(_FLOATING_KERNELS[op](first, second), type)
        if any_true(bad):
            raise ExpressionError(f"the result of {op} does not fit {spark_name(type)}.")
        return found

    return strict(type, [left, right], kernel, fallible=True)


def _divisive(type: pa.DataType, left: Node, right: Node, kernel: Callable[[Datum, Datum], Datum]) -> Node:
    """Like Spark, the divisor is looked at first: where it is NULL, the dividend is never evaluated."""

    def run(rows: pa.RecordBatch) -> Datum:
        divisor = right.run(rows)
        dividend = run_where(left, rows, pc.is_valid(divisor)) if left.fallible else left.run(rows)
        zero = pc.cast(pa.scalar(0, pa.int8()), divisor.type)
        if any_true(pc.and_(pc.equal(divisor, zero), pc.is_valid(dividend))):
            raise ExpressionError("division by zero. Use NULLIF(divisor, 0) to have NULL instead.")
        with failing():
            # Where the dividend is NULL a zero is allowed; Arrow must not see it.
            return kernel(dividend, pc.if_else(pc.equal(divisor, zero), pa.scalar(None, divisor.type), divisor))

    return derived(type, [left, right], run, fallible=True)


def _remainder(dividend: Datum, divisor: Datum) -> Datum:
    """The remainder with the dividend's sign, as in Java."""
    (first, second), scalar = as_arrays(dividend, divisor)
    valid = pc.and_(pc.is_valid(first), pc.is_valid(second))
    one = pc.cast(pa.scalar(1, pa.int8()), first.type)
    with np.errstate(invalid="ignore"):
        found = np.fmod(
            pc.if_else(valid, first, one).to_numpy(zero_copy_only=False),
            pc.if_else(valid, second, one).to_numpy(zero_copy_only=False),
        )
    array = pc.if_else(valid, pa.array(found, first.type), pa.scalar(None, first.type))
    return array[0] if scalar else array
