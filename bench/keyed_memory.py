"""Eight overlapping runs of a keyed table: written by one process, merged by another, whose memory is watched."""

from __future__ import annotations

import sys

import data
import numpy as np
from measure import report

import anabranch

RUNS = 8


def write(folder: str, rows: int) -> None:
    lake = anabranch.connect(folder, durability="process")
    lake.sql("CREATE DATABASE d")
    more = "TBLPROPERTIES ('num-sorted-run.compaction-trigger' = '1000')"
    lake.sql(f"CREATE TABLE d.t ({data.SCHEMA}, PRIMARY KEY (id)) {more}")
    for run in range(RUNS):
        ids = np.arange(rows) * RUNS + np.random.default_rng(run).integers(0, RUNS, rows)
        lake.table("d.t").write(data.rows(ids, run))
    lake.close()


def merge(folder: str) -> None:
    with anabranch.connect(folder, durability="process") as lake:
        report({"parts": lake.optimize("d.t").collect()[0].parts_after})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write(sys.argv[1], int(sys.argv[2]))
        report({})
    else:
        merge(sys.argv[1])
