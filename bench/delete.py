"""DELETE of 0.5 % by a predicate on a column that is not sorted, against a Spark count with that predicate."""

from __future__ import annotations

from collections.abc import Iterator

from context import TABLE, Context
from measure import Line, in_turns

PREDICATE = "q % 200 = 0"


def run(context: Context) -> Iterator[Line]:
    lake, spark, plain = context.lake, context.spark, context.plain
    expected = plain.where(PREDICATE).count()
    # A branch for every repetition: each DELETE finds the table as it was loaded.
    branches = [lake.create_branch(f"delete {number}") for number in range(8)]
    fresh = iter(branches)

    def ours() -> None:
        deleted = next(fresh).sql(f"DELETE FROM {TABLE} WHERE {PREDICATE}").collect()[0][0]
        if deleted != expected:
            raise AssertionError(f"{deleted} rows were deleted, not {expected}")

    def theirs() -> None:
        spark.sql(f"SELECT count(*) FROM {{t}} WHERE {PREDICATE}", t=plain).collect()

    times = in_turns({"ours": ours, "theirs": theirs}, repeat=6, warm_up=2)
    mine, count = times["ours"].min, times["theirs"].min
    how = f"limit: 1.5 × {count:.2f} s (Spark's count) + 0.3 s; min of {len(times['ours'])}"
    yield Line("DELETE of 0.5 % by a predicate", mine, 1.5 * count + 0.3, "s", how)
