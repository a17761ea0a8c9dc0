"""Three branches that merge, pick, restore and revert each other's statements on one small table: model and lake agree.

Few rows and few values, so that conditions match what other branches inserted, versions show the same, and statements
come by several ways.
"""

import os
import random

import pytest

from .law import Undecided
from .pair import agree

BEGINNING = (
    "CREATE DATABASE d; CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (1, 0), (2, 0), (3, 0);"
    "CREATE BRANCH a FROM main; CREATE BRANCH x FROM main"
)
BRANCHES = ("main", "a", "x")
HISTORIES = int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "120"))
KINDS = ("insert", "insert", "delete", "update", "update", "merge", "merge", "merge", "pick", "restore", "revert")
OVERWRITING = (*KINDS, "overwrite", "truncate")


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


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_model_and_lake_agree(seed: int) -> None:
    choose = random.Random(seed)
    steps = []
    for number in range(choose.randint(6, 14)):
        branch = choose.choice(BRANCHES)
        kinds = OVERWRITING if seed % 2 else KINDS
        steps.append(f"USE BRANCH {branch}; {statement(choose, branch, number, kinds)}")
    try:
        agree("; ".join([BEGINNING, *steps]))
    except Undecided:
        pytest.skip("the model does not decide this")
