"""Values as Python has them, and conflicts that are told by them."""

import math

import pytest

from anabranch.model.conflict import ConflictRecord
from anabranch.model.values import named_values, same_value

NAN = math.nan


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (None, None, True),
        (None, "NULL", False),
        (None, NAN, False),
        (NAN, float("nan"), True),
        (0.0, -0.0, True),
        ([1.0, NAN], [1.0, float("nan")], True),
        ([NAN], [NAN, NAN], False),
        ({"a": {"b": NAN}}, {"a": {"b": float("nan")}}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": None}, {}, False),
        ([("k", NAN)], [("k", float("nan"))], True),
        ([1], 1, False),
    ],
    ids=str,
)
def test_same(one, other, same):
    assert same_value(one, other) == same_value(other, one) == same


def test_values_are_written_as_sql_does():
    assert named_values({"a": 1, "b": None, "c": NAN, "d": -math.inf}) == "a = 1, b = NULL, c = NaN, d = -Infinity"


def test_a_conflict_tells_the_fields_that_differ():
    ours = {"k": NAN, "x": [NAN], "v": 1, "w": None}
    theirs = {"k": float("nan"), "x": [float("nan")], "v": 2, "w": "NULL"}
    record = ConflictRecord("d.t", "key", "update/update", ours, theirs, row={"k": NAN})
    assert str(record) == "d.t, key k = NaN: theirs v = 2, w = NULL, ours v = 1, w = NULL (update/update)"
