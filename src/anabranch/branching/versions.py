"""What two versions of one row have alike, known without reading them.

An update changes the columns that it sets and copies all others. A part of new versions records the columns in which
its rows may differ from their *first* versions, so any two versions of a row can be compared, whatever came in between:
what neither of their parts has changed is alike. It also records whether each of its rows differs from the version that
it replaced; then a row that one statement updated is known to differ.

A column that some version did not hold (it was dropped, and RESTORE brought it back, say) reads as its default there,
and the next update copies that. Such a column counts as changed, and so does one whose type was another in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from anabranch.branching.rows import Positions, Side
from anabranch.model.part import POSITION_BITS, Part, all_differ, changed_columns
from anabranch.model.records import TableDelta
from anabranch.model.schema import Column, Schema


def changed_by(
    assigned: Iterable[str], sources: Iterable[Part], written: Mapping[int, Schema], schema: Schema
) -> frozenset[str] | None:
    """What new versions under `schema` of rows in the parts `sources` have changed since their first versions."""
    changed = set(assigned)
    for part in sources:
        before = changed_columns(part)
        if before is None or any(column.aliases for column in schema.columns):
            return None
        changed |= before
        if part.has_origin:
            changed |= {c.physical for c in schema.columns if not _holds(written[part.schema_id], c.physical, c)}
    return frozenset(changed)


def _holds(schema: Schema, physical: str, column: Column) -> bool:
    found = schema.physical(physical)
    return found is not None and found.type == column.type


def alike(
    columns: Sequence[Column],
    ids: np.ndarray,
    others: np.ndarray,
    parts: Mapping[int, Part],
    written: Mapping[int, Schema],
) -> dict[int, frozenset[str]]:
    """For every slot among `ids`, the columns that all its rows have alike with their other versions in `others`.

    Ids stand place by place; a row without another version (-1) has nothing alike."""
    there = ids >= 0
    pairs = np.stack([ids[there] >> POSITION_BITS, np.where(others[there] >= 0, others[there] >> POSITION_BITS, -1)])
    found: dict[int, frozenset[str]] = {}
    for slot, other in np.unique(pairs, axis=1).T.tolist():
        names = _alike(columns, parts[slot], parts[other], written) if other >= 0 else frozenset[str]()
        found[slot] = found[slot] & names if slot in found else names
    return found


def _alike(columns: Sequence[Column], one: Part, other: Part, written: Mapping[int, Schema]) -> frozenset[str]:
    changed, moved = changed_columns(one), changed_columns(other)
    if changed is None or moved is None:
        return frozenset()
    here, there = written[one.schema_id], written[other.schema_id]
    names = set()
    for column in columns:
        name = column.physical
        held = there.physical(name)
        if held is not None and not column.aliases and name not in changed | moved and _holds(here, name, held):
            names.add(name)
    return frozenset(names)


def surely_differs(side: Side, rows: Positions, updates: Iterable[TableDelta], schema_id: int) -> bool:
    """Whether one of these base rows is known to show something else on a side, under its schema of this id.

    `updates`: what UPDATE statements of the side did since the base. One that killed a base row replaced the very
    version that the base has; if no row that it wrote has died since, its version stands at the head."""
    return any(
        all(_stands_changed(side, part, schema_id) for part in done.placed)
        and any(not done.killed[slot].isdisjoint(rows[slot]) for slot in done.killed.keys() & rows.keys())
        for done in updates
        if done.placed
    )


def _stands_changed(side: Side, part: Part, schema_id: int) -> bool:
    stands = part.slot in side.placed and part.slot not in side.head.dead
    return stands and all_differ(part) and part.schema_id == schema_id
