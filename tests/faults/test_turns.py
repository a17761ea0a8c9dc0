"""A statement's last try has its tables to itself: among threads of one lake, connections and processes."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.compute as pc
import pytest
from sqlalchemy import make_url

import anabranch
from anabranch.commands import merge_branch, rerun
from anabranch.lake import Lake
from tests.faults.conftest import in_a_child
from tests.faults.test_races import let_in
from tests.stories.telling import one, rows, told

SOON, LATE = 0.3, 30
needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> dict:
    """Where a lake is that both databases can hold."""
    catalog = request.getfixturevalue("fresh_postgres_url") if request.param == "postgresql" else None
    return {"path_or_url": tmp_path / "busy", "catalog": catalog, "durability": "process"}


@pytest.fixture
def busy(address: dict) -> Iterator[Lake]:
    with anabranch.connect(**address) as lake:
        told(lake, "CREATE DATABASE d", "CREATE TABLE d.t (k INT, a INT)", "INSERT INTO d.t VALUES (1, 0)")
        told(lake, "CREATE TABLE d.k (k INT, a INT, PRIMARY KEY (k))", "INSERT INTO d.k VALUES (1, 0)")
        yield lake


STATEMENTS = ["UPDATE d.t SET a = a + 1", "UPDATE d.k SET a = a + 1", "INSERT INTO d.k VALUES (2, 2)"]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("who", ["another thread", "another connection"])
def test_others_wait_for_one_that_is_alone(address: dict, busy: Lake, who: str, statement: str) -> None:
    session, done = busy._session, threading.Event()
    tables = [busy.table(name).id for name in ("d.t", "d.k")]

    def run() -> None:
        other = busy.on("main") if who == "another thread" else anabranch.connect(**address)
        told(other, statement)
        done.set()
        if who == "another connection":
            other.close()

    thread = threading.Thread(target=run)
    with session.alone(tables):
        thread.start()
        assert not done.wait(SOON)
        told(busy, statement)  # the statement itself is not in its own way
    assert done.wait(LATE)
    thread.join()


@pytest.mark.parametrize(("free", "alone"), [(rerun.FREE, rerun.ALONE), (1, 1), (1, 0), (0, 0)])
def test_threads_that_change_one_row_are_all_let_through(
    busy: Lake, monkeypatch: pytest.MonkeyPatch, free: int, alone: int
) -> None:
    """However soon they take the table, or the head, for themselves."""
    monkeypatch.setattr(rerun, "FREE", free)
    monkeypatch.setattr(rerun, "ALONE", alone)
    threads, count = 8, 8

    def work(_: int) -> None:
        mine = busy.on("main")
        for _ in range(count):
            told(mine, "UPDATE d.t SET a = a + 1")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert rows(busy, "d.t") == [(1, threads * count)]


def test_two_who_want_the_same_tables_take_them_in_one_order(busy: Lake) -> None:
    ids = [busy.table(name).id for name in ("d.t", "d.k")]
    inside, most = [], []

    def work(number: int) -> None:
        with busy.on("main")._session.alone(ids if number % 2 else reversed(ids)):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40), timeout=LATE))
    assert most == [1] * 40


def test_a_statement_that_others_keep_beating_has_its_table_to_itself_at_last(
    address: dict, busy: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, update = busy._session.catalog, "UPDATE d.t SET a = a + 1"
    commit, tries, done = catalog.commit, [], threading.Event()

    def late(request: Any, *rest: Any) -> Any:
        tries.append(request)
        if len(tries) <= rerun.FREE:
            told(second, update)
        else:
            waiting.start()
            assert not done.wait(SOON)
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", late)
    with anabranch.connect(**address) as second:
        waiting = threading.Thread(target=lambda: (told(second, update), done.set()))
        told(busy, "UPDATE d.t SET a = a + 100")
        assert done.wait(LATE)
        waiting.join()
    assert len(tries) == rerun.FREE + 1
    assert rows(busy, "d.t") == [(1, 100 + len(tries))]


def test_a_merge_that_others_keep_beating_has_the_head_to_itself_at_last(
    address: dict, busy: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appends take no turn: they wait for the head."""
    told(busy, "CREATE BRANCH dev", "UPDATE d.t@dev SET a = 7 WHERE k = 1")
    catalog, append = busy._session.catalog, "INSERT INTO d.t VALUES (2, 2)"
    commit, tries, done = catalog.commit, [], threading.Event()

    def late(request: Any, *rest: Any) -> Any:
        tries.append(request.base.version)
        if len(tries) < merge_branch._TRIES:
            told(second, append)
        else:
            waiting.start()
            assert not done.wait(SOON)
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", late)
    with anabranch.connect(**address) as second:
        waiting = threading.Thread(target=lambda: (told(second, append), done.set()))
        told(busy, "MERGE BRANCH dev WITH (detect = 'row')")
        assert done.wait(LATE)
        waiting.join()
    assert len(tries) == merge_branch._TRIES
    assert rows(busy, "d.t") == [(1, 7)] + [(2, 2)] * len(tries)
    assert [commit.operation for commit in busy.log(limit=2)] == ["INSERT", "MERGE BRANCH"]
    monkeypatch.undo()
    told(busy, "UPDATE d.t SET a = 9", append)  # nothing is held any more


