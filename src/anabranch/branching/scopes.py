"""Overwrites as the op log records them: their scopes as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.branching.rows import Scope
from anabranch.model.history import Position
from anabranch.model.records import TableDelta


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
