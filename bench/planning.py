"""Planning: `lake.sql(SELECT …)` up to its schema, nothing executed, on a table of 10,000 parts of 1,000 rows.

First time: a new process, so nothing of this table is in any cache; Spark itself is warm. Then the same query with
another literal, and the very same query again. `id < 5` leaves one part; without a condition all parts are planned.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import data
import numpy as np
from context import TABLE, Context, start_spark
from measure import Line, Timing, child, report, timed

if TYPE_CHECKING:
    from anabranch import Lake

ROWS = 1000
PRUNED = "SELECT sum(v) FROM d.t WHERE id < {n}"
WHOLE = "SELECT sum(v + {n}) FROM d.t"
REPEAT = 3


def run(context: Context) -> Iterator[Line]:
    folder, warm, parts = context.folder("planning"), context.folder("planning-warm"), context.scaled(10_000)
    context.say(f"writing {parts:,} small parts")
    child("planning", "build", folder, parts)
    child("planning", "build", warm, 500)  # more than is read in one piece, so that bundles are warm too
    for kind, query in (("that leaves one part", PRUNED), ("over all parts", WHOLE)):
        context.say(f"planning a SELECT {kind}, {REPEAT} processes")
        found = [child("planning", "plan", folder, warm, query) for _ in range(REPEAT)]
        what = f"planning a SELECT {kind}, {parts:,} parts"
        yield _line(f"{what}: first time", 0.5, [times["first"] for times in found])
        yield _line(f"{what}: second time, another literal", 0.1, [times["other"] for times in found])
        yield _line(f"{what}: second time, the same", 0.1, [times["same"] for times in found])


def _line(what: str, limit: float, seconds: list[float]) -> Line:
    timing = Timing(tuple(seconds))
    return Line(what, timing.median, limit, "s", f"median of {len(timing)}, min {timing.min:.3f} s")


def build(folder: Path, parts: int) -> None:
    import anabranch

    lake = anabranch.connect(folder, durability="process")
    lake.create_database("d")
    table = lake.create_table(TABLE, data.SCHEMA)
    rows = data.rows(np.arange(parts * ROWS), 1)
    for part in range(parts):
        table.write(rows.slice(part * ROWS, ROWS))
    report({"parts": parts})


def plan(folder: Path, warm: Path, query: str) -> None:
    """Another lake loads Spark's classes and both ways to read; of the measured one nothing is known yet."""
    import anabranch

    spark = start_spark()
    with anabranch.connect(warm, spark=spark) as lake:
        for n in range(10):
            for text in (PRUNED, WHOLE):
                _schema(lake, text.format(n=n))
    with anabranch.connect(folder, spark=spark) as lake:
        numbers = {"first": 5, "other": 7, "same": 7}
        times = {name: timed(lambda n=n: _schema(lake, query.format(n=n))) for name, n in numbers.items()}  # type: ignore[misc]
    spark.stop()
    report(times)


def _schema(lake: Lake, text: str) -> object:
    return lake.sql(text).schema  # type: ignore[union-attr]  # a SELECT gives a DataFrame


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        plan(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
