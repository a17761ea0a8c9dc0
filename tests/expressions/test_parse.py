from __future__ import annotations

import pytest

from anabranch.errors import SqlError
from anabranch.expressions import parse_expression


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a = 1 extra junk", 12),
        ("a =", 2),
        ("1 AS x", 0),
        ("a b", 0),
        ("SELECT 1", 0),
        ("DROP TABLE t", 0),
        ("", 0),
        ("a; b", 0),
        ("'open", 0),
        ("*", 0),
        ("a\n = = 3", 5),
    ],
)
def test_refused_with_its_position(text, position):
    with pytest.raises(SqlError) as caught:
        parse_expression(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "value"),
    [("'it''s'", "it's"), ("''''", "'"), ('"a""b"', 'a"b'), (r"'\u0041\n'", "A\n"), (r"'\ud83d\ude00'", "😀")],
)
def test_strings_as_spark_reads_them(text, value):
    assert parse_expression(text).this == value
