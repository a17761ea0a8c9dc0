"""A state folded from random events is what an oracle says that replays them one row at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState, advance, difference

SLOTS = st.integers(0, 4)
ROWS = 6
HERE = Position(1, 7)


def part(slot):
    return Part(f"part{slot}", slot, 1, ROWS, 10 * slot)


def positions():
    return st.sets(st.integers(0, ROWS - 1), min_size=1)


@st.composite
def deltas(draw):
    placed = draw(st.sets(SLOTS))
    removed = draw(st.sets(SLOTS)) - placed
    killed, revived = (draw(st.dictionaries(SLOTS, positions(), max_size=3)) for _ in range(2))
    bitmaps = [{slot: BitMap(found) for slot, found in many.items()} for many in (killed, revived)]
    return TableDelta("t", tuple(map(part, sorted(placed))), tuple(sorted(removed)), *bitmaps)


def oracle(events):
    """Slots and dead rows as plain sets; within a delta, kills come before revivals."""
    slots, dead = set(), set()
    for delta in events:
        slots = (slots - set(delta.removed)) | {placed.slot for placed in delta.placed}
        dead |= {(slot, p) for slot, found in delta.killed.items() for p in found}
        dead -= {(slot, p) for slot, found in delta.revived.items() for p in found}
    return slots, dead


def seen(state):
    return set(state.parts), {(slot, p) for slot, found in state.dead.items() for p in found}


EMPTY = TableState("t", Position(1, 0))


@given(st.lists(deltas(), max_size=8), st.data())
def test_advance(events, data):
    cut = data.draw(st.integers(0, len(events)))
    middle = advance(EMPTY, HERE, events[:cut])
    before = seen(middle)
    state = advance(middle, HERE, events[cut:])
    assert seen(state) == oracle(events)
    assert state == advance(EMPTY, HERE, events)
    assert seen(middle) == before == oracle(events[:cut])  # a state is never changed
    assert all(state.dead.values())  # no empty bitmaps


@given(st.lists(deltas(), max_size=8))
def test_counts(events):
    state = advance(EMPTY, HERE, events)
    slots, dead = oracle(events)
    assert state.rows == len(slots) * ROWS - len({(slot, p) for slot, p in dead if slot in slots})
    assert state.bytes == sum(10 * slot for slot in slots)


def test_advancing_by_nothing_shares_everything():
    state = advance(EMPTY, HERE, [TableDelta("t", (part(1),))])
    later = advance(state, Position(1, 9), [])
    assert later.position == Position(1, 9)
    assert later.parts is state.parts
    assert later.dead is state.dead


@given(st.lists(deltas(), max_size=6), st.lists(deltas(), max_size=6))
def test_difference_leads_from_one_state_to_the_other(one, other):
    old, new = advance(EMPTY, HERE, one), advance(EMPTY, Position(2, 3), other)
    delta = difference(old, new)
    assert seen(advance(old, HERE, [delta])) == seen(new)
    assert not set(delta.removed) & {placed.slot for placed in delta.placed}


@given(st.lists(deltas(), max_size=6))
def test_no_difference(events):
    state = advance(EMPTY, HERE, events)
    assert difference(state, state).is_empty
    assert difference(state, advance(EMPTY, HERE, events)).is_empty


def test_a_slot_in_another_part():
    """A slot names rows, not files: another part in its place is no difference."""
    old = TableState("t", HERE, {1: part(1)})
    new = TableState("t", HERE, {1: Part("other", 1, 1, ROWS, 5)})
    assert difference(old, new).is_empty


@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(0, 6), st.integers(0, 6))
def test_an_ordered_difference_gives_the_order_too(one, other, some, more):
    old = advance(EMPTY, HERE, [TableDelta("t", tuple(part(slot) for slot in one[:some]))])
    new = advance(EMPTY, HERE, [TableDelta("t", tuple(part(slot) for slot in other[:more]))])
    delta = difference(old, new, ordered=True)
    assert list(advance(old, HERE, [delta]).parts) == list(new.parts)


@pytest.mark.parametrize(
    ("old", "new", "placed", "removed"),
    [
        ([1, 2, 3], [1, 3], [], [2]),
        ([1, 2, 3], [1, 2, 3, 4], [4], []),
        ([2, 3], [1, 2, 3], [1, 2, 3], []),
        ([1, 3, 2], [1, 2, 3], [3], []),
        ([1, 2], [2, 1], [1], []),
        ([1, 2, 3], [], [], [1, 2, 3]),
    ],
)
def test_only_what_is_out_of_place_is_placed_again(old, new, placed, removed):
    states = [advance(EMPTY, HERE, [TableDelta("t", tuple(map(part, slots)))]) for slots in (old, new)]
    delta = difference(*states, ordered=True)
    assert ([p.slot for p in delta.placed], list(delta.removed)) == (placed, removed)
