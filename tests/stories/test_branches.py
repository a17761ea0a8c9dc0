"""Branches and tags: cheap, deep, apart from each other; and what happened, in the log."""

from itertools import pairwise

import pytest

from anabranch.errors import AlreadyExists, InvalidName, NotFound, Refused, SqlError
from tests.stories.telling import labels, one, rows, told


def test_a_branch_starts_with_everything_and_then_goes_its_own_way(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1), (2)", "CREATE BRANCH dev")
    dev = any_lake.on("dev")
    told(dev, "INSERT INTO d.t VALUES (3)", "DELETE FROM d.t WHERE a = 1", "CREATE TABLE d.u (a INT)")
    told(any_lake, "INSERT INTO d.t VALUES (10)", "UPDATE d.t SET a = 20 WHERE a = 2")
    assert one(any_lake, "d.t") == [1, 10, 20]
    assert one(dev, "d.t") == [2, 3]
    assert (any_lake.tables(), dev.tables()) == (["d.t"], ["d.t", "d.u"])


def test_branches_of_branches_of_branches(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (0)")
    deepest = any_lake
    for depth in range(1, 8):
        deepest = deepest.create_branch(f"b{depth}")
        told(deepest, f"INSERT INTO d.t VALUES ({depth})")
        told(any_lake.on("main"), f"INSERT INTO d.t VALUES ({-depth})")
    assert one(deepest, "d.t") == list(range(8))
    assert one(any_lake.on("b3"), "d.t") == [0, 1, 2, 3]
    told(deepest, "DELETE FROM d.t WHERE a = 2")
    assert one(deepest, "d.t") == [0, 1, 3, 4, 5, 6, 7]
    assert one(any_lake.on("b6"), "d.t") == [0, 1, 2, 3, 4, 5, 6]
    counts = [deepest.table("d.t", version=version).count() for version in range(2, deepest.version + 1)]
    assert counts == [0, 1, 2, 3, 4, 5, 6, 7, 8, 7]
    assert [commit.operation for commit in deepest.log()][:2] == ["DELETE", "INSERT"]
    assert [commit.version for commit in deepest.log()] == list(range(deepest.version, -1, -1))


def test_a_branch_starts_anywhere(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = any_lake.version
    told(
        any_lake,
        "INSERT INTO d.t VALUES (2)",
        "CREATE TAG two",
        "INSERT INTO d.t VALUES (3)",
        f"CREATE BRANCH old FROM main AT VERSION {then}",
        "CREATE BRANCH of_tag FROM two",
        "CREATE BRANCH of_old FROM old",
        "CREATE BRANCH now",
    )
    told(any_lake.on("old"), "INSERT INTO d.t VALUES (-1)")
    assert one(any_lake.on("old"), "d.t") == [-1, 1]
    assert one(any_lake.on("of_tag"), "d.t") == [1, 2]
    assert one(any_lake.on("of_old"), "d.t") == [1]
    assert one(any_lake.on("now"), "d.t") == [1, 2, 3]
    shown = {row[0]: row[2:5] for row in told(any_lake, "SHOW BRANCHES")}
    assert shown["old"] == ("main", then, then + 1)
    assert shown["of_tag"][:2] == ("main", then + 1)


def test_the_current_branch_is_marked_used_and_shown(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "CREATE BRANCH dev", "USE BRANCH dev", "INSERT INTO d.t VALUES (1)")
    assert told(lake, "SHOW CURRENT BRANCH") == [("dev",)]
    assert {row[0]: row[1] for row in told(lake, "SHOW BRANCHES")} == {"main": "", "dev": "*"}
    assert lake.branch == "dev"
    assert one(lake, "d.t@main") == []
    told(lake, "USE BRANCH main")
    assert one(lake, "d.t") == []
    assert one(lake, "d.t@dev") == [1]


def test_an_opened_table_stays_on_its_branch(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "CREATE BRANCH dev")
    table = lake.table("d.t")
    told(lake, "USE BRANCH dev", "INSERT INTO d.t VALUES (1)")
    assert table.branch == "main"
    assert table.write([{"a": 2}]) == 1
    assert (one(lake, "d.t@main"), one(lake, "d.t@dev")) == ([2], [1])


def test_a_lake_on_another_branch_does_not_move_the_first(lake):
    told(lake, "CREATE BRANCH dev")
    dev = lake.on("dev")
    told(dev, "CREATE DATABASE e")
    assert (lake.branch, dev.branch) == ("main", "dev")
    assert lake.databases() == ["d"]


def test_a_dropped_parent_leaves_its_children_whole(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    parent = any_lake.create_branch("parent")
    told(parent, "INSERT INTO d.t VALUES (2)", "ALTER TABLE d.t ADD COLUMN b INT DEFAULT 5")
    told(parent, "DELETE FROM d.t WHERE a = 1")
    forked = parent.version
    child = parent.create_branch("child")
    told(child, "INSERT INTO d.t VALUES (3, 3)")
    told(any_lake, "DROP BRANCH parent")
    assert rows(child, "d.t") == [(2, 5), (3, 3)]
    assert rows(child, "d.t", version=forked - 1) == [(1, 5), (2, 5)]
    told(child, f"RESTORE TABLE d.t TO VERSION {forked}")
    assert rows(child, "d.t") == [(2, 5)]
    with pytest.raises(NotFound, match="parent"):
        any_lake.on("parent")
    assert {row[0]: row[2] for row in told(any_lake, "SHOW BRANCHES")}["child"] == "parent (dropped)"


def test_a_name_is_free_again_and_means_another_branch(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)")
    told(any_lake.create_branch("dev"), "INSERT INTO d.t VALUES (1)")
    child = any_lake.on("dev").create_branch("child")
    told(any_lake, "DROP BRANCH dev", "INSERT INTO d.t VALUES (2)", "CREATE BRANCH dev")
    assert one(any_lake.on("dev"), "d.t") == [2]
    assert one(child, "d.t") == [1]


def test_a_session_on_a_dropped_branch_says_so(lake):
    dev = lake.create_branch("dev")
    told(lake, "DROP BRANCH dev")
    for attempt in (lambda: dev.version, lambda: dev.sql("CREATE DATABASE e"), lambda: dev.tables()):
        with pytest.raises((Refused, NotFound), match="dev"):
            attempt()
    told(dev, "USE BRANCH main")
    assert dev.databases() == ["d"]


def test_a_renamed_branch_keeps_its_rows_and_its_sessions(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)")
    dev = any_lake.create_branch("dev")
    told(dev, "INSERT INTO d.t VALUES (1)", "ALTER BRANCH dev RENAME TO prod")
    assert dev.branch == "prod"
    assert one(any_lake, "d.t@prod") == [1]
    with pytest.raises(NotFound, match="dev"):
        any_lake.table("d.t@dev")
    told(any_lake, "CREATE BRANCH dev", "RENAME BRANCH dev TO Prod2")
    assert {branch.name for branch in any_lake.branches()} == {"main", "prod", "Prod2"}


def test_tags_stay_where_they_were_put(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)", "CREATE TAG v1")
    then = any_lake.version
    told(any_lake, "INSERT INTO d.t VALUES (2)", f"CREATE TAG same FROM main AT VERSION {then}", "DROP TABLE d.t")
    assert one(any_lake, "d.t@v1") == one(any_lake, "d.t@same") == [1]
    assert [row[:3] for row in told(any_lake, "SHOW TAGS")] == [("same", "main", then), ("v1", "main", then)]
    told(any_lake, "ALTER TAG v1 RENAME TO v2", "DROP TAG same", "DROP TAG IF EXISTS same")
    assert [tag.name for tag in any_lake.tags()] == ["v2"]
    assert one(any_lake, "d.t@v2") == [1]


def test_a_tag_outlives_its_branch(lake):
    told(lake, "CREATE TABLE d.t (a INT)")
    told(lake.create_branch("dev"), "INSERT INTO d.t VALUES (1)", "CREATE TAG kept FROM dev")
    told(lake, "DROP BRANCH dev")
    assert one(lake, "d.t@kept") == [1]
    told(lake, "CREATE BRANCH again FROM kept")
    assert one(lake.on("again"), "d.t") == [1]
    assert [row[0] for row in told(lake, "SHOW TAGS")] == ["kept"]


@pytest.mark.parametrize(
    ("statement", "error", "word"),
    [
        ("CREATE BRANCH dev", AlreadyExists, "dev"),
        ("CREATE BRANCH DEV", AlreadyExists, "DEV"),
        ("CREATE BRANCH v1", AlreadyExists, "v1"),
        ("CREATE TAG dev", AlreadyExists, "dev"),
        ("CREATE TAG v1", AlreadyExists, "v1"),
        ("CREATE BRANCH main", AlreadyExists, "main"),
        ("ALTER BRANCH dev RENAME TO main", AlreadyExists, "main"),
        ("ALTER BRANCH dev RENAME TO v1", AlreadyExists, "v1"),
        ("ALTER TAG v1 RENAME TO dev", AlreadyExists, "dev"),
        ("CREATE BRANCH `12`", InvalidName, "12"),
        ("CREATE BRANCH `a@b`", InvalidName, "@"),
        ("CREATE BRANCH ``", SqlError, "empty"),
        ("CREATE BRANCH `  `", InvalidName, "empty"),
        ("CREATE BRANCH x FROM devv", NotFound, "'dev'"),
        ("CREATE BRANCH x AT VERSION 999", NotFound, "999"),
        ("CREATE TAG x FROM nothing", NotFound, "nothing"),
        ("USE BRANCH de", NotFound, "'dev'"),
        ("USE BRANCH v1", NotFound, "v1"),
        ("DROP BRANCH nothing", NotFound, "nothing"),
        ("DROP BRANCH main", Refused, "main"),
        ("DROP TAG dev", NotFound, "dev"),
        ("DROP TAG vv1", NotFound, "'v1'"),
        ("DROP BRANCH v1", NotFound, "v1"),
        ("SHOW LOG IN nothing", NotFound, "nothing"),
        ("INSERT INTO d.t@v1 VALUES (1)", Refused, "tag"),
        ("DELETE FROM d.t@nothing", NotFound, "nothing"),
    ],
)
def test_names_that_cannot_be(lake, statement, error, word):
    told(lake, "CREATE TABLE d.t (a INT)", "CREATE BRANCH dev", "CREATE TAG v1")
    before = ([b.name for b in lake.branches()], [t.name for t in lake.tags()], lake.version)
    with pytest.raises(error, match=word):
        told(lake, statement)
    assert ([b.name for b in lake.branches()], [t.name for t in lake.tags()], lake.version) == before


def test_the_branch_one_stands_on_is_not_dropped(lake):
    told(lake, "CREATE BRANCH dev", "USE BRANCH dev")
    with pytest.raises(Refused, match="USE"):
        told(lake, "DROP BRANCH dev")


def test_if_exists_and_if_not_exists(lake):
    told(lake, "CREATE BRANCH IF NOT EXISTS dev", "CREATE BRANCH IF NOT EXISTS dev", "DROP BRANCH IF EXISTS nothing")
    told(lake, "CREATE TAG IF NOT EXISTS v1", "CREATE TAG IF NOT EXISTS v1", "DROP TAG IF EXISTS nothing")
    assert {b.name for b in lake.branches()} == {"main", "dev"}
    assert [t.name for t in lake.tags()] == ["v1"]
    assert told(lake, "DROP BRANCH IF EXISTS nothing") == [("DROP BRANCH: nothing to do",)]
    assert told(lake, "DROP TAG IF EXISTS v1") == [("tag v1 dropped",)]


def test_the_log_tells_what_happened_newest_first(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    dev = any_lake.create_branch("dev")
    told(dev, "DELETE FROM d.t")
    told(any_lake, "TRUNCATE TABLE d.t")
    log = dev.log()
    assert [commit.operation for commit in log][:4] == ["DELETE", "INSERT", "CREATE TABLE", "CREATE DATABASE"]
    assert [commit.version for commit in log][:4] == [4, 3, 2, 1]
    assert {commit.author for commit in log[:4]} == {"ann"}
    assert all(new.time > old.time for new, old in pairwise(log))
    shown = told(dev, "SHOW LOG LIMIT 2")
    assert [(row[0], row[2], row[4]) for row in shown] == [(4, "dev", "DELETE"), (3, "main", "INSERT")]
    assert told(any_lake, "SHOW LOG IN dev LIMIT 1")[0][4] == "DELETE"
    assert told(any_lake, "SHOW LOG")[0][4] == "TRUNCATE"
    assert log[0].parents[0].version == 3


def test_creating_a_branch_costs_no_file(lake, tmp_path):
    table = lake.create_table("d.t", "a INT")
    table.write({"a": range(1000)})
    files = sorted((tmp_path / "lake" / "data").rglob("*"))
    dev = lake.create_branch("dev")
    told(dev, "DELETE FROM d.t WHERE a < 10")
    assert sorted((tmp_path / "lake" / "data").rglob("*")) == files
    assert labels(dev, "d.t") == ["a"]
    assert dev.table("d.t").count() == 990
