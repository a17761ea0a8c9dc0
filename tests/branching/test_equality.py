"""Values row by row, against Python's own comparison of the same values."""

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.branching.equality import unequal

NAN = math.nan
FLOATS = st.sampled_from([None, 0.0, 1.5, NAN])
NESTED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "list": (pa.list_(pa.float64()), st.none() | st.lists(FLOATS, max_size=3)),
    "struct": (
        pa.struct([("a", pa.float64()), ("b", pa.string())]),
        st.none() | st.fixed_dictionaries({"a": FLOATS, "b": st.sampled_from([None, "", "x"])}),
    ),
    "map": (
        pa.map_(pa.string(), pa.float64()),
        st.none() | st.dictionaries(st.sampled_from("xyz"), FLOATS, max_size=3).map(lambda d: list(d.items())),
    ),
    "lists of structs": (
        pa.list_(pa.struct([("a", pa.list_(pa.float64()))])),
        st.none()
        | st.lists(st.none() | st.fixed_dictionaries({"a": st.none() | st.lists(FLOATS, max_size=2)}), max_size=2),
    ),
}


def apart(one: pa.Array, other: pa.Array) -> list[bool]:
    return [repr(a) != repr(b) for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)]


@pytest.mark.parametrize("kind", NESTED)
@given(data=st.data())
def test_nested_values(kind: str, data: st.DataObject) -> None:
    type_, values = NESTED[kind]
    pairs = data.draw(st.lists(st.tuples(values, values) | values.map(lambda value: (value, value)), max_size=6))
    one, other = (pa.array([pair[side] for pair in pairs], type_) for side in (0, 1))
    assert unequal(one, other).tolist() == apart(one, other)
    assert unequal(one[1:], other[1:]).tolist() == apart(one, other)[1:], "slices"


def test_nan_is_nan_at_any_depth() -> None:
    assert unequal(pa.array([[NAN], [NAN]]), pa.array([[NAN], [1.0]])).tolist() == [False, True]
