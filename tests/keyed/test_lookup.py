"""Lookup plans: every row group that holds a key is opened, and what is found is what a dictionary would find."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.keyed.bounds import PartKeys, part_keys
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.lookup import Probe, found, plan, wanted
from tests.keyed.some_keys import arrays, order, some_types_and_rows

PARTS = [PartKeys(((0,), (10,), (20,)), (29,)), PartKeys(((15,),), (40,))]
PLANS = [
    ([], []),
    ([-1], []),
    ([41], []),
    ([5], [Probe(0, 0, 0, 1)]),
    ([10], [Probe(0, 0, 0, 1), Probe(0, 1, 0, 1)]),
    ([29, 40], [Probe(0, 2, 0, 1), Probe(1, 0, 0, 2)]),
    ([1, 2, 16, 30], [Probe(0, 0, 0, 2), Probe(0, 1, 2, 3), Probe(1, 0, 2, 4)]),
]


@pytest.mark.parametrize(("keys", "probes"), PLANS)
def test_plan(keys, probes):
    assert plan(key_columns([pa.array(keys, pa.int64())]), PARTS) == probes


@settings(deadline=None)
@given(some_types_and_rows(max_size=40), st.integers(1, 5), st.data())
def test_lookup_finds_what_is_there(drawn, size, data):
    types, rows = drawn
    if not rows:
        return
    asked = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=15))
    parts = []
    for _ in range(data.draw(st.integers(1, 4))):
        held = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=20))
        held = sorted(held, key=lambda row: order(row, types))
        parts.append(list({order(row, types): row for row in held}.values()))
    bounds = [
        part_keys(key_columns(arrays(part, types)), [min(size, len(part) - at) for at in range(0, len(part), size)])
        for part in parts
    ]
    want = wanted(key_columns(arrays(asked, types)))
    places = {}
    opened = plan(want.keys, bounds)
    for probe in opened:
        group = parts[probe.part][probe.row_group * size :][:size]
        ours, theirs = found(key_columns(arrays(group, types)), want.keys.slice(probe.start, probe.stop))
        for key, at in zip((ours + probe.start).tolist(), theirs.tolist(), strict=True):
            places.setdefault(key, []).append((probe.part, probe.row_group * size + at))
    for at, row in enumerate(asked):
        expected = [
            (part, place)
            for part, held in enumerate(parts)
            for place, other in enumerate(held)
            if order(other, types) == order(row, types)
        ]
        assert places.get(int(want.asked[at]), []) == expected
    assert len(set(opened)) == len(opened)


def test_only_the_row_groups_that_can_hold_keys_are_opened():
    keys = np.arange(0, 1_000_000, 5)
    part = part_keys(key_columns([pa.array(keys)]), [1000] * 200)
    few = key_columns([pa.array(np.arange(400_001, 402_001, 7))])
    assert [probe.row_group for probe in plan(few, [part])] == [80]
