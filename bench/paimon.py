"""Keyed tables, against Paimon's: load, upserts, and scans, by turns, each on a Spark of its own.

Paimon runs as a child process, in a venv with the Spark that it is made for; both Sparks have the same settings, and
what one does is asked of the other next. Its tables have 4 buckets and Parquet files, and compact as they do by
default, inside the write; ours compact beside it. Only where the runs are to stay are both told to leave them.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import data
import pyarrow.parquet as pq
from context import SPARK, Context
from measure import HERE, Line, in_turns, ratio
from scan import ALL

from keyed import OFF, RUNS, UPSERT, create, deltas, shuffled

VENV = data.CACHE / "paimon-venv"
PYSPARK = "pyspark==3.5.5"
JAR = "org.apache.paimon:paimon-spark-3.5:0.9.0"
UPSERTS = 20
INSERT = "INSERT INTO {t} SELECT * FROM {rows}"


class Paimon:
    """The child process. Statements that are asked run there, one at a time."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def answer(self) -> list[list[Any]]:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError("Paimon's side ended: " + " | ".join(self._log.read_text().splitlines()[-3:]))
        found = json.loads(line)
        if "error" in found:
            raise RuntimeError(f"Paimon's side failed: {found['error']}")
        rows: list[list[Any]] = found["rows"]
        return rows

    def sql(self, text: str, **views: Path) -> list[list[Any]]:
        asked = {"sql": text, "views": {name: str(path) for name, path in views.items()}}
        self._process.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return self.answer()

    def create(self, name: str, engine: str) -> None:
        columns = data.SCHEMA.replace("id BIGINT", "id BIGINT NOT NULL")
        options = f"'primary-key' = 'id', 'bucket' = '4', 'file.format' = 'parquet', 'merge-engine' = '{engine}'"
        self.sql(f"CREATE TABLE {name} ({columns}) TBLPROPERTIES ({options})")


def run(context: Context) -> Iterator[Line]:
    import anabranch

    with _paimon(context) as paimon:
        if paimon is None:
            return
        lake = anabranch.connect(context.folder("against-paimon"), spark=context.spark)
        lake.sql("CREATE DATABASE d")
        paimon.sql("CREATE DATABASE d")
        sides = _Sides(context, lake, paimon)
        yield sides.load()
        yield from sides.small_upserts()
        yield sides.upsert_of_a_part()
        yield sides.uncompacted("d.load1", "deduplicate")
        sides.load_into("d.partial", "partial-update")
        yield sides.uncompacted("d.partial", "partial-update")
        lake.close()