# --- appends, which take no turn --------------------------------------------------------------------------------------

APPENDER = """
import json, pathlib, sys
import anabranch
address, until = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2])
with anabranch.connect(**address, create=False) as lake:
    table, count = lake.table("d.many"), 0
    while not until.exists():
        table.write([{"k": count, "a": 0}])
        count += 1
    print(count)
"""
MANY = 10_000


@contextmanager
def appending(address: dict, lake: Lake, tmp_path: Path, who: str) -> Iterator[list[int]]:
    """Somebody appends rows without a pause; gives their number when they are done."""
    stop, counted = tmp_path / "stop", list[int]()

    def append() -> None:
        mine, count = lake.on("main").table("d.many"), 0
        while not stop.exists():
            mine.write([{"k": count, "a": 0}])
            count += 1
        counted.append(count)

    if who == "a thread":
        thread = threading.Thread(target=append)
        thread.start()
        try:
            yield counted
        finally:
            stop.touch()
            thread.join()
        return
    told_of = json.dumps({**address, "path_or_url": str(address["path_or_url"])})
    process = subprocess.Popen([sys.executable, "-c", APPENDER, told_of, str(stop)], stdout=subprocess.PIPE, text=True)
    try:
        yield counted
    finally:
        stop.touch()
        counted.append(int(process.communicate(timeout=LATE)[0]))


