"""Columns that a merge brings back: theirs has them, ours dropped them, and files that are older still hold them.

A row that ours has updated meanwhile stands in a part without such a column, and would read as its default. Nobody
changed it there, so the row is written anew with the value that theirs shows. (Rows that theirs changed, too, are
contests: there ours has left the column as it was at the base.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.branching.row_merge import Replay
from anabranch.branching.rows import ids_of, origins_of, settled_classes, versions, visible
from anabranch.commands.merge_plan import TableMerge
from anabranch.model.part import POSITION_BITS
from anabranch.model.schema import Column
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


def returning(merger: TableMerger, made: TableMerge) -> list[Column]:
    """The merged columns that ours lacks and parts of the base hold."""
    assert made.schema is not None
    assert merger.ours is not None
    ours = merger.schema(merger.ours)
    if made.schema is ours:
        return []
    missing = [column for column in made.schema.columns if ours.stored_as(column) is None]
    if not missing:
        return []
    held = merger.written(merger.base_state.parts).values()
    return [column for column in missing if any(schema.stored_as(column) for schema in held)]


def filled(merger: TableMerger, rows: pa.Table, ids: np.ndarray, others: pa.Table, columns: list[Column]) -> pa.Table:
    """Ours' versions of rows, those columns that their parts lack taken from other versions, place by place."""
    parts = merger.holding(merger.mine.head, ids)
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
    """Writes those versions of ours anew that stay as they are and lack a column which theirs shows."""
    columns = [] if made.conflicts else returning(merger, made)
    if not columns:
        return
    assert made.schema is not None
    base, mine, other = merger.base_state, merger.mine, merger.other
    written = merger.written(base.parts)
    holding = [s for s, part in base.parts.items() if any(written[part.schema_id].stored_as(c) for c in columns)]
    updated = settled_classes(mine, merger.origins).gone.get("update", {})
    ids = ids_of({slot: rows for slot, rows in updated.items() if slot in set(holding)})
    origins = origins_of(ids, base.parts, merger.origins)
    ours = versions(mine, merger.origins).find(origins)
    theirs = versions(other, merger.origins).find(origins)
    unchanged = np.isin(ids, ids_of({slot: visible(other.head, slot) for slot in by_slot(ids)}))
    theirs = np.where(unchanged, ids, theirs)
    stays = (ours >= 0) & (theirs >= 0) & (ours != theirs)
    for slots in replay.removed.values():
        stays &= ~np.isin(ours >> POSITION_BITS, list(slots))
    for killed in replay.killed.values():
        stays &= ~np.isin(ours, ids_of(killed))
    lacking = [
        slot
        for slot, part in merger.holding(mine.head, ours[stays]).items()
        if any(merger.reads.schema(merger.id, part.schema_id).stored_as(column) is None for column in columns)
    ]
    stays &= np.isin(ours >> POSITION_BITS, lacking)
    if not stays.any():
        return
    rows = merger.rows_of(made.schema, mine.head, ours[stays])
    there = merger.rows_of(made.schema, other.head, theirs[stays])
    made.add(filled(merger, rows, ours[stays], there, columns), origins[stays])
    replay.kill_ids("update", ours[stays])
