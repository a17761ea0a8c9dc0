"""A MERGE INTO that fails, is interrupted, or whose worker is killed: the table is as it was, and no file is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.commands.merge_into import rewrite
from anabranch.errors import AnabranchError
from anabranch.execution.reader import PartReader
from anabranch.execution.shape import Shape
from anabranch.lake import Lake
from anabranch.storage.parquet import PartWriter
from tests.stories.telling import rows, told

MERGE = (
    "MERGE INTO d.t USING VALUES (1L, 'x'), (2L, 'y'), (9L, 'z') AS s(id, v) ON t.id = s.id "
    "WHEN MATCHED AND s.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def files(folder: Path) -> set[Path]:
    return set((folder / "lake" / "data").rglob("*.parquet"))


def struck(original: Callable[..., Any], at: int) -> Callable[..., Any]:
    calls: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    return call


# One part is fresh, the other is the rewritten one.
POINTS = {
    "when rows are made": (Shape, "apply", 2),
    "when new versions and new rows are written": (PartWriter, "close", 1),
    "when a part is rewritten": (PartWriter, "close", 2),
}


@pytest.mark.parametrize("point", POINTS)
def test_interrupted(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING) TBLPROPERTIES ('merge.mode' = 'copy-on-write')")
    told(lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    before, known = rows(lake, "d.t"), files(tmp_path)
    owner, name, at = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, struck(getattr(owner, name), at))
        with pytest.raises(KeyboardInterrupt):
            lake.sql(MERGE)
    assert (rows(lake, "d.t"), files(tmp_path)) == (before, known)
    lake.sql(MERGE)
    assert rows(lake, "d.t") == [(1, "x"), (3, "c"), (9, "z")]


@pytest.mark.spark
def test_a_worker_is_killed_while_parts_are_rewritten(
    spark_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(spark_lake, "CREATE TABLE d.t (id BIGINT, v STRING) TBLPROPERTIES ('merge.mode' = 'copy-on-write')")
    told(spark_lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')", "INSERT INTO d.t VALUES (3, 'c'), (4, 'd')")
    monkeypatch.setattr(rewrite, "by_executors", lambda session, pieces: True)
    marker, driver = str(tmp_path / "alive"), os.getpid()
    groups = PartReader.groups

    def fatal(self: PartReader, part: Any, dead: Any) -> Any:
        if os.getpid() != driver and not os.path.exists(marker):
            os.kill(os.getpid(), signal.SIGKILL)
        return groups(self, part, dead)

    class Fatal(PartReader):
        groups = fatal

    of = PartReader.of
    monkeypatch.setattr(rewrite.PartReader, "of", lambda plan, ids: Fatal(**vars(of(plan, ids=ids))))
    before, known = rows(spark_lake, "d.t"), files(tmp_path)
    merge = MERGE.replace("(9L, 'z')", "(4L, 'y'), (9L, 'z')")
    with pytest.raises(AnabranchError):
        spark_lake.sql(merge)
    assert (rows(spark_lake, "d.t"), files(tmp_path)) == (before, known)
    Path(marker).touch()
    assert spark_lake.sql(merge).collect()[0].parts_written == 2, "the first part has no live row left"
    assert rows(spark_lake, "d.t") == [(1, "x"), (3, "c"), (4, "y"), (9, "z")]
    table = spark_lake.table("d.t")._open()
    assert sum(part.has_row_id for part in spark_lake._session.view(table).carried.parts) == 1


@pytest.mark.spark
@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
def test_a_python_worker_is_killed(spark_lake: Lake, tmp_path: Path, keyed: bool) -> None:
    key = ", PRIMARY KEY (id)" if keyed else ""
    told(spark_lake, f"CREATE TABLE d.t (id BIGINT NOT NULL, v STRING{key})")
    told(spark_lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    marker = str(tmp_path / "alive")

    def named(id: int) -> str:
        if not os.path.exists(marker):
            os.kill(os.getpid(), signal.SIGKILL)
        return f"row {id}"

    spark_lake.spark.udf.register("named", named, "string")
    merge = (
        "MERGE INTO d.t USING VALUES (2L), (9L) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = named(s.id) "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, named(s.id))"
    )
    before, known = rows(spark_lake, "d.t"), files(tmp_path)
    with pytest.raises(AnabranchError):
        spark_lake.sql(merge)
    assert (rows(spark_lake, "d.t"), files(tmp_path)) == (before, known)
    Path(marker).touch()
    spark_lake.sql(merge)
    assert rows(spark_lake, "d.t") == [(1, "a"), (2, "row 2"), (3, "c"), (9, "row 9")]


@pytest.mark.spark
@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
def test_ctrl_c_while_spark_works(spark_lake: Lake, tmp_path: Path, keyed: bool) -> None:
    key = ", PRIMARY KEY (id)" if keyed else ""
    told(spark_lake, f"CREATE TABLE d.t (id BIGINT NOT NULL, v STRING{key})")
    told(spark_lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    begun, free = str(tmp_path / "begun"), str(tmp_path / "free")

    def slow(id: int) -> str:
        Path(begun).touch()
        for _ in range(600):
            if os.path.exists(free):
                break
            time.sleep(0.1)
        return f"row {id}"

    spark_lake.spark.udf.register("slow", slow, "string")
    merge = (
        "MERGE INTO d.t USING VALUES (2L), (9L) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = slow(s.id) "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, slow(s.id))"
    )
    before, known, done = rows(spark_lake, "d.t"), files(tmp_path), threading.Event()

    def interrupt() -> None:
        while not os.path.exists(begun) and not done.wait(0.1):
            pass
        if not done.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            spark_lake.sql(merge)
    finally:
        done.set()
        Path(free).touch()
    assert (rows(spark_lake, "d.t"), files(tmp_path)) == (before, known)
    spark_lake.sql(merge)
    assert rows(spark_lake, "d.t") == [(1, "a"), (2, "row 2"), (3, "c"), (9, "row 9")]


CLUSTER = """
import os, signal, sys
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import anabranch
from anabranch.commands.merge_into import rewrite

path, marker = sys.argv[1:]
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate()
)

def named(id):
    if not os.path.exists(marker):
        open(marker, "w").close()
        daemon = open(f"/proc/{os.getppid()}/stat").read()
        os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)  # its parent is the executor
    return f"row {id}"

spark.udf.register("named", named, "string")
with anabranch.connect(path, spark=spark) as lake:
    lake.sql("CREATE DATABASE d")
    lake.sql("CREATE TABLE d.t (id BIGINT, v STRING)")
    lake.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    lake.sql(
        "MERGE INTO d.t USING VALUES (2L), (9L) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = named(s.id) "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, named(s.id))"
    )
    assert os.path.exists(marker)
    lake.sql("ALTER TABLE d.t SET TBLPROPERTIES ('merge.mode' = 'copy-on-write')")
    rewrite.LARGE = 0
    rewrite._by_threads = None  # executors must do it
    lake.sql("MERGE INTO d.t USING VALUES (1L) AS s(id) ON t.id = s.id WHEN MATCHED THEN DELETE")
    print(sorted(tuple(row.values()) for row in lake.table("d.t").to_arrow().to_pylist()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the executor by /proc")
def test_an_executor_is_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(tmp_path / "lake"), str(tmp_path / "killed")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert "[(2, 'row 2'), (3, 'c'), (9, 'row 9')]" in done.stdout, done.stderr[-3000:]
