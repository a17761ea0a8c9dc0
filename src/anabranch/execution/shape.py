"""Incoming rows as the rows of a table: columns found by name or place, types assigned, defaults and NULLs checked.

A `Shape` is decided once from the incoming schema and then applied to any number of batches, here or in a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from anabranch import expressions
from anabranch.engines.kinds import KIND
from anabranch.errors import ColumnMismatch, DataError, InvalidText, NullViolation, ValueOutOfRange
from anabranch.execution.required import lacking, required
from anabranch.expressions.repeated import repeated
from anabranch.model import types
from anabranch.model.names import fold
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import canonical, to_arrow, without_negative_zeros

KINDS = Column(KIND, types.STRING, KIND)
"""The column that keyed tables take besides their own."""


@dataclass(frozen=True)
class Shape:
    """`sources`: for every column of the schema its place in the incoming data; None: a constant, or NULL.

    `constants`: physical column -> SQL literal that stands in every row: a static partition value, or a default, which
    is evaluated once for all rows of a statement.

    `by_label`: whether structs inside columns meet by the labels of their fields, or by position.
    """

    table: str
    schema: Schema
    sources: tuple[int | None, ...]
    constants: Mapping[str, str]
    kind: int | None = None
    """Where the kinds of a keyed table's rows stand, if the data has them."""
    by_label: bool = False

    def apply(self, data: pa.Table) -> pa.Table:
        arrays = []
        telling = {*self.schema.primary_key, *self.schema.partitioned_by}
        for column, source in zip(self.schema.columns, self.sources, strict=True):
            if source is None:
                array = pa.chunked_array([repeated(self._constant(column), data.num_rows)])
            else:
                array = assigned(data.column(source), column, by_label=self.by_label)
                if column.physical in telling:
                    array = without_negative_zeros(array)
                    check_text(array, column.label, self.table)
                if column.physical in self.constants:
                    self._check_constant(array, column)
            _check_nulls(array, column, self.table)
            arrays.append(array)
        rows = pa.table(arrays, names=list(self.schema.labels))
        return rows if self.kind is None else rows.append_column(KIND, _words(data.column(self.kind)))

    def _check_constant(self, data: pa.ChunkedArray, column: Column) -> None:
        """Rows for one partition may carry its value, and no other."""
        value = self._constant(column)
        unlike = [found for found in data.unique() if not _same(found.as_py(), value.as_py())]
        if unlike:
            raise DataError(
                f"rows for the partition {column.label}={value.as_py()} of table '{self.table}' have "
                f"{column.label}={unlike[0].as_py()}. Write them to their own partition."
            )

    def _constant(self, column: Column) -> pa.Scalar:
        target = to_arrow(column.type)
        text = self.constants.get(column.physical)
        return pa.scalar(None, target) if text is None else _evaluated(text, target, column.label)


Evaluate = Callable[[str, Column], pa.Scalar]
"""The value of a constant text as a column holds it."""


def constant_here(text: str, column: Column) -> pa.Scalar:
    return _evaluated(text, to_arrow(column.type), column.label)


def by_name(
    table: str,
    schema: Schema,
    names: Sequence[str],
    fixed: Mapping[str, str] | None = None,
    evaluate: Evaluate = constant_here,
) -> Shape:
    """Columns meet by label, and so do fields of structs. A column that the data lacks gets its default; it must have
    one or allow NULL.

    `fixed`: physical column -> SQL text of its value in all rows; if the data has it too, it must agree.
    `evaluate`: what gives the values of such texts, and of defaults.
    """
    fixed = fixed or {}
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if fold(name) in places:
            raise DataError(f"the data for table '{table}' has the column '{name}' twice.")
        places[fold(name)] = place
    kind = places.get(KIND) if schema.primary_key else None
    extra = [name for place, name in enumerate(names) if schema.find(name) is None and place != kind]
    given = [column for column in schema.columns if fold(column.label) in places]
    missing = _missing(schema, [column.physical for column in given], fixed)
    if extra or missing:
        raise ColumnMismatch(table, missing, extra, schema.labels)
    sources = [places.get(fold(column.label)) for column in schema.columns]
    return replace(_shape(table, schema, sources, fixed, kind, evaluate), by_label=True)


