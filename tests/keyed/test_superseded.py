"""Superseded positions against a dictionary of records; advancing against computing from nothing."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.keyed import superseded as superseded_module
from anabranch.keyed import tiers
from anabranch.keyed.key_columns import KeyColumns, key_columns
from anabranch.keyed.keys import sort_indices
from anabranch.keyed.sequences import ascending, later, sequences
from anabranch.keyed.superseded import Keep, PartRows, Superseded, last_word
from anabranch.keyed.tiers import rows_in
from tests.keyed.some_keys import VALUES, arrays, order, some_types_and_rows


def naive(parts, keep, types, whole=()):
    """parts: [(slot, rows, tombstones, sequence ranks)] -> {slot: masked positions}, keys with several records."""
    records = {}
    for age, (slot, rows, tombstones, ranks) in enumerate(parts):
        for at, row in enumerate(rows):
            records.setdefault(order(row, types), []).append((ranks[at], age, at, slot, tombstones[at]))
    dead = {}
    for found in records.values():
        found = sorted(found)
        lone = found[-1:] if len(found) == 1 or found[-1][3] in whole else []
        shown = {Keep.NEWEST: found[-1:], Keep.OLDEST: found[:1], Keep.LONE: lone}[keep]
        for record in found:
            if record not in shown or record[4]:
                dead.setdefault(record[3], set()).add(record[2])
    several = {key: max(found)[3] in whole for key, found in records.items() if len(found) > 1}
    return dead, sorted(key for key in several if not several[key]), sorted(key for key in several if several[key])


@st.composite
def some_parts(draw, keep):
    types, rows = draw(some_types_and_rows(max_size=40))
    count = draw(st.integers(1, 6))
    ranked = keep is Keep.NEWEST and draw(st.booleans())
    parts = []
    for slot in draw(st.permutations(range(count))):
        held = draw(st.lists(st.sampled_from(rows), max_size=20)) if rows else []
        held = sorted(held, key=lambda row: order(row, types))
        if keep is not Keep.LONE or draw(st.booleans()):
            held = list({order(row, types): row for row in held}.values())
        few = st.lists(st.integers(0, 3), min_size=len(held), max_size=len(held))
        tombstones = [keep is not Keep.OLDEST and n == 0 for n in draw(few)]
        parts.append((slot, held, tombstones, draw(few) if ranked else [0] * len(held)))
    return types, parts, ranked


def part_rows(part, types, ranked):
    slot, rows, tombstones, ranks = part
    return PartRows(
        slot,
        key_columns(arrays(rows, types)),
        np.array(tombstones, np.bool_) if any(tombstones) else None,
        sequences([pa.array(ranks, pa.int32())]) if ranked else None,
    )


def masked(state):
    return {slot: set(positions) for slot, positions in state.dead.items() if positions}


@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("keep", Keep)
@given(data=st.data())
def test_superseded_as_told(keep, data):
    types, parts, ranked = data.draw(some_parts(keep))
    rows = [part_rows(part, types, ranked) for part in parts]
    slots = [part[0] for part in parts if not any(part[2])]
    whole = data.draw(st.sets(st.sampled_from(slots))) if keep is Keep.LONE and slots else set()
    expected, contested, settled = naive(parts, keep, types, whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(superseded_module, "_TOGETHER", data.draw(st.sampled_from([0, 1 << 16])))  # in groups, or in one
        patch.setattr(superseded_module, "_PIECE", data.draw(st.sampled_from([1, 3, 999])))  # by few keys, or at once
        patch.setattr(tiers, "_SMALL", data.draw(st.sampled_from([0, 1 << 16])))  # runs of several stretches, or of one
        state = Superseded(keep).advanced(rows, whole)
    assert masked(state) == expected

    cut = data.draw(st.integers(0, len(rows)))
    old = Superseded(keep).advanced(rows[:cut], whole)
    before = masked(old), len(old.contested)
    stepwise = old
    for part in rows[cut:]:
        stepwise = stepwise.advanced([part], whole)
    assert masked(stepwise) == expected
    assert (masked(old), len(old.contested)) == before  # what was cached is as it was

    if keep is not Keep.LONE:
        return
    for found in (last_word(state), last_word(stepwise)) if cut == 0 else (last_word(state),):
        assert (found is not None) == bool(contested or settled)
        for keys, naively in zip(found or (), (contested, settled), strict=False):
            assert len(keys) == len(naively)
            assert standing(stepwise.records(keys)) == {
                (naively.index(key), slot, at)
                for slot, held, _, _ in parts
                for at, row in enumerate(held)
                if (key := order(row, types)) in naively
            }


def standing(found):
    for positions, _ in found.values():
        assert (positions[1:] > positions[:-1]).all()
    return {(int(o), slot, int(p)) for slot, (ps, owners) in found.items() for p, o in zip(ps, owners, strict=True)}


def test_tiers_stay_few():
    rng = np.random.default_rng(2)
    state = Superseded(Keep.NEWEST)
    for slot in range(300):
        keys = np.unique(rng.integers(0, 3000, 20))
        state = state.advanced([PartRows(slot, key_columns([pa.array(keys)]))])
        sizes = [rows_in(tier) for tier in state.tiers]
        assert all(a > 2 * b for a, b in pairwise(sizes))
    assert len(state.tiers) <= 8


@settings(deadline=None)
@given(st.sampled_from(list(VALUES)), st.data(), st.booleans())
def test_sequences_order_nulls_first(type_, data, descending):
    values = data.draw(st.lists(st.none() | VALUES[type_], min_size=2, max_size=12))
    numbers = data.draw(st.lists(st.none() | st.integers(0, 1), min_size=len(values), max_size=len(values)))
    found = sequences([pa.array(numbers, pa.int64()), pa.array(values, type_)], descending=descending)

    def before(a, b):
        for x, y, kind in ((numbers[a], numbers[b], pa.int64()), (values[a], values[b], type_)):
            if x is None or y is None:
                if (x is None) != (y is None):
                    return x is None
                continue
            one, other = order((x,), (kind,)), order((y,), (kind,))
            if one != other:
                return (one > other) if descending else (one < other)
        return False

    ones, others = zip(*((a, b) for a in range(len(values)) for b in range(len(values))), strict=True)
    above = later(found.take(np.array(ones)), found.take(np.array(others)))
    assert above.tolist() == [before(b, a) for a, b in zip(ones, others, strict=True)]
    ranked = sort_indices(KeyColumns((), tuple(ascending(found)))).tolist()
    assert not any(before(b, a) for a, b in pairwise(ranked))
