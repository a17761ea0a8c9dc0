"""Upserts of frames: written by Spark, and compacted as any others."""

from contextlib import ExitStack

import pytest

from anabranch.errors import NullViolation
from anabranch.execution import spark_keyed, spread
from anabranch.execution.session import temporarily
from anabranch.options import Limits

pytestmark = pytest.mark.spark
BY_A_JOB = Limits(local_insert=-1)


@pytest.mark.parametrize(("limits", "tasks"), [({}, 1), ({"_A_RANGE": 10_000}, 4), ({"_MOST_RANGES": 0}, 3)])
def test_keyed_rows_are_the_same_in_one_task_and_in_ranges(new_lake, spark, monkeypatch, limits, tasks):
    """By one task, by ranges of a sample, by ranges that Spark finds."""
    for name, value in {**limits, **({"ONE_TASK": -1} if limits else {})}.items():
        monkeypatch.setattr(spread, name, value)
    lake = new_lake(limits=BY_A_JOB)
    settings = {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
    lake.sql("CREATE TABLE d.t (id BIGINT, v BIGINT, PRIMARY KEY (id))")
    source = spark.range(0, 3000, 1, 4).selectExpr("1499 - id % 1500 AS id", "(1499 - id % 1500) * 7 AS v")
    with ExitStack() as stack:
        for name, value in settings.items():
            stack.enter_context(temporarily(spark, name, value))
        lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    found = lake.table("d.t").to_arrow().sort_by("id")
    assert found.column("id").to_pylist() == list(range(1500)), "each key once, though each came twice"
    assert found.column("v").to_pylist() == [7 * key for key in range(1500)]
    parts = lake._session.view(lake.table("d.t")._open()).parts
    assert len(parts) == tasks


def test_few_rows_are_written_here(new_lake, spark, monkeypatch):
    monkeypatch.setattr(spark_keyed, "upsert_frame", None)
    lake = new_lake()
    lake.sql("CREATE TABLE d.t (id BIGINT, v DOUBLE, at TIMESTAMP, PRIMARY KEY (id))")
    source = spark.range(0, 30, 1, 3).selectExpr("9 - id % 10 AS x", "id AS x", "timestamp_seconds(id) AS x")
    assert lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source).collect()[0].rows_inserted == 30
    found = lake.table("d.t").to_arrow().sort_by("id")
    assert found.column("id").to_pylist() == list(range(10)), "each key once, though each came three times"
    assert found.column("v").to_pylist() == [29.0 - key for key in range(10)], "and the last one stays"
    assert [at.timestamp() for at in found.column("at").to_pylist()] == found.column("v").to_pylist()
    with pytest.raises(NullViolation, match="'id'"):
        lake.sql("INSERT INTO d.t SELECT nullif(id, 3), 1, NULL FROM range(5)")
    assert lake.table("d.t").count() == 10


@pytest.mark.parametrize(("most", "writer"), [(1 << 20, "this process: Spark takes the rows to be few"), (8, None)])
def test_explain_says_who_writes(new_lake, most, writer):
    lake = new_lake(limits=Limits(local_insert=most))
    lake.sql("CREATE TABLE d.t (id BIGINT, PRIMARY KEY (id))")
    told = lake.sql("EXPLAIN EXTENDED INSERT INTO d.t SELECT id FROM range(3)").collect()
    assert [row[6] for row in told if row[1] == "write"] == [writer or "Spark's own writer"]


@pytest.mark.parametrize("limits", [Limits(), BY_A_JOB])
def test_upserts_by_spark_are_compacted_too(new_lake, spark, limits):
    lake = new_lake(limits=limits)
    lake.sql("CREATE TABLE d.t (id BIGINT, v INT, PRIMARY KEY (id))")
    for turn in range(12):
        rows = spark.range(turn, 20 + turn).selectExpr("id", f"{turn} AS v")
        lake.sql("INSERT INTO d.t SELECT * FROM {rows}", rows=rows)
    lake._session.shared.compactor.wait()
    view = lake._session.view(lake.table("d.t")._open())
    assert len(view.parts) < len(view.state.parts) == 12, "runs were merged in the background"
    found = dict(zip(*lake.table("d.t").to_arrow().to_pydict().values(), strict=True))
    assert found == {key: min(key, 11) for key in range(31)}


@pytest.mark.parametrize("limits", [Limits(), BY_A_JOB])
@pytest.mark.parametrize("engine", ["deduplicate", "first-row", "partial-update"])
@pytest.mark.parametrize("key_type", ["BIGINT", "STRING"])
def test_of_one_key_the_order_of_the_query_decides(new_lake, limits, engine, key_type):
    """Written here, by Spark's own writer, and by kernels, which convert the key."""
    lake = new_lake(limits=limits)
    lake.sql(f"CREATE TABLE d.t (k {key_type}, v INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine' = '{engine}')")
    lake.sql("INSERT INTO d.t SELECT id % 100, hash(id) FROM range(0, 2000, 1, 8) ORDER BY hash(id)")
    found = dict(zip(*lake.table("d.t").to_arrow().to_pydict().values(), strict=True))
    hashes = lake.sql("SELECT id % 100, min(hash(id)), max(hash(id)) FROM range(2000) GROUP BY 1").collect()
    kept = 1 if engine == "first-row" else 2
    assert found == {str(row[0]) if key_type == "STRING" else row[0]: row[kept] for row in hashes}
