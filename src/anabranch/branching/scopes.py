"""Overwrites as the op log records them: their scopes as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.branching.rows import Scope
from anabranch.model.records import TableDelta


def scope_json(scope: Scope) -> dict[str, Any]:
    if scope.partitions is not None:
        return {"partitions": sorted(scope.partitions)}
    return {"values": dict(scope.values)}


def scopes_of(body: Mapping[str, Any], deltas: Sequence[TableDelta]) -> list[Scope]:
    """The scopes of one recorded overwrite; a dynamic one is the partitions that its commit's deltas wrote."""
    if "each" in body:
        return [scope for one in body["each"] for scope in scopes_of(one, deltas)]
    if "partitions" in body:
        return [Scope(partitions=frozenset(body["partitions"]))]
    if body.get("dynamic"):
        parts = [part for delta in deltas for part in delta.placed]
        return [Scope(partitions=frozenset(part.partition for part in parts if part.partition))]
    return [Scope(values=body["values"])]
