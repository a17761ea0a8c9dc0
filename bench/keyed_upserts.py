"""Upserts of 1,000 random keys into a keyed table, one commit each, without Spark; prints their times as JSON."""

from __future__ import annotations

import sys
import time

import data
import numpy as np
from measure import assert_no_spark, report

import anabranch


def main(folder: str, rows: int, count: int, durability: str) -> None:
    lake = anabranch.connect(folder, durability=durability)
    lake.sql("CREATE DATABASE d")
    lake.sql(f"CREATE TABLE d.t ({data.SCHEMA}, PRIMARY KEY (id))")
    table = lake.table("d.t")
    chance = np.random.default_rng(1)
    step = 1_250_000
    loaded = 0
    for first in range(0, rows, step):
        table.write(data.rows(np.arange(first, min(first + step, rows)), loaded))
        loaded += 1
    batches = [data.rows(np.unique(chance.integers(0, rows, 1000)), 100 + turn) for turn in range(50)]
    samples = []
    for turn in range(count):
        batch = batches[turn % len(batches)]
        start = time.perf_counter()
        table.write(batch)
        samples.append(time.perf_counter() - start)
    assert_no_spark()
    ordered = np.array(samples) * 1000
    lake.close()
    median, p99 = float(np.median(ordered)), float(np.percentile(ordered, 99))
    report({"count": count, "median_ms": median, "p99_ms": p99, "loaded": loaded})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
