"""Deciding what a scan reads: parts are skipped only where no wanted row is, and every part takes exactly one way."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

import anabranch
from anabranch.errors import ExpressionError
from anabranch.execution.plan import ScanPlan, TableView, bundles, choose_paths, plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import read_batches, read_table
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.types import INT
from anabranch.options import Limits
from anabranch.storage.files import Files
from anabranch.storage.row_ids import by_slot
from tests.execution.plans import plan_of
from tests.execution.queries import make_tables, predicate
from tests.execution.rows import rows

SCHEMA = Schema(1, (Column("a", INT, "a"),))


def plan_for(sizes, dead=()):
    """A plan of parts with these sizes in bytes, ten rows each; `dead` are the numbers of masked parts."""
    parts = tuple(Part(f"p{slot}", slot, 1, 10, size) for slot, size in enumerate(sizes))
    hidden = {slot: BitMap([0]) for slot in dead}
    state = TableState("t", Position(1, 1), {part.slot: part for part in parts}, hidden)
    return ScanPlan(TableView("d.t", SCHEMA, state, {1: SCHEMA}, Files("/nowhere")), SCHEMA.columns, parts, 0, None)


@pytest.mark.parametrize(
    ("sizes", "dead", "limits", "local", "bundled", "native", "masked"),
    [
        ([5, 5], [0], Limits(small_part=10, local_scan=10), [0, 1], [], [], []),
        ([5, 6], [0], Limits(small_part=10, local_scan=10), [], [0, 1], [], []),
        ([9, 10, 11], [], Limits(small_part=10, local_scan=10, few_parts=0), [0], [], [1, 2], []),
        ([9, 10, 11], [], Limits(small_part=10, local_scan=10, few_parts=1), [], [], [0, 1, 2], []),
        ([9, 10, 11], [0, 2], Limits(small_part=10, local_scan=10, few_parts=0), [0], [], [], [1, 2]),
        ([9, 9, 10, 11], [1, 3], Limits(small_part=10, local_scan=10, few_parts=1), [], [0, 1], [], [2, 3]),
        ([9, 9, 10, 11], [1, 3], Limits(small_part=10, local_scan=10, few_parts=2), [], [], [], [0, 1, 2, 3]),
        ([], [], Limits(local_scan=-1), [], [], [], []),
    ],
)
def test_ways(sizes, dead, limits, local, bundled, native, masked):
    paths = choose_paths(plan_for(sizes, dead), limits, native=True)
    found = [[part.slot for part in way] for way in (paths.local, paths.bundled, paths.native, paths.masked)]
    assert found == [local, bundled, native, masked]


def test_kernels_read_what_spark_cannot_open():
    paths = choose_paths(plan_for([100, 200], [1]), Limits(small_part=0, local_scan=-1), native=False)
    assert [part.slot for part in paths.bundled] == [0, 1]
    assert paths.local == paths.native == paths.masked == ()


@given(
    st.lists(st.integers(0, 100), max_size=30),
    st.sets(st.integers(0, 29)),
    st.integers(-1, 200),
    st.integers(0, 100),
    st.booleans(),
)
def test_every_part_takes_one_way(sizes, dead, local_scan, small_part, native):
    plan = plan_for(sizes, dead & set(range(len(sizes))))
    paths = choose_paths(plan, Limits(small_part=small_part, local_scan=local_scan), native=native)
    taken = [*paths.local, *paths.bundled, *paths.native, *paths.masked]
    assert sorted(part.slot for part in taken) == list(range(len(sizes)))
    assert not any(plan.dead(part) for part in paths.native)


@given(st.lists(st.integers(0, 100), max_size=40), st.integers(1, 200), st.integers(1, 8))
def test_bundles(sizes, size, least):
    """Every part once and in order; no bundle goes on after it is full."""
    parts = plan_for(sizes).parts
    groups = bundles(parts, size, least)
    assert [part for group in groups for part in group] == list(parts)
    assert all(groups)
    for group in groups:
        assert sum(part.bytes for part in group[:-1]) < size
    if len(parts) >= least and len(set(sizes)) == 1 and sizes[0] > 0:
        assert len(groups) >= min(least, len(parts))


# --- skipping parts ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with anabranch.connect(tmp_path_factory.mktemp("plan") / "lake", durability="process") as lake:
        lake.create_database("d")
        make_tables(lake)
        yield lake


@pytest.mark.parametrize("name", ["d.a", "d.b"])
def test_skipped_parts_hold_no_wanted_row(lake, name):
    rng = random.Random(name)
    view = plan_of(lake, name).view
    table = read_table(plan_scan(view), ids=True)
    skipped = checked = 0
    for _ in range(400):
        where = Predicate(predicate(rng))
        try:
            wanted = table.filter(where.compiled(view.schema)(table))
        except ExpressionError:
            continue
        plan = plan_scan(view, None, where)
        assert set(by_slot(wanted.column("_row_id").to_numpy())) <= {part.slot for part in plan.parts}, where.text
        skipped += plan.skipped
        checked += 1
    assert checked > 200
    assert skipped > 200


def test_parts_are_skipped(lake):
    """Not only rightly, but at all: under a widened type, by a default's bound, by a partition."""
    total = len(plan_of(lake, "d.a").parts)
    cases = {
        "id = 3": 1,
        "id = 1000": 0,
        "w = 2147483648 AND id < 20": 0,
        "n < TIMESTAMP_NTZ '2020-01-02 00:00:00'": 1,
        "d > 2 AND d < 3 AND id < 30": 0,
    }
    for text, most in cases.items():
        plan = plan_scan(plan_of(lake, "d.a").view, None, Predicate(text))
        assert len(plan.parts) <= most + 1 < total, text  # one more: the part of updated rows


def test_dead_parts_are_skipped(lake):
    table = lake.create_table("d.dead", "a INT")
    table.write({"a": [1, 2]})
    table.write({"a": [3]})
    table.delete("a < 3")
    plan = plan_of(lake, "d.dead")
    assert (len(plan.parts), plan.skipped) == (1, 1)


def test_batches_are_the_table(lake):
    for name in ("d.a", "d.b"):
        plan = plan_scan(plan_of(lake, name).view, ["s", "id"], Predicate("w > 10 OR s IS NULL"))
        whole = read_table(plan, ids=True)
        pieces = list(read_batches(plan, ids=True))
        assert whole.column_names == ["s", "id", "_row_id", "_origin"]
        assert sum((rows(piece) for piece in pieces), rows(whole.slice(0, 0))) == rows(whole)
