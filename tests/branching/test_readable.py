"""What rows of another schema may lack, or have in types that a merged one does not hold."""

import pytest

from anabranch.branching.readable import newly_required, newly_required_fields, unheld, unreadable
from tests.branching.schemas import schema


@pytest.mark.parametrize(
    ("merged", "written", "columns", "fields"),
    [
        ("a:int!", "a:int!", [], []),
        ("a:int!", "a:int", ["a"], []),
        ("a:int", "a:int", [], []),
        ("a:int, b:int!", "a:int", ["b"], []),
        ("a:int, b:int!=1", "a:int", [], []),
        ("a:int, b:int!=1/", "a:int", ["b"], []),
        ("a:int, b:int!=1", "a:int, b:int", ["b"], []),
        ("a:int, b+b_2:int!", "a:int, b@b_2:int!", [], []),
        ("a:int, b+b_2:int!", "a:int, b@b_2:int", ["b"], []),
        ("s:struct<x:int!>", "s:struct<x:int!>", [], []),
        ("s:struct<x:int!>", "s:struct<x:int>", [], [("s", "x")]),
        ("s:struct<x:int, y:int!>", "s:struct<x:int>", [], [("s", "y")]),
        ("s:struct<t:struct<x+x_2:int!>>!", "s:struct<t:struct<x@x_2:int>>!", [], [("s", "t", "x")]),
        ("a:int, s:struct<x:int!>", "a:int", [], []),
    ],
)
def test_newly_required(merged, written, columns, fields):
    assert [column.label for column in newly_required(schema(merged), schema(written))] == columns
    assert newly_required_fields(schema(merged), schema(written)) == fields


@pytest.mark.parametrize(
    ("merged", "written", "columns"),
    [
        ("v:bigint", "v:int", []),
        ("v:int", "v:bigint", ["v"]),
        ("v:double", "v:bigint", ["v"]),
        ("v+v_2:int", "v@v_2:bigint", ["v"]),
        ("a:int, v:int", "a:int, w@v_2:bigint", []),
        ("s:struct<x:int, y:int>", "s:struct<y:int, x:tinyint, z:string>", []),
        ("s:array<struct<x:int>>", "s:array<struct<x:bigint>>", ["s"]),
        ("s:map<string, int>", "s:map<string, bigint>", ["s"]),
    ],
)
def test_unreadable(merged, written, columns):
    assert [column.label for column in unreadable(schema(merged), schema(written))] == columns


@pytest.mark.parametrize(
    ("merged", "written", "ours", "theirs", "places"),
    [
        ("v:int", "v:bigint", "v:int", "v:bigint", [("v", "bigint", "int", "bigint")]),
        ("v:int", "v:smallint", "v:int", "v:int", []),
        ("v:int", "a:int", "v:int", "v:int", []),
        ("s:struct<x:int, y+z:int>", "s:struct<x:int, y@z:bigint>", "s:struct<x:int, y:int>", "s:struct<y@z:double>",
         [("s.y", "bigint", "int", "double")]),
        ("s:struct<x:int, y:int>", "s:struct<x:double, y:bigint>", "s:struct<x:int>", "s:struct<x:int, y:double>",
         [("s.x", "double", "int", "int"), ("s.y", "bigint", "int", "double")]),
        ("s:array<struct<x:int>>", "s:array<struct<x:bigint>>", "s:array<struct<x:int>>", "s:array<struct<x:double>>",
         [("s.element.x", "bigint", "int", "double")]),
        ("s:map<int, int>", "s:map<bigint, bigint>", "s:map<int, int>", "s:map<int, double>",
         [("s.key", "bigint", "int", "int"), ("s.value", "bigint", "int", "double")]),
    ],
)  # fmt: skip
def test_unheld(merged, written, ours, theirs, places):
    (column,) = schema(merged).columns
    sides = schema(ours).columns[0], schema(theirs).columns[0]
    found = unheld(column, schema(written), sides)
    assert [(".".join(p.labels), str(p.stored), str(p.ours), str(p.theirs)) for p in found] == places
    assert bool(found) == bool(unreadable(schema(merged), schema(written)))
