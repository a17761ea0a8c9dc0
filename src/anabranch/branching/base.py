"""Merge bases: the best common ancestors of two positions in the commit graph.

Along a branch a version reaches all versions before it, so what a position reaches is one number for each branch: its
highest version. Merges are few, and only they and the forks are walked: the cost does not follow the number of commits.

A position is *canonical* when its version was committed on its branch itself, above the fork.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence

from anabranch.model.history import Branch, Position

BranchOf = Callable[[int], Branch]
Merges = Callable[[int, int], Sequence[tuple[int, Position]]]
"""A branch and one of its own versions -> (version, what was merged there) up to it; later ones may be among them."""


Reaches = MutableMapping[int, tuple[int, Mapping[int, int]]]
"""Branch -> one of its own versions, and what that one reaches, which never changes."""


def canonical(position: Position, branch: BranchOf) -> Position:
    """The same commit, named by the branch that it was made on."""
    found = branch(position.branch_id)
    while found.parent_id is not None and position.version <= found.fork:
        position = Position(found.parent_id, position.version)
        found = branch(found.parent_id)
    return position


def reached(start: Position, branch: BranchOf, merges: Merges, known: Reaches | None = None) -> dict[int, int]:
    """Branch -> the highest version of its own that `start` reaches. What is `known` is not walked again."""
    highest: dict[int, int] = {}
    waiting = [start]
    while waiting:
        at = canonical(waiting.pop(), branch)
        before = highest.get(at.branch_id, -1)
        if at.version <= before:
            continue
        if before < 0 and known and at.branch_id in known and known[at.branch_id][0] <= at.version:
            before, reach = known[at.branch_id]
            highest = {**reach, **{id: upto for id, upto in highest.items() if upto > reach.get(id, -1)}}
        highest[at.branch_id] = at.version
        found = branch(at.branch_id)
        if found.parent_id is not None:
            waiting.append(Position(found.parent_id, found.fork))
        waiting += [merged for version, merged in merges(at.branch_id, at.version) if before < version <= at.version]
    return highest


def merge_bases(
    ours: Position, theirs: Position, branch: BranchOf, merges: Merges, known: Reaches | None = None
) -> tuple[Position, ...]:
    """The common ancestors that no other one reaches; at least one, since all history begins at one commit.

    Those on the heads' own lines are asked first: mostly one of them reaches all branches that were ever merged."""
    known = {} if known is None else known
    along = {head: _along(head, branch, merges, known) for head in (theirs, ours)}  # what is older comes first
    here, there = (along[head][canonical(head, branch)] for head in (ours, theirs))
    common = {id: min(here[id], there[id]) for id in here.keys() & there.keys()}
    best = {id: version for id, version in common.items() if canonical(Position(id, version), branch).branch_id == id}
    if len(best) == 1:
        return tuple(Position(id, version) for id, version in best.items())
    asked = {**along[ours], **along[theirs]}
    lines = {at.branch_id for at in asked}
    for id in sorted(best, key=lambda id: (id not in lines, id)):
        if id in best:
            at = Position(id, best[id])
            reach = asked[at] if at in asked else reached(at, branch, merges, known)
            best = {other: upto for other, upto in best.items() if other == id or reach.get(other, -1) < upto}
    return tuple(Position(id, best[id]) for id in sorted(best))


def _along(head: Position, branch: BranchOf, merges: Merges, known: Reaches) -> dict[Position, Mapping[int, int]]:
    """What a head reaches, and what the forks on its line do; the newest of each branch is remembered."""
    found: dict[Position, Mapping[int, int]] = {}
    for at in reversed(_line(head, branch)):
        found[at] = reach = reached(at, branch, merges, known)
        if known.get(at.branch_id, (-1, reach))[0] < at.version:
            known[at.branch_id] = at.version, reach
    return found


def _line(head: Position, branch: BranchOf) -> list[Position]:
    """A head, and the forks that its own history is on."""
    at: Position | None = head
    found = []
    while at is not None:
        at = canonical(at, branch)
        found.append(at)
        of = branch(at.branch_id)
        at = None if of.parent_id is None else Position(of.parent_id, of.fork)
    return found
