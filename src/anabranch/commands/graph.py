"""The commit graph of a ref, drawn line by line as `git log --graph` does.

A column waits for one commit. A commit is drawn in the first column that waits for it; its first parent takes the
column over, and what it merged opens one to the right, unless a column near by waits for that already. Columns that
wait for the same commit close at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.branching.base import canonical, reached
from anabranch.commands.session import Session
from anabranch.model.history import Branch, Commit, Position


@dataclass(frozen=True)
class GraphLine:
    """A commit, or only edges between two of them."""

    drawn: str
    commit: Commit | None = None


def log_graph(session: Session, at: Position, limit: int | None = None) -> list[GraphLine]:
    """Everything that `at` reaches, what was merged into it too, newest first."""
    catalog = session.catalog
    branch = catalog.origin
    commits: dict[Position, Commit] = {}
    for id, highest in reached(at, branch, catalog.merges()).items():
        found = branch(id)
        own = highest - (found.fork if found.parent_id is not None else -1)
        if own > 0:
            for commit in catalog.log(Position(id, highest), own):
                commits[Position(commit.branch_id, commit.version)] = commit
    parents = {place: _parents(commit, branch) for place, commit in commits.items()}
    ordered = newest_first(commits, parents)[:limit]
    return list(draw([(place, parents[place]) for place in ordered], commits))


def _parents(commit: Commit, branch: Callable[[int], Branch]) -> tuple[Position, ...]:
    return tuple(dict.fromkeys(canonical(parent, branch) for parent in commit.parents))


def newest_first(commits: Mapping[Position, Commit], parents: Mapping[Position, Sequence[Position]]) -> list[Position]:
    """No commit before one that was made on it; else by time."""
    children = dict.fromkeys(commits, 0)
    for each in parents.values():
        for parent in each:
            children[parent] += 1
    ready = [(-commits[p].time_us, p.branch_id, p.version) for p, count in children.items() if not count]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, branch_id, version = heapq.heappop(ready)
        place = Position(branch_id, version)
        ordered.append(place)
        for parent in parents[place]:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-commits[parent].time_us, parent.branch_id, parent.version))
    return ordered


def draw(
    ordered: Sequence[tuple[Position, Sequence[Position]]], commits: Mapping[Position, Commit]
) -> Iterator[GraphLine]:
    columns: list[Position] = []
    for number, (place, parents) in enumerate(ordered):
        if place not in columns:
            columns.append(place)
        at = columns.index(place)
        marks = ["*" if column == at else "|" for column in range(len(columns))]
        yield GraphLine(" ".join(marks), commits[place])
        if number == len(ordered) - 1:
            return
        waiting = columns.index(parents[1]) if len(parents) > 1 and parents[1] in columns else None
        if waiting is not None and waiting <= at + 1:
            columns[at] = parents[0]
            yield GraphLine(_linked(at, waiting, len(columns)))
        else:
            columns[at : at + 1] = parents
            if len(parents) > 1:
                yield GraphLine(_opening(at, len(columns)))
        yield from _closed(columns)


def _closed(columns: list[Position]) -> Iterator[GraphLine]:
    """Joins columns that wait for one commit, the rightmost first."""
    for right in range(len(columns) - 1, 0, -1):
        left = columns.index(columns[right])
        if left < right:
            yield GraphLine(_closing(left, right, len(columns)))
            del columns[right]


def _opening(at: int, count: int) -> str:
    r"""`| |\ \`: a column opens after `at`; those to the right of it move on."""
    row = [" "] * (2 * count - 1)
    for column in range(at + 1):
        row[2 * column] = "|"
    for column in range(at + 1, count):
        row[2 * column - 1] = "\\"
    return "".join(row).rstrip()


def _linked(at: int, other: int, count: int) -> str:
    """`|/|`: an edge to a column that waits for the merged commit already, to the left or next to the right."""
    row = list(" ".join("|" * count))
    for gap in range(other, at - 1):
        row[2 * gap + 1] = "_"
    row[2 * at + 1 if other > at else 2 * at - 1] = "\\" if other > at else "/"
    return "".join(row)


def _closing(left: int, right: int, count: int) -> str:
    """`|_|/ /`: the column `right` runs into `left`; those to the right of it move in."""
    row = [" "] * (2 * count - 1)
    for column in range(right):
        row[2 * column] = "|"
    for gap in range(left, right - 1):
        row[2 * gap + 1] = "_"
    for column in range(right, count):
        row[2 * column - 1] = "/"
    return "".join(row).rstrip()
