"""`Table.to_arrow()` against pyarrow's own read of the same files, in a process without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from context import LAKE, TABLE, Context, part_files
from measure import Line, Timing, assert_no_spark, child, in_turns, ratio, report


def run(context: Context) -> Iterator[Line]:
    _ = context.lake
    context.say("to_arrow")
    found = child("to_arrow", context.work / LAKE)
    ours, theirs = Timing(tuple(found["ours"])), Timing(tuple(found["theirs"]))
    yield ratio("to_arrow() / pyarrow's read of the same files", 1.2, ours, theirs)


def main(folder: Path) -> None:
    import pyarrow.parquet as pq

    import anabranch

    table = anabranch.connect(folder, create=False).table(TABLE)
    files = part_files(folder)
    if table.to_arrow().num_rows != pq.read_table(files, partitioning=None).num_rows:
        raise AssertionError("the two sides read different rows")
    times = in_turns(
        {"ours": table.to_arrow, "theirs": lambda: pq.read_table(files, partitioning=None)}, repeat=7, warm_up=1
    )
    assert_no_spark()
    report({name: timing.samples for name, timing in times.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
