"""Constant expressions and their values, and expressions over columns: names, chunks, laziness."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anabranch.errors import ExpressionError, NeedsSpark, NotFound
from anabranch.expressions import compile_expression, compile_predicate, parse_expression

from .cases import VALUES

TABLE = pa.table(
    {
        "a": pa.array([1, 0, None], pa.int32()),
        "Name": ["x", "y", None],
        "odd `name`": [1.5, float("nan"), None],
        "s": pa.array([{"f": 1, "g": {"h": "deep"}}, None, {"f": None, "g": None}]),
        "t": pa.array([{"a": 7}] * 3),
    }
)


def run(text: str, rows: pa.Table = TABLE, **names) -> list:
    return compile_expression(parse_expression(text), rows.schema, **names)(rows).to_pylist()


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_value(text, value):
    found = run(text, TABLE.slice(0, 1))
    assert repr(found) == repr([value])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a", [1, 0, None]),
        ("A + 1", [2, 1, None]),
        ("name", ["x", "y", None]),
        ("`NAME`", ["x", "y", None]),
        ("`odd ``name``` > 1", [True, True, None]),
        ("t.a", [1, 0, None]),  # the table t, before the struct t
        ("d.t.a", [1, 0, None]),
        ("d.t.t.a", [7, 7, 7]),
        ("z.a", [1, 0, None]),
        ("s.f", [1, None, None]),
        ("s.g.h", ["deep", None, None]),
        ("t.s.f", [1, None, None]),
        ("(s).F", [1, None, None]),
        ("a <> 0 AND 10 / a > 1", [True, False, None]),
        ("a = 0 OR 10 / a > 1", [True, True, None]),
        ("CASE WHEN a <> 0 THEN 10 / a ELSE -1 END", [10.0, -1.0, -1.0]),
        ("COALESCE(a, 1 / a)", [1.0, 0.0, None]),
        ("IF(a = 0, NULL, 1 % a)", [0, None, None]),
        ("a IS NULL", [False, False, True]),
        ("5", [5, 5, 5]),
    ],
)
def test_over_columns(text, values):
    assert run(text, table="d.t", aliases=frozenset({"z"})) == values


def test_what_a_compiled_expression_says():
    compiled = compile_expression(parse_expression("s.f + A > 1"), TABLE.schema)
    assert (compiled.type, compiled.columns, compiled.deterministic) == (pa.bool_(), {"a", "s"}, True)
    assert not compile_expression(parse_expression("current_timestamp() > NULL"), TABLE.schema).deterministic


@pytest.mark.parametrize("size", [1, 2, 7])
def test_chunks_do_not_matter(size):
    table = pa.table({"a": pa.array([*range(20), None], pa.int64()), "b": pa.array([3] * 21, pa.int8())})
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=size))
    assert run("a % b + 1", chunked) == run("a % b + 1", table)
    assert run("1", chunked) == [1] * 21


def test_a_batch_gives_an_array_and_no_rows_give_none():
    compiled = compile_expression(parse_expression("a + 1"), TABLE.schema)
    assert isinstance(compiled(TABLE.to_batches()[0]), pa.Array)
    empty = compiled(TABLE.slice(0, 0))
    assert (len(empty), empty.type) == (0, pa.int32())


def test_other_layouts_are_the_same_columns():
    table = pa.table({"a": pa.array(["x", None], pa.large_string()), "b": pa.array(["x", "y"]).dictionary_encode()})
    assert run("a = b", table) == [True, None]


FAILS = [
    "2147483647 + 1",
    "a / 0",
    "a % 0",
    "1.0D / 0",
    "CAST('x' AS INT)",
    "CAST(300 AS TINYINT)",
    "CAST('2020-02-30' AS DATE)",
    "CAST(1e20 AS BIGINT)",
    "CAST(123.45 AS DECIMAL(3,1))",
    "'x' = 1",
    "name > 1",
    "abs(CAST(-128 AS TINYINT))",
    "-(-2147483648)",
    "a LIKE 'a\\\\bc'",
]


@pytest.mark.parametrize("text", FAILS)
def test_fails_as_ansi_does(text):
    with pytest.raises(ExpressionError) as caught:
        run(text)
    assert not isinstance(caught.value, NeedsSpark)


NEEDS_SPARK = [
    "my_function(a)",
    "rand()",
    "round(1.5)",
    "1.0 / 3",
    "sum(a)",
    "a IN (SELECT 1)",
    "a + INTERVAL 1 DAY",
    "CAST(1.5D AS STRING)",
    "upper('ß')",
    "'a' RLIKE '(?i)a'",
    "'a' RLIKE 'a++'",
    "'a' RLIKE name",
    "name LIKE name",
    "a = TRUE",
    "greatest(a, 'x')",
    "s = s",
    "array(a)",
    "to_date('2020-01-01')",
    "floor(1.5)",
    "-1::STRING",
    "-128Y",
    "1L + 1.5",
    "'a' || 1 + 2",
    "1 < 2 IN (TRUE)",
    "'a' 'b'",
    "s[0]",
    ":p",
    "a COLLATE UTF8_LCASE = 'x'",
    "TIMESTAMP '12:00'",
    "CASE WHEN NULL THEN 1 END",
]


@pytest.mark.parametrize("text", NEEDS_SPARK)
def test_needs_spark_when_it_is_compiled(text):
    with pytest.raises(NeedsSpark):
        compile_expression(parse_expression(text), TABLE.schema)


def test_needs_spark_names_the_function():
    with pytest.raises(NeedsSpark, match="the function soundex"):
        compile_expression(parse_expression("soundex(name)"), TABLE.schema)


def test_unknown_columns():
    with pytest.raises(NotFound, match="column 'nam' does not exist"):
        run("nam = 1")
    with pytest.raises(NotFound, match=r"'other\.a'"):
        run("other.a = 1", table="d.t")
    with pytest.raises(NotFound, match="field 'nothing'"):
        run("s.nothing")
    with pytest.raises(ExpressionError, match="ambiguous"):
        run("a", pa.table({"a": [1], "A": [2]}))


def test_predicates_are_boolean():
    with pytest.raises(ExpressionError, match=r"the predicate 'a \+ 1' is int, not boolean"):
        compile_predicate(parse_expression("a + 1"), TABLE.schema)
    assert compile_predicate(parse_expression("NULL"), TABLE.schema)(TABLE).to_pylist() == [None] * 3
