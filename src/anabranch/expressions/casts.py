"""CAST and TRY_CAST, and the casts that coercion inserts: only the pairs where the result is exactly Spark's.

A kernel converts a column and says which of its values cannot be converted; CAST makes those an error, TRY_CAST makes
them NULL. `KERNELS` is the table of pairs, by kind of type; a pair that is not in it needs Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions import dates_in_text
from anabranch.expressions.nodes import NO_ROWS, Datum, Node, any_true, as_arrays, derived, literal, typed_null
from anabranch.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP_NTZ,
    TINYINT,
    is_decimal,
    spark_name,
)
from anabranch.expressions.zones import need_utc

# A column's values in the target type, and a mask of those that have none (or None: all have one).
Converted: TypeAlias = tuple[Datum, Datum | None]
Kernel: TypeAlias = Callable[[Datum, pa.DataType], Converted]

BOUNDS = {
    type: (-(2 ** (type.bit_width - 1)), 2 ** (type.bit_width - 1) - 1) for type in (TINYINT, SMALLINT, INT, BIGINT)
}
# Exact room for any 38-digit decimal moved to any scale.
ROOMY = 76

_INTEGER = r"^[+-]?[0-9]{1,38}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?$"
_SPECIAL = r"^(?i)([+-]?inf(inity)?|nan)$"
_DECIMAL = r"^[+-]?([0-9]{1,38}(\.[0-9]{0,37})?|\.[0-9]{1,37})$"
_TRUE, _FALSE = ["t", "true", "y", "yes", "1"], ["f", "false", "n", "no", "0"]
# Days of 0001-01-01 and 9999-12-31: outside, Spark writes a sign before the year.
_FIRST_DAY, _LAST_DAY = -719162, 2932896
_DAY = 86_400_000_000


def cast(node: Node, target: pa.DataType, *, attempt: bool = False) -> Node:
    """The node as another type; NULL where it cannot be if `attempt`, else an error."""
    source = node.type
    if source == target:
        return node
    if source == NULL:
        return typed_null(target)
    kernel = _kernel(source, target)

    def run(rows: pa.RecordBatch) -> Datum:
        values = node.run(rows)
        converted, bad = kernel(values, target)
        if bad is None or not any_true(bad):
            return converted
        if not attempt:
            raise ExpressionError(_refusal(values, bad, target))
        return pc.if_else(pc.fill_null(bad, False), pa.scalar(None, target), converted)

    cast_node = derived(target, [node], run, fallible=not attempt and (_kind(source), _kind(target)) not in TOTAL)
    if not node.literal:
        return cast_node
    try:
        # Folded so that text which only Spark can read is refused when the expression is compiled.
        return literal(cast_node.run(NO_ROWS), target)
    except NeedsSpark:
        raise
    except ExpressionError:
        return cast_node


def convert(values: Datum, source: pa.DataType, target: pa.DataType) -> Converted:
    """The kernel of a pair, for callers that handle what does not fit themselves."""
    if source == target:
        return values, None
    return _kernel(source, target)(values, target)


def _kernel(source: pa.DataType, target: pa.DataType) -> Kernel:
    pair = (_kind(source), _kind(target))
    said = f"a cast from {spark_name(source)} to {spark_name(target)}"
    if pair in ZONED:
        need_utc(said)
    if pair not in KERNELS:
        raise NeedsSpark(said)
    return KERNELS[pair]


def rescale(values: Datum, target: pa.DataType) -> Converted:
    """Decimals (of 128 or 256 bits) rounded half up to another scale; bad where the digits do not fit."""
    if values.type.scale > target.scale:
        values = pc.cast(values, pa.decimal256(ROOMY, values.type.scale))
        values = pc.round(values, ndigits=target.scale, round_mode="half_towards_infinity")
    roomy = pa.decimal256(ROOMY, target.scale)
    values = pc.cast(values, roomy)
    largest = pa.scalar(Decimal((0, (9,) * target.precision, -target.scale)), roomy)
    return _kept(values, pc.greater(pc.abs(values), largest), target)


def _kept(values: Datum, bad: Datum, target: pa.DataType) -> Converted:
    """The values cast, those that are bad left out."""
    if any_true(bad):
        values = pc.if_else(pc.fill_null(bad, False), pa.scalar(None, values.type), values)
    return pc.cast(values, target, safe=False), bad


def _kind(type: pa.DataType) -> str:
    return "integral" if type in BOUNDS else "decimal" if is_decimal(type) else spark_name(type)


def _refusal(values: Datum, bad: Datum, target: pa.DataType) -> str:
    (array, mask), _ = as_arrays(values, bad)
    first = array.filter(mask)[0].as_py()
    return f"the value {first!r} cannot be cast to {spark_name(target)}. Use TRY_CAST to have NULL instead."


def _within(values: Datum, target: pa.DataType) -> Datum:
    """A mask of the integers or whole decimals outside the target's range."""
    low, high = (pc.cast(pa.scalar(bound, BIGINT), values.type, safe=False) for bound in BOUNDS[target])
    return pc.or_(pc.less(values, low), pc.greater(values, high))


