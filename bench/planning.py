"""Planning: `lake.sql(SELECT …)` up to its schema, nothing executed, on a table of 10,000 parts of 1,000 rows.

First time: a new Lake, so nothing of the catalog is in memory; Spark itself is warm. Then the same query with another
literal, and the very same query again. `id < 5` leaves one part; without a condition all parts are planned.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import data
import numpy as np
from context import TABLE, Context
from measure import Line, Timing, child, report, timed

if TYPE_CHECKING:
    from anabranch import Lake

ROWS = 1000
PRUNED = "SELECT sum(v) FROM d.t WHERE id < {n}"
WHOLE = "SELECT sum(v + {n}) FROM d.t"
REPEAT = 5


def run(context: Context) -> Iterator[Line]:
    import anabranch

    folder, parts = context.folder("planning"), context.scaled(10_000)
    context.say(f"writing {parts:,} small parts")
    child("planning", folder, parts)
    _warm(context)
    for kind, query in (("that leaves one part", PRUNED), ("over all parts", WHOLE)):
        first, other, same = [], [], []
        for _ in range(REPEAT):
            with anabranch.connect(folder, spark=context.spark) as lake:
                first.append(_planned(lake, query.format(n=5)))
                other.append(_planned(lake, query.format(n=7)))
                same.append(_planned(lake, query.format(n=7)))
        what = f"planning a SELECT {kind}, {parts:,} parts"
        yield _line(f"{what}: first time", 0.5, first)
        yield _line(f"{what}: second time, another literal", 0.1, other)
        yield _line(f"{what}: second time, the same", 0.1, same)


def _planned(lake: Lake, text: str) -> float:
    return timed(lambda: _schema(lake, text))


def _schema(lake: Lake, text: str) -> object:
    return lake.sql(text).schema  # type: ignore[union-attr]  # a SELECT gives a DataFrame


def _warm(context: Context) -> None:
    """Spark's own classes and the two ways to read are loaded before the clock starts."""
    import anabranch

    folder = context.folder("planning-warm")
    child("planning", folder, 100)
    with anabranch.connect(folder, spark=context.spark) as lake:
        for query in (PRUNED, WHOLE):
            for n in range(3):
                _schema(lake, query.format(n=n))


def _line(what: str, limit: float, seconds: list[float]) -> Line:
    timing = Timing(tuple(seconds))
    return Line(what, timing.median, limit, "s", f"median of {len(timing)}, min {timing.min:.3f} s")


def main(folder: Path, parts: int) -> None:
    import anabranch

    lake = anabranch.connect(folder, durability="process")
    lake.create_database("d")
    table = lake.create_table(TABLE, data.SCHEMA)
    rows = data.rows(np.arange(parts * ROWS), 1)
    for part in range(parts):
        table.write(rows.slice(part * ROWS, ROWS))
    report({"parts": parts})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
