"""EXPLAIN: which parts a statement reads, skips and masks, and by which way, without opening one."""

import pytest

import anabranch
from anabranch.errors import Refused
from anabranch.options import Limits
from tests.stories.telling import told


def explained(lake, statement):
    """(table, way) -> (parts, dead rows)."""
    return {(row[0], row[1]): (row[2], row[4]) for row in told(lake, f"EXPLAIN {statement}")}


@pytest.fixture
def table(lake):
    told(lake, "CREATE TABLE d.t (a INT, s STRING)")
    for first in (0, 100, 200):
        lake.table("d.t").write({"a": range(first, first + 100), "s": [f"s{first}"] * 100})
    return lake


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("a < 50", 1),
        ("a >= 250", 1),
        ("a BETWEEN 90 AND 110", 2),
        ("a = 1000", 0),
        ("a IN (5, 205)", 2),
        ("a IS NULL", 0),
        ("s = 's100'", 1),
        ("a > 50 AND s = 's0'", 1),
        ("a > 50 OR s = 's0'", 3),
        ("a % 2 = 0", 3),
        ("true", 3),
        ("t.a < 50", 1),
        ("50 > a", 1),
    ],
)
def test_parts_that_cannot_hold_a_row_are_skipped(table, where, read):
    found = explained(table, f"SELECT count(*) FROM d.t WHERE {where}")
    assert found.get(("d.t", "local"), (0, 0))[0] == read
    assert found.get(("d.t", "skipped"), (0, 0))[0] == 3 - read


def test_deletes_and_updates_explain_their_scan(table):
    assert explained(table, "DELETE FROM d.t WHERE a < 50")[("d.t", "skipped")][0] == 2
    assert explained(table, "UPDATE d.t SET s = 'x' WHERE a = 150")[("d.t", "skipped")][0] == 2
    assert explained(table, "INSERT INTO d.t SELECT a, s FROM d.t WHERE a > 1000")[("d.t", "skipped")][0] == 3
    assert table.table("d.t").count() == 300


def test_dead_rows_are_counted_and_parts_without_living_ones_skipped(table):
    told(table, "DELETE FROM d.t WHERE a < 10", "DELETE FROM d.t WHERE a >= 200")
    found = explained(table, "SELECT * FROM d.t")
    assert found == {("d.t", "local"): (2, 10), ("d.t", "skipped"): (1, None)}


def test_every_table_and_branch_of_a_query_is_explained(table):
    told(table, "CREATE TABLE d.u (a INT)", "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (999, 'dev')")
    found = told(
        table,
        """EXPLAIN WITH c AS (SELECT a FROM d.t@dev WHERE a > 500)
           SELECT * FROM c JOIN d.t AS x ON c.a = x.a WHERE x.a < 50 AND c.a NOT IN (SELECT a FROM d.u)""",
    )
    assert {row[0] for row in found} >= {"d.t", "d.u"}
    assert sum(row[2] for row in found if row[0] == "d.t" and row[1] == "local") == 2


def test_larger_parts_go_to_spark_masked_where_rows_are_dead(tmp_path):
    """The ways that Spark takes, decided from the catalog alone: the limits are made tiny here, not the parts large."""
    limits = Limits(small_part=2000, local_scan=0, few_parts=0)
    with anabranch.connect(tmp_path / "lake", durability="process", limits=limits) as lake:
        told(lake, "CREATE DATABASE d", "CREATE TABLE d.t (a INT, s STRING)")
        table = lake.table("d.t")
        for first, count in ((0, 2000), (10_000, 2000), (20_000, 3)):
            table.write({"a": range(first, first + count), "s": [str(n) for n in range(count)]})
        assert explained(lake, "SELECT * FROM d.t") == {("d.t", "native"): (2, 0), ("d.t", "bundled"): (1, 0)}
        table.delete("a = 5")
        assert explained(lake, "SELECT * FROM d.t") == {("d.t", "masked"): (2, 1), ("d.t", "bundled"): (1, 0)}
        assert explained(lake, "SELECT * FROM d.t WHERE a > 15000") == {
            ("d.t", "bundled"): (1, 0),
            ("d.t", "skipped"): (2, None),
        }


def test_statements_that_read_no_table_explain_to_nothing(table):
    before = table.version
    assert told(table, "EXPLAIN INSERT INTO d.t VALUES (1, 'x')") == []
    assert told(table, "EXPLAIN SELECT 1") == []
    assert table.version == before


@pytest.mark.parametrize(
    ("statement", "has_dry_run"),
    [
        ("MERGE BRANCH dev", True),
        ("CHERRY PICK dev@3", True),
        ("REVERT 2", True),
        ("DROP TABLE d.t", False),
        ("CREATE TABLE d.u (a INT)", False),
        ("ALTER TABLE d.t ADD COLUMN b INT", False),
        ("CREATE BRANCH other", False),
        ("OPTIMIZE d.t", False),
        ("TRUNCATE TABLE d.t", False),
        ("RESTORE TABLE d.t TO VERSION 2", False),
        ("SHOW TABLES", False),
        ("DESCRIBE d.t", False),
    ],
)
@pytest.mark.parametrize("how", ["EXPLAIN", "EXPLAIN EXTENDED"])
def test_what_cannot_be_explained_is_refused(table, how, statement, has_dry_run):
    told(table, "CREATE BRANCH dev", "DELETE FROM d.t@dev WHERE a = 1")
    before = table.version, table.on("dev").version
    with pytest.raises(Refused) as raised:
        told(table, f"{how} {statement}")
    assert f"not {statement}." in str(raised.value)
    assert ("DRY RUN" in str(raised.value)) == has_dry_run
    assert (table.version, table.on("dev").version) == before
