"""The past: by version, by time, by tag; and RESTORE, which is a new commit that makes things what they were."""

import time
from datetime import datetime, timedelta, timezone

import pytest

from anabranch.errors import AlreadyExists, AnabranchError, NotFound, Refused, SqlError
from tests.stories.telling import labels, one, rows, told


@pytest.fixture
def table(lake):
    """Five versions of d.t; `lake.seen[version]` is what each one held."""
    told(lake, "CREATE TABLE d.t (a INT, b STRING)")
    lake.seen = {}
    for statement in (
        "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')",
        "DELETE FROM d.t WHERE a = 1",
        "UPDATE d.t SET b = 'z'",
        "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 7",
        "INSERT INTO d.t VALUES (3, 'w', 1)",
        "ALTER TABLE d.t DROP COLUMN b",
        "INSERT OVERWRITE d.t VALUES (4, 4)",
        "TRUNCATE TABLE d.t",
    ):
        told(lake, statement)
        lake.seen[lake.version] = (labels(lake, "d.t"), rows(lake, "d.t"))
    return lake


def seen_at(lake, version, name="d.t"):
    found = lake.table(name, version=version)
    return found.schema.names, rows(lake, name, version)


def test_every_version_reads_as_it_was(table):
    assert len(table.seen) == 8
    assert {version: seen_at(table, version) for version in table.seen} == table.seen


def test_every_version_reads_as_it_was_from_a_fresh_connection(table, tmp_path):
    import anabranch

    with anabranch.connect(tmp_path / "lake", create=False) as again:
        assert {version: seen_at(again, version) for version in table.seen} == table.seen


def test_refs_of_every_form_read_the_same_past(table):
    version = min(table.seen)
    told(table, f"CREATE TAG first FROM main AT VERSION {version}", "CREATE BRANCH dev")
    for name in (f"d.t@{version}", f"d.t@main@{version}", f"d.t@dev@{version}", "d.t@first",
                 f"d.t VERSION AS OF {version}", "d.t VERSION AS OF 'first'",
                 f"d.t VERSION AS OF 'dev@{version}'"):  # fmt: skip
        assert rows(table, name) == table.seen[version][1], name


