"""Commits that this process made, as reading them back would give them: what was just written need not be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.catalog.rows import Rows
from anabranch.catalog.tables import change
from anabranch.model.history import Commit, Lineage
from anabranch.model.records import Change, CommitRequest, TableDelta

COMMITS = 16  # more of them at once are read: that is one statement, too
_ENTRIES = 256  # parts, slots and bitmaps of a commit that is worth its memory


@dataclass(frozen=True)
class Made:
    """A commit with what it did to objects and rows. Of a table it has one delta a cause, in the order of causes."""

    commit: Commit
    changes: tuple[Change, ...]
    deltas: tuple[TableDelta, ...]


def remembered(commit: Commit, request: CommitRequest, rows: Rows) -> Made | None:
    """None: it is too large to be remembered. `rows`: the request as it was written."""
    if sum(_entries(delta) for delta in request.deltas) > _ENTRIES:
        return None
    written = next(found for table, found in rows.events if table is change)
    changes = [Change(row["kind"], row["object_id"], row["operation"], _decoded(row["detail"])) for row in written]
    deltas = sorted((delta for delta in request.deltas if not delta.is_empty), key=lambda delta: delta.cause)
    return Made(
        replace(commit, detail=json.loads(rows.commit["detail"])) if commit.detail else commit,
        tuple(changes),
        tuple(_as_read(delta, commit.version) for delta in deltas),
    )


def _decoded(detail: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(detail) if detail != "{}" else {}
    return found


def _entries(delta: TableDelta) -> int:
    return len(delta.placed) + len(delta.removed) + len(delta.killed) + len(delta.revived)


def _as_read(delta: TableDelta, version: int) -> TableDelta:
    """What is placed is not removed: placing comes after it."""
    placed = {part.slot for part in delta.placed}
    return replace(delta, removed=tuple(sorted(set(delta.removed) - placed)), version=version)


def made_along(segments: Lineage, known: Mapping[tuple[int, int], Made]) -> list[Made] | None:
    """The commits of a lineage, oldest first; None: not all of them are known."""
    if sum(segment.upto - segment.after for segment in segments) > COMMITS:
        return None
    found = []
    for segment in reversed(segments):
        for version in range(segment.after + 1, segment.upto + 1):
            one = known.get((segment.branch_id, version))
            if one is None:
                return None
            found.append(one)
    return found
