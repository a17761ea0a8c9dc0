"""Reading a table on a branch that is 20 branches deep, against main with the same rows.

Every level appends 100 rows, and so does main, as often: both ends have the same number of rows and parts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import data
import numpy as np
import pyarrow.parquet as pq
from context import TABLE, Context
from measure import Line, Timing, assert_no_spark, child, in_turns, ratio, report

DEPTH, ROWS = 20, 100
DEEP = f"level{DEPTH}"
QUERY = f"SELECT count(*), sum(id), sum(k), sum(v), sum(q), sum(length(s)) FROM {TABLE}"


def run(context: Context) -> Iterator[Line]:
    import anabranch

    folder = context.folder("depth")
    context.say(f"{DEPTH} branches, one on the other")
    found = child("depth", folder, context.rows)
    deep, main = Timing(tuple(found["deep"])), Timing(tuple(found["main"]))
    yield ratio(f"to_arrow() on a branch {DEPTH} deep / on main", 1.1, deep, main)
    lake = anabranch.connect(folder, spark=context.spark, create=False)
    sides = {"deep": lake.on(DEEP), "main": lake.on("main")}
    if sides["deep"].sql(QUERY).collect()[0][0] != sides["main"].sql(QUERY).collect()[0][0]:
        raise AssertionError("the two sides read different rows")
    times = in_turns({name: lambda on=on: on.sql(QUERY).collect() for name, on in sides.items()}, repeat=9, warm_up=2)
    yield ratio(f"scan by Spark on a branch {DEPTH} deep / on main", 1.1, times["deep"], times["main"])


def main(folder: Path, rows: int) -> None:
    import anabranch

    lake = anabranch.connect(folder, durability="process")
    lake.create_database("d")
    table = lake.create_table(TABLE, data.SCHEMA)
    for path in sorted(Path(data.source(rows)).glob("*.parquet")):
        table.write(pq.read_table(path))
    on = lake
    for level in range(1, DEPTH + 1):
        on = on.create_branch(f"level{level}")
        more = data.rows(np.arange(ROWS), level)
        on.table(TABLE).write(more)
        table.write(more)
    deep = lake.on(DEEP).table(TABLE)
    if deep.to_arrow().num_rows != table.to_arrow().num_rows:
        raise AssertionError("the two sides read different rows")
    times = in_turns({"deep": deep.to_arrow, "main": table.to_arrow}, repeat=7)
    assert_no_spark()
    report({name: timing.samples for name, timing in times.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
