"""The order of keys, against Python's sorted() on every type."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import DataError, UnsupportedType
from anabranch.keyed import keys as keys_module
from anabranch.keyed.key_columns import concat, key_columns
from anabranch.keyed.keys import (
    codes_of,
    equal,
    is_sorted,
    less,
    match,
    rows_below,
    search,
    segment_starts,
    sort_indices,
)
from tests.keyed.some_keys import VALUES, arrays, order, some_types_and_rows


def sorted_rows(rows, types):
    return sorted(rows, key=lambda row: order(row, types))


@pytest.mark.parametrize("type_", VALUES, ids=str)
@settings(max_examples=5)
@given(st.data())
def test_null_is_below_every_value_where_keys_may_be_null(type_, data):
    some = data.draw(VALUES[type_])
    keys = key_columns([pa.array([some, None, some, None], type_)], nullable=True)
    assert sort_indices(keys).tolist() == [1, 3, 0, 2]
    assert segment_starts(keys.take(sort_indices(keys))).tolist() == [0, 2]


@settings(deadline=None)
@given(some_types_and_rows())
def test_sort_is_stable_and_as_python_sorts(drawn):
    types, rows = drawn
    found = sort_indices(key_columns(arrays(rows, types)))
    assert found.tolist() == sorted(range(len(rows)), key=lambda at: order(rows[at], types))


@settings(deadline=None)
@given(some_types_and_rows())
def test_normal_rows_order_as_the_values(drawn):
    types, rows = drawn
    keys = key_columns(arrays(rows, types))
    for a in range(len(rows)):
        for b in range(a):
            assert (keys.row(a) < keys.row(b)) == (order(rows[a], types) < order(rows[b], types))


@settings(deadline=None)
@given(some_types_and_rows())
def test_codes_never_contradict_the_order(drawn):
    types, rows = drawn
    keys = key_columns(arrays(rows, types))
    codes, exact = codes_of(keys)
    for a in range(len(rows)):
        for b in range(len(rows)):
            if keys.row(a) < keys.row(b):
                assert codes[a] < codes[b] if exact else codes[a] <= codes[b]
            elif keys.row(a) == keys.row(b):
                assert codes[a] == codes[b]


EXACT = [
    ("one integer", [pa.array([2**63 - 1, -(2**63)])], True),
    ("two that fit in 64 bits", [pa.array([1, 2**40]), pa.array([-5, 2**20])], True),
    ("two that do not", [pa.array([1, 2**60]), pa.array([0, 2**60])], False),
    ("short texts after a common beginning", [pa.array(["customer-1", "customer-22"])], True),
    ("long texts", [pa.array(["a12345678", "b12345678"])], False),
    ("a zero byte that padding could be", [pa.array(["a", "a\x00"])], False),
    ("zero bytes in texts of one length", [pa.array(["a\x00", "\x00a"])], True),
    ("nothing but empty texts", [pa.array(["", ""])], True),
]


@pytest.mark.parametrize(("name", "columns", "exact"), EXACT, ids=[case[0] for case in EXACT])
def test_exact_codes(name, columns, exact):
    assert codes_of(key_columns(columns))[1] is exact


@settings(deadline=None)
@given(some_types_and_rows())
def test_segments(drawn):
    types, rows = drawn
    rows = sorted_rows(rows, types)
    keys = key_columns(arrays(rows, types))
    expected = [at for at in range(len(rows)) if not at or order(rows[at], types) != order(rows[at - 1], types)]
    assert segment_starts(keys).tolist() == expected
    assert is_sorted(keys)
    assert is_sorted(keys.take(np.arange(len(keys))[::-1])) == (len(expected) < 2)


@settings(deadline=None)
@given(some_types_and_rows(), st.data())
def test_search_and_match(drawn, data):
    types, rows = drawn
    cut = data.draw(st.integers(0, len(rows)))
    held, asked = sorted_rows(rows[:cut], types), rows[cut:]
    if data.draw(st.booleans()):
        asked = sorted_rows(asked, types)
    keys, wanted = key_columns(arrays(held, types)), key_columns(arrays(asked, types))
    marks = [order(row, types) for row in held]
    below = [sum(mark < order(row, types) for mark in marks) for row in asked]
    upto = [sum(mark <= order(row, types) for mark in marks) for row in asked]
    steps = len(held).bit_length()
    for side, expected in (("left", below), ("right", upto)):
        assert search(keys, wanted, side).tolist() == expected
        assert keys_module._bisect(keys, wanted, side, steps).tolist() == expected
    assert [rows_below(keys, wanted.row(at)) for at in range(len(asked))] == below
    ours, theirs = match(keys, wanted)
    hits = [at for at in range(len(asked)) if upto[at] > below[at]]
    assert ours.tolist() == hits
    assert theirs.tolist() == [below[at] for at in hits]


@given(st.lists(st.integers(0, 60)), st.lists(st.integers(0, 60)))
def test_search_in_blocks(held, asked):
    words, wanted = np.sort(np.array(held, np.int64)), np.sort(np.array(asked, np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys_module, "_BLOCK", 4)
        for side in ("left", "right"):
            assert (
                keys_module._search_words(words, wanted, side).tolist() == np.searchsorted(words, wanted, side).tolist()
            )


@settings(deadline=None)
@given(some_types_and_rows())
def test_row_by_row(drawn):
    types, rows = drawn
    half = len(rows) // 2
    a, b = rows[:half], rows[half : 2 * half]
    one, other = key_columns(arrays(a, types)), key_columns(arrays(b, types))
    pairs = [(order(x, types), order(y, types)) for x, y in zip(a, b, strict=True)]
    assert equal(one, other).tolist() == [x == y for x, y in pairs]
    assert less(one, other).tolist() == [x < y for x, y in pairs]


@settings(deadline=None)
@given(some_types_and_rows(), st.integers(0, 30), st.integers(0, 30))
def test_slices_hold_what_they_say(drawn, start, stop):
    types, rows = drawn
    stop = min(stop, len(rows))
    start = min(start, stop)
    whole = key_columns(arrays(rows, types))
    cut = whole.slice(start, stop)
    assert [cut.row(at) for at in range(len(cut))] == [whole.row(at) for at in range(start, stop)]
    assert sort_indices(cut).tolist() == sort_indices(key_columns(arrays(rows[start:stop], types))).tolist()
    sliced = key_columns([array.slice(start, stop - start) for array in arrays(rows, types)])
    assert [sliced.row(at) for at in range(len(sliced))] == [cut.row(at) for at in range(len(cut))]
    both = concat([cut, whole])
    assert [both.row(at) for at in range(len(both))] == [
        keys.row(at) for keys in (cut, whole) for at in range(len(keys))
    ]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_many_ties(seed):
    """Texts that agree in more than a code holds, and keys that occur often."""
    rng = np.random.default_rng(seed)
    texts = [f"{'same' * int(n % 5)}{n % 7:020d}{'x' * int(n % 3)}" for n in rng.integers(0, 1000, 400)]
    numbers = rng.integers(0, 3, 400)
    keys = key_columns([pa.array(texts), pa.array(numbers)])
    expected = sorted(range(400), key=lambda at: (texts[at].encode(), numbers[at]))
    assert sort_indices(keys).tolist() == expected


def test_floats_of_many_faces_are_one_key():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    keys = key_columns([pa.array([math.nan, *odd, 0.0, -0.0])])
    assert [len({keys.row(at) for at in part}) for part in ((0, 1, 2), (3, 4))] == [1, 1]


def test_other_layouts_of_the_same_values():
    plain = key_columns([pa.array(["b", "a", "b"])])
    for type_ in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        other = key_columns([pa.array(["b", "a", "b"]).cast(type_)])
        assert equal(plain, other).all()
    chunked = pa.chunked_array([pa.array([Decimal("1.5")]), pa.array([], pa.decimal128(2, 1))])
    assert key_columns([chunked]).row(0) == (15,)


def test_what_cannot_be_a_key():
    with pytest.raises(DataError, match="NULL"):
        key_columns([pa.array([1, None])])
    with pytest.raises(UnsupportedType):
        key_columns([pa.array([[1]])])
