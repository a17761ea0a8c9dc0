"""Picks and reverts of what this branch does not have.

The base of a pick is no ancestor of ours. So a row that ours does not show may never have been here, and no record of
ours tells of it; only a row whose file ours has once placed was surely here, and was deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.branching.law import ABSENT
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.session import Session
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position
from anabranch.model.part import POSITION_BITS

_DELETED, _NOT_THERE = "deleted", "not there"


def told_of_absent(
    session: Session, ours: Position, tables: Mapping[str, TableMerge], conflicts: Sequence[ConflictRecord]
) -> list[ConflictRecord]:
    """The conflicts, in words that are true of rows and keys which ours lacks, whether it ever had them or not."""
    told = {id(one): one for one in conflicts}
    for table_id, made in tables.items():
        lacking = [one for one in made.conflicts if one.kind in ("row", "key") and one.ours == _DELETED]
        if lacking:
            deltas = session.catalog.deltas(ours, table_id, -1)
            placed = {part.slot for delta in deltas for part in delta.placed}
            told |= {
                id(one): replace(one, rule=ABSENT, ours=_NOT_THERE)
                for one in lacking
                if not isinstance(one.row, int) or one.row >> POSITION_BITS not in placed
            }
    return list(told.values())
