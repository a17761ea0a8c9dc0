"""Row ids, masks and words against plain Python sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.model.part import MAX_SLOT
from anabranch.storage.row_ids import by_slot, kept, row_ids, united, words

SLOTS = st.sampled_from([0, 1, 2, 77, MAX_SLOT])
POSITIONS = st.one_of(st.integers(0, 200), st.sampled_from([2**16, 2**31 - 1, 2**31, 2**32 - 1]))
PAIRS = st.lists(st.tuples(SLOTS, POSITIONS), max_size=60)


@given(slot=SLOTS, first=POSITIONS, rows=st.integers(0, 20))
def test_row_ids(slot, first, rows):
    first = min(first, 2**32 - 20)
    assert row_ids(slot, first, rows).tolist() == [slot * 2**32 + first + row for row in range(rows)]


@given(PAIRS)
def test_by_slot(pairs):
    ids = np.array([slot * 2**32 + position for slot, position in pairs], dtype=np.int64)
    expected = {}
    for slot, position in pairs:
        expected.setdefault(slot, set()).add(position)
    assert {slot: set(found) for slot, found in by_slot(ids).items()} == expected


@given(st.lists(PAIRS, max_size=4))
def test_united(many):
    def grouped(pairs):
        return by_slot(np.array([slot * 2**32 + position for slot, position in pairs], dtype=np.int64))

    given_ = [grouped(pairs) for pairs in many]
    before = [{slot: set(found) for slot, found in one.items()} for one in given_]
    expected = {}
    for slot, position in (pair for pairs in many for pair in pairs):
        expected.setdefault(slot, set()).add(position)
    assert {slot: set(p) for slot, p in united(given_).items()} == expected
    assert [{slot: set(p) for slot, p in one.items()} for one in given_] == before  # its arguments stay as they were


@given(dead=st.sets(st.integers(0, 300)), first=st.integers(0, 200), rows=st.integers(0, 200))
def test_kept(dead, first, rows):
    expected = [position not in dead for position in range(first, first + rows)]
    found = kept(BitMap(dead), first, rows)
    if found is None:
        assert all(expected)
    else:
        assert found.tolist() == expected
        assert not all(expected)  # None says that all are alive, and saves the filter


def test_kept_without_dead_rows():
    assert kept(None, 0, 5) is None
    assert kept(BitMap(), 0, 5) is None


def test_kept_far_into_a_part():
    first = 2**32 - 100
    found = kept(BitMap([first + 7, 3]), first, 100)
    assert np.flatnonzero(~found).tolist() == [7]


@given(rows=st.integers(1, 300), data=st.data())
def test_words(rows, data):
    dead = data.draw(st.sets(st.integers(0, rows - 1)))
    found = words(BitMap(dead), rows)
    assert found.dtype == np.int64
    hidden = {p for p in range(len(found) * 64) if (int(found[p >> 6]) & 0xFFFF_FFFF_FFFF_FFFF) >> (p & 63) & 1}
    assert hidden == dead
    assert len(found) * 64 >= rows  # the mask has a word for every row


@pytest.mark.parametrize("rows", [63, 64, 65, 127, 128])
def test_words_where_a_word_ends(rows):
    found = words(BitMap([rows - 1]), rows)
    assert int(found[(rows - 1) >> 6]) & 0xFFFF_FFFF_FFFF_FFFF == 1 << ((rows - 1) & 63)
