"""Sorted merge: windows against sorting everything at once; the three sort engines against each other."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import DataError
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.sort_engines import SORT_ENGINES
from anabranch.keyed.sorted_merge import aged, batch_rows, sorted_merge
from tests.keyed.some_keys import arrays, order, some_types_and_rows


def batches(rows, types, cuts, tag):
    """Sorted rows as batches of the given sizes; `tag` and the position say which row it was."""
    names = [f"k{at}" for at in range(len(types))]
    columns = [*arrays(rows, types), pa.array([tag] * len(rows), pa.int64()), pa.array(range(len(rows)), pa.int64())]
    whole = pa.RecordBatch.from_arrays(columns, [*names, "tag", "at"])
    starts = np.cumsum([0, *cuts]).tolist()
    sizes = [*cuts, len(rows)]
    return [whole.slice(start, size) for start, size in zip(starts, sizes, strict=True) if start <= len(rows)], names


@settings(max_examples=200, deadline=None)
@given(some_types_and_rows(max_size=60), st.data())
def test_merge_is_sorting_by_key_and_age(drawn, data):
    types, rows = drawn
    count = data.draw(st.integers(1, 5))
    of_run = data.draw(st.lists(st.integers(0, count - 1), min_size=len(rows), max_size=len(rows)))
    engine = data.draw(st.sampled_from(sorted(SORT_ENGINES)))
    fill = data.draw(st.sampled_from([1, 2, 7, 1000]))
    runs, expected, names = [], [], []
    for tag in range(count):
        held = sorted((r for r, run in zip(rows, of_run, strict=True) if run == tag), key=lambda r: order(r, types))
        expected += [(order(row, types), tag, at) for at, row in enumerate(held)]
        parts, names = batches(held, types, data.draw(st.lists(st.integers(0, 5), max_size=6)), tag)
        runs.append(aged(tag, parts))
    windows = list(sorted_merge(runs, names, engine=engine, fill=fill))
    expected.sort()
    found = [pair for w in windows for pair in zip(*(w.rows[n].to_pylist() for n in ("tag", "at")), strict=True)]
    assert found == [(tag, at) for _, tag, at in expected]
    assert [age for w in windows for age in w.ages.tolist()] == [tag for _, tag, _ in expected]
    starts, done = [], 0
    for window in windows:
        assert window.rows.num_rows == len(window.keys) > 0
        starts += (window.starts + done).tolist()
        done += len(window.keys)
    keys = [key for key, _, _ in expected]
    assert starts == [at for at in range(len(keys)) if not at or keys[at] != keys[at - 1]]


def test_a_run_may_mix_ages():
    """Parts of one run are as old as they are: what is between them in age is merged between them."""

    def part(age, keys):
        return aged(age, [pa.record_batch({"k": keys})])

    first = [*part(0, [1, 2, 3]), *part(2, [5, 6, 7])]
    second = list(part(1, [2, 3, 5, 6]))
    (window,) = sorted_merge([second, first], ["k"])
    assert list(zip(window.rows["k"].to_pylist(), window.ages.tolist(), strict=True)) == [
        (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (5, 1), (5, 2), (6, 1), (6, 2), (7, 2),
    ]  # fmt: skip


@settings(deadline=None)
@given(some_types_and_rows(max_size=60), st.integers(1, 9), st.data())
def test_sort_engines_agree(drawn, count, data):
    types, rows = drawn
    of = data.draw(st.lists(st.integers(0, count - 1), min_size=len(rows), max_size=len(rows)))
    stretches = [
        sorted((r for r, at in zip(rows, of, strict=True) if at == n), key=lambda r: order(r, types))
        for n in range(count)
    ]
    keys = [key_columns(arrays(stretch, types)) for stretch in stretches]
    flat = [row for stretch in stretches for row in stretch]
    expected = sorted(range(len(flat)), key=lambda at: order(flat[at], types))
    assert {name: engine(keys).tolist() for name, engine in SORT_ENGINES.items()} == dict.fromkeys(
        SORT_ENGINES, expected
    )


def test_sort_engines_by_name():
    assert list(SORT_ENGINES) == ["vectorized", "loser-tree", "min-heap"]


UNSORTED = [
    ("within a batch", [[1, 3, 2]]),
    ("between batches", [[1, 3], [2, 4]]),
]


@pytest.mark.parametrize(("name", "run"), UNSORTED, ids=[case[0] for case in UNSORTED])
def test_a_run_out_of_order_is_not_merged(name, run):
    with pytest.raises(DataError, match="order"):
        list(sorted_merge([aged(0, [pa.record_batch({"k": keys}) for keys in run])], ["k"], fill=10))


def test_few_windows_for_many_small_runs():
    """A thousand flushes are one window, not a thousand."""
    rng = np.random.default_rng(1)
    runs = [aged(at, [pa.record_batch({"k": np.sort(rng.integers(0, 10**6, 50))})]) for at in range(1000)]
    assert len(list(sorted_merge(runs, ["k"]))) == 1


def wide_run(seed, rows, batch, keys):
    """Batches made when they are asked for, so that what is alive is what the merge holds."""
    rng = np.random.default_rng(seed)
    low = 0
    span = keys // (rows // batch)
    for _ in range(rows // batch):
        key = low + np.sort(rng.choice(span, batch, replace=False))
        low += span
        yield pa.record_batch(
            {
                "k": key,
                "a": rng.integers(0, 9, batch),
                "b": rng.random(batch),
                "c": pa.array(key).cast(pa.string()),
                "d": key.astype("datetime64[us]"),
            }
        )


def test_memory_is_for_runs_and_batches_not_rows():
    """Ten times the rows, the same peak."""
    peaks = []
    for rows in (20_000, 200_000):
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        runs = [aged(at, wide_run(at, rows, 2000, rows * 3)) for at in range(4)]
        arrow, seen, largest = 0, 0, 0
        for window in sorted_merge(runs, ["k"], fill=2000):
            arrow = max(arrow, pa.total_allocated_bytes() - before)
            seen += window.rows.num_rows
            largest = max(largest, window.rows.num_rows)
        assert seen == 4 * rows
        assert largest <= 4 * 2 * 2000
        peaks.append(arrow + tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize(("runs", "rows"), [(0, 65536), (1, 65536), (8, 32768), (50, 5242), (10_000, 4096)])
def test_batch_rows(runs, rows):
    assert batch_rows(runs) == rows
