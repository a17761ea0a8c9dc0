"""Databases: made, renamed, described, dropped."""

import pytest

from anabranch.errors import MergeConflict, NotFound, Refused
from tests.stories.telling import one, rows, told


def test_a_database_is_created_shown_and_dropped(any_lake):
    told(any_lake, "CREATE DATABASE sales COMMENT 'what we sell'", "CREATE SCHEMA IF NOT EXISTS sales")
    assert told(any_lake, "SHOW DATABASES") == [("d",), ("sales",)]
    assert told(any_lake, "SHOW DATABASES LIKE 's*'") == [("sales",)]
    described = dict(told(any_lake, "DESCRIBE DATABASE sales"))
    assert described["comment"] == "what we sell"
    assert described["tables"] == "0"
    told(any_lake, "DROP DATABASE sales", "DROP DATABASE IF EXISTS sales")
    assert any_lake.databases() == ["d"]


def test_if_not_exists_on_a_taken_name_commits_nothing(lake):
    before = lake.version
    told(lake, "CREATE DATABASE IF NOT EXISTS d", "DROP DATABASE IF EXISTS nowhere", "DROP TABLE IF EXISTS d.nothing")
    assert lake.version == before


def test_properties_are_set_replaced_and_unset(any_lake):
    told(
        any_lake,
        "CREATE DATABASE e WITH DBPROPERTIES (owner = 'ann', stage = 'raw')",
        "ALTER DATABASE e SET DBPROPERTIES (stage = 'clean', weight = 3)",
        "ALTER DATABASE e UNSET DBPROPERTIES (owner)",
    )
    assert dict(told(any_lake, "DESCRIBE DATABASE e"))["properties"] == "stage=clean, weight=3"
    with pytest.raises(NotFound, match="owner"):
        told(any_lake, "ALTER DATABASE e UNSET DBPROPERTIES (owner)")
    told(any_lake, "ALTER DATABASE e UNSET DBPROPERTIES IF EXISTS (owner)")


def test_a_renamed_database_takes_its_tables_along_and_frees_its_name(any_lake):
    told(
        any_lake,
        "CREATE TABLE d.t (a INT)",
        "INSERT INTO d.t VALUES (1)",
        "ALTER DATABASE d RENAME TO e",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
    )
    assert one(any_lake, "e.t") == [1]
    assert one(any_lake, "d.t") == []
    assert any_lake.tables() == ["d.t", "e.t"]


def test_renaming_a_database_can_change_nothing_but_case(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)", "ALTER DATABASE d RENAME TO D")
    assert lake.databases() == ["D"]
    assert one(lake, "d.t") == [1]


def test_a_database_with_tables_is_dropped_only_by_cascade(lake):
    told(lake, "CREATE TABLE d.t (a INT)")
    with pytest.raises(Refused, match="CASCADE"):
        told(lake, "DROP DATABASE d")
    with pytest.raises(Refused, match="CASCADE"):
        told(lake, "DROP DATABASE d RESTRICT")
    told(lake, "DROP DATABASE d CASCADE")
    assert lake.databases() == []
    assert lake.tables() == []


def test_a_database_of_the_same_name_is_another_database(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    version = lake.version
    told(lake, "DROP DATABASE d CASCADE", "CREATE DATABASE d")
    assert lake.tables("d") == []
    assert rows(lake, "d.t", version) == [(1,)]


def test_databases_belong_to_their_branch(any_lake):
    dev = any_lake.create_branch("dev")
    told(dev, "CREATE DATABASE only_dev", "ALTER DATABASE d RENAME TO dd")
    assert any_lake.databases() == ["d"]
    assert dev.databases() == ["dd", "only_dev"]
    assert told(any_lake, "DESCRIBE DATABASE only_dev@dev")[0] == ("name", "only_dev")


@pytest.mark.parametrize("how", ["MERGE BRANCH x", "CHERRY PICK x@{then}", "REVERT dev@{then}"])
def test_a_cascade_is_one_whatever_way_it_comes(lake, how):
    told(lake, "CREATE DATABASE e", "CREATE TABLE e.old (a INT)")
    dev, then = lake.create_branch("dev"), lake.version + 1
    if how.startswith("REVERT"):  # of the REVERT of the drop
        told(dev, "DROP DATABASE e CASCADE", f"REVERT dev@{then}")
        then += 1
    else:
        told(lake.create_branch("x"), "DROP DATABASE e CASCADE")
    told(dev, how.format(then=then))
    told(lake, "CREATE TABLE e.new (a INT)", "MERGE BRANCH dev")
    assert (lake.databases(), lake.tables()) == (["d"], [])


@pytest.mark.parametrize("kind", ["TABLE d.t", "DATABASE d"])
def test_a_property_that_both_have_alike_is_no_news(lake, kind):
    told(lake, "CREATE TABLE d.t (a INT)")
    of = "TBLPROPERTIES" if "TABLE" in kind else "DBPROPERTIES"
    dev = lake.create_branch("dev")
    told(dev, f"ALTER {kind} SET {of} (y = '1')")
    told(lake, f"ALTER {kind} SET {of} (y = '1')", f"ALTER {kind} SET {of} (x = '1')")
    assert lake.cherry_pick(f"dev@{dev.version}").up_to_date
    assert lake.merge("dev").up_to_date


@pytest.mark.parametrize("kind", ["TABLE d.t", "DATABASE d"])
def test_a_property_that_is_unset_already_needs_no_revert(lake, kind):
    told(lake, "CREATE TABLE d.t (a INT)")
    of = "TBLPROPERTIES" if "TABLE" in kind else "DBPROPERTIES"
    told(lake, f"ALTER {kind} SET {of} (y = '1')")
    then = lake.version
    told(lake, f"ALTER {kind} UNSET {of} (y)", f"ALTER {kind} SET {of} (z = '1')")
    assert lake.revert(then).up_to_date


def test_a_name_in_conflict_is_told_as_ours_calls_it(lake):
    """Both moved: the name that two things would have is none that ours knows yet."""
    told(lake, "CREATE DATABASE e", "CREATE TABLE d.a (id INT)")
    told(
        lake.create_branch("dev"),
        "ALTER DATABASE d RENAME TO x",
        "ALTER DATABASE e RENAME TO d",
        "CREATE TABLE d.n (id INT)",
    )
    told(lake, "CREATE TABLE e.n (id INT)")
    with pytest.raises(MergeConflict, match=r"ALTER TABLE e\.n RENAME TO …") as refused:
        lake.merge("dev")
    assert [(one.object, one.rule) for one in refused.value.conflicts] == [("d.n", "names")]
    told(lake, "ALTER TABLE e.n RENAME TO e.m", "MERGE BRANCH dev")
    assert lake.tables() == ["d.m", "d.n", "x.a"]


def test_a_pick_into_a_database_that_is_not_here_names_it(lake):
    told(lake, "CREATE TABLE d.t (id INT)")
    dev = lake.create_branch("dev")
    told(lake, "CREATE DATABASE e", "ALTER TABLE d.t RENAME TO e.t")
    with pytest.raises(MergeConflict) as refused:
        dev.cherry_pick(f"main@{lake.version}")
    found = [(one.object, one.rule) for one in refused.value.conflicts]
    assert found == [("e", "absent"), ("e.t", "database")]
