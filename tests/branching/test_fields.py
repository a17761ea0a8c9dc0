"""What rows lack, and how another version mends it, against a plain walk over Python's values."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.branching.fields import held, lacking, mended, seen_as
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Array, DataType, Map, Struct, parse_type
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.projection import convert

FULL = {
    "a": "INT",
    "b": "INT",
    "n": "STRUCT<c: INT, d: INT>",
    "l": "ARRAY<STRUCT<x: INT, y: INT>>",
    "m": "MAP<STRING, STRUCT<p: INT, q: INT>>",
}
NARROWER = {
    "a field": {"b": None},
    "a field of a field": {"n": "STRUCT<c: INT>"},
    "in elements": {"l": "ARRAY<STRUCT<x: INT>>"},
    "in values of a map": {"m": "MAP<STRING, STRUCT<q: INT>>"},
    "some of each": {"a": None, "n": "STRUCT<d: INT>", "l": "ARRAY<STRUCT<y: INT>>", "m": None},
}


def struct(fields: dict[str, str | None]) -> DataType:
    return parse_type(f"STRUCT<{', '.join(f'{name}: {type_}' for name, type_ in fields.items() if type_)}>")


few = st.sampled_from([None, 1, 2])


def structs(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.fixed_dictionaries(fields)


values = structs(
    a=few,
    b=few,
    n=structs(c=few, d=few),
    l=st.none() | st.lists(structs(x=few, y=few), max_size=2),
    m=st.none() | st.dictionaries(st.sampled_from("uv"), structs(p=few, q=few), max_size=1).map(lambda d: [*d.items()]),
)


def known(value: Any, type_: DataType, stored: DataType) -> Any:
    """A value without what a narrower type lacks."""
    if value is None:
        return None
    if isinstance(type_, Struct):
        old = {field.label: field.type for field in stored.fields}
        return {f.label: known(value[f.label], f.type, old[f.label]) for f in type_.fields if f.label in old}
    if isinstance(type_, Array):
        return [known(one, type_.element, stored.element) for one in value]
    if isinstance(type_, Map):
        return [(key, known(one, type_.value, stored.value)) for key, one in value]
    return value


def naive(mine: Any, other: Any, type_: DataType, stored: DataType | None) -> Any:
    if stored is None:
        return other
    if isinstance(type_, Struct):
        old = {field.label: field.type for field in stored.fields}
        if mine is None:
            return None
        return {f.label: naive(mine[f.label], other and other[f.label], f.type, old.get(f.label)) for f in type_.fields}
    if isinstance(type_, (Array, Map)):
        return other if known(mine, type_, stored) == known(other, type_, stored) else mine
    return mine


@pytest.mark.parametrize("stored", NARROWER.values(), ids=NARROWER.keys())
@given(pairs=st.lists(st.tuples(values, values), min_size=1, max_size=8), same=st.booleans())
def test_what_is_lacking_comes_from_the_other_version(stored: dict, pairs: list[tuple[Any, Any]], same: bool) -> None:
    type_, narrow = struct(FULL), struct(FULL | stored)
    column, written = Column("s", type_, "s"), Schema(1, (Column("s", narrow, "s"),))
    others = pa.array([other for _, other in pairs], to_arrow(type_))
    mine = others if same else pa.array([one for one, _ in pairs], to_arrow(type_))
    stored_rows = convert(pa.chunked_array([mine]), type_, narrow)
    read = convert(stored_rows, narrow, type_).combine_chunks()
    found = mended(read, others, column, written)
    expected = [
        naive(one, other, type_, narrow) for one, other in zip(read.to_pylist(), others.to_pylist(), strict=True)
    ]
    assert found.to_pylist() == expected
    if same:
        assert found.to_pylist() == others.to_pylist()


def test_columns_and_fields_that_are_lacking_and_held() -> None:
    columns = (Column("s", parse_type("STRUCT<a: INT, b: INT>"), "s"), Column("c", parse_type("INT"), "c"))
    without = Schema(1, (Column("t", parse_type("STRUCT<a: BIGINT>"), "s"), Column("c", parse_type("INT"), "x")))
    assert lacking(columns, without) == list(columns)
    assert held(columns, without) == {("s",), ("s", "a")}
    assert not lacking(columns, Schema(2, columns))
    assert held(columns, Schema(2, columns)) == {("s",), ("s", "a"), ("s", "b"), ("c",)}


def test_a_renamed_field_is_lacking_nowhere() -> None:
    renamed = parse_type("STRUCT<a: INT, b: INT>")
    renamed = Struct((renamed.fields[0], type(renamed.fields[1])("new", renamed.fields[1].type, "b")))
    assert not lacking(
        [Column("s", renamed, "s")], Schema(1, (Column("s", parse_type("STRUCT<a: INT, b: INT>"), "s"),))
    )


def test_a_type_as_it_was_seen() -> None:
    now = parse_type("STRUCT<a: BIGINT, c: INT, l: ARRAY<STRUCT<x: BIGINT, z: INT>>>")
    then = parse_type("STRUCT<b: INT, a: INT, l: ARRAY<STRUCT<x: INT, y: INT>>>")
    assert str(seen_as(now, then)) == "struct<b:int,a:bigint,l:array<struct<x:bigint,y:int>>>"
