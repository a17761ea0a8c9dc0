"""Upserts of frames: written by Spark, and compacted as any others."""

from contextlib import ExitStack

import pytest

from anabranch.execution import spark_keyed
from anabranch.execution.session import temporarily

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("one_task", [-1, 1 << 60])
def test_keyed_rows_are_the_same_in_one_task_and_in_ranges(new_lake, spark, monkeypatch, one_task):
    monkeypatch.setattr(spark_keyed, "ONE_TASK", one_task)
    lake = new_lake()
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
    assert len(parts) == (1 if one_task > 0 else 3)


def test_upserts_by_spark_are_compacted_too(new_lake, spark):
    lake = new_lake()
    lake.sql("CREATE TABLE d.t (id BIGINT, v INT, PRIMARY KEY (id))")
    for turn in range(12):
        rows = spark.range(turn, 20 + turn).selectExpr("id", f"{turn} AS v")
        lake.sql("INSERT INTO d.t SELECT * FROM {rows}", rows=rows)
    lake._session.shared.compactor.wait()
    view = lake._session.view(lake.table("d.t")._open())
    assert len(view.parts) < len(view.state.parts) == 12, "runs were merged in the background"
    found = dict(zip(*lake.table("d.t").to_arrow().to_pydict().values(), strict=True))
    assert found == {key: min(key, 11) for key in range(31)}
