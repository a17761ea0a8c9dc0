"""What a merge, pick or revert says that it did: the rows that came and went, and by what."""

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told


@pytest.fixture
def numbers(lake):
    """d.t with three rows, and the branch `dev`."""
    told(lake, "CREATE TABLE d.t (id INT, a INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)", "CREATE BRANCH dev")
    return lake


@pytest.fixture
def keyed(lake):
    """The same with a primary key."""
    told(lake, "CREATE TABLE d.t (id INT, a INT, PRIMARY KEY (id))")
    told(lake, "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)", "CREATE BRANCH dev")
    return lake


def report(lake, statement):
    """What happened to d.t, as a preview says it and as the statement itself does."""
    verb, resolve, choice = statement.partition(" RESOLVE")
    preview, done = (
        [(row.change, row.rows_added, row.rows_removed) for row in lake.sql(text) if row.object == "d.t"]
        for text in (f"{verb} DRY RUN{resolve}{choice}", statement)
    )
    assert preview == done
    return done[0] if done else None


# --- rows that come and go --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("UPDATE d.t SET a = 9 WHERE id < 3", "TRUNCATE TABLE d.t@dev", ("overwrite", 0, 3)),
        ("UPDATE d.t SET a = 9 WHERE id < 3", "INSERT OVERWRITE d.t@dev VALUES (7, 7)", ("overwrite", 1, 3)),
        ("DELETE FROM d.t WHERE id < 3", "TRUNCATE TABLE d.t@dev", ("overwrite", 0, 1)),
        ("DELETE FROM d.t WHERE id < 3", "DELETE FROM d.t@dev WHERE id > 1", ("delete", 0, 1)),
        ("UPDATE d.t SET a = 9 WHERE id = 1", "DELETE FROM d.t@dev WHERE id < 3", ("delete", 0, 2)),
    ],
)
def test_versions_that_were_dead_before_do_not_count(numbers, ours, theirs, said):
    told(numbers, ours, theirs)
    assert report(numbers, "MERGE BRANCH dev") == said


def test_versions_of_an_overwritten_partition_that_were_dead_before_do_not_count(lake):
    told(lake, "CREATE TABLE d.t (id INT, k INT) PARTITIONED BY (k)", "INSERT INTO d.t VALUES (1, 1), (2, 1), (3, 2)")
    told(lake, "CREATE BRANCH dev", "UPDATE d.t SET id = 9 WHERE id = 1")
    told(lake, "INSERT OVERWRITE d.t@dev PARTITION (k = 1) VALUES (7)")
    assert report(lake, "MERGE BRANCH dev") == ("overwrite", 1, 2)


def test_a_revert_in_which_ours_keeps_a_row_counts_the_others(numbers):
    told(numbers, "UPDATE d.t SET a = 10 WHERE id < 3")
    version = numbers.version
    told(numbers, "UPDATE d.t SET a = 99 WHERE id = 1")
    assert report(numbers, f"REVERT {version} RESOLVE USING OURS") == ("restore", 1, 1)
    assert rows(numbers, "d.t") == [(1, 99), (2, 2), (3, 3)]


def test_a_table_that_comes_back_comes_with_all_its_rows(numbers):
    told(numbers, "DROP TABLE d.t", "UPDATE d.t@dev SET a = 9 WHERE id = 1")
    assert report(numbers, "MERGE BRANCH dev RESOLVE USING THEIRS") == ("restore", 3, 0)
    told(numbers, "DROP TABLE d.t")
    assert report(numbers, f"REVERT {numbers.version}") == ("restore", 3, 0)


def test_a_table_that_is_dropped_goes_with_all_its_rows(numbers):
    told(numbers, "INSERT INTO d.t VALUES (4, 4)", "DELETE FROM d.t WHERE id = 1", "DROP TABLE d.t@dev")
    assert report(numbers, "MERGE BRANCH dev") == ("drop", 0, 3)


def test_tables_that_go_with_their_database(numbers):
    told(numbers, "CREATE TABLE d.u (id INT)", "INSERT INTO d.u VALUES (1)", "DROP DATABASE d@dev CASCADE")
    said = [(row.object, row.change, row.rows_removed) for row in numbers.sql("MERGE BRANCH dev")]
    assert said == [("d", "drop", 0), ("d.t", "drop", 3), ("d.u", "drop", 1)]


# --- nothing came of it -----------------------------------------------------------------------------------------------

OURS = "MERGE BRANCH dev RESOLVE USING OURS"


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
def test_rows_that_both_updated_and_of_which_ours_stays(numbers, detect):
    told(numbers, "UPDATE d.t SET a = 9 WHERE id = 1", "UPDATE d.t@dev SET a = 8 WHERE id = 1")
    assert report(numbers, f"{OURS} WITH (detect = '{detect}')") == ("kept ours", 0, 0)