def test_a_time_between_two_commits_is_the_first_of_them(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    time.sleep(0.01)
    between = datetime.now(timezone.utc)
    time.sleep(0.01)
    told(lake, "INSERT INTO d.t VALUES (2)")
    text = between.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert one(lake, f"d.t TIMESTAMP AS OF '{text}'") == [1]
    assert one(lake, f"d.t@main TIMESTAMP AS OF TIMESTAMP '{text}+00:00'") == [1]
    exact = lake.log()[0].time.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert one(lake, f"d.t TIMESTAMP AS OF '{exact}'") == [1, 2]
    future = (between + timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S")
    assert one(lake, f"d.t TIMESTAMP AS OF '{future}'") == [1, 2]


@pytest.mark.parametrize(
    ("name", "error", "word"),
    [
        ("d.t@999", NotFound, "999"),
        ("d.t VERSION AS OF 999", NotFound, "999"),
        ("d.t VERSION AS OF 'nothing'", NotFound, "nothing"),
        ("d.t@1", NotFound, "d.t"),
        ("d.t TIMESTAMP AS OF '1999-01-01'", AnabranchError, "1999"),
        ("d.t TIMESTAMP AS OF 'yesterday'", SqlError, "yesterday"),
        ("d.t@main@3 VERSION AS OF 4", SqlError, "two versions"),
    ],
)
def test_a_past_that_is_not_there(table, name, error, word):
    with pytest.raises(error, match=word):
        table.table(name)


def test_a_table_opened_at_a_version_never_changes(table):
    version = min(table.seen)
    old = table.table("d.t", version=version)
    for change in (
        lambda: old.write([{"a": 1}]),
        lambda: old.delete(),
        lambda: old.update({"a": "1"}),
        lambda: old.overwrite([{"a": 1}]),
        lambda: old.truncate(),
        lambda: old.add_column("z", "int"),
        lambda: old.rename("d.z"),
    ):
        with pytest.raises(Refused, match="past version"):
            change()
    assert old.version == version
    assert rows(table, "d.t", version) == table.seen[version][1]


@pytest.mark.parametrize("statement", ["INSERT INTO d.t@2 VALUES (1)", "DELETE FROM d.t@main@2", "DROP TABLE d.t@2"])
def test_statements_do_not_change_the_past(table, statement):
    with pytest.raises(SqlError, match="past version"):
        told(table, statement)


# --- RESTORE ----------------------------------------------------------------------------------------------------------


def test_restore_goes_to_any_version_in_any_order(table):
    versions = list(table.seen)
    for version in [*versions, *reversed(versions), versions[3], versions[0], versions[-1]]:
        told(table, f"RESTORE TABLE d.t TO VERSION {version}")
        assert (labels(table, "d.t"), rows(table, "d.t")) == table.seen[version]
        assert table.table("d.t").count() == len(table.seen[version][1])
    # All of the past is still what it was: before the restores, between them, on a fresh connection.
    assert {version: seen_at(table, version) for version in table.seen} == table.seen


def test_a_restore_of_a_restore(table):
    first, last = min(table.seen), max(table.seen)
    told(table, f"RESTORE TABLE d.t TO VERSION {first}")
    restored = table.version
    told(table, f"RESTORE TABLE d.t TO VERSION {last}", f"RESTORE TABLE d.t TO VERSION {restored}")
    assert rows(table, "d.t") == table.seen[first][1]
    assert table.log()[0].operation == "RESTORE"


def test_a_restored_table_lives_on(table):
    first = min(table.seen)
    told(table, f"RESTORE TABLE d.t TO VERSION {first}", "UPDATE d.t SET b = 'again' WHERE a = 1")
    told(table, "INSERT INTO d.t VALUES (9, 'n')", "DELETE FROM d.t WHERE a = 2")
    assert rows(table, "d.t") == [(1, "again"), (9, "n")]
    told(table, f"RESTORE TABLE d.t TO VERSION {first}")
    assert rows(table, "d.t") == [(1, "x"), (2, "y")]


def test_restoring_what_is_there_commits_nothing(table):
    before = table.version
    told(table, f"RESTORE TABLE d.t TO VERSION {before}", f"RESTORE BRANCH main TO VERSION {before}")
    told(table, f"RESTORE DATABASE d TO VERSION {before}")
    assert table.version == before


def test_restore_brings_a_dropped_table_back(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = any_lake.version
    told(any_lake, "DROP TABLE d.t", f"RESTORE TABLE d.t TO VERSION {then}", "INSERT INTO d.t VALUES (2)")
    assert one(any_lake, "d.t") == [1, 2]


def test_restore_renames_back(any_lake):
    told(any_lake, "CREATE DATABASE e", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = any_lake.version
    told(
        any_lake, "ALTER TABLE d.t RENAME TO e.u", "INSERT INTO e.u VALUES (2)", f"RESTORE TABLE d.t TO VERSION {then}"
    )
    assert any_lake.tables() == ["d.t"]
    assert one(any_lake, "d.t") == [1]


def test_restore_refuses_a_name_that_another_table_has(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = lake.version
    told(lake, "DROP TABLE d.t", "CREATE TABLE d.t (b INT)")
    before = lake.version
    with pytest.raises(AlreadyExists, match=r"d\.t"):
        told(lake, f"RESTORE TABLE d.t TO VERSION {then}")
    assert lake.version == before
    told(lake, "ALTER TABLE d.t RENAME TO d.other", f"RESTORE TABLE d.t TO VERSION {then}")
    assert (one(lake, "d.t"), one(lake, "d.other")) == ([1], [])


def test_restore_of_a_table_whose_database_is_gone(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = lake.version
    told(lake, "DROP DATABASE d CASCADE")
    with pytest.raises(NotFound, match="RESTORE DATABASE"):
        told(lake, f"RESTORE TABLE d.t TO VERSION {then}")
    told(lake, f"RESTORE DATABASE d TO VERSION {then}")
    assert one(lake, "d.t") == [1]


def test_restore_database_undoes_all_that_happened_in_it_and_nothing_else(any_lake):
    told(
        any_lake,
        "CREATE DATABASE other",
        "CREATE TABLE other.o (a INT)",
        "CREATE TABLE d.kept (a INT)",
        "CREATE TABLE d.dropped (a INT) TBLPROPERTIES (colour = 'red')",
        "CREATE TABLE d.renamed (a INT)",
        "INSERT INTO d.kept VALUES (1)",
        "INSERT INTO d.dropped VALUES (2)",
        "ALTER DATABASE d SET DBPROPERTIES (stage = 'then')",
    )
    then = any_lake.version
    told(
        any_lake,
        "INSERT INTO other.o VALUES (5)",
        "DELETE FROM d.kept",
        "DROP TABLE d.dropped",
        "ALTER TABLE d.renamed RENAME TO other.away",
        "CREATE TABLE d.later (a INT)",
        "ALTER DATABASE d SET DBPROPERTIES (stage = 'now')",
        "ALTER DATABASE d RENAME TO dd",
        f"RESTORE DATABASE d TO VERSION {then}",
    )
    assert any_lake.tables() == ["d.dropped", "d.kept", "d.renamed", "other.o"]
    assert (one(any_lake, "d.kept"), one(any_lake, "d.dropped"), one(any_lake, "other.o")) == ([1], [2], [5])
    assert dict(told(any_lake, "DESCRIBE DATABASE d"))["properties"] == "stage=then"
    assert told(any_lake, "SHOW TBLPROPERTIES d.dropped") == [("colour", "red")]


def test_restore_branch_undoes_everything_on_it(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT, k STRING) PARTITIONED BY (k)", "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')")
    told(any_lake, "ALTER TABLE d.t ADD PARTITION (k = 'named')")
    then = any_lake.version
    shown = told(any_lake, "SHOW PARTITIONS d.t")
    dev = any_lake.create_branch("dev")
    told(
        dev,
        "CREATE DATABASE e",
        "CREATE TABLE e.u (a INT)",
        "ALTER TABLE d.t DROP PARTITION (k = 'named')",
        "ALTER TABLE d.t ADD PARTITION (k = 'new')",
        "ALTER TABLE d.t DROP PARTITION (k = 'x')",
        "ALTER TABLE d.t ADD COLUMN c INT",
        "DROP DATABASE d CASCADE",
        f"RESTORE BRANCH TO VERSION {then}",
    )
    assert (dev.databases(), dev.tables()) == (["d"], ["d.t"])
    assert rows(dev, "d.t") == rows(any_lake, "d.t") == [(1, "x"), (2, "y")]
    assert told(dev, "SHOW PARTITIONS d.t") == shown
    assert any_lake.version == then


def test_restore_branch_by_its_name_from_another_one(lake):
    told(lake, "CREATE TABLE d.t (a INT)")
    dev = lake.create_branch("dev")
    fork = dev.version
    told(dev, "INSERT INTO d.t VALUES (1)")
    told(lake, f"RESTORE BRANCH dev TO VERSION {fork}")
    assert one(dev, "d.t") == []
    assert lake.version == fork


def test_restore_by_time(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    then = lake.log()[0].time.strftime("%Y-%m-%d %H:%M:%S.%f")
    told(lake, "DELETE FROM d.t", f"RESTORE TABLE d.t TO TIMESTAMP '{then}'")
    assert one(lake, "d.t") == [1]


@pytest.mark.parametrize(
    ("statement", "error", "word"),
    [
        ("RESTORE TABLE d.t TO VERSION 999", NotFound, "999"),
        ("RESTORE TABLE d.t TO VERSION 1", NotFound, "d.t"),
        ("RESTORE TABLE d.nothing TO VERSION 2", NotFound, "nothing"),
        ("RESTORE DATABASE nothing TO VERSION 2", NotFound, "nothing"),
        ("RESTORE BRANCH nothing TO VERSION 2", NotFound, "nothing"),
        ("RESTORE TABLE d.t TO VERSION dev", SqlError, "version"),
        ("RESTORE d.t TO VERSION 1", SqlError, "TABLE"),
    ],
)
def test_restores_that_cannot_be(table, statement, error, word):
    before = table.version
    with pytest.raises(error, match=word):
        told(table, statement)
    assert table.version == before


def test_restore_on_a_branch_reaches_behind_its_fork(table):
    first = min(table.seen)
    dev = table.create_branch("dev")
    told(dev, "INSERT INTO d.t VALUES (100, 1)", f"RESTORE TABLE d.t TO VERSION {first}")
    assert rows(dev, "d.t") == table.seen[first][1]
    assert rows(table, "d.t") == table.seen[max(table.seen)][1]


def test_rows_deleted_before_and_after_a_fork_come_back_where_they_are_restored(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1), (2), (3), (4)")
    then = lake.version
    told(lake, "DELETE FROM d.t WHERE a = 1")
    dev = lake.create_branch("dev")
    told(dev, "DELETE FROM d.t WHERE a = 2", f"RESTORE TABLE d.t TO VERSION {then}", "DELETE FROM d.t WHERE a = 3")
    assert one(dev, "d.t") == [1, 2, 4]
    assert one(lake, "d.t") == [2, 3, 4]
    told(lake, "DELETE FROM d.t WHERE a = 4", f"RESTORE TABLE d.t TO VERSION {then}")
    assert one(lake, "d.t") == [1, 2, 3, 4]
    assert one(dev, "d.t") == [1, 2, 4]


def test_a_database_whose_name_another_one_has_by_now(lake):
    told(lake, "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (1)")
    then = lake.version
    told(lake, "DROP DATABASE d CASCADE", "CREATE DATABASE d")
    for statement in ("RESTORE DATABASE d", "RESTORE TABLE d.t"):
        with pytest.raises(AlreadyExists, match="rename it, and RESTORE DATABASE brings the old one back"):
            lake.sql(f"{statement} TO VERSION {then}")
    told(lake, "ALTER DATABASE d RENAME TO e", f"RESTORE DATABASE d TO VERSION {then}")
    assert rows(lake, "d.t") == [(1,)]


def test_a_version_is_named_once(table):
    first, last = min(table.seen), max(table.seen)
    assert rows(table, f"d.t@main@{first}") == table.seen[first][1]
    for name in (f"d.t@{first}", f"d.t@main@{first}"):
        with pytest.raises(Refused, match=f"given twice, by '{name}' and by {last}"):
            table.table(name, version=last)


def test_a_table_that_was_moved_into_a_restored_database_stays(lake):
    told(
        lake, "CREATE DATABASE e", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)", "CREATE TABLE e.u (a INT)"
    )
    then = lake.version
    told(lake, "CREATE TABLE e.new (a INT)", "ALTER TABLE d.t RENAME TO e.t", "ALTER TABLE e.u RENAME TO d.v")
    told(lake, f"RESTORE DATABASE e TO VERSION {then}")
    assert lake.tables() == ["e.t", "e.u"]
    assert one(lake, "e.t") == [1]
    told(lake, "DROP TABLE e.u", "ALTER TABLE e.t RENAME TO e.u")
    before = lake.version
    with pytest.raises(AlreadyExists, match=r"'e\.u' exists already.*came from another database.*rename it"):
        told(lake, f"RESTORE DATABASE e TO VERSION {then}")
    assert lake.version == before
