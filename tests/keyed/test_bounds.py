"""Bounds: what the catalog keeps of keys compares as the keys do, and never says less than a part holds."""

import json
import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.keyed import bounds
from anabranch.keyed.bounds import PartKeys, bound, columns_of, part_keys, row_of, widened
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.keys import equal
from anabranch.model.types import parse_type
from anabranch.storage.arrow_types import to_arrow
from tests.keyed.some_keys import arrays, order, some_types_and_rows


def through_json(value):
    return tuple(json.loads(json.dumps(list(value))))


@settings(deadline=None)
@given(some_types_and_rows())
def test_bounds_compare_as_keys_and_come_back(drawn):
    types, rows = drawn
    keys = key_columns(arrays(rows, types))
    found = [through_json(bound(keys, at)) for at in range(len(rows))]
    marks = [order(row, types) for row in rows]
    for a in range(len(rows)):
        assert row_of(found[a], types) == keys.row(a)
        for b in range(a):
            assert (found[a] < found[b]) == (marks[a] < marks[b])
            assert (found[a] == found[b]) == (marks[a] == marks[b])
    if rows:
        assert equal(columns_of(found, types), keys).all()


@settings(deadline=None)
@given(some_types_and_rows(), st.integers(1, 5), st.integers(1, 8))
def test_part_keys_hold_their_row_groups(drawn, size, max_text):
    """Also with texts cut very short."""
    types, rows = drawn
    rows = list({order(row, types): row for row in sorted(rows, key=lambda row: order(row, types))}.values())
    if not rows:
        return
    keys = key_columns(arrays(rows, types))
    groups = [min(size, len(rows) - at) for at in range(0, len(rows), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "MAX_TEXT", max_text)
        found = part_keys(keys, groups)
    assert PartKeys.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert len(found.firsts) == len(groups)
    whole = [bound(keys, at) for at in range(len(rows))]
    for group, first in enumerate(found.firsts):
        assert all(first <= key for key in whole[group * size :])
        assert all(key < first for key in whole[: group * size])
    assert all(key <= found.last for key in whole)
    columns_of([*found.firsts, found.last], types)


CUTS = [
    # the last key of the row group before, the first key of this one, what is kept of it
    (("a" * 100,), ("b" * 100,), ("bbbb",)),
    (("bbbbbbbba",), ("bbbbbbbbbb",), ("bbbbbbbbb",)),
    (("bbbbbb",), ("bbbbbbbbbb",), ("bbbbbbb",)),
    (("aa", 1), ("bbbbbb", 2), ("bbbb",)),
    (("bbbbbb", 1), ("bbbbbb", 2), ("bbbbbb", 2)),
    (("bb", 1), ("bb", 2), ("bb", 2)),
]


@pytest.mark.parametrize(("before", "first", "kept"), CUTS)
def test_long_first_keys_are_cut(monkeypatch, before, first, kept):
    monkeypatch.setattr(bounds, "MAX_TEXT", 4)
    assert bounds._cut(first, before, (pa.string(), pa.int64())[: len(first)]) == kept


RAISED = [
    ("short", pa.string(), "short"),
    ("a" * 65, pa.string(), "a" * 63 + "b"),
    ("a" * 63 + "\ud7ff" + "x", pa.string(), "a" * 63 + "\ue000"),
    ("a" * 63 + "\U0010ffff" + "x", pa.string(), "a" * 62 + "b"),
    ("\U0010ffff" * 65, pa.string(), "\U0010ffff" * 65),
    ("ff" * 65, pa.binary(), "ff" * 65),
    ("0a" * 63 + "ff" * 2, pa.binary(), "0a" * 62 + "0b"),
]


@pytest.mark.parametrize(("last", "type_", "above"), RAISED)
def test_long_last_keys_are_raised(last, type_, above):
    assert bounds._raised((last,), (type_,)) == (above,)


WIDENED = [
    ("int", 7, "bigint", 7),
    ("int", -7, "double", -7.0),
    ("float", 1.5, "double", 1.5),
    ("float", math.nan, "double", math.nan),
    ("int", 7, "decimal(20,2)", Decimal(7)),
    ("bigint", 2**62, "decimal(38,10)", Decimal(2**62)),
    ("decimal(5,1)", Decimal("-1.5"), "decimal(30,4)", Decimal("-1.5")),
    ("date", date(2020, 2, 29), "timestamp_ntz", datetime(2020, 2, 29)),
    ("string", "x", "string", "x"),
]


@pytest.mark.parametrize(("old", "value", "new", "same"), WIDENED, ids=[f"{old} {new}" for old, _, new, _ in WIDENED])
def test_widening_moves_bounds(old, value, new, same):
    old_type, new_type = parse_type(old), parse_type(new)
    narrow, wide = (
        bound(key_columns([pa.array([v], to_arrow(type_))]), 0) for v, type_ in ((value, old_type), (same, new_type))
    )
    assert widened(narrow, [old_type], [new_type]) == wide
