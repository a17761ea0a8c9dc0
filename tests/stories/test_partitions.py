"""Partitions: plain columns whose values part the rows; added, dropped, replaced."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

from anabranch.errors import AlreadyExists, MergeConflict, NotFound, Refused
from tests.stories.telling import one, rows, told


@pytest.fixture
def table(lake):
    told(
        lake,
        "CREATE TABLE d.p (v INT, k STRING, n INT) PARTITIONED BY (k, n)",
        "INSERT INTO d.p VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, NULL, 1), (5, NULL, NULL)",
    )
    return lake


def parts_of(lake, table="d.p"):
    return {row[0]: row[1] for row in told(lake, f"DESCRIBE EXTENDED {table}")}["# parts"]


def test_partitions_are_those_of_the_rows_and_those_added_by_name(table):
    shown = [row[0] for row in told(table, "SHOW PARTITIONS d.p")]
    assert len(shown) == 5
    assert {"k=a/n=1", "k=a/n=2", "k=b/n=1", "k=NULL/n=1", "k=NULL/n=NULL"} == set(shown)
    told(table, "ALTER TABLE d.p ADD PARTITION (k = 'z', n = 9) PARTITION (n = 8, k = 'z')")
    assert {"k=z/n=9", "k=z/n=8"} < {row[0] for row in told(table, "SHOW PARTITIONS d.p")}
    assert told(table, "SHOW PARTITIONS d.p PARTITION (k = 'b')") == [("k=b/n=1",)]


def test_every_partition_is_a_part_of_its_own(table):
    assert parts_of(table) == "5"


def test_adding_a_partition_that_is_there(table):
    for spec in ("k = 'a', n = 1", "k = NULL, n = NULL"):
        with pytest.raises(AlreadyExists, match="partition"):
            told(table, f"ALTER TABLE d.p ADD PARTITION ({spec})")
        before = table.version
        told(table, f"ALTER TABLE d.p ADD IF NOT EXISTS PARTITION ({spec})")
        assert table.version == before


def test_dropping_partitions_drops_their_rows(table):
    told(table, "ALTER TABLE d.p DROP PARTITION (k = 'a', n = 2)")
    assert one(table, "d.p") == [1, 3, 4, 5]
    told(table, "ALTER TABLE d.p DROP PARTITION (k = NULL, n = NULL), PARTITION (k = 'b', n = 1)")
    assert one(table, "d.p") == [1, 4]
    assert len(told(table, "SHOW PARTITIONS d.p")) == 2


def test_a_partial_spec_drops_all_partitions_that_agree(table):
    told(table, "ALTER TABLE d.p DROP PARTITION (n = 1)")
    assert one(table, "d.p") == [2, 5]


def test_dropping_a_partition_that_is_not_there(table):
    with pytest.raises(NotFound, match="nowhere"):
        told(table, "ALTER TABLE d.p DROP PARTITION (k = 'nowhere', n = 1)")
    before = table.version
    told(table, "ALTER TABLE d.p DROP IF EXISTS PARTITION (k = 'nowhere', n = 1)")
    assert table.version == before


def test_a_dropped_partition_fills_again_and_past_versions_keep_it(table):
    before = table.version
    told(table, "ALTER TABLE d.p DROP PARTITION (k = 'a')", "INSERT INTO d.p VALUES (10, 'a', 1)")
    assert one(table, "d.p") == [3, 4, 5, 10]
    assert one(table, "d.p", before) == [1, 2, 3, 4, 5]


def test_an_added_partition_is_empty_until_rows_come_and_is_dropped_by_name(table):
    told(table, "ALTER TABLE d.p ADD PARTITION (k = 'z', n = 9)", "ALTER TABLE d.p DROP PARTITION (k = 'z', n = 9)")
    assert "k=z/n=9" not in {row[0] for row in told(table, "SHOW PARTITIONS d.p")}
    assert len(one(table, "d.p")) == 5


def test_a_partition_without_live_rows_is_not_shown(table):
    told(table, "DELETE FROM d.p WHERE k = 'b'")
    assert "k=b/n=1" not in {row[0] for row in told(table, "SHOW PARTITIONS d.p")}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT OVERWRITE d.p VALUES (9, 'z', 1)", [(9, "z", 1)]),
        (
            "INSERT OVERWRITE d.p PARTITION (k = 'a', n = 1) VALUES (9)",
            [(2, "a", 2), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 1)],
        ),
        (
            "INSERT OVERWRITE d.p PARTITION (n = 2, k = 'a') VALUES (9), (10)",
            [(1, "a", 1), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 2), (10, "a", 2)],
        ),
        (
            "INSERT OVERWRITE d.p PARTITION (k, n) VALUES (9, 'a', 1), (10, 'new', 1)",
            [(2, "a", 2), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 1), (10, "new", 1)],
        ),
        (
            "INSERT OVERWRITE d.p PARTITION (k = 'a', n) VALUES (9, 1)",
            [(2, "a", 2), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 1)],
        ),
        (
            "INSERT OVERWRITE d.p PARTITION (k = NULL, n = NULL) VALUES (9)",
            [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, None, 1), (9, None, None)],
        ),
        (
            "INSERT OVERWRITE d.p PARTITION (k, n) VALUES (9, NULL, 1)",
            [(1, "a", 1), (2, "a", 2), (3, "b", 1), (5, None, None), (9, None, 1)],
        ),
        (
            "INSERT INTO d.p PARTITION (k = 'a', n = 1) VALUES (9)",
            [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 1)],
        ),
        (
            "INSERT INTO d.p PARTITION (k = 'a', n) (n, v) VALUES (7, 9)",
            [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, None, 1), (5, None, None), (9, "a", 7)],
        ),
        (
            "TRUNCATE TABLE d.p PARTITION (k = 'a')",
            [(3, "b", 1), (4, None, 1), (5, None, None)],
        ),
        (
            "TRUNCATE TABLE d.p PARTITION (k = NULL)",
            [(1, "a", 1), (2, "a", 2), (3, "b", 1)],
        ),
    ],
)
def test_what_an_insert_into_partitions_replaces(table, statement, expected):
    before = rows(table, "d.p")
    version = table.version
    told(table, statement)
    found = sorted(rows(table, "d.p"))
    assert found == sorted(expected)
    assert rows(table, "d.p", version) == before


def test_an_overwrite_of_nothing_empties_its_static_partition(table):
    import pyarrow as pa

    table.table("d.p").overwrite(pa.table({"v": pa.array([], pa.int32())}), {"k": "a", "n": 1})
    assert one(table, "d.p") == [2, 3, 4, 5]
    table.table("d.p").overwrite([], dynamic=True)
    assert one(table, "d.p") == [2, 3, 4, 5]


def test_an_overwrite_takes_the_dead_and_the_living(table):
    told(table, "INSERT INTO d.p VALUES (11, 'a', 1)", "DELETE FROM d.p WHERE v = 1")
    told(table, "INSERT OVERWRITE d.p PARTITION (k = 'a', n = 1) VALUES (20)")
    assert one(table, "d.p") == [2, 3, 4, 5, 20]
    assert table.table("d.p").count() == 5


def test_an_update_moves_a_row_to_another_partition(table):
    told(table, "UPDATE d.p SET k = 'b', n = 1 WHERE v = 1", "UPDATE d.p SET k = 'new' WHERE k IS NULL")
    assert rows(table, "d.p") == [(1, "b", 1), (2, "a", 2), (3, "b", 1), (4, "new", 1), (5, "new", None)]
    told(table, "ALTER TABLE d.p DROP PARTITION (k = 'b')")
    assert one(table, "d.p") == [2, 4, 5]


def test_predicates_on_partition_columns_skip_parts(table):
    explained = {row[1]: row[2] for row in told(table, "EXPLAIN SELECT * FROM d.p WHERE k = 'a' AND n = 2")}
    assert explained == {"local": 1, "skipped": 4}
    explained = {row[1]: row[2] for row in told(table, "EXPLAIN SELECT * FROM d.p WHERE n IS NULL")}
    assert explained == {"local": 1, "skipped": 4}


def test_a_renamed_partition_column_still_parts(table):
    told(
        table,
        "ALTER TABLE d.p RENAME COLUMN k TO `key`",
        "INSERT OVERWRITE d.p PARTITION (`key` = 'a', n = 1) VALUES (9)",
        "ALTER TABLE d.p DROP PARTITION (`key` = 'b')",
    )
    assert one(table, "d.p") == [2, 4, 5, 9]
    assert ("key=a/n=1",) in told(table, "SHOW PARTITIONS d.p")


ODD_VALUES = [
    (
        "STRING",
        ["", " ", "a/b", "k=v", "%2F", "é", "e\u0301", "\U0001f600", "'", "`", "NULL", "null", "x" * 300, "a\nb"],
    ),
    ("STRING", ["A", "a"]),
    ("INT", [-(2**31), 0, 2**31 - 1]),
    ("BIGINT", [-(2**63), 2**63 - 1]),
    ("DOUBLE", [float("inf"), float("-inf"), 1.5, -1e-300]),
    ("BOOLEAN", [True, False]),
    ("DATE", [date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]),
    ("TIMESTAMP", [datetime(2026, 1, 1, 2, 3, 4, 5, timezone.utc), datetime(1900, 1, 1, tzinfo=timezone.utc)]),
    ("TIMESTAMP_NTZ", [datetime(2026, 1, 1, 2, 3, 4, 5), datetime(1, 1, 1)]),
    ("DECIMAL(38,10)", [Decimal("9999999999999999999999999999.9999999999"), Decimal("0E-10"), Decimal("-1.5")]),
    ("BINARY", [b"", b"\x00", b"\xff\xfe"]),
]


@pytest.mark.parametrize(("type_", "values"), ODD_VALUES)
def test_odd_values_name_their_own_partitions(lake, type_, values):
    table = lake.create_table("d.o", f"v INT, k {type_}", partitioned_by=["k"])
    table.write({"v": list(range(len(values) + 1)), "k": [*values, None]})
    assert len(table.partitions()) == len(values) + 1
    for place, value in enumerate(values):
        table.overwrite([{"v": place + 100}] if False else {"v": [place + 100], "k": [value]}, {"k": value})
    table.drop_partition({"k": None})
    assert one(lake, "d.o") == [place + 100 for place in range(len(values))]
    table.truncate({"k": values[0]})
    assert table.count() == len(values) - 1


def test_nan_and_the_zeros_are_each_one_partition(lake):
    """As Spark groups: NaN is one value, and 0.0 equals -0.0."""
    table = lake.create_table("d.o", "v INT, k DOUBLE", partitioned_by=["k"])
    table.write({"v": [1, 2, 3, 4], "k": [float("nan"), -float("nan"), 0.0, -0.0]})
    assert len(table.partitions()) == 2
    table.drop_partition({"k": float("nan")})
    assert one(lake, "d.o") == [3, 4]
    table.drop_partition({"k": 0.0})
    assert one(lake, "d.o") == []


def test_partition_columns_stay_as_they_are(table):
    before = table.version
    for change in ("DROP COLUMN k", "ALTER COLUMN n TYPE BIGINT"):
        with pytest.raises(Refused, match="partition column"):
            told(table, f"ALTER TABLE d.p {change}")
    assert table.version == before


@pytest.mark.parametrize(
    ("statement", "error", "word"),
    [
        ("ALTER TABLE d.plain ADD PARTITION (a = 1)", Refused, "not partitioned"),
        ("SHOW PARTITIONS d.plain", Refused, "not partitioned"),
        ("TRUNCATE TABLE d.plain PARTITION (a = 1)", Refused, "not partitioned"),
        ("INSERT OVERWRITE d.plain PARTITION (a = 1) VALUES (1)", Refused, "not partitioned"),
        ("INSERT INTO d.plain PARTITION (a) VALUES (1)", Refused, "not partitioned"),
        ("ALTER TABLE d.p ADD PARTITION (k = 'x')", Refused, "n"),
        ("ALTER TABLE d.p ADD PARTITION (k = 'x', v = 1)", NotFound, "v"),
        ("ALTER TABLE d.p ADD PARTITION (kk = 'x', n = 1)", NotFound, "'k'"),
        ("INSERT INTO d.p PARTITION (v) VALUES (1, 'a', 1)", NotFound, "v"),
        ("INSERT OVERWRITE d.p PARTITION (v = 1) VALUES ('a', 1)", NotFound, "v"),
    ],
)
def test_partition_clauses_that_do_not_fit(table, statement, error, word):
    told(table, "CREATE TABLE d.plain (a INT)")
    before = table.version
    with pytest.raises(error, match=word):
        told(table, statement)
    assert table.version == before
    assert len(one(table, "d.p")) == 5


def test_a_branch_replaces_partitions_apart(table):
    dev = table.create_branch("dev")
    told(dev, "INSERT OVERWRITE d.p PARTITION (k = 'a', n = 1) VALUES (9)", "ALTER TABLE d.p DROP PARTITION (k = NULL)")
    told(table, "ALTER TABLE d.p ADD PARTITION (k = 'main', n = 0)")
    assert one(table, "d.p") == [1, 2, 3, 4, 5]
    assert one(dev, "d.p") == [2, 3, 9]
    assert "k=main/n=0" not in dev.table("d.p").partitions()


@pytest.fixture
def named(lake):
    """A table whose rows are in one partition; another one is named."""
    told(lake, "CREATE TABLE d.t (k INT, p INT) PARTITIONED BY (p)", "INSERT INTO d.t VALUES (1, 0)")
    told(lake, "ALTER TABLE d.t ADD PARTITION (p = 7)", "CREATE BRANCH dev")
    return lake


def named_in(lake):
    return sorted(lake.table("d.t").partitions())


def test_a_merge_brings_the_partitions_that_theirs_named_and_takes_those_it_dropped(named):
    told(named.on("dev"), "ALTER TABLE d.t ADD PARTITION (p = 8)", "ALTER TABLE d.t DROP PARTITION (p = 7)")
    told(named, "ALTER TABLE d.t ADD PARTITION (p = 9)", "MERGE BRANCH dev")
    assert named_in(named) == ["p=0", "p=8", "p=9"]
    assert named_in(named.on("dev")) == ["p=0", "p=8"]


def test_a_restore_brings_named_partitions_back_and_takes_newer_ones(named):
    then = named.version
    told(named, "ALTER TABLE d.t ADD PARTITION (p = 8)", "ALTER TABLE d.t DROP PARTITION (p = 7)")
    told(named, f"RESTORE TABLE d.t TO VERSION {then}")
    assert named_in(named) == ["p=0", "p=7"]
    told(named, f"RESTORE TABLE d.t TO VERSION {then + 1}")
    assert named_in(named) == ["p=0", "p=7", "p=8"]


def test_a_partition_that_two_bases_tell_apart_conflicts_where_the_heads_do_too(named):
    """Criss-cross: ours has it by one base, theirs dropped it since, and the other base never had it."""
    dev = named.on("dev")
    told(dev, "ALTER TABLE d.t ADD PARTITION (p = 9)")
    told(named, "INSERT INTO d.t VALUES (2, 0)")
    ours, theirs = named.version, dev.version
    told(named, f"MERGE BRANCH dev@{theirs}")
    told(dev, f"MERGE BRANCH main@{ours}", "ALTER TABLE d.t DROP PARTITION (p = 9)")
    told(named, "INSERT INTO d.t VALUES (3, 0)")
    (conflict,) = named.conflicts("dev")
    assert (conflict.kind, conflict.rule, conflict.ours, conflict.theirs) == ("partition", "A7", "added", "dropped")
    with pytest.raises(MergeConflict):
        told(named, "MERGE BRANCH dev")
    assert named_in(named) == ["p=0", "p=7", "p=9"]
