"""Numbers for values: equal where the values are, at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.engines.codes import identities

INTS = st.one_of(st.none(), st.integers(0, 2))
FLOATS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan")]))


def several(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.lists(elements, max_size=3))


def entries(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.dictionaries(st.sampled_from("ab"), items, max_size=2).map(lambda d: [*d.items()]))


def plain(value: Any) -> Any:
    """As Python compares it: NaN is NaN, and -0.0 is 0.0."""
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return "nan" if value != value else value


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.list_(pa.int32()), several(INTS)),
        (pa.list_(pa.list_(pa.float64())), several(several(FLOATS))),
        (pa.map_(pa.string(), pa.list_(pa.int32())), entries(several(INTS))),
    ],
)
@given(data=st.data())
def test_nested_values(data: st.DataObject, type_: pa.DataType, values: st.SearchStrategy[Any]) -> None:
    held = data.draw(st.lists(values, max_size=10))
    first = data.draw(st.integers(0, len(held)))
    found = identities(pa.array(held, type_).slice(first)).tolist()
    seen = list(map(plain, held[first:]))
    assert [[a == b for b in found] for a in found] == [[a == b for b in seen] for a in seen]
