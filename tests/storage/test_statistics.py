"""Bounds may be too wide, never too narrow: no value that a part holds lies outside what its statistics say."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.expressions import Bound, may_match
from anabranch.model import types
from anabranch.model.part import bounds_of, row_groups
from anabranch.model.schema import Column, Schema
from anabranch.model.types import parse_type
from anabranch.storage import parquet
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination
from anabranch.storage.statistics import MAX_TEXT, bounds_by_label, decode, encode

UTC = dt.timezone.utc
VALUES = {
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53 + 1, -(2**63)])),
    "float": st.floats(width=32),
    "double": st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 5e-324])),
    "decimal(5,2)": st.decimals(-999, 999, places=2),
    "decimal(18,0)": st.integers(-(10**18) + 1, 10**18 - 1).map(Decimal),
    "decimal(38,10)": st.integers(-(10**37), 10**37).map(lambda n: Decimal(f"{n}e-10")),
    "string": st.one_of(st.text(max_size=5), st.text("aé日😀\uffff\U0010ffff", min_size=60, max_size=70)),
    "binary": st.binary(max_size=5),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "timestamp_ntz": st.datetimes(),
}


def part_of(folder, type_, values, row_group=3):
    schema = Schema(1, (Column("label", type_, "c"),))
    writer = parquet.PartWriter(Destination(Files(str(folder), durable=False), schema), 1)
    before, parquet.ROW_GROUP = parquet.ROW_GROUP, row_group
    try:
        array = values if isinstance(values, pa.Array) else pa.array(values, to_arrow(type_))
        writer.write(pa.table([array], names=["label"]))
        return schema, writer.close()
    finally:
        parquet.ROW_GROUP = before


def known(schema, part):
    return bounds_by_label(part, schema, schema.columns)


@pytest.mark.parametrize("type_text", VALUES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_present_value_is_excluded(tmp_path, type_text, data):
    type_ = parse_type(type_text)
    values = data.draw(st.lists(st.one_of(st.none(), VALUES[type_text]), min_size=1, max_size=10))
    schema, part = part_of(tmp_path, type_, values)
    stats = known(schema, part)
    assert bounds_of(part, "c").nulls == values.count(None)
    for value in values:
        bound = Bound("label", "null") if value is None else Bound("label", "=", (value,))
        assert may_match([bound], stats)
        if value is not None and type_text != "boolean":
            for operator in ("<=", ">="):
                assert may_match([Bound("label", operator, (value,))], stats)


@pytest.mark.parametrize(
    ("type_text", "values", "low", "high"),
    [
        ("int", [3, None, -7, 9], -7, 9),
        ("double", [1.5, math.nan, -2.0], -2.0, math.nan),
        ("double", [math.inf, -math.inf], -math.inf, math.inf),
        ("float", [math.nan], None, math.nan),
        ("double", [None, None], None, None),
        ("string", ["b", "a" * (MAX_TEXT + 6)], "a" * MAX_TEXT, "b"),
        ("string", ["a", "b" * (MAX_TEXT + 1)], "a", None),
        ("string", ["é", "日本"], "é", "日本"),
        ("boolean", [False, None], False, False),
        ("date", [dt.date(1, 1, 1), dt.date(9999, 12, 31)], dt.date(1, 1, 1), dt.date(9999, 12, 31)),
        ("decimal(5,2)", [Decimal("-1.50"), Decimal("999.99")], Decimal("-1.50"), Decimal("999.99")),
        (
            "timestamp",
            [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
            dt.datetime(1, 1, 1, tzinfo=UTC),
            dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        ),
        ("binary", [b"a"], None, None),
    ],
)
def test_bounds(tmp_path, type_text, values, low, high):
    schema, part = part_of(tmp_path, parse_type(type_text), values)
    found = known(schema, part)["label"]
    assert found.min == low
    assert found.max == high or (high is not None and high != high and found.max != found.max)
    assert (found.nulls, found.rows) == (values.count(None), len(values))
    json.loads(part.stats, parse_constant=pytest.fail)  # JSON proper: no NaN, no Infinity


@pytest.mark.parametrize(
    ("type_", "numbers"),
    [
        (types.DATE, [2932897, -1_000_000, 0]),
        (types.TIMESTAMP, [2**62, -(2**62), 0]),
        (types.TIMESTAMP_NTZ, [2**62, -(2**62), 0]),
    ],
)
def test_times_beyond_the_calendar(tmp_path, type_, numbers):
    """Spark writes years that Python has no date for: the bounds are unknown, and nothing fails."""
    width = pa.int32() if type_ == types.DATE else pa.int64()
    array = pa.array(numbers, width).cast(pa.timestamp("us") if type_ != types.DATE else pa.date32())
    schema, part = part_of(tmp_path, type_, array.cast(to_arrow(type_)) if array.type != to_arrow(type_) else array)
    found = known(schema, part)["label"]
    assert (found.min, found.max, found.nulls) == (None, None, 0)


def test_row_groups_and_nested_columns(tmp_path):
    schema = Schema(1, (Column("a", types.INT, "a"), Column("s", parse_type("struct<a:int>"), "s")))
    writer = parquet.PartWriter(Destination(Files(str(tmp_path), durable=False), schema), 1)
    writer.write(
        pa.table({"a": pa.array([1, 2], pa.int32()), "s": pa.array([{"a": 9}, None], to_arrow(schema.columns[1].type))})
    )
    part = writer.close()
    assert row_groups(part) == (2,)
    assert bounds_of(part, "a") is not None
    assert bounds_of(part, "s") is None


def test_a_date_that_became_a_timestamp(tmp_path):
    schema, part = part_of(tmp_path, types.DATE, [dt.date(2020, 1, 1), dt.date(2020, 1, 3)])
    now = (Column("label", types.TIMESTAMP_NTZ, "c"),)
    found = bounds_by_label(part, schema, now)["label"]
    assert (found.min, found.max) == (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 3))


def test_a_column_that_the_part_lacks_has_no_bounds(tmp_path):
    schema, part = part_of(tmp_path, types.INT, [1])
    assert bounds_by_label(part, schema, (Column("label", types.INT, "other"),)) == {}


@pytest.mark.parametrize("type_text", VALUES)
@given(data=st.data())
def test_encoded_values_come_back(type_text, data):
    type_ = parse_type(type_text)
    value = data.draw(st.one_of(st.none(), VALUES[type_text]))
    found = decode(json.loads(json.dumps(encode(value, type_), allow_nan=False)), type_)
    assert found == value or (value != value and found != found)
    assert type(found) is type(value)
