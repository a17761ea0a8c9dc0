"""Values on the screen and in JSON."""

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from anabranch.cli.output import aligned, cell, distinct, plain, print_json_rows, print_table

CASES = [
    # value, in a table, in JSON
    (None, "NULL", None),
    (True, "true", True),
    (7, 7, 7),
    (1.5, 1.5, 1.5),
    ("ü", "ü", "ü"),
    ("NULL", "'NULL'", "NULL"),
    ("'NULL'", "''NULL''", "'NULL'"),
    ("null", "null", "null"),
    (Decimal("1.50"), Decimal("1.50"), "1.50"),
    (date(2020, 1, 2), date(2020, 1, 2), "2020-01-02"),
    (datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02 03:04:05.000006", "2020-01-02T03:04:05.000006"),
    (datetime(2020, 1, 2, tzinfo=timezone.utc), "2020-01-02 00:00:00", "2020-01-02T00:00:00+00:00"),
    (b"\x0a", "X'0A'", "Cg=="),
    ([1, None], "[1, null]", [1, None]),
    ({1: Decimal(2)}, '{"1": "2"}', {"1": "2"}),
    ({"a": {"b": b""}}, '{"a": {"b": ""}}', {"a": {"b": ""}}),
]


@pytest.mark.parametrize(("value", "shown", "as_json"), CASES)
def test_values(value: Any, shown: Any, as_json: Any) -> None:
    assert cell(value) == shown
    assert plain(value) == as_json


def test_numbers_that_json_does_not_have() -> None:
    assert [plain(value) for value in (math.inf, -math.inf, math.nan)] == ["Infinity", "-Infinity", "NaN"]


def test_no_column_hides_another() -> None:
    assert distinct(["a", "b", "a", "a_2", "a"]) == ["a", "b", "a_2", "a_2_2", "a_3"]


def test_json_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_json_rows(["a"], [])
    print_json_rows(["a", "a"], [[1, 2], [3, 4]])
    assert capsys.readouterr().out == '[]\n[{"a": 1, "a_2": 2}, {"a": 3, "a_2": 4}]\n'


def test_a_table_in_a_pipe_is_as_wide_as_it_is_and_shows_values_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["[b]", "n"], [["[/b] :smile: " + "x" * 500, 1], ["", 10]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["[b]", "n"]
    assert lines[2].endswith("x" * 500 + "    1")
    assert lines[3].strip() == "10"


def test_aligned() -> None:
    assert aligned([["a", "bb", ""], ["cc", "d", "e"]]) == ["a   bb", "cc  d   e"]
    assert aligned([]) == []
    assert aligned([["日本", "a"], ["abc", "b"], ["é", "c"]]) == ["日本  a", "abc   b", "é     c"]
