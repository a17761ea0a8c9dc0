"""Ctrl-C and kill -9 in the middle of a write: the last commit reads as before, and nothing half-done is seen."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch
from tests.faults.conftest import files
from tests.stories.telling import one, told

# --- Ctrl-C -----------------------------------------------------------------------------------------------------------

POINTS = {
    "in the first part": "anabranch.storage.parquet.PartWriter.write",
    "between row groups": "anabranch.storage.parquet.PartWriter._flush",
    "when a part is finished": "anabranch.storage.parquet.PartWriter.close",
    "when the file is synced": "anabranch.storage.files.Files.settle",
    "when rows are shaped": "anabranch.execution.shape.Shape.apply",
    "before the commit": "anabranch.catalog.Catalog.commit",
}

INTERRUPTED = """
import os, signal, sys
from pkgutil import resolve_name
import pyarrow as pa
import anabranch

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what they run in the background
path, point, after, statement = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
owner, _, name = point.rpartition(".")
module, _, cls = owner.rpartition(".")
found = resolve_name(f"{module}:{cls}")
original, calls = getattr(found, name), []

def struck(*args, **kwargs):
    calls.append(1)
    if len(calls) == after:
        os.kill(os.getpid(), signal.SIGINT)
    return original(*args, **kwargs)

with anabranch.connect(path, create=False) as lake:
    table, version = lake.table("d.one"), lake.version
    table.write({"only": [1, 2]})
    big = pa.table({"only": pa.array(range(300_000), pa.int32())})
    setattr(found, name, struck)
    try:
        eval(compile(statement, "<statement>", "eval"))
    except KeyboardInterrupt:
        print("interrupted")
    assert calls, "the point was never reached"
    assert lake.version == version + 1
    assert sorted(table.to_arrow().column("only").to_pylist()) == [1, 2]
    table.write([{"only": 3}])
"""

WRITES = ["table.write(big)", "table.overwrite(big)", "table.update({'only': 'only + 1'})"]


@pytest.mark.parametrize("point", POINTS)
def test_ctrl_c_in_a_write_leaves_what_was_there(folder, point):
    statement = WRITES[list(POINTS).index(point) % len(WRITES)]
    before = files(folder)
    after = "2" if point == "between row groups" and "big" in statement else "1"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, folder, POINTS[point], after, statement],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr[-1500:]
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.one") == [1, 2, 3]
    if point != "before the commit":  # in there nobody knows whether it went in: the files stay, seen by no one
        assert len(files(folder)) == len(before) + 2


SPARK = """
import sys
import anabranch
from anabranch.errors import AnabranchError

