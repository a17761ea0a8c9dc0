"""Spark knows how large a scan is: what is small is broadcast; what is large never is, though it starts as a range."""

from __future__ import annotations

import contextlib
import io
import random

import pyarrow as pa
import pytest

from anabranch.execution import masks
from tests.execution.conftest import WAYS

pytestmark = pytest.mark.spark


def plan_text(frame, mode="simple"):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        frame.explain(mode=mode)
    return out.getvalue()


@pytest.fixture
def lake(new_lake):
    lake = new_lake(WAYS["bundled"])
    for name, parts, rows in (("d.many", 40, 1000), ("d.few", 2, 5)):
        table = lake.create_table(name, "id BIGINT, s STRING")
        for part in range(parts):
            ids = pa.array(range(part * rows, (part + 1) * rows), pa.int64())
            table.write({"id": ids, "s": pa.array(["x"] * rows)})
    texts = pa.array([random.Random(row).randbytes(2500).hex() for row in range(300)])
    lake.create_table("d.wide", "id BIGINT, s STRING").write({"id": pa.array(range(300), pa.int64()), "s": texts})
    return lake


@pytest.mark.parametrize(("table", "broadcast"), [("d.many", False), ("d.wide", False), ("d.few", True)])
def test_large_bundles_are_not_broadcast(lake, conf, table, broadcast):
    """40,000 short rows and 300 rows of 5 kB against a limit of 500 kB: neither fits, by rows or by width."""
    conf("spark.sql.autoBroadcastJoinThreshold", "500000")
    other = lake.spark.range(10_000_000)
    text = plan_text(lake.sql(f"SELECT * FROM {table} AS m JOIN {{other}} AS o ON m.id = o.id", other=other))
    assert "MapInArrow" in text
    assert ("BroadcastHashJoin" in text) is broadcast


def test_every_row_comes_once_though_the_range_has_one_id_a_row(lake):
    found = lake.sql("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM d.many").collect()[0]
    assert tuple(found) == (40_000, 40_000, 0, 39_999)


def test_a_small_scan_is_a_local_relation(lake, new_lake):
    local = new_lake(WAYS["local"])
    text = plan_text(local.sql("SELECT * FROM d.few"), "extended")
    assert "LocalRelation" in text
    assert "MapInArrow" not in text
    wide = local.spark.range(10_000_000)
    assert "BroadcastHashJoin" in plan_text(
        local.sql("SELECT * FROM d.few AS m JOIN {wide} AS w ON m.id = w.id", wide=wide)
    )


@pytest.mark.parametrize("limit", [masks.FLAT_LIMIT, -1], ids=["flat", "chunked"])
def test_masks_never_shuffle_the_table(lake, new_lake, conf, monkeypatch, limit):
    """Whatever the user's limit: a mask is a constant of the scan, or its chunks are broadcast."""
    monkeypatch.setattr(masks, "FLAT_LIMIT", limit)
    conf("spark.sql.autoBroadcastJoinThreshold", "-1")
    lake.table("d.few").delete("id = 3")
    text = plan_text(new_lake(WAYS["native"]).sql("SELECT * FROM d.few"))
    assert ("BroadcastHashJoin" in text) is (limit < 0)
    assert "SortMergeJoin" not in text
