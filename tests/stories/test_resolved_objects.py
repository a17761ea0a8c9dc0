"""Conflicts of databases and of what tables are called, dropped or set to: once resolved they stay resolved."""

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told

SETUP = (
    "CREATE TABLE d.t (id INT) TBLPROPERTIES ('p' = '1')",
    "INSERT INTO d.t VALUES (1)",
    "CREATE DATABASE e WITH DBPROPERTIES ('p' = '1')",
    "CREATE BRANCH dev",
)

# name: what ours did, what theirs did, and the names that main has after OURS and after THEIRS
CASES = {
    "both unset a property of a table": (
        ["ALTER TABLE d.t UNSET TBLPROPERTIES ('p')"],
        ["ALTER TABLE d.t@dev UNSET TBLPROPERTIES ('p')"],
        (["d", "e"], ["d.t"]),
        (["d", "e"], ["d.t"]),
    ),
    "both unset a property of a database": (
        ["ALTER DATABASE e UNSET DBPROPERTIES ('p')"],
        ["ALTER DATABASE e@dev UNSET DBPROPERTIES ('p')"],
        (["d", "e"], ["d.t"]),
        (["d", "e"], ["d.t"]),
    ),
    "a database dropped and renamed": (
        ["DROP DATABASE e"],
        ["ALTER DATABASE e@dev RENAME TO f"],
        (["d"], ["d.t"]),
        (["d", "f"], ["d.t"]),
    ),
    "a database dropped here, a table created in it there": (
        ["DROP DATABASE e"],
        ["CREATE TABLE e.x@dev (a INT)", "INSERT INTO e.x@dev VALUES (1)"],
        (["d"], ["d.t"]),
        (["d", "e"], ["d.t", "e.x"]),
    ),
    "a table created here, its database dropped there": (
        ["CREATE TABLE e.x (a INT)", "INSERT INTO e.x VALUES (1)"],
        ["DROP DATABASE e@dev"],
        (["d", "e"], ["d.t", "e.x"]),
        (["d"], ["d.t"]),
    ),
    "a table dropped and changed": (
        ["DROP TABLE d.t"],
        ["INSERT INTO d.t@dev VALUES (2)"],
        (["d", "e"], []),
        (["d", "e"], ["d.t"]),
    ),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-").replace(",", ""))
def case(request, lake):
    ours, theirs, *after = CASES[request.param]
    told(lake, *SETUP, *ours, *theirs)
    return lake, dict(zip(("OURS", "THEIRS"), after, strict=True))


@pytest.mark.parametrize("side", ["OURS", "THEIRS"])
def test_a_resolved_merge_is_a_commit_and_never_asks_again(case, side):
    lake, after = case
    before = lake.version
    with pytest.raises(MergeConflict, match="RESOLVE USING OURS or THEIRS takes one side"):
        lake.sql("MERGE BRANCH dev")
    done = lake.sql(f"MERGE BRANCH dev RESOLVE USING {side}").collect()
    assert {row.status for row in done} == {f"version {before + 1}"}
    assert all(row.change for row in done)
    assert (lake.databases(), lake.tables()) == after[side]
    assert len(lake.log(limit=1)[0].parents) == 2
    assert [row.status for row in lake.sql("MERGE BRANCH dev")] == ["up to date"]
    told(lake, "MERGE BRANCH main TO dev")
    assert (lake.on("dev").databases(), lake.on("dev").tables()) == after[side]


# What theirs and ours did, and what a merge says that kept all of ours.
KEPT = {
    "a field of a struct that ours dropped": (
        ["ALTER TABLE d.s@dev ADD COLUMN s.y INT"],
        ["ALTER TABLE d.s DROP COLUMN s"],
        ("d.s", "kept ours"),
    ),
    "a column that ours dropped": (
        ["ALTER TABLE d.s@dev ALTER COLUMN v TYPE BIGINT"],
        ["ALTER TABLE d.s DROP COLUMN v"],
        ("d.s", "kept ours"),
    ),
    "a type, resolved": (
        ["ALTER TABLE d.s@dev ALTER COLUMN v TYPE SMALLINT"],
        ["ALTER TABLE d.s ALTER COLUMN v TYPE BIGINT"],
        ("d.s", "kept ours"),
    ),
    "a database that ours dropped, resolved": (
        ["ALTER DATABASE e@dev RENAME TO f"],
        ["DROP DATABASE e"],
        ("e", "kept ours"),
    ),
    "a table in a database that ours dropped, resolved": (
        ["CREATE TABLE e.t@dev (id INT)"],
        ["DROP DATABASE e"],
        ("e", "kept ours"),
        ("e.t", "kept ours"),
    ),
    "a NOT NULL that ours' rows break, resolved": (
        ["ALTER TABLE d.s@dev ALTER COLUMN v SET NOT NULL"],
        ["INSERT INTO d.s (id) VALUES (1)"],
        ("d.s", "kept ours"),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_merge_that_keeps_ours_says_so(lake, name):
    theirs, ours, *expected = KEPT[name]
    told(lake, "CREATE DATABASE e", "CREATE TABLE d.s (id INT, v TINYINT, s STRUCT<x:INT>)", "CREATE BRANCH dev")
    told(lake, *theirs, *ours)
    before = lake.version
    preview = lake.merge("dev", resolve="ours", dry_run=True).result().collect()
    done = lake.merge("dev", resolve="ours").result().collect()
    assert [(row.object, row.change) for row in preview] == [(row.object, row.change) for row in done] == expected
    assert lake.version == before + 1
    assert lake.merge("dev").up_to_date


def test_keeping_ours_is_a_commit_though_theirs_versions_are_lower_than_the_base(lake):
    """The base is a version of main, which theirs merged: those of dev count from its fork."""
    told(lake, "CREATE TABLE d.t (k INT, a INT)", "INSERT INTO d.t VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, *(f"INSERT INTO d.t VALUES ({k}, 0)" for k in range(2, 8)))
    told(lake.on("dev"), "MERGE BRANCH main", "UPDATE d.t SET a = 9 WHERE k = 1")
    told(lake, "UPDATE d.t SET a = 8 WHERE k = 1")
    version = lake.version
    assert version > lake.on("dev").version + 1
    told(lake, "MERGE BRANCH dev RESOLVE USING OURS")
    assert lake.version == version + 1
    assert [row[-1] for row in told(lake, "MERGE BRANCH dev RESOLVE USING THEIRS")] == ["up to date"]
    assert (lake.version, rows(lake, "d.t")[0]) == (version + 1, (1, 8))


def test_a_revert_that_changes_nothing_is_no_commit(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT")
    told(lake, "INSERT INTO d.t VALUES (5000000000)")
    before = lake.version
    assert [row.status for row in lake.sql("REVERT 3 RESOLVE USING OURS")] == ["up to date"]
    assert lake.version == before


def test_a_revert_of_an_update_that_was_overwritten_is_no_commit(lake):
    told(lake, "CREATE TABLE d.t (id INT, a INT)", "INSERT INTO d.t VALUES (1, 1)", "UPDATE d.t SET a = 2")
    told(lake, "UPDATE d.t SET a = 3")
    before = lake.version
    assert [row.status for row in lake.sql("REVERT 4 RESOLVE USING OURS")] == ["up to date"]
    assert (rows(lake, "d.t"), lake.version) == ([(1, 3)], before)


def test_a_pick_that_keeps_ours_says_so(lake):
    told(lake, "CREATE TABLE d.t (id INT, v INT)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN v TYPE BIGINT", "ALTER TABLE d.t DROP COLUMN v")
    assert [row.change for row in lake.sql("CHERRY PICK dev@3")] == ["kept ours"]


def test_rows_come_with_the_table_that_a_resolution_revives(lake):
    told(lake, *SETUP, "DROP DATABASE e", "CREATE TABLE e.x@dev (a INT)", "INSERT INTO e.x@dev VALUES (7)")
    told(lake, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(lake, "e.x") == [(7,)]


def test_tables_that_go_with_their_database_are_named_in_full(lake):
    told(lake, *SETUP, "CREATE TABLE e.x (a INT)", "DROP DATABASE e@dev CASCADE")
    assert [(row.object, row.change) for row in lake.sql("MERGE BRANCH dev")] == [("e", "drop"), ("e.x", "drop")]


def test_types_that_grew_apart_are_one_conflict_and_the_message_says_when_resolving_does_not_help(lake):
    told(lake, "CREATE TABLE d.n (x INT)", "INSERT INTO d.n VALUES (1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.n ALTER COLUMN x TYPE BIGINT", "INSERT INTO d.n VALUES (5000000000)")
    told(lake, "ALTER TABLE d.n@dev ALTER COLUMN x TYPE DOUBLE", "INSERT INTO d.n@dev VALUES (0.5)")
    assert [(c.column, c.ours, c.theirs) for c in lake.conflicts("dev")] == [("x", "bigint", "double")]
    with pytest.raises(MergeConflict, match="RESOLVE USING OURS does not settle this"):
        lake.sql("MERGE BRANCH dev RESOLVE USING OURS")


def test_a_message_names_each_side(lake):
    told(lake, "CREATE TABLE d.n (id INT, x INT)", "INSERT INTO d.n VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, "UPDATE d.n SET x = 2", "UPDATE d.n@dev SET x = 3")
    with pytest.raises(MergeConflict, match=r"d\.n, file of slot 1: theirs 1 row updated, ours 1 row updated"):
        lake.sql("MERGE BRANCH dev")
    with pytest.raises(MergeConflict, match=r"d\.n, row \d+: theirs x = 3, ours x = 2"):
        lake.sql("MERGE BRANCH dev WITH (detect = 'row')")
    told(lake, "CREATE TABLE d.y (a INT)", "CREATE TABLE d.y@dev (a INT)")
    with pytest.raises(MergeConflict, match="rename one first"):
        lake.sql("MERGE BRANCH dev RESOLVE USING OURS")


def test_the_records_of_a_refused_merge_print_as_a_table(lake):
    told(lake, "CREATE TABLE d.n (id INT, x INT)", "INSERT INTO d.n VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, "UPDATE d.n SET x = 2", "UPDATE d.n@dev SET x = 3")
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect="row")
    head, _, line = str(refused.value.conflicts).splitlines()
    assert head.split() == ["object", "kind", "rule", "row", "column", "base", "ours", "theirs"]
    assert "id=1, x=2" in line
    preview = lake.merge("dev", detect="row", dry_run=True)
    assert (
        repr(preview) == repr(refused.value.conflicts) == str(lake.sql("SHOW CONFLICTS IN dev WITH (detect = 'row')"))
    )
    assert "preview" in repr(lake.merge("dev", detect="row", resolve="ours", dry_run=True))
