"""Branches that meet again: every merge told in SQL, and the rows that are then there."""

import itertools
import re
from pathlib import Path

import pytest

from anabranch.errors import InvalidOption, MergeConflict, NotFound, Refused, SqlError
from tests.stories.telling import labels, one, rows, told

ROW = "WITH (detect = 'row')"
CELL = "WITH (detect = 'cell')"


@pytest.fixture
def people(lake):
    """d.t with three rows, and the branch `dev`."""
    told(lake, "CREATE TABLE d.t (id INT, name STRING, age INT)")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "CREATE BRANCH dev")
    return lake


def merged(lake, statement):
    """The versions that a merge made of its branch; 'up to date' if none."""
    return {row.status for row in lake.sql(statement)}


# --- who meets whom ---------------------------------------------------------------------------------------------------


def test_both_sides_moved_and_both_changes_are_there(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1), (2), (3)", "CREATE BRANCH dev")
    told(any_lake, "INSERT INTO d.t@dev VALUES (4)", "DELETE FROM d.t@dev WHERE a = 1", "CREATE TABLE d.u@dev (x INT)")
    told(any_lake, "UPDATE d.t SET a = 20 WHERE a = 2", "INSERT INTO d.t VALUES (10)")
    result = any_lake.sql(f"MERGE BRANCH dev {ROW}")
    assert result.columns == ["object", "change", "rows_added", "rows_removed", "status"]
    assert [row.object for row in result] == ["d.t", "d.u"]
    assert one(any_lake, "d.t") == [3, 4, 10, 20]
    assert any_lake.tables() == ["d.t", "d.u"]
    assert one(any_lake, "d.t@dev") == [2, 3, 4]
    newest = any_lake.log(limit=1)[0]
    assert (newest.operation, len(newest.parents)) == ("MERGE BRANCH", 2)


def test_to_names_the_branch_that_is_changed(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "CREATE BRANCH other", "MERGE BRANCH dev TO other")
    assert len(rows(people, "d.t@other")) == 4
    assert len(rows(people, "d.t")) == 3
    assert people.branch == "main"


def test_names_that_need_backquotes(people):
    told(people, "CREATE BRANCH `my-branch` FROM dev", "INSERT INTO d.t@`my-branch` VALUES (4, 'd', 4)")
    told(people, "CREATE BRANCH `a b`", "MERGE BRANCH `my-branch` TO `a b`")
    assert len(rows(people.on("a b"), "d.t")) == 4


def test_there_and_back_and_again(people):
    told(people, "INSERT INTO d.t VALUES (10, 'm', 0)", "INSERT INTO d.t@dev VALUES (20, 'd', 0)")
    told(people, "MERGE BRANCH main TO dev", "INSERT INTO d.t@dev VALUES (21, 'd', 0)", "MERGE BRANCH dev")
    assert [row[0] for row in rows(people, "d.t")] == [1, 2, 3, 10, 20, 21]
    assert rows(people, "d.t") == rows(people, "d.t@dev")
    told(people, "INSERT INTO d.t VALUES (11, 'm', 0)", "MERGE BRANCH main TO dev", "MERGE BRANCH dev")
    assert rows(people, "d.t") == rows(people, "d.t@dev")
    assert len(rows(people, "d.t")) == 7


