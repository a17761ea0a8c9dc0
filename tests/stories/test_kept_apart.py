"""Objects that a merge keeps as ours has them, though theirs has them otherwise: later merges see both as they are.

Nothing in the log of a branch tells of what a resolution kept out, or of what came and went before a merge.
"""

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told


def run(lake, script):
    """Each statement on the branch that `USE BRANCH` named last; main in the end."""
    on = lake
    for statement in filter(None, map(str.strip, script.split(";"))):
        if statement.startswith("USE BRANCH"):
            on = lake.on(statement.split()[-1])
        else:
            told(on, statement)


def shown(lake, branch):
    on = lake.on(branch)
    return {name: rows(on, name) for name in on.tables()}


def test_a_table_that_came_and_went_before_a_merge_comes_back_whole(lake):
    run(
        lake,
        """CREATE BRANCH b; USE BRANCH b; CREATE TABLE d.u (x INT); INSERT INTO d.u VALUES (1);
        DROP TABLE d.u; CREATE TABLE d.o (x INT); USE BRANCH main; MERGE BRANCH b; USE BRANCH b;
        RESTORE TABLE d.u TO VERSION 3; INSERT INTO d.u VALUES (2); USE BRANCH main; MERGE BRANCH b; USE BRANCH b;
        MERGE BRANCH main""",
    )
    assert shown(lake, "main") == shown(lake, "b") == {"d.o": [], "d.u": [(1,), (2,)]}


def test_a_table_that_came_and_went_elsewhere_is_nothing(lake):
    run(
        lake,
        """CREATE TABLE d.o (x INT); CREATE BRANCH b; CREATE BRANCH c; INSERT INTO d.o VALUES (1);
        USE BRANCH b; MERGE BRANCH main; USE BRANCH main; CREATE TABLE d.v (x INT); DROP TABLE d.v;
        INSERT INTO d.o VALUES (2); USE BRANCH c; MERGE BRANCH main; USE BRANCH b; MERGE BRANCH c""",
    )
    assert shown(lake, "b") == {"d.o": [(1,), (2,)]}


MOVED = """CREATE DATABASE d1; CREATE DATABASE d2; CREATE TABLE d1.t (k INT); INSERT INTO d1.t VALUES (1), (2);
CREATE BRANCH b; USE BRANCH b; DROP DATABASE d2 {how}; USE BRANCH main; ALTER TABLE d1.t RENAME TO d2.t"""


@pytest.mark.parametrize("how", ["", "CASCADE"])
def test_a_table_that_ours_moved_into_a_database_is_not_dropped_with_it(lake, how):
    run(lake, MOVED.format(how=how))
    with pytest.raises(MergeConflict, match="d2: theirs dropped, ours moved a table into it"):
        lake.merge("b")
    assert shown(lake, "main") == {"d2.t": [(1,), (2,)]}
    lake.merge("b", resolve="theirs")
    assert shown(lake, "main") == shown(lake, "b") == {"d1.t": [(1,), (2,)]}
    assert lake.on("b").merge("main").up_to_date


@pytest.mark.parametrize("how", ["", "CASCADE"])
def test_what_theirs_changed_in_such_a_table_comes_along(lake, how):
    run(lake, MOVED.format(how=how))
    lake.on("b").sql("INSERT INTO d1.t VALUES (3)")
    lake.merge("b", resolve="theirs")
    assert shown(lake, "main") == shown(lake, "b") == {"d1.t": [(1,), (2,), (3,)]}


def test_ours_keeps_the_database_and_the_table_in_it(lake):
    run(lake, MOVED.format(how="CASCADE"))
    lake.merge("b", resolve="ours")
    assert shown(lake, "main") == {"d2.t": [(1,), (2,)]}


LEFT_OUT = """CREATE DATABASE d2; CREATE DATABASE d3; CREATE BRANCH b; USE BRANCH b; CREATE TABLE d2.u (x INT);
INSERT INTO d2.u VALUES (1); USE BRANCH main; DROP DATABASE d2; MERGE BRANCH b RESOLVE USING OURS; USE BRANCH b"""


@pytest.mark.parametrize("then", ["INSERT INTO d2.u VALUES (2)", "ALTER TABLE d2.u RENAME TO d3.u"])
def test_a_table_that_was_left_out_conflicts_when_theirs_goes_on_with_it(lake, then):
    run(lake, f"{LEFT_OUT}; {then}; USE BRANCH main")
    with pytest.raises(MergeConflict, match="ours dropped"):
        lake.merge("b")
    assert shown(lake, "main") == {}


