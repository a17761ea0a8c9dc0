"""Combined rows of plain partial-update, without bringing records together: each field is filled by itself.

From the newest part to the oldest, a field takes the values that are not NULL for the keys that still lack one. So a
column of a part is opened only if a key lacks it there and the catalog does not know it to be NULL throughout; of old
parts, which hold most rows, the columns that newer records give everywhere are never read. Key columns are fields like
the others: the newest record has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.engines.codes import whole
from anabranch.engines.feed import gather, validity
from anabranch.execution.keyed_writer import by_physical
from anabranch.expressions.repeated import repeated
from anabranch.keyed.standing import nulls_in
from anabranch.keyed.superseded import Found
from anabranch.model import types
from anabranch.model.part import Part
from anabranch.model.schema import Column
from anabranch.storage.arrow_types import arrow_schema
from anabranch.storage.parquet import read_places
from anabranch.storage.projection import convert, initial_value

if TYPE_CHECKING:
    from anabranch.execution.plan import TableView


def filled(view: TableView, parts: Sequence[Part], records: Mapping[int, Found], count: int) -> pa.Table:
    """The rows of `count` keys, in their order, by physical names. `records`: all that they have in `parts`, which are
    in the order of arrival, and plain adds."""
    schema = by_physical(arrow_schema(view.schema.columns).empty_table(), view.schema).schema
    fields = [_Field(column, count) for column in view.schema.columns]
    for part in reversed(parts):
        if part.slot in records:
            _fill(view, part, records[part.slot], fields)
    return pa.table([field.column(schema.field(field.name).type) for field in fields], schema=schema)


class _Field:
    """One column of the combined rows, and which of them still lack a value."""

    def __init__(self, column: Column, count: int) -> None:
        self.of, self.name = column, column.physical
        self._lacks = np.ones(count, np.bool_)
        self._picks = np.full(count, -1, np.int64)
        self._values: list[pa.Array] = []
        self._size = 0

    def asks(self, found: Found) -> Found:
        """The records whose keys lack a value."""
        lacks = self._lacks[found.owners]
        return found if lacks.all() else Found(found.positions[lacks], found.owners[lacks])

    def take(self, values: pa.Array, owners: np.ndarray) -> None:
        at = np.arange(self._size, self._size + len(values))
        if values.null_count:
            valid = validity(values)
            at, owners = at[valid], owners[valid]
        self._picks[owners], self._lacks[owners] = at, False
        self._values.append(values)
        self._size += len(values)

    def column(self, type_: pa.DataType) -> pa.Array:
        """The values of all rows; asked for once, since what they were picked from is let go."""
        if not self._values:
            return pa.nulls(len(self._picks), type_)
        values, self._values = pa.concat_arrays(self._values), []
        return gather(values, self._picks)


def _fill(view: TableView, part: Part, found: Found, fields: Sequence[_Field]) -> None:
    written, nulls = view.written[part.schema_id], nulls_in(part, view.schema, view.written)
    asking = [(field, field.asks(found)) for field in fields if nulls[field.name] != part.rows]
    asking = [(field, asked) for field, asked in asking if len(asked.owners)]
    stored = [(old.physical, asked) for field, asked in asking if (old := written.stored_as(field.of)) is not None]
    read = read_places(view.files, part, view.name, {name: asked.positions for name, asked in stored}) if stored else {}
    for field, asked in asking:
        old = written.stored_as(field.of)
        if old is None:
            values = pa.chunked_array([repeated(initial_value(field.of), len(asked.owners))])
        else:
            values = convert(read[old.physical], old.type, field.of.type)
        field.take(whole(convert(values, field.of.type, types.physical_type(field.of.type))), asked.owners)
