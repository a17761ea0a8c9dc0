"""Overlays: the combined rows of keys that have several records, as Parquet parts in a cache.

An overlay is derived: losing it loses nothing, so its files are not synced to the disk. It is advanced by what is new:
keys of new parts are combined again from all their records, unless the newest of these is whole, and what it held of
them before is hidden. Keys are combined in stretches, in the order of keys and several at a time, so memory does not
grow with their number.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.engines import EngineSpec, sort_order
from anabranch.engines.whole import is_plain
from anabranch.execution.filling import filled
from anabranch.execution.keyed_writer import keys_in, write_keyed
from anabranch.execution.records import combined
from anabranch.keyed.key_columns import KeyColumns, concat
from anabranch.keyed.keys import Flags
from anabranch.keyed.standing import has_kinds
from anabranch.keyed.superseded import Found, Keep, PartRows, Superseded
from anabranch.model.part import Part
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination
from anabranch.storage.row_ids import bitmap

if TYPE_CHECKING:
    from anabranch.execution.plan import TableView

STRETCH = 1 << 18
"""Keys that are combined at once."""
_WORKERS = min(os.cpu_count() or 1, 4)
_LARGE = 1 << 20


@dataclass(frozen=True)
class Overlay:
    """Parts of combined rows, one row a key that is not dead. Slots count up from 1, in a folder of their own; some are
    no parts but the keys that hid others."""

    files: Files
    slots: int = 0
    parts: tuple[Part, ...] = ()
    found: Superseded = field(default_factory=lambda: Superseded(Keep.NEWEST))

    @staticmethod
    def empty(view: TableView) -> Overlay:
        assert view.keyed is not None
        return Overlay(view.keyed.cache.passing())

    @property
    def dead(self) -> Mapping[int, BitMap]:
        return self.found.dead

    def advanced(
        self,
        view: TableView,
        parts: Sequence[Part],
        spec: EngineSpec,
        records: Superseded,
        contested: KeyColumns,
        settled: KeyColumns,
    ) -> Overlay:
        """With the rows of keys that are newly contested, or have new records, and without those of `settled` ones.
        `parts`: all that hold records."""
        slots = itertools.count(self.slots + 1)
        # A key that is gone has no combined row, and still must hide the row it had: so keys count, not rows.
        hiding = [PartRows(next(slots), keys) for keys in (contested, settled) if self.parts and len(keys)]
        noted = _Noted(spec)
        rows = noted.passed(_combined(view, parts, spec, records, contested))
        # Not by partition: the keys that were noted are those of the parts only if rows stay in the order of keys.
        to = Destination(self.files, replace(view.schema, partitioned_by=()), "none")
        made = write_keyed(to, rows, lambda: next(slots), kinds=False)
        found = self.found.advanced([*hiding, *noted.parts(made)])
        return replace(self, slots=next(slots), parts=(*self.parts, *made), found=found)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            for part in self.parts:
                self.files.discard(part.path)


class _Noted:
    """Notes the keys of combined rows on their way to the writer."""

    def __init__(self, spec: EngineSpec) -> None:
        self.spec = spec
        self.keys: list[KeyColumns] = []

    def passed(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for rows in tables:
            if rows.num_rows:
                self.keys.append(keys_in(rows, self.spec))
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
    """The rows of the keys, stretch by stretch, in their order."""

    def work(stretch: KeyColumns) -> pa.Table:
        return _stretch(view, parts, spec, records.records(stretch), len(stretch))

    stretches = _stretches(keys, sum(part.rows for part in parts))
    if len(stretches) <= 1:
        yield from map(work, stretches)
        return
    with ThreadPoolExecutor(_WORKERS) as pool:
        ahead: deque[Future[pa.Table]] = deque()
        for stretch in stretches:
            ahead.append(pool.submit(work, stretch))
            if len(ahead) > _WORKERS:  # the writer keeps up, or the workers wait
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _stretches(keys: KeyColumns, rows: int) -> list[KeyColumns]:
    """Keys in pieces of like size: few enough keys to hold their records, and work for all workers where the parts that
    may have to be read are large."""
    least = _WORKERS if rows > _LARGE else 1
    count = min(max(-(-len(keys) // STRETCH), least), len(keys))
    edges = [len(keys) * at // count for at in range(count + 1)] if count else []
    return [keys.slice(start, end) for start, end in itertools.pairwise(edges)]


def _stretch(
    view: TableView, parts: Sequence[Part], spec: EngineSpec, records: Mapping[int, Found], count: int
) -> pa.Table:
    """The rows of `count` keys. Keys of plain adds are filled field by field, others meet in the engine."""
    meet = np.zeros(count, np.bool_)
    for part in parts:
        if part.slot in records and (has_kinds(part) or not is_plain(spec)):
            meet[records[part.slot].owners] = True
    if not meet.any():
        return filled(view, parts, records, count)
    met = combined(view, parts, {slot: bitmap(found.positions) for slot, found in _of(records, meet).items()}, spec)
    if meet.all():
        return met
    rows = pa.concat_tables([met, filled(view, parts, _of(records, ~meet), count - int(meet.sum()))])
    return rows.take(pa.array(sort_order(rows, spec)))


def _of(records: Mapping[int, Found], chosen: Flags) -> dict[int, Found]:
    """The records of the chosen keys, which are counted anew."""
    number, found = np.cumsum(chosen) - 1, {}
    for slot, (positions, owners) in records.items():
        here = chosen[owners]
        if here.any():
            found[slot] = Found(positions[here], number[owners[here]])
    return found
