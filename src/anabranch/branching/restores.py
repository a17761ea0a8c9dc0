"""RESTOREs in a side's history: what they undid is neither done nor had any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from anabranch.model.history import Commit, Position
from anabranch.model.records import Change, TableDelta


def restored(changes: Iterable[tuple[Commit, Change]]) -> dict[int, int]:
    """The version that a RESTORE made -> the one that it went back to; a REVERT names none."""
    went_back = [(commit.version, change.detail) for commit, change in changes if change.operation == "restore"]
    return {version: detail["version"] for version, detail in went_back if "version" in detail}


def lasting(changes: Sequence[tuple[Commit, Change]]) -> dict[int, int]:
    """The RESTOREs, unless a REVERT may have brought back what one of them took."""
    reverted = any(change.operation == "restore" and "version" not in change.detail for _, change in changes)
    return {} if reverted else restored(changes)


def is_left(version: int, head: Position, restores: Mapping[int, int]) -> bool:
    """Whether what a version did is part of the head's state: a RESTORE takes all away that came since, and brings back
    what an earlier one took."""
    upto = head.version
    while (last := max((made for made in restores if made <= upto), default=-1)) > version:
        upto = restores[last]
    return version <= upto


def without_undone(
    deltas: Sequence[TableDelta], changes: Sequence[tuple[Commit, Change]], after: int, head: Position
) -> list[TableDelta]:
    """What a RESTORE undid is no statement's doing any more: rows that are gone in spite of it are gone by it.

    A RESTORE of a version since `after`, which has all that the bases have, leaves what came up to there and nothing
    else: neither it nor what it undid is needed."""
    restores = restored(changes)
    within = {made: back for made, back in lasting(changes).items() if back >= after}
    others = {made: back for made, back in restores.items() if made not in within and is_left(made, head, within)}
    found: list[TableDelta] = []
    for delta in deltas:
        version = delta.version or 0
        if version in within or not is_left(version, head, within):
            continue
        if any(back < version < made for made, back in others.items()):
            found.append(replace(delta, removed=(), killed={}, revived={}))
            found.append(replace(delta, placed=(), cause="restore"))
        else:
            found.append(delta)
    return found