def test_rows_that_lack_a_column_which_ours_wants(numbers):
    told(
        numbers,
        "ALTER TABLE d.t ADD COLUMN n INT",
        "UPDATE d.t SET n = 1",
        "ALTER TABLE d.t ALTER COLUMN n SET NOT NULL",
    )
    told(numbers, "INSERT INTO d.t@dev VALUES (5, 5)")
    assert report(numbers, OURS) == ("kept ours", 0, 0)


def test_rows_with_null_where_ours_wants_a_value(numbers):
    told(numbers, "ALTER TABLE d.t ALTER COLUMN a SET NOT NULL")
    told(numbers, "INSERT INTO d.t@dev VALUES (5, NULL)", "UPDATE d.t@dev SET a = NULL WHERE id = 1")
    before = rows(numbers, "d.t")
    assert report(numbers, OURS) == ("kept ours", 0, 0)
    assert rows(numbers, "d.t") == before


def test_only_what_shows_is_named(numbers):
    told(numbers, "ALTER TABLE d.t ALTER COLUMN a SET NOT NULL")
    told(numbers, "INSERT INTO d.t@dev VALUES (5, 5)", "UPDATE d.t@dev SET a = NULL WHERE id = 1")
    assert report(numbers, OURS) == ("insert", 1, 0)


def test_a_pick_of_an_update_of_a_deleted_row(numbers):
    told(numbers, "DELETE FROM d.t WHERE id = 1", "UPDATE d.t@dev SET a = 5 WHERE id = 1")
    picked = f"CHERRY PICK dev@{numbers.on('dev').version} RESOLVE USING OURS"
    assert report(numbers, picked) == ("kept ours", 0, 0)


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE d.t SET a = 9 WHERE id = 1", ("restore", 1, 1)),
        ("INSERT INTO d.t VALUES (4, 4)", ("restore", 0, 1)),
        ("DELETE FROM d.t WHERE id < 3", ("restore", 2, 0)),
        ("TRUNCATE TABLE d.t", ("restore", 3, 0)),
        ("ALTER TABLE d.t ADD COLUMN c INT", ("column", 0, 0)),
    ],
)
def test_a_revert_and_its_preview_say_the_same(numbers, statement, said):
    told(numbers, statement)
    assert report(numbers, f"REVERT {numbers.version}") == said


def test_a_row_that_a_resolution_deletes(numbers):
    told(numbers, "UPDATE d.t SET a = 9 WHERE id = 1", "UPDATE d.t@dev SET a = 8 WHERE id = 1")
    row = numbers.conflicts("dev", detect="row")[0].row
    made = numbers.merge("dev", resolutions={"d.t": [{"_row_id": row, "_kind": "-D"}]}).result()
    assert [(line.change, line.rows_added, line.rows_removed) for line in made] == [("delete", 0, 1)]
    assert rows(numbers, "d.t") == [(2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (["DELETE FROM d.t@dev WHERE id = 1"], ("delete", 1, 0)),
        (["UPDATE d.t@dev SET a = 5 WHERE id = 1", "INSERT INTO d.t@dev VALUES (9, 9)"], ("insert, update", 2, 0)),
        (["INSERT OVERWRITE d.t@dev VALUES (9, 9)"], ("overwrite", 1, 3)),
    ],
)
def test_records_of_keyed_tables_come_by_what_theirs_did(keyed, theirs, said):
    told(keyed, *theirs)
    assert report(keyed, "MERGE BRANCH dev") == said


# --- advice -----------------------------------------------------------------------------------------------------------


def test_of_a_key_that_both_inserted_each_side_takes_its_row(keyed):
    told(keyed, "INSERT INTO d.t VALUES (9, 1)", "INSERT INTO d.t@dev VALUES (9, 2)")
    with pytest.raises(MergeConflict, match="RESOLVE USING OURS or THEIRS takes one side"):
        told(keyed, "MERGE BRANCH dev")


@pytest.mark.parametrize(("detect", "kept"), [("file", []), ("row", [(1, 9)]), ("cell", [(1, 9)])])
def test_ours_keeps_a_row_that_theirs_deleted_where_rows_are_compared(numbers, detect, kept):
    told(numbers, "UPDATE d.t SET a = 9 WHERE id = 1", "DELETE FROM d.t@dev WHERE id = 1")
    told(numbers, f"{OURS} WITH (detect = '{detect}')")
    assert rows(numbers, "d.t") == [*kept, (2, 2), (3, 3)]
