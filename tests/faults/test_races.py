"""Writers that meet: appends all go through, all else is refused whole, and a retry does nothing twice."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import anabranch
from anabranch.commands import rerun
from anabranch.errors import AnabranchError, CatalogUnreachable, CommitConflict, NullViolation
from anabranch.model.conflict import ConflictRecord
from tests.faults.conftest import files
from tests.statements import cut
from tests.stories.telling import labels, one, rows, told


def let_in(monkeypatch, lake, meanwhile) -> None:
    """The next commit of `lake` finds that `meanwhile` has been committed since it began."""
    catalog = lake._session.catalog
    commit = catalog.commit

    def later(request, *rest):
        monkeypatch.setattr(catalog, "commit", commit)
        meanwhile()
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", later)


GOES, REFUSED, EITHER = "goes through", "is refused", "goes through or is refused"
RACES = [
    # what runs, what is committed meanwhile, and how the first one ends
    ("INSERT INTO d.t (id) VALUES (9)", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "DELETE FROM d.t", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "UPDATE d.t SET name = 'z'", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "TRUNCATE TABLE d.t", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "INSERT OVERWRITE d.t (id) VALUES (8)", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t ADD COLUMN z INT DEFAULT 3", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t DROP COLUMN price", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t RENAME COLUMN name TO n", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t RENAME TO d.t2", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER DATABASE d RENAME TO d2", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "ALTER TABLE d.t SET TBLPROPERTIES (a = 'b')", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "RESTORE TABLE d.t TO VERSION 3", GOES),
    ("INSERT INTO d.t (id) VALUES (9)", "DROP TABLE d.t", REFUSED),
    ("INSERT INTO d.t (id) VALUES (9)", "DROP DATABASE d CASCADE", REFUSED),
    ("INSERT INTO d.t (id) VALUES (9)", "RESTORE BRANCH TO VERSION 2", REFUSED),
    ("INSERT INTO d.t (id) VALUES (9)", "RESTORE DATABASE d TO VERSION 2", REFUSED),
    ("INSERT INTO d.one VALUES (NULL)", "ALTER TABLE d.one ALTER COLUMN only SET NOT NULL", REFUSED),
    ("INSERT INTO d.one VALUES (1)", "ALTER TABLE d.one ALTER COLUMN only SET NOT NULL", EITHER),
    ("INSERT INTO d.one VALUES (1)", "ALTER TABLE d.one ADD COLUMN z INT NOT NULL", REFUSED),
    ("INSERT INTO d.one VALUES (1)", "ALTER TABLE d.one ADD COLUMN z INT NOT NULL DEFAULT 4", EITHER),
    ("INSERT INTO d.p VALUES (9, 'a')", "ALTER TABLE d.p DROP PARTITION (k = 'a')", GOES),
    ("DELETE FROM d.t WHERE id = 1", "INSERT INTO d.one VALUES (8)", GOES),
    ("DELETE FROM d.t WHERE id = 1", "CREATE BRANCH b", GOES),
    ("DELETE FROM d.t WHERE id = 1", "INSERT INTO d.t@dev (id) VALUES (8)", GOES),
    ("DELETE FROM d.t WHERE id = 1", "INSERT INTO d.t (id) VALUES (8)", EITHER),
    ("DELETE FROM d.t WHERE id > 0", "INSERT INTO d.t (id) VALUES (8)", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "DELETE FROM d.t WHERE id = 2", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "DELETE FROM d.t WHERE id = 1", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "UPDATE d.t SET name = 'q' WHERE id = 1", EITHER),
    ("DELETE FROM d.t WHERE name = 'a'", "UPDATE d.t SET name = 'q' WHERE id = 1", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "ALTER TABLE d.t RENAME COLUMN id TO i", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "INSERT OVERWRITE d.t (id) VALUES (1)", EITHER),
    ("DELETE FROM d.t WHERE id = 1", "DROP TABLE d.t", REFUSED),
    ("UPDATE d.t SET name = 'q' WHERE id = 1", "INSERT INTO d.p VALUES (8, 'a')", GOES),
    ("UPDATE d.t SET name = 'q' WHERE id = 1", "INSERT INTO d.t (id) VALUES (8)", EITHER),
    ("UPDATE d.t SET small = small + 1 WHERE id = 1", "UPDATE d.t SET small = small + 1 WHERE id = 1", EITHER),
    ("UPDATE d.t SET small = small + 1 WHERE id = 1", "DELETE FROM d.t WHERE id = 1", EITHER),
    ("UPDATE d.t SET name = NULL WHERE id = 1", "ALTER TABLE d.t ALTER COLUMN name SET DEFAULT 'y'", EITHER),
    ("UPDATE d.t SET name = 'q' WHERE id = 1", "TRUNCATE TABLE d.t", EITHER),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "UPDATE d.t SET name = 'q' WHERE id = 1", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "DELETE FROM d.t WHERE id = 1", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "INSERT OVERWRITE d.t (id) VALUES (8)", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "RESTORE TABLE d.t TO VERSION 5", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "ALTER TABLE d.t DROP COLUMN price", GOES),
    ("INSERT OVERWRITE d.t (id) VALUES (9)", "DROP TABLE d.t", REFUSED),
    ("INSERT OVERWRITE d.p PARTITION (k = 'a') VALUES (9)", "INSERT INTO d.p VALUES (8, 'b'), (7, 'a')", GOES),
    ("INSERT OVERWRITE d.p PARTITION (k) VALUES (9, 'a')", "INSERT INTO d.p VALUES (8, 'b'), (7, 'a')", GOES),
    ("INSERT OVERWRITE d.p PARTITION (k = 'a') VALUES (9)", "UPDATE d.p SET k = 'b'", GOES),
    ("TRUNCATE TABLE d.t", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("TRUNCATE TABLE d.t", "TRUNCATE TABLE d.t", GOES),
    ("ALTER TABLE d.t ADD COLUMN z INT DEFAULT 2", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("ALTER TABLE d.t ADD COLUMN z INT DEFAULT 2", "UPDATE d.t SET name = 'q' WHERE id = 1", GOES),
    ("ALTER TABLE d.t DROP COLUMN name", "UPDATE d.t SET name = 'q' WHERE id = 1", GOES),
    ("ALTER TABLE d.t RENAME TO d.t2", "DELETE FROM d.t WHERE id = 1", GOES),
    ("ALTER TABLE d.t SET TBLPROPERTIES (a = 'b')", "TRUNCATE TABLE d.t", GOES),
    ("ALTER TABLE d.one ADD COLUMN z INT NOT NULL", "INSERT INTO d.one VALUES (8)", REFUSED),
    ("ALTER TABLE d.one ALTER COLUMN only SET NOT NULL", "INSERT INTO d.one VALUES (NULL)", REFUSED),
    ("ALTER TABLE d.t ADD COLUMN z INT", "ALTER TABLE d.t ADD COLUMN z INT", GOES),
    ("ALTER TABLE d.t ADD COLUMN z INT", "ALTER TABLE d.t ADD COLUMN z STRING", REFUSED),
    ("ALTER TABLE d.t ADD COLUMN z INT", "ALTER TABLE d.p ADD COLUMN z INT", GOES),
    ("ALTER TABLE d.t RENAME TO d.same", "ALTER TABLE d.p RENAME TO d.same", REFUSED),
    ("ALTER TABLE d.t RENAME TO other.t", "DROP DATABASE other", REFUSED),
    ("CREATE TABLE d.same (a INT)", "CREATE TABLE d.same (b INT)", REFUSED),
    ("CREATE TABLE d.x (a INT)", "CREATE TABLE d.y (a INT)", GOES),
    ("CREATE TABLE other.x (a INT)", "DROP DATABASE other", REFUSED),
    ("DROP DATABASE other", "CREATE TABLE other.x (a INT)", REFUSED),
    ("DROP DATABASE other CASCADE", "ALTER TABLE d.t RENAME TO other.t", EITHER),
    ("CREATE DATABASE same", "CREATE DATABASE same", REFUSED),
    ("DROP TABLE d.t", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("DROP DATABASE d CASCADE", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("DROP TABLE d.t", "DROP TABLE d.t", GOES),
    ("ALTER TABLE d.p ADD PARTITION (k = 'z')", "INSERT INTO d.p VALUES (9, 'z')", REFUSED),
    ("ALTER TABLE d.p ADD PARTITION (k = 'z')", "INSERT INTO d.p VALUES (9, 'y')", GOES),
    ("ALTER TABLE d.p DROP PARTITION (k = 'a')", "INSERT INTO d.p VALUES (9, 'a'), (9, 'b')", GOES),
    ("ALTER TABLE d.p DROP PARTITION (k = 'a')", "DELETE FROM d.p WHERE k = 'a'", EITHER),
    ("RESTORE TABLE d.t TO VERSION 3", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("RESTORE TABLE d.t TO VERSION 3", "ALTER TABLE d.t ADD COLUMN z INT", GOES),
    ("RESTORE TABLE d.t TO VERSION 3", "DROP TABLE d.t", GOES),
    ("RESTORE TABLE d.t TO VERSION 3", "DROP DATABASE d CASCADE", REFUSED),
    ("RESTORE BRANCH TO VERSION 2", "INSERT INTO d.t (id) VALUES (8)", GOES),
    ("RESTORE BRANCH TO VERSION 1", "CREATE TABLE other.x (a INT)", GOES),
]


@pytest.mark.parametrize(("runs", "meanwhile", "ends"), RACES, ids=[f"{a} | {b}" for a, b, _ in RACES])
def test_a_statement_meets_another_that_was_committed_while_it_ran(
    lake, second, folder, beginning, tmp_path, monkeypatch, print_of, runs, meanwhile, ends
):
    """It goes through as if both had run one after the other, or it is refused and nothing of it is there."""
    after, kept = {}, set(files(folder))

    def other():
        in_flight = set(files(folder)) - kept
        told(second, meanwhile)
        after.update(print_of(second))
        after["files"] = sorted(set(after["files"]) - in_flight)

    let_in(monkeypatch, lake, other)
    try:
        told(lake, runs)
    except AnabranchError as refused:
        assert ends in (REFUSED, EITHER), refused  # noqa: PT017 - which of the two happens is part of the table
        assert print_of(second) == after
        return
    assert ends in (GOES, EITHER)
    check_nulls(lake)
    with anabranch.connect(folder, create=False) as fresh:
        assert tables_of(fresh) == tables_of(lake) == tables_of(second)
    assert tables_of(lake) in [
        one_by_one(beginning, tmp_path, *order) for order in ((meanwhile, runs), (runs, meanwhile))
    ]


REPLAYED = [
    "INSERT OVERWRITE d.p PARTITION (k = 'a') VALUES (9)",
    "TRUNCATE TABLE d.p",
    "TRUNCATE TABLE d.p PARTITION (k = 'a')",
    "ALTER TABLE d.p DROP PARTITION (k = 'a')",
    "ALTER TABLE d.p ADD PARTITION (k = 'z')",
    "ALTER TABLE d.p ADD COLUMN z INT",
    "ALTER TABLE d.p RENAME COLUMN v TO w",
    "ALTER TABLE d.p SET TBLPROPERTIES (a = 'b')",
    "ALTER TABLE d.p RENAME TO d.p2",
    "COMMENT ON TABLE d.p IS 'rows'",
    "RESTORE TABLE d.p TO VERSION 6",
    "RESTORE BRANCH TO VERSION 6",
    "DROP TABLE d.p",
    "DROP DATABASE d CASCADE",
]


@pytest.mark.parametrize("statement", REPLAYED)
def test_what_writes_no_rows_is_committed_at_its_first_try_beside_inserts(lake, second, monkeypatch, statement):
    """Where inserts never stop, all tries would meet one."""
    let_in(monkeypatch, lake, lambda: told(second, "INSERT INTO d.p VALUES (5, 'a'), (6, 'b')"))
    ran = commits_of(monkeypatch, lake)
    told(lake, statement)
    assert len(ran) == 1


OTHER_ROWS = [
    # what runs under snapshot, what is committed meanwhile, and the rows that are then there
    ("DELETE FROM d.i WHERE k = 1", "DELETE FROM d.i WHERE k = 2", [(3, 0)]),
    ("DELETE FROM d.i WHERE k = 1", "UPDATE d.i SET a = 2 WHERE k = 2", [(2, 2), (3, 0)]),
    ("DELETE FROM d.i WHERE k = 1", "INSERT INTO d.i VALUES (4, 4)", [(2, 0), (3, 0), (4, 4)]),
    ("UPDATE d.i SET a = 1 WHERE k = 1", "DELETE FROM d.i WHERE k = 2", [(1, 1), (3, 0)]),
    ("UPDATE d.i SET a = 1 WHERE k = 1", "UPDATE d.i SET a = 2 WHERE k = 2", [(1, 1), (2, 2), (3, 0)]),
    ("UPDATE d.i SET a = 1 WHERE k = 1", "INSERT INTO d.i VALUES (4, 4)", [(1, 1), (2, 0), (3, 0), (4, 4)]),
]


@pytest.mark.parametrize(("runs", "meanwhile", "left"), OTHER_ROWS, ids=[f"{a} | {b}" for a, b, _ in OTHER_ROWS])
def test_what_meets_other_rows_is_committed_at_its_first_try(lake, second, monkeypatch, runs, meanwhile, left):
    told(lake, "CREATE TABLE d.i (k INT, a INT) TBLPROPERTIES ('isolation' = 'snapshot')")
    told(lake, "INSERT INTO d.i VALUES (1, 0), (2, 0), (3, 0)")
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    ran = commits_of(monkeypatch, lake)
    told(lake, runs)
    assert (len(ran), rows(lake, "d.i")) == (1, left)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("meanwhile", "times", "left"),
    [
        ("INSERT INTO d.p VALUES (5, 'b')", 1, [(2, None), (5, "b"), (11, "a")]),
        ("INSERT INTO d.p VALUES (5, 'a')", 2, [(2, None), (11, "a"), (15, "a")]),
        ("DELETE FROM d.p WHERE k = 'a'", 2, [(2, None)]),
        ("UPDATE d.p SET v = 4 WHERE k = 'a'", 2, [(2, None), (14, "a")]),
    ],
)
def test_an_overwrite_that_read_its_table_runs_again_if_its_scope_changed(
    lake, second, monkeypatch, meanwhile, times, left
):
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    ran = commits_of(monkeypatch, lake)
    told(lake, "INSERT OVERWRITE d.p PARTITION (k = 'a') SELECT v + 10 FROM d.p WHERE k = 'a'")
    assert (len(ran), rows(lake, "d.p")) == (times, left)


@pytest.mark.parametrize("statement", ["SET TBLPROPERTIES ('merge-engine' = 'first-row')", "ADD COLUMN c INT"])
def test_what_asked_for_an_empty_keyed_table_does_not_stand_beside_its_first_rows(lake, second, monkeypatch, statement):
    told(lake, "CREATE TABLE d.k (a INT, b INT, PRIMARY KEY (a))")
    let_in(monkeypatch, lake, lambda: told(second, "INSERT INTO d.k VALUES (1, 1)"))
    with contextlib.suppress(AnabranchError):
        told(lake, f"ALTER TABLE d.k {statement}")
    told(lake, "INSERT INTO d.k (a, b) VALUES (1, 2)")
    assert rows(lake, "d.k", columns=["a", "b"]) == [(1, 2)]


def one_by_one(beginning, tmp_path, *statements):
    """What is there when the statements run in this order, each of them if it can."""
    folder = shutil.copytree(beginning, tempfile.mkdtemp(dir=tmp_path), dirs_exist_ok=True)
    with anabranch.connect(folder, durability="process", create=False) as lake:
        for statement in statements:
            with contextlib.suppress(AnabranchError):
                told(lake, statement)
        return tables_of(lake)


def tables_of(lake):
    return {name: rows(lake, name) for name in lake.tables()}


def check_nulls(lake):
    for name in lake.tables():
        found = lake.table(name)
        for field in found.schema:
            assert field.nullable or found.to_arrow(columns=[field.name]).column(0).null_count == 0, (name, field)


def test_an_insert_does_not_slip_under_a_restored_not_null(lake, second, monkeypatch):
    told(lake, "CREATE TABLE d.n (a INT NOT NULL)")
    strict = lake.version
    told(lake, "ALTER TABLE d.n ALTER COLUMN a DROP NOT NULL")
    let_in(monkeypatch, lake, lambda: told(second, f"RESTORE TABLE d.n TO VERSION {strict}"))
    with pytest.raises((CommitConflict, NullViolation)):
        told(lake, "INSERT INTO d.n VALUES (NULL)")
    assert one(second, "d.n") == []


MERGED = "MERGE INTO d.i USING VALUES ({}) AS s(a) ON {} WHEN MATCHED THEN DELETE"
UNSEEN = [
    # what runs, what is committed meanwhile, and the rows that are then there under snapshot and under serializable
    ("DELETE FROM d.i WHERE a > 1", "INSERT INTO d.i VALUES (7)", [1, 7], [1]),
    ("DELETE FROM d.i WHERE a > 1", "UPDATE d.i SET a = 7 WHERE a = 1", [7], []),
    ("UPDATE d.i SET a = 20 WHERE a > 1", "INSERT INTO d.i VALUES (7)", [1, 7, 20], [1, 20, 20]),
    ("DELETE FROM d.i WHERE a = 2", "UPDATE d.i SET a = 3 WHERE a = 2", [1, 3], [1, 3]),
    (MERGED.format(7, "d.i.a = s.a OR d.i.a = 2"), "INSERT INTO d.i VALUES (7)", [1], [1]),
    ("INSERT INTO d.i VALUES (8)", "INSERT INTO d.i VALUES (7)", [1, 2, 7, 8], [1, 2, 7, 8]),
]


@pytest.mark.parametrize(("runs", "meanwhile", "snapshot", "serializable"), UNSEEN, ids=[case[0] for case in UNSEEN])
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_rows_that_a_statement_has_not_seen(
    lake, second, monkeypatch, isolation, runs, meanwhile, snapshot, serializable
):
    """As docs/sql.md says it of the option."""
    told(
        lake, f"CREATE TABLE d.i (a INT) TBLPROPERTIES ('isolation' = '{isolation}')", "INSERT INTO d.i VALUES (1), (2)"
    )
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    told(lake, runs)
    assert one(lake, "d.i") == (snapshot if isolation == "snapshot" else serializable)


READ = [
    # what runs under serializable, what is committed meanwhile, and how often the first one runs
    ("DELETE FROM {} WHERE a = 2", "INSERT INTO {} VALUES (7, 'x')", 1),
    ("DELETE FROM {} WHERE a = 2 OR a = 7", "INSERT INTO {} VALUES (7, 'x')", 2),
    ("DELETE FROM {} WHERE b = 'q' OR a = 2", "INSERT INTO {} VALUES (7, 'q')", 2),
    ("UPDATE {} SET b = 'y' WHERE a > 1 AND a < 5", "INSERT INTO {} VALUES (7, 'x'), (8, 'x')", 1),
    ("UPDATE {} SET b = 'y' WHERE a > 1 AND a < 5", "INSERT INTO {} VALUES (4, 'x'), (8, 'x')", 2),
    ("UPDATE {} SET b = 'y'", "INSERT INTO {} VALUES (7, 'x')", 2),
    ("DELETE FROM {} WHERE a = 2", "UPDATE {} SET b = 'z' WHERE a = 1", 1),
    ("DELETE FROM {} WHERE a = 2", "ALTER TABLE {} RENAME COLUMN a TO c", 1),
    ("MERGE INTO {} t USING VALUES (2) AS s(a) ON t.a = s.a AND t.b < 'k' WHEN MATCHED THEN DELETE",
     "INSERT INTO {} VALUES (2, 'x')", 1),
    ("MERGE INTO {} t USING VALUES (2) AS s(a) ON t.a = s.a AND t.b < 'k' WHEN MATCHED THEN DELETE",
     "INSERT INTO {} VALUES (2, 'a')", 2),
    ("MERGE INTO {} t USING VALUES (2) AS s(a) ON t.a = s.a WHEN NOT MATCHED BY SOURCE THEN DELETE",
     "INSERT INTO {} VALUES (3, 'a')", 2),
]  # fmt: skip


@pytest.mark.parametrize("table", ["d.a", "d.k"], ids=["append", "keyed"])
@pytest.mark.parametrize(("runs", "meanwhile", "times"), READ, ids=[f"{a} | {b}" for a, b, _ in READ])
def test_under_serializable_it_runs_again_for_rows_that_it_would_have_read(
    lake, second, monkeypatch, table, runs, meanwhile, times
):
    key = ", PRIMARY KEY (a)" if table == "d.k" else ""
    told(lake, f"CREATE TABLE {table} (a INT NOT NULL, b STRING{key}) TBLPROPERTIES ('isolation' = 'serializable')")
    told(lake, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", f"INSERT INTO {table} VALUES (3, 'c')")
    let_in(monkeypatch, lake, lambda: told(second, meanwhile.format(table)))
    ran = commits_of(monkeypatch, lake)
    told(lake, runs.format(table))
    # Of a keyed table a record may hold less than its row: what is no condition on the key may be true.
    assert len(ran) == times or (table == "d.k" and len(ran) == 2 and "b " in runs)


def commits_of(monkeypatch, lake) -> list[str]:
    """What `lake` tries to commit from now on."""
    tried = []
    commit = lake._session.catalog._commit

    def counted(request, *rest, **given):
        tried.append(request.operation)
        return commit(request, *rest, **given)

    monkeypatch.setattr(lake._session.catalog, "_commit", counted)
    return tried


def test_a_row_that_came_back_counts_under_serializable(lake, second, monkeypatch):
    told(lake, "CREATE TABLE d.i (a INT) TBLPROPERTIES ('isolation' = 'serializable')")
    told(lake, "INSERT INTO d.i VALUES (1), (2), (3)", "DELETE FROM d.i WHERE a = 3")
    let_in(monkeypatch, lake, lambda: told(second, f"REVERT {second.version}"))
    told(lake, "DELETE FROM d.i WHERE a > 1")
    assert one(lake, "d.i") == [1]


AGAIN = {
    "drop_table": (lambda lake: lake.drop_table("d.t"), "ALTER TABLE d.t ADD COLUMN z INT"),
    "drop_database": (lambda lake: lake.drop_database("d", cascade=True), "CREATE TABLE d.new (a INT)"),
    "set_database_properties": (
        lambda lake: lake.set_database_properties("d", {"a": "1"}),
        "ALTER DATABASE d SET DBPROPERTIES (b = '2')",
    ),
    "unset_database_properties": (
        lambda lake: lake.unset_database_properties("d", ["a"], if_exists=True),
        "ALTER DATABASE d SET DBPROPERTIES (b = '2')",
    ),
    "rename_database": (lambda lake: lake.rename_database("d", "e"), "ALTER DATABASE d SET DBPROPERTIES (b = '2')"),
    "restore": (lambda lake: lake.restore(3, table="d.t"), "ALTER TABLE d.t ADD COLUMN z INT"),
}


@pytest.mark.parametrize("call", AGAIN)
def test_what_is_called_in_python_runs_again_as_in_sql(lake, second, monkeypatch, call):
    runs, meanwhile = AGAIN[call]
    told(lake, "ALTER DATABASE d SET DBPROPERTIES (a = '0')")
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    runs(lake)
    if "propert" in call:
        told(second, "ALTER DATABASE d UNSET DBPROPERTIES (b)")  # it is still there


def test_a_conflict_names_the_rows_of_both(lake, second, monkeypatch):
    told(lake, "CREATE TABLE d.i (a INT)", "INSERT INTO d.i VALUES (1), (2), (3), (4), (5)")
    table = lake.table("d.i")._open()
    (slot,) = lake._session.catalog.state(table.position, table.id).parts
    let_in(monkeypatch, lake, lambda: told(second, "UPDATE d.i SET a = a + 1"))
    raised = []
    admitted = lake._session.catalog.commit

    def watched(*given):
        try:
            return admitted(*given)
        except CommitConflict as conflict:
            raised.append(conflict)
            raise

    monkeypatch.setattr(lake._session.catalog, "commit", watched)
    told(lake, "DELETE FROM d.i WHERE a > 1")
    (conflict,) = raised
    assert [record.row for record in conflict.conflicts] == [slot << 32 | at for at in (1, 2, 3)] + [None]
    assert {record.object for record in conflict.conflicts} == {"table d.i"}
    assert "1 more" in conflict.conflicts[-1].ours
    assert one(lake, "d.i") == []


@pytest.mark.parametrize(
    "statement", ["ALTER TABLE d.one ALTER COLUMN only SET NOT NULL", "DELETE FROM d.one WHERE only > 100"]
)
def test_a_statement_that_looks_at_all_rows_gets_through_between_appends(lake, second, monkeypatch, statement):
    """Each of its tries but the last, for which the head is held, meets another append."""
    told(lake, "ALTER TABLE d.one SET TBLPROPERTIES ('isolation' = 'serializable')", "INSERT INTO d.one VALUES (101)")
    catalog = lake._session.catalog
    commit, appends = catalog.commit, list(range(110, 110 + rerun.FREE + rerun.ALONE))
    monkeypatch.setattr(rerun, "PATIENCE", 60)

    def late(request, *rest):
        if appends:
            told(second, f"INSERT INTO d.one VALUES ({appends.pop()})")
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", late)
    told(lake, statement)
    assert appends == []


def test_a_statement_that_conflicts_at_every_try_is_refused_at_last(lake, folder, monkeypatch):
    """Others cannot be the reason where the head is held; whatever is, it does not go on for ever."""
    told(lake, "INSERT INTO d.one VALUES (1)")
    catalog, tries, version = lake._session.catalog, [], lake.version
    before, conflict = files(folder), ConflictRecord("table d.one", "table", "test", "never fits", "update")

    def never(request, *rest):
        tries.append(catalog.is_held)
        raise CommitConflict("it does not fit", [conflict], [change.object_id for change in request.changes])

    with monkeypatch.context() as patched:
        patched.setattr(catalog, "commit", never)
        patched.setattr(rerun, "PATIENCE", 60)
        with pytest.raises(CommitConflict) as caught:
            told(lake, "UPDATE d.one SET only = only + 100")
    assert list(caught.value.conflicts) == [conflict]
    assert tries == [False] * (rerun.FREE + rerun.ALONE) + [True]
    assert (lake.version, files(folder)) == (version, before)
    told(lake, "UPDATE d.one SET only = only + 100")  # nothing is held any more
    assert one(lake, "d.one") == [101]


def test_two_updates_of_one_row_both_count(lake, second, monkeypatch):
    """Either the second one is told that it lost, or it sees what the first one did: never a lost update."""
    let_in(monkeypatch, lake, lambda: told(second, "UPDATE d.t SET small = small + 1 WHERE id = 1"))
    try:
        told(lake, "UPDATE d.t SET small = small + 1 WHERE id = 1")
    except CommitConflict as lost:
        assert "d.t" in "".join(map(str, lost.conflicts))  # noqa: PT017 - see above
        assert "again" in str(lost)  # noqa: PT017
        told(lake, "UPDATE d.t SET small = small + 1 WHERE id = 1")
    assert rows(lake, "d.t", columns=["small"], where="id = 1") == [(3,)]


def test_rows_that_several_commits_killed_meanwhile_all_count(lake, second, monkeypatch):
    """They killed rows of one part, and only the first of them the row that is updated here."""
    told(lake, "CREATE TABLE d.i (k INT, a INT)", "INSERT INTO d.i VALUES (1, 0), (2, 0)")
    others = [f"UPDATE d.i SET a = a + 1 WHERE k = {k}" for k in (1, 2)]
    let_in(monkeypatch, lake, lambda: told(second, *others))
    told(lake, "UPDATE d.i SET a = a + 100 WHERE k = 1")
    assert rows(lake, "d.i") == [(1, 101), (2, 1)]


def test_a_head_that_moves_twice_leaves_no_part_of_the_attempts(lake, second, folder, monkeypatch):
    catalog, moves = lake._session.catalog, [1, 2]
    commit = catalog.commit

    def late_twice(request, *rest):
        if moves:
            moves.pop()
            told(second, "UPDATE d.t SET small = small + 1 WHERE id = 1")
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", late_twice)
    for _ in range(3):
        with contextlib.suppress(CommitConflict):
            told(lake, "UPDATE d.t SET name = 'mine' WHERE id = 1")
            break
    assert rows(lake, "d.t", columns=["small", "name"], where="id = 1") == [(3, "mine")]
    assert len(files(folder)) == len(files_of_all_versions(second)), "parts of refused commits are still there"


def files_of_all_versions(lake):
    """The parts that some version of some branch needs."""
    needed = set()
    for branch in lake.branches():
        on = lake.on(branch.name)
        for version in range(on.version + 1):
            for name in [row[0] + "." + row[1] for row in told(on, "SHOW TABLES")]:
                try:
                    table = on.table(name, version=version)
                except AnabranchError:
                    continue
                state = on._session.catalog.state(table._open().position, table.id)
                needed |= {f"{table.id}/{part.path}" for part in state.parts.values()}
    return needed


def test_a_refused_delete_leaves_no_file_of_dead_rows(lake, second, folder, monkeypatch):
    """Large bitmaps are files too."""
    table = lake.create_table("d.big", "a INT")
    table.write({"a": range(1_000_000)})
    let_in(monkeypatch, lake, lambda: told(second, "DROP TABLE d.big"))
    with pytest.raises(AnabranchError, match="big"):
        table.delete("a % 5 = 1 OR a % 11 = 2")
    assert list(folder.rglob("*.roaring")) == []


def test_a_branch_dropped_meanwhile_takes_no_commit(lake, second, monkeypatch):
    dev = lake.on("dev")
    let_in(monkeypatch, lake, lambda: told(second, "DROP BRANCH dev"))
    with pytest.raises(AnabranchError, match="dev"):
        told(dev, "INSERT INTO d.t (id) VALUES (9)")
    assert one(lake, "d.t") == [1, 2]


# --- commits whose answer is lost ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        ([], [2, 9]),
        (["INSERT INTO d.t (id) VALUES (8)"], [2, 8, 8, 9]),
        (["UPDATE d.t SET name = 'z'"], [2, 9]),
    ],
)
def test_a_commit_whose_answer_was_lost_is_found_done(lake, second, meanwhile, left):
    """One version, one row, whatever others did before it was sent again."""
    before = lake.version
    for statement in ("INSERT INTO d.t (id) VALUES (9)", "DELETE FROM d.t WHERE id = 1"):
        with cut("after", lambda: told(second, *meanwhile)):
            assert told(lake, statement) == [(1,)]
    assert lake.version == second.version == before + 2 + 2 * len(meanwhile)
    assert one(lake, "d.t") == one(second, "d.t") == left


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO d.t (id) VALUES (9)", "UPDATE d.t SET id = 9 WHERE id = 1", "INSERT OVERWRITE d.t (id) VALUES (9)"],
)
def test_a_commit_that_went_in_unheard_keeps_its_parts(lake, second, monkeypatch, statement):
    """The connection breaks after COMMIT: the rows may be in, so their files must stay."""
    catalog = lake._session.catalog
    commit = catalog.commit

    def unheard(request, *rest):
        commit(request, *rest)
        raise CatalogUnreachable("postgresql://somewhere", "the connection was lost")

    monkeypatch.setattr(catalog, "commit", unheard)
    with pytest.raises(CatalogUnreachable):
        told(lake, statement)
    assert 9 in one(second, "d.t")


# --- many writers -----------------------------------------------------------------------------------------------------

APPENDER = """
import sys
import anabranch
path, catalog, who, count = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), int(sys.argv[4])
with anabranch.connect(path, catalog=catalog, durability="process", create=False) as lake:
    table = lake.table("d.one")
    for number in range(count):
        table.write([{"only": who * 1000 + number}])
