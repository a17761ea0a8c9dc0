"""Three branches that change columns, or the fields of a struct, and rows, and merge, pick, restore and revert."""

import os
import random

import pytest

from .law import Undecided
from .nested import OUTSIDE, NestedPair
from .pair import Pair
from .statements import parse

BEGINNING = (
    "CREATE DATABASE d", "CREATE TABLE d.t (k INT, p INT, a INT, b INT)",
    "INSERT INTO d.t (k, p, a, b) VALUES (1, 0, 0, 5), (2, 0, 0, 6), (3, 1, NULL, 7)",
    "CREATE BRANCH dev FROM main", "CREATE BRANCH exp FROM dev",
)  # fmt: skip
BRANCHES = ("main", "dev", "exp")
FIRST = 1_000_000 * int(os.environ.get("ANABRANCH_FUZZ_SEED", "0"))
HISTORIES = range(FIRST, FIRST + int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "60")))
TYPES = ("INT", "BIGINT", "DOUBLE")


def statement(choose: random.Random, branch: str, fields: list[str], *, nested: bool) -> str:
    """One that speaks of columns that are there; of `p`, which stays, where there are none left. Fields have no
    defaults, and are one cell."""
    other = choose.choice([name for name in BRANCHES if name != branch])
    k, value, type_ = choose.randint(1, 4), choose.randint(0, 3), choose.choice(TYPES)
    field, new = choose.choice(fields or ["p"]), choose.choice(["b", "c", "C", "x"])
    also, its = ("", "") if field == "p" else (f", {field}", f", {value}")
    where = choose.choice(
        [f"k = {k}", f"k < {k}", f"k >= {k}", f"k >= {k}", "p = 0", f"{field} = {value}", f"{field} IS NULL"]
    )
    side = choose.choice(["", "", "RESOLVE USING THEIRS", "RESOLVE USING OURS"])
    detect = choose.choice(["row", "row", "file"] if nested else ["row", "cell", "file"])
    added = f"{new} {type_}" if nested else f"{new} {type_} {choose.choice(['', 'DEFAULT 2', 'NOT NULL DEFAULT 1'])}"
    changes = [f"DROP COLUMN {field}", f"RENAME COLUMN {field} TO {new}", f"ALTER COLUMN {field} TYPE {type_}"]
    if not nested:
        changes += [f"ALTER COLUMN {field} {what}" for what in ("SET NOT NULL", "DROP NOT NULL", "SET DEFAULT 3")]
    column = choose.choice(changes if fields else [f"ADD COLUMN {added}"])
    return choose.choice(
        [
            f"INSERT INTO d.t (k, p{also}) VALUES ({k}, {choose.randint(0, 1)}{its})",
            f"INSERT OVERWRITE d.t (k, p{also}) VALUES ({k}, 0{its})",
            *[f"UPDATE d.t SET {choose.choice([field, field, 'p'])} = {value} WHERE {where}"] * 3,
            f"UPDATE d.t SET {field} = k + {value} WHERE {where}",
            f"DELETE FROM d.t WHERE {where}",
            *[f"ALTER TABLE d.t ADD COLUMN {added}"] * 2,
            *[f"ALTER TABLE d.t {column}"] * 4,
            *[f"MERGE BRANCH {other} {side} WITH (detect = '{detect}')"] * 4,
            f"CHERRY PICK {other}@{choose.randint(4, 9)} {side}",
            f"REVERT {choose.choice([branch, branch, other])}@{choose.randint(4, 9)} {side}",
            f"RESTORE TABLE d.t TO VERSION {choose.randint(3, 8)}",
            "OPTIMIZE d.t",
        ]
    )


@pytest.mark.parametrize("seed", HISTORIES)
@pytest.mark.parametrize("kind", [Pair, NestedPair])
def test_model_and_lake_agree(kind: type[Pair], seed: int) -> None:
    choose = random.Random(seed)
    with kind() as pair:
        for line in BEGINNING:
            pair.run("main", parse(line), compare=False)
        for _ in range(choose.randint(6, 18)):
            branch = choose.choice(BRANCHES)
            tables = pair.model.state(branch).tables.values()
            labels = [c.label for table in tables for c in table.columns if c.label not in OUTSIDE]
            try:
                pair.run(branch, parse(statement(choose, branch, labels, nested=kind is NestedPair)))
            except Undecided:  # the model does not decide this
                pair.script.pop()
        pair.compare_all()
