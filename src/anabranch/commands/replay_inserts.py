"""Theirs' statements on rows that they never saw: RESOLVE USING THEIRS applies them to ours' new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import expressions
from anabranch.errors import ExpressionError
from anabranch.execution.shape import assigned
from anabranch.model.records import Change
from anabranch.model.schema import Schema
from anabranch.storage.arrow_types import arrow_schema
from anabranch.storage.projection import initial_value


@dataclass(frozen=True)
class Replayed:
    """What became of the rows: which are gone, which have new values, and the values of all."""

    gone: np.ndarray
    changed: np.ndarray
    rows: pa.Table


def replay_on(rows: pa.Table, physical: Schema, statements: Sequence[Change]) -> Replayed:
    """`rows` go by physical names, and so do the statements. Raises ExpressionError where one cannot be run again."""
    alive = np.ones(rows.num_rows, bool)
    changed = np.zeros(rows.num_rows, bool)
    for statement in statements:
        hit = alive & _hits(rows, physical, statement.detail.get("predicate"))
        if statement.operation == "delete":
            alive &= ~hit
        elif hit.any():
            rows = _updated(rows, physical, statement.detail.get("values"), hit)
            changed |= hit
    return Replayed(~alive, changed & alive, rows)


def _hits(rows: pa.Table, physical: Schema, predicate: str | None) -> np.ndarray:
    if predicate is None:
        return np.ones(rows.num_rows, bool)
    tree = expressions.parse_expression(predicate)
    found = expressions.compile_predicate(tree, arrow_schema(physical.columns))(rows)
    return np.asarray(pc.fill_null(found, False).to_numpy(), dtype=bool)


def _updated(rows: pa.Table, physical: Schema, values: Mapping[str, str | None] | None, hit: np.ndarray) -> pa.Table:
    made = {}
    for name, text in (values or {"": None}).items():
        if text is None:
            raise ExpressionError("an UPDATE that reads other tables cannot be applied to other rows.")
        compiled = expressions.compile_expression(expressions.parse_expression(text), arrow_schema(physical.columns))
        found = compiled(rows)
        chunked = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
        made[name] = pc.if_else(pa.array(hit), assigned(chunked, physical.column(name)), rows.column(name))
    for name, column in made.items():  # all at once: SET a = b, b = a
        rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def under(rows: pa.Table, schema: Schema) -> pa.Table:
    """Rows by physical names as rows of a schema, by its labels."""
    columns = []
    for column in schema.columns:
        held = next((name for name in (column.physical, *column.aliases) if name in rows.column_names), None)
        if held is None:
            columns.append(pa.chunked_array([pa.repeat(initial_value(column), rows.num_rows)]))
        else:
            columns.append(assigned(rows.column(held), column))
    return pa.table(columns, names=list(schema.labels))
