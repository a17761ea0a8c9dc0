"""Store assignment: what INSERT and UPDATE do to a value on its way into a column, by Spark's ANSI rule.

Any number goes to any number, any atom to a string, dates and timestamps to each other; arrays and maps by their
elements; a struct to a struct by position (INSERT … VALUES and SELECT) or by the labels of its fields (all else). What
does not go together is a TypeMismatch or a FieldMismatch, and a value that does not fit is a ValueOutOfRange: nothing
is ever cut or wrapped.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat
from sqlglot import exp

from anabranch.errors import ExpressionError, TypeMismatch, ValueOutOfRange
from anabranch.expressions.casts import convert
from anabranch.expressions.compile import compile_expression
from anabranch.expressions.labels import in_order, ordered, whole
from anabranch.expressions.literals import shown
from anabranch.expressions.nodes import any_true
from anabranch.expressions.types import NULL, STRING, canonical, is_atomic, is_numeric, is_temporal, spark_name

_NO_COLUMNS = pa.schema([])


def constant(tree: exp.Expression, type: pa.DataType, *, column: str = "value") -> pa.Scalar:
    """The value of a constant expression as a column of the type would hold it."""
    if next(tree.find_all(exp.Column), None) is not None:
        raise ExpressionError(f"'{tree.sql('spark')}' is not a constant: it names a column.")
    if isinstance(tree, exp.Map | exp.VarMap) and not tree.find(exp.Literal) and pat.is_map(type):
        return pa.scalar([], type)
    compiled = compile_expression(tree, _NO_COLUMNS)
    one = compiled(pa.RecordBatch.from_arrays([pa.nulls(1)], names=["row"]))
    return assign(one, compiled.type, type, column)[0]


def is_deterministic(tree: exp.Expression) -> bool:
    """Whether a constant expression has the same value whenever it is evaluated."""
    return compile_expression(tree, _NO_COLUMNS).deterministic


def assignable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether Spark stores a value of one type in a column of the other at all; structs by position."""
    source, target = canonical(source), canonical(target)
    if source in (target, NULL):
        return True
    if is_atomic(source) and is_atomic(target):
        return (
            (is_numeric(source) and is_numeric(target))
            or target == STRING
            or (is_temporal(source) and is_temporal(target))
        )
    if pat.is_list(source) and pat.is_list(target):
        return assignable(source.value_type, target.value_type)
    if pat.is_map(source) and pat.is_map(target):
        return assignable(source.key_type, target.key_type) and assignable(source.item_type, target.item_type)
    if pat.is_struct(source) and pat.is_struct(target):
        return source.num_fields == target.num_fields and all(
            assignable(one.type, two.type) for one, two in zip(source, target, strict=True)
        )
    return False


def assign(
    array: pa.Array | pa.ChunkedArray,
    source_type: pa.DataType,
    target_type: pa.DataType,
    column: str,
    *,
    by_label: bool = False,
) -> pa.Array | pa.ChunkedArray:
    """The array as the column's type, or an error that names the column. `by_label`: how fields of structs meet."""
    if by_label and array.type != target_type:
        source_type = in_order(source_type, target_type, column)
        array = ordered(array, source_type)
    if not assignable(source_type, target_type):
        raise TypeMismatch(column, spark_name(source_type), spark_name(target_type))
    if array.type == target_type:
        return array
    move = partial(_assigned, target=target_type, column=column)
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([move(chunk) for chunk in array.chunks], target_type)
    return move(array)


def _assigned(array: pa.Array, *, target: pa.DataType, column: str) -> pa.Array:
    source = array.type
    if source == target:
        return array
    if source == NULL:
        return pa.nulls(len(array), target)
    if not is_atomic(canonical(source)):
        return _nested(array, target, column)
    plain = array if source == canonical(source) else pc.cast(array, canonical(source))
    converted, bad = convert(plain, plain.type, canonical(target))
    if bad is not None and any_true(bad):
        first = plain.filter(pc.fill_null(bad, False))[0].as_py()
        raise ValueOutOfRange(column, spark_name(target), f"the value is {shown(first)}")
    return converted if converted.type == target else pc.cast(converted, target)


def _nested(array: pa.Array, target: pa.DataType, column: str) -> pa.Array:
    array, mask = whole(array), pc.is_null(array)
    move = partial(_assigned, column=column)
    if pat.is_struct(target):
        fields = [move(pc.struct_field(array, [position]), target=child.type) for position, child in enumerate(target)]
        return pa.StructArray.from_arrays(fields, fields=list(target), mask=mask)
    if pat.is_map(target):
        keys, items = move(array.keys, target=target.key_type), move(array.items, target=target.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=target, mask=mask)
    return pa.ListArray.from_arrays(array.offsets, move(array.values, target=target.value_type), type=target, mask=mask)
