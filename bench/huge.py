"""The same merge at a tenth of the rows, all of them, and ten times as many: 1, 10 and 100 million.

The lakes are narrow, made once, and kept in `bench/data/`; a run works on copies that link to their files.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import data
import numpy as np
import pyarrow as pa
from context import Context
from measure import Line, assert_no_spark, child, report, timed
from merge import CHANGED, fill

REPEAT = 15


def run(context: Context) -> Iterator[Line]:
    sizes = [context.rows // 10, context.rows, context.rows * 10]
    copies = []
    for rows in sizes:
        kept = data.CACHE / f"narrow-{rows}"
        if not kept.exists():
            context.say(f"writing {rows:,} narrow rows")
            child("huge", "build", kept, rows)
        copy = context.folder(f"narrow-{rows}")
        shutil.copytree(kept, copy, copy_function=_linked)
        copies.append(copy)
    found = child("huge", "measure", *copies, *sizes)
    how = f"median of {REPEAT}, in turns, with fsync, no JVM"
    what = "1,000 rows inserted on theirs, 1,000 updated on ours"
    merges = [merge for merge, _ in found]
    for rows, milliseconds in zip(sizes, merges, strict=True):
        yield Line(f"MERGE BRANCH, detect = file, {rows:,} narrow rows: {what}", milliseconds, 50.0, "ms", how)
    yield Line(f"the same, the slowest / the fastest of {len(sizes)} sizes", max(merges) / min(merges), 1.5, "×", how)
    merge, dry = found[-1]
    yield Line(f"DRY RUN / the merge, {sizes[-1]:,} narrow rows", dry / merge, 1.0, "×", how)


def _linked(source: str, target: str) -> None:
    """Parts are never changed, so a link is a copy; the catalog is not."""
    if source.endswith(".parquet"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def build(folder: Path, rows: int) -> dict[str, int]:
    import anabranch

    making = folder.with_name(f"making-{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    with anabranch.connect(making, durability="process") as lake:
        fill(lake, rows, "id a")
    making.rename(folder)
    return {"rows": rows}


def measure(folders: list[Path], sizes: list[int]) -> list[tuple[float, float]]:
    """For each size a merge, and its dry run, in milliseconds."""
    import anabranch

    lakes = [anabranch.connect(folder, create=False) for folder in folders]
    times: list[list[tuple[float, float]]] = [[] for _ in lakes]
    for number in range(-1, REPEAT):
        for lake, rows, found in zip(lakes, sizes, times, strict=True):
            ours, theirs = lake.create_branch(f"ours-{number}"), lake.create_branch(f"theirs-{number}")
            new = np.arange(rows, rows + CHANGED)
            theirs.table("d.t").write(pa.table({"id": new, "a": new}))
            ours.table("d.t").update({"a": "a + 1"}, f"id < {CHANGED}")
            merge = partial(ours.merge, theirs.branch, detect="file")
            dry = timed(partial(merge, dry_run=True))
            seconds = timed(merge)
            if number >= 0:  # the first one warms up
                found.append((1000 * seconds, 1000 * dry))
    assert_no_spark()
    return [(median(merge for merge, _ in found), median(dry for _, dry in found)) for found in times]


if __name__ == "__main__":
    if sys.argv[1] == "build":
        report(build(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        places, counts = sys.argv[2 : 2 + len(sys.argv[2:]) // 2], sys.argv[2 + len(sys.argv[2:]) // 2 :]
        report(measure(list(map(Path, places)), list(map(int, counts))))  # type: ignore[arg-type]
