"""Whether a commit still fits on a head that moved while it was made: LAW.md, "Concurrent commits".

Isolation, not history, is the question, so rows are compared by row: the same row written by both does not fit, nor a
row that the other side's overwrite took away. What does not fit is raised, and the statement is run again on the new
head, where it sees what the other one did.

Upserts of keyed tables are blind: the order of commits is the order of arrival. A DELETE or UPDATE of one has read the
rows that it writes, so it does not fit beside a flush whose keys may be among its own. The catalog's bounds tell; files
are not opened, for the head is locked meanwhile. What they cannot rule out is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from pyroaring import BitMap

from anabranch.errors import CommitConflict
from anabranch.keyed.standing import keys_of
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Commit
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import Change, CommitRequest, TableDelta

Moved = Sequence[tuple[Commit, Change]]
DeltasOf = Callable[[str], Sequence[TableDelta]]
"""What happened to the rows of a table since the request's base."""
MayMatch = Callable[[Change, Sequence[TableDelta]], bool]
"""Whether a statement's condition may be true for a row that these deltas brought."""

SHOWN = 3
"""Rows that a conflict names one by one; the rest is counted."""
_RECORD = frozenset({"drop", "rename", "properties", "comment", "column"})
"""What writes an object's record and no row."""
_BESIDE_RECORD = frozenset({"insert", "delete", "update", "overwrite", "partition", "compaction"})
_BESIDE_PARTITION = frozenset({"insert", "delete", "update", "overwrite", "rename", "properties", "comment", "column",
                               "compaction"})  # fmt: skip
_BESIDE_INSERT = frozenset({"insert", "delete", "update", "overwrite", "restore", "rename", "properties", "comment",
                            "column", "partition", "compaction"})  # fmt: skip
_BESIDE_CHANGE = frozenset({"insert", "delete", "update", "rename", "properties", "comment", "column", "partition",
                            "compaction"})  # fmt: skip


def admit(request: CommitRequest, moved: Moved, deltas_of: DeltasOf, may_match: MayMatch) -> None:
    """Raises CommitConflict with every pair that does not fit."""
    conflicts = find_conflicts(request, moved, deltas_of, may_match)
    if conflicts:
        shown = "; ".join(map(str, conflicts[:3]))
        raise CommitConflict(
            f"the branch moved while '{request.operation}' ran, and the two do not fit together: {shown}. "
            "Nothing was written; run the statement again.",
            conflicts,
            [change.object_id for change in request.changes if change.kind == "table"],
        )


def find_conflicts(
    request: CommitRequest, moved: Moved, deltas_of: DeltasOf, may_match: MayMatch
) -> list[ConflictRecord]:
    found = [
        _record(mine, f"{other.operation} in version {commit.version}", "same object")
        for mine in request.changes
        for commit, other in moved
        if _meets(mine, other) and not _fits(mine, other)
    ]
    met = {change.object_id for _, change in moved}
    for mine in request.changes:
        if not found and mine.detail.get("added") and mine.object_id in met:
            placed = {part.partition for delta in deltas_of(mine.object_id) for part in delta.placed}
            if not placed.isdisjoint(mine.detail["added"]):
                found.append(_record(mine, "rows of the partition were written meanwhile", "same partition"))
        if not found and mine.operation in ("delete", "update") and mine.object_id in met:
            others = deltas_of(mine.object_id)
            if mine.detail.get("serializable") and not mine.detail.get("blind") and may_match(mine, others):
                found.append(_record(mine, "rows that it would match were written meanwhile", "serializable"))
            if mine.detail.get("keyed"):
                if not mine.detail.get("blind") and _keys_may_meet(request, mine.object_id, others):
                    found.append(_record(mine, "keys of it were written meanwhile", "same key"))
                continue
            rows = _rows_of_both(request, mine.object_id, others)
            found += [_record(mine, "changed meanwhile", "same row", row) for row in islice(_ids(rows), SHOWN)]
            if (more := sum(map(len, rows.values())) - SHOWN) > 0:
                found.append(_record(mine, f"{more} more changed meanwhile", "same row"))
    return found


def _record(mine: Change, ours: str, rule: str, row: int | None = None) -> ConflictRecord:
    return ConflictRecord(
        object=f"{mine.kind} {mine.detail.get('name', mine.object_id)}",
        kind=mine.kind,
        rule=rule,
        ours=ours,
        theirs=mine.operation,
        row=row,
    )


def _meets(mine: Change, other: Change) -> bool:
    """The same object; or a database that one side drops while the other works in it."""
    if mine.object_id == other.object_id:
        return True
    return (mine.operation == "drop" and other.detail.get("database") == mine.object_id) or (
        other.operation == "drop" and mine.detail.get("database") == other.object_id
    )


def _fits(mine: Change, other: Change) -> bool:
    """Beside each other, rows not looked at yet. A rewrite fits beside everything but the end of its table."""
    if other.operation == "kept":
        return True
    if "compaction" in (mine.operation, other.operation):
        return "drop" not in (mine.operation, other.operation) or mine.operation == "drop"
    # A record is written whole, and what was asked of the rows would have to be asked again.
    if mine.operation in _RECORD:
        return other.operation in _BESIDE_RECORD and not (mine.detail.get("not_null") or mine.detail.get("while_empty"))
    beside = _BESIDE.get(mine.operation, frozenset())
    return other.operation in beside and not other.detail.get("not_null")


_BESIDE = {
    "insert": _BESIDE_INSERT,
    "overwrite": _BESIDE_INSERT,  # which takes away what its scope has by then: commands/insert.py
    "delete": _BESIDE_CHANGE,
    "update": _BESIDE_CHANGE,
    "partition": _BESIDE_PARTITION,
}


def _rows_of_both(request: CommitRequest, table_id: str, others: Sequence[TableDelta]) -> dict[int, BitMap]:
    """The rows that the request kills and somebody else has killed, revived, or taken away with their part."""
    changed: dict[int, BitMap] = {}
    removed: set[int] = set()
    for delta in others:
        removed.update(delta.removed)
        for slot, rows in (*delta.killed.items(), *delta.revived.items()):
            changed[slot] = changed[slot] | rows if slot in changed else rows
    found: dict[int, BitMap] = {}
    for delta in request.deltas:
        if delta.table_id == table_id:
            for slot, rows in delta.killed.items():
                both = rows if slot in removed else rows & changed.get(slot, BitMap())
                if both:
                    found[slot] = found.get(slot, BitMap()) | both
    return found


def _ids(rows: Mapping[int, BitMap]) -> Iterator[int]:
    return (slot << POSITION_BITS | position for slot in sorted(rows) for position in rows[slot])


def _keys_may_meet(request: CommitRequest, table_id: str, others: Sequence[TableDelta]) -> bool:
    """Whether a key that the request writes may have been written by somebody else, or taken away with its flush."""
    if any(delta.removed for delta in others):
        return True
    mine = [part for delta in request.deltas if delta.table_id == table_id for part in delta.placed]
    return any(_may_share_keys(part, other) for part in mine for delta in others for other in delta.placed)


def _may_share_keys(one: Part, other: Part) -> bool:
    """By the bounds of their keys; what was written with different schemas may have bounds of different types."""
    if one.partition != other.partition:
        return False
    if one.schema_id != other.schema_id:
        return True
    mine, its = keys_of(one), keys_of(other)
    return mine.firsts[0] <= its.last and its.firsts[0] <= mine.last
