"""DELETE and UPDATE by Spark do what the same statement does in this process, on a twin branch."""

from __future__ import annotations

import random

import pytest

import anabranch
from anabranch.errors import AnabranchError, NullViolation, ValueOutOfRange
from anabranch.execution.reader import read_table
from anabranch.options import Limits
from tests.execution.conftest import HUGE, WAYS
from tests.execution.plans import plan_of
from tests.execution.queries import make_tables, predicate
from tests.execution.rows import rows

pytestmark = pytest.mark.spark

HERE = Limits(local_work=HUGE)
BY_SPARK = Limits(local_work=-1)
NATIVELY = Limits(local_work=-1, local_scan=-1, small_part=0)
VALUES = {
    "i": ["i", "0", "NULL", "CASE WHEN i > 3 THEN 1 ELSE i END", "id * 2", "DEFAULT"],
    "w": ["w", "id", "coalesce(w, -1)", "9223372036854775807", "NULL"],
    "d": ["d", "1.25", "i", "NULL"],
    "f": ["f / 2", "NULL", "CAST('NaN' AS DOUBLE)", "id"],
    "n": ["n", "DATE '2021-02-03'", "TIMESTAMP_NTZ '2021-02-03 04:05:06.789'"],
    "t": ["t", "TIMESTAMP '2021-02-03 04:05:06Z'", "NULL"],
    "s": ["concat(s, '!')", "upper(s)", "'new'", "s", "CAST(id AS STRING)"],
    "st": ["st", "named_struct('x', id)", "NULL"],
    "added": ["DEFAULT", "added + 1", "NULL"],
    "p": ["p + 1", "NULL", "p", "0"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changes") / "lake"
    with anabranch.connect(folder, durability="process") as lake:
        lake.create_database("d")
        make_tables(lake)
    return folder


def statement(rng):
    name = rng.choice(["d.a", "d.b"])
    where = rng.choice(["", f" WHERE {predicate(rng)}", f" WHERE {predicate(rng)}", f" WHERE {predicate(rng, 'x')}"])
    if rng.random() < 0.4 and where:
        return f"DELETE FROM {name} AS x{where}"
    columns = rng.sample(sorted(VALUES), rng.randrange(1, 4))
    sets = ", ".join(f"{column} = {rng.choice(VALUES[column])}" for column in columns)
    return f"UPDATE {name} AS x SET {sets}{where}"


def outcome(lake, text):
    """What a statement did: its count and all rows with their origins, or its error."""
    try:
        count = lake.sql(text).collect()[0][0]
    except AnabranchError as error:
        return type(error).__name__
    name = text.split()[2 if text.startswith("DELETE") else 1]
    return count, rows(read_table(plan_of(lake, name), ids=True).drop_columns("_row_id"))


@pytest.mark.parametrize("seed", range(2))
def test_random_changes(spark, folder, seed):
    rng = random.Random(seed)
    limits = NATIVELY if seed % 2 else BY_SPARK
    changed = 0
    with (
        anabranch.connect(folder, limits=HERE, durability="process") as one,
        anabranch.connect(folder, spark=spark, limits=limits, durability="process") as other,
    ):
        here = one.create_branch(f"here{seed}")
        there = other.create_branch(f"there{seed}", "main")
        for _ in range(4):
            text = statement(rng)
            expected = outcome(here, text)
            assert outcome(there, text) == expected, text
            changed += not isinstance(expected, str) and expected[0] > 0
    assert changed > 1


@pytest.mark.parametrize("limits", [HERE, BY_SPARK, NATIVELY], ids=["here", "spark", "native"])
@pytest.mark.parametrize(
    ("text", "error", "named"),
    [
        ("UPDATE d.t SET i = i + 2147483640 WHERE id < 3", AnabranchError, "overflow"),
        ("UPDATE d.t SET small = id * 1000", ValueOutOfRange, "small"),
        ("UPDATE d.t SET must = NULL WHERE id = 2", NullViolation, "must"),
    ],
)
def test_refused_updates_change_nothing(new_lake, files_in, limits, text, error, named):
    lake = new_lake(limits)
    table = lake.create_table("d.t", "id INT, i INT, small TINYINT, must STRING NOT NULL")
    table.write({"id": [1, 2, 3], "i": [1, 2**31 - 5, 3], "small": [1, 2, 3], "must": ["a", "b", "c"]})
    before, files, version = rows(table.to_arrow()), files_in(lake), lake.version
    with pytest.raises(error, match=f"(?i){named}"):
        lake.sql(text)
    assert rows(table.to_arrow()) == before
    assert (files_in(lake), lake.version) == (files, version)


def test_partitions_follow_updates_by_spark(new_lake):
    """A row whose partition changes moves; one part for each partition that the new rows have."""
    lake = new_lake(BY_SPARK)
    lake.sql("CREATE TABLE d.t (id INT, p INT) PARTITIONED BY (p)")
    lake.table("d.t").write({"id": list(range(40)), "p": [i % 4 for i in range(40)]})
    lake.sql("UPDATE d.t SET p = p + 10 WHERE id >= 20")
    fresh = [part for part in plan_of(lake, "d.t").parts if part.has_origin]
    assert sorted(part.partition_values["p"] for part in fresh) == [10, 11, 12, 13]
    assert lake.table("d.t").to_arrow(where="p = 11").column("id").to_pylist() == [21, 25, 29, 33, 37]


def test_changes_by_a_subquery(new_lake):
    """What only Spark evaluates."""
    lake = new_lake(WAYS["local"])
    lake.create_table("d.t", "id INT, v INT").write({"id": [1, 2, 3, 4], "v": [1, 2, 3, 4]})
    lake.create_table("d.u", "id INT, w INT").write({"id": [2, 4], "w": [20, 40]})
    assert lake.sql("DELETE FROM d.t WHERE id IN (SELECT id FROM d.u WHERE w > 30)").collect()[0][0] == 1
    changed = lake.sql("UPDATE d.t SET v = (SELECT max(w) FROM d.u WHERE u.id = t.id) WHERE id < 3")
    assert changed.collect()[0][0] == 2
    assert sorted(lake.table("d.t").to_arrow().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "v": None},
        {"id": 2, "v": 20},
        {"id": 3, "v": 3},
    ]
