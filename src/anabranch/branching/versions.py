"""What two versions of one row have alike, known without reading them.

An update changes the columns that it sets and copies all others. A part of new versions records the columns in which
its rows may differ from their *first* versions, so any two versions of a row can be compared, whatever came in between:
what neither of their parts has changed is alike.

A column that some version did not hold (it was dropped, and a REVERT brought it back) reads as its default there, and
the next update copies that. Such a column counts as changed, and so does one whose type was another in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from anabranch.model.part import POSITION_BITS, Part, changed_columns
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
