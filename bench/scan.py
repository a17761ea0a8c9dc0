"""Scanning through `lake.sql`, against Spark's own scan of the very same files; then the same with dead rows.

The dead rows are on branches of the one table: 0.5 % and 20 % of every part, chosen by a random column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from context import TABLE, Context
from measure import Line, in_turns, ratio

ALL = "SELECT count(*), sum(id), sum(k), sum(v), sum(q), sum(length(s)) FROM {t}"
TWO = "SELECT sum(id), sum(v) FROM {t}"
DEAD = {"0.5 % dead": "q % 200 = 0", "20 % dead": "q % 5 = 0"}
REPEAT = 9


def run(context: Context) -> Iterator[Line]:
    lake, spark, plain = context.lake, context.spark, context.plain

    def theirs(query: str) -> Callable[[], object]:
        return lambda: spark.sql(query, t=plain).collect()

    def ours(query: str, branch: str = "main") -> Callable[[], object]:
        on = lake.on(branch)
        text = query.format(t=TABLE)
        return lambda: on.sql(text).collect()

    for name, predicate in DEAD.items():
        on = lake.create_branch(name)
        on.sql(f"DELETE FROM {TABLE} WHERE {predicate}")
        live = on.table(TABLE).count()
        counted = on.sql(ALL.format(t=TABLE)).collect()[0][0]
        expected = plain.where(f"not ({predicate})").count()
        if not live == counted == expected:
            raise AssertionError(f"{name}: {live} rows by metadata, {counted} by scan, {expected} expected")

    for kind, query, fresh, masked in (("all columns", ALL, 1.05, 1.3), ("two numeric columns", TWO, None, 2.0)):
        sides = {"plain": theirs(query), "fresh": ours(query)} | {name: ours(query, name) for name in DEAD}
        times = in_turns(sides, repeat=REPEAT, warm_up=2)
        yield ratio(f"scan, {kind} / Spark's scan of the same files", fresh, times["fresh"], times["plain"])
        for name in DEAD:
            what = f"scan, {kind}, {name} in every part / Spark's scan of the same files"
            yield ratio(what, masked, times[name], times["plain"])
