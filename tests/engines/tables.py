"""Tables of records for the tests: schemas from short texts, rows from lists, results as lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.engines import KIND, Reach, admitted, engine_spec, reduce, segment_starts, sort_order
from anabranch.engines.kinds import NAMES
from anabranch.engines.reduce import reduce_all
from anabranch.engines.spec import EngineSpec
from anabranch.model.schema import Column, Schema
from anabranch.model.types import parse_type
from anabranch.storage.arrow_types import to_arrow

Record = tuple[str, Sequence[Any]]


def schema_of(columns: Iterable[tuple[str, str]], key: Sequence[str]) -> Schema:
    """Columns from pairs of a name and a type; types may be spelt as Flink does."""
    found = []
    for name, text in columns:
        text = text.replace(" NOT NULL", "")
        text = re.sub(r"ROW<([^>]*)>", lambda row: "STRUCT<" + re.sub(r"(\w+) (\w+)", r"\1:\2", row[1]) + ">", text)
        found.append(Column(name, parse_type(text.lower()), name))
    return Schema(1, tuple(found), tuple(key))


class Records:
    """One table's schema and options, and the ways in which its records are reduced."""

    def __init__(self, columns: Iterable[tuple[str, str]], key: Sequence[str], options: Mapping[str, str]) -> None:
        self.schema = schema_of(columns, key)
        self.spec: EngineSpec = engine_spec(self.schema, options)
        self.arrow = pa.schema([(c.label, to_arrow(c.type)) for c in self.schema.columns])

    def rows(self, records: Sequence[Record]) -> pa.Table:
        """What a user writes."""
        columns = [
            pa.array([_inside(values[n], f.type) for _, values in records], f.type) for n, f in enumerate(self.arrow)
        ]
        return pa.table(columns, schema=self.arrow).append_column(KIND, pa.array([k for k, _ in records], pa.string()))

    def sorted(self, rows: pa.Table) -> pa.Table:
        return rows.take(pa.array(sort_order(rows, self.spec)))

    def write(self, records: Sequence[Record]) -> pa.Table:
        """The part that a write makes."""
        return self.reduced([admitted(self.rows(records), self.spec)], Reach.WRITE)

    def reduced(self, parts: Sequence[pa.Table], reach: Reach) -> pa.Table:
        rows = self.sorted(together(parts))
        return reduce(rows, segment_starts(rows, self.spec.key), self.spec, reach).rows

    def read(self, parts: Sequence[pa.Table]) -> list[list[Any]]:
        return listed(self.reduced(parts, Reach.ALL))

    def merged(self, records: Sequence[Record]) -> list[Record]:
        """What the engine alone makes of the records, of lone ones too."""
        rows = self.sorted(admitted(self.rows(records), self.spec))
        result = reduce_all(rows, segment_starts(rows, self.spec.key), self.spec, Reach.WRITE).rows
        return [(kind, row[: len(self.arrow)]) for kind, row in zip(kinds(result), listed(result), strict=True)]


def together(parts: Sequence[pa.Table]) -> pa.Table:
    """Parts, the oldest first, one after the other."""
    return pa.concat_tables(
        [p if KIND in p.column_names else p.append_column(KIND, pa.array(np.zeros(len(p), np.int8))) for p in parts],
        promote_options="default",
    )


def kinds(rows: pa.Table) -> list[str]:
    return [NAMES[code] for code in rows[KIND].to_pylist()] if KIND in rows.column_names else ["+I"] * len(rows)


def listed(rows: pa.Table) -> list[list[Any]]:
    columns = [[_outside(v) for v in rows[name].to_pylist()] for name in rows.column_names]
    return [list(row) for row in zip(*columns, strict=True)]


def _inside(value: Any, type_: pa.DataType) -> Any:
    """Rows of a nested table as structs."""
    if value is not None and pa.types.is_list(type_):
        return [_inside(item, type_.value_type) for item in value]
    if value is not None and pa.types.is_struct(type_) and not isinstance(value, dict):
        return {f.name: v for f, v in zip(type_, value, strict=True)}
    return value


def _outside(value: Any) -> Any:
    if isinstance(value, dict):
        return [_outside(v) for v in value.values()]
    if isinstance(value, list):
        return [_outside(v) for v in value]
    return value
