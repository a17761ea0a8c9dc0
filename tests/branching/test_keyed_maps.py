"""Maps merged entry by entry, against a dict at a time."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.branching.keyed_maps import merge_maps

TYPE = pa.map_(pa.string(), pa.int64())
MAPS = st.one_of(
    st.none(), st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 2)), max_size=3)
)
_GONE = object()


def oracle(base, ours, theirs):
    base, ours, theirs = base or {}, ours or {}, theirs or {}
    merged, clash = {}, False
    for key in {**base, **ours, **theirs}:
        was, here, there = (side.get(key, _GONE) for side in (base, ours, theirs))
        clash |= here not in (was, there) and there != was
        value = there if there != was else here
        if value is not _GONE:
            merged[key] = value
    return merged, clash


@settings(deadline=None)
@given(st.lists(st.tuples(MAPS, MAPS, MAPS), min_size=1, max_size=6), st.integers(0, 1))
def test_entry_by_entry(rows, cut):
    columns = [
        pa.array([None if m is None else list(m.items()) for m in side], TYPE) for side in zip(*rows, strict=True)
    ]
    columns = [pa.concat_arrays([column, column]).slice(cut * len(rows), len(rows)) for column in columns]
    found = merge_maps(*columns)
    expected = [oracle(*row) for row in rows]
    assert [dict(value or ()) for value in found.values.to_pylist()] == [merged for merged, _ in expected]
    assert found.clash.tolist() == [clash for _, clash in expected]
    assert found.values.type == TYPE
