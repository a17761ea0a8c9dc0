"""Keyed tables under several writers: upserts never wait for each other's keys, and no update is lost."""

import multiprocessing
import signal
import subprocess
import sys

import pytest

import anabranch
from anabranch.branching import admit
from anabranch.branching.admit import find_conflicts
from tests.faults.test_races import let_in
from tests.stories.telling import rows, told

MAKE = (
    "CREATE TABLE d.k (id INT, n INT, m INT, PRIMARY KEY (id)) TBLPROPERTIES ({})",
    "INSERT INTO d.k VALUES (1, 1, 1), (2, 2, 2), (9, 9, 9)",
)
ENGINES = {
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "partial-update": "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'",
}
ONE = "UPDATE d.k SET n = n + 1 WHERE id = 1"
RACES = [
    # what runs, what is committed meanwhile, how often the first one tries
    (ONE, ONE, 2),
    (ONE, "INSERT INTO d.k VALUES (1, 50, 5)", 2),
    (ONE, "INSERT INTO d.k VALUES (0, 0, 0), (3, 3, 3)", 2),  # bounds that meet are enough
    (ONE, "INSERT INTO d.k VALUES (3, 3, 3)", 1),
    (ONE, "UPDATE d.k SET m = 7 WHERE id = 1", 2),
    (ONE, "UPDATE d.k SET m = 7 WHERE id = 9", 1),
    (ONE, "DELETE FROM d.k WHERE id = 1", 2),
    (ONE, "DELETE FROM d.k WHERE id = 2", 1),
    (ONE, "TRUNCATE TABLE d.k", 2),
    (ONE, "INSERT OVERWRITE d.k VALUES (1, 70, 7)", 2),
    (ONE, "ALTER TABLE d.k ALTER COLUMN id TYPE BIGINT", 1),
    (ONE, "OPTIMIZE d.k", 1),
    ("DELETE FROM d.k WHERE n = 1", "UPDATE d.k SET n = 5 WHERE id = 1", 2),
    ("DELETE FROM d.k WHERE n = 1", "INSERT INTO d.k VALUES (1, 5, 5)", 2),
    ("DELETE FROM d.k WHERE id = 1", "DELETE FROM d.k WHERE id = 1", 2),
    ("DELETE FROM d.k", "INSERT INTO d.k VALUES (4, 4, 4)", 2),
    ("INSERT INTO d.k VALUES (1, 5, 5)", ONE, 1),
    ("INSERT INTO d.k VALUES (1, 5, 5)", "DELETE FROM d.k", 1),
    ("INSERT INTO d.k VALUES (1, 5, 5)", "INSERT INTO d.k VALUES (1, 6, 6)", 1),
    ("INSERT INTO d.k (id, _kind) VALUES (1, '-D')", ONE, 1),
    ("INSERT INTO d.k (id, _kind) VALUES (1, '-D')", "INSERT INTO d.k VALUES (1, 6, 6)", 1),
]


@pytest.mark.parametrize(("runs", "meanwhile", "tries"), RACES, ids=[f"{a} | {b}" for a, b, _ in RACES])
def test_a_statement_meets_another(lake, second, monkeypatch, runs, meanwhile, tries):
    """The rows are as if both had run one after the other, and only what may have read them runs again."""
    engine = "partial-update" if "m = 7" in meanwhile else "deduplicate"
    told(lake, MAKE[0].format(ENGINES[engine]), MAKE[1], MAKE[0].format(ENGINES[engine]).replace("d.k", "d.alone"))
    told(lake, MAKE[1].replace("d.k", "d.alone"))
    told(lake, meanwhile.replace("d.k", "d.alone"), runs.replace("d.k", "d.alone"))
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    found = conflicts(monkeypatch)
    told(lake, runs)
    assert rows(lake, "d.k") == rows(second, "d.k") == rows(lake, "d.alone")
    assert len(found) + 1 == tries


def conflicts(monkeypatch) -> list:
    """Fills with every commit that was refused."""
    found = []

    def watched(*asked):
        conflicts = find_conflicts(*asked)
        if conflicts:
            found.append(conflicts)
        return conflicts

    monkeypatch.setattr(admit, "find_conflicts", watched)
    return found


SERIALIZABLE = [
    ("UPDATE d.k SET n = n + 1 WHERE n > 5", "INSERT INTO d.k VALUES (3, 30, 3)", 2),
    ("UPDATE d.k SET n = n + 1 WHERE n > 5", "UPDATE d.k SET n = 20 WHERE id = 1", 2),
    ("DELETE FROM d.k WHERE n > 5", "INSERT INTO d.k VALUES (3, 30, 3)", 2),
    ("INSERT INTO d.k VALUES (9, 5, 5)", "INSERT INTO d.k VALUES (9, 30, 3)", 1),
]


