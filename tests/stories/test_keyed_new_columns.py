"""Keys of which records know nothing of a column: it is newer, and has its default there, however many records a key
has; or it was dropped meanwhile, and has the value that nobody changed."""

from __future__ import annotations

import pytest

from anabranch.errors import MergeConflict
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


# --- columns that come back -------------------------------------------------------------------------------------------

OPTIONS = {**ANY, "sums": "'merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum'"}
WRITES = ["UPDATE d.t@dev SET a = 2 WHERE id = 1", "INSERT INTO d.t@dev VALUES (1, 2)"]


def dropped_and_written(lake, options, write, column="c INT"):
    """dev drops a column and writes a key since; the version of the drop."""
    told(lake, f"CREATE TABLE d.t (id INT, a INT, {column}, PRIMARY KEY (id)) TBLPROPERTIES ({options})")
    told(lake, "INSERT INTO d.t VALUES (1, 0, 5), (2, 0, 6)", "CREATE BRANCH dev", "ALTER TABLE d.t@dev DROP COLUMN c")
    dropped = lake.on("dev").version
    told(lake, write)
    return dropped


@pytest.mark.parametrize("engine", OPTIONS)
@pytest.mark.parametrize("write", WRITES)
def test_a_pick_of_a_write_that_knew_nothing_of_a_column(lake, engine, write):
    dropped_and_written(lake, OPTIONS[engine], write)
    told(lake, f"CHERRY PICK dev@{lake.on('dev').version}")
    everywhere(lake, [(1, 2, 5), (2, 0, 6)])


@pytest.mark.parametrize("engine", OPTIONS)
@pytest.mark.parametrize("write", WRITES)
def test_a_revert_of_the_drop_gives_the_values_back(lake, engine, write):
    dropped = dropped_and_written(lake, OPTIONS[engine], write)
    dev = lake.on("dev")
    told(dev, f"REVERT {dropped}")
    everywhere(dev, [(1, 2, 5), (2, 0, 6)])


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "sums"])
def test_a_default_is_no_value_of_a_write_that_knew_nothing_of_the_column(lake, engine):
    told(lake, f"CREATE TABLE d.t (id INT, a INT, PRIMARY KEY (id)) TBLPROPERTIES ({OPTIONS[engine]})")
    told(lake, "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 7", "INSERT INTO d.t VALUES (1, 0, 5)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev DROP COLUMN c", "INSERT INTO d.t@dev VALUES (1, 2), (3, 3)")
    told(lake, f"CHERRY PICK dev@{lake.on('dev').version}")
    assert rows(lake, "d.t") == [(1, 2, 5), (3, 3, 7)]


def test_what_ours_has_changed_in_it_stays(lake):
    """Theirs did not have the column, so it changed other things."""
    dropped_and_written(lake, ENGINES["deduplicate"], WRITES[0])
    told(lake, "UPDATE d.t SET c = 9 WHERE id = 1", f"CHERRY PICK dev@{lake.on('dev').version}")
    assert rows(lake, "d.t") == [(1, 2, 9), (2, 0, 6)]


def test_what_both_changed_still_conflicts_and_takes_it_along(lake):
    dropped_and_written(lake, ENGINES["deduplicate"], WRITES[0])
    told(lake, "UPDATE d.t SET a = 3, c = 9 WHERE id = 1")
    with pytest.raises(MergeConflict):
        told(lake, f"CHERRY PICK dev@{lake.on('dev').version}")
    told(lake, f"CHERRY PICK dev@{lake.on('dev').version} RESOLVE USING THEIRS")
    assert rows(lake, "d.t") == [(1, 2, 9), (2, 0, 6)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_not_null_is_no_conflict_where_ours_has_a_value(lake, engine):
    dropped_and_written(lake, ENGINES[engine], WRITES[1], "c INT NOT NULL")
    told(lake, f"CHERRY PICK dev@{lake.on('dev').version}")
    assert rows(lake, "d.t") == [(1, 2, 5), (2, 0, 6)]
    told(lake, "INSERT INTO d.t@dev VALUES (3, 3)")
    with pytest.raises(MergeConflict):
        told(lake, f"CHERRY PICK dev@{lake.on('dev').version}")


def test_a_key_that_ours_has_deleted_has_nothing_to_give(lake):
    dropped_and_written(lake, ENGINES["deduplicate"], WRITES[0])
    told(lake, "DELETE FROM d.t WHERE id = 1", f"CHERRY PICK dev@{lake.on('dev').version} RESOLVE USING THEIRS")
    assert rows(lake, "d.t") == [(1, 2, None), (2, 0, 6)]


def test_a_merge_after_the_drop_was_undone_here(lake):
    dropped = dropped_and_written(lake, ENGINES["deduplicate"], WRITES[0])
    told(lake, f"MERGE BRANCH dev@{dropped}")
    told(lake, f"REVERT {lake.version}", "MERGE BRANCH dev")
    everywhere(lake, [(1, 2, 5), (2, 0, 6)])
    told(lake, "MERGE BRANCH main TO dev")
    assert rows(lake, "d.t@dev") == [(1, 2, 5), (2, 0, 6)]
