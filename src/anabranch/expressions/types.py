"""Spark's types as Arrow types, and Spark's ANSI rules for the common type of several operands.

Names: an integral type is tinyint to bigint, a fractional one is float, double or decimal. `void` (Arrow's null type)
is the type of a bare NULL and gives way to every other type. Types outside Spark's set (unsigned, time, ...) have no
name here, so that whatever meets them says "needs Spark".
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyarrow import types as pat
from sqlglot import exp

from anabranch.errors import NeedsSpark

NULL = pa.null()
BOOLEAN = pa.bool_()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
STRING, BINARY = pa.string(), pa.binary()
DATE, TIMESTAMP, TIMESTAMP_NTZ = pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us")

MAX_PRECISION = 38
# Division and the 38-digit cap keep at least this many digits after the point.
MIN_ADJUSTED_SCALE = 6

NAMES: dict[pa.DataType, str] = {
    NULL: "void",
    BOOLEAN: "boolean",
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "binary",
    DATE: "date",
    TIMESTAMP: "timestamp",
    TIMESTAMP_NTZ: "timestamp_ntz",
}

# How sqlglot's Spark dialect names the types of CAST.
SQL_TYPES: dict[exp.DType, pa.DataType] = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.BINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
}

_WIDTH = {TINYINT: 0, SMALLINT: 1, INT: 2, BIGINT: 3, FLOAT: 4, DOUBLE: 5}
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
_TIME_WIDTH = {DATE: 0, TIMESTAMP_NTZ: 1, TIMESTAMP: 2}


def spark_name(type: pa.DataType) -> str:
    """The type as Spark's DDL writes it: `bigint`, `decimal(10,2)`, `array<int>`."""
    if type in NAMES:
        return NAMES[type]
    if pat.is_decimal128(type):
        return f"decimal({type.precision},{type.scale})"
    if pat.is_list(type):
        return f"array<{spark_name(type.value_type)}>"
    if pat.is_map(type):
        return f"map<{spark_name(type.key_type)},{spark_name(type.item_type)}>"
    if pat.is_struct(type):
        return f"struct<{','.join(f'{field.name}:{spark_name(field.type)}' for field in type)}>"
    return str(type)


def canonical(type: pa.DataType) -> pa.DataType:
    """The one Arrow type that stands for this Spark type; other layouts are converted when a column is read."""
    if pat.is_dictionary(type):
        return canonical(type.value_type)
    if pat.is_large_string(type) or pat.is_string_view(type):
        return STRING
    if pat.is_large_binary(type) or pat.is_binary_view(type):
        return BINARY
    return type


def is_known(type: pa.DataType) -> bool:
    """Whether Spark has the type, at any depth."""
    if pat.is_list(type):
        return is_known(type.value_type)
    if pat.is_map(type):
        return is_known(type.key_type) and is_known(type.item_type)
    if pat.is_struct(type):
        return all(is_known(field.type) for field in type)
    return type in NAMES or is_decimal(type)


def is_integral(type: pa.DataType) -> bool:
    return type in _DIGITS


def is_floating(type: pa.DataType) -> bool:
    return type in (FLOAT, DOUBLE)


def is_decimal(type: pa.DataType) -> bool:
    return pat.is_decimal128(type) and type.precision <= MAX_PRECISION and type.scale >= 0


def is_fractional(type: pa.DataType) -> bool:
    return is_floating(type) or is_decimal(type)


def is_numeric(type: pa.DataType) -> bool:
    return is_integral(type) or is_fractional(type)


def is_temporal(type: pa.DataType) -> bool:
    return type in _TIME_WIDTH


def is_atomic(type: pa.DataType) -> bool:
    return type in NAMES or is_decimal(type)


def decimal_of(type: pa.DataType) -> pa.Decimal128Type:
    """The decimal that holds every value of an integral type; a decimal is its own."""
    return pa.decimal128(_DIGITS[type], 0) if is_integral(type) else type


def capped(precision: int, scale: int) -> pa.Decimal128Type:
    """A result type cut to 38 digits, Spark's way: digits before the point are kept, those after it may shrink to 6."""
    if precision <= MAX_PRECISION:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_ADJUSTED_SCALE)))


def wider_decimal(left: pa.Decimal128Type, right: pa.Decimal128Type) -> pa.Decimal128Type:
    """The decimal that holds both without loss; past 38 digits Spark would round, and that is left to Spark."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision > MAX_PRECISION:
        raise NeedsSpark(f"the common type of {spark_name(left)} and {spark_name(right)}")
    return pa.decimal128(precision, scale)


def tightest(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The common type of two non-string operands, or None."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if left in _WIDTH and right in _WIDTH:
        wide = max(left, right, key=_WIDTH.__getitem__)
        # An integer next to a float goes to double: float would lose its digits.
        return DOUBLE if wide == FLOAT else wide
    if is_numeric(left) and is_numeric(right):
        if is_floating(left) or is_floating(right):
            return DOUBLE
        return wider_decimal(decimal_of(left), decimal_of(right))
    if is_temporal(left) and is_temporal(right):
        return max(left, right, key=_TIME_WIDTH.__getitem__)
    return None


def promoted(other: pa.DataType) -> pa.DataType | None:
    """What a string becomes next to a value of another type."""
    if is_integral(other):
        return BIGINT
    if is_fractional(other):
        return DOUBLE
    return other if is_atomic(other) else None


def common(left: pa.DataType, right: pa.DataType, what: str) -> pa.DataType:
    """The common type of two operands, strings promoted; `what` names the place for the error."""
    found = tightest(left, right)
    if found is None and STRING in (left, right):
        found = promoted(right if left == STRING else left)
    if found is None:
        raise NeedsSpark(f"{what} of {spark_name(left)} and {spark_name(right)}")
    return found


def widest(types: Iterable[pa.DataType], what: str) -> pa.DataType:
    """The common type of a list (IN, CASE, COALESCE): strings come first in the fold, wherever they stand."""
    found = NULL
    for type in sorted(types, key=lambda type: type != STRING):
        found = common(found, type, what)
    return found


def from_sql(tree: exp.DataType) -> pa.DataType:
    """The Arrow type of a type in CAST."""
    if tree.this == exp.DType.DECIMAL:
        digits = [int(param.name) for param in tree.expressions]
        precision, scale = (*digits, *(10, 0)[len(digits) :])
        if not 0 <= scale <= precision <= MAX_PRECISION or precision < 1:
            raise NeedsSpark(f"the type {tree.sql('spark')}")
        return pa.decimal128(precision, scale)
    if tree.this not in SQL_TYPES or tree.expressions:
        raise NeedsSpark(f"a cast to {tree.sql('spark')}")
    return SQL_TYPES[tree.this]
