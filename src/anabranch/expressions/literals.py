"""Constants: numbers as Spark types them, the constructors of nested values, and a value back to SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
from pyarrow import types as pat

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions.casts import BOUNDS, cast
from anabranch.expressions.nodes import Node, as_arrays, derived, literal
from anabranch.expressions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    is_decimal,
    is_floating,
    spark_name,
    widest,
)

_FLOATS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})


def number(text: str, *, negative: bool = False) -> Node:
    """A number literal: int, bigint or decimal by its digits; a double if it has an exponent."""
    text = "-" + text if negative else text
    if "e" in text.lower():
        return literal(float(text), DOUBLE)
    if "." not in text:
        value = int(text)
        for type in (INT, BIGINT):
            if BOUNDS[type][0] <= value <= BOUNDS[type][1]:
                return literal(value, type)
    parsed = Decimal(text)
    scale = -int(parsed.as_tuple().exponent)
    precision = max(len(parsed.as_tuple().digits), scale)
    if precision > MAX_PRECISION:
        raise NeedsSpark(f"the number {text}")
    return literal(parsed, pa.decimal128(precision, scale))


def hexadecimal(text: str) -> Node:
    try:
        return literal(bytes.fromhex(text if len(text) % 2 == 0 else "0" + text), BINARY)
    except ValueError:
        raise ExpressionError(f"X'{text}' is not hexadecimal.") from None


def array(elements: Sequence[Node]) -> Node:
    type = widest([node.type for node in elements], "array")
    return literal(_values(elements, type), pa.list_(type))


def mapping(keys: Sequence[Node], items: Sequence[Node]) -> Node:
    if not keys:
        # Arrow has no map whose keys have no type; `constant` gives an empty map the type of its column.
        raise NeedsSpark("an empty map inside an expression")
    key_type = widest([node.type for node in keys], "map")
    item_type = widest([node.type for node in items], "map")
    names = _values(keys, key_type)
    if None in names or is_floating(key_type) or len({repr(name) for name in names}) < len(names):
        raise NeedsSpark("a map whose keys repeat, are NULL or are floating")
    return literal(list(zip(names, _values(items, item_type), strict=True)), pa.map_(key_type, item_type))


def struct(names: Sequence[str], values: Sequence[Node]) -> Node:
    if len(set(names)) < len(names):
        raise NeedsSpark("a struct with two fields of one name")
    type = pa.struct([pa.field(name, node.type) for name, node in zip(names, values, strict=True)])
    if all(node.constant for node in values):
        found = {name: node.value() for name, node in zip(names, values, strict=True)}
        return replace(literal(found, type), deterministic=all(node.deterministic for node in values))

    def run(rows: pa.RecordBatch) -> pa.Array:
        fields, _ = as_arrays(*(node.run(rows) for node in values))
        return pa.StructArray.from_arrays(fields, fields=list(type))

    return derived(type, values, run)


def _values(nodes: Sequence[Node], type: pa.DataType) -> list[object]:
    if not all(node.constant for node in nodes):
        raise NeedsSpark("a nested value made of columns")
    return [cast(node, type).value() for node in nodes]


def literal_sql(value: pa.Scalar) -> str:
    """A Spark SQL expression of exactly this value (and, if it is not NULL or empty, this type)."""
    type = value.type
    if not value.is_valid:
        return "NULL"
    if pat.is_list(type) or pat.is_large_list(type):
        return f"array({', '.join(literal_sql(item) for item in value.values)})"
    if pat.is_map(type):
        pairs = (literal_sql(piece) for entry in value.values for piece in entry.values())
        return f"map({', '.join(pairs)})"
    if pat.is_struct(type):
        pieces = (f"{_text(field.name)}, {literal_sql(value[index])}" for index, field in enumerate(type))
        return f"named_struct({', '.join(pieces)})"
    if type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _timestamp(value)
    try:
        python = value.as_py()
    except UnicodeDecodeError as error:
        raise NeedsSpark("a literal of text that is not UTF-8") from error
    if type == BOOLEAN:
        return str(python).upper()
    if type == INT or (type == BIGINT and not BOUNDS[INT][0] <= python <= BOUNDS[INT][1]):
        return str(python)
    if type in (TINYINT, SMALLINT, BIGINT):
        return f"CAST({python} AS {spark_name(type).upper()})"
    if is_floating(type):
        return f"CAST('{shown(python)}' AS {spark_name(type).upper()})"
    if is_decimal(type):
        return f"CAST('{python:f}' AS {spark_name(type).upper()})"
    if pat.is_string(type) or pat.is_large_string(type):
        return _text(python)
    if pat.is_binary(type) or pat.is_large_binary(type):
        return f"X'{python.hex().upper()}'"
    if type == DATE:
        return f"DATE '{python.isoformat()}'"
    raise NeedsSpark(f"a literal of type {spark_name(type)}")


def shown(value: object) -> str:
    """A Python value in an error, as SQL writes it."""
    if isinstance(value, float):
        return _FLOATS.get(repr(value), repr(value))
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).lower()
    return str(value)


def _text(value: str) -> str:
    return f"'{value.translate(_ESCAPES)}'"


def _timestamp(value: pa.Scalar) -> str:
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value.cast(pa.int64()).as_py())
    except OverflowError:
        raise NeedsSpark("a timestamp outside the years 1 to 9999 as a literal") from None
    zone, name = ("Z", "TIMESTAMP") if value.type == TIMESTAMP else ("", "TIMESTAMP_NTZ")
    return f"{name} '{moment.isoformat(sep=' ')}{zone}'"
