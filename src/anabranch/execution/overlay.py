"""Overlays: the combined rows of keys that have several records, as Parquet parts in a cache.

An overlay is derived: losing it loses nothing. It is advanced by what is new: keys of new parts are combined again from
all their records, and what it held of them before is hidden. Keys are combined in stretches, in the order of keys, so
memory does not grow with their number.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.engines import KIND, SETS, EngineSpec, Reach, reduce, segment_starts, sort_order
from anabranch.execution.keyed_writer import by_physical, write_keyed
from anabranch.keyed.key_columns import KeyColumns, concat, key_columns
from anabranch.keyed.keys import segment_starts as key_starts
from anabranch.keyed.keys import sort_indices
from anabranch.keyed.standing import has_kinds
from anabranch.keyed.superseded import Keep, PartRows, Superseded
from anabranch.model.part import Part
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination, open_part
from anabranch.storage.projection import project, stored

if TYPE_CHECKING:
    from anabranch.execution.plan import TableView

STRETCH = 1 << 19
"""Keys that are combined at once."""


@dataclass(frozen=True)
class Overlay:
    """Parts of combined rows, one row a key that is not dead. Slots count up from 1, in a folder of their own."""

    files: Files
    parts: tuple[Part, ...] = ()
    found: Superseded = field(default_factory=lambda: Superseded(Keep.NEWEST))

    @staticmethod
    def empty(view: TableView) -> Overlay:
        assert view.keyed is not None
        return Overlay(view.keyed.cache)

    @property
    def dead(self) -> Mapping[int, BitMap]:
        return self.found.dead

    def advanced(
        self,
        view: TableView,
        parts: Sequence[Part],
        spec: EngineSpec,
        records: Superseded,
        contested: Sequence[KeyColumns],
    ) -> Overlay:
        """With the rows of keys that are newly contested, or have new records. `parts`: all that hold records."""
        keys = concat(list(contested))
        keys = keys.take(sort_indices(keys))
        keys = keys.take(key_starts(keys))
        slots = itertools.count(max((part.slot for part in self.parts), default=0) + 1)
        hiding = _Hiding(self.found, next(slots))
        rows = hiding.noted(_combined(view, parts, spec, records, keys), spec)
        made = write_keyed(Destination(self.files, view.schema), rows, lambda: next(slots), kinds=False)
        # A key that is gone has no combined row, and still must hide the row it had: so keys count, not rows.
        found = self.found.advanced([PartRows(hiding.slot, keys), *hiding.parts(made)])
        return replace(self, parts=(*self.parts, *made), found=found)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            for part in self.parts:
                self.files.discard(part.path)


class _Hiding:
    """Notes the keys of combined rows on their way to the writer."""

    def __init__(self, before: Superseded, slot: int) -> None:
        self.before, self.slot = before, slot
        self.keys: list[KeyColumns] = []

    def noted(self, tables: Iterator[pa.Table], spec: EngineSpec) -> Iterator[pa.Table]:
        for rows in tables:
            if rows.num_rows:
                self.keys.append(key_columns([rows.column(name) for name in spec.key]))
                yield rows

    def parts(self, made: Sequence[Part]) -> Iterator[PartRows]:
        if not made:
            return
        keys, first = concat(self.keys), 0
        for part in made:
            yield PartRows(part.slot, keys.slice(first, first + part.rows))
            first += part.rows


def _combined(
    view: TableView, parts: Sequence[Part], spec: EngineSpec, records: Superseded, keys: KeyColumns
) -> Iterator[pa.Table]:
    ages = {part.slot: age for age, part in enumerate(parts)}
    for start in range(0, len(keys), STRETCH):
        places = records.places(keys.slice(start, min(start + STRETCH, len(keys))))
        pieces, age = [], []
        for part in parts:
            if part.slot in places:
                rows = rows_at(view, part, places[part.slot])
                pieces.append(rows)
                age.append(np.full(rows.num_rows, ages[part.slot], np.int64))
        rows = pa.concat_tables(pieces, promote_options="default").combine_chunks()
        if KIND in rows.column_names:
            kinds = rows.column(KIND).fill_null(0)
            rows = rows.set_column(rows.column_names.index(KIND), KIND, kinds)
        rows = rows.take(pa.array(sort_order(rows, spec, age=np.concatenate(age))))
        yield reduce(rows, segment_starts(rows, spec.key), spec, Reach.ALL).rows


def rows_at(view: TableView, part: Part, positions: BitMap) -> pa.Table:
    """The records at these positions under the view's schema, by physical names, with `_kind` and `_sets`. Only the
    row groups that hold one are read."""
    written = view.written[part.schema_id]
    columns = view.schema.columns
    names = stored(columns, written)
    marks = [KIND, SETS] if has_kinds(part) else []
    file = open_part(view.files, part, view.name, names)
    at = np.asarray(positions.to_array(), dtype=np.int64)
    starts = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))])
    bounds = np.searchsorted(at, starts)
    pieces = []
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        here = at[bounds[group] : bounds[group + 1]] - starts[group]
        data = file.read_row_group(group, columns=[*names, *marks])
        pieces.append(data.take(pa.array(here)))
    data = pa.concat_tables(pieces)
    rows = project(data, columns, written)
    for name in marks:
        rows = rows.append_column(name, data.column(name))
    return by_physical(rows, view.schema)
