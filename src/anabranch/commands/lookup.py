"""`table.lookup(keys)`: the rows of a batch of keys, opening only the row groups that can hold them. No JVM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from anabranch.commands.session import OpenTable, Session
from anabranch.errors import ColumnMismatch, NullViolation
from anabranch.execution.keyed_writer import keys_in
from anabranch.execution.records import rows_of
from anabranch.execution.shape import assigned
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.keys import match
from anabranch.keyed.lookup import wanted
from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.storage.projection import convert


def lookup(session: Session, table: OpenTable, keys: pa.Table, labels: Sequence[str] | None = None) -> pa.Table:
    """The rows of these keys, in the order of the keys; a key that is not there has no row."""
    columns = table.schema.select(labels)
    asked = wanted(key_columns(_checked(table, keys), nullable=table.engine.nullable_key))
    view, spec = session.view(table), table.engine
    rows = rows_of(view, view.standing.parts, asked.keys, spec)
    there, at = match(keys_in(rows, spec), asked.keys)
    places = np.full(len(asked.keys), -1, np.int64)
    places[there] = at
    order = places[asked.asked]
    found = rows.take(pa.array(order[order >= 0]))
    return pa.table([_labelled(found, column) for column in columns], names=[column.label for column in columns])


def _labelled(rows: pa.Table, column: Column) -> pa.ChunkedArray:

    return convert(rows.column(column.physical), types.physical_type(column.type), column.type)


def _checked(table: OpenTable, keys: pa.Table) -> list[pa.ChunkedArray]:
    """The key's columns in its order and types."""
    key = [column for name in table.schema.primary_key if (column := table.schema.physical(name)) is not None]
    given = {name.lower(): name for name in keys.column_names}
    missing = [column.label for column in key if column.label.lower() not in given]
    extra = [name for name in keys.column_names if name.lower() not in {column.label.lower() for column in key}]
    if missing or extra:
        raise ColumnMismatch(table.name, missing, extra, [column.label for column in key])
    arrays = [assigned(keys.column(given[column.label.lower()]), column) for column in key]
    for array, column in zip(arrays, key, strict=True):
        if array.null_count and not column.nullable:
            raise NullViolation(column.label, table.name, array.null_count)
    return arrays
