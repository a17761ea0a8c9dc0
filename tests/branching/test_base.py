"""Merge bases against a naive walk over every commit of random graphs."""

import random
from collections.abc import Sequence

import pytest

from anabranch.branching.base import canonical, merge_bases, reached
from anabranch.model.history import Branch, Position


class Graph:
    """Branches, their versions, and what each version merged."""

    def __init__(self) -> None:
        self.branches = {1: Branch(1, "main", None, -1, 0, 0)}
        self.heads = {1: 0}
        self.merged: dict[Position, Position] = {}

    def commit(self, branch_id: int, merged: Position | None = None) -> None:
        self.heads[branch_id] += 1
        if merged is not None:
            self.merged[Position(branch_id, self.heads[branch_id])] = merged

    def fork(self, at: Position) -> None:
        id = len(self.branches) + 1
        self.branches[id] = Branch(id, f"b{id}", at.branch_id, at.version, at.version, 0)
        self.heads[id] = at.version

    def merges(self, branch_id: int, upto: int) -> Sequence[tuple[int, Position]]:
        return [(at.version, other) for at, other in sorted(self.merged.items()) if at.branch_id == branch_id]

    def own(self, at: Position) -> Position:
        return canonical(at, self.branches.__getitem__)

    def ancestors(self, at: Position) -> set[Position]:
        """Itself too."""
        found: set[Position] = set()
        waiting = [self.own(at)]
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            found.add(one)
            if one.version > 0:
                waiting.append(self.own(Position(one.branch_id, one.version - 1)))
            if one in self.merged:
                waiting.append(self.own(self.merged[one]))
        return found

    def bases(self, one: Position, other: Position) -> set[Position]:
        common = self.ancestors(one) & self.ancestors(other)
        return {at for at in common if not any(at in self.ancestors(another) for another in common - {at})}


def a_graph(choose: random.Random, steps: int) -> Graph:
    graph = Graph()
    for _ in range(steps):
        branch_id = choose.choice(list(graph.heads))
        does = choose.choice(["commit", "commit", "fork", "merge", "merge"])
        if does == "fork":
            graph.fork(Position(branch_id, choose.randint(0, graph.heads[branch_id])))
        else:
            other = choose.choice(list(graph.heads))
            graph.commit(branch_id, Position(other, choose.randint(0, graph.heads[other])) if does == "merge" else None)
    return graph


@pytest.mark.parametrize("seed", range(60))
def test_bases_are_the_best_common_ancestors(seed: int) -> None:
    choose = random.Random(seed)
    graph = a_graph(choose, choose.randint(1, 25))
    known: dict = {}
    for _ in range(10):
        one, other = (Position(id, choose.randint(0, graph.heads[id])) for id in choose.choices(list(graph.heads), k=2))
        found = merge_bases(one, other, graph.branches.__getitem__, graph.merges)
        assert set(found) == graph.bases(one, other)
        assert len(found) == len(set(found))
        assert merge_bases(one, other, graph.branches.__getitem__, graph.merges, known) == found
        highest = reached(one, graph.branches.__getitem__, graph.merges)
        every = graph.ancestors(one)
        assert highest == {id: max(at.version for at in every if at.branch_id == id) for id, _ in every}


def test_who_has_all_of_theirs_has_theirs_as_the_base() -> None:
    graph = Graph()
    graph.fork(Position(1, 0))
    graph.commit(2)
    graph.commit(1, merged=Position(2, 1))
    assert merge_bases(Position(1, 1), Position(2, 1), graph.branches.__getitem__, graph.merges) == (Position(2, 1),)


@pytest.mark.parametrize("seed", range(60))
def test_what_was_reached_before_is_reached_while_the_graph_grows(seed: int) -> None:
    choose = random.Random(seed)
    graph, known = Graph(), {}
    for _ in range(30):
        branch_id = choose.choice(list(graph.heads))
        if choose.random() < 0.3:
            graph.fork(Position(branch_id, choose.randint(0, graph.heads[branch_id])))
        graph.commit(branch_id)
        one, other = (Position(id, choose.randint(0, graph.heads[id])) for id in choose.choices(list(graph.heads), k=2))
        found = merge_bases(one, other, graph.branches.__getitem__, graph.merges, known)
        assert set(found) == graph.bases(one, other)
        if other.branch_id != branch_id:
            graph.commit(branch_id, other)


@pytest.mark.parametrize("branches", [10, 200])
def test_branches_that_were_merged_long_ago_are_walked_once(branches: int) -> None:
    """Both heads reach all of them; asking each whether another one reaches it would cost the cube of their number."""
    graph = Graph()
    for _ in range(branches):
        graph.fork(Position(1, graph.heads[1]))
        graph.commit(len(graph.branches))
        graph.commit(1, Position(len(graph.branches), graph.heads[len(graph.branches)]))
    graph.fork(Position(1, graph.heads[1]))
    last = len(graph.branches)
    graph.commit(last)
    graph.commit(1)
    asked = 0

    def merges(branch_id: int, upto: int) -> Sequence[tuple[int, Position]]:
        nonlocal asked
        asked += 1
        return graph.merges(branch_id, upto)

    ours, theirs = (Position(id, graph.heads[id]) for id in (1, last))
    bases = merge_bases(ours, theirs, graph.branches.__getitem__, merges)
    assert bases == (Position(1, graph.heads[1] - 1),)
    assert asked <= 6 * (branches + 2)
    known: dict = {}
    merge_bases(Position(1, ours.version - 1), Position(1, ours.version - 2), graph.branches.__getitem__, merges, known)
    asked = 0
    assert merge_bases(ours, theirs, graph.branches.__getitem__, merges, known) == bases
    assert asked <= 12, "what is known is not walked again"