class _Sides:
    """The same statements for both."""

    def __init__(self, context: Context, lake: Any, paimon: Paimon) -> None:
        self.context, self.lake, self.paimon = context, lake, paimon
        self.source = shuffled(context)
        self.folder = context.folder("paimon-rows")
        self.folder.mkdir()

    def load(self) -> Line:
        """Leaves the tables load0 (of the warm-up, with a tenth of the rows), load1, load2."""
        ours, theirs = (iter([f"d.load{turn}" for turn in range(3)]) for _ in range(2))
        sides = {
            "ours": lambda: self._load_ours(next(ours), "deduplicate"),
            "theirs": lambda: self._load_theirs(next(theirs), "deduplicate"),
        }
        times = in_turns(sides, repeat=2, warm_up=1, before=os.sync)
        return ratio("keyed load, unsorted / Paimon's", 0.4, times["ours"], times["theirs"])

    def load_into(self, name: str, engine: str) -> None:
        self._load_ours(name, engine)
        self._load_theirs(name, engine)

    def _load_ours(self, name: str, engine: str) -> None:
        create(self.lake, name, engine)
        self.lake.sql(INSERT.format(t=name, rows="{source}") + _where(name), source=self.source)

    def _load_theirs(self, name: str, engine: str) -> None:
        self.paimon.create(name, engine)
        rows = data.CACHE / f"shuffled-{self.context.rows}"
        self.paimon.sql(INSERT.format(t=name, rows="rows") + _where(name), rows=rows)

    def upsert_of_a_part(self) -> Line:
        """A hundredth of the keys at random, from a Parquet file by INSERT … SELECT."""
        files = [self._file(turn, self.context.rows // 100) for turn in range(7)]
        ours, theirs = iter(files), iter(files)

        def insert_ours() -> None:
            rows = self.context.spark.read.parquet(str(next(ours)))
            self.lake.sql(INSERT.format(t="d.load2", rows="{rows}"), rows=rows)

        def insert_theirs() -> None:
            self.paimon.sql(INSERT.format(t="d.load2", rows="rows"), rows=next(theirs))

        times = in_turns({"ours": insert_ours, "theirs": insert_theirs}, repeat=5, warm_up=2, before=os.sync)
        self._same("d.load2")
        return ratio("INSERT that upserts 1 % of the rows / Paimon's", 0.8, times["ours"], times["theirs"])

    def small_upserts(self) -> Iterator[Line]:
        """Ours by `write`, without Spark at work; Paimon has no other way than Spark."""
        files = [self._file(100 + turn, UPSERT) for turn in range(UPSERTS + 2)]
        batches = iter([pq.read_table(file) for file in files])
        ours, theirs = (iter(["d.load0"] * 2 + ["d.load2"] * UPSERTS) for _ in range(2))
        paths = iter(files)

        def write_ours() -> None:
            self.lake.table(next(ours)).write(next(batches))

        def insert_theirs() -> None:
            self.paimon.sql(INSERT.format(t=next(theirs), rows="rows"), rows=next(paths))

        times = in_turns({"ours": write_ours, "theirs": insert_theirs}, repeat=UPSERTS, warm_up=2)
        a, b = times["ours"].median, times["theirs"].median
        how = f"{1000 * a:.1f} ms / {1000 * b:.0f} ms, medians of {UPSERTS}; ours by write(), without the JVM"
        yield Line(f"upsert of {UPSERT:,} rows / Paimon's", a / b, 0.05, "×", how)
        yield self._scan(f"scan after {UPSERTS} of these / Paimon's", "d.load2")

    def uncompacted(self, name: str, engine: str) -> Line:
        self.lake.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({OFF})")
        self.paimon.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write-only' = 'true')")
        for turn in range(RUNS):
            file = self._file(200 + turn, self.context.rows // 20)
            self.lake.table(name).write(pq.read_table(file))
            self.paimon.sql(INSERT.format(t=name, rows="rows"), rows=file)
        return self._scan(f"scan with {RUNS} runs uncompacted, {engine}, after the first / Paimon's", name)

    def _scan(self, what: str, name: str) -> Line:
        self._same(name)
        query = ALL.format(t=name)
        sides = {"ours": lambda: self.lake.sql(query).collect(), "theirs": lambda: self.paimon.sql(query)}
        times = in_turns(sides, repeat=7, warm_up=1)
        return ratio(what, 0.8, times["ours"], times["theirs"])

    def _same(self, name: str) -> None:
        """Both hold the same rows. The sum of doubles depends on their order."""
        query = ALL.format(t=name)
        ours, theirs = list(self.lake.sql(query).collect()[0]), self.paimon.sql(query)[0]
        close = (math.isclose(a, b, rel_tol=1e-9) for a, b in zip(ours, theirs, strict=True) if isinstance(a, float))
        exact = ([x for x in side if not isinstance(x, float)] for side in (ours, theirs))
        if not all(close) or next(exact) != next(exact):
            raise AssertionError(f"{name} differs: {ours}, Paimon has {theirs}")

    def _file(self, seed: int, rows: int) -> Path:
        path = self.folder / f"{seed}.parquet"
        pq.write_table(deltas(self.context, seed, rows), path)
        return path


def _where(name: str) -> str:
    return " WHERE id % 10 = 0" if name == "d.load0" else ""


@contextmanager
def _paimon(context: Context) -> Iterator[Paimon | None]:
    """None, and a line that says so, if Paimon cannot be had."""
    python = _python(context)
    if python is None:
        yield None
        return
    folder = context.folder("paimon")
    folder.mkdir()
    settings = SPARK | {
        "spark.jars.packages": JAR,
        "spark.jars.ivy": str(VENV / "ivy"),
        "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
        "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": str(folder / "warehouse"),
        "spark.sql.defaultCatalog": "paimon",
    }
    log = folder / "log"
    command = [str(python), str(HERE / "paimon_side.py"), json.dumps(settings)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=_environment()
        )
    try:
        paimon = Paimon(process, log)
        try:
            context.say(f"Paimon is there, on Spark {paimon.answer()[0][0].split()[0]}")
        except RuntimeError as error:
            context.say(f"Paimon is left out: {error}")
            yield None
            return
        yield paimon
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(timeout=60)


def _environment() -> dict[str, str]:
    """Nothing that points to this process's Spark."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}


def _python(context: Context) -> Path | None:
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True, clear=True)
    if subprocess.run([str(python), "-c", "import pyspark"], capture_output=True, check=False).returncode:
        context.say(f"installing {PYSPARK}")
        install = [str(python), "-m", "pip", "install", "--quiet", PYSPARK]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            context.say(f"Paimon is left out: {PYSPARK} cannot be installed ({done.stderr.strip().splitlines()[-1:]})")
            return None
    return python