"""


def test_processes_append_to_one_table_and_lose_nothing(lake, folder):
    version, count = lake.version, 60
    writers = [subprocess.Popen([sys.executable, "-c", APPENDER, folder, "", str(who), str(count)]) for who in range(2)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    assert one(lake, "d.one") == sorted(who * 1000 + number for who in range(2) for number in range(count))
    assert lake.version == version + 2 * count
    slots = [path.split("slot=")[1].split("/")[0] for path in files(folder) if lake.table("d.one").id in path]
    assert len(slots) == len(set(slots)) == 2 * count


@pytest.mark.postgres
def test_processes_append_on_postgresql(fresh_postgres_url, tmp_path):
    with anabranch.connect(tmp_path / "lake", catalog=fresh_postgres_url, durability="process") as lake:
        told(lake, "CREATE DATABASE d", "CREATE TABLE d.one (only INT)")
        arguments = [tmp_path / "lake", fresh_postgres_url]
        writers = [subprocess.Popen([sys.executable, "-c", APPENDER, *arguments, str(who), "25"]) for who in range(2)]
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
        assert len(set(one(lake, "d.one"))) == len(one(lake, "d.one")) == 50


@pytest.mark.parametrize("shared", [True, False], ids=["sessions of one connection", "connections of their own"])
def test_threads_append_to_one_table_and_lose_nothing(lake, folder, shared):
    threads, count = 8, 25
    barrier = threading.Barrier(threads)

    def append(who):
        mine = lake.on("main") if shared else anabranch.connect(folder, durability="process", create=False)
        table = mine.table("d.one")
        barrier.wait()
        for number in range(count):
            table.write([{"only": who * 1000 + number}])
            if number % 10 == 0:
                table.to_arrow()
        if not shared:
            mine.close()

    version = lake.version
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(append, range(threads)))
    assert one(lake, "d.one") == sorted(who * 1000 + number for who in range(threads) for number in range(count))
    assert lake.version == version + threads * count
    with anabranch.connect(folder, create=False) as fresh:
        assert len(one(fresh, "d.one")) == threads * count


def test_a_writer_that_deletes_meets_appenders_and_every_answer_is_true(lake, folder):
    """What DELETE says that it deleted is gone, what it refused is not, and no append is lost."""
    stop = threading.Event()
    written = []

    def append():
        with anabranch.connect(folder, durability="process", create=False) as mine:
            table = mine.table("d.one")
            while not stop.is_set():
                table.write([{"only": len(written)}])
                written.append(len(written))

    appender = threading.Thread(target=append)
    appender.start()
    deleted = conflicts = 0
    try:
        for _ in range(30):
            try:
                deleted += told(lake, "DELETE FROM d.one WHERE only % 2 = 0")[0][0]
            except CommitConflict:
                conflicts += 1
    finally:
        stop.set()
        appender.join()
    left = one(lake, "d.one")
    assert len(left) == len(written) - deleted
    assert {number for number in written if number % 2} <= set(left)


def test_a_reader_keeps_the_version_it_started_with(lake, second):
    table = lake.table("d.t")
    batches = table.to_batches()
    seen = [next(batches).num_rows]
    told(second, "DELETE FROM d.t", "ALTER TABLE d.t DROP COLUMN name", "DROP TABLE d.t")
    seen += [batch.num_rows for batch in batches]
    assert sum(seen) == 2
    assert labels(lake, "d.p") == ["v", "k"]
