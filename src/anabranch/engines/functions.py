"""The aggregate functions, by name: the one place that a new one is added to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch.engines import arithmetic, nested, picking, sketches, texts
from anabranch.engines.feed import Feed
from anabranch.model import types
from anabranch.model.types import DataType


@dataclass(frozen=True)
class Function:
    """A reduction of a column: `reduce` gives a position or a value for each segment.

    `retracts`: it can take back. `commutes`: records of two branches combine in any order. `additive`: a retract can be
    reduced before the record that it takes back is known.
    """

    reduce: Callable[[Feed], Any]
    takes: Callable[[DataType], bool]
    types: str
    retracts: bool = False
    commutes: bool = False
    additive: bool = False


def _numeric(type_: DataType) -> bool:
    numbers = (types.TINYINT, types.SMALLINT, types.INT, types.BIGINT, types.FLOAT, types.DOUBLE)
    return type_ in numbers or isinstance(type_, types.Decimal)


def _any(type_: DataType) -> bool:
    return True


def _is(expected: DataType) -> Callable[[DataType], bool]:
    return lambda type_: type_ == expected


def _array(type_: DataType) -> bool:
    return isinstance(type_, types.Array)


def _map(type_: DataType) -> bool:
    return isinstance(type_, types.Map)


def _structs(type_: DataType) -> bool:
    return isinstance(type_, types.Array) and isinstance(type_.element, types.Struct)


_FIRST_NON_NULL = Function(picking.first_non_null_value, _any, "any type")
_BINARY = _is(types.BINARY)

FUNCTIONS: dict[str, Function] = {
    "sum": Function(arithmetic.total, _numeric, "numbers", retracts=True, commutes=True, additive=True),
    "product": Function(arithmetic.product, _numeric, "numbers", retracts=True, commutes=True),
    "max": Function(picking.maximum, types.is_atomic, "values with an order", commutes=True),
    "min": Function(picking.minimum, types.is_atomic, "values with an order", commutes=True),
    "last_value": Function(picking.last_value, _any, "any type", retracts=True),
    "last_non_null_value": Function(picking.last_non_null_value, _any, "any type", retracts=True),
    "first_value": Function(picking.first_value, _any, "any type"),
    "first_non_null_value": _FIRST_NON_NULL,
    "first_not_null_value": _FIRST_NON_NULL,
    "listagg": Function(texts.listagg, _is(types.STRING), "strings"),
    "bool_and": Function(picking.minimum, _is(types.BOOLEAN), "booleans", commutes=True),
    "bool_or": Function(picking.maximum, _is(types.BOOLEAN), "booleans", commutes=True),
    "collect": Function(nested.collect, _array, "arrays", retracts=True, commutes=True),
    "merge_map": Function(nested.merge_map, _map, "maps", retracts=True),
    "nested_update": Function(nested.nested_update, _structs, "arrays of structs", retracts=True),
    "nested_partial_update": Function(nested.nested_partial_update, _structs, "arrays of structs"),
    "theta_sketch": Function(sketches.theta_sketch, _BINARY, "sketches, as binary", commutes=True),
    "hll_sketch": Function(sketches.hll_sketch, _BINARY, "sketches, as binary", commutes=True),
    "rbm32": Function(sketches.rbm32, _BINARY, "bitmaps, as binary", commutes=True),
    "rbm64": Function(sketches.rbm64, _BINARY, "bitmaps, as binary", commutes=True),
}
