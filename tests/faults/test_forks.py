"""A lake in a forked process, and in several threads: nothing of the parent's is used, nothing is given out twice."""

import gc
import os
import sys
import threading
import time
import weakref
from collections import Counter

import pyarrow as pa
import pytest

import anabranch
from anabranch.commands.compact import Compactor
from anabranch.commands.keyed import flushed
from anabranch.execution.key_index import KeyIndex
from anabranch.forks import renew_after_fork
from tests.faults.conftest import in_a_child
from tests.stories.telling import rows

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def test_the_slots_of_the_parent_stay_its_own(lake, tmp_path):
    lake.sql("CREATE TABLE d.k (id INT, v INT, PRIMARY KEY (id))")
    lake.sql("CREATE TABLE d.plain (id INT, v INT)")
    for number in range(3):
        for name in ("d.k", "d.plain"):
            lake.sql(f"INSERT INTO {name} VALUES ({number}, {number})")

    def work():
        for name in ("d.k", "d.plain"):
            lake.sql(f"OPTIMIZE {name}")
            lake.sql(f"INSERT INTO {name} VALUES (7, 7)")

    in_a_child(work)
    lake.sql("INSERT INTO d.k VALUES (1, 100), (9, 9)")
    lake.sql("INSERT INTO d.plain VALUES (9, 9)")
    lake.sql("UPDATE d.plain SET v = 77 WHERE id = 1")
    with anabranch.connect(tmp_path / "lake") as fresh:
        for each in (lake, fresh):
            assert sorted(rows(each, "d.k")) == [(0, 0), (1, 100), (2, 2), (7, 7), (9, 9)]
            assert sorted(rows(each, "d.plain")) == [(0, 0), (1, 77), (2, 2), (7, 7), (9, 9)]


def test_combined_rows_of_the_parent_outlive_the_child(lake):
    columns = "id INT, a INT, b INT, PRIMARY KEY (id)"
    lake.sql(f"CREATE TABLE d.partial ({columns}) TBLPROPERTIES ('merge-engine' = 'partial-update')")
    table, ids = lake.table("d.partial"), range(1000)
    nothing = pa.nulls(1000, pa.int32())
    table.write(pa.table({"id": pa.array(ids, pa.int32()), "a": pa.array(ids, pa.int32()), "b": nothing}))
    table.write(pa.table({"id": pa.array(ids, pa.int32()), "a": nothing, "b": pa.array(ids, pa.int32())}))
    wanted = [(id, id, id) for id in ids]
    assert sorted(rows(lake, "d.partial")) == wanted

    def work():
        assert sorted(rows(lake, "d.partial")) == wanted
        lake.close()

    in_a_child(work)
    lake.sql("INSERT INTO d.partial VALUES (0, NULL, 5)")
    assert sorted(rows(lake, "d.partial")) == [(0, 0, 5), *wanted[1:]]


def test_a_child_compacts_for_itself(lake):
    """Even if the parent's thread was at work when it was forked."""
    properties = "'num-sorted-run.compaction-trigger' = '3', 'num-sorted-run.stop-trigger' = '3'"
    lake.sql(f"CREATE TABLE d.k (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    session, table_id = lake._session, lake.table("d.k").id

    def rewrites() -> int:
        for number in range(10):
            lake.sql(f"INSERT INTO d.k VALUES (1, {number})")
            session.shared.compactor.wait()
        return len(session.catalog.rewrites(session.head(), table_id))

    before = rewrites()
    assert before > 0
    session.shared.compactor._thread = threading.Thread(target=lambda: None)  # as if it were at work

    def work():
        assert rewrites() > before

    in_a_child(work)
    session.shared.compactor._thread = None


class Renewed:
    def __init__(self, start_anew=lambda: None):
        self.start_anew = start_anew
        renew_after_fork(self)


def test_what_the_parent_uses_is_not_collected_in_the_child(folder):
    """A frame that is collected is dropped from the JVM, which is the parent's; and so with connections."""
    lake, ended = anabranch.connect(folder, create=False), []
    frame = Renewed()
    for thing in (frame, lake._session.catalog._db):
        weakref.finalize(thing, ended.append, thing.__class__.__name__)
    lake._session.shared.frames["of Spark"] = frame
    del frame, thing
    held = [lake]

    def work():
        assert not held[0]._session.shared.frames
        held.clear()
        gc.collect()
        assert ended == []

    del lake
    in_a_child(work)
    held.pop().close()


def test_one_that_cannot_begin_anew_keeps_nobody_else_from_it(monkeypatch):
    renewed, told = [], []
    things = [Renewed(lambda: renewed.append(1)), Renewed(lambda: 1 / 0), Renewed(lambda: renewed.append(2))]
    monkeypatch.setattr(sys, "unraisablehook", lambda failed: told.append(failed.exc_type))

    def work():
        assert sorted(renewed) == [1, 2]
        assert told == [ZeroDivisionError]

    in_a_child(work)
    assert len(things) == 3  # which live as long as they are held


@pytest.fixture
def hurried():
    """Threads that take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, count: int = 4) -> list:
    found: list = []
    threads = [threading.Thread(target=lambda: found.extend(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_no_slot_is_given_twice(lake, hurried):
    session = lake._session
    given = in_threads(lambda: [session.next_slot("a table") for _ in range(5_000)])
    assert Counter(given).most_common(1)[0][1] == 1
    assert len(given) == 20_000


def test_what_is_remembered_may_be_forgotten_meanwhile(lake, hurried):
    session = lake._session
    made = in_threads(lambda: [session.remember(number % 97, lambda n=number: n % 97) for number in range(5_000)])
    assert len(made) == 20_000, "no thread failed"


def test_nobody_who_reads_waits_for_slots(lake, monkeypatch):
    session, asked, answered = lake._session, threading.Event(), threading.Event()

    def reserve_slots(table_id, count):
        asked.set()
        assert answered.wait(10)
        return 1

    monkeypatch.setattr(session.catalog, "reserve_slots", reserve_slots)
    writer = threading.Thread(target=session.next_slot, args=("a table",))
    writer.start()
    assert asked.wait(10)
    reader = threading.Thread(target=lambda: session.remember("a view", lambda: 1), daemon=True)
    reader.start()
    reader.join(5)
    waits = reader.is_alive()
    answered.set()
    writer.join()
    assert not waits


def test_threads_make_one_key_index_and_one_compactor(lake, hurried, monkeypatch):
    made = []
    for kind in (KeyIndex, Compactor):

        def start_anew(self, begin=kind.start_anew):
            made.append(type(self).__name__)
            time.sleep(0.05)  # while the others come
            begin(self)

        monkeypatch.setattr(kind, "start_anew", start_anew)
    lake.sql("CREATE TABLE d.k (id INT, v INT, PRIMARY KEY (id))")
    session = lake._session
    table = session.table(("d", "k"))
    assert len(in_threads(lambda: [session.view(table)])) == 4
    assert made == ["KeyIndex"]
    assert len(in_threads(lambda: [flushed(session, table)])) == 4
    assert made.count("Compactor") == 1
