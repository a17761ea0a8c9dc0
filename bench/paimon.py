"""Keyed tables, against Paimon's: load, upserts, and scans, by turns, each on a Spark of its own.

Paimon runs as a child process, in a venv with the Spark that it is made for; both Sparks have the same settings, and
what one does is asked of the other next. Its tables have 4 buckets and Parquet files, and compact as they do by
default, inside the write; ours compact beside it. Only where the runs are to stay are both told to leave them.
"""

from __future__ import annotations

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
from context import Context
from measure import Line, in_turns, ratio
from scan import ALL
from sql_process import SqlProcess, sql_process

from keyed import COMPUTED, OFF, RUNS, UPSERT, create, deltas, shuffled

VENV = data.CACHE / "paimon-venv"
PYSPARK = "pyspark==3.5.5"
JAR = "org.apache.paimon:paimon-spark-3.5:0.9.0"
KEYED = data.SCHEMA.replace("id BIGINT", "id BIGINT NOT NULL")
OPTIONS = "'primary-key' = 'id', 'bucket' = '4', 'file.format' = 'parquet'"
UPSERTS = 20
INSERT = "INSERT INTO {t} SELECT * FROM {rows}"


class Paimon:
    """Paimon's tables, in a process of their own."""

    def __init__(self, process: SqlProcess) -> None:
        self.sql = process.sql

    def create(self, name: str, engine: str) -> None:
        self.sql(f"CREATE TABLE {name} ({KEYED}) TBLPROPERTIES ({OPTIONS}, 'merge-engine' = '{engine}')")


def run(context: Context) -> Iterator[Line]:
    import anabranch

    with _paimon(context) as paimon:
        if paimon is None:
            return
        lake = anabranch.connect(context.folder("against-paimon"), spark=context.spark)
        lake.sql("CREATE DATABASE d")
        paimon.sql("CREATE DATABASE d")
        sides = _Sides(context, lake, paimon)
        yield from sides.load()
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

    def load(self) -> Iterator[Line]:
        """Leaves the tables load0 (of the warm-up, with a tenth of the rows), load1 and so on."""
        ours, theirs, queries = (iter([f"d.{name}{turn}" for turn in range(5)]) for name in ("load", "load", "query"))
        sides = {
            "ours": lambda: self._load_ours(next(ours), "deduplicate"),
            "query": lambda: self._load_ours(next(queries), "deduplicate", computed=True),
            "theirs": lambda: self._load_theirs(next(theirs), "deduplicate"),
        }
        times = in_turns(sides, repeat=4, warm_up=1, before=os.sync)
        yield ratio("keyed load, unsorted / Paimon's", 0.4, times["ours"], times["theirs"])
        yield ratio("keyed load, a column computed / Paimon's", None, times["query"], times["theirs"])

    def load_into(self, name: str, engine: str) -> None:
        self._load_ours(name, engine)
        self._load_theirs(name, engine)

    def _load_ours(self, name: str, engine: str, *, computed: bool = False) -> None:
        create(self.lake, name, engine)
        source = self.source.selectExpr(*COMPUTED) if computed else self.source  # type: ignore[attr-defined]
        self.lake.sql(INSERT.format(t=name, rows="{source}") + _where(name), source=source)

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
        yield Line(f"upsert of {UPSERT:,} rows / Paimon's", a / b, 0.05, "×", how, {"ours": a, "theirs": b})
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
    python = python_for_paimon(context)
    if python is None:
        yield None
        return
    folder = context.folder("paimon")
    with sql_process(context, "Paimon", folder, settings(folder), python) as process:
        yield None if process is None else Paimon(process)


def settings(folder: Path) -> dict[str, str]:
    return {
        "spark.jars.packages": JAR,
        "spark.jars.ivy": str(VENV / "ivy"),
        "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
        "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": str(folder / "warehouse"),
        "spark.sql.defaultCatalog": "paimon",
    }


def python_for_paimon(context: Context) -> Path | None:
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
