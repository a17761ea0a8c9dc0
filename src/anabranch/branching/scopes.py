"""Overwrites as the op log records them: their scopes as JSON, and back; and which of them a table has had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from anabranch.branching.rows import Scope
from anabranch.model.history import Commit, Position
from anabranch.model.records import Change, Operation, TableDelta

UNDONE: Final = "overwrites"
"""In what a REVERT did to rows: the overwrites that it undid, each by the commit that first ran it."""
REDONE: Final = "overwrites_redone"
"""Likewise those that it brought back, if its branch has had them."""
HAD: Final = "overwrites_had"
"""In how a table came by a merge: the overwrites that came along with it."""

TELLING: Final[tuple[Operation, ...]] = ("overwrite", "restore", "create", "drop")
"""The changes of a table that tell which overwrites it has had."""


def had(changes: Iterable[tuple[Commit, Change]]) -> dict[Position, int]:
    """The overwrites that a table has had and that nothing has undone, each by the commit that first ran it -> the
    version at which it came. `changes`: all TELLING ones along a lineage, oldest first."""
    changes = list(changes)
    back = sorted({c.detail["version"] for _, c in changes if c.operation == "restore" and "version" in c.detail})
    now: dict[Position, int] = {}
    ever: dict[Position, int] = {}
    known: dict[int, dict[Position, int]] = {}  # as of the versions that a RESTORE goes back to
    for commit, change in changes:
        detail, version = change.detail, commit.version
        while back and back[0] < version:
            known[back.pop(0)] = dict(now)
        came = {Position(*of): version for of in detail.get(HAD, ())}
        if change.operation == "overwrite" and detail.get("scope"):
            by = Position(commit.branch_id, version)
            came |= {scope.of: version for scope in scopes_of(detail["scope"], (), by) if scope.of is not None}
        if change.operation == "drop":
            now = {}
        elif change.operation == "restore" and "version" in detail:
            now = dict(known[detail["version"]])
        undone = {Position(*of) for of in detail.get(UNDONE, ())}
        redone = {Position(*of) for of in detail.get(REDONE, ())}
        ever |= came
        for of in undone & now.keys():
            del now[of]
        now |= came
        now |= {of: ever[of] for of in redone & ever.keys()}
    return now


def scope_json(scope: Scope) -> dict[str, Any]:
    what = {"values": dict(scope.values)} if scope.partitions is None else {"partitions": sorted(scope.partitions)}
    return what if scope.of is None else {**what, "of": list(scope.of)}


def scopes_of(body: Mapping[str, Any], deltas: Sequence[TableDelta], by: Position) -> list[Scope]:
    """The scopes of one recorded overwrite; a dynamic one is the partitions that its commit's deltas wrote. `by`: its
    commit; what a merge brought names the commits that it was first in."""
    if "each" in body:
        return [scope for one in body["each"] for scope in scopes_of(one, deltas, by)]
    of = Position(*body["of"]) if "of" in body else by
    if "partitions" in body:
        return [Scope(partitions=frozenset(body["partitions"]), of=of, at=by.version)]
    if body.get("dynamic"):
        parts = [part for delta in deltas for part in delta.placed]
        wrote = frozenset(part.partition for part in parts if part.partition)
        return [Scope(partitions=wrote, of=of, at=by.version)]
    return [Scope(values=body["values"], of=of, at=by.version)]
