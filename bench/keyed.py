"""Keyed tables: load, scans over delta runs, upserts with compaction beside them, lookups.

The rows are those of every subject, keyed by `id`, and come unsorted. A delta run holds random keys: half a million of
ten, in every part of the table. What scans are measured against is Spark's scan of plain Parquet: the same rows as
Spark's own range partitioning, sort and write leave them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import data
import numpy as np
import pyarrow as pa
from context import Context
from measure import Line, Timing, child, child_command, in_turns, peaks, ratio, timed
from scan import ALL

KEYED = f"{data.SCHEMA}, PRIMARY KEY (id)"
OFF = "'num-sorted-run.compaction-trigger' = '1000'"
RUNS, UPSERT, LOOKUPS = 4, 1000, 1000
PLAIN = "keyed-plain"


def run(context: Context) -> Iterator[Line]:
    import anabranch

    folder = context.folder("keyed")
    lake = anabranch.connect(folder, spark=context.spark)
    lake.sql("CREATE DATABASE d")
    yield from _load(context, lake)
    yield _very_first(context, lake)
    for engine in ("deduplicate", "partial-update"):
        yield from _scans(context, lake, engine)
    yield from _scans(context, lake, "partial-update", half=True)
    yield from _lookups(context, lake)
    lake.close()
    yield from _upserts(context)
    yield from _memory(context)


def create(lake: object, name: str, engine: str, *more: str) -> None:
    options = ", ".join([f"'merge-engine' = '{engine}'", *more])
    lake.sql(f"CREATE TABLE {name} ({KEYED}) TBLPROPERTIES ({options})")  # type: ignore[attr-defined]


def shuffled(context: Context) -> object:
    """The source with its rows out of order."""
    path = data.CACHE / f"shuffled-{context.rows}"
    if not (path / "_SUCCESS").exists():
        context.source.orderBy("q").write.mode("overwrite").parquet(str(path))
    return context.spark.read.parquet(str(path))


COMPUTED = ("id", "k", "v + 1 AS v", "q", "s")
"""A query that does more than read files: its rows are Spark's, and so are the shuffle and the sort."""


def _load(context: Context, lake: object) -> Iterator[Line]:
    plain = context.folder(PLAIN)
    names = iter(range(1000))

    def in_both_ways(what: str, source: object) -> Line:
        def ours() -> None:
            name = f"d.load{next(names)}"
            create(lake, name, "deduplicate", OFF)
            lake.sql(f"INSERT INTO {name} SELECT * FROM {{source}}", source=source)  # type: ignore[attr-defined]

        def theirs() -> None:
            sorted_rows = source.repartitionByRange("id").sortWithinPartitions("id")  # type: ignore[attr-defined]
            sorted_rows.write.parquet(str(plain), mode="overwrite")

        times = in_turns({"ours": ours, "theirs": theirs}, repeat=4, warm_up=1, before=os.sync)
        return ratio(what, 1.1, times["ours"], times["theirs"])

    source = shuffled(context)
    yield in_both_ways("keyed load, unsorted / Spark's range partitioning, sort and write", source)
    computed = source.selectExpr(*COMPUTED)  # type: ignore[attr-defined]
    yield in_both_ways("keyed load of a query that computes a column / the same by Spark", computed)


def deltas(context: Context, run: int, rows: int, *, half: bool = False, of: int | None = None) -> pa.Table:
    """`half`: with half of the fields, as partial updates are; runs have one half and the other in turns. `of`: how
    many keys there are, if not as many as rows."""
    ids = np.unique(np.random.default_rng(run).integers(0, of or context.rows, rows))
    found = data.rows(ids, 100 + run)
    for name in (("k", "v"), ("q", "s"))[run % 2] if half else ():
        at = found.column_names.index(name)
        found = found.set_column(at, name, pa.nulls(len(found), found.column(at).type))
    return found


