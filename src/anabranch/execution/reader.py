"""Reads parts with Arrow: the kernel that Spark's tasks and this process share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from anabranch import expressions
from anabranch.errors import NeedsSpark
from anabranch.execution.plan import ScanPlan
from anabranch.execution.predicate import Predicate
from anabranch.model.part import Part
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import arrow_schema
from anabranch.storage.files import Files
from anabranch.storage.parquet import ORIGIN, ROW_ID, read_groups, read_part
from anabranch.storage.projection import project, stored
from anabranch.storage.row_ids import kept, row_ids

_READERS = 4


@dataclass(frozen=True)
class PartReader:
    """Live rows of parts under one schema; `ids` adds `_row_id` and `_origin`. It pickles: tasks carry it."""

    files: Files
    table: str
    schema: Schema
    columns: tuple[Column, ...]
    written: Mapping[int, Schema]
    where: Predicate | None = None
    hint: bool = False
    ids: bool = False

    @staticmethod
    def of(plan: ScanPlan, *, ids: bool = False) -> PartReader:
        view = plan.view
        return PartReader(view.files, view.name, view.schema, plan.columns, view.written, plan.where, plan.hint, ids)

    @property
    def output(self) -> pa.Schema:
        schema = pa.schema([field.with_nullable(True) for field in arrow_schema(self.columns)])
        if self.ids:
            schema = schema.append(pa.field(ROW_ID, pa.int64())).append(pa.field(ORIGIN, pa.int64()))
        return schema

    @cached_property
    def _predicate(self) -> expressions.Compiled | None:
        return None if self.where is None else self.where.compiled(self.schema)

    @cached_property
    def _fetched(self) -> tuple[Column, ...]:
        """Wanted columns first, then those that only the predicate reads."""
        wanted = {column.physical for column in self.columns}
        extra = self._predicate.columns if self._predicate else ()
        more = tuple(column for label in extra if (column := self.schema.column(label)).physical not in wanted)
        return self.columns + more

    def _finished(self, data: pa.Table, part: Part, first: int, dead: BitMap | None) -> pa.Table:
        alive = kept(dead, first, data.num_rows)
        seen = project(data, self._fetched, self.written[part.schema_id])
        if self.ids:
            seen = self._with_ids(seen, data, part, first)
        if alive is not None:
            seen = seen.filter(pa.array(alive))
        if self._predicate is not None:
            seen = self._filtered(seen)
        exact = self._fetched and len(self._fetched) == len(self.columns)
        return seen if exact else seen.select(self.output.names)

    def _filtered(self, seen: pa.Table) -> pa.Table:
        assert self._predicate is not None
        try:
            return seen.filter(self._predicate(seen))
        except NeedsSpark:
            if self.hint:
                return seen
            raise

    def _with_ids(self, seen: pa.Table, data: pa.Table, part: Part, first: int) -> pa.Table:
        ids = data.column(ROW_ID) if part.has_row_id else pa.array(row_ids(part.slot, first, data.num_rows))
        origin = pc.coalesce(data.column(ORIGIN), ids) if part.has_origin else ids
        if not self._fetched:
            return pa.table({ROW_ID: ids, ORIGIN: origin})
        return seen.append_column(ROW_ID, ids).append_column(ORIGIN, origin)

    def _names(self, part: Part) -> list[str]:
        names = stored(self._fetched, self.written[part.schema_id])
        if not self.ids:
            return names
        return names + [name for name, held in ((ROW_ID, part.has_row_id), (ORIGIN, part.has_origin)) if held]

    def whole(self, part: Part, dead: BitMap | None, *, threads: bool = True) -> pa.Table:
        data = read_part(self.files, part, self.table, self._names(part), threads=threads)
        return self._finished(data, part, 0, dead)

    def groups(self, part: Part, dead: BitMap | None) -> Iterator[pa.Table]:
        """Row group by row group: bounded memory."""
        for first, data in read_groups(self.files, part, self.table, self._names(part)):
            yield self._finished(data, part, first, dead)


def read_table(plan: ScanPlan, *, ids: bool = False) -> pa.Table:
    """The plan's rows as one table, in the order of the parts. Its predicate is applied."""
    if plan.overlay is not None:
        return pa.concat_tables([read_table(each, ids=ids) for each in plan.each])
    reader = PartReader.of(plan, ids=ids)
    if not plan.parts:
        return reader.output.empty_table()
    if len(plan.parts) == 1:
        return reader.whole(plan.parts[0], plan.dead(plan.parts[0]))
    _ = reader._fetched  # computed once here, not once in every thread
    with ThreadPoolExecutor(_READERS) as pool:
        tables = pool.map(lambda part: reader.whole(part, plan.dead(part), threads=False), plan.parts)
        return pa.concat_tables(tables)


def read_batches(plan: ScanPlan, *, ids: bool = False) -> Iterator[pa.Table]:
    """The plan's rows in pieces of a row group or less, one at a time."""
    for each in plan.each:
        reader = PartReader.of(each, ids=ids)
        for part in each.parts:
            yield from reader.groups(part, each.dead(part))
