"""Rows by ranges of their keys: found by a sample, cut by an expression, in the order of keys."""

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from anabranch.execution import spread as spreading
from anabranch.execution.estimates import planned
from anabranch.execution.session import temporarily
from anabranch.execution.spread import cuts, spread
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.keys import is_sorted

RANDOM = random.Random(7)
MOMENT = datetime(2024, 3, 10, 6, 59, 59, 999_999)
VALUES = {
    "INT": [RANDOM.randrange(-(2**31), 2**31) for _ in range(200)],
    "TINYINT": list(range(-100, 100)),
    "BIGINT": [RANDOM.randrange(-(2**63), 2**63) for _ in range(200)],
    "DOUBLE": [*(RANDOM.gauss(0, 9) for _ in range(100)), 0.0, -0.0, float("inf"), -float("inf"), *[float("nan")] * 60],
    "DECIMAL(38,3)": [Decimal(RANDOM.randrange(-(10**37), 10**37)).scaleb(-3) for _ in range(200)],
    "STRING": ["", "a", "ab", "ä", "z", "\\'\"\n", "\U0001f600", "￿", *map(str, range(100))],
    "BINARY": [bytes([one, two]) for one in range(0, 256, 16) for two in range(0, 256, 32)],
    "BOOLEAN": [True, False],
    "DATE": [date(1969, 12, 1) + timedelta(days=n) for n in range(100)],
    "TIMESTAMP": [(MOMENT + timedelta(minutes=17 * n)).replace(tzinfo=timezone.utc) for n in range(200)],
    "TIMESTAMP_NTZ": [MOMENT + timedelta(minutes=17 * n) for n in range(200)],
}


def test_cuts_are_even_and_each_is_there_once():
    ids = pa.table({"id": np.random.default_rng(1).permutation(1000)})
    assert cuts(ids, 4).column("id").to_pylist() == [250, 500, 750]
    assert cuts(ids, 1).num_rows == 0
    assert cuts(pa.table({"id": [5] * 900 + [1, 9]}), 8).column("id").to_pylist() == [5]
    assert cuts(pa.table({"id": pa.array([], pa.int64())}), 1).num_rows == 0
    two = pa.table({"a": [1, 1, 1, 1, 2, 2], "b": ["a", "b", "c", "d", "a", "b"]})
    assert cuts(two, 3).to_pydict() == {"a": [1, 2], "b": ["c", "a"]}


@pytest.mark.spark
@pytest.mark.parametrize("types", [*((name,) for name in VALUES), ("INT", "STRING"), ("TIMESTAMP", "DOUBLE", "DATE")])
def test_ranges_do_not_overlap_in_the_order_of_keys(spark, monkeypatch, types):
    monkeypatch.setattr(spreading, "ONE_TASK", -1)
    monkeypatch.setattr(spreading, "_A_RANGE", 1)
    monkeypatch.setattr(spreading, "_SAMPLED_A_RANGE", 40)
    rows = [tuple(RANDOM.choice(VALUES[type_]) for type_ in types) for _ in range(400)]
    rows += [tuple(None if at == gone else value for at, value in enumerate(rows[0])) for gone in range(len(types))]
    columns = [f"k {at}" for at in range(len(types))]
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in zip(columns, types, strict=True))
    with temporarily(spark, "spark.sql.session.timeZone", "America/New_York"):
        frame = spark.createDataFrame(rows, schema).cache()
        frame.count()
        gathered, tasks = spread(frame, planned(frame), columns)
        found = gathered.selectExpr("spark_partition_id() AS task", "*").toArrow()
    frame.unpersist()
    keys = key_columns(found.select(columns).columns, nullable=True)
    assert len(keys) == len(rows)
    by_task = np.argsort(found.column("task").to_numpy(), kind="stable")
    assert is_sorted(keys.take(by_task))
    assert tasks == len(set(found.column("task").to_pylist())) > (types != ("BOOLEAN",))


@pytest.mark.spark
@pytest.mark.parametrize("cheap", [True, False])
@pytest.mark.parametrize("one_task", [-1, 1 << 60])
def test_rows_of_one_key_stay_in_the_order_of_the_query(spark, monkeypatch, one_task, cheap):
    monkeypatch.setattr(spreading, "ONE_TASK", one_task)
    rows = spark.range(0, 4000, 1, 8).selectExpr("id % 50 AS k", "hash(id) AS v")
    ordered = rows.orderBy("v") if cheap else rows.groupBy("k", "v").count().orderBy("v")
    found = spread(ordered, planned(ordered), ["k"])[0].toArrow()
    assert found.column_names == ordered.columns
    values = dict.fromkeys(range(50), -(2**31))
    for key, value in zip(found.column("k").to_pylist(), found.column("v").to_pylist(), strict=True):
        assert values[key] <= value, "a later row of a key has a larger value"
        values[key] = value


@pytest.mark.spark
def test_what_joins_is_left_to_spark(spark, monkeypatch):
    monkeypatch.setattr(spreading, "ONE_TASK", -1)
    monkeypatch.setattr(spreading, "_range_ids", lambda *_: pytest.fail("the join would run twice"))
    joined = spark.range(100).join(spark.range(50), "id")
    assert spread(joined, planned(joined), ["id"])[0].count() == 50


@pytest.mark.spark
def test_more_ranges_than_an_expression_can_name_are_left_to_spark(spark, monkeypatch):
    monkeypatch.setattr(spreading, "_SAMPLED_A_RANGE", 1)
    frame = spark.range(2000)
    monkeypatch.setattr(spreading, "_A_RANGE", frame.count() * 8 / spreading._MOST_RANGES)
    ranges, of_row = spreading._range_ids(frame, ["id"], 16_000)
    assert ranges == spreading._MOST_RANGES
    assert [row.n for row in frame.selectExpr(f"{of_row} AS n").distinct().orderBy("n").collect()] == [*range(ranges)]
    assert spreading._range_ids(frame, ["id"], 17_000) is None