def _very_first(context: Context, lake: object) -> Line:
    """A scan with delta runs in a JVM that has never seen one: a tenth of the rows, and enough of it to compile."""
    create(lake, "d.small", "deduplicate", OFF)
    tenth = shuffled(context).where(f"id < {context.rows // 10}")  # type: ignore[attr-defined]
    lake.sql("INSERT INTO d.small SELECT * FROM {source}", source=tenth)  # type: ignore[attr-defined]
    for run_ in range(RUNS):
        lake.table("d.small").write(deltas(context, run_, context.rows // 200, of=context.rows // 10))  # type: ignore[attr-defined]
    times = [timed(lambda: lake.sql(ALL.format(t="d.small")).collect()) for _ in range(9)]  # type: ignore[attr-defined]
    how = f"{context.rows // 10:,} rows; {min(times):.2f} s in the end, {times[1]:.2f} s the second time"
    return Line(f"the very first scan with {RUNS} delta runs of a JVM", times[0], None, "s", how)


def _scans(context: Context, lake: object, engine: str, *, half: bool = False) -> Iterator[Line]:
    name = f"d.`{engine}{' half' if half else ''}`"
    create(lake, name, engine, OFF)
    lake.sql(f"INSERT INTO {name} SELECT * FROM {{source}}", source=shuffled(context))  # type: ignore[attr-defined]
    table = lake.table(name)  # type: ignore[attr-defined]
    plain = context.spark.read.parquet(str(context.work / PLAIN))

    def theirs() -> object:
        return context.spark.sql(ALL, t=plain).collect()

    def ours() -> object:
        return lake.sql(ALL.format(t=name)).collect()  # type: ignore[attr-defined]

    times = in_turns({"ours": ours, "theirs": theirs}, repeat=7, warm_up=2)
    if engine == "deduplicate":
        yield ratio("keyed scan after load / Spark's scan of plain Parquet", 1.05, times["ours"], times["theirs"])
    for run_ in range(RUNS):
        table.write(deltas(context, run_, context.rows // 20, half=half))
    once = timed(ours)
    sides = {"ours": ours, "theirs": theirs, "anew": lambda: _anew(context, name)}
    times = in_turns(sides, repeat=7, warm_up=1)
    limits = (1.6, 1.3) if engine == "deduplicate" else (2.6, 1.35)
    what = f"scan with {RUNS} delta runs, {engine}{' of half the fields' if half else ''}"
    yield ratio(f"{what}, the first time of a connection / plain", limits[0], times["anew"], times["theirs"])
    yield ratio(f"{what}, after that / plain", limits[1], times["ours"], times["theirs"])
    how = f"{once:.2f} s, once / {times['theirs'].min:.2f} s, min of {len(times['theirs'])}"
    yield Line(
        f"{what}, the first one ever, right after the writes / plain", once / times["theirs"].min, limits[0], "×", how
    )
    if engine == "partial-update":
        again = []
        for run_ in range(99, 102):
            table.write(deltas(context, run_, UPSERT, half=half))
            again.append(timed(ours))
        yield ratio(f"{what}, after one more upsert / plain", 1.4, Timing(tuple(again)), times["theirs"])


def _anew(context: Context, name: str) -> None:
    """A scan that knows nothing of the keys yet, in a JVM that has compiled such scans before."""
    import anabranch

    with anabranch.connect(context.work / "keyed", spark=context.spark) as lake:
        lake.sql(ALL.format(t=name)).collect()


def _lookups(context: Context, lake: object) -> Iterator[Line]:
    table = lake.table("d.load0")  # type: ignore[attr-defined]
    chance = np.random.default_rng(5)
    kinds: dict[str, tuple[float, Callable[[], np.ndarray]]] = {
        "at random": (1.0, lambda: chance.integers(0, context.rows, LOOKUPS)),
        "in 1 % of the range": (0.06, lambda: context.rows // 3 + chance.integers(0, context.rows // 100, LOOKUPS)),
    }
    for kind, (limit, keys) in kinds.items():
        samples = []
        for _ in range(9):
            wanted = pa.table({"id": keys()})
            samples.append(timed(lambda wanted=wanted: table.lookup(wanted)))  # type: ignore[misc]
        times = Timing(tuple(samples[2:]))
        how = f"median of {len(times)}, min {times.min:.3f} s; no JVM at work"
        yield Line(f"lookup of {LOOKUPS:,} keys, {kind}", times.median, limit, "s", how)


def _upserts(context: Context) -> Iterator[Line]:
    """1,000 upserts in a process without Spark, on a table that it loads itself; then a scan."""
    for durability, limit in (("process", 10.0), ("disk", 25.0)):
        folder = context.folder(f"keyed-upserts-{durability}")
        found = child("keyed_upserts", folder, context.rows, context.scaled(1000), durability)
        named = "with fsync" if durability == "disk" else "without fsync"
        how = f"median of {found['count']}; compaction beside it"
        yield Line(f"keyed upsert of 1,000 rows and commit, {named}", found["median_ms"], limit, "ms", how)
        yield Line(f"the same, 99th percentile, {named}", found["p99_ms"], 200.0, "ms", how)
    import anabranch

    lake = anabranch.connect(folder, spark=context.spark)
    plain = context.spark.read.parquet(str(context.work / PLAIN))
    times = in_turns(
        {
            "ours": lambda: lake.sql(ALL.format(t="d.t")).collect(),
            "theirs": lambda: context.spark.sql(ALL, t=plain).collect(),
        },
        repeat=7,
        warm_up=2,
    )
    yield ratio("keyed scan right after those upserts / plain", 1.3, times["ours"], times["theirs"])
    lake.close()


def _memory(context: Context) -> Iterator[Line]:
    folder, rows = context.folder("keyed-memory"), context.scaled(2_000_000, 10_000)
    child("keyed_memory", folder, rows)
    peak, _, _ = peaks(child_command("keyed_memory", folder))
    yield Line("peak RSS of merging 8 runs in one kernel", peak, 600, "MB", f"{rows:,} rows each, the whole process")