def _plain(values: Datum, target: pa.DataType) -> Converted:
    return pc.cast(values, target, safe=False), None


def _integral_to_integral(values: Datum, target: pa.DataType) -> Converted:
    if values.type.bit_width <= target.bit_width:
        return _plain(values, target)
    return _kept(values, _within(values, target), target)


def _integral_to_decimal(values: Datum, target: pa.DataType) -> Converted:
    return rescale(pc.cast(pc.cast(values, BIGINT), pa.decimal128(19, 0)), target)


def _floating_to_integral(values: Datum, target: pa.DataType) -> Converted:
    values = pc.cast(values, DOUBLE)
    low, high = map(float, BOUNDS[target])
    whole = pc.trunc(values)
    if target == BIGINT and any_true(pc.equal(whole, high)):
        # 2^63 passes Spark's test and becomes the largest bigint.
        raise NeedsSpark("a cast of 9223372036854775808 to bigint")
    bad = pc.or_(pc.or_(pc.less(whole, low), pc.greater(whole, high)), pc.is_nan(values))
    return _kept(whole, bad, target)


def _decimal_to_integral(values: Datum, target: pa.DataType) -> Converted:
    whole = pc.cast(pc.trunc(pc.cast(values, pa.decimal256(ROOMY, values.type.scale))), pa.decimal256(ROOMY, 0))
    return _kept(whole, _within(whole, target), target)


def _decimal_to_floating(values: Datum, target: pa.DataType) -> Converted:
    # Through text: Arrow's own conversion is off by one in the last bit for many decimals, Java's is not.
    return pc.cast(pc.cast(values, STRING), target), None


def _decimal_to_string(values: Datum, target: pa.DataType) -> Converted:
    if values.type.scale > 6:
        # Arrow writes 0.0000001 as 1E-7.
        raise NeedsSpark(f"a cast from {spark_name(values.type)} to string")
    return pc.cast(values, target), None


def _to_boolean(values: Datum, target: pa.DataType) -> Converted:
    return pc.not_equal(values, pc.cast(pa.scalar(0, TINYINT), values.type, safe=False)), None


def _string_to_integral(values: Datum, target: pa.DataType) -> Converted:
    trimmed = _trimmed(values)
    # A plus sign is Java's, not Arrow's.
    digits = pc.replace_substring_regex(trimmed, r"^\+", "")
    readable = pc.match_substring_regex(trimmed, _INTEGER)
    if any_true(pc.and_(pc.invert(readable), pc.match_substring_regex(trimmed, r"^[+-]?[0-9]{39,}$"))):
        raise NeedsSpark("an integer of more than 38 digits in text")
    numbers = pc.cast(pc.if_else(readable, digits, pa.scalar(None, STRING)), pa.decimal128(38, 0))
    wide = pc.fill_null(_within(numbers, target), False)
    return _kept(numbers, pc.or_(pc.invert(readable), wide), target)


def _string_to_floating(values: Datum, target: pa.DataType) -> Converted:
    trimmed = _java_trimmed(values)
    readable = pc.match_substring_regex(trimmed, _NUMBER)
    special = pc.match_substring_regex(trimmed, _SPECIAL)
    # Java also reads `1.5d` and `0x1p3`.
    if any_true(pc.and_(pc.invert(pc.or_(readable, special)), pc.match_substring_regex(trimmed, r"(?i)[0-9.][df]$|x"))):
        raise NeedsSpark(f"an unusual number in text as a {spark_name(target)}")
    readable = pc.or_(readable, special)
    digits = pc.replace_substring_regex(trimmed, r"^\+", "")
    return pc.cast(pc.if_else(readable, digits, pa.scalar(None, STRING)), target), pc.invert(readable)


def _string_to_decimal(values: Datum, target: pa.DataType) -> Converted:
    trimmed = _java_trimmed(values)
    readable = pc.match_substring_regex(trimmed, _DECIMAL)
    # Java also reads exponents, and the digits of every script.
    if any_true(pc.and_(pc.invert(readable), pc.match_substring_regex(trimmed, r"[0-9]|[^\x00-\x7F]"))):
        raise NeedsSpark(f"an unusual number in text as a {spark_name(target)}")
    digits = pc.replace_substring_regex(trimmed, r"^\+", "")
    numbers = pc.cast(pc.if_else(readable, digits, pa.scalar(None, STRING)), pa.decimal256(ROOMY, 37))
    converted, wide = rescale(numbers, target)
    return converted, pc.or_(pc.invert(readable), pc.fill_null(wide, False))


def _string_to_boolean(values: Datum, target: pa.DataType) -> Converted:
    words = pc.ascii_lower(_trimmed(values))
    yes = pc.is_in(words, value_set=pa.array(_TRUE))
    known = pc.or_(yes, pc.is_in(words, value_set=pa.array(_FALSE)))
    return pc.if_else(pc.is_valid(values), yes, pa.scalar(None, BOOLEAN)), pc.and_(
        pc.is_valid(values), pc.invert(known)
    )


