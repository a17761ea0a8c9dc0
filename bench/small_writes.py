"""Small writes: 1,000 Arrow rows and a commit, 1,000 times, on SQLite, in a process without Spark.

The first 100 against the last 100 shows whether a write costs more as the table's history grows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import data
import numpy as np
from context import TABLE, Context
from measure import Line, assert_no_spark, child, report, timed

ROWS, EDGE = 1000, 100
LIMITS = {"process": ("without fsync", 8.0), "disk": ("with fsync", 20.0)}


def run(context: Context) -> Iterator[Line]:
    for durability, (label, limit) in LIMITS.items():
        context.say(f"small writes, {label}")
        found = child("small_writes", context.folder(f"small-{durability}"), durability, context.scaled(1000, 300))
        how = f"median of {found['count']}; 99th percentile {found['p99']:.1f} ms"
        yield Line(f"write of 1,000 Arrow rows and commit, {label}", found["median"], limit, "ms", how)
        how = f"medians of {EDGE}: {found['last']:.2f} ms / {found['first']:.2f} ms"
        yield Line(f"the same, last 100 writes / first 100, {label}", found["last"] / found["first"], 1.5, "×", how)


def main(folder: Path, durability: str, count: int) -> None:
    import anabranch

    lake = anabranch.connect(folder, durability=durability)
    lake.create_database("d")
    warm, table = lake.create_table("d.warm", data.SCHEMA), lake.create_table(TABLE, data.SCHEMA)
    batches = [data.rows(np.arange(i * ROWS, (i + 1) * ROWS), i) for i in range(count)]
    for batch in batches[:20]:
        warm.write(batch)
    times = [1000 * timed(lambda batch=batch: table.write(batch)) for batch in batches]  # type: ignore[misc]
    assert_no_spark()
    if table.count() != count * ROWS:
        raise AssertionError("rows were lost")
    report(
        {
            "count": count,
            "median": statistics.median(times),
            "p99": float(np.percentile(times, 99)),
            "first": statistics.median(times[:EDGE]),
            "last": statistics.median(times[-EDGE:]),
        }
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
