"""Sections and runs, told as intervals: "[0, 9] | [5, 7], [9, 15]" is a run of one part and a run of two."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.keyed.sections import Placed, may_merge, runs_by_age, sections, widened


def placed(text):
    """Parts in the order of the text, which is their age; blocks may follow as @3 or @2-4."""
    found = []
    for at, (first, last, low, high) in enumerate(re.findall(r"\[(\d+), (\d+)\](?:@(\d+)(?:-(\d+))?)?", text)):
        low = int(low) if low else at
        found.append(Placed(f"p{at}", (int(first),), (int(last),), low, int(high) if high else low, 10))
    return found


def told(runs):
    return " | ".join(", ".join(f"[{p.first[0]}, {p.last[0]}]" for p in run.parts) for run in runs)


SECTIONS = [
    ("", []),
    ("[0, 9]", ["[0, 9]"]),
    ("[0, 9], [10, 19]", ["[0, 9]", "[10, 19]"]),
    ("[0, 9], [9, 15], [5, 7]", ["[0, 9] | [5, 7], [9, 15]"]),
    ("[0, 3], [0, 3], [0, 3]", ["[0, 3] | [0, 3] | [0, 3]"]),
    ("[0, 100], [1, 2], [3, 4], [5, 6]", ["[0, 100] | [1, 2], [3, 4], [5, 6]"]),
    (
        "[5, 8], [0, 3], [2, 6], [20, 30], [25, 26], [31, 31]",
        ["[0, 3], [5, 8] | [2, 6]", "[20, 30] | [25, 26]", "[31, 31]"],
    ),
    ("[0, 5], [4, 9], [6, 12], [10, 20]", ["[0, 5], [6, 12] | [4, 9], [10, 20]"]),
]


@pytest.mark.parametrize(("parts", "expected"), SECTIONS)
def test_sections(parts, expected):
    assert [told(section.runs) for section in sections(placed(parts))] == expected


def test_a_section_knows_its_ends_and_ages():
    (section,) = sections(placed("[5, 8]@7, [0, 6]@3, [1, 30]@4-6"))
    assert (section.first, section.last) == ((0,), (30,))
    assert [part.min_block for part in section.parts] == [3, 4, 7]


INTERVALS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=12)


@given(INTERVALS)
def test_fewest_runs_in_disjoint_sections(intervals):
    parts = [Placed(str(at), (a,), (a + size,), at, at) for at, (a, size) in enumerate(intervals)]
    found = sections(parts)
    assert sorted(p.name for s in found for p in s.parts) == sorted(p.name for p in parts)
    for before, after in pairwise(found):
        assert before.last < after.first
    for section in found:
        for run in section.runs:
            assert all(a.last < b.first for a, b in pairwise(run.parts))
        # No fewer runs are possible than parts that share a key; and no more were needed.
        depth = max(sum(p.keys_meet((key,), (key,)) for p in section.parts) for key in range(30))
        assert len(section.runs) == depth
    assert {frozenset(p.name for p in section.parts) for section in found} == connected(parts)


def connected(parts):
    """Parts whose keys meet, directly or through others."""
    groups = {frozenset([part]) for part in parts}
    for part in parts:
        meeting = {group for group in groups if any(part.keys_meet(p.first, p.last) for p in group)}
        groups = (groups - meeting) | {frozenset().union(*meeting)}
    return {frozenset(part.name for part in group) for group in groups}


RUNS = [
    ("", ""),
    ("[0, 9], [10, 19], [20, 29]", "[0, 9], [10, 19], [20, 29]"),
    ("[0, 9], [5, 7], [9, 15]", "[5, 7], [9, 15] | [0, 9]"),
    ("[0, 9], [5, 7], [6, 15], [0, 1]", "[0, 1], [6, 15] | [5, 7] | [0, 9]"),
]


@pytest.mark.parametrize(("parts", "expected"), RUNS)
def test_runs_by_age_newest_first(parts, expected):
    assert told(runs_by_age(placed(parts))) == expected


@given(INTERVALS)
def test_runs_by_age_are_runs_and_the_newest_may_be_merged(intervals):
    parts = [Placed(str(at), (a,), (a + size,), at, at) for at, (a, size) in enumerate(intervals)]
    runs = runs_by_age(parts)
    for run in runs:
        assert all(a.last < b.first for a, b in pairwise(run.parts))
    for newer, older in pairwise(runs):
        assert min(p.min_block for p in newer.parts) > max(p.max_block for p in older.parts)
    for count in range(1, len(runs) + 1):
        assert may_merge(parts, [part for run in runs[:count] for part in run.parts])


MERGES = [
    # parts, the chosen ones, whether they may be merged, what they need to be
    ("[0, 9]@1, [0, 9]@2, [0, 9]@3", "p0 p1", True, "p0 p1"),
    ("[0, 9]@1, [0, 9]@2, [0, 9]@3", "p0 p2", False, "p0 p1 p2"),
    ("[0, 9]@1, [20, 29]@2, [0, 9]@3", "p0 p2", True, "p0 p2"),
    ("[0, 9]@1, [12, 13]@2, [20, 29]@3", "p0 p2", False, "p0 p1 p2"),
    ("[0, 9]@1-4, [10, 19]@2, [5, 12]@5", "p0 p2", False, "p0 p1 p2"),
    ("[0, 9]@1-4, [20, 29]@2, [5, 12]@5", "p0 p2", True, "p0 p2"),
    ("[0, 9]@1, [0, 9]@5, [0, 30]@3, [30, 40]@2", "p0 p1", False, "p0 p3 p2 p1"),
    ("[0, 9]@1", "p0", True, "p0"),
    ("[0, 9]@1", "", True, ""),
]


@pytest.mark.parametrize(("parts", "names", "allowed", "needed"), MERGES)
def test_may_merge(parts, names, allowed, needed):
    parts = placed(parts)
    chosen = [part for part in parts if part.name in names.split()]
    assert may_merge(parts, chosen) is allowed
    assert " ".join(part.name for part in widened(parts, chosen)) == needed


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 9), st.integers(0, 3)), max_size=7),
    st.sets(st.integers(0, 6)),
)
def test_may_merge_and_widening_as_told(drawn, names):
    parts = [Placed(f"p{at}", (a,), (a + n,), b, b + m) for at, (a, n, b, m) in enumerate(drawn)]
    chosen = [part for at, part in enumerate(parts) if at in names]

    def allowed(some):
        cells = {(k, b) for k in _hull(some, "first", "last") for b in _hull(some, "min_block", "max_block")}
        others = [part for part in parts if part not in some]
        return not any(
            cells & {(k, b) for k in _hull([p], "first", "last") for b in _hull([p], "min_block", "max_block")}
            for p in others
        )

    assert may_merge(parts, chosen) == (not chosen or allowed(chosen))
    if chosen:
        grown = widened(parts, chosen)
        assert allowed(grown)
        rest = [part for part in grown if part not in chosen]
        smaller = [[*chosen, *some] for size in range(len(rest)) for some in combinations(rest, size)]
        assert not any(allowed(some) for some in smaller)


def _hull(parts, low, high):
    def number(value):
        return value[0] if isinstance(value, tuple) else value

    return range(min(number(getattr(p, low)) for p in parts), max(number(getattr(p, high)) for p in parts) + 1)
