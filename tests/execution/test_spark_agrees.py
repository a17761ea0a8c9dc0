"""Spark's answer is the kernel's answer, for every kind of state and every way of reading it; row ids too."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.errors import PySparkException

import anabranch
from anabranch.execution import masks, spark_scan
from anabranch.execution.plan import plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import read_table
from anabranch.execution.spark_scan import scan_frame
from anabranch.execution.spark_types import from_spark
from anabranch.model.part import row_groups
from anabranch.options import Limits
from tests.execution.conftest import WAYS
from tests.execution.plans import plan_of, ways_of
from tests.execution.rows import rows
from tests.execution.states import STATES

pytestmark = pytest.mark.spark

# The largest parts of the state `mixed` are native, the smallest bundled, and both kinds have dead rows.
MIXED = Limits(local_scan=-1, small_part=4000, few_parts=0)
# Spark's vectorised reader cannot give these defaults, so kernels read the parts that lack the columns.
ALSO = {"added_nested_columns": {"bundled"}}
IDS = {
    "native": ["few_dead", "many_dead", "updated", "partitioned", "odd_names", "deep_branch", "restored", "mixed"],
    "bundled": ["few_dead", "updated"],
    "mixed": ["mixed"],
}


@pytest.fixture(scope="module")
def opened(spark, states_folder, sources):
    """The lake with given limits; equal limits give the same lake."""
    lakes = {}

    def with_limits(limits):
        if limits not in lakes:
            lakes[limits] = anabranch.connect(states_folder, spark=spark, limits=limits, create=False)
        return lakes[limits]

    yield with_limits
    for lake in lakes.values():
        lake.close()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_every_state_on_every_way(opened, sources, way, state):
    lake, source = opened(WAYS[way]), sources[state]
    plan = plan_of(lake, source)
    expected = read_table(plan)
    frame = lake.sql(f"SELECT * FROM {source}")
    assert ways_of(lake, source) <= ({"native", "masked", *ALSO.get(state, ())} if way == "native" else {way})
    assert frame.columns == expected.column_names
    assert [str(type_) for _, type_ in from_spark(frame.schema)] == [str(column.type) for column in plan.columns]
    assert rows(frame.toArrow()) == rows(expected)


@pytest.mark.parametrize(
    ("flat", "ways"), [(masks.FLAT_LIMIT, {"bundled", "masked"}), (-1, {"bundled", "native", "masked"})]
)
def test_all_ways_at_once(opened, sources, monkeypatch, flat, ways):
    monkeypatch.setattr(masks, "FLAT_LIMIT", flat)
    lake, source = opened(MIXED), sources["mixed"]
    assert ways_of(lake, source) == ways
    assert rows(lake.sql(f"SELECT * FROM {source}").toArrow()) == rows(lake.table(source).to_arrow())


@pytest.mark.parametrize(("way", "state"), [(way, state) for way, states in IDS.items() for state in states])
def test_row_ids(spark, opened, sources, way, state):
    limits = MIXED if way == "mixed" else WAYS[way]
    plan = plan_of(opened(limits), sources[state])
    assert rows(scan_frame(spark, plan, limits, ids=True).toArrow()) == rows(read_table(plan, ids=True))


@pytest.mark.parametrize("state", ["few_dead", "many_dead", "updated"])
def test_masks_in_chunks(spark, opened, sources, monkeypatch, state):
    monkeypatch.setattr(masks, "FLAT_LIMIT", -1)
    monkeypatch.setattr(masks, "CHUNK_BITS", 7)
    plan = plan_of(opened(WAYS["native"]), sources[state])
    frame = scan_frame(spark, plan, WAYS["native"], ids=True)
    assert rows(frame.toArrow()) == rows(read_table(plan, ids=True))


def test_masks_of_slots_far_apart(spark, opened, sources, monkeypatch):
    monkeypatch.setattr(masks, "SLOT_SPAN", 1)
    plan = plan_of(opened(WAYS["native"]), sources["many_dead"])
    frame = scan_frame(spark, plan, WAYS["native"], ids=True)
    assert rows(frame.toArrow()) == rows(read_table(plan, ids=True))


def test_a_reader_without_row_positions_is_an_error(spark, opened, sources, monkeypatch):
    monkeypatch.setattr(spark_scan, "ROW_INDEX", "_no_such_column")
    plan = plan_of(opened(WAYS["native"]), sources["few_dead"])
    with pytest.raises(PySparkException, match="does not fill _no_such_column"):
        scan_frame(spark, plan, WAYS["native"]).toArrow()


SIZES = (300_000, 140_000)
FILTERS = ("k = 131073", "k BETWEEN 131000 AND 262200 AND v < 0", "k > 299990", "v < 5 OR k IN (7, 262144)")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The view of a table with parts of several whole row groups."""
    folder = tmp_path_factory.mktemp("groups") / "lake"
    with anabranch.connect(folder, durability="process") as lake:
        lake.create_database("d")
        table = lake.create_table("d.t", "k INT, v BIGINT")
        first = 0
        for size in SIZES:
            keys = np.arange(first, first + size)
            table.write({"k": keys.astype(np.int32), "v": keys * 7919 % 440_009})  # in no order, lest files be tiny
            first += size
        table.delete("k % 200 = 0")
        table.update({"v": "-v"}, "k BETWEEN 131070 AND 131074 OR k > 430000")
        table.delete("k BETWEEN 140000 AND 200000")
        return plan_of(lake, "d.t").view


@pytest.fixture
def in_splits(conf):
    """Files are read in several tasks each."""
    conf("spark.sql.files.maxPartitionBytes", "300000")
    conf("spark.sql.files.openCostInBytes", "0")


@pytest.mark.parametrize("chunked", [False, True], ids=["flat", "chunked"])
@pytest.mark.usefixtures("in_splits")
def test_row_ids_over_row_groups_and_splits(spark, large, monkeypatch, chunked):
    if chunked:
        monkeypatch.setattr(masks, "FLAT_LIMIT", -1)
    plan = plan_scan(large)
    assert max(len(row_groups(part)) for part in plan.parts) == 3
    frame = scan_frame(spark, plan, WAYS["native"], ids=True)
    assert frame.rdd.getNumPartitions() > len(plan.parts)
    assert frame.toArrow().sort_by("_row_id").equals(read_table(plan, ids=True).sort_by("_row_id"))


@pytest.mark.parametrize("condition", FILTERS)
@pytest.mark.usefixtures("in_splits")
def test_row_ids_under_pushed_filters(spark, large, condition):
    found = scan_frame(spark, plan_scan(large), WAYS["native"], ids=True).where(condition).toArrow()
    expected = read_table(plan_scan(large, None, Predicate(condition)), ids=True)
    assert expected.num_rows > 0
    assert found.sort_by("_row_id").equals(expected.sort_by("_row_id"))