@pytest.mark.parametrize("who", ["a thread", "a process"])
def test_a_statement_on_all_rows_gets_through_beside_one_who_appends_without_pause(
    address: dict, busy: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """Each of its tries meets many appends, but the last one, for which they wait."""
    told(busy, "CREATE TABLE d.many (k INT, a INT) TBLPROPERTIES ('isolation' = 'serializable')")
    busy.table("d.many").write({"k": range(MANY), "a": [0] * MANY})
    catalog, held = busy._session.catalog, []
    commit = catalog.commit

    def noted(request: Any, *rest: Any) -> Any:
        if request.operation == "UPDATE":
            held.append(catalog.is_held)
            while not held[-1] and busy.version == request.base.version:  # however quick it is, an append is quicker
                time.sleep(0.001)
        return commit(request, *rest)

    monkeypatch.setattr(catalog, "commit", noted)
    before = busy.version
    with appending(address, busy, tmp_path, who) as counted:
        while busy.version < before + 3:
            time.sleep(0.01)
        began = time.monotonic()
        updated = told(busy, "UPDATE d.many SET a = a + 1 WHERE k >= 0")[0][0]
        assert time.monotonic() - began < LATE
        after = busy.version
        while busy.version < after + 3:  # it goes on
            time.sleep(0.01)
    assert held == [False] * (len(held) - 1) + [True]
    found = busy.table("d.many").to_arrow()
    assert found.num_rows == MANY + counted[0]
    assert pc.sum(found.column("a")).as_py() == updated >= MANY


LAST = [
    # what is tried with the head held at once, beside threads that reserve slots and commit
    "UPDATE d.t SET a = a + 1",
    "UPDATE d.k SET a = a + 1",
    "DELETE FROM d.t WHERE k = 1",
    "DELETE FROM d.k WHERE k = 1",
    "INSERT INTO d.k VALUES (3, 3)",
    "INSERT OVERWRITE d.t VALUES (3, 3)",
    "TRUNCATE TABLE d.t",
    "OPTIMIZE d.t",
    "OPTIMIZE d.k",
    "ALTER TABLE d.t ADD COLUMN z INT",
    "ALTER TABLE d.t ALTER COLUMN k SET NOT NULL",
    "DROP TABLE d.t",
    "CREATE TABLE d.new (k INT)",
    "ALTER DATABASE d RENAME TO e",
    "RESTORE TABLE d.t TO VERSION 3",
    "MERGE BRANCH dev WITH (detect = 'row')",
    "MERGE INTO d.t USING VALUES (1), (9) AS s(k) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = 5 "
    "WHEN NOT MATCHED THEN INSERT (k, a) VALUES (9, 9)",
    "MERGE INTO d.rewritten t USING VALUES (1), (9) AS s(k) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = 5",
    "MERGE INTO d.k USING VALUES (1), (9) AS s(k) ON k.k = s.k WHEN MATCHED THEN UPDATE SET a = 5",
]
BY_SPARK = [
    "INSERT INTO d.t SELECT id, id FROM range(1000)",
    "INSERT INTO d.k SELECT id, id FROM range(1000)",
    "INSERT OVERWRITE d.t SELECT k, a + 1 FROM d.t",
    "CREATE TABLE d.new AS SELECT * FROM d.t",
    "UPDATE d.t SET a = (SELECT max(a) FROM d.k)",
    "DELETE FROM d.t WHERE k IN (SELECT k FROM d.k)",
    "DELETE FROM d.k WHERE k IN (SELECT k FROM d.t)",
    "MERGE INTO d.t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED AND hash(t.k) = hash(s.k) THEN UPDATE SET a = 5",
    "MERGE INTO d.rewritten t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED AND hash(t.k) = 1 THEN UPDATE SET a = 5"
    " WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize("statement", [*LAST, *(pytest.param(text, marks=pytest.mark.spark) for text in BY_SPARK)])
def test_one_who_holds_the_head_waits_for_nobody(busy: Lake, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Neither for threads of this process that reserve and commit, nor for those that it has started itself, nor for
    the turns of others."""
    told(busy, "CREATE TABLE d.rewritten (k INT, a INT) TBLPROPERTIES ('merge.mode' = 'copy-on-write')")
    told(busy, *["INSERT INTO d.rewritten VALUES (1, 0), (2, 0)"] * 3, "UPDATE d.t SET a = 0", "DELETE FROM d.k")
    told(busy, "CREATE BRANCH dev", "UPDATE d.t@dev SET a = 7 WHERE k = 1", "INSERT INTO d.k@dev VALUES (5, 5)")
    told(busy, "INSERT INTO d.k VALUES (1, 1)", "INSERT INTO d.t VALUES (4, 4)", "CREATE TABLE d.other (k INT, a INT)")
    if statement in BY_SPARK:
        assert busy.spark is not None
    monkeypatch.setattr(rerun, "FREE", 0)
    stop, done = threading.Event(), threading.Event()

    def others(name: str) -> None:
        mine = busy.on("main")
        while not stop.is_set():
            with suppress(anabranch.AnabranchError):
                mine.table(name).write([{"k": 2, "a": 2}])
            mine._session.shared.slots.clear()  # so that it is always asked for more

    def run() -> None:
        told(busy, statement)
        done.set()

    waiting = [threading.Thread(target=others, args=(name,)) for name in ("d.t", "d.other", "d.k", "d.rewritten")]
    runs = threading.Thread(target=run, daemon=True)
    for thread in (*waiting, runs):
        thread.start()
    try:
        assert done.wait(LATE)
    finally:
        stop.set()
    for thread in (*waiting, runs):
        thread.join(LATE)


def test_a_statement_within_another_one_does_not_wait_for_it(busy: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data may be made by statements while it is written. The inner one's commit ends what PostgreSQL held."""
    monkeypatch.setattr(rerun, "FREE", 0)

    def made() -> Iterator[dict[str, int]]:
        for number in range(3):
            told(busy, "UPDATE d.k SET a = a + 1", f"INSERT INTO d.t VALUES ({10 + number}, 0)")
            yield {"k": number, "a": 5}

    busy.table("d.t").write(made())
    assert rows(busy, "d.k") == [(1, 3)]
    assert rows(busy, "d.t") == [(0, 5), (1, 0), (1, 5), (2, 5), (10, 0), (11, 0), (12, 0)]


def test_a_statement_within_another_one_is_tried_and_refused(busy: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no turns: the one around it may have some already, in another order."""
    catalog, commit, tries = busy._session.catalog, busy._session.catalog.commit, []

    def never(request: Any, *rest: Any) -> Any:
        if request.operation != "UPDATE":
            return commit(request, *rest)
        tries.append(catalog.is_held)
        raise anabranch.CommitConflict("it does not fit", (), [change.object_id for change in request.changes])

    def made() -> Iterator[dict[str, int]]:
        with pytest.raises(anabranch.CommitConflict, match="does not fit"):
            told(busy, "UPDATE d.t SET a = a + 1")
        yield {"k": 2, "a": 2}

    monkeypatch.setattr(catalog, "commit", never)
    busy.table("d.t").write(made())
    assert tries == [False] * rerun.FREE
    assert rows(busy, "d.t") == [(1, 0), (2, 2)]


def test_a_thread_that_waits_for_slots_keeps_none_from_others(busy: Lake) -> None:
    catalog, table_id = busy._session.catalog, busy.table("d.t").id
    given: list[int] = []
    with catalog.holding(busy._session.branch_id):
        busy._session.shared.slots.clear()
        waiting = threading.Thread(target=lambda: given.append(busy._session.next_slot(table_id)))
        waiting.start()
        waiting.join(SOON)
        mine = [busy._session.next_slot(table_id) for _ in range(100)]
    waiting.join(LATE)
    assert len({*mine, *given}) == 101


@needs_forks
def test_a_turn_is_over_for_a_process_forked_meanwhile(lake: Lake) -> None:
    """The child has the lock's file open, too, and lives on."""
    catalog, table_id = lake._session.catalog, lake.table("d.t").id
    reading, writing = os.pipe()
    with catalog.turn(table_id, alone=False):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent is done
            os._exit(0)
    free = threading.Event()

    def alone() -> None:
        with catalog.turn(table_id, alone=True):
            free.set()

    thread = threading.Thread(target=alone)
    thread.start()
    try:
        assert free.wait(5)
    finally:
        os.close(writing)
        os.waitpid(child, 0)
        thread.join()


@needs_forks
def test_a_child_does_not_give_back_the_turn_of_its_parent(lake: Lake, second: Lake) -> None:
    catalog, table_id = lake._session.catalog, lake.table("d.one").id
    told(lake, "INSERT INTO d.one VALUES (1)")
    turn, done = catalog.turn(table_id, alone=True), threading.Event()

    def run() -> None:
        told(second, "DELETE FROM d.one")
        done.set()

    with turn:
        in_a_child(lambda: turn.__exit__(None, None, None))  # as where it leaves the statement that it was forked in
        thread = threading.Thread(target=run)
        thread.start()
        assert not done.wait(SOON)
    thread.join()
    assert one(lake, "d.one") == []


# --- connections that are lost ---------------------------------------------------------------------------------------


def end_sessions(url: str, holding: str = "") -> int:
    """Ends the sessions of a database's users, or of those who hold a kind of lock, and waits until they are gone."""
    theirs = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    theirs += f" AND pid IN (SELECT pid FROM pg_locks WHERE locktype = '{holding}')" if holding else ""
    at = make_url(url)
    with psycopg.connect(host=at.query["host"], user=at.username, dbname=at.database, autocommit=True) as connection:
        ended = connection.execute(f"SELECT pg_terminate_backend(pid) {theirs}").fetchall()
        while connection.execute(f"SELECT pid {theirs}").fetchall():
            time.sleep(0.001)
    return len(ended)


@pytest.fixture
def far(fresh_postgres_url: str, tmp_path: Path) -> Iterator[Lake]:
    with anabranch.connect(tmp_path / "far", catalog=fresh_postgres_url, durability="process") as lake:
        told(lake, "CREATE DATABASE d", "CREATE TABLE d.t (k INT, a INT)", "INSERT INTO d.t VALUES (1, 0)")
        told(lake, "CREATE TABLE d.k (k INT, a INT, PRIMARY KEY (k))", "INSERT INTO d.k VALUES (1, 0)")
        yield lake


KILLING = [
    "UPDATE d.t SET a = a + 1",
    "DELETE FROM d.t",
    "MERGE INTO d.t USING (VALUES (1)) AS s(k) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = a + 1",
    "INSERT INTO d.k VALUES (2, 2)",
    "UPDATE d.k SET a = a + 1",
]


@pytest.mark.postgres
@pytest.mark.parametrize("statement", KILLING)
def test_a_turn_that_is_lost_before_the_commit_fails_nothing(
    far: Lake, fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    before, ended = far.version, []
    let_in(monkeypatch, far, lambda: ended.append(end_sessions(fresh_postgres_url, "advisory")))
    told(far, statement)
    assert (far.version, ended) == (before + 1, [1])
    told(far, statement)  # on other connections


@pytest.mark.postgres
@pytest.mark.parametrize("statement", [*KILLING, "INSERT INTO d.t VALUES (2, 2)", "MERGE BRANCH dev"])
def test_statements_outlive_the_loss_of_all_connections(
    far: Lake,
    fresh_postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    statement: str,
) -> None:
    told(far, "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (3, 3)", "UPDATE d.t SET a = 1")
    before = far.version
    let_in(monkeypatch, far, lambda: end_sessions(fresh_postgres_url))
    assert end_sessions(fresh_postgres_url) > 0
    told(far, statement)
    assert far.version == before + 1
    assert caplog.text == ""  # the driver's own words about it would go to the screen


@pytest.mark.postgres
def test_a_turn_that_is_lost_is_not_alone_any_more(far: Lake, fresh_postgres_url: str) -> None:
    """And the next one does not wait for it."""
    catalog, table_id = far._session.catalog, far.table("d.t").id
    with catalog.turn(table_id, alone=True):
        assert end_sessions(fresh_postgres_url, "advisory") == 1
        told(far.on("main"), "UPDATE d.t SET a = 5")
    assert rows(far, "d.t") == [(1, 5)]


@pytest.mark.postgres
@pytest.mark.parametrize("moves", [False, True])
def test_a_head_that_is_held_no_more_is_committed_to_as_any_other(
    far: Lake, fresh_postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    told(far, "CREATE BRANCH dev", "UPDATE d.t@dev SET a = 7 WHERE k = 1")

    def lose() -> None:
        end_sessions(fresh_postgres_url)
        if moves:
            with anabranch.connect(tmp_path / "far", catalog=fresh_postgres_url) as second:
                told(second, "INSERT INTO d.t VALUES (2, 2)")

    let_in(monkeypatch, far, lose)
    monkeypatch.setattr(merge_branch, "_TRIES", 1)
    with pytest.raises(anabranch.CommitConflict) if moves else nullcontext():
        far.merge("dev", detect="row")
    assert rows(far, "d.t") == ([(1, 0), (2, 2)] if moves else [(1, 7)])
    told(far, "UPDATE d.t SET a = 3")
