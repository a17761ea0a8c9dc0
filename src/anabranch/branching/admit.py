"""Whether a commit still fits on a head that moved while it was made.

Objects that only one side touched never conflict. On the same table, appended rows fit beside everything but a drop and
a new NOT NULL; any other pair on one object is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.errors import CommitConflict
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Commit
from anabranch.model.records import Change, CommitRequest

Moved = Sequence[tuple[Commit, Change]]


def admit(request: CommitRequest, moved: Moved) -> None:
    """Raises CommitConflict with every pair that does not fit."""
    conflicts = find_conflicts(request, moved)
    if conflicts:
        shown = "; ".join(map(str, conflicts[:3]))
        raise CommitConflict(
            f"the branch moved while '{request.operation}' ran, and the two do not fit together: {shown}. "
            "Nothing was written; run the statement again.",
            conflicts,
        )


def find_conflicts(request: CommitRequest, moved: Moved) -> list[ConflictRecord]:
    return [
        ConflictRecord(
            object=f"{mine.kind} {mine.detail.get('name', mine.object_id)}",
            kind=mine.kind,
            rule="same object",
            ours=f"{other.operation} in version {commit.version}",
            theirs=mine.operation,
        )
        for mine in request.changes
        for commit, other in moved
        if _meets(mine, other) and not _fits(mine, other)
    ]


def _meets(mine: Change, other: Change) -> bool:
    """The same object; or a database that one side drops while the other works in it."""
    if mine.object_id == other.object_id:
        return True
    return (mine.operation == "drop" and other.detail.get("database") == mine.object_id) or (
        other.operation == "drop" and mine.detail.get("database") == other.object_id
    )


def _fits(mine: Change, other: Change) -> bool:
    if mine.operation != "insert":
        return False
    return not (other.operation == "drop" or other.detail.get("not_null"))
