"""Writes rows of keyed tables: sorted by key, one row a key, with what the catalog keeps of their keys.

A write reads nothing of its table: its own rows meet in the merge engine, and readers bring them together with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from anabranch.engines import KIND, SETS, EngineSpec, Reach, admitted, reduce, segment_starts, sort_order
from anabranch.execution.writer import write_parts
from anabranch.keyed.bounds import part_keys
from anabranch.keyed.key_columns import KeyColumns, key_columns
from anabranch.keyed.standing import has_null_keys, noted
from anabranch.model import types
from anabranch.model.part import Part
from anabranch.model.schema import Schema
from anabranch.storage.parquet import Destination, PartWriter
from anabranch.storage.projection import convert

MARKS = (pa.field(KIND, pa.int8()), pa.field(SETS, pa.list_(pa.string())))


class KeyedPartWriter(PartWriter):
    """Writes one part whose rows come sorted by key; `marks` are the columns `_kind` and `_sets`, where it has them."""

    def __init__(self, to: Destination, slot: int, *, partition: str | None, marks: tuple[pa.Field, ...]) -> None:
        super().__init__(to, slot, partition=partition)
        # What takes a key away has no values, nor a partial update of what it leaves: not even where NULL is no value.
        key = self.schema.primary_key
        columns = [field if field.name in key else field.with_nullable(True) for field in self._arrow]
        self._arrow = pa.schema([*columns, *marks])
        self._has_kinds = bool(marks)
        self._edges: list[pa.Table] = []

    def _wrote(self, group: pa.Table) -> None:
        """The first and the last key of every row group."""
        key = group.select(list(self.schema.primary_key))
        self._edges += [key.slice(0, 1), key.slice(group.num_rows - 1)]

    def close(self) -> Part | None:
        part = super().close()
        if part is None:
            return None
        edges = pa.concat_tables(self._edges)
        keys = part_keys(key_columns(edges.columns, nullable=has_null_keys(self.schema)), [2] * (len(self._edges) // 2))
        return replace(part, stats=noted(part.stats, keys, kinds=self._has_kinds))


def write_keyed(
    to: Destination, tables: Iterable[pa.Table], next_slot: Callable[[], int], *, kinds: bool
) -> list[Part]:
    """Parts of rows that are reduced and sorted already; all of them or none. `kinds`: some may be no plain adds."""
    marks = MARKS if kinds else ()

    def writer(to: Destination, slot: int, partition: str | None) -> PartWriter:
        return KeyedPartWriter(to, slot, partition=partition, marks=marks)

    return write_parts(to, (with_marks(table) if kinds else table for table in tables), next_slot, writer=writer)


def with_marks(rows: pa.Table) -> pa.Table:
    """The rows with `_kind` and `_sets`: rows without kinds are adds."""
    for field in MARKS:
        if field.name not in rows.column_names:
            filler = pa.array(np.zeros(len(rows), np.int8)) if field.name == KIND else pa.nulls(len(rows), field.type)
            rows = rows.append_column(field, filler)
    return rows


def reduced(rows: pa.Table, schema: Schema, spec: EngineSpec) -> pa.Table:
    """The rows of one write, given by labels and perhaps with their kinds in words, as one row a key in its order."""
    rows = admitted(by_physical(rows, schema), spec)
    rows = sorted_rows(rows, spec)
    return reduce(rows, segment_starts(rows, spec.key), spec, Reach.WRITE).rows


def sorted_rows(rows: pa.Table, spec: EngineSpec) -> pa.Table:
    """Rows by physical names in the order in which they meet."""
    order = sort_order(rows, spec)
    in_order = bool((order[1:] > order[:-1]).all())
    return rows if in_order else rows.combine_chunks().take(pa.array(order))


def keys_in(rows: pa.Table, spec: EngineSpec) -> KeyColumns:
    """The keys of rows by physical names."""
    return key_columns([rows.column(name) for name in spec.key], nullable=spec.nullable_key)


def marked(rows: pa.Table, kind: int, sets: Sequence[str] | None, spec: EngineSpec) -> pa.Table:
    """Rows by physical names, all of one kind; `sets`: what set rows set. A set row holds nothing else, so that it says
    no more where it is the only record of its key."""
    for place, name in enumerate(rows.column_names):
        if sets is not None and name not in (*spec.key, *spec.sequence, *sets):
            rows = rows.set_column(place, rows.field(place).with_nullable(True), pa.nulls(len(rows), rows[name].type))
    lists = pa.repeat(pa.scalar(sets, pa.list_(pa.string())), len(rows))
    return rows.append_column(KIND, pa.array(np.full(len(rows), kind, np.int8))).append_column(SETS, lists)


def by_physical(rows: pa.Table, schema: Schema) -> pa.Table:
    """Rows under the names that files use; `_kind` and `_sets` stay behind them."""
    arrays = [
        convert(rows.column(column.label), column.type, types.physical_type(column.type)) for column in schema.columns
    ]
    found = pa.table(arrays, names=[column.physical for column in schema.columns])
    for name in (KIND, SETS):
        if name in rows.column_names:
            found = found.append_column(name, rows.column(name))
    return found
