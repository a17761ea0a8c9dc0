"""Lineages: every version of a history is in exactly one segment, whatever was forked from what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.history import Branch, Commit, Position, Segment, lineage, since

# main at 10; dev forked at 4, now at 8; deep forked from dev at 6; early forked from dev at 2, which is main's history.
BRANCHES = {
    1: Branch(1, "main", None, 0, 10, 0),
    2: Branch(2, "dev", 1, 4, 8, 0),
    3: Branch(3, "deep", 2, 6, 9, 0),
    4: Branch(4, "early", 2, 2, 5, 0),
    5: Branch(5, "idle", 1, 4, 4, 0),
}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ((1, 10), [(1, -1, 10)]),
        ((1, 0), [(1, -1, 0)]),
        ((2, 8), [(2, 4, 8), (1, -1, 4)]),
        ((2, 5), [(2, 4, 5), (1, -1, 4)]),
        ((2, 4), [(1, -1, 4)]),
        ((2, 3), [(1, -1, 3)]),
        ((3, 9), [(3, 6, 9), (2, 4, 6), (1, -1, 4)]),
        ((3, 5), [(2, 4, 5), (1, -1, 4)]),
        ((3, 1), [(1, -1, 1)]),
        ((4, 5), [(4, 2, 5), (1, -1, 2)]),
        ((5, 4), [(1, -1, 4)]),
    ],
)
def test_lineage(position, expected):
    assert lineage(Position(*position), BRANCHES.__getitem__) == tuple(Segment(*segment) for segment in expected)


@st.composite
def trees(draw):
    branches = {0: Branch(0, "b0", None, 0, draw(st.integers(0, 9)), 0)}
    for id_ in range(1, draw(st.integers(1, 8))):
        parent = branches[draw(st.integers(0, id_ - 1))]
        fork = draw(st.integers(0, parent.head))
        branches[id_] = Branch(id_, f"b{id_}", parent.id, fork, fork + draw(st.integers(0, 5)), 0)
    return branches


def owner(branches, branch_id, version):
    """The oracle: climb while the version is not the branch's own."""
    branch = branches[branch_id]
    while branch.parent_id is not None and version <= branch.fork:
        branch = branches[branch.parent_id]
    return branch.id


@given(trees(), st.data())
def test_every_version_once(branches, data):
    branch = branches[data.draw(st.sampled_from(sorted(branches)))]
    version = data.draw(st.integers(0, branch.head))
    segments = lineage(Position(branch.id, version), branches.__getitem__)
    found = [(s.branch_id, v) for s in segments for v in range(s.upto, s.after, -1)]
    assert found == [(owner(branches, branch.id, v), v) for v in range(version, -1, -1)]
    assert all(s.upto > s.after for s in segments)

    start = data.draw(st.integers(-1, version))
    newer = [(s.branch_id, v) for s in since(segments, start) for v in range(s.upto, s.after, -1)]
    assert newer == [pair for pair in found if pair[1] > start]


def test_commits():
    first = Commit(1, 0, "a", 0, "me", "INIT", "")
    merge = Commit(2, 5, "b", 1_700_000_000_123_456, "me", "MERGE", "", Position(3, 9))
    assert first.parents == ()
    assert merge.parents == (Position(2, 4), Position(3, 9))
    assert merge.time.isoformat() == "2023-11-14T22:13:20.123456+00:00"
