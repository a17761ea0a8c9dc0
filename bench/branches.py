"""Creating a branch in a lake with one table and in one with 10,000, in turns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from context import Context
from measure import Line, Timing, assert_no_spark, child, in_turns, report

REPEAT = 50
LIMIT_MS = 3.0


def run(context: Context) -> Iterator[Line]:
    many = context.scaled(10_000)
    one_folder, many_folder = context.folder("branches-one"), context.folder("branches-many")
    context.say(f"creating {many:,} tables")
    child("branches", "build", one_folder, 1)
    child("branches", "build", many_folder, many)
    for durability, label in (("disk", "with fsync"), ("process", "without fsync")):
        found = child("branches", "measure", one_folder, many_folder, durability)
        one, large = Timing(tuple(found["one"])), Timing(tuple(found["many"]))
        how = f"median of {REPEAT}"
        yield Line(f"creating a branch, 1 table, {label}", 1000 * one.median, LIMIT_MS, "ms", how)
        yield Line(f"creating a branch, {many:,} tables, {label}", 1000 * large.median, LIMIT_MS, "ms", how)
        how = f"{1000 * large.median:.2f} ms / {1000 * one.median:.2f} ms"
        yield Line(f"creating a branch, {many:,} tables / 1 table, {label}", large.median / one.median, 1.5, "×", how)


def build(folder: Path, tables: int) -> None:
    import anabranch

    lake = anabranch.connect(folder, durability="process")
    lake.create_database("d")
    for number in range(tables):
        lake.create_table(f"d.t{number}", "id BIGINT, v DOUBLE")
    report({"tables": tables})


def measure(one: Path, many: Path, durability: str) -> None:
    import anabranch

    def creator(folder: Path) -> Callable[[], object]:
        lake = anabranch.connect(folder, create=False, durability=durability)
        numbers = count()
        return lambda: lake.create_branch(f"{durability}-{next(numbers)}")

    times = in_turns({"one": creator(one), "many": creator(many)}, repeat=REPEAT, warm_up=5)
    assert_no_spark()
    report({name: timing.samples for name, timing in times.items()})


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        measure(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
