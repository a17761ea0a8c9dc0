"""Appends of 100 rows by 1 and by 8 processes, against a bare loop of the same file writes and database commits.

The bare loop makes the same files and the same rows, and nothing else: a Parquet part in a folder of its own, synced
with its folder and the one above; then one durable transaction that locks the head, moves it, and inserts a commit, a
change, a part and a placement. On SQLite its writers queue on a file lock, too: faster than SQLite's own waiting.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from context import TABLE, Context
from measure import Line, assert_no_spark, child_command

ROWS, WARM_UP, ROUNDS = 100, 10, 7
LEAST = 0.6
SIDES = ("ours", "bare")
CREATE = (
    "CREATE TABLE branch (id BIGINT PRIMARY KEY, head BIGINT)",
    "INSERT INTO branch VALUES (1, 0)",
    "CREATE TABLE commit_log (version BIGINT PRIMARY KEY, id TEXT, author TEXT, operation TEXT, message TEXT)",
    "CREATE TABLE change (version BIGINT PRIMARY KEY, object TEXT, operation TEXT, detail TEXT)",
    "CREATE TABLE part (id TEXT PRIMARY KEY, rows BIGINT, bytes BIGINT, stats TEXT)",
    "CREATE TABLE placement (version BIGINT PRIMARY KEY, part TEXT, cause TEXT)",
)
HEAD = "SELECT head FROM branch WHERE id = 1"
MOVE = "UPDATE branch SET head = {0} WHERE id = 1"
INSERTS = (
    ("INSERT INTO commit_log VALUES ({0}, {0}, {0}, {0}, {0})", "vipop"),
    ("INSERT INTO change VALUES ({0}, {0}, {0}, {0})", "vpos"),
    ("INSERT INTO part VALUES ({0}, {0}, {0}, {0})", "irbs"),
    ("INSERT INTO placement VALUES ({0}, {0}, {0})", "vio"),
)
"""Statements, and what they take: version, id, path, operation, statistics, rows, bytes."""

Append = Callable[[pa.Table], object]
Commit = Callable[[dict[str, Any]], None]


def run(context: Context) -> Iterator[Line]:
    count = context.scaled(800, 200)
    with ExitStack() as stack:
        for kind, server in (("SQLite", None), ("PostgreSQL", _cluster(stack, context))):
            if kind == "PostgreSQL" and server is None:
                continue
            for processes in (1, 8):
                context.say(f"appends on {kind}, {processes} at a time")
                rounds = _measure(context, stack, server, processes, count // processes)
                ours, bare = (median(each[side] for each in rounds) for side in SIDES)
                what = f"append of {ROWS} rows, {processes} at a time, {kind} / a bare loop of the same writes"
                how = (
                    f"{ours:.0f} against {bare:.0f} appends a second, medians of {ROUNDS} rounds, and of their ratios; "
                    f"limit: {LEAST} × as many"
                )
                yield Line(what, median(each["bare"] / each["ours"] for each in rounds), round(1 / LEAST, 2), "×", how)


def _cluster(stack: ExitStack, context: Context) -> Any:
    """A PostgreSQL server of our own, as the tests have it."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    try:
        from tests.postgres import cluster

        return stack.enter_context(cluster())
    except (ImportError, RuntimeError) as error:
        context.say(f"PostgreSQL is left out: {str(error).splitlines()[0]}")
        return None


def _measure(context: Context, stack: ExitStack, server: Any, processes: int, count: int) -> list[dict[str, float]]:
    """Appends a second of either side, round by round: one after the other, so that they meet the same machine, and
    each first in turns. Everything is new for every round."""
    rounds = []
    for turn in range(ROUNDS):
        found = {}
        for side in SIDES if turn % 2 else reversed(SIDES):
            folder = context.folder(f"appends-{side}")
            url = "" if server is None else stack.enter_context(server.database())
            prepare(side, folder, url)
            found[side] = _together(side, folder, url, processes, count)
        rounds.append(found)
    return rounds


def _together(side: str, folder: Path, url: str, processes: int, count: int) -> float:
    """All at once: no process begins before the last one is ready."""
    command = child_command("appends", side, folder, url, count)
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for process in started:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"an appending process ({side}) did not start")
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    spans = [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]
    return processes * count / (max(end for _, end in spans) - min(start for start, _ in spans))


# --- in a process of its own ------------------------------------------------------------------------------------------


def prepare(side: str, folder: Path, url: str) -> None:
    if side == "ours":
        import anabranch

        with anabranch.connect(folder, catalog=url or None) as lake:
            lake.create_database("d")
            lake.create_table(TABLE, data.SCHEMA)
        return
    folder.mkdir(parents=True)
    if url:
        with _postgres(url) as connection:
            for statement in CREATE:
                connection.execute(statement)
    else:
        connection = _sqlite(folder)
        connection.execute("PRAGMA journal_mode=WAL")
        for statement in CREATE:
            connection.execute(statement)
        connection.close()


def appender(side: str, folder: Path, url: str) -> Append:
    if side == "ours":
        import anabranch

        return anabranch.connect(folder, catalog=url or None, create=False).table(TABLE).write
    commit = _commit_postgres(url) if url else _commit_sqlite(folder)

    def append(rows: pa.Table) -> None:
        id = str(uuid.uuid4())
        path = folder / f"slot={id}" / f"{id}.parquet"
        path.parent.mkdir()
        written: list[Any] = []
        pq.write_table(rows, path, metadata_collector=written)
        for target in (path, path.parent, folder):
            handle = os.open(target, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
        stats = json.dumps([str(written[0].row_group(0).column(i).statistics.min) for i in range(rows.num_columns)])
        size = path.stat().st_size
        commit({"i": id, "p": str(path), "o": "INSERT", "s": stats, "r": rows.num_rows, "b": size})

    return append


def _sqlite(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "catalog.db", timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _statements(row: dict[str, Any], mark: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for statement, names in INSERTS:
        yield statement.format(mark), tuple(row[name] for name in names)
    yield MOVE.format(mark), (row["v"],)


def _commit_sqlite(folder: Path) -> Commit:
    connection, lock = _sqlite(folder), os.open(folder / "lock", os.O_RDWR | os.O_CREAT)

    def commit(row: dict[str, Any]) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection.execute("BEGIN IMMEDIATE")
        (head,) = connection.execute(HEAD).fetchone()
        for statement, values in _statements({**row, "v": head + 1}, "?"):
            connection.execute(statement, values)
        connection.execute("COMMIT")
        fcntl.flock(lock, fcntl.LOCK_UN)

    return commit


def _postgres(url: str) -> Any:
    import psycopg

    return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"))


def _commit_postgres(url: str) -> Commit:
    connection = _postgres(url)

    def commit(row: dict[str, Any]) -> None:
        (head,) = connection.execute(f"{HEAD} FOR UPDATE").fetchone()
        with connection.pipeline():
            for statement, values in _statements({**row, "v": head + 1}, "%s"):
                connection.execute(statement, values)
        connection.commit()

    return commit


def main(side: str, folder: Path, url: str, count: int) -> None:
    append = appender(side, folder, url)
    batches = [data.rows(np.arange(i * ROWS, (i + 1) * ROWS), i) for i in range(count + WARM_UP)]
    for batch in batches[:WARM_UP]:
        append(batch)
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.time()
    for batch in batches[WARM_UP:]:
        append(batch)
    end = time.time()
    assert_no_spark()
    print(json.dumps([start, end]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
