"""Three branches that merge, pick, restore and revert each other's statements on one small table: model and lake agree.

Few rows and few values, so that conditions match what other branches inserted, versions show the same, and statements
come by several ways. In a table with two partitions rows move between them, and are overwritten there.
"""

import os
import random

import pytest

from .law import Undecided
from .pair import Pair, steps

BEGINNING = (
    "CREATE DATABASE d; CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (1, 0), (2, 0), (3, 0);"
    "CREATE BRANCH a FROM main; CREATE BRANCH x FROM main"
)
BRANCHES = ("main", "a", "x")
FIRST = 1_000_000 * int(os.environ.get("ANABRANCH_FUZZ_SEED", "0"))
HISTORIES = range(FIRST, FIRST + int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "120")))
KINDS = ("insert", "insert", "delete", "update", "update", "merge", "merge", "merge", "pick", "restore", "revert")
OVERWRITING = (*KINDS, "overwrite", "truncate")

PARTITIONED = (
    "CREATE DATABASE d; CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p);"
    "INSERT INTO d.t (k, a, p) VALUES (1, 0, 0), (2, 0, 1), (3, 0, 1);"
    "CREATE BRANCH a FROM main; CREATE BRANCH x FROM a"
)


def statement(choose: random.Random, branch: str, number: int, kinds: tuple[str, ...] = KINDS) -> str:
    other = choose.choice([name for name in BRANCHES if name != branch])
    low, high, value = choose.randint(1, 6), choose.randint(2, 7), choose.randint(0, 3)
    where = choose.choice([f"id = {low}", f"id < {high}", f"id > {low}", f"a = {value}"])
    side = choose.choice(["", "", "RESOLVE USING THEIRS", "RESOLVE USING OURS"])
    detect = choose.choice(["row", "row", "row", "cell", "cell", "file"])
    return {
        "insert": f"INSERT INTO d.t (id, a) VALUES ({low}, {value})",
        "overwrite": f"INSERT OVERWRITE d.t (id, a) VALUES ({low}, {value})",
        "truncate": "TRUNCATE TABLE d.t",
        "delete": f"DELETE FROM d.t WHERE {where}",
        "update": f"UPDATE d.t SET {choose.choice('aab')} = {choose.choice([1, 2, 3, 10 + number])} WHERE {where}",
        "merge": f"MERGE BRANCH {other} {side} WITH (detect = '{detect}')",
        "pick": f"CHERRY PICK {other}@{choose.randint(4, 9)}",
        "restore": f"RESTORE TABLE d.t TO VERSION {choose.randint(3, 7)}",
        "revert": f"REVERT {branch}@{choose.randint(4, 9)}",
    }[choose.choice(kinds)]


def of_partitions(choose: random.Random, branch: str, number: int) -> str:
    other = choose.choice([name for name in BRANCHES if name != branch])
    k, value, p = choose.randint(1, 4), choose.randint(0, 3), choose.randint(0, 1)
    where = choose.choice([f"k = {k}", f"k < {k}", f"k >= {k}", f"a = {value}", f"p = {p}", f"k = {k} AND p = {p}"])
    side = choose.choice(["", "", "RESOLVE USING THEIRS", "RESOLVE USING OURS"])
    detect = choose.choice(["row", "row", "cell", "cell", "file"])
    by_key = "ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a)"
    return choose.choice(
        [
            f"INSERT INTO d.t (k, a, p) VALUES ({k}, {value}, {p})",
            f"MERGE INTO d.t AS t USING (VALUES ({k}, {value})) AS s(k, a) {by_key}",
            f"INSERT OVERWRITE d.t PARTITION (p = {p}) (k, a) VALUES ({k}, {value})",
            f"TRUNCATE TABLE d.t PARTITION (p = {p})",
            f"DELETE FROM d.t WHERE {where}",
            f"UPDATE d.t SET {choose.choice('aabp')} = {choose.choice([0, 1])} WHERE {where}",
            f"UPDATE d.t SET {choose.choice('ab')} = {10 + number} WHERE {where}",
            f"MERGE BRANCH {other} {side} WITH (detect = '{detect}')",
            f"MERGE BRANCH {other} WITH (detect = '{detect}')",
            f"MERGE BRANCH {other}@{choose.randint(4, 9)} {side} WITH (detect = '{detect}')",
            f"CHERRY PICK {other}@{choose.randint(4, 9)}",
            f"RESTORE TABLE d.t TO VERSION {choose.randint(3, 8)}",
            f"REVERT {choose.choice([branch, branch, other])}@{choose.randint(4, 9)}",
            "OPTIMIZE d.t",
        ]
    )


@pytest.mark.parametrize("seed", HISTORIES)
def test_model_and_lake_agree(seed: int) -> None:
    choose = random.Random(seed)
    kinds = OVERWRITING if seed % 2 else KINDS
    lines = []
    for number in range(choose.randint(6, 14)):
        branch = choose.choice(BRANCHES)
        lines.append(f"USE BRANCH {branch}; {statement(choose, branch, number, kinds)}")
    check(BEGINNING, lines)


@pytest.mark.parametrize("seed", HISTORIES)
def test_model_and_lake_agree_on_partitions(seed: int) -> None:
    choose = random.Random(seed)
    lines = []
    for number in range(choose.randint(8, 20)):
        branch = choose.choice(BRANCHES)
        lines.append(f"USE BRANCH {branch}; {of_partitions(choose, branch, number)}")
    check(PARTITIONED, lines)


def check(beginning: str, lines: list[str]) -> None:
    with Pair(beginning) as pair:
        for branch, each in steps("; ".join(lines)):
            try:
                pair.run(branch, each)
            except Undecided:  # the model does not decide this
                pair.script.pop()
        pair.compare_all()
