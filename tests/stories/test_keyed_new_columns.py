"""Keys whose records are older than a column: it has its default there, however many records the key has."""

from __future__ import annotations

import pytest

from tests.stories.telling import in_order, rows, told

ENGINES = {
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "partial-update": "'merge-engine' = 'partial-update'",
    "partial-update, removing": (
        "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'"
    ),
    "aggregation, removing": "'merge-engine' = 'aggregation', 'aggregation.remove-record-on-delete' = 'true'",
}
ANY = {**ENGINES, "aggregation": "'merge-engine' = 'aggregation'"}
GIVEN = [{"id": 1, "a": 1, "b": 5, "n": 7}]


def undone_here_and_updated_there(lake, options):
    """main has taken the key's insert back, dev has updated it, and added a column since."""
    told(lake, f"CREATE TABLE d.t (id INT, a INT, b INT, PRIMARY KEY (id)) TBLPROPERTIES ({options})")
    before = lake.version
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2)", "CREATE BRANCH dev")
    told(lake, f"RESTORE TABLE d.t TO VERSION {before}", "UPDATE d.t@dev SET b = 5 WHERE id = 1")
    told(lake, "ALTER TABLE d.t@dev ADD COLUMN n INT NOT NULL DEFAULT 7")


def everywhere(lake, expected):
    """The rows by scan, lookup and compaction."""
    for step in ("as written", "compacted"):
        assert rows(lake, "d.t") == expected, step
        found = lake.table("d.t").lookup([row[0] for row in expected])
        assert in_order(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
        told(lake, "OPTIMIZE d.t")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", [{"resolve": "theirs"}, {"resolutions": {"d.t": GIVEN}}], ids=["theirs", "given"])
def test_the_default_of_a_column_that_theirs_added(lake, engine, how):
    undone_here_and_updated_there(lake, ENGINES[engine])
    lake.merge("dev", **how)
    everywhere(lake, [(1, 1, 5, 7)])
    told(lake, "UPDATE d.t SET b = 6")
    everywhere(lake, [(1, 1, 6, 7)])
    told(lake, "UPDATE d.t SET n = 8")
    everywhere(lake, [(1, 1, 6, 8)])


def alone(lake, options):
    """An UPDATE whose key's insert was taken back, then a column, then another UPDATE."""
    told(lake, f"CREATE TABLE d.t (id INT, a INT, b INT, PRIMARY KEY (id)) TBLPROPERTIES ({options})")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1)")
    insert = lake.version
    told(lake, "UPDATE d.t SET a = 3, b = 5", f"REVERT {insert} RESOLVE USING OURS")
    told(lake, "ALTER TABLE d.t ADD COLUMN n INT NOT NULL DEFAULT 7")
    assert rows(lake, "d.t") == [(1, 3, 5, 7)]
    told(lake, "UPDATE d.t SET b = 6")


@pytest.mark.parametrize("engine", ANY)
def test_a_second_update_changes_what_it_sets(lake, engine):
    alone(lake, ANY[engine])
    everywhere(lake, [(1, 3, 6, 7)])


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_the_same_by_spark(spark_lake, engine):
    alone(spark_lake, ANY[engine])
    for _ in range(2):
        assert [tuple(row) for row in spark_lake.table("d.t").to_spark().collect()] == [(1, 3, 6, 7)]
        told(spark_lake, "OPTIMIZE d.t")
