"""Columns, and fields of structs, that one side of a merge lacks, and files that are older still hold.

Ours dropped one and theirs has it, so that it comes back; or theirs dropped it before the base and ours has it
(again, or still, where a commit is picked). A row that the side has updated meanwhile stands in a part without such a
column, and would read as its default. Nobody changed it there, so the row is written anew with the value that the other
side shows. (Rows that both changed are contests: there the side has left the column as it was at the base.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.fields import Path, held, lacking, mended
from anabranch.branching.row_merge import Replay
from anabranch.branching.rows import Side, ids_of, origins_of, settled_classes, versions, visible
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.own_types import pairs_apart
from anabranch.model.part import POSITION_BITS
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


@dataclass(frozen=True)
class Missing:
    """What a side's schema lacks of merged columns and parts of the base hold: whole columns, or fields inside them."""

    columns: tuple[Column, ...] = ()
    paths: frozenset[Path] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.columns)

    def held(self, written: Schema) -> frozenset[Path]:
        """Those that rows of this schema hold all the same."""
        return held(self.columns, written) & self.paths


_NOTHING = Missing()


def returning(merger: TableMerger, made: TableMerge) -> Missing:
    """What ours lacks."""
    assert merger.ours is not None
    return _missing(merger, made, merger.schema(merger.ours))


def left_behind(merger: TableMerger, made: TableMerge) -> Missing:
    """What theirs lacks."""
    assert merger.theirs is not None
    return _missing(merger, made, merger.schema(merger.theirs))


def _missing(merger: TableMerger, made: TableMerge, side: Schema) -> Missing:
    assert made.schema is not None
    columns = [] if made.schema is side else lacking(made.schema.columns, side)
    if not columns:
        return _NOTHING
    known = held(columns, side)
    older = merger.written(merger.base_state.parts).values()
    paths = frozenset(path for schema in older for path in held(columns, schema) - known)
    names = {path[0] for path in paths}
    return Missing(tuple(column for column in columns if column.physical in names), paths)


def filled(
    merger: TableMerger, head: TableState, rows: pa.Table, ids: np.ndarray, others: pa.Table, missing: Missing
) -> pa.Table:
    """A head's versions of rows, with what their parts lack as other versions have it, place by place."""
    parts = merger.holding(head, ids) if missing else {}
    for id, written in merger.written(parts).items():
        here = pa.array(np.isin(ids >> POSITION_BITS, [slot for slot, part in parts.items() if part.schema_id == id]))
        for column in lacking(missing.columns, written):
            at = rows.schema.get_field_index(column.label)
            if at >= 0:
                mine, other = rows.column(at).combine_chunks(), others.column(column.label).combine_chunks()
                taken = pc.if_else(here, mended(mine, other, column, written), mine)
                rows = rows.set_column(at, rows.field(at), taken)
    return rows


def bring_back(merger: TableMerger, made: TableMerge, replay: Replay) -> None:
    """Writes those versions anew that come of the merge as one side wrote them, and lack a column that the other one
    shows."""
    mine, other = merger.mine, merger.other
    if made.columns_conflict:
        return
    if missing := returning(merger, made):
        _write_anew(merger, made, replay, missing, mine, other)
    if missing := left_behind(merger, made):
        _write_anew(merger, made, replay, missing, other, mine)


def _write_anew(
    merger: TableMerger, made: TableMerge, replay: Replay, missing: Missing, side: Side, opposite: Side
) -> None:
    """Versions of `side`, with what it lacks as the opposite side shows it, or else as it was at the base."""
    assert made.schema is not None
    base = merger.base_state
    written = merger.written(base.parts)
    known = {id for id, schema in written.items() if missing.held(schema)}
    holding = {slot for slot, part in base.parts.items() if part.schema_id in known}
    updated = settled_classes(side, merger.origins).gone.get("update", {})
    ids = ids_of({slot: rows for slot, rows in updated.items() if slot in holding})
    origins = origins_of(ids, base.parts, merger.origins)
    now = versions(side, merger.origins).find(origins)
    there = versions(opposite, merger.origins).find(origins)
    unchanged = np.isin(ids, ids_of({slot: visible(opposite.head, slot) for slot in by_slot(ids)}))
    there = np.where(unchanged | (there < 0), ids, there)  # a row that it has not is as the base has it
    stays = (now >= 0) & (now != there) & _standing(now, replay, is_ours=side is merger.mine)
    parts = merger.holding(side.head, now[stays])
    without = {id for id, schema in merger.written(parts).items() if missing.held(schema) != missing.paths}
    stays &= np.isin(now >> POSITION_BITS, [slot for slot, part in parts.items() if part.schema_id in without])
    shown = (side.head, now[stays]), (opposite.head, there[stays])
    if not stays.any() or pairs_apart(merger, made, shown):
        return  # there are none, or the merged schema does not hold them, which is a conflict by itself
    rows = merger.rows_of(made.schema, side.head, now[stays])
    values = merger.rows_of(made.schema, opposite.head, there[stays])
    made.add(filled(merger, side.head, rows, now[stays], values, missing), origins[stays])
    replay.kill_ids("update", now[stays])


def _standing(ids: np.ndarray, replay: Replay, *, is_ours: bool) -> np.ndarray:
    """Which of a side's versions the replay shows so far."""
    removed = [slot for slots in replay.removed.values() for slot in slots]
    placed = {part.slot for parts in replay.placed.values() for part in parts}  # not all that theirs shows
    brought = {**{slot: rows for slot, rows in replay.shown.items() if slot in placed}, **replay.revived}
    shown = ~np.isin(ids >> POSITION_BITS, removed) if is_ours else np.isin(ids, ids_of(brought))
    for killed in replay.killed.values():
        shown &= ~np.isin(ids, ids_of(killed))
    return shown
