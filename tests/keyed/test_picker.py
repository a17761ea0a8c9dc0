"""What to compact: a table of cases, and what holds for any sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidOption
from anabranch.keyed.picker import PickerOptions, Rule, pick

CASES = [
    # sizes of the runs, newest first; what is picked
    ("nothing there", [], None),
    ("below the trigger", [1, 1, 1, 1], None),
    ("newer runs are more than twice the oldest", [50, 50, 50, 51, 100], (5, Rule.SIZE_AMPLIFICATION)),
    ("newer runs are just twice the oldest", [1, 2, 7, 190, 100], None),
    ("equal runs", [10, 10, 10, 10, 1000], (4, Rule.SIZE_RATIO)),
    ("one percent more is still about equal", [100, 101, 1000, 10_000, 100_000], (2, Rule.SIZE_RATIO)),
    ("two percent more is not", [100, 102, 1000, 10_000, 100_000], None),
    ("each much larger, at the trigger", [1, 10, 100, 1000, 10_000], None),
    ("each much larger, one too many", [1, 10, 100, 1000, 10_000, 100_000], (2, Rule.RUN_COUNT)),
    ("each much larger, three too many", [1, 4, 16, 64, 256, 1024, 4096, 90_000], (4, Rule.RUN_COUNT)),
    ("too many, and then about equal ones", [1, 10, 11, 1000, 10_000, 100_000], (3, Rule.RUN_COUNT)),
    ("empty runs", [0, 0, 0, 0, 0], (5, Rule.SIZE_RATIO)),
]


@pytest.mark.parametrize(("name", "sizes", "expected"), CASES, ids=[case[0] for case in CASES])
def test_pick(name, sizes, expected):
    found = pick(sizes)
    if expected is None:
        assert found is None
    else:
        assert (found.runs, found.rule) == expected
        assert found.reason


OPTIONS = st.builds(
    PickerOptions,
    compaction_trigger=st.integers(2, 8),
    stop_trigger=st.none(),
    max_size_amplification_percent=st.integers(0, 400),
    size_ratio=st.integers(0, 100),
)


@given(st.lists(st.integers(0, 1000), max_size=15), OPTIONS)
def test_what_always_holds(sizes, options):
    found = pick(sizes, options)
    trigger = options.compaction_trigger
    if len(sizes) < trigger:
        assert found is None
        return
    if found is None:
        assert len(sizes) == trigger
        return
    assert 2 <= found.runs <= len(sizes)
    amplified = sum(sizes[:-1]) * 100 > options.max_size_amplification_percent * sizes[-1]
    assert (found.rule is Rule.SIZE_AMPLIFICATION) == amplified
    if amplified:
        assert found.runs == len(sizes)
    if found.runs < len(sizes):  # it stopped where the next run is clearly larger
        assert sum(sizes[: found.runs]) * (100 + options.size_ratio) < sizes[found.runs] * 100
    if found.rule is Rule.RUN_COUNT:
        assert len(sizes) - found.runs + 1 <= trigger


@given(st.lists(st.integers(1, 1000), max_size=30), OPTIONS)
def test_picking_again_and_again_ends(sizes, options):
    steps = 0
    while (found := pick(sizes, options)) is not None:
        sizes = [sum(sizes[: found.runs]), *sizes[found.runs :]]
        steps += 1
    assert len(sizes) <= options.compaction_trigger
    assert steps <= 30
    assert len(sizes) <= options.stop


def test_many_small_writes_cost_few_rewrites():
    """A thousand flushes of one size: each byte is rewritten a few times, not hundreds."""
    sizes, rewritten = [], 0
    for _ in range(1000):
        sizes = [1, *sizes]
        while (found := pick(sizes)) is not None:
            rewritten += sum(sizes[: found.runs])
            sizes = [sum(sizes[: found.runs]), *sizes[found.runs :]]
    assert sum(sizes) == 1000
    assert len(sizes) <= 5
    assert rewritten / 1000 < 12


def test_writers_ask_for_compaction_above_the_stop_trigger():
    assert PickerOptions().stop == 8
    assert PickerOptions(compaction_trigger=5, stop_trigger=5).stop == 5


BAD = [{"compaction_trigger": 1}, {"stop_trigger": 4}, {"max_size_amplification_percent": -1}, {"size_ratio": -1}]


@pytest.mark.parametrize("options", BAD)
def test_bad_options(options):
    with pytest.raises(InvalidOption):
        PickerOptions(**options)