def by_place(
    table: str,
    schema: Schema,
    count: int,
    columns: Sequence[str] | None = None,
    fixed: Mapping[str, str] | None = None,
    evaluate: Evaluate = constant_here,
) -> Shape:
    """The data's columns fill the listed ones, or all that are not fixed, in order, and so do fields of structs."""
    fixed = dict(fixed or {})
    if columns is None:
        targets = [column for column in schema.columns if column.physical not in fixed]
    else:
        targets = [target(schema, label) for label in columns]
        _check_list(table, schema, [column for column in targets if column is not KINDS], fixed)
    if count != len(targets):
        labels = ", ".join(column.label for column in targets)
        raise DataError(f"table '{table}' takes {len(targets)} columns here ({labels}), but the data has {count}.")
    places = {column.physical: place for place, column in enumerate(targets)}
    sources = [places.get(column.physical) for column in schema.columns]
    return _shape(table, schema, sources, fixed, places.get(KIND), evaluate)


def assignments(table: str, schema: Schema) -> Shape:
    """The data's columns are values for all columns, in order, as UPDATE and MERGE INTO assign them: fields of structs
    meet by label."""
    return replace(by_place(table, schema, len(schema.columns)), by_label=True)


def target(schema: Schema, label: str) -> Column:
    """A column that an INSERT lists; a keyed table's may be the kinds of its rows."""
    return KINDS if schema.primary_key and fold(label) == KIND else schema.column(label)


def _shape(
    table: str,
    schema: Schema,
    sources: Sequence[int | None],
    fixed: Mapping[str, str],
    kind: int | None,
    evaluate: Evaluate,
) -> Shape:
    constants = {}
    for column, source in zip(schema.columns, sources, strict=True):
        text = fixed.get(column.physical, column.write_default if source is None else None)
        if text is not None:
            constants[column.physical] = expressions.literal_sql(evaluate(text, column))
    return Shape(table, schema, tuple(sources), constants, kind)


def _words(kinds: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_string(kinds.type) or pa.types.is_large_string(kinds.type) or pa.types.is_null(kinds.type)):
        raise DataError(
            f"the column '{KIND}' is {expressions.spark_name(kinds.type)}, "
            "and kinds are the strings '+I', '-U', '+U' and '-D'."
        )
    return kinds.cast(pa.string())


def _same(one: Any, other: Any) -> bool:
    return one == other or (one is not None and other is not None and one != one and other != other)  # NaN


def _evaluated(text: str, type_: pa.DataType, label: str) -> pa.Scalar:
    return expressions.constant(expressions.parse_expression(text), type_, column=label)


def _check_list(table: str, schema: Schema, targets: Sequence[Column], fixed: Mapping[str, str]) -> None:
    listed = [column.physical for column in targets]
    for physical in listed:
        if listed.count(physical) > 1 or physical in fixed:
            label = schema.physical(physical).label  # type: ignore[union-attr]
            raise DataError(f"the column '{label}' of table '{table}' is given twice.")
    missing = _missing(schema, listed, fixed)
    if missing:
        raise ColumnMismatch(table, missing)


def _missing(schema: Schema, given: Sequence[str], fixed: Mapping[str, str]) -> list[str]:
    """The columns that need a value and get none."""
    return [
        column.label
        for column in schema.columns
        if not (column.physical in given or column.physical in fixed or column.nullable or column.write_default)
    ]


def assigned(data: pa.ChunkedArray, column: Column, *, by_label: bool = False) -> pa.ChunkedArray:
    """The data as the column's type by Spark's rules of store assignment, or an error that names the column."""
    target = to_arrow(column.type)
    if data.type == target:
        return data
    own = canonical(data.type, f"column '{column.label}'")
    try:
        data = data if data.type == own else data.cast(own)
    except pa.ArrowInvalid as error:
        raise ValueOutOfRange(column.label, column.type, str(error).splitlines()[0].rstrip(".")) from error
    return data if own == target else expressions.assign(data, own, target, column.label, by_label=by_label)


def check_text(data: pa.ChunkedArray, label: str, table: str = "") -> None:
    """Raises if text is not UTF-8, which Spark's strings need not be: the catalog keeps keys and partitions as text."""
    if pa.types.is_string(data.type):
        try:
            data.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InvalidText(label, table) from error


def _check_nulls(data: pa.ChunkedArray, column: Column, table: str) -> None:
    if not column.nullable and data.null_count:
        raise NullViolation(column.label, table, data.null_count)
    for path in () if types.is_atomic(column.type) else required(column):
        rows = int(lacking(data, path[1:]).sum())
        if rows:
            raise NullViolation(".".join(path), table, rows)
