"""Four branches merge each other all the time, in three tables: what each has came to it by several ways.

A merge looks only at the objects that somebody touched, as its history tells; so in a branch an object must be another
one while none of the branch's own statements tells of it: what one branch did is undone by another one, and by way of a
third one both come in another order.
"""

import os
import random

import pytest

from .law import Undecided
from .pair import Pair, steps
from .statements import ENGINES, properties

BRANCHES = ("main", "a", "b", "c")
BEGINNING = (
    "CREATE DATABASE d; CREATE DATABASE e; CREATE TABLE d.t (id INT, a INT); CREATE TABLE e.u (id INT, a INT);"
    "CREATE TABLE d.o (id INT); INSERT INTO d.t (id, a) VALUES (1, 0); INSERT INTO e.u (id, a) VALUES (1, 0), (2, 0);"
    + ";".join(f"CREATE BRANCH {name} FROM main" for name in BRANCHES[1:])
)
APPEND = "(id INT, a INT)"
KINDS = {
    engine: f"(id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)) TBLPROPERTIES ({properties(engine)})"
    for engine in ENGINES
}
"""What `d.t` is in a third of the histories; else an append table."""
BEGUN = 7
"""The version that the branches begin with."""
FIRST = 1_000_000 * int(os.environ.get("ANABRANCH_FUZZ_SEED", "0"))
HISTORIES = range(FIRST, FIRST + int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "120")))


def change(choose: random.Random, number: int) -> str:
    """One of a table or a database; what can be undone, or done again."""
    table, value = choose.choice(["d.t", "d.t", "e.u"]), choose.randint(0, 2)
    database = table[0]
    return choose.choice(
        [
            f"INSERT INTO {table} (id) VALUES ({number})",
            f"DELETE FROM {table}",
            f"DELETE FROM {table} WHERE id = 1",
            f"UPDATE {table} SET a = {value}",
            f"UPDATE {table} SET a = {value} WHERE id = 1",
            f"INSERT OVERWRITE {table} (id, a) VALUES (1, {value})",
            f"ALTER TABLE {table} SET TBLPROPERTIES ('p' = '{value}')",
            f"ALTER TABLE {table} UNSET TBLPROPERTIES ('p')",
            f"ALTER TABLE {table} ADD COLUMN x INT DEFAULT {value}",
            f"ALTER TABLE {table} DROP COLUMN x",
            f"ALTER TABLE {table} ALTER COLUMN a SET NOT NULL",
            f"ALTER TABLE {table} ALTER COLUMN a DROP NOT NULL",
            f"ALTER TABLE {table} ALTER COLUMN a SET DEFAULT {value}",
            f"ALTER TABLE {table} ALTER COLUMN a TYPE BIGINT",
            f"ALTER TABLE {table} RENAME COLUMN a TO b",
            f"ALTER TABLE {table} RENAME COLUMN b TO a",
            f"ALTER TABLE {table} RENAME TO {database}.w",
            f"ALTER TABLE {database}.w RENAME TO {table}",
            f"DROP TABLE {table}",
            f"CREATE TABLE {database}.n (id INT)",
            f"DROP TABLE {database}.n",
            f"ALTER DATABASE {database} SET DBPROPERTIES ('p' = '{value}')",
            "DROP DATABASE e CASCADE",
            "DROP DATABASE e",
            "ALTER TABLE d.t RENAME TO e.t",
            "ALTER TABLE e.t RENAME TO d.t",
            "ALTER TABLE e.u RENAME TO d.u",
            "OPTIMIZE d.t",
        ]
    )


def statement(choose: random.Random, pair: Pair, branch: str, number: int, changes: list[str]) -> str:
    other = choose.choice([name for name in BRANCHES if name != branch])
    here, there = (pair.model.version(name) for name in (branch, other))
    side = choose.choice(["", "", "RESOLVE USING OURS", "RESOLVE USING OURS", "RESOLVE USING THEIRS"])
    detect = choose.choice(["file", "row", "row", "cell"])
    back = choose.randint(BEGUN, max(here - 1, BEGUN))
    at = choose.choice(["", "", "", f"@{choose.randint(BEGUN, max(there, BEGUN))}"])
    merge = f"MERGE BRANCH {other}{at} {side} WITH (detect = '{detect}')"
    return choose.choices(
        [
            merge,
            choose.choice(changes),
            f"INSERT INTO d.o (id) VALUES ({number})",
            f"REVERT {branch}@{here}",
            f"REVERT {branch}@{choose.randint(BEGUN, max(here, BEGUN + 1))} {side}",
            f"CHERRY PICK {other}@{choose.randint(BEGUN, max(there, BEGUN))} {side}",
            f"RESTORE TABLE {choose.choice(['d.t', 'e.u'])} TO VERSION {back}",
            f"RESTORE DATABASE e TO VERSION {back}",
            f"RESTORE BRANCH TO VERSION {back}",
        ],
        weights=[45, 12, 15, 12, 4, 3, 3, 1, 1],
    )[0]


@pytest.mark.parametrize("seed", HISTORIES)
def test_model_and_lake_agree(seed: int) -> None:
    choose = random.Random(seed)
    kind = KINDS[choose.choice(list(KINDS))] if seed % 3 == 0 else APPEND
    changes = [change(choose, number) for number in range(choose.randint(1, 4))]
    with Pair(BEGINNING.replace(APPEND, kind, 1)) as pair:
        for number in range(10, 10 + choose.randint(10, 40)):
            branch = choose.choice(BRANCHES)
            ((_, each),) = steps(statement(choose, pair, branch, number, changes))
            try:
                pair.run(branch, each)
            except Undecided:  # the model does not decide this
                pair.script.pop()
        pair.compare_all()