with anabranch.connect(sys.argv[1], create=False) as lake:
    lake.spark.sparkContext.setLogLevel("OFF")
    lake.sql("INSERT INTO d.one VALUES (1)")
    version = lake.version
    print("ready", flush=True)
    try:
        lake.sql("INSERT INTO d.one SELECT CAST(id % 1000 AS INT) FROM range(0, 20000000000, 1, 2)")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    assert lake.version == version
    assert lake.table("d.one").to_arrow().column("only").to_pylist() == [1]
    lake.sql("INSERT INTO d.one SELECT 2")
    print(sorted(lake.table("d.one").to_arrow().column("only").to_pylist()), flush=True)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_ctrl_c_in_a_spark_insert_leaves_what_was_there_and_the_session_usable(folder):
    before = files(folder)
    with subprocess.Popen(
        [sys.executable, "-c", SPARK, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            deadline = time.monotonic() + 60
            while len(files(folder)) < len(before) + 2 and time.monotonic() < deadline:
                time.sleep(0.05)  # a task has begun its part
            os.kill(child.pid, signal.SIGINT)
            said, errors = child.communicate(timeout=90)
        finally:
            child.kill()
    assert (said, child.returncode) == ("interrupted\n[1, 2]\n", 0), errors[-1500:]
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.one") == [1, 2]
    assert len(files(folder)) == len(before) + 2


# --- kill -9 ----------------------------------------------------------------------------------------------------------

KILLED = """
import os, random, signal, sys, time
import pyarrow as pa
import anabranch, anabranch.lake, anabranch.table, anabranch.sql.run, anabranch.catalog, anabranch.execution.writer

path, rounds = sys.argv[1], int(sys.argv[2])
random.seed(7)
known = set()          # what a writer heard to be committed

def writer(number, pipe):
    with anabranch.connect(path, durability="process", create=False) as lake:
        table, count = lake.table("d.p"), 0
        while True:
            key = number * 1000 + count
            table.write({"v": [key] * 3, "k": ["a", "b", None]})       # three parts, one commit
            os.write(pipe, f"+{key}\\n".encode())
            if count % 4 == 3:
                table.update({"v": f"{key}"}, f"v = {key}")
                table.delete(f"v = {key - 1}")
                os.write(pipe, f"-{key - 1}\\n".encode())
            count += 1

def reader(pipe):
    with anabranch.connect(path, durability="process", create=False) as lake:
        values = lake.table("d.p").to_arrow().column("v").to_pylist()
        others = lake.table("d.t").count(), lake.version, len(lake.log())
        os.write(pipe, (",".join(map(str, values)) + ";" + ",".join(map(str, others))).encode())

def forked(work):
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        try:
            work(into)
        except BaseException as error:
            os.write(into, f"failed {error!r}".encode())
        os._exit(0)
    os.close(into)
    return pid, out

def heard(out):
    said = b""
    while piece := os.read(out, 65536):
        said += piece
    os.close(out)
    return said.decode()

commits = 0
for number in range(1, rounds + 1):
    pid, out = forked(lambda pipe: writer(number, pipe))
    said, until = "", random.randrange(8)
    while said.count("\\n") < until:                    # however slow the machine is, it is struck while it writes
        piece = os.read(out, 1).decode()
        assert piece, f"the writer ended by itself: {said}"
        said += piece
    time.sleep(random.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    said += heard(out)
    assert "failed" not in said, said
    lines = said.split()
    commits += len(lines)
    for line in lines:
        known.add(int(line[1:])) if line[0] == "+" else known.discard(int(line[1:]))
    pid, out = forked(reader)
    os.waitpid(pid, 0)
    said = heard(out)
    assert "failed" not in said, said
    values, others = said.split(";")
    counts = {}
    for value in map(int, filter(None, values.split(","))):
        counts[value] = counts.get(value, 0) + 1
    counts.pop(1, None), counts.pop(2, None)            # what the lake began with
    assert set(counts.values()) <= {3}, counts          # a commit is seen whole or not at all
    unheard = (set(counts) ^ known)                     # at most the commit whose answer was cut off
    assert len(unheard) <= 1, unheard
    known = set(counts)
    rows, version, log = map(int, others.split(","))
    assert rows == 2 and log == version + 1, others
print("done" if commits > rounds else f"only {commits} commits were made")
"""


def test_writers_that_are_killed_leave_the_last_commit(folder):
    done = subprocess.run([sys.executable, "-c", KILLED, folder, "20"], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr[-1500:]
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.t") == [1, 2]
        told(lake, "INSERT INTO d.p VALUES (5, 'a')", "DELETE FROM d.p WHERE v = 5")


def test_files_that_no_commit_names_are_invisible(lake, folder):
    table = lake.table("d.one")
    table.write([{"only": 1}])
    (part,) = (folder / "data" / table.id).rglob("*.parquet")
    for place in (part.with_name("stray.parquet"), part.parent.parent / "slot=99" / "stray.parquet"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(part.read_bytes())
    (Path(folder) / "data" / table.id / "slot=1000").mkdir()
    assert one(lake, "d.one") == [1]
    with anabranch.connect(folder, create=False) as fresh:
        assert one(fresh, "d.one") == [1]
        told(fresh, "INSERT INTO d.one VALUES (2)", "UPDATE d.one SET only = 3 WHERE only = 2")
        assert one(fresh, "d.one") == [1, 3]
