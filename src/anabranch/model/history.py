"""Branches, versions and commits.

Versions continue from the fork: on a branch, version n at or below the fork is the parent's history. A position is read
along its *lineage*: the segments of branches that made its history, newest first, each version in exactly one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Branch:
    """One row of the catalog; creating one costs the same for any number of tables or rows."""

    id: int
    name: str
    parent_id: int | None
    fork: int
    head: int
    created_us: int
    dropped: bool = False

    @property
    def shown(self) -> str:
        """Its name; that of a dropped one may be another's by now."""
        return f"{self.name} (dropped)" if self.dropped else self.name


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    branch_id: int
    version: int
    created_us: int


class Position(NamedTuple):
    """A version on a branch: what a ref resolves to."""

    branch_id: int
    version: int


class Segment(NamedTuple):
    """The versions `after < v <= upto` of one branch."""

    branch_id: int
    after: int
    upto: int


Lineage = tuple[Segment, ...]


def lineage(position: Position, branch: Callable[[int], Branch]) -> Lineage:
    """The segments of a position's history, newest first; they cover every version from 0 exactly once."""
    segments = []
    branch_id, version = position.branch_id, position.version
    while True:
        found = branch(branch_id)
        after = found.fork if found.parent_id is not None else -1
        if version > after:
            segments.append(Segment(branch_id, after, version))
        if found.parent_id is None:
            return tuple(segments)
        branch_id, version = found.parent_id, min(version, found.fork)


def since(segments: Lineage, version: int) -> Lineage:
    """The part of a lineage that is newer than `version`."""
    if not segments or segments[0].upto <= version:
        return ()
    return tuple(Segment(s.branch_id, max(s.after, version), s.upto) for s in segments if s.upto > version)


def shared_version(one: Lineage, other: Lineage) -> int:
    """The last version up to which two lineages are the same history."""
    shared = -1
    for mine, its in zip(reversed(one), reversed(other), strict=False):
        if mine.branch_id != its.branch_id:
            break
        shared = min(mine.upto, its.upto)
        if mine.upto != its.upto:
            break
    return shared


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of a branch; newest first in a log."""

    branch_id: int
    version: int
    id: str
    time_us: int
    author: str
    operation: str
    message: str
    merged: Position | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.time_us / 1_000_000, tz=timezone.utc)

    @property
    def parents(self) -> tuple[Position, ...]:
        """Positions, first parent first; the first one's branch is found along the lineage."""
        first = (Position(self.branch_id, self.version - 1),) if self.version > 0 else ()
        return first + ((self.merged,) if self.merged else ())
