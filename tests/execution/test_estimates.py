"""What Spark says about the size of a frame."""

import pytest

from anabranch.execution.estimates import estimated_bytes, size_said

SAID = {
    "Relation [id#1L] parquet, Statistics(sizeInBytes=3.5 MiB)": 3.5 * (1 << 20),
    "LocalRelation [a#1], Statistics(sizeInBytes=12.0 B, rowCount=3)": 12,
    "LogicalRDD [a#1], Statistics(sizeInBytes=8.0 EiB)": 8 * (1 << 60),
    "Join Cross, Statistics(sizeInBytes=1.23E+21 B)": 1.23e21,
    "Project, Statistics(sizeInBytes=2.0 KiB)\n+- Relation, Statistics(sizeInBytes=9.0 GiB)": 2048,
    "== Physical Plan ==": None,
}


@pytest.mark.parametrize(("plan", "size"), SAID.items())
def test_the_size_of_the_topmost_node(plan, size):
    assert size_said(plan) == size


@pytest.mark.spark
def test_sizes_err_upward(spark):
    small = spark.range(1000)
    assert estimated_bytes(small) == pytest.approx(8000, rel=0.05), "8 bytes a row"
    assert estimated_bytes(small.where("id < 3")) >= 7900
    assert estimated_bytes(small.crossJoin(spark.range(1000))) > 8_000_000
