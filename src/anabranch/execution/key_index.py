"""What a scan of a keyed table must not show: rows that other parts supersede, found from key columns alone.

1. Parts whose keys meet no other part's, and that hold plain adds only, are read as they are: their keys are never
   looked at.
2. Of the others the key columns are read, oldest first, and give the superseded positions of each part.
3. Engines that combine hide every key with several records, and read the combined rows from an overlay; but a newest
   record that is whole is its key's row, and needs none.

What was found is remembered by table and advanced by the parts that are new; a rewrite starts it anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.engines import KIND, EngineSpec
from anabranch.engines.kinds import gone
from anabranch.engines.whole import is_whole
from anabranch.execution.keyed_writer import keys_in
from anabranch.execution.overlay import Overlay
from anabranch.forks import renew_after_fork
from anabranch.keyed.sections import sections
from anabranch.keyed.sequences import sequences
from anabranch.keyed.standing import has_kinds, nulls_in, placed
from anabranch.keyed.superseded import Keep, PartRows, Superseded, last_word
from anabranch.model.part import Part
from anabranch.storage.parquet import read_part
from anabranch.storage.projection import project, stored

if TYPE_CHECKING:
    from anabranch.execution.plan import TableView

KEEP = {"deduplicate": Keep.NEWEST, "first-row": Keep.OLDEST}
_TABLES = 32
_READERS = 4


@dataclass(frozen=True)
class Hidden:
    """Positions that are not shown, by slot, and the rows that are shown instead."""

    dead: Mapping[int, BitMap] = field(default_factory=dict)
    overlay: Overlay | None = None


@dataclass(frozen=True)
class _Known:
    """What was found of some parts, in the order in which they came."""

    slots: tuple[int, ...]
    found: Superseded
    overlay: Overlay | None = None


class KeyIndex:
    """What one process knows of the keys of its tables. Safe to use from several threads."""

    def __init__(self) -> None:
        self.start_anew()
        renew_after_fork(self)

    def start_anew(self) -> None:
        """The overlays of a forked process are its parent's: it makes its own."""
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[object, ...], _Known] = OrderedDict()

    def hidden(self, view: TableView, parts: Sequence[Part], spec: EngineSpec) -> Hidden:
        """`parts` in the order of arrival."""
        needed = _meeting(view, parts)
        if not needed:
            return Hidden()
        key = (view.state.table_id, spec.engine, spec.key, spec.sequence, view.schema.id)
        with self._lock:
            known = self._advanced(self._known.get(key), view, needed, spec)
            self._known[key] = known
            self._known.move_to_end(key)
            while len(self._known) > _TABLES:
                self._known.popitem(last=False)
        return Hidden(known.found.dead, known.overlay)

    def close(self) -> None:
        """Overlays are derived: their files go with the process that made them."""
        with self._lock:
            for known in self._known.values():
                if known.overlay is not None:
                    known.overlay.discard()
            self._known.clear()

    def _advanced(self, known: _Known | None, view: TableView, needed: Sequence[Part], spec: EngineSpec) -> _Known:
        slots = tuple(part.slot for part in needed)
        keep = KEEP.get(spec.engine, Keep.LONE)
        if keep is Keep.OLDEST and any(has_kinds(part) for part in needed):
            keep = Keep.LONE  # what a merge decided comes last, and first-row would not look at it
        if known is None or known.found.keep is not keep or slots[: len(known.slots)] != known.slots:
            known = _Known((), Superseded(keep))
        if known.slots == slots:
            return known
        new = [part for part in needed if part.slot not in set(known.slots)]
        with ThreadPoolExecutor(_READERS) as pool:
            rows = pool.map(lambda part: part_rows(view, part, spec), new)
            found = known.found.advanced(rows, _whole(view, new, spec), pool.map)
        overlay = known.overlay
        if (keys := last_word(found)) is not None and (overlay is not None or len(keys[0])):
            overlay = (overlay or Overlay.empty(view)).advanced(view, needed, spec, found, *keys)
        return replace(known, slots=slots, found=found.forgetful(), overlay=overlay)


def _meeting(view: TableView, parts: Sequence[Part]) -> list[Part]:
    """Parts that share a section with another one, or hold more than plain adds."""
    needed = {part.slot for part in parts if has_kinds(part)}
    for standing in placed(parts, view.schema, view.written).values():
        for section in sections(standing):
            if len(section.runs) > 1:
                needed.update(int(part.name) for part in section.parts)
    return [part for part in parts if part.slot in needed]


def _whole(view: TableView, parts: Sequence[Part], spec: EngineSpec) -> set[int]:
    """The slots whose records are whole."""
    return {
        part.slot for part in parts if is_whole(spec, nulls_in(part, view.schema, view.written), kinds=has_kinds(part))
    }


def part_rows(view: TableView, part: Part, spec: EngineSpec) -> PartRows:
    """The keys of one part, and whatever else decides which record wins."""
    rows = read_columns(view, part, (*spec.key, *spec.sequence))
    kinds = rows.column(KIND).to_numpy() if KIND in rows.column_names else None
    order = None
    if spec.sequence and spec.engine == "deduplicate":
        order = sequences([rows.column(name) for name in spec.sequence], descending=spec.descending)
    return PartRows(
        part.slot,
        keys_in(rows, spec),
        None if kinds is None else np.asarray(gone(kinds)),
        order,
    )


def read_columns(view: TableView, part: Part, physical: Sequence[str], *more: str) -> pa.Table:
    """Columns of a part by physical name under the view's schema, and `_kind` (and `more`) where the part has it."""
    columns = [column for name in physical if (column := view.schema.physical(name)) is not None]
    written = view.written[part.schema_id]
    marks = [KIND, *more] if has_kinds(part) else []
    data = read_part(view.files, part, view.name, [*stored(columns, written), *marks])
    rows = project(data, columns, written).rename_columns([column.physical for column in columns])
    for name in marks:
        rows = rows.append_column(name, data.column(name))
    return rows
