"""Key ranges: every key in exactly one, cut at row groups of the largest run, of about equal rows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.keyed.ranges import KeyRange, RowGroup, cut


def run(*groups):
    return [RowGroup((first,), rows) for first, rows in groups]


CASES = [
    ("no runs", [], 4, []),
    ("one row group", [run((0, 10))], 4, []),
    ("one task", [run((0, 10), (10, 10))], 1, []),
    ("as many as row groups", [run((0, 10), (10, 10), (20, 10))], 3, [10, 20]),
    ("more tasks than row groups", [run((0, 10), (10, 10))], 8, [10]),
    ("equal rows", [run(*((at, 10) for at in range(0, 80, 10)))], 2, [40]),
    ("only the largest run is cut", [run((0, 10), (10, 10), (20, 10)), run((4, 3), (7, 3))], 3, [10, 20]),
    ("others' rows count", [run((0, 10), (10, 10), (20, 10), (30, 10)), run((30, 18), (35, 18))], 2, [30]),
]


@pytest.mark.parametrize(("name", "runs", "tasks", "cuts"), CASES, ids=[case[0] for case in CASES])
def test_cut(name, runs, tasks, cuts):
    edges = [None, *((at,) for at in cuts), None]
    assert cut(runs, tasks) == [KeyRange(low, high) for low, high in pairwise(edges)]


GROUPS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=12, unique_by=lambda g: g[0]).map(
    lambda groups: run(*sorted(groups))
)


@given(st.lists(GROUPS, max_size=4), st.integers(1, 6))
def test_ranges_hold_every_key_once(runs, tasks):
    ranges = cut(runs, tasks)
    assert 1 <= len(ranges) <= tasks
    for key in range(52):
        assert sum(r.meets((key,), (key,)) for r in ranges) == 1
    sizes = [sum(g.rows for g in run) for run in runs]
    firsts = {g.first for run, size in zip(runs, sizes, strict=True) if size == max(sizes) for g in run}
    assert {r.low for r in ranges[1:]} <= firsts


def test_equal_row_groups_give_equal_tasks():
    groups = run(*((at, 100) for at in range(77)))
    ranges = cut([groups, run((3, 50), (40, 50))], 8)
    rows = [sum(g.rows for g in groups if r.meets(g.first, g.first)) for r in ranges]
    assert len(rows) == 8
    assert max(rows) - min(rows) <= 200
