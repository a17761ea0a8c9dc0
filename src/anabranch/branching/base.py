"""Merge bases: the best common ancestors of two positions in the commit graph.

Along a branch a version reaches all versions before it, so what a position reaches is one number for each branch: its
highest version. Merges are few, and only they and the forks are walked: the cost does not follow the number of commits.

A position is *canonical* when its version was committed on its branch itself, above the fork.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from anabranch.model.history import Branch, Position

BranchOf = Callable[[int], Branch]
Merges = Callable[[int, int], Sequence[tuple[int, Position]]]
"""A branch and one of its own versions -> (version, what was merged there) up to it; later ones may be among them."""


def canonical(position: Position, branch: BranchOf) -> Position:
    """The same commit, named by the branch that it was made on."""
    found = branch(position.branch_id)
    while found.parent_id is not None and position.version <= found.fork:
        position = Position(found.parent_id, position.version)
        found = branch(found.parent_id)
    return position


def reached(start: Position, branch: BranchOf, merges: Merges) -> dict[int, int]:
    """Branch -> the highest version of its own that `start` reaches."""
    highest: dict[int, int] = {}
    waiting = [start]
    while waiting:
        at = canonical(waiting.pop(), branch)
        before = highest.get(at.branch_id, -1)
        if at.version <= before:
            continue
        highest[at.branch_id] = at.version
        found = branch(at.branch_id)
        if found.parent_id is not None:
            waiting.append(Position(found.parent_id, found.fork))
        waiting += [merged for version, merged in merges(at.branch_id, at.version) if before < version <= at.version]
    return highest


def reaches(ancestor: Position, reach: Mapping[int, int], branch: BranchOf) -> bool:
    at = canonical(ancestor, branch)
    return reach.get(at.branch_id, -1) >= at.version


def merge_bases(ours: Position, theirs: Position, branch: BranchOf, merges: Merges) -> tuple[Position, ...]:
    """The common ancestors that no other one reaches; at least one, since all history begins at one commit.

    Those on the heads' own lines are asked first: mostly one of them reaches all branches that were ever merged."""
    here, there = reached(ours, branch, merges), reached(theirs, branch, merges)
    common = {id: min(here[id], there[id]) for id in here.keys() & there.keys()}
    best = {id: version for id, version in common.items() if canonical(Position(id, version), branch).branch_id == id}
    if len(best) == 1:
        return tuple(Position(id, version) for id, version in best.items())
    lines = {id for head in (ours, theirs) for id in _line(head, branch)}
    for id in sorted(best, key=lambda id: (id not in lines, id)):
        if id in best:
            reach = reached(Position(id, best[id]), branch, merges)
            best = {other: at for other, at in best.items() if other == id or reach.get(other, -1) < at}
    return tuple(Position(id, best[id]) for id in sorted(best))


def _line(head: Position, branch: BranchOf) -> list[int]:
    """The branches that a head's own history is on."""
    at: Position | None = head
    found = []
    while at is not None:
        at = canonical(at, branch)
        found.append(at.branch_id)
        of = branch(at.branch_id)
        at = None if of.parent_id is None else Position(of.parent_id, of.fork)
    return found
