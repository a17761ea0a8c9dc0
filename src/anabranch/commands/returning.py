"""Columns that one side of a merge lacks, and files that are older still hold.

Ours dropped a column and theirs has it, so that it comes back; or theirs dropped it before the base and ours has it
(again, or still, where a commit is picked). A row that the side has updated meanwhile stands in a part without such a
column, and would read as its default. Nobody changed it there, so the row is written anew with the value that the other
side shows. (Rows that both changed are contests: there the side has left the column as it was at the base.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.branching.row_merge import Replay
from anabranch.branching.rows import Side, ids_of, origins_of, settled_classes, versions, visible
from anabranch.commands.merge_plan import TableMerge
from anabranch.model.part import POSITION_BITS
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


def returning(merger: TableMerger, made: TableMerge) -> list[Column]:
    """The merged columns that ours lacks and parts of the base hold."""
    assert merger.ours is not None
    return _missing(merger, made, merger.schema(merger.ours))


def left_behind(merger: TableMerger, made: TableMerge) -> list[Column]:
    """The merged columns that theirs lacks and parts of the base hold."""
    assert merger.theirs is not None
    return _missing(merger, made, merger.schema(merger.theirs))


def _missing(merger: TableMerger, made: TableMerge, side: Schema) -> list[Column]:
    assert made.schema is not None
    if made.schema is side:
        return []
    missing = [column for column in made.schema.columns if side.stored_as(column) is None]
    if not missing:
        return []
    held = merger.written(merger.base_state.parts).values()
    return [column for column in missing if any(schema.stored_as(column) for schema in held)]


def filled(
    merger: TableMerger, head: TableState, rows: pa.Table, ids: np.ndarray, others: pa.Table, columns: list[Column]
) -> pa.Table:
    """A head's versions of rows, those columns that their parts lack taken from other versions, place by place."""
    parts = merger.holding(head, ids)
    written = merger.written(parts)
    places = np.arange(len(ids))
    for column in columns:
        at = rows.schema.get_field_index(column.label)
        slots = [slot for slot, part in parts.items() if written[part.schema_id].stored_as(column) is None]
        lacking = np.isin(ids >> POSITION_BITS, slots)
        if at >= 0 and lacking.any():
            both = pa.chunked_array([*others.column(column.label).chunks, *rows.column(at).chunks], rows.field(at).type)
            taken = both.take(pa.array(np.where(lacking, places, places + len(ids))))
            rows = rows.set_column(at, rows.field(at), taken)
    return rows


def bring_back(merger: TableMerger, made: TableMerge, replay: Replay) -> None:
    """Writes those versions anew that come of the merge as one side wrote them, and lack a column that the other one
    shows."""
    mine, other = merger.mine, merger.other
    if columns := [] if made.conflicts else returning(merger, made):
        _write_anew(merger, made, replay, columns, mine, other)
    if columns := [] if made.conflicts else left_behind(merger, made):
        _write_anew(merger, made, replay, columns, other, mine)


def _write_anew(
    merger: TableMerger, made: TableMerge, replay: Replay, columns: list[Column], side: Side, opposite: Side
) -> None:
    """Versions of `side`, with those columns as the opposite side shows them."""
    assert made.schema is not None
    base = merger.base_state
    written = merger.written(base.parts)
    holding = [s for s, part in base.parts.items() if any(written[part.schema_id].stored_as(c) for c in columns)]
    updated = settled_classes(side, merger.origins).gone.get("update", {})
    ids = ids_of({slot: rows for slot, rows in updated.items() if slot in set(holding)})
    origins = origins_of(ids, base.parts, merger.origins)
    now = versions(side, merger.origins).find(origins)
    there = versions(opposite, merger.origins).find(origins)
    unchanged = np.isin(ids, ids_of({slot: visible(opposite.head, slot) for slot in by_slot(ids)}))
    there = np.where(unchanged, ids, there)
    stays = (now >= 0) & (there >= 0) & (now != there) & _standing(now, replay, is_ours=side is merger.mine)
    lacking = [
        slot
        for slot, part in merger.holding(side.head, now[stays]).items()
        if any(merger.reads.schema(merger.id, part.schema_id).stored_as(column) is None for column in columns)
    ]
    stays &= np.isin(now >> POSITION_BITS, lacking)
    if not stays.any():
        return
    rows = merger.rows_of(made.schema, side.head, now[stays])
    values = merger.rows_of(made.schema, opposite.head, there[stays])
    made.add(filled(merger, side.head, rows, now[stays], values, columns), origins[stays])
    replay.kill_ids("update", now[stays])


def _standing(ids: np.ndarray, replay: Replay, *, is_ours: bool) -> np.ndarray:
    """Which of a side's versions the replay shows so far."""
    removed = [slot for slots in replay.removed.values() for slot in slots]
    brought = {**replay.shown, **replay.revived}
    shown = ~np.isin(ids >> POSITION_BITS, removed) if is_ours else np.isin(ids, ids_of(brought))
    for killed in replay.killed.values():
        shown &= ~np.isin(ids, ids_of(killed))
    return shown
