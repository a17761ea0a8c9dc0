"""Structs as values: what UPDATE, MERGE INTO and writes of data make of their fields, in this process and on Spark."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import anabranch
from anabranch.errors import AnabranchError, FieldMismatch, InvalidMerge, NullViolation
from anabranch.lake import Lake
from anabranch.options import Limits
from tests.stories.telling import rows, told

pytestmark = pytest.mark.spark

RUNNERS = {"here": None, "on spark": Limits(local_work=-1, local_insert=-1)}


@pytest.fixture(params=RUNNERS.values(), ids=RUNNERS)
def lake(request: pytest.FixtureRequest, tmp_path: Path, spark) -> Iterator[Lake]:
    with anabranch.connect(tmp_path / "lake", spark=spark, limits=request.param, durability="process") as opened:
        opened.sql("CREATE DATABASE d")
        yield opened


MATCHED = "MERGE INTO d.t USING {} ON t.k = x.k WHEN MATCHED THEN UPDATE SET s = {}"
NEW = "MERGE INTO d.t USING {} ON t.k = x.k WHEN NOT MATCHED THEN INSERT (k, s) VALUES (x.k, {})"

# What has no type takes that of the column, wherever it stands.
BARE = "named_struct('a', 1, 'b', NULL, 'c', array())"


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        (f"UPDATE d.t SET s = {BARE}", 1),
        (MATCHED.format("VALUES (1) AS x(k)", BARE), 1),
        (NEW.format("VALUES (2) AS x(k)", BARE), 2),
        (MATCHED.format(f"VALUES (1, {BARE}) AS x(k, s)", "x.s"), 1),
        (MATCHED.format(f"(SELECT 1 AS k, {BARE} AS s) AS x", "x.s"), 1),
    ],
)
@pytest.mark.parametrize("key_of", ["", ", PRIMARY KEY (k)"], ids=["append", "keyed"])
def test_null_and_array_without_a_type_inside_a_struct(lake, statement, key, key_of):
    told(lake, f"CREATE TABLE d.t (k INT, s STRUCT<a: INT, b: STRING, c: ARRAY<INT>>{key_of})")
    told(lake, "INSERT INTO d.t VALUES (1, NULL)", statement)
    assert dict(rows(lake, "d.t"))[key] == {"a": 1, "b": None, "c": []}


def test_a_new_field_of_no_type_is_refused(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT>)", "INSERT INTO d.t VALUES (1, NULL)")
    text = MATCHED.format("(SELECT 1 AS k, named_struct('a', 1, 'b', NULL) AS s) AS x", "x.s")
    with pytest.raises(InvalidMerge, match=r"'s\.b' has no type"):
        told(lake, text.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))


# --- fields meet by name ----------------------------------------------------------------------------------------------

# The column's type, a value whose fields stand in another order and case, and what is stored.
TURNED = {
    "struct": (
        "STRUCT<a: INT, y: INT, x: INT>",
        "named_struct('A', 1, 'x', 100, 'y', 200)",
        {"a": 1, "y": 200, "x": 100},
    ),
    "struct in a struct": (
        "STRUCT<n: STRUCT<y: INT, x: STRING>>",
        "named_struct('n', named_struct('x', 1, 'y', 2))",
        {"n": {"y": 2, "x": "1"}},
    ),
    "array": (
        "ARRAY<STRUCT<y: INT, x: INT>>",
        "array(named_struct('x', 1, 'y', 2), NULL)",
        [{"y": 2, "x": 1}, None],
    ),
    "map": (
        "MAP<STRUCT<y: INT, x: INT>, STRUCT<q: BIGINT, p: DOUBLE>>",
        "map(named_struct('x', 1, 'y', 2), named_struct('p', 3, 'q', 4))",
        [({"y": 2, "x": 1}, {"q": 4, "p": 3.0})],
    ),
}
ASSIGNMENTS = {
    "UPDATE": "UPDATE d.t SET s = {}",
    "MERGE, a value": MATCHED.format("VALUES (1) AS x(k)", "{}"),
    "MERGE, a column": MATCHED.format("(SELECT 1 AS k, {} AS v) AS x", "x.v"),
    "MERGE, by name": "MERGE INTO d.t USING (SELECT 1 AS k, {} AS s) AS x ON t.k = x.k WHEN MATCHED THEN UPDATE SET *",
    "MERGE, an insert": NEW.replace("t.k = x.k", "FALSE").format("VALUES (1) AS x(k)", "{}"),
    "INSERT BY NAME": "INSERT INTO d.t BY NAME SELECT {} AS s, 1 AS k",
}


@pytest.mark.parametrize("case", TURNED.values(), ids=TURNED)
@pytest.mark.parametrize("statement", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
@pytest.mark.parametrize("key_of", ["", ", PRIMARY KEY (k)"], ids=["append", "keyed"])
def test_fields_of_structs_are_assigned_by_name(lake, case, statement, key_of):
    type_, value, stored = case
    told(lake, f"CREATE TABLE d.t (k INT, s {type_}{key_of})", "INSERT INTO d.t VALUES (1, NULL)")
    told(lake, statement.format(value))
    assert rows(lake, "d.t")[-1] == (1, stored)


def test_values_that_only_spark_casts_meet_by_name_too(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: STRING, b: STRING, c: DATE>)", "INSERT INTO d.t VALUES (1, NULL)")
    value = "named_struct('c', TIMESTAMP '2026-01-02 00:00:00Z', 'b', 1.5D, 'a', soundex('Robert'))"
    for statement in ("UPDATE d.t SET s = {}", MATCHED.format("VALUES (1) AS x(k)", "{}")):
        told(lake, "UPDATE d.t SET s = NULL", statement.format(value))
        assert rows(lake, "d.t") == [(1, {"a": "R163", "b": "1.5", "c": datetime.date(2026, 1, 2)})]


def test_insert_goes_by_position(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<y: INT, x: INT>)")
    told(lake, "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'y', 2))")
    told(lake, "INSERT INTO d.t SELECT 2, named_struct('p', 1, 'q', 2)")
    assert rows(lake, "d.t") == [(1, {"y": 1, "x": 2}), (2, {"y": 1, "x": 2})]


@pytest.mark.parametrize("statement", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("named_struct('y', 1)", "column 's'.* lacks .*field 'x'"),
        ("named_struct('y', 1, 'x', 2, 'xx', 3)", "has the field 'xx', which the (column|target) lacks"),
        ("struct(1, 2)", "has the field 'col1', which the (column|target) lacks"),
    ],
)
def test_a_missing_or_unknown_field_is_refused(lake, statement, value, message):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<y: INT, x: INT>)", "INSERT INTO d.t VALUES (1, NULL)")
    with pytest.raises((FieldMismatch, InvalidMerge), match=message):
        told(lake, statement.format(value))
    assert rows(lake, "d.t") == [(1, None)]


def test_a_field_deep_inside_is_named_by_its_path(lake):
    told(lake, "CREATE TABLE d.t (s STRUCT<l: ARRAY<STRUCT<y: INT, x: INT>>>)", "INSERT INTO d.t VALUES (NULL)")
    with pytest.raises(
        FieldMismatch, match=r"column 's\.l\.element' lacks the field 'x'.*named_struct\('y', …, 'x', …\)"
    ):
        told(lake, "UPDATE d.t SET s = named_struct('l', array(named_struct('y', 1)))")


def test_data_meets_columns_by_name_all_the_way_down(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<y: INT, x: INT>)")
    table, data = lake.table("d.t"), pa.table({"k": [1], "s": [{"x": 1, "y": 2}]})
    table.write(data)
    table.write(data.to_pandas())
    table.write(lake.spark.sql("SELECT 1 AS k, named_struct('X', 1, 'y', 2) AS s"))
    table.write([{"k": 1, "s": {"x": 1, "y": 2}}])
    assert rows(lake, "d.t") == [(1, {"y": 2, "x": 1})] * 4
    with pytest.raises(FieldMismatch, match="lacks the field 'x'"):
        table.write(pa.table({"k": [1], "s": [{"y": 2}]}))


def test_a_default_goes_by_position_wherever_it_is_written(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<y: INT, x: INT> DEFAULT named_struct('x', 1, 'z', 2))")
    told(lake, "INSERT INTO d.t (k) VALUES (1)", "INSERT INTO d.t VALUES (2, NULL), (3, NULL)")
    told(lake, "ALTER TABLE d.t RENAME COLUMN s.y TO w")
    told(lake, "UPDATE d.t SET s = DEFAULT WHERE k = 2", MATCHED.format("VALUES (3) AS x(k)", "DEFAULT"))
    told(lake, "MERGE INTO d.t USING VALUES (4) AS x(k) ON t.k = x.k WHEN NOT MATCHED THEN INSERT (k) VALUES (x.k)")
    assert rows(lake, "d.t") == [(k, {"w": 1, "x": 2}) for k in (1, 2, 3, 4)]


# --- NOT NULL inside --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement", [*ASSIGNMENTS.values(), "INSERT INTO d.t SELECT 1, {}"], ids=[*ASSIGNMENTS, "INSERT"]
)
@pytest.mark.parametrize("key_of", ["", ", PRIMARY KEY (k)"], ids=["append", "keyed"])
def test_not_null_inside_arrays_and_maps(lake, statement, key_of):
    told(lake, f"CREATE TABLE d.t (k INT, s ARRAY<MAP<INT, STRUCT<a: INT NOT NULL>>>{key_of})")
    told(lake, "INSERT INTO d.t VALUES (1, NULL)")
    value = "array(NULL, map(1, named_struct('a', {}), 2, NULL))"
    with pytest.raises(NullViolation, match=r"'s\.element\.value\.a'"):
        told(lake, statement.format(value.format("CAST(NULL AS INT)")))
    told(lake, statement.format(value.format(5)))
    assert rows(lake, "d.t")[-1] == (1, [None, [(1, {"a": 5}), (2, None)]])


# --- fields by their paths --------------------------------------------------------------------------------------------

OF_A_ROW = {
    "UPDATE": "UPDATE d.t SET {}",
    "UPDATE, an alias": "UPDATE d.t AS q SET {}",
    "MERGE": "MERGE INTO d.t USING VALUES (1), (2) AS x(j) ON k = j WHEN MATCHED THEN UPDATE SET {}",
    "MERGE, no source row": (
        "MERGE INTO d.t USING VALUES (9) AS x(j) ON k = j WHEN NOT MATCHED BY SOURCE THEN UPDATE SET {}"
    ),
}
# What is assigned, and what becomes of a struct and of NULL.
BY_PATH = {
    "s.A = k + 2": ({"a": 3, "n": {"x": 10, "y": 20}}, {"a": 4, "n": None}),
    "s.n.x = s.a, s.a = s.n.x": ({"a": 10, "n": {"x": 1, "y": 20}}, {"a": None, "n": {"x": None, "y": None}}),
    "s.n = NULL, s.a = DEFAULT": ({"a": None, "n": None}, {"a": None, "n": None}),
    "s.n = named_struct('y', 5, 'x', 6)": ({"a": 1, "n": {"x": 6, "y": 5}}, {"a": None, "n": {"x": 6, "y": 5}}),
}


@pytest.mark.parametrize("statement", OF_A_ROW.values(), ids=OF_A_ROW)
@pytest.mark.parametrize("key_of", ["", ", PRIMARY KEY (k)"], ids=["append", "keyed"])
@pytest.mark.parametrize("assigned", BY_PATH)
def test_fields_are_assigned_by_their_paths(lake, statement, key_of, assigned):
    told(lake, f"CREATE TABLE d.t (k INT, s STRUCT<a: SMALLINT, n: STRUCT<x: INT, y: INT>>{key_of})")
    told(lake, "INSERT INTO d.t VALUES (1, named_struct('a', 1, 'n', named_struct('x', 10, 'y', 20))), (2, NULL)")
    told(lake, statement.format(assigned))
    assert rows(lake, "d.t") == list(enumerate(BY_PATH[assigned], 1))


@pytest.mark.parametrize("statement", OF_A_ROW.values(), ids=OF_A_ROW)
@pytest.mark.parametrize(
    ("assigned", "message"),
    [
        ("s = NULL, s.a = 1", "'s' and 's.a' are both assigned"),
        ("s.n.x = 1, s.n = NULL", "'s.n.x' and 's.n' are both assigned"),
        ("s.a = 1, s.A = 2", "'s.a' is assigned twice"),
        ("s.aa = 1", "field 's.aa' does not exist. Did you mean 's.a'"),
        ("s.a.b = 1", "'s.a' is int, and has no fields"),
        ("l.element.a = 1", "'l' is array<int>, and has no fields"),
    ],
)
def test_fields_that_cannot_be_assigned(lake, statement, assigned, message):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT, n: STRUCT<x: INT>>, l ARRAY<INT>)")
    with pytest.raises(AnabranchError, match=message):
        told(lake, statement.format(assigned))


def test_insert_takes_no_fields(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT>)")
    with pytest.raises(InvalidMerge, match=r"'s\.a' is a field: INSERT takes whole columns"):
        told(lake, "MERGE INTO d.t USING VALUES (1) AS x(k) ON FALSE WHEN NOT MATCHED THEN INSERT (s.a) VALUES (x.k)")


def test_a_table_called_as_its_struct(lake):
    told(lake, "CREATE TABLE d.s (a INT, s STRUCT<a: INT, b: INT>)", "INSERT INTO d.s VALUES (1, NULL)")
    told(lake, "UPDATE d.s SET s.b = 7")
    assert rows(lake, "d.s") == [(1, {"a": None, "b": 7})]


def test_evolution_adds_no_column_for_a_field(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT>)", "INSERT INTO d.t VALUES (1, NULL)")
    merge = MATCHED.format("VALUES (1, 5) AS x(k, a)", "").replace("s = ", "t.s.a = x.a")
    told(lake, merge.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))
    assert rows(lake, "d.t") == [(1, {"a": 5})]
