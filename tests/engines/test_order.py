"""The order in which records meet, and where each key starts, against Python's own sort."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines import KIND, segment_starts, sort_order
from tests.engines.tables import Records

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": st.integers(-3, 3),
    "int": st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]),
    "bigint": st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]),
    "boolean": st.booleans(),
    "double": st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan]),
    "date": st.dates(dt.date(1960, 1, 1), dt.date(1980, 1, 1)),
    "timestamp": st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(1980, 1, 1), timezones=st.just(dt.timezone.utc)),
    "decimal(10,2)": st.integers(-3, 3).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,0)": st.sampled_from([Decimal(-(10**30)), Decimal(-1), Decimal(0), Decimal(2**64), Decimal(10**30)]),
    "string": st.text("ab\0", max_size=4).map(lambda end: "user-with-a-long-name-" + end),
    "binary": st.binary(max_size=10),
}
FEW = {**VALUES, "string": st.sampled_from(["", "a", "a\0", "ab", "é", "user-12345678", "user-123456789"])}


def comparable(value: Any) -> Any:
    """NULL first, NaN last, text by its bytes."""
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value)
    return (0,) if value is None else (1, value.encode() if isinstance(value, str) else value)


class Falling:
    """Turns an order around."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Falling) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Falling) and bool(other.value == self.value)


def expected(rows: pa.Table, *, sequence: tuple[str, ...], descending: bool, age: list[int]) -> list[int]:
    lists = {name: rows[name].to_pylist() for name in rows.column_names}

    def rank(n: int) -> Any:
        key = [comparable(lists[name][n]) for name in ("k", "l")]
        order = []
        for name in sequence:
            value = comparable(lists[name][n])
            order += [value[0], Falling(value[1:]) if descending else value[1:]]
        return [*key, *order, age[n], lists[KIND][n] not in (1, 3), n]

    return sorted(range(len(rows)), key=rank)


@pytest.mark.parametrize("types", [(a, b) for a in FEW for b in ("int", "string")], ids="-".join)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_sort_order(types: tuple[str, str], data: Any) -> None:
    size = data.draw(st.integers(0, 20))
    strategies = {"k": FEW[types[0]], "l": FEW[types[1]], "s": FEW[types[0]], "t": VALUES["string"]}
    descending = data.draw(st.booleans())
    options = {"sequence.field": "s,t", "sequence.field.sort-order": "descending" if descending else "ascending"}
    tables = Records(zip("klst", (*types, types[0], "string"), strict=True), ["k", "l"], options)

    def column(name: str) -> list[Any]:
        return data.draw(st.lists(st.one_of(st.none(), strategies[name]), min_size=size, max_size=size))

    rows = pa.table([pa.array(column(f.name), f.type) for f in tables.arrow], schema=tables.arrow)
    kinds = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    rows = rows.append_column(KIND, pa.array(kinds, pa.int8()))
    age = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    found = sort_order(rows, tables.spec, age=np.array(age, dtype=np.int64))
    assert found.tolist() == expected(rows, sequence=("s", "t"), descending=descending, age=age)
    arrival = sort_order(rows, tables.spec)
    assert arrival.tolist() == expected(rows, sequence=("s", "t"), descending=descending, age=list(range(size)))


@pytest.mark.parametrize("type_", FEW)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_segments(type_: str, data: Any) -> None:
    """Rows are alike where NULLs are, NaNs are, and zeros of either sign are."""
    tables = Records([("k", type_), ("l", type_)], ["k", "l"], {})
    values = st.lists(st.tuples(*[st.one_of(st.none(), FEW[type_])] * 2), max_size=20)
    pairs = data.draw(values)
    rows = pa.table([pa.array([p[n] for p in pairs], tables.arrow.types[n]) for n in (0, 1)], schema=tables.arrow)
    rows = pa.concat_tables([rows, rows.slice(0, 3)])  # two chunks
    rows = rows.take(pa.array(sort_order(rows, tables.spec)))
    seen = [[comparable(v) for v in row.values()] for row in rows.to_pylist()]
    starts = [n for n in range(len(seen)) if n == 0 or seen[n] != seen[n - 1]]
    assert segment_starts(rows, ["k", "l"]).tolist() == starts


def test_a_delete_after_an_insert_stays_after_it() -> None:
    """Arrival decides before kinds do; only rows of one age are tied."""
    tables = Records([("k", "int"), ("s", "int")], ["k"], {"sequence.field": "s"})
    rows = pa.table(
        {"k": pa.array([1, 1], pa.int32()), "s": pa.array([7, 7], pa.int32()), KIND: pa.array([0, 3], pa.int8())}
    )
    assert sort_order(rows, tables.spec).tolist() == [0, 1]
    assert sort_order(rows, tables.spec, age=np.array([4, 4])).tolist() == [1, 0]


def test_sorted_slices_are_read_from_their_start() -> None:
    """Arrays may begin in the middle of their buffers."""
    tables = Records([("k", "string"), ("l", "decimal(38,0)")], ["k", "l"], {})
    rows = pa.table(
        {
            "k": ["z", "user-long-name-b", "user-long-name-a", "user-long-name-b"],
            "l": pa.array([9, 2, 1, 1], pa.decimal128(38, 0)),
        }
    )
    assert sort_order(rows.slice(1), tables.spec).tolist() == [1, 2, 0]
    assert segment_starts(rows.slice(1), ["k", "l"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("far", [False, True], ids=["nearly sorted", "shuffled"])
def test_many_rows(far: bool) -> None:
    """Both ways of sorting integers are stable."""
    random = np.random.default_rng(7)
    keys = random.integers(-500, 500, 10_000)
    keys = keys if far else np.concatenate([np.sort(keys[:5_000]), np.sort(keys[5_000:])])
    tables = Records([("k", "bigint")], ["k"], {})
    found = sort_order(pa.table({"k": keys}), tables.spec)
    assert found.tolist() == sorted(range(len(keys)), key=lambda n: int(keys[n]))