def test_a_second_merge_takes_only_what_is_new(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    assert merged(people, "MERGE BRANCH dev") == {f"version {people.version}"}
    before = people.version
    assert merged(people, "MERGE BRANCH dev") == {"up to date"}
    assert people.version == before
    told(people, "INSERT INTO d.t@dev VALUES (5, 'e', 5)", "MERGE BRANCH dev")
    assert [row[0] for row in rows(people, "d.t")] == [1, 2, 3, 4, 5]


def test_what_was_undone_is_nothing_to_merge(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "DELETE FROM d.t@dev WHERE id = 4")
    assert merged(people, "MERGE BRANCH dev DRY RUN") == {"up to date"}
    assert merged(people, "MERGE BRANCH dev") == {"up to date"}


@pytest.mark.parametrize("detect", [ROW, CELL])
def test_updates_that_show_nothing_else_are_nothing_to_merge(people, detect):
    told(people, "UPDATE d.t SET age = 9 WHERE id = 3")
    told(people, "UPDATE d.t@dev SET age = age, name = name WHERE id < 3")
    assert merged(people, f"MERGE BRANCH dev {detect}") == {"up to date"}
    told(people, "UPDATE d.t@dev SET age = age + 1 WHERE id < 3", "UPDATE d.t@dev SET age = age - 1 WHERE id < 3")
    assert merged(people, f"MERGE BRANCH dev {detect}") == {"up to date"}
    told(people, "UPDATE d.t@dev SET age = 2 WHERE id < 3")  # one of the two rows has it already
    assert merged(people, f"MERGE BRANCH dev {detect}") == {f"version {people.version}"}
    assert rows(people, "d.t") == [(1, "a", 2), (2, "b", 2), (3, "c", 9)]


def test_an_update_of_a_column_that_is_gone_is_nothing_to_merge(people):
    told(people, "UPDATE d.t SET name = 'z' WHERE id = 3", "UPDATE d.t@dev SET age = 9 WHERE id < 3")
    told(people, "ALTER TABLE d.t@dev DROP COLUMN age", "ALTER TABLE d.t DROP COLUMN age")
    assert merged(people, f"MERGE BRANCH dev {ROW}") == {"up to date"}


def test_updates_of_other_rows_merge_without_a_look_at_the_files(people, monkeypatch):
    told(people, "UPDATE d.t SET age = 9 WHERE id = 3", "UPDATE d.t@dev SET age = age + 1 WHERE id < 3")
    with monkeypatch.context() as shut:
        for reader in ("read_rows", "read_part"):
            shut.setattr(f"anabranch.execution.fetch.{reader}", lambda *_: pytest.fail("a file was read"))
        assert merged(people, f"MERGE BRANCH dev {CELL}") == {f"version {people.version}"}
    assert rows(people, "d.t") == [(1, "a", 2), (2, "b", 3), (3, "c", 9)]


def test_what_is_new_on_theirs_is_the_same_on_ours(people):
    """Its ids are (LAW.md, "Names and existence"), so that a later rename is one."""
    dev = people.on("dev")
    told(dev, "CREATE DATABASE n", "CREATE TABLE n.u (k INT)", "CREATE TABLE d.w (k INT)")
    told(people, "INSERT INTO d.t VALUES (9, 'z', 9)", "MERGE BRANCH dev")
    for name in ("n.u", "d.w"):
        assert people.table(name).id == dev.table(name).id
    assert told(people, "DESCRIBE DATABASE n") == told(dev, "DESCRIBE DATABASE n")
    assert dict(told(people, "DESCRIBE DATABASE n"))["id"]
    told(dev, "ALTER TABLE d.w RENAME TO n.w", "ALTER DATABASE n RENAME TO m")
    told(people, "MERGE BRANCH dev")
    assert (people.databases(), people.tables()) == (["d", "m"], ["d.t", "m.u", "m.w"])


def test_grandchildren_merge_past_their_parent(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "CREATE BRANCH kid FROM dev")
    told(people, "INSERT INTO d.t@kid VALUES (5, 'e', 5)", "INSERT INTO d.t@dev VALUES (6, 'f', 6)")
    told(people, "MERGE BRANCH kid")
    assert one(people, "d.t") == [1, 2, 3, 4, 5]
    told(people, "MERGE BRANCH dev")
    assert one(people, "d.t") == [1, 2, 3, 4, 5, 6]
    told(people, "MERGE BRANCH main TO kid")
    assert one(people, "d.t@kid") == [1, 2, 3, 4, 5, 6]
    assert merged(people, "MERGE BRANCH dev TO kid") == {"up to date"}


def test_siblings(people):
    told(people, "CREATE BRANCH sister", "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    told(people, "UPDATE d.t@sister SET age = 30 WHERE id = 3", f"MERGE BRANCH dev TO sister {ROW}")
    assert rows(people, "d.t@sister") == [(1, "a", 1), (2, "b", 2), (3, "c", 30), (4, "d", 4)]
    told(people, "MERGE BRANCH dev", f"MERGE BRANCH sister {ROW}")
    assert rows(people, "d.t") == rows(people, "d.t@sister")


def test_criss_cross_doubles_nothing_and_loses_nothing(people):
    told(people, "INSERT INTO d.t VALUES (10, 'm', 0)", "CREATE TAG m1")
    told(people, "INSERT INTO d.t@dev VALUES (20, 'd', 0)", "CREATE TAG d1 FROM dev")
    told(people, "MERGE BRANCH d1", "MERGE BRANCH m1 TO dev")
    told(people, "INSERT INTO d.t VALUES (11, 'm', 0)", "INSERT INTO d.t@dev VALUES (21, 'd', 0)")
    told(people, "MERGE BRANCH dev", "MERGE BRANCH main TO dev")
    assert one(people, "d.t") == [1, 2, 3, 10, 11, 20, 21]
    assert rows(people, "d.t") == rows(people, "d.t@dev")


def test_tags_and_past_versions_can_be_merged(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "CREATE TAG four FROM dev")
    told(people, "INSERT INTO d.t@dev VALUES (5, 'e', 5)")
    five = people.on("dev").version
    told(people, "INSERT INTO d.t@dev VALUES (6, 'f', 6)", "MERGE BRANCH four")
    assert one(people, "d.t") == [1, 2, 3, 4]
    told(people, f"MERGE BRANCH dev@{five}")
    assert one(people, "d.t") == [1, 2, 3, 4, 5]
    assert merged(people, "MERGE BRANCH four") == {"up to date"}
    told(people, "MERGE BRANCH dev")
    assert one(people, "d.t") == [1, 2, 3, 4, 5, 6]


def test_many_tables_in_one_commit_or_none(people):
    told(people, "CREATE TABLE d.u (a INT)", "CREATE DATABASE e", "MERGE BRANCH main TO dev")
    told(people, "INSERT INTO d.u@dev VALUES (1)", "UPDATE d.t@dev SET age = 9 WHERE id = 1")
    told(people, "CREATE TABLE e.new@dev (x INT)", "INSERT INTO e.new@dev VALUES (7)")
    told(people, "UPDATE d.t SET age = 8 WHERE id = 1")
    before = people.version
    with pytest.raises(MergeConflict):
        told(people, "MERGE BRANCH dev")
    assert people.version == before
    assert (one(people, "d.u"), people.tables()) == ([], ["d.t", "d.u"])
    told(people, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert people.version == before + 1
    assert (one(people, "d.u"), one(people, "e.new")) == ([1], [7])
    assert rows(people, "d.t")[0] == (1, "a", 9)


# --- schemas ----------------------------------------------------------------------------------------------------------


def test_both_sides_change_the_schema(people):
    told(
        people,
        "ALTER TABLE d.t@dev ADD COLUMN city STRING DEFAULT 'here'",
        "ALTER TABLE d.t@dev RENAME COLUMN name TO label",
        "INSERT INTO d.t@dev VALUES (4, 'd', 4, 'there')",
        "ALTER TABLE d.t ALTER COLUMN age TYPE BIGINT",
        "ALTER TABLE d.t ADD COLUMN tall BOOLEAN",
        "INSERT INTO d.t VALUES (5, 'e', 5000000000, true)",
        "MERGE BRANCH dev",
    )
    assert sorted(labels(people, "d.t")) == ["age", "city", "id", "label", "tall"]
    found = rows(people, "d.t", columns=["id", "label", "age", "city", "tall"])
    assert found == [
        (1, "a", 1, "here", None),
        (2, "b", 2, "here", None),
        (3, "c", 3, "here", None),
        (4, "d", 4, "there", None),
        (5, "e", 5000000000, "here", True),
    ]
    told(people, "MERGE BRANCH main TO dev")
    assert rows(people, "d.t@dev", columns=["id", "label", "age", "city", "tall"]) == found


def test_a_column_added_on_both_sides_is_one_column(people):
    told(people, "ALTER TABLE d.t@dev ADD COLUMN city STRING", "INSERT INTO d.t@dev VALUES (4, 'd', 4, 'x')")
    told(people, "ALTER TABLE d.t ADD COLUMN city STRING", "INSERT INTO d.t VALUES (5, 'e', 5, 'y')")
    told(people, "MERGE BRANCH dev")
    assert labels(people, "d.t") == ["id", "name", "age", "city"]
    assert rows(people, "d.t", columns=["id", "city"]) == [(1, None), (2, None), (3, None), (4, "x"), (5, "y")]
    assert told(people, "DIFF dev main TABLE d.t") == [("+I", 5, "e", 5, "y")]


def test_a_schema_conflict_is_shown_and_resolved(people):
    told(people, "ALTER TABLE d.t@dev ALTER COLUMN age TYPE BIGINT")
    told(people, "ALTER TABLE d.t ALTER COLUMN age TYPE DECIMAL(20,0)")
    (found,) = people.sql("SHOW CONFLICTS IN dev")
    assert (found.object, found.kind, found.column) == ("d.t", "column", "age")
    assert "A6" in found.rule
    told(people, "MERGE BRANCH dev RESOLVE USING OURS")
    assert str(people.table("d.t").schema.field("age").type) == "decimal128(20, 0)"


# --- conflicts --------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_odds(people):
    """Row 2 was updated on both sides, row 3 deleted on main and updated on dev; row 1 only on dev."""
    told(
        people, "UPDATE d.t@dev SET name = 'theirs', age = 20 WHERE id = 2", "UPDATE d.t@dev SET age = 30 WHERE id = 3"
    )
    told(people, "UPDATE d.t@dev SET age = 10 WHERE id = 1")
    told(people, "UPDATE d.t SET name = 'ours' WHERE id = 2", "DELETE FROM d.t WHERE id = 3")
    return people


def test_conflicts_are_shown_with_all_three_values(at_odds):
    result = at_odds.sql(f"SHOW CONFLICTS IN dev {ROW}")
    assert result.columns == ["object", "kind", "rule", "row", "column", "base", "ours", "theirs"]
    both, lost = sorted(result, key=lambda row: row.base["id"])
    assert (both.object, both.kind, both.rule) == ("d.t", "row", "update/update")
    assert both.base == {"id": 2, "name": "b", "age": 2}
    assert both.ours == {"id": 2, "name": "ours", "age": 2}
    assert both.theirs == {"id": 2, "name": "theirs", "age": 20}
    assert (lost.rule, lost.ours, lost.theirs["age"]) == ("update/delete", "deleted", 30)
    assert result.toArrow().num_rows == 2
    assert [tuple(row) for row in at_odds.sql(f"MERGE BRANCH dev DRY RUN {ROW}")] == [tuple(row) for row in result]


def test_a_refused_merge_changes_nothing_and_says_how_to_go_on(at_odds):
    before, theirs = at_odds.version, at_odds.on("dev").version
    with pytest.raises(MergeConflict, match="RESOLVE USING OURS or THEIRS") as caught:
        told(at_odds, "MERGE BRANCH dev")
    assert {conflict.rule for conflict in caught.value.conflicts} == {"A1", "A3"}
    assert (at_odds.version, at_odds.on("dev").version) == (before, theirs)


LOOSER = [
    # what each side does, what is compared, and the other `detect` under which nothing conflicts
    ("age = 10 WHERE id = 1", "age = 20 WHERE id = 2", "file", "row"),
    ("name = 'm' WHERE id = 2", "age = 20 WHERE id = 2", "file", "cell"),
    ("name = 'm' WHERE id = 2", "age = 20 WHERE id = 2", "row", "cell"),
    ("age = 10 WHERE id = 2", "age = 20 WHERE id = 2", "file", None),
    ("age = 10 WHERE id = 2", "age = 20 WHERE id = 2", "row", None),
    ("age = 10 WHERE id = 2", "age = 20 WHERE id = 2", "cell", None),
]


@pytest.mark.parametrize("said", ["by the statement", "by the table"])
@pytest.mark.parametrize(("ours", "theirs", "detect", "passing"), LOOSER)
def test_it_says_which_other_detect_would_pass(people, ours, theirs, detect, passing, said):
    how = f"WITH (detect = '{detect}')" if said == "by the statement" else ""
    if not how:
        told(people, f"ALTER TABLE d.t SET TBLPROPERTIES ('merge.detect' = '{detect}')", "MERGE BRANCH main TO dev")
    told(people, f"UPDATE d.t SET {ours}", f"UPDATE d.t@dev SET {theirs}")
    with pytest.raises(MergeConflict) as caught:
        told(people, f"MERGE BRANCH dev {how}")
    assert caught.value.passing == passing
    assert re.findall(r"It would pass WITH \(detect = '(\w+)'\)", str(caught.value)) == [passing] * (
        passing is not None
    )
    # It is true: the first of the others under which nothing is left.
    free = [other for other in ("file", "row", "cell") if not people.conflicts("dev", detect=other)]
    assert free[:1] == [passing] * (passing is not None)
    if passing:
        assert people.merge("dev", detect=passing).commit is not None


@pytest.mark.parametrize("detect", ["file", "row"])
@pytest.mark.parametrize(
    ("side", "expected"),
    [("OURS", [(1, "a", 10), (2, "ours", 2)]), ("THEIRS", [(1, "a", 10), (2, "theirs", 20), (3, "c", 30)])],
)
def test_a_conflict_goes_to_the_side_that_is_named(at_odds, detect, side, expected):
    told(at_odds, f"MERGE BRANCH dev RESOLVE USING {side} WITH (detect = '{detect}')")
    assert rows(at_odds, "d.t") == expected
    assert merged(at_odds, "MERGE BRANCH dev") == {"up to date"}


def test_cells_of_one_row_are_combined(people):
    told(people, "UPDATE d.t@dev SET age = 20 WHERE id = 2", "UPDATE d.t SET name = 'ours' WHERE id = 2")
    (found,) = people.sql(f"SHOW CONFLICTS IN dev {ROW}")
    assert found.rule == "update/update"
    assert people.sql(f"SHOW CONFLICTS IN dev {CELL}").count() == 0
    told(people, f"MERGE BRANCH dev {CELL}")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "ours", 20), (3, "c", 3)]
    told(people, "MERGE BRANCH main TO dev")
    assert rows(people, "d.t@dev") == rows(people, "d.t")


def test_tables_are_resolved_one_by_one(at_odds):
    told(at_odds, "CREATE TABLE d.u (a INT)", "INSERT INTO d.u VALUES (1)", "CREATE BRANCH two")
    told(at_odds, "UPDATE d.u@two SET a = 2", "UPDATE d.t@two SET age = 99 WHERE id = 1")
    told(at_odds, "UPDATE d.u SET a = 3", "UPDATE d.t SET age = 98 WHERE id = 1")
    told(at_odds, "MERGE BRANCH two RESOLVE TABLE d.t USING THEIRS RESOLVE TABLE d.u USING OURS")
    assert one(at_odds, "d.u") == [3]
    assert rows(at_odds, "d.t")[0] == (1, "a", 99)


def test_a_table_may_have_habits(at_odds):
    told(at_odds, "ALTER TABLE d.t SET TBLPROPERTIES ('merge.detect' = 'row', 'merge.on-conflict' = 'ours')")
    told(at_odds, "MERGE BRANCH dev")
    assert rows(at_odds, "d.t") == [(1, "a", 10), (2, "ours", 2)]


RESOLVED = [
    # the habit of d.t and of d.u, what the statement says, and whose row each of them has then
    ("fail", "RESOLVE USING OURS", "ours", "ours"),
    ("fail", "RESOLVE USING OURS RESOLVE TABLE d.t USING THEIRS", "theirs", "ours"),
    ("fail", "RESOLVE TABLE d.t USING OURS RESOLVE USING THEIRS", "ours", "theirs"),
    ("fail", "RESOLVE USING THEIRS RESOLVE TABLE d.t USING OURS", "ours", "theirs"),
    ("ours", "", "ours", "ours"),
    ("ours", "RESOLVE USING THEIRS", "theirs", "theirs"),
    ("theirs", "RESOLVE USING OURS", "ours", "ours"),
    ("ours", "RESOLVE TABLE d.t USING THEIRS", "theirs", "ours"),
    ("theirs", "RESOLVE TABLE d.t USING OURS", "ours", "theirs"),
    ("theirs", "RESOLVE USING THEIRS RESOLVE TABLE d.t USING OURS", "ours", "theirs"),
]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"])
@pytest.mark.parametrize(("habit", "said", "t", "u"), RESOLVED, ids=[" ".join(case[:2]) for case in RESOLVED])
def test_the_most_specific_resolution_wins(lake, key, habit, said, t, u):
    """RESOLVE TABLE, else RESOLVE of the whole merge, else what the table is used to."""
    for table in ("d.t", "d.u"):
        told(lake, f"CREATE TABLE {table} (id INT, who STRING{key}) TBLPROPERTIES ('merge.on-conflict' = '{habit}')")
        told(lake, f"INSERT INTO {table} VALUES (1, 'base')")
    told(lake, "CREATE BRANCH dev")
    told(lake, *(f"UPDATE {table} SET who = 'ours'" for table in ("d.t", "d.u")))
    told(lake, *(f"UPDATE {table}@dev SET who = 'theirs'" for table in ("d.t", "d.u")))
    told(lake, f"MERGE BRANCH dev {said}")
    assert (rows(lake, "d.t"), rows(lake, "d.u")) == ([(1, t)], [(1, u)])


@pytest.mark.parametrize("verb", ["CHERRY PICK dev@{}", "REVERT {}"])
@pytest.mark.parametrize(("habit", "side"), [("ours", "THEIRS"), ("theirs", "OURS")])
def test_a_pick_or_a_revert_is_resolved_as_it_says(people, verb, habit, side):
    told(people, f"ALTER TABLE d.t SET TBLPROPERTIES ('merge.on-conflict' = '{habit}')")
    told(people, "UPDATE d.t SET age = 10 WHERE id = 1", "UPDATE d.t@dev SET age = 20 WHERE id = 1")
    commit = people.on("dev").version if "dev" in verb else people.version
    told(people, "UPDATE d.t SET age = 11 WHERE id = 1", f"{verb.format(commit)} RESOLVE USING {side}")
    theirs = 20 if "dev" in verb else 1
    assert rows(people, "d.t")[0][2] == (theirs if side == "THEIRS" else 11)


def test_a_name_taken_on_both_sides_cannot_be_resolved(people):
    told(people, "CREATE TABLE d.n (a INT)", "CREATE TABLE d.n@dev (a INT)")
    for statement in ("MERGE BRANCH dev", "MERGE BRANCH dev RESOLVE USING THEIRS"):
        with pytest.raises(MergeConflict) as caught:
            told(people, statement)
        assert [conflict.object for conflict in caught.value.conflicts] == ["d.n"]
    told(people, "ALTER TABLE d.n RENAME TO d.n2", "MERGE BRANCH dev")
    assert people.tables() == ["d.n", "d.n2", "d.t"]


RENAMED = {
    "a table on both sides": (["ALTER TABLE d.t RENAME TO d.v", "ALTER TABLE d.t@dev RENAME TO d.u"], ["d.u"]),
    "a table into another database": (
        ["CREATE DATABASE e", "MERGE BRANCH main TO dev", "ALTER TABLE d.t@dev RENAME TO e.u"],
        ["e.u"],
    ),
    "a database on both sides": (
        ["ALTER DATABASE d RENAME TO f", "CREATE TABLE d.n@dev (a INT)", "ALTER DATABASE d@dev RENAME TO e"],
        ["e", "e.n"],
    ),
    "a database on theirs": (
        ["CREATE TABLE d.n@dev (a INT)", "ALTER DATABASE d@dev RENAME TO e", "INSERT INTO e.t@dev VALUES (9, 'z', 9)"],
        ["e", "e.n", "e.t"],
    ),
}


@pytest.mark.parametrize("case", RENAMED)
@pytest.mark.parametrize("dry_run", ["", "DRY RUN"])
def test_a_report_names_things_as_they_are_then(people, case, dry_run):
    script, expected = RENAMED[case]
    told(people, *script)
    assert sorted(row.object for row in people.sql(f"MERGE BRANCH dev {dry_run}")) == expected
    told(people, "MERGE BRANCH dev")
    assert {name for name in expected if "." in name} <= set(people.tables())


# --- picking and reverting --------------------------------------------------------------------------------------------


def test_a_cherry_pick_and_then_the_merge_doubles_nothing(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    wanted = people.on("dev").version
    told(people, "INSERT INTO d.t@dev VALUES (5, 'e', 5)", f"CHERRY PICK dev@{wanted}")
    assert one(people, "d.t") == [1, 2, 3, 4]
    assert merged(people, f"CHERRY PICK dev@{wanted}") == {"up to date"}
    told(people, "MERGE BRANCH dev")
    assert one(people, "d.t") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("verb", ["CHERRY PICK", "REVERT"])
def test_a_cell_of_a_row_is_picked_or_reverted_beside_another(people, verb):
    on = people.on("dev") if verb == "CHERRY PICK" else people
    told(on, "UPDATE d.t SET name = 'x' WHERE id = 1")
    statement = f"{verb} {on.branch}@{on.version}"
    told(people, "UPDATE d.t SET age = 9 WHERE id = 1")
    with pytest.raises(MergeConflict, match="update/update"):
        told(people, f"{statement} {ROW}")
    told(people, f"{statement} {CELL}")
    assert rows(people, "d.t")[0] == (1, "x" if verb == "CHERRY PICK" else "a", 9)


def test_a_commit_by_the_beginning_of_its_id(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    id = people.on("dev").log(limit=1)[0].id
    told(people, f"CHERRY PICK '{id[:13]}'")
    assert one(people, "d.t") == [1, 2, 3, 4]
    mine = people.log(limit=1)[0].id
    told(people, f"REVERT {mine}")
    assert one(people, "d.t") == [1, 2, 3]


def test_a_dry_run_of_a_pick(at_odds):
    third = at_odds.on("dev").version - 1
    before = at_odds.version
    (found,) = at_odds.sql(f"CHERRY PICK dev@{third} DRY RUN")
    assert (found.rule, found.ours) == ("update/delete", "deleted")
    told(at_odds, f"CHERRY PICK dev@{third} RESOLVE USING THEIRS")
    assert (3, "c", 30) in rows(at_odds, "d.t")
    assert at_odds.version == before + 1


NOT_HERE = {
    "a row": (
        ["INSERT INTO d.t@dev VALUES (4, 'd', 4)", "UPDATE d.t@dev SET age = 5 WHERE id = 4"],
        "row",
        "not there",
    ),
    "a table": (["CREATE TABLE d.u@dev (a INT)", "INSERT INTO d.u@dev VALUES (1)"], "table", "never there"),
    "a database": (
        ["CREATE DATABASE e@dev", "ALTER DATABASE e@dev SET DBPROPERTIES ('k' = 'v')"],
        "database",
        "never there",
    ),
}


@pytest.mark.parametrize("case", NOT_HERE)
@pytest.mark.parametrize(("verb", "said"), [("CHERRY PICK", "pick that one first"), ("REVERT", "need not be undone")])
def test_a_pick_of_what_this_branch_never_had(people, case, verb, said):
    """It was not deleted here."""
    script, kind, words = NOT_HERE[case]
    told(people, *script)
    commit = f"{verb} dev@{people.on('dev').version}"
    (found,) = people.sql(f"{commit} DRY RUN")
    assert (found.kind, found.rule, found.ours) == (kind, "absent", words)
    with pytest.raises(MergeConflict) as caught:
        people.sql(commit)
    assert said in str(caught.value)
    assert "dropped" not in str(caught.value)
    assert "deleted" not in str(caught.value)
    told(people, f"{commit} RESOLVE USING OURS")


def test_a_pick_of_what_this_branch_has_dropped(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "DROP TABLE d.t")
    (found,) = people.sql(f"CHERRY PICK dev@{people.on('dev').version} DRY RUN")
    assert (found.rule, found.ours) == ("drop", "dropped")


@pytest.mark.parametrize(
    ("statement", "said"),
    [("CHERRY PICK dev@{dev}", "(UPDATE) cannot be picked onto 'main': 1"), ("REVERT 4", "cannot be undone on 'main'")],
)
def test_a_refusal_says_what_was_refused(people, statement, said):
    told(people, "UPDATE d.t SET age = 8 WHERE id = 1", "UPDATE d.t@dev SET age = 9 WHERE id = 1")
    told(people, "UPDATE d.t SET age = 7 WHERE id = 1")
    with pytest.raises(MergeConflict) as caught:
        people.sql(statement.format(dev=people.on("dev").version))
    assert said in str(caught.value)
    assert "merge" not in str(caught.value)


def test_a_merge_is_reverted_and_the_revert_reverted(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "DELETE FROM d.t@dev WHERE id = 1")
    told(people, "UPDATE d.t SET age = 30 WHERE id = 3", f"MERGE BRANCH dev {ROW}")
    whole, merge = rows(people, "d.t"), people.version
    assert whole == [(2, "b", 2), (3, "c", 30), (4, "d", 4)]
    told(people, f"REVERT {merge}")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "c", 30)]
    assert merged(people, "MERGE BRANCH dev") == {"up to date"}
    told(people, "INSERT INTO d.t@dev VALUES (5, 'e', 5)", "MERGE BRANCH dev")
    assert one(people, "d.t") == [1, 2, 3, 5]
    told(people, f"REVERT {merge + 1}")
    assert rows(people, "d.t") == [*whole, (5, "e", 5)]


def test_an_insert_is_picked_after_an_update_of_its_row(people):
    """The row is there already, in a newer version: it is not shown twice."""
    dev = people.on("dev")
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4), (5, 'e', 5)", "UPDATE d.t@dev SET age = 44 WHERE id = 4")
    people.cherry_pick(f"dev@{dev.version}", resolve="theirs")
    assert rows(people, "d.t")[3:] == [(4, "d", 44)]
    people.cherry_pick(f"dev@{dev.version - 1}")
    assert rows(people, "d.t")[3:] == [(4, "d", 44), (5, "e", 5)]
    assert merged(people, "MERGE BRANCH dev") == {"up to date"}


