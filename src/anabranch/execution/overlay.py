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

import pyarrow as pa
from pyroaring import BitMap

from anabranch.engines import EngineSpec
from anabranch.execution.keyed_writer import keys_in, write_keyed
from anabranch.execution.records import combined
from anabranch.keyed.key_columns import KeyColumns, concat
from anabranch.keyed.keys import segment_starts as key_starts
from anabranch.keyed.keys import sort_indices
from anabranch.keyed.superseded import Keep, PartRows, Superseded
from anabranch.model.part import Part
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination

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
        # Not by partition: the keys that were noted are those of the parts only if rows stay in the order of keys.
        to = Destination(self.files, replace(view.schema, partitioned_by=()))
        made = write_keyed(to, rows, lambda: next(slots), kinds=False)
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
                self.keys.append(keys_in(rows, spec))
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
    for start in range(0, len(keys), STRETCH):
        places = records.places(keys.slice(start, min(start + STRETCH, len(keys))))
        yield combined(view, parts, places, spec)
