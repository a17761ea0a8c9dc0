"""Upserts of frames: written by Spark, and compacted as any others."""

import pytest

pytestmark = pytest.mark.spark


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
