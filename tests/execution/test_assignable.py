"""What Spark casts of a frame before kernels see it: types that have none, at any depth."""

import pytest

from anabranch.errors import ValueOutOfRange
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


@pytest.mark.spark
@pytest.mark.parametrize("limit", [None, Limits(local_insert=-1)], ids=["small", "job"])
@pytest.mark.parametrize(("value", "type_", "expected"), VOIDS)
def test_what_has_no_type_is_set(new_lake, limit, value, type_, expected):
    """Here, by UPDATE and by MERGE INTO, fields meet by their labels."""
    lake = new_lake(limit)
    lake.sql(f"CREATE TABLE d.t (id INT, c {type_})")
    lake.sql("INSERT INTO d.t (id) VALUES (1), (2)")
    lake.sql(f"UPDATE d.t SET c = {value} WHERE id = 1")
    lake.sql(
        f"MERGE INTO d.t USING (VALUES (2), (3)) AS s(id) ON d.t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET c = {value} WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, {value})"
    )
    assert lake.table("d.t").to_arrow().column("c").to_pylist() == [expected] * 3


@pytest.mark.spark
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"], ids=["append", "keyed"])
@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("array<int>", "transform(array(d.t.id), x -> x * {}L)"),
        ("map<smallint,double>", "map(d.t.id * {}L, 1)"),
        (
            "struct<a:int,b:array<struct<x:decimal(5,2)>>>",
            "named_struct('b', array(named_struct('x', d.t.id * {})), 'a', 7L)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_however_deep(new_lake, conf, key, type_, value):
    """Without ANSI Spark's own casts wrap numbers, or make NULL of them."""
    conf("spark.sql.ansi.enabled", "false")
    lake = new_lake()
    lake.sql(f"CREATE TABLE d.t (id INT, c {type_}{key})")
    lake.sql("INSERT INTO d.t (id) VALUES (1), (2)")
    merge = "MERGE INTO d.t USING (SELECT 2 AS id) AS s ON d.t.id = s.id WHEN MATCHED THEN UPDATE SET c = {}"
    before = lake.table("d.t").to_arrow()
    with pytest.raises(ValueOutOfRange, match=r"clause 1 .*'c'.* the value is 10000000000"):
        lake.sql(merge.format(value.format(5_000_000_000)))
    assert lake.table("d.t").to_arrow() == before
    lake.sql(merge.format(value.format(3)))
    assert lake.sql("SELECT count(*) FROM d.t WHERE c IS NOT NULL").toArrow().column(0).to_pylist() == [1]


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
