"""What Spark casts of a frame before kernels see it: types that have none, at any depth."""

import pytest

from anabranch.execution.assignable import meeting
from anabranch.model.types import parse_type
from anabranch.options import Limits

# value, the column's type, what is stored
VOIDS = [
    ("array()", "array<int>", []),
    ("array(NULL)", "array<string>", [None]),
    ("map()", "map<string,int>", []),
    ("map('a', NULL)", "map<string,int>", [("a", None)]),
    ("named_struct('a', NULL, 'b', 1)", "struct<a:string,b:int>", {"a": None, "b": 1}),
    ("named_struct('a', 1L, 'b', array())", "struct<a:int,b:array<date>>", {"a": 1, "b": []}),
    ("array(named_struct('m', map(), 'n', NULL))", "array<struct<m:map<int,int>,n:double>>", [{"m": [], "n": None}]),
    ("array(array(), array(NULL))", "array<array<struct<x:int>>>", [[], [None]]),
    ("NULL", "array<int>", None),
]


@pytest.mark.spark
@pytest.mark.parametrize("way", ["SELECT 1, {}", "VALUES (1, {})"], ids=["select", "values"])
@pytest.mark.parametrize("limit", [None, Limits(local_insert=-1)], ids=["small", "job"])
def test_what_has_no_type_takes_the_columns(new_lake, way, limit):
    lake = new_lake(limit)
    for key in ("", ", PRIMARY KEY (id)"):
        for value, type_, expected in VOIDS:
            lake.sql("DROP TABLE IF EXISTS d.t")
            lake.sql(f"CREATE TABLE d.t (id INT, c {type_}{key})")
            lake.sql("INSERT INTO d.t " + way.format(value))
            assert lake.table("d.t").to_arrow().column("c").to_pylist() == [expected], (value, type_, key)


ARRAY = {"type": "array", "elementType": "void", "containsNull": False}


@pytest.mark.parametrize(
    ("given", "target", "made"),
    [
        ("void", "int", "integer"),
        ("integer", "string", None),
        ("timestamp", "timestamp", None),
        ("timestamp", "string", "string"),
        ("date", "string", None),
        ("date", "timestamp", "timestamp"),
        ("date", "timestamp_ntz", None),
        (ARRAY, "array<int>", {"type": "array", "elementType": "integer", "containsNull": True}),
        (ARRAY, "map<int,int>", None),
        ({**ARRAY, "elementType": "long"}, "array<int>", None),
    ],
)
def test_only_what_is_sparks_work_is_named(given, target, made):
    assert meeting(given, parse_type(target)) == made