def test_and_comes_whole_if_theirs_is_taken(lake):
    run(lake, f"{LEFT_OUT}; ALTER TABLE d2.u RENAME TO d3.u; INSERT INTO d3.u VALUES (2); USE BRANCH main")
    lake.merge("b", resolve="theirs")
    assert shown(lake, "main") == {"d3.u": [(1,), (2,)]}


def test_a_drop_that_ours_kept_is_brought_to_whoever_did_not_change_the_table_since(lake):
    run(
        lake,
        """CREATE TABLE d.t (x INT); INSERT INTO d.t VALUES (1); CREATE BRANCH a; CREATE BRANCH b;
        USE BRANCH a; DROP TABLE d.t; USE BRANCH main; MERGE BRANCH a; USE BRANCH b; INSERT INTO d.t VALUES (2);
        USE BRANCH a; MERGE BRANCH b RESOLVE USING OURS; USE BRANCH main; MERGE BRANCH b RESOLVE USING THEIRS;
        USE BRANCH a; MERGE BRANCH main RESOLVE USING OURS; USE BRANCH main; MERGE BRANCH a""",
    )
    assert shown(lake, "main") == shown(lake, "a") == {}


WIDENED = """CREATE TABLE d.t (k INT, x INT); ALTER TABLE d.t ALTER COLUMN x TYPE BIGINT;
CREATE BRANCH b; USE BRANCH b; RESTORE TABLE d.t TO VERSION 2; USE BRANCH main;
INSERT INTO d.t VALUES (1, 50000000000); MERGE BRANCH b RESOLVE USING OURS; USE BRANCH b"""


def test_a_widening_that_ours_kept_stays(lake):
    run(lake, f"{WIDENED}; ALTER TABLE d.t ADD COLUMN z INT; USE BRANCH main; MERGE BRANCH b")
    assert [str(field.type) for field in lake.table("d.t").schema] == ["int32", "int64", "int32"]
    assert shown(lake, "main") == {"d.t": [(1, 50000000000, None)]}


def test_and_comes_to_theirs_by_the_next_merge(lake):
    run(lake, f"{WIDENED}; MERGE BRANCH main")
    assert shown(lake, "main") == shown(lake, "b") == {"d.t": [(1, 50000000000)]}


def test_what_was_kept_is_no_version_of_the_object(lake):
    run(lake, f"{LEFT_OUT.removesuffix('; USE BRANCH b')}; CREATE TABLE d3.w (x INT)")
    log = [commit.operation for commit in lake.log()]
    assert log[:2] == ["CREATE TABLE", "MERGE BRANCH"]
    assert [commit.operation for commit in lake.table("d3.w").history()] == ["CREATE TABLE"]


ELSEWHERE = """CREATE TABLE d.u (id INT); CREATE BRANCH a; CREATE BRANCH b; CREATE BRANCH c; USE BRANCH a;
CREATE TABLE d.t (id INT); USE BRANCH b; MERGE BRANCH a; USE BRANCH a; DROP TABLE d.t; INSERT INTO d.u VALUES (0);
USE BRANCH c; MERGE BRANCH a; USE BRANCH b"""


def test_a_table_that_neither_side_of_a_merge_had_is_no_news(lake):
    """c has merged that d.t came and went; b has it still."""
    run(lake, ELSEWHERE)
    picked = lake.on("b").cherry_pick("c@3")
    assert [made.name for made in picked.plan.tables.values()] == ["d.u"]
    assert shown(lake, "b") == {"d.t": [], "d.u": [(0,)]}


def test_and_may_have_been_restored_meanwhile(lake):
    run(lake, f"{ELSEWHERE}; MERGE BRANCH a; RESTORE TABLE d.t TO VERSION 3")
    assert lake.on("b").merge("c").up_to_date
    assert shown(lake, "b") == {"d.t": [], "d.u": [(0,)]}


def test_what_both_call_the_same_is_not_kept(lake):
    run(
        lake,
        """CREATE TABLE d.t (id INT); CREATE TABLE d.u (id INT, v INT); INSERT INTO d.u VALUES (1, 1); CREATE BRANCH c;
        USE BRANCH c; UPDATE d.u SET v = 2; USE BRANCH main; ALTER TABLE d.u RENAME TO d.v; DELETE FROM d.v;
        MERGE BRANCH c RESOLVE USING OURS; USE BRANCH c; MERGE BRANCH main; INSERT INTO d.t VALUES (130);
        TRUNCATE TABLE d.v; USE BRANCH main; MERGE BRANCH c""",
    )
    assert lake.on("c").merge("main").up_to_date
