"""MERGE INTO, against Delta, Iceberg and Paimon, and against what Spark needs to join the same two.

Half of the source's rows match at random, half are new. A peer is a Spark of its own, and the only one beside ours
while it is measured; both take turns, and every MERGE finds the table as it was loaded: ours on a branch of its own,
theirs brought back. A line tells ours beside the peer that was fastest at the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import data
import numpy as np
import peers
import pyarrow as pa
import pyarrow.parquet as pq
from context import Context
from measure import Line, Timing, child, in_turns, timed
from peers import ON_READ, ON_WRITE, Peer, Tables
from scan import ALL

from keyed import create

MERGE = (
    "MERGE INTO {t} AS t USING {s} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
COUNT = "SELECT /*+ BROADCAST(s) */ count(*) FROM {t} AS t JOIN {s} AS s ON t.id = s.id"
FEW, REPEAT, SCANS = 1_000, 3, 3
WAYS = {"dead rows": "d.dead", "copy-on-write": "d.written", "keyed": "d.keyed"}
"""Our ways and their tables."""
BESIDE = {ON_READ: ("dead rows", "keyed"), ON_WRITE: ("copy-on-write", "keyed")}
"""Which of them are compared with a peer's table of this mode."""
NAMES = {"dead rows": "dead rows", "copy-on-write": "copy-on-write", "keyed": "keyed upsert"}
MERGING = "MERGE INTO of {count:,} rows: "
"""What the lines begin with that have seconds of a MERGE; a plot looks for it."""


def run(context: Context) -> Iterator[Line]:
    ours = _Ours(context)
    yield ours.against_count()
    found = [one for peer in peers.PEERS for one in _session(context, ours, peer)]
    yield from _ratios(ours, found)
    yield from _local(context, found)
    yield _one_row(context)
    yield from _seconds(ours, found)
    ours.lake.close()


def source_rows(rows: int, count: int) -> pa.Table:
    """`count` rows in no order: half of them have an id below `rows`, the other half one that is new."""
    random = np.random.default_rng(count)
    old = random.choice(rows, count // 2, replace=False)
    ids = np.concatenate([old, np.arange(rows, rows + count - len(old))])
    return data.rows(random.permutation(ids), count)


class _Ours:
    """A table for each of our ways, a small one to warm up on, and the sources."""

    def __init__(self, context: Context) -> None:
        import anabranch

        self.context, self.many = context, context.rows // 100
        folder = context.folder("merge-into")
        self.lake = anabranch.connect(folder / "lake", spark=context.spark)
        self.sources = {count: folder / f"{count}.parquet" for count in (self.many, FEW)}
        for count, path in self.sources.items():
            pq.write_table(source_rows(context.rows, count), path)
        self.frames = {count: context.spark.read.parquet(str(path)) for count, path in self.sources.items()}
        self._on, self._branches = dict.fromkeys(WAYS, self.lake), 0
        self._load()
        for way in [*WAYS] * 2:
            self.merge(way, FEW, kind="_small")

    @property
    def small(self) -> int:
        return self.context.rows // 100

    def _load(self) -> None:
        self.context.say("loading the lake")
        self.lake.sql("CREATE DATABASE d")
        for kind, where in (("", ""), ("_small", f" WHERE id < {self.small}")):
            self.lake.create_table(f"d.dead{kind}", data.SCHEMA)
            self.lake.create_table(f"d.written{kind}", data.SCHEMA, properties={"merge.mode": "copy-on-write"})
            create(self.lake, f"d.keyed{kind}", "deduplicate")
            for name in WAYS.values():
                self.lake.sql(f"INSERT INTO {name}{kind} SELECT * FROM {{rows}}{where}", rows=self.context.source)

    def fresh(self, way: str) -> None:
        """The next MERGE finds the table as it was loaded; scans see what it did."""
        self._branches += 1
        self._on[way] = self.lake.create_branch(f"merge-{self._branches}")

    def merge(self, way: str, count: int, kind: str = "") -> None:
        text = MERGE.format(t=WAYS[way] + kind, s="{s}")
        self._on[way].sql(text, s=self.frames[count]).collect()

    def scan(self, way: str) -> list[Any]:
        return list(self._on[way].sql(ALL.format(t=WAYS[way])).collect()[0])

    def against_count(self) -> Line:
        spark = self.context.spark
        sides = {
            "ours": lambda: self.merge("dead rows", self.many),
            "count": lambda: spark.sql(COUNT, t=self.context.source, s=self.frames[self.many]).collect(),
        }
        ahead = {"ours": lambda: self.fresh("dead rows")}
        times = in_turns(sides, repeat=5, warm_up=2, before=os.sync, ahead=ahead)
        mine, count = times["ours"], times["count"]
        what = f"MERGE INTO of {self.many:,} rows, dead rows / Spark's broadcast join and count of the same two"
        return Line(what, mine.min / count.min, 2.5, "×", f"{mine.min:.2f} s / {count.min:.2f} s, min of {len(mine)}")


@dataclass(frozen=True)
class _Beside:
    """One of our ways beside one peer's table: a MERGE of `count` rows, and scans after it, (ours, theirs) in turns."""

    way: str
    count: int
    peer: str
    merge: tuple[Timing, Timing]
    scan: tuple[Timing, Timing]
    first: tuple[float, float]


def _session(context: Context, ours: _Ours, peer: Peer) -> list[_Beside]:
    """Nothing, and a line that says so, if the peer cannot be had."""
    with peers.tables(context, peer) as theirs:
        if theirs is None:
            return []
        try:
            context.say(f"loading {peer.name}'s tables")
            theirs.load(data.source(context.rows), ours.small)
            for count, path in ours.sources.items():
                theirs.view(f"source_{count}", path)
            theirs.warm_up(MERGE.format(t="{t}", s=f"source_{FEW}"))
            return [one for mode in peer.tables for count in ours.sources for one in _turns(ours, theirs, mode, count)]
        except RuntimeError as error:
            context.say(f"{peer.name} is left out: {error}")
            return []


def _turns(ours: _Ours, theirs: Tables, mode: str, count: int) -> Iterator[_Beside]:
    ways = BESIDE[mode]
    text = MERGE.format(t="{t}", s=f"source_{count}")
    sides = {way: lambda way=way: ours.merge(way, count) for way in ways}
    ahead = {way: lambda way=way: ours.fresh(way) for way in ways}
    merges = in_turns(
        {"theirs": lambda: theirs.merge(mode, text)} | sides,
        repeat=REPEAT,
        warm_up=0,
        before=os.sync,
        ahead={"theirs": lambda: theirs.back(mode)} | ahead,
    )
    scans = {"theirs": lambda: theirs.scan(mode, ALL)} | {way: lambda way=way: ours.scan(way) for way in ways}
    first = {side: timed(scan) for side, scan in scans.items()}
    times = in_turns(scans, repeat=SCANS, warm_up=0)
    peer = theirs.peer.label(mode)
    for way in ways:
        _same(ours.scan(way), theirs.scan(mode, ALL), f"{NAMES[way]}, {peer}")
        yield _Beside(
            way,
            count,
            peer,
            (merges[way], merges["theirs"]),
            (times[way], times["theirs"]),
            (first[way], first["theirs"]),
        )
    took = ", ".join(f"{side} {found.min:.2f} s" for side, found in merges.items())
    ours.context.say(f"    {peer}, {count:,} rows: {took}")


def _same(ours: list[Any], theirs: list[Any], what: str) -> None:
    """Both hold the same rows. The sum of doubles depends on their order."""
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(ours, theirs, strict=True)):
        raise AssertionError(f"{what}: the rows are not the same: {ours} and {theirs}")


