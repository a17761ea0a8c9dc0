"""Values as Python has them, and conflicts that are told by them."""

import math

import pytest

from anabranch.errors import Conflicts
from anabranch.model.conflict import ConflictRecord
from anabranch.model.values import same_value
from anabranch.texts import named_values, words, written

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


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("tea", "tea"),
        ("", "''"),
        ("NULL", "'NULL'"),
        ("'NULL'", "''NULL''"),
        ("None", "None"),
        ("it's\\", "it's\\"),
        ("it's\n\x1b[31m", r"'it\'s\n\x1b[31m'"),
        ("x" * 80, "x" * 80),
        ("x" * 5_000, "x" * 79 + "…"),
        (b"\x00\xff", "X'00FF'"),
        (b"\xff" * 5_000, "X'" + "FF" * 40 + "…'"),
        (True, "true"),
        ([1] * 1_000, "[" + "1, " * 26 + "…"),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_a_value_that_is_shown_is_short_and_stays_on_its_line(value, shown):
    found = written(value)
    assert len(found) <= 90
    assert found == shown
    assert found.isprintable()


def test_words_about_a_row_are_one_line_too():
    assert words("deleted where a = '\n'") == r"deleted where a = '\n'"
    assert len(words("deleted where a IN (" + "1, " * 1_000)) == 400


def test_a_conflict_is_printed_in_short_and_keeps_what_it_has():
    long = "\x1b[31m" + "y" * 5_000
    record = ConflictRecord("d.t", "row", "update/update", {"id": 1, "s": long}, {"id": 1, "s": "x"}, row=7)
    assert record.ours["s"] == long
    for text in (str(record), repr(record), str(Conflicts([record]))):
        assert len(text) < 1_000
        assert text.replace("\n", "").isprintable()
        assert "yyy" in text


def test_a_conflict_tells_the_fields_that_differ():
    ours = {"k": NAN, "x": [NAN], "v": 1, "w": None}
    theirs = {"k": float("nan"), "x": [float("nan")], "v": 2, "w": "NULL"}
    record = ConflictRecord("d.t", "key", "update/update", ours, theirs, row={"k": NAN})
    assert str(record) == "d.t, key k = NaN: theirs v = 2, w = 'NULL', ours v = 1, w = NULL (update/update)"
