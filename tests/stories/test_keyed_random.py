"""Random histories of keyed tables on real lakes.

Sums tell how often a flush counts: every insert adds a power of two of its own, so a branch's sum is the set of inserts
that it has, and a merge is the union of sets.
"""

from __future__ import annotations

import random

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told

BRANCHES = ("main", "dev", "kid")


@pytest.mark.parametrize("seed", range(6))
def test_every_insert_counts_once(lake, seed):
    chance = random.Random(seed)
    told(lake, "CREATE TABLE d.t (id INT, s BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine' = 'aggregation', "
         "'fields.s.aggregate-function' = 'sum')")  # fmt: skip
    told(lake, "CREATE BRANCH dev", "CREATE BRANCH kid")
    has = {branch: set() for branch in BRANCHES}
    commits: list[tuple[str, int, frozenset[tuple[int, int]]]] = []
    for number in range(25):
        branch = chance.choice(BRANCHES)
        what = chance.choice(["insert", "insert", "merge", "merge", "pick", "optimize"])
        if what == "insert":
            made = frozenset((key, number) for key in chance.sample(range(3), 2))
            told(lake, f"INSERT INTO d.t@{branch} VALUES " + ", ".join(f"({k}, {1 << n})" for k, n in made))
            has[branch] |= made
            commits.append((branch, lake.on(branch).version, made))
        elif what == "merge":
            other = chance.choice([name for name in BRANCHES if name != branch])
            told(lake, f"MERGE BRANCH {other} TO {branch}")
            has[branch] |= has[other]
        elif what == "pick" and commits:
            source, version, made = chance.choice(commits)
            lake.on(branch).cherry_pick(f"{source}@{version}")
            has[branch] |= made
        elif what == "optimize":
            told(lake, f"OPTIMIZE d.t@{branch}")
        for name in BRANCHES:
            assert rows(lake, f"d.t@{name}") == _sums(has[name]), (number, what, branch, name)


def _sums(inserts):
    keys = sorted({key for key, _ in inserts})
    return [(key, sum(1 << number for k, number in inserts if k == key)) for key in keys]


ENGINES = {
    "deduplicate": "",
    "sequence": "'sequence.field' = 'x'",
    "partial-update": "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'",
    "first-row": "'merge-engine' = 'first-row'",
    "aggregation": "'merge-engine' = 'aggregation', 'fields.x.aggregate-function' = 'max'",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_sides_that_merge_into_each_other_are_alike(lake, engine, seed):
    """Whatever was written, deleted, overwritten, undone and compacted on both: merged there and back they are equal,
    and stay so when compacted."""
    chance = random.Random(seed)
    options = f" TBLPROPERTIES ({ENGINES[engine]})" if ENGINES[engine] else ""
    told(lake, f"CREATE TABLE d.t (id INT, x INT, y INT, PRIMARY KEY (id)){options}", "CREATE BRANCH dev")
    written: dict[str, list[int]] = {"main": [], "dev": []}
    for number in range(18):
        branch = chance.choice(["main", "dev"])
        _change(lake, chance, engine, branch, written[branch])
        if number % 6 == 5:
            ours, theirs = chance.sample(["main", "dev"], 2)
            side = chance.choice(["OURS", "THEIRS"])
            told(lake, f"MERGE BRANCH {theirs} TO {ours} RESOLVE USING {side}")
            merged = rows(lake, f"d.t@{ours}")
            told(lake, f"MERGE BRANCH {ours} TO {theirs}")
            assert rows(lake, f"d.t@{theirs}") == merged
            told(lake, f"OPTIMIZE d.t@{chance.choice([ours, theirs])}")
            assert rows(lake, f"d.t@{theirs}") == rows(lake, f"d.t@{ours}") == merged


def _change(lake, chance, engine, branch, written):
    key, value = chance.randrange(4), chance.choice(["NULL", *map(str, range(4))])
    statements = [f"INSERT INTO d.t@{branch} VALUES ({key}, {value}, {chance.randrange(3)})"] * 4
    if engine != "first-row":
        statements += [f"UPDATE d.t@{branch} SET y = {value} WHERE id = {key}"]
    if engine in ("deduplicate", "sequence", "partial-update"):
        statements += [f"DELETE FROM d.t@{branch} WHERE id = {key}"] * 2
    statements += [f"INSERT OVERWRITE d.t@{branch} VALUES ({key}, 1, 1)", f"OPTIMIZE d.t@{branch}"]
    statements += [f"REVERT {chance.choice(written)}"] if written else []
    statement = chance.choice(statements)
    on = lake.on(branch)
    before = on.version
    try:
        told(on, statement)
    except MergeConflict:
        told(on, statement + " RESOLVE USING THEIRS")
    if on.version > before and not statement.startswith("OPTIMIZE"):
        written.append(on.version)