def _ratios(ours: _Ours, found: list[_Beside]) -> Iterator[Line]:
    limits = {
        ("dead rows", ours.many): (0.3, "the best peer's, merge-on-read"),
        ("copy-on-write", ours.many): (0.7, "the best peer's, copy-on-write"),
        ("keyed", ours.many): (0.15, "the best peer's"),
        ("keyed", FEW): (0.1, "the best peer's"),
    }
    for (way, count), (limit, whose) in limits.items():
        beside = [one for one in found if (one.way, one.count) == (way, count)]
        for best in islice(sorted(beside, key=lambda one: one.merge[1].min), 1):
            mine, theirs = best.merge
            how = f"{mine.min:.2f} s / {theirs.min:.2f} s ({best.peer}), min of {len(mine)}"
            what = f"MERGE INTO of {count:,} rows, {NAMES[way]} / {whose}"
            yield Line(what, mine.min / theirs.min, limit, "×", how)
        for best in islice(sorted(beside, key=lambda one: one.scan[1].min), 1):
            mine, theirs = best.scan
            how = (
                f"{mine.min:.2f} s / {theirs.min:.2f} s ({best.peer}), min of {len(mine)}; "
                f"the first: {best.first[0]:.2f} s / {best.first[1]:.2f} s"
            )
            what = f"scan after MERGE INTO of {count:,} rows, {NAMES[way]} / the best peer's after the same"
            yield Line(what, mine.min / theirs.min, 1.1, "×", how)


def _seconds(ours: _Ours, found: list[_Beside]) -> Iterator[Line]:
    """What every side took, for comparison: ours beside all peers, each peer beside all of ours."""
    for count in ours.sources:
        seconds: dict[str, list[float]] = {}
        for one in found:
            if one.count == count:
                seconds.setdefault(f"Anabranch, {NAMES[one.way]}", []).extend(one.merge[0].samples)
                seconds.setdefault(one.peer, []).extend(one.merge[1].samples)
        for name, samples in seconds.items():
            yield Line(MERGING.format(count=count) + name, min(samples), None, "s", "for comparison")


def _local(context: Context, found: list[_Beside]) -> Iterator[Line]:
    """In a process without Spark, on a keyed table that it loads itself."""
    context.say("local sources")
    times = child("merge_into_local", "rows", context.folder("merge-into-local"), context.rows, FEW)
    upsert, best = times["upsert"], min((one.merge[1].min for one in found if one.count == FEW), default=None)
    how = f"median of {times['count']}, without JVM, with fsync"
    what = f"keyed upsert of {FEW:,} local rows"
    yield Line(f"MERGE INTO, {what}", 1000 * upsert, 25.0, "ms", f"{how}; the first {1000 * times['first']:.0f} ms")
    if best is not None:
        how_best = f"{1000 * upsert:.1f} ms / {best:.2f} s"
        yield Line(f"MERGE INTO, {what} / the best peer's of {FEW:,} rows", upsert / best, 0.005, "×", how_best)
    yield Line(
        f"MERGE INTO, {FEW:,} local rows, WHEN MATCHED AND s.q > t.q THEN UPDATE SET *",
        times["conditional"],
        0.3,
        "s",
        f"{how}; the first {times['first conditional']:.2f} s",
    )


def _one_row(context: Context) -> Line:
    rows = context.scaled(1_000_000, 10_000)
    found = child("merge_into_local", "parts", context.folder("merge-into-parts"), rows)
    what = f"MERGE INTO of one row, a table in {found['of']} parts sorted by the column of ON: parts opened"
    return Line(what, found["read"], 1, "", "all other parts had been taken away")