def _string_to_temporal(values: Datum, target: pa.DataType) -> Converted:
    if not isinstance(values, pa.Scalar):
        return dates_in_text.column_from_text(values, target)
    if not values.is_valid:
        return pa.scalar(None, target), None
    found = dates_in_text.scalar_from_text(values, target)
    return (pa.scalar(None, target), pa.scalar(True)) if found is None else (found, None)


def _trimmed(values: Datum) -> Datum:
    return pc.utf8_trim(values, characters=dates_in_text.TRIMMED)


def _java_trimmed(values: Datum) -> Datum:
    """Fractional numbers are trimmed by Java's String.trim, which keeps the delete character."""
    return pc.utf8_trim(values, characters=dates_in_text.TRIMMED.replace("\x7f", ""))


def _binary_to_string(values: Datum, target: pa.DataType) -> Converted:
    try:
        return pc.cast(values, target), None
    except pa.ArrowInvalid as error:
        raise NeedsSpark("a cast to string of bytes that are not UTF-8") from error


def _temporal_to_string(values: Datum, target: pa.DataType) -> Converted:
    days = pc.cast(pc.cast(values, DATE), INT)
    if any_true(pc.or_(pc.less(days, _FIRST_DAY), pc.greater(days, _LAST_DAY))):
        raise NeedsSpark("a date outside the years 1 to 9999 as text")
    if values.type == DATE:
        return pc.cast(values, STRING), None
    text = pc.cast(_reinterpreted(values, TIMESTAMP_NTZ)[0], STRING)
    return pc.replace_substring_regex(
        pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+$", r"\1"), r"\.0+$", ""
    ), None


def _date_to_timestamp(values: Datum, target: pa.DataType) -> Converted:
    days = pc.cast(pc.cast(values, INT), BIGINT)
    bad = pc.greater(pc.abs(days), 2**63 // _DAY - 1)
    kept, bad = _kept(days, bad, BIGINT)
    return pc.cast(pc.multiply(kept, _DAY), target), bad


def _reinterpreted(values: Datum, target: pa.DataType) -> Converted:
    """The same instant with or without a zone, which is UTC."""
    return pc.cast(pc.cast(values, BIGINT), target), None


KERNELS: dict[tuple[str, str], Kernel] = {
    ("boolean", "integral"): _plain,
    ("boolean", "float"): lambda values, target: _plain(pc.cast(values, TINYINT), target),
    ("boolean", "double"): lambda values, target: _plain(pc.cast(values, TINYINT), target),
    ("boolean", "string"): _plain,
    ("integral", "boolean"): _to_boolean,
    ("integral", "integral"): _integral_to_integral,
    ("integral", "float"): _plain,
    ("integral", "double"): _plain,
    ("integral", "decimal"): _integral_to_decimal,
    ("integral", "string"): _plain,
    ("float", "boolean"): _to_boolean,
    ("float", "integral"): _floating_to_integral,
    ("float", "double"): _plain,
    ("double", "boolean"): _to_boolean,
    ("double", "integral"): _floating_to_integral,
    ("double", "float"): _plain,
    ("decimal", "integral"): _decimal_to_integral,
    ("decimal", "decimal"): rescale,
    ("decimal", "float"): _decimal_to_floating,
    ("decimal", "double"): _decimal_to_floating,
    ("decimal", "string"): _decimal_to_string,
    ("string", "boolean"): _string_to_boolean,
    ("string", "integral"): _string_to_integral,
    ("string", "float"): _string_to_floating,
    ("string", "double"): _string_to_floating,
    ("string", "decimal"): _string_to_decimal,
    ("string", "binary"): _plain,
    ("string", "date"): _string_to_temporal,
    ("string", "timestamp"): _string_to_temporal,
    ("string", "timestamp_ntz"): _string_to_temporal,
    ("binary", "string"): _binary_to_string,
    ("date", "string"): _temporal_to_string,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "timestamp_ntz"): _date_to_timestamp,
    ("timestamp", "string"): _temporal_to_string,
    ("timestamp", "date"): lambda values, target: _plain(_reinterpreted(values, TIMESTAMP_NTZ)[0], target),
    ("timestamp", "timestamp_ntz"): _reinterpreted,
    ("timestamp_ntz", "string"): _temporal_to_string,
    ("timestamp_ntz", "date"): _plain,
    ("timestamp_ntz", "timestamp"): _reinterpreted,
}

# Pairs whose result depends on the zone; a text may name its own, so strings are looked at when they are read.
ZONED = {
    ("date", "timestamp"),
    ("timestamp_ntz", "timestamp"),
    ("timestamp", "date"),
    ("timestamp", "string"),
    ("timestamp", "timestamp_ntz"),
}

# Pairs that never fail on a value: what holds them is evaluated eagerly.
TOTAL = {
    pair for pair, kernel in KERNELS.items() if kernel in (_plain, _to_boolean, _decimal_to_floating, _reinterpreted)
}