@pytest.mark.parametrize(("runs", "meanwhile", "tries"), SERIALIZABLE, ids=[f"{a} | {b}" for a, b, _ in SERIALIZABLE])
def test_under_serializable_predicates_see_what_was_written_meanwhile(
    lake, second, monkeypatch, runs, meanwhile, tries
):
    told(lake, MAKE[0].format("'isolation' = 'serializable'"), MAKE[1])
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    found = conflicts(monkeypatch)
    told(lake, runs)
    assert len(found) + 1 == tries
    if tries == 2:
        assert [n for key, n, _ in rows(lake, "d.k") if n in (20, 30)] == []


# --- processes --------------------------------------------------------------------------------------------------------


def count_up(folder: str, key: int, times: int) -> None:
    with anabranch.connect(folder, durability="process", create=False) as lake:
        for _ in range(times):
            lake.sql(f"UPDATE d.k SET n = n + 1 WHERE id = {key}")


def upsert(folder: str, writer: int, times: int) -> None:
    with anabranch.connect(folder, durability="process", create=False) as lake:
        table = lake.table("d.k")
        for number in range(times):
            key = 1000 * writer + number
            table.write({"id": [key, 500 + writer], "n": [number, number], "m": [writer, writer]})


def optimize(folder: str, _: int, times: int) -> None:
    with anabranch.connect(folder, durability="process", create=False) as lake:
        for _ in range(times):
            lake.sql("OPTIMIZE d.k")


def watch(folder: str, writers: int, times: int) -> None:
    """Of every writer all rows up to its last one are there, and no state is older than the one before."""
    with anabranch.connect(folder, durability="process", create=False) as lake:
        most = dict.fromkeys(range(1, writers + 1), 0)
        for _ in range(times):
            found = {row["id"]: row["n"] for row in lake.table("d.k").to_arrow().to_pylist()}
            for writer in most:
                own = sorted(key % 1000 for key in found if key // 1000 == writer)
                assert own == list(range(len(own)))
                assert len(own) >= most[writer]
                assert found.get(500 + writer, -1) == len(own) - 1
                most[writer] = len(own)


def together(*jobs) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=work, args=args) for work, *args in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_no_update_is_lost(lake, folder, engine):
    told(lake, MAKE[0].format(ENGINES[engine]), MAKE[1])
    together(*[(count_up, str(folder), 1, 10)] * 4)
    assert rows(lake, "d.k")[0] == (1, 41, 1)


def test_updates_beside_upserts_come_to_an_end(lake, folder):
    """Upserts whose bounds meet the update's key go on and on; at last it has the table to itself."""
    told(lake, MAKE[0].format(ENGINES["deduplicate"]), MAKE[1], "INSERT INTO d.k VALUES (900, 0, 0)")
    upserts = [(upsert, str(folder), writer, 60) for writer in (1, 2)]
    together(*[(count_up, str(folder), 900, 10)] * 2, *upserts)
    found = {key: n for key, n, _ in rows(lake, "d.k")}
    assert found[900] == 20
    assert [key for key in found if key >= 1000] == [1000 * writer + n for writer in (1, 2) for n in range(60)]


def test_writers_compaction_and_readers_at_once(lake, folder):
    options = "'num-sorted-run.compaction-trigger' = '3', 'num-sorted-run.stop-trigger' = '4'"
    told(lake, MAKE[0].format(options))
    jobs = [(upsert, str(folder), writer, 40) for writer in (1, 2)]
    together(*jobs, (optimize, str(folder), 0, 12), (watch, str(folder), 2, 40))
    expected = [(1000 * w + n, n, w) for w in (1, 2) for n in range(40)] + [(500 + w, 39, w) for w in (1, 2)]
    assert rows(lake, "d.k") == sorted(expected)


KILLED = """
import os, signal, sys
from pkgutil import resolve_name
import anabranch

path, point, after, statement = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
owner, _, name = point.rpartition(".")
module, _, cls = owner.rpartition(".")
found = resolve_name(f"{module}:{cls}")
original, calls = getattr(found, name), []

def struck(*args, **kwargs):
    calls.append(1)
    if len(calls) == after:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)

with anabranch.connect(path, create=False) as lake:
    setattr(found, name, struck)
    lake.sql(statement)
"""
POINTS = [
    "anabranch.storage.parquet.PartWriter.write",
    "anabranch.storage.parquet.PartWriter.close",
    "anabranch.catalog.Catalog.commit",
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.rpartition(".")[2])
def test_a_process_killed_in_a_compaction_leaves_the_table_as_it_was(lake, folder, point):
    told(lake, MAKE[0].format(ENGINES["partial-update"]), MAKE[1])
    for number in range(5):
        told(lake, f"INSERT INTO d.k (id, m) VALUES ({number}, {number * 10})", "DELETE FROM d.k WHERE id = 9")
    expected, version = rows(lake, "d.k"), lake.version
    command = [sys.executable, "-c", KILLED, str(folder), point, "1", "OPTIMIZE d.k"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr[-1500:]
    with anabranch.connect(folder, durability="process", create=False) as after:
        assert (rows(after, "d.k"), after.version) == (expected, version)
        told(after, "OPTIMIZE d.k", "INSERT INTO d.k VALUES (7, 7, 7)")
        assert rows(after, "d.k") == sorted([*expected, (7, 7, 7)])