def test_a_revert_is_reverted_where_a_newer_version_has_come(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", f"MERGE BRANCH dev {ROW}", "REVERT 4")
    told(people, "UPDATE d.t@dev SET age = 44 WHERE id = 4", "MERGE BRANCH dev RESOLVE USING THEIRS")
    told(people, "REVERT 5")
    assert rows(people, "d.t")[3:] == [(4, "d", 44)]
    told(people, "UPDATE d.t SET age = 5 WHERE id = 4", f"MERGE BRANCH main TO dev {ROW}")
    assert rows(people.on("dev"), "d.t")[3:] == [(4, "d", 5)]


# --- seeing -----------------------------------------------------------------------------------------------------------


def test_diff_tells_everything_that_differs(people):
    told(
        people,
        "CREATE TABLE d.gone (a INT)",
        "INSERT INTO d.gone VALUES (1), (2)",
        "CREATE TABLE d.old (a INT)",
        "MERGE BRANCH main TO dev",
        "INSERT INTO d.t@dev VALUES (4, 'd', 4), (5, 'e', 5)",
        "UPDATE d.t@dev SET age = 20 WHERE id = 2",
        "UPDATE d.t@dev SET age = 40 WHERE id = 4",
        "DELETE FROM d.t@dev WHERE id IN (1, 5)",
        "ALTER TABLE d.t@dev RENAME COLUMN name TO label",
        "ALTER TABLE d.t@dev ADD COLUMN city STRING NOT NULL DEFAULT 'x'",
        "ALTER TABLE d.t@dev ALTER COLUMN age TYPE BIGINT",
        "ALTER TABLE d.t@dev SET TBLPROPERTIES ('merge.detect' = 'row')",
        "DROP TABLE d.gone@dev",
        "ALTER TABLE d.old@dev RENAME TO d.new",
    )
    told(people.on("dev"), "CREATE DATABASE e", "CREATE TABLE e.t (a INT)", "INSERT INTO e.t VALUES (1)")
    result = people.sql("DIFF main dev")
    assert result.columns == ["object", "kind", "change", "before", "after", "inserted", "deleted", "updated"]
    assert [tuple(row) for row in result] == [
        ("e", "database", "added", None, None, None, None, None),
        ("d.gone", "table", "dropped", None, None, 0, 2, 0),
        ("d.new", "table", "renamed", "d.old", "d.new", None, None, None),
        ("d.t", "property", "set", None, "merge.detect = row", None, None, None),
        ("d.t", "column", "renamed", "name", "label", None, None, None),
        ("d.t", "column", "type", "age int", "age bigint", None, None, None),
        ("d.t", "column", "added", None, "city string NOT NULL", None, None, None),
        ("d.t", "rows", "changed", None, None, 1, 1, 1),
        ("e.t", "table", "added", None, None, 1, 0, 0),
    ]
    backwards = {(row.object, row.kind, row.change) for row in people.sql("DIFF dev main")}
    assert ("e", "database", "dropped") in backwards
    assert ("d.gone", "table", "added") in backwards
    assert people.sql("DIFF dev dev").count() == 0
    assert people.sql(f"DIFF main {people.version}").count() == 0


def test_diff_of_a_table_tells_the_rows(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4), (5, 'e', 5)", "UPDATE d.t@dev SET age = 20 WHERE id = 2")
    told(people, "DELETE FROM d.t@dev WHERE id IN (1, 5)", "UPDATE d.t@dev SET age = age WHERE id = 3")
    assert told(people, "DIFF main dev TABLE d.t") == [
        ("-D", 1, "a", 1),
        ("-U", 2, "b", 2),
        ("+U", 2, "b", 20),
        ("+I", 4, "d", 4),
    ]
    assert told(people, "DIFF dev main TABLE d.t") == [
        ("+I", 1, "a", 1),
        ("-U", 2, "b", 20),
        ("+U", 2, "b", 2),
        ("-D", 4, "d", 4),
    ]
    kept = people.sql("DIFF main dev TABLE d.t").toArrow()
    assert [str(type) for type in kept.schema.types] == ["string", "int32", "string", "int32"]


def test_diff_of_a_table_under_other_columns(people):
    told(people, "ALTER TABLE d.t@dev ALTER COLUMN age TYPE BIGINT", "ALTER TABLE d.t@dev DROP COLUMN name")
    told(people, "ALTER TABLE d.t@dev ADD COLUMN city STRING DEFAULT 'x'")
    told(people, "UPDATE d.t@dev SET age = 5000000000 WHERE id = 1")
    assert told(people, "DIFF main dev TABLE d.t") == [("-U", 1, 1, "x"), ("+U", 1, 5000000000, "x")]
    told(people, "CREATE TABLE d.n@dev (a INT)", "INSERT INTO d.n@dev VALUES (1)")
    assert told(people, "DIFF main dev TABLE d.n") == [("+I", 1)]
    assert told(people, "DIFF dev main TABLE d.n") == [("-D", 1)]
    # The narrow type of main cannot hold what dev has.
    assert told(people, "DIFF dev main TABLE d.t") == [("-U", 1, None, 5000000000), ("+U", 1, "a", 1)]


def test_diff_follows_versions_and_a_restore(people):
    start = people.version
    told(
        people,
        "UPDATE d.t SET age = age + 1",
        "DELETE FROM d.t WHERE id = 1",
        "INSERT OVERWRITE d.t VALUES (9, 'z', 9)",
    )
    counted = {version: people.sql(f"DIFF {start} {version}").first() for version in range(start + 1, start + 4)}
    assert {v: (r.inserted, r.deleted, r.updated) for v, r in counted.items()} == {
        start + 1: (0, 0, 3),
        start + 2: (0, 1, 2),
        start + 3: (1, 3, 0),
    }
    told(people, f"RESTORE TABLE d.t TO VERSION {start}")
    assert people.sql(f"DIFF {start} main").count() == 0
    back = people.sql(f"DIFF {start + 1} main").first()
    assert (back.inserted, back.deleted, back.updated) == (0, 0, 3)


def test_branches_say_how_far_they_are_from_their_parent(people):
    told(people, "INSERT INTO d.t VALUES (10, 'm', 0)", "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    told(people, "INSERT INTO d.t@dev VALUES (5, 'e', 5)", "CREATE BRANCH kid FROM dev")

    def shown():
        return {row.branch: (row.ahead, row.behind) for row in people.sql("SHOW BRANCHES")}

    assert shown() == {"main": (None, None), "dev": (2, 1), "kid": (0, 0)}
    pinned = {row.branch: row.bytes_pinned for row in people.sql("SHOW BRANCHES")}
    assert pinned["kid"] == 0 < pinned["dev"]
    told(people, "MERGE BRANCH dev")
    assert shown() == {"main": (None, None), "dev": (0, 2), "kid": (0, 0)}
    told(people, "MERGE BRANCH main TO dev")
    assert shown()["dev"] == (1, 0)
    told(people, "DROP BRANCH dev")
    assert shown() == {"main": (None, None), "kid": (None, None)}


def test_the_log_as_a_graph(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "INSERT INTO d.t VALUES (10, 'm', 0)", "MERGE BRANCH dev")
    told(people, "MERGE BRANCH main TO dev")
    result = people.sql("SHOW LOG GRAPH IN dev")
    assert result.columns[0] == "graph"
    assert [(row.graph, row.branch, row.operation) for row in result][:7] == [
        ("*", "dev", "MERGE BRANCH"),
        ("|\\", None, None),
        ("| *", "main", "MERGE BRANCH"),
        ("|/|", None, None),
        ("| *", "main", "INSERT"),
        ("* |", "dev", "INSERT"),
        ("|/", None, None),
    ]
    assert [row.graph for row in people.sql("SHOW LOG GRAPH LIMIT 1")] == ["*"]


def test_commits_of_a_dropped_branch_are_not_those_of_its_name(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "CREATE TAG kept FROM dev", "MERGE BRANCH dev")
    id = people.log("dev", limit=1)[0].id
    told(people, "DROP BRANCH dev", "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (5, 'e', 5)")
    expected = {"main", "dev (dropped)"}
    assert {row.branch for row in people.sql("SHOW LOG GRAPH") if row.id} == expected
    assert [row.branch for row in people.sql("SHOW TAGS")] == ["dev (dropped)"]
    assert [row.branch for row in people.sql("SHOW LOG IN kept LIMIT 1")] == ["dev (dropped)"]
    with pytest.raises(NotFound, match=f"It is a tag of '{id}'"):
        people.revert("kept")


def test_the_graph_of_many_merges_has_every_commit_once(people):
    for number in range(4):
        told(people, f"CREATE BRANCH b{number}")
    for number, other in itertools.permutations(range(4), 2):
        told(
            people, f"INSERT INTO d.t@b{number} VALUES ({number}, '{other}', 0)", f"MERGE BRANCH b{number} TO b{other}"
        )
    for number in range(4):
        told(people, f"MERGE BRANCH b{number}")
    ids = [row.id for row in people.sql("SHOW LOG GRAPH") if row.id is not None]
    assert len(ids) == len(set(ids))
    assert {commit.id for number in range(4) for commit in people.log(f"b{number}")} <= set(ids)
    assert len(rows(people, "d.t")) == 3 + 12


# --- bad input --------------------------------------------------------------------------------------------------------


REFUSED = [
    ("MERGE BRANCH nope", NotFound, "branch or tag 'nope' does not exist"),
    ("MERGE BRANCH dve", NotFound, "Did you mean 'dev'"),
    ("MERGE BRANCH dev TO nope", NotFound, "branch 'nope' does not exist"),
    ("MERGE BRANCH dev TO v1", NotFound, "'v1' is a tag"),
    ("MERGE BRANCH dropped", NotFound, "'dropped' does not exist"),
    ("MERGE BRANCH dev TO dropped", NotFound, "'dropped' does not exist"),
    ("MERGE BRANCH main", Refused, "itself"),
    ("MERGE BRANCH dev TO dev", Refused, "itself"),
    ("MERGE BRANCH dev@99", NotFound, "version '99' does not exist"),
    ("MERGE BRANCH dev WITH (detect = 'rows')", InvalidOption, "'file', 'row' or 'cell'"),
    ("MERGE BRANCH dev WITH (detekt = 'row')", SqlError, "Did you mean 'detect'"),
    ("MERGE BRANCH dev RESOLVE TABLE d.nope USING OURS", NotFound, "table 'd.nope' does not exist"),
    ("SHOW CONFLICTS IN nope", NotFound, "'nope' does not exist"),
    ("SHOW CONFLICTS IN dev WITH (detect = 'x')", InvalidOption, "'file', 'row' or 'cell'"),
    ("CHERRY PICK 99", NotFound, "version '99' does not exist"),
    ("CHERRY PICK nope@3", NotFound, "'nope' does not exist"),
    ("CHERRY PICK dev", NotFound, "It is a branch: 'dev@"),
    ("CHERRY PICK v1", NotFound, "It is a tag of 'main@3'."),
    ("REVERT `V1`", NotFound, "It is a tag of 'main@3'."),
    ("CHERRY PICK ''", Refused, "'' names no commit"),
    ("CHERRY PICK 'dev@'", Refused, "'dev@' names no branch"),
    ("CHERRY PICK 'zzzz'", NotFound, "SHOW LOG (`anabranch log --long`) lists the ids"),
    ("REVERT 0", Refused, "first commit"),
    ("DIFF main nope", NotFound, "'nope' does not exist"),
    ("DIFF main dev TABLE d.tt", NotFound, "Did you mean 'd.t'"),
    ("DESCRIBE SECTIONS d.nope", NotFound, "d.nope"),
    ("DESCRIBE SECTIONS d.t AGAINST nope", NotFound, "'nope' does not exist"),
]


@pytest.mark.parametrize(("statement", "error", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_bad_input_is_refused_and_changes_nothing(people, statement, error, said):
    told(
        people,
        "INSERT INTO d.t@dev VALUES (4, 'd', 4)",
        "CREATE TAG v1",
        "CREATE BRANCH dropped",
        "DROP BRANCH dropped",
    )
    before = (people.version, people.on("dev").version)
    with pytest.raises(error) as caught:
        people.sql(statement)
    assert said in str(caught.value)
    assert (people.version, people.on("dev").version) == before


# --- tables that came by a merge --------------------------------------------------------------------------------------


def test_a_table_that_came_by_a_merge_has_its_history(people):
    told(
        people,
        "CREATE TABLE d.new@dev (a INT)",
        "INSERT INTO d.new@dev VALUES (1)",
        "INSERT INTO d.t VALUES (9, 'z', 9)",
    )
    told(people, "CREATE BRANCH kid FROM dev", "INSERT INTO d.new@kid VALUES (2)", "MERGE BRANCH kid")
    merge = people.version
    told(people, "INSERT INTO d.new VALUES (3)")
    expected = ["INSERT", "MERGE BRANCH", "INSERT", "INSERT", "CREATE TABLE"]
    assert [commit.operation for commit in people.table("d.new").history()] == expected
    for limit in range(6):
        assert [commit.operation for commit in people.table("d.new").history(limit)] == expected[:limit]
    shown = people.sql("DESCRIBE HISTORY d.new")
    assert [row.branch for row in shown] == ["main", "main", "kid", "dev", "dev"]
    assert [commit.operation for commit in people.table("d.new@dev").history()] == ["INSERT", "CREATE TABLE"]
    assert one(people, "d.new", version=merge) == [1, 2]
    for version in range(1, merge):
        with pytest.raises(NotFound, match=r"d\.new"):
            people.table("d.new", version=version)
        with pytest.raises(NotFound):
            people.sql(f"SELECT * FROM d.new VERSION AS OF {version}")
    with pytest.raises(NotFound, match=r"d\.new"):
        told(people, f"RESTORE TABLE d.new TO VERSION {merge - 1}")


def test_a_table_of_both_sides_keeps_its_own_history(people):
    told(people, "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "MERGE BRANCH dev")
    assert [commit.operation for commit in people.table("d.t").history()] == ["MERGE BRANCH", "INSERT", "CREATE TABLE"]


def written(lake):
    return sorted(Path(lake._session.shared.files.root).rglob("*.parquet"))


def test_cells_that_ours_has_already_bring_nothing(lake):
    told(lake, "CREATE TABLE d.t (id INT, a INT, b STRING)", "INSERT INTO d.t VALUES (1, 1, 'x')")
    dev = lake.create_branch("dev")
    told(dev, "UPDATE d.t SET a = 7")
    told(lake, "UPDATE d.t SET a = 7, b = 'main'")
    files = written(lake)
    merged = lake.merge("dev", detect="cell").result().first()
    assert (merged.rows_added, merged.rows_removed) == (0, 0)
    assert written(lake) == files
    assert rows(lake, "d.t") == [(1, 7, "main")]
    assert lake.merge("dev", detect="cell").up_to_date
    dev.merge("main")
    assert rows(dev, "d.t") == [(1, 7, "main")]


def test_a_revert_by_cells_is_done_once(lake):
    told(lake, "CREATE TABLE d.t (id INT, a INT, b STRING)", "INSERT INTO d.t VALUES (1, 1, 'x')")
    told(lake, "UPDATE d.t SET a = 7", "UPDATE d.t SET b = 'later'")
    assert not lake.revert(lake.version - 1, detect="cell").up_to_date
    assert rows(lake, "d.t") == [(1, 1, "later")]
    assert lake.revert(lake.version - 2, detect="cell").up_to_date
