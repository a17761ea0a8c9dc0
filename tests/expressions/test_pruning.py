"""Pruning never loses a row: what a part holds and a predicate accepts is in a part that `may_match` keeps."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.expressions import (
    Bound,
    compile_predicate,
    conjuncts,
    may_match,
    parse_expression,
    pushable,
    select_parts,
)
from anabranch.expressions.pruning import below

NAN = float("nan")
SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("c", pa.decimal128(6, 2)),
        ("t", pa.date32()),
        ("b", pa.bool_()),
        ("st", pa.struct([("i", pa.int32())])),
    ]
)


@dataclass(frozen=True)
class Stats:
    min: Any
    max: Any
    nulls: int | None
    rows: int


def stats_of(values: list) -> Stats:
    known = [value for value in values if value is not None]
    low = high = known[0] if known else None
    for value in known:
        low, high = value if below(value, low) else low, value if below(high, value) else high
    return Stats(low, high, len(values) - len(known), len(values))


VALUES = {
    "i": st.sampled_from([None, -2, -1, 0, 1, 2, 3, 2**31 - 1, -(2**31)]),
    "f": st.sampled_from([None, 0.0, -0.0, 1.0, 1.5, -1.5, NAN, float("inf"), float("-inf")]),
    "s": st.sampled_from([None, "", "a", "ab", "abc", "b", "é", "z", "😀", "\uffff"]),
    "c": st.sampled_from([None, *map(Decimal, ["0.00", "1.00", "1.50", "-2.25", "9999.99"])]),
    "t": st.sampled_from([None, dt.date(1970, 1, 1), dt.date(2020, 2, 29), dt.date(1, 1, 1)]),
    "b": st.sampled_from([None, True, False]),
}
CONSTANTS = {
    "i": ["0", "1", "-1", "2147483648", "1.5", "NULL", "2L"],
    "f": ["0", "1.5", "-0.0D", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "1", "NULL"],
    "s": ["'a'", "'ab'", "''", "'é'", "'zz'", "NULL"],
    "c": ["1", "1.5", "1.499", "-2.25", "NULL"],
    "t": ["DATE '2020-02-29'", "'1970-01-01'", "NULL"],
    "b": ["TRUE", "FALSE", "NULL"],
}
OPS = ["=", "<", "<=", ">", ">=", "<=>", "<>"]


@st.composite
def predicates(draw, depth: int = 2) -> str:
    if depth and draw(st.booleans()):
        joined = draw(st.sampled_from(["AND", "OR"]))
        return f"({draw(predicates(depth - 1))} {joined} {draw(predicates(depth - 1))})"
    column = draw(st.sampled_from(sorted(CONSTANTS)))
    one, two = (draw(st.sampled_from(CONSTANTS[column])) for _ in range(2))
    shapes = [
        *(f"{column} {op} {one}" for op in OPS),
        *(f"{one} {op} {column}" for op in OPS),
        f"{column} IN ({one}, {two})",
        f"{column} NOT IN ({one}, {two})",
        f"{column} BETWEEN {one} AND {two}",
        f"{column} IS NULL",
        f"{column} IS NOT NULL",
        f"NOT ({column} = {one})",
        *(f"s {like} '{text}'" for like in ("LIKE", "NOT LIKE") for text in ("a%", "a", "", "%b", "a_%", "ab%c")),
    ]
    return draw(st.sampled_from(shapes))


@given(
    text=predicates(),
    parts=st.lists(st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4), min_size=1, max_size=4),
)
@settings(max_examples=400, deadline=None)
def test_a_pruned_part_holds_no_matching_row(text, parts):
    tree = parse_expression(text)
    predicate = compile_predicate(tree, SCHEMA)
    bounds = pushable(tree, SCHEMA)
    stats = [{name: stats_of([row[name] for row in part]) for name in VALUES} for part in parts]
    for part, kept in zip(parts, select_parts(bounds, stats), strict=True):
        matches = predicate(pa.Table.from_pylist(part, SCHEMA)).to_pylist()
        assert kept or True not in matches, (bounds, part)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("i = 1", [Bound("i", "=", (1,))]),
        ("1 < I", [Bound("i", ">", (1,))]),
        ("(i >= 1) AND (s = 'x' AND b)", [Bound("i", ">=", (1,)), Bound("s", "=", ("x",))]),
        ("i BETWEEN 1 AND 2L", [Bound("i", ">=", (1,)), Bound("i", "<=", (2,))]),
        ("i IN (1, NULL)", [Bound("i", "in", (1,))]),
        ("i = NULL", [Bound("i", "never")]),
        ("i <=> NULL", [Bound("i", "null")]),
        ("i <=> 1", [Bound("i", "=", (1,))]),
        ("t >= '2020-02-29'", [Bound("t", ">=", (dt.date(2020, 2, 29),))]),
        ("c > 1", [Bound("c", ">", (Decimal("1.00"),))]),
        ("s LIKE 'ab%'", [Bound("s", "prefix", ("ab",))]),
        ("s LIKE 'ab'", [Bound("s", "=", ("ab",))]),
        ("i IS NULL", [Bound("i", "null")]),
        ("i IS NOT NULL", [Bound("i", "not null")]),
        ("i = 1 OR i > 5", [Bound("i", "or", (Bound("i", "=", (1,)), Bound("i", ">", (5,))))]),
        ("i = 1 OR s = 'x'", []),
        ("i <> 1", []),
        ("i + 1 = 2", []),
        ("i = 1.5D", []),  # compared as doubles
        ("s = 1", []),  # the column is cast, not the literal
        ("st.i = 1", []),
        ("t = current_date()", []),
        ("unknown_function(i) = 1 AND i = 1", [Bound("i", "=", (1,))]),
    ],
)
def test_pushable(text, bounds):
    assert pushable(parse_expression(text), SCHEMA) == bounds


def test_conjuncts_lose_their_brackets():
    assert [tree.sql() for tree in conjuncts(parse_expression("a AND ((b) AND (c OR d))"))] == ["a", "b", "c OR d"]


@pytest.mark.parametrize(
    ("text", "stats", "kept"),
    [
        ("f > 5", Stats(0.0, NAN, 0, 9), True),
        ("f = CAST('NaN' AS DOUBLE)", Stats(0.0, 1.0, 0, 9), False),
        ("f < CAST('NaN' AS DOUBLE)", Stats(0.0, 1.0, 0, 9), True),
        ("f < CAST('NaN' AS DOUBLE)", Stats(NAN, NAN, 0, 9), False),
        ("f = 0", Stats(-0.0, -0.0, 0, 9), True),
        ("f = 1", Stats(None, None, None, 9), True),
        ("f = 1", Stats(None, None, 9, 9), False),
        ("f IS NULL", Stats(0.0, 1.0, 0, 9), False),
        ("f IS NOT NULL", Stats(None, None, 9, 9), False),
        ("f = 1", Stats("another", "type", 0, 9), True),
    ],
)
def test_may_match(text, stats, kept):
    assert may_match(pushable(parse_expression(text), SCHEMA), {"f": stats}) is kept


def test_a_column_without_statistics_may_match():
    assert may_match([Bound("i", "=", (1,))], {})


def test_ten_thousand_parts_are_quick():
    bounds = pushable(parse_expression("i BETWEEN 50 AND 60 AND s LIKE 'a%' AND i IN (55, 57)"), SCHEMA)
    parts = [{"i": Stats(n, n + 5, 0, 10), "s": Stats("a", "b", 0, 10)} for n in range(10_000)]
    start = time.perf_counter()
    kept = select_parts(bounds, parts)
    assert time.perf_counter() - start < 0.5
    assert [n for n, keep in enumerate(kept) if keep] == list(range(50, 58))
