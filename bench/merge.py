"""MERGE BRANCH and DIFF without Spark: the cost follows the change, not the table."""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from context import Context
from measure import Line, assert_no_spark, child, report

REPEAT = 15
MERGES = 9
FEW = 10
CHANGED = 1_000
PART = 1_250_000
STRIDE = 7919  # a prime
KINDS = ("", " dry")
"""A merge and a dry run, each of its own branches: of the same ones the second finds in memory what the first read."""


def run(context: Context) -> Iterator[Line]:
    sizes = [context.rows // 10, context.rows]
    context.say(f"merging in {sizes[0]:,} and {sizes[1]:,} rows")
    found = child("merge", "rows", context.folder("merge-rows"), context.rows)
    small, large = found["small"], found["large"]
    how = f"median of {REPEAT}, both sizes in turns, with fsync, no JVM"
    for mode, what, limit in (
        ("file", "1,000 rows inserted on theirs, 1,000 updated on ours", 50.0),
        ("row", "1,000 rows updated on each side, in the same parts", 150.0),
        ("cell", "1,000 rows updated on each side, in the same parts", 150.0),
    ):
        for rows, times in zip(sizes, (small, large), strict=True):
            yield Line(f"MERGE BRANCH, detect = {mode}, {rows:,} rows: {what}", times[mode], limit, "ms", how)
        ratio = large[mode] / small[mode]
        yield Line(f"the same, {sizes[1]:,} rows / {sizes[0]:,} rows, {mode}", ratio, 1.5, "×", how)
        dry = large[f"{mode} dry"] / large[mode]
        yield Line(f"DRY RUN / the merge, {mode}", dry, 1.0, "×", how)
    yield Line(f"DIFF of 1,000 changed rows in {sizes[1]:,}, with their values", large["diff"], 200.0, "ms", how)
    yield from _scattered(context)
    tables = context.scaled(1_000)
    context.say(f"merging {tables:,} tables")
    times = child("merge", "tables", context.folder("merge-tables"), tables)
    how = f"median of {MERGES}, each on a fresh connection, with fsync"
    for sides, what in (("theirs", "with one small change each"), ("both", "changed on both sides")):
        yield Line(f"merge of {tables:,} tables {what}", times[sides], 1.0, "s", how)
        yield Line(
            f"DRY RUN / the merge, {tables:,} tables {what}", times[f"{sides} dry"] / times[sides], 1.0, "×", how
        )


def _scattered(context: Context) -> Iterator[Line]:
    """Rows all over the table, so that every row group holds some of them."""
    rows = context.rows
    context.say(f"scattered rows in {rows:,}")
    times = child("merge", "scattered", context.folder("merge-scattered"), rows)
    how = f"median of {FEW}, no JVM"
    everywhere = f"scattered over {rows:,}"
    for name, what, limit in (
        ("row", f"MERGE BRANCH, detect = row: 1,000 rows updated on each side, interleaved, {everywhere}", 150.0),
        ("cell", f"MERGE BRANCH, detect = cell: 1,000 rows updated on each side, interleaved, {everywhere}", 150.0),
        ("same rows", f"MERGE BRANCH, detect = cell: the same 1,000 rows, other columns, {everywhere}", 150.0),
        ("same cells", f"MERGE BRANCH, detect = cell: the same 1,000 cells, to equal values, {everywhere}", None),
        ("diff", f"DIFF of 1,000 updated rows, {everywhere}, with their values", 200.0),
        ("diff deleted", f"DIFF of 1,000 deleted rows, {everywhere}, with their values", 200.0),
    ):
        yield Line(what, times[name], limit, "ms", how)
        if f"{name} dry" in times:
            ratio = times[f"{name} dry, least"] / times[f"{name}, least"]
            fastest = f"the fastest of {FEW}, in turns, no JVM"
            yield Line(f"DRY RUN / the merge, {name}, scattered", ratio, 1.0, "×", fastest)


def fill(lake: Any, rows: int, columns: str = "id a b") -> None:
    """Parts of 1.25 million rows, whatever the number of rows. Only `id` grows; the others hold the same numbers, in
    another order."""
    names = columns.split()
    lake.create_database("d")
    table = lake.create_table("d.t", ", ".join(f"{name} BIGINT" for name in names))
    for first in range(0, rows, PART):
        ids = np.arange(first, min(first + PART, rows))
        table.write(pa.table({name: ids if name == "id" else ids * STRIDE % rows for name in names}))


def measure_rows(folder: Path, rows: int) -> dict[str, dict[str, float]]:
    """A tenth of the rows and all of them, in turns."""
    import anabranch

    sizes = {"small": rows // 10, "large": rows}
    lakes = {size: anabranch.connect(folder / size) for size in sizes}
    times: dict[str, dict[str, list[float]]] = {size: {} for size in sizes}
    for size, lake in lakes.items():
        fill(lake, sizes[size])
    for number in range(REPEAT):
        for mode in ("file", "row", "cell"):
            for size, lake in lakes.items():
                _measure_merge(lake, sizes[size], mode, number, times[size])
        for size, lake in lakes.items():
            changed = lake.create_branch(f"diff-{number}")
            changed.table("d.t").update({"a": "a + 1"}, f"id < {CHANGED}")
            _timed(times[size], "diff", lambda b=changed, on=lake: on.diff("main", b.branch, table="d.t"))
    assert_no_spark()
    return {size: {name: 1000 * median(each) for name, each in found.items()} for size, found in times.items()}


def _measure_merge(lake: Any, rows: int, mode: str, number: int, times: dict[str, list[float]]) -> None:
    for kind in _in_turns(KINDS, number):
        ours, theirs = (lake.create_branch(f"{mode}{kind}-{side}{number}") for side in "ot")
        if mode == "file":
            new = np.arange(rows, rows + CHANGED)
            theirs.table("d.t").write(pa.table({"id": new, "a": new, "b": new}))
            ours.table("d.t").update({"a": "a + 1"}, f"id < {CHANGED}")
        else:
            theirs.table("d.t").update({"a": "a + 1"}, f"id < {2 * CHANGED} AND id % 2 = 0")
            ours.table("d.t").update({"b": "b + 1"}, f"id < {2 * CHANGED} AND id % 2 = 1")
        _timed(times, f"{mode}{kind}", partial(ours.merge, theirs.branch, detect=mode, dry_run=bool(kind)))


def _in_turns(kinds: Sequence[str], number: int) -> Iterable[str]:
    return kinds if number % 2 else reversed(kinds)


def measure_scattered(folder: Path, rows: int) -> dict[str, float]:
    import anabranch
    from anabranch.options import Limits

    # Finding the rows is not what is measured, so it may read the whole table in this process.
    lake = anabranch.connect(folder, limits=Limits(local_work=1 << 40))
    fill(lake, rows)
    times: dict[str, list[float]] = {}

    def some(remainder: int) -> str:
        """A thousand rows, evenly all over the table."""
        return f"id * {STRIDE} % {rows // CHANGED} = {remainder}"

    numbers = itertools.count()

    def merged(name: str, detect: str, ours: tuple[str, int], theirs: tuple[str, int], turn: int) -> None:
        for kind in _in_turns(KINDS, turn):
            number = next(numbers)
            sides = [lake.create_branch(f"ours-{number}"), lake.create_branch(f"theirs-{number}")]
            for side, (column, remainder) in zip(sides, (ours, theirs), strict=True):
                if side.table("d.t").update({column: f"{column} + 1"}, some(remainder)) != CHANGED:
                    raise AssertionError("the rows were meant to be a thousand")
            merge = partial(sides[0].merge, sides[1].branch, detect=detect, dry_run=bool(kind))
            _timed(times, f"{name}{kind}", merge)

    for number in range(FEW):
        merged("row", "row", ("b", number), ("a", number + 1), number)
        merged("cell", "cell", ("b", number), ("a", number + 1), number)
        merged("same rows", "cell", ("b", number), ("a", number), number)
        merged("same cells", "cell", ("a", number), ("a", number), number)
        updated, deleted = lake.create_branch(f"updated-{number}"), lake.create_branch(f"deleted-{number}")
        updated.table("d.t").update({"a": "a + 1"}, some(number))
        deleted.table("d.t").delete(some(number))
        _timed(times, "diff", lambda b=updated: lake.diff("main", b.branch, table="d.t"))
        _timed(times, "diff deleted", lambda b=deleted: lake.diff("main", b.branch, table="d.t"))
    assert_no_spark()
    least = {f"{name}, least": 1000 * min(found) for name, found in times.items()}
    return {name: 1000 * median(found) for name, found in times.items()} | least


def measure_tables(folder: Path, tables: int) -> dict[str, float]:
    """Seconds of merges into branches that are as `main` was, and as `ours` is; a connection remembers what it read."""
    import anabranch

    lake = anabranch.connect(folder, durability="process")
    lake.create_database("d")
    for number in range(tables):
        lake.create_table(f"d.t{number}", "id BIGINT").write({"id": [1]})
    dev, ours = lake.create_branch("dev"), lake.create_branch("ours")
    for number in range(tables):
        dev.table(f"d.t{number}").write({"id": [2]})
        ours.table(f"d.t{number}").write({"id": [3]})
    starts = {"theirs": "main", "both": "ours"}
    kinds = [(f"{sides}{kind}", start) for sides, start in starts.items() for kind in KINDS]
    for number in range(MERGES):
        for name, start in kinds:
            lake.create_branch(f"{name} {number}", start)
    lake.close()
    times: dict[str, list[float]] = {}
    for number in range(MERGES):
        for name, _ in kinds if number % 2 else reversed(kinds):  # who comes first finds memory and files cold
            with anabranch.connect(folder) as lake:
                into, dry = lake.on(f"{name} {number}"), name.endswith("dry")
                gc.collect()  # what the last one left is not this one's to clear away
                _timed(times, name, lambda b=into, d=dry: b.merge("dev", dry_run=d))
    return {name: median(found) for name, found in times.items()}


def _timed(times: dict[str, list[float]], name: str, work: Any) -> None:
    started = time.perf_counter()
    work()
    times.setdefault(name, []).append(time.perf_counter() - started)


if __name__ == "__main__":
    measures = {"rows": measure_rows, "scattered": measure_scattered, "tables": measure_tables}
    report(measures[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))
