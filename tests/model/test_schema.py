"""A schema survives the catalog's JSON, and finds its columns by label and by physical name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import NotFound
from anabranch.model import types
from anabranch.model.schema import Column, Schema
from tests.model.test_types import LABELS, any_type

TEXT = st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["'it''s'", "NULL", '"', "\\", "日本"]))


@st.composite
def schemas(draw):
    labels = draw(st.lists(LABELS, min_size=1, max_size=4, unique_by=str.casefold))
    columns = tuple(
        Column(
            label, draw(any_type(1, stored=True)), f"p{place}", draw(st.booleans()), draw(TEXT), draw(TEXT), draw(TEXT)
        )
        for place, label in enumerate(labels)
    )
    names = [column.physical for column in columns]
    key, parts = (tuple(draw(st.lists(st.sampled_from(names), unique=True))) for _ in range(2))
    return Schema(draw(st.integers(0, 2**40)), columns, key, parts)


@given(schemas())
def test_json_comes_back(schema):
    again = Schema.from_json(schema.id, schema.to_json())
    assert again == schema
    assert again.partition_columns == schema.partition_columns


def test_aliases_come_back():
    schema = Schema(1, (Column("x", types.INT, "x", aliases=("x_2", "x_3")),))
    assert Schema.from_json(1, schema.to_json()) == schema


@given(schemas())
def test_columns_are_found(schema):
    for column in schema.columns:
        assert schema.find(column.label.upper().lower() if column.label.isascii() else column.label) is column
        assert schema.physical(column.physical) is column
    assert schema.select(None) == schema.columns
    assert schema.select(list(reversed(schema.labels))) == tuple(reversed(schema.columns))


def test_unknown_columns():
    schema = Schema(1, (Column("amount", types.INT, "amount"),))
    assert schema.find("amout") is None
    with pytest.raises(NotFound, match=r"'amout' does not exist. Did you mean 'amount'\?"):
        schema.column("amout")


def test_stored_as():
    written = Schema(1, (Column("a", types.INT, "a"), Column("b", types.INT, "b_2")))
    assert written.stored_as(Column("z", types.INT, "a")).physical == "a"
    assert written.stored_as(Column("b", types.INT, "b", aliases=("b_1", "b_2"))).physical == "b_2"
    assert written.stored_as(Column("a", types.INT, "a_2")) is None
