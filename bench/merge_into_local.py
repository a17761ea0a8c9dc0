"""MERGE INTO without Spark, one commit each; prints times, or the parts that were read, as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import data
import numpy as np
from measure import assert_no_spark, report, timed

import anabranch
from merge_into import source_rows

REPEAT, PART, PARTS = 15, 1_250_000, 100


def local_rows(folder: str, rows: int, count: int) -> dict[str, float]:
    """A keyed table; every MERGE on a branch of its own, of other rows."""
    lake = anabranch.connect(folder)
    lake.sql("CREATE DATABASE d")
    lake.sql(f"CREATE TABLE d.t ({data.SCHEMA}, PRIMARY KEY (id))")
    for number, first in enumerate(range(0, rows, PART)):
        lake.table("d.t").write(data.rows(np.arange(first, min(first + PART, rows)), number))
    source = source_rows(rows, count)

    def upsert(table: Any) -> Any:
        return table.merge(source, on=["id"]).when_matched().update("*").when_not_matched().insert("*")

    def conditional(table: Any) -> Any:
        return table.merge(source, on=["id"]).when_matched("s.q > t.q").update("*")

    found = {"count": REPEAT}
    for first, name, merge in (("first", "upsert", upsert), ("first conditional", "conditional", conditional)):
        times = _times(lake, name, merge)
        found |= {first: times[0], name: median(times[1:])}
    assert_no_spark()
    lake.close()
    return found


def _times(lake: Any, name: str, merge: Callable[[Any], Any]) -> list[float]:
    tables = [lake.create_branch(f"{name}-{turn}").table("d.t") for turn in range(REPEAT + 1)]
    return [timed(lambda table=table: merge(table).execute()) for table in tables]


def one_row(folder: str, rows: int) -> dict[str, int]:
    """All parts but the one with the row are taken away, so that only who leaves them alone can go on."""
    lake = anabranch.connect(folder)
    lake.sql("CREATE DATABASE d")
    table = lake.create_table("d.t", data.SCHEMA)
    paths: list[Path] = []
    for part in range(PARTS):
        table.write(data.rows(np.arange(part * rows // PARTS, (part + 1) * rows // PARTS), part))
        paths += [path for path in Path(folder).glob("data/*/slot=*/*.parquet") if path not in paths]
    for path in paths[: PARTS // 2] + paths[PARTS // 2 + 1 :]:
        path.unlink()
    wanted = data.rows(np.array([rows // 2 + rows // PARTS // 2]), 1)
    merged = table.merge(wanted, on=["id"]).when_matched().update("*").when_not_matched().insert("*").execute()[0]
    if merged["rows_updated"] != 1:
        raise AssertionError(f"one row should be updated: {merged}")
    assert_no_spark()
    lake.close()
    return {"read": merged["parts_read"], "of": len(paths)}


if __name__ == "__main__":
    if sys.argv[1] == "rows":
        report(local_rows(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        report(one_row(sys.argv[2], int(sys.argv[3])))
