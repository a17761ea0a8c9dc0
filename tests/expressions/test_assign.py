"""Store assignment, constants, and literals that give their value back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from anabranch.errors import ExpressionError, FieldMismatch, TypeMismatch, ValueOutOfRange
from anabranch.expressions import assign, constant, literal_sql, parse_expression

DECIMAL = pa.decimal128(5, 2)
STAMP, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("5", pa.int8(), 5),
        ("-5", pa.int64(), -5),
        ("1 + 1", pa.float64(), 2.0),
        ("1.7", pa.int32(), 1),
        ("1.255", DECIMAL, Decimal("1.26")),
        ("5", DECIMAL, Decimal("5.00")),
        ("5", pa.string(), "5"),
        ("TRUE", pa.string(), "true"),
        ("NULL", pa.int32(), None),
        ("'x'", pa.string(), "x"),
        ("X'0aFF'", pa.binary(), b"\x0a\xff"),
        ("DATE '2020-01-02'", pa.date32(), dt.date(2020, 1, 2)),
        ("DATE '2020-01-02'", NTZ, dt.datetime(2020, 1, 2)),
        ("TIMESTAMP '2020-01-02 03:04:05Z'", pa.date32(), dt.date(2020, 1, 2)),
        ("TIMESTAMP_NTZ '2020-01-02 03:04:05'", STAMP, dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)),
        ("DATE '2020-01-02'", pa.string(), "2020-01-02"),
        ("CAST('7' AS INT)", pa.int16(), 7),
        ("array(1, 2)", pa.list_(pa.int64()), [1, 2]),
        ("array()", pa.list_(pa.int64()), []),
        ("map('a', 1)", pa.map_(pa.string(), pa.int64()), [("a", 1)]),
        ("map()", pa.map_(pa.string(), pa.int64()), []),
        ("named_struct('p', 1, 'q', 'x')", pa.struct([("a", pa.int8()), ("b", pa.string())]), {"a": 1, "b": "x"}),
        ("array(named_struct('p', NULL))", pa.list_(pa.struct([("a", pa.int8())])), [{"a": None}]),
    ],
)
def test_constant(text, type, value):
    found = constant(parse_expression(text), type)
    assert (found.type, found.as_py()) == (type, value)


def test_now_is_now():
    before = dt.datetime.now(dt.timezone.utc)
    assert (
        before <= constant(parse_expression("current_timestamp()"), STAMP).as_py() <= dt.datetime.now(dt.timezone.utc)
    )
    assert constant(parse_expression("current_date()"), pa.date32()).as_py() >= before.date()


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("'5'", pa.int32()),
        ("5", pa.bool_()),
        ("TRUE", pa.int32()),
        ("'2020-01-01'", pa.date32()),
        ("5", pa.date32()),
        ("'x'", pa.binary()),
        ("array(1)", pa.int32()),
        ("array('x')", pa.list_(pa.int32())),
        ("named_struct('a', 1)", pa.struct([("a", pa.int32()), ("b", pa.int32())])),
    ],
)
def test_not_assignable(text, type):
    with pytest.raises(TypeMismatch):
        constant(parse_expression(text), type)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("300", pa.int8()),
        ("1e20", pa.int64()),
        ("1000", DECIMAL),
        ("999.999", DECIMAL),
        ("array(300)", pa.list_(pa.int8())),
    ],
)
def test_out_of_range(text, type):
    with pytest.raises(ValueOutOfRange):
        constant(parse_expression(text), type)


def test_a_column_is_no_constant():
    with pytest.raises(ExpressionError, match="not a constant"):
        constant(parse_expression("a + 1"), pa.int32())


def test_arrays_are_assigned_by_chunk_and_by_depth():
    chunked = pa.chunked_array([[1, None], [3]], pa.int64())
    assert assign(chunked, chunked.type, pa.int8(), "c").type == pa.int8()
    inner = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int32()))])
    target = pa.struct([("p", pa.int16()), ("q", pa.list_(pa.string()))])
    rows = pa.array([{"x": 9, "y": [9]}, {"x": 1, "y": [2, None]}, None, {"x": None, "y": None}], inner).slice(1)
    found = assign(rows, inner, target, "c")
    assert found.type == target
    assert found.to_pylist() == [{"p": 1, "q": ["2", None]}, None, {"p": None, "q": None}]
    maps = pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64()))
    wide = assign(maps, maps.type, pa.map_(pa.string(), pa.float64()), "c")
    assert wide.to_pylist() == [[("a", 1.0)], None, []]
    with pytest.raises(ValueOutOfRange, match="column 'c'"):
        assign(pa.array([1, 300]), pa.int64(), pa.int8(), "c")


LITERALS = [
    (None, pa.int32()),
    (True, pa.bool_()),
    (-128, pa.int8()),
    (-32768, pa.int16()),
    (-(2**31), pa.int32()),
    (5, pa.int64()),
    (-(2**63), pa.int64()),
    (-0.0, pa.float64()),
    (float("nan"), pa.float64()),
    (float("-inf"), pa.float32()),
    (5e-324, pa.float64()),
    (1e300, pa.float64()),
    (0.10000000149011612, pa.float32()),
    (Decimal("-1.50"), DECIMAL),
    (Decimal("0.0000000001"), pa.decimal128(38, 10)),
    ("it's \\ \n\t % é 😀 \0", pa.string()),
    ("", pa.string()),
    (b"\x00\xff", pa.binary()),
    (dt.date(1, 1, 1), pa.date32()),
    (dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.timezone.utc), STAMP),
    (dt.datetime(9999, 12, 31, 23, 59, 59, 999999), NTZ),
    ([1, None], pa.list_(pa.int64())),
    ([], pa.list_(pa.string())),
    ([("a", [1])], pa.map_(pa.string(), pa.list_(pa.int8()))),
    ({"a'b": 1, "c": None}, pa.struct([("a'b", pa.int16()), ("c", pa.string())])),
]


@pytest.mark.parametrize(("value", "type"), LITERALS, ids=str)
def test_a_literal_gives_its_value_back(value, type):
    scalar = pa.scalar(value, type)
    back = constant(parse_expression(literal_sql(scalar)), type)
    assert back.type == type
    assert repr(back.as_py()) == repr(scalar.as_py())


def test_fields_meet_by_label():
    inner = pa.struct([("x", pa.int64()), ("Y", pa.int64())])
    source = pa.struct([("n", inner), ("l", pa.list_(inner)), ("m", pa.map_(pa.string(), inner))])
    turned = pa.struct([("y", pa.int8()), ("x", pa.string())])
    target = pa.struct([("m", pa.map_(pa.string(), turned)), ("L", pa.list_(turned)), ("n", turned)])
    one, two = {"x": 1, "Y": 2}, {"y": 2, "x": "1"}
    given = [None, {"n": one, "l": [one, None], "m": [("k", one)]}, {"n": None, "l": None, "m": None}, None]
    found = assign(pa.array(given, source).slice(1), source, target, "c", by_label=True)
    assert found.type == target
    nothing = {"m": None, "L": None, "n": None}
    assert found.to_pylist() == [{"m": [("k", two)], "L": [two, None], "n": two}, nothing, None]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a", "a b", r"'c' lacks the field 'b'.*named_struct\('a', …, 'b', …\)"),
        ("a colour", "a color", r"'c' has the field 'colour', which the column lacks \(did you mean 'color'\?\)"),
        ("a A", "a", "'c' has the field 'A' twice"),
    ],
)
def test_fields_that_are_not_the_same_are_named(source, target, message):
    given, wanted = (pa.struct([(name, pa.int32()) for name in names.split()]) for names in (source, target))
    with pytest.raises(FieldMismatch, match=message):
        assign(pa.array([None], given), given, wanted, "c", by_label=True)
    with pytest.raises(FieldMismatch, match=message.replace("'c'", r"'c\.element'")):
        assign(pa.array([], pa.list_(given)), pa.list_(given), pa.list_(wanted), "c", by_label=True)
