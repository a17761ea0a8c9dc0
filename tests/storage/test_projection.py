"""Rows under a later schema: random evolutions against an oracle that converts one value at a time."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.model import types
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Array, Map, Struct, StructField, parse_type
from anabranch.storage.arrow_types import arrow_schema, file_schema, to_arrow
from anabranch.storage.projection import convert, project, stored

WIDER = {
    types.TINYINT: [types.SMALLINT, types.INT, types.BIGINT, types.DOUBLE, types.Decimal(10, 0)],
    types.SMALLINT: [types.INT, types.BIGINT, types.DOUBLE, types.Decimal(12, 2)],
    types.INT: [types.BIGINT, types.DOUBLE, types.Decimal(10, 0), types.Decimal(38, 28)],
    types.BIGINT: [types.Decimal(20, 0), types.Decimal(38, 18)],
    types.FLOAT: [types.DOUBLE],
    types.Decimal(5, 2): [types.Decimal(7, 2), types.Decimal(38, 30)],
    types.DATE: [types.TIMESTAMP_NTZ],
    types.STRING: [],
}
VALUES = {
    types.TINYINT: st.integers(-128, 127),
    types.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    types.INT: st.integers(-(2**31), 2**31 - 1),
    types.BIGINT: st.integers(-(2**63), 2**63 - 1),
    types.FLOAT: st.floats(width=32, allow_nan=False),
    types.Decimal(5, 2): st.decimals(-999, 999, places=2),
    types.DATE: st.dates(),
    types.STRING: st.text(max_size=3),
}
ATOMS = st.sampled_from(sorted(WIDER, key=str))


@st.composite
def old_types(draw, depth=2):
    kind = draw(st.sampled_from(["atom", "atom", "struct", "array", "map"])) if depth else "atom"
    if kind == "atom":
        return draw(ATOMS)
    if kind == "array":
        return Array(draw(old_types(depth - 1)))
    if kind == "map":
        return Map(types.STRING, draw(old_types(depth - 1)))
    fields = [draw(old_types(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    return Struct(tuple(StructField(f"f{i}", type_, f"f{i}") for i, type_ in enumerate(fields)))


@st.composite
def evolved(draw, old):
    """A type that files of the old one may be read as: widened, and structs with fields dropped, added and renamed."""
    if isinstance(old, Array):
        return replace(old, element=draw(evolved(old.element)))
    if isinstance(old, Map):
        return replace(old, value=draw(evolved(old.value)))
    if isinstance(old, Struct):
        kept = draw(st.lists(st.sampled_from(old.fields), unique=True, min_size=1))
        labels = draw(st.permutations([*(f.label for f in old.fields), "other"]))
        fields = [replace(f, label=label, type=draw(evolved(f.type))) for f, label in zip(kept, labels, strict=False)]
        if draw(st.booleans()):
            fields.insert(draw(st.integers(0, len(fields))), StructField("new", types.INT, "new_1"))
        return Struct(tuple(fields))
    return draw(st.sampled_from([old, *WIDER[old]]))


def values(type_):
    """Values by physical name, as a file holds them."""
    if isinstance(type_, Array):
        inner = st.lists(values(type_.element), max_size=3)
    elif isinstance(type_, Map):
        inner = st.lists(
            st.tuples(st.text(max_size=2), values(type_.value)), max_size=3, unique_by=lambda pair: pair[0]
        )
    elif isinstance(type_, Struct):
        inner = st.fixed_dictionaries({field.physical: values(field.type) for field in type_.fields})
    else:
        inner = VALUES[type_]
    return st.one_of(st.none(), inner)


def read_as(value, old, new):
    """The oracle: one value of a file as its reader sees it."""
    if value is None:
        return None
    if isinstance(new, Array):
        return [read_as(item, old.element, new.element) for item in value]
    if isinstance(new, Map):
        return [(key, read_as(item, old.value, new.value)) for key, item in value]
    if isinstance(new, Struct):
        known = {field.physical: field for field in old.fields}
        return {
            f.label: read_as(value[f.physical], known[f.physical].type, f.type) if f.physical in known else None
            for f in new.fields
        }
    if isinstance(new, types.Decimal):
        return Decimal(value).quantize(Decimal(1).scaleb(-new.scale), context=WIDE)
    if new == types.TIMESTAMP_NTZ and old == types.DATE:
        return dt.datetime(value.year, value.month, value.day)
    return float(value) if new == types.DOUBLE else value


WIDE = Context(prec=60)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_evolutions(data):
    old = [data.draw(old_types()) for _ in range(data.draw(st.integers(1, 3)))]
    written = Schema(1, tuple(Column(f"c{i}", type_, f"c{i}") for i, type_ in enumerate(old)))
    kept = data.draw(st.lists(st.sampled_from(written.columns), unique=True))
    columns = [replace(c, label=f"L{i} {c.label}", type=data.draw(evolved(c.type))) for i, c in enumerate(kept)]
    columns.append(Column("dflt", types.BIGINT, "added", initial_default="42"))
    columns.append(Column("null", parse_type("struct<a:int>"), "nothing"))
    count = data.draw(st.integers(0, 4))
    given_ = {c.physical: [data.draw(values(c.type)) for _ in range(count)] for c in written.columns}
    file = pa.table(
        [pa.array(given_[f.name], f.type) for f in file_schema(written.columns)], file_schema(written.columns)
    )
    first = data.draw(st.integers(0, count))
    file = file.slice(first)  # offsets of nested slices do not start at 0
    read = file.select(stored(columns, written))
    if not read.num_columns:
        read = pa.table({"": pa.nulls(file.num_rows)})

    found = project(read, columns, written)

    assert found.schema.equals(pa.schema([f.with_nullable(True) for f in arrow_schema(columns)]))
    for column in columns:
        was = written.physical(column.physical)
        rows = given_[column.physical][first:] if was else [None] * (count - first)
        expected = [read_as(row, was.type if was else None, column.type) for row in rows]
        if column.label == "dflt":
            expected = [42] * (count - first)
        assert found.column(column.label).to_pylist() == expected


@pytest.mark.parametrize(("old", "wider"), [(old, new) for old, news in WIDER.items() for new in news])
def test_wideners_are_the_allowed_ones(old, wider):
    assert types.widens(old, wider)


def test_chunks_stay_chunks():
    data = pa.chunked_array([[1, None], [], [3]], pa.int32())
    found = convert(data, types.INT, types.BIGINT)
    assert [len(chunk) for chunk in found.chunks] == [2, 0, 1]
    assert found.to_pylist() == [1, None, 3]


def test_no_chunks():
    found = convert(pa.chunked_array([], pa.int32()), types.INT, types.Decimal(12, 2))
    assert found.type == to_arrow(types.Decimal(12, 2))
    assert len(found) == 0


def test_nothing_is_copied_where_nothing_changes():
    data = pa.chunked_array([[1, 2]], pa.int32())
    assert convert(data, types.INT, types.INT) is data


def test_a_null_struct_stays_null_when_a_field_is_added():
    old, new = parse_type("struct<a:int>"), parse_type("struct<a:int,b:int>")
    data = pa.chunked_array([pa.array([None, {"a": None}, {"a": 1}], to_arrow(old))])
    assert convert(data, old, new).to_pylist() == [None, {"a": None, "b": None}, {"a": 1, "b": None}]


def test_fields_that_trade_names():
    """The types look the same under their labels, the values must not."""
    old = parse_type("struct<a:int,b:int>")
    new = Struct((StructField("a", types.INT, "b"), StructField("b", types.INT, "c")))
    for wrapped, value, expected in (
        (lambda t: t, {"a": 1, "b": 2}, {"a": 2, "b": None}),
        (Array, [{"a": 1, "b": 2}], [{"a": 2, "b": None}]),
        (lambda t: Map(types.STRING, t), [("k", {"a": 1, "b": 2})], [("k", {"a": 2, "b": None})]),
    ):
        data = pa.chunked_array([pa.array([value], to_arrow(wrapped(old)))])
        assert convert(data, wrapped(old), wrapped(new)).to_pylist() == [expected]


def test_a_column_under_another_name_of_it():
    """After a merge a part may hold a column under an alias."""
    written = Schema(1, (Column("x", types.INT, "x_2"),))
    column = Column("x", types.BIGINT, "x", initial_default="7", aliases=("x_2",))
    data = pa.table({"x_2": pa.array([1, None], pa.int32())})
    assert stored([column], written) == ["x_2"]
    assert project(data, [column], written).to_pydict() == {"x": [1, None]}
