"""What Spark says of a frame before it runs."""

import pytest

from anabranch.execution.estimates import plan_said, planned

SAID = {
    "Relation [id#1L] parquet, Statistics(sizeInBytes=3.5 MiB)": 3.5 * (1 << 20),
    "LocalRelation [a#1], Statistics(sizeInBytes=12.0 B, rowCount=3)": 12,
    "LogicalRDD [a#1], Statistics(sizeInBytes=8.0 EiB)": None,
    "Join Cross, Statistics(sizeInBytes=1.23E+12 B)": 1.23e12,
    "Project, Statistics(sizeInBytes=2.0 KiB)\n+- Relation, Statistics(sizeInBytes=9.0 GiB)": 2048,
    "== Physical Plan ==": None,
}


@pytest.mark.parametrize(("text", "size"), SAID.items())
def test_the_size_of_the_topmost_node(text, size):
    assert plan_said(text).bytes == size


@pytest.mark.spark
def test_sizes_err_upward(spark):
    small = spark.range(1000)
    assert planned(small).bytes == pytest.approx(8000, rel=0.05), "8 bytes a row"
    assert planned(small.where("id < 3")).bytes >= 7900
    assert planned(small.crossJoin(spark.range(1000))).bytes > 8_000_000


QUERIES = {
    "SELECT id + 1 AS id FROM range(9) WHERE id > 3": (True, False),
    "SELECT id FROM range(9) UNION ALL SELECT id FROM range(9)": (True, False),
    "SELECT id, count(*) FROM range(9) GROUP BY id": (False, False),
    "SELECT a.id FROM range(9) a JOIN range(9) b ON a.id = b.id": (False, False),
    "SELECT id FROM range(9) ORDER BY id": (False, True),
    "SELECT id + 1 AS id FROM (SELECT id FROM range(9) ORDER BY id % 3)": (False, True),
    "SELECT id FROM range(9) ORDER BY id % 3 LIMIT 5": (False, True),
    "SELECT id FROM range(9) SORT BY -id": (False, False),
    "SELECT a.id FROM (SELECT id FROM range(9) ORDER BY id LIMIT 3) a JOIN range(9) b ON a.id = b.id": (False, False),
}


@pytest.mark.spark
@pytest.mark.parametrize(("query", "said"), QUERIES.items())
def test_what_a_query_does(spark, query, said):
    plan = planned(spark.sql(query))
    assert (plan.is_cheap, plan.is_ordered) == said
