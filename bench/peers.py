"""The other table formats that MERGE INTO is measured against, each with the settings that its own manual gives.

Their jars come by their Maven coordinates, through Spark's `spark.jars.packages`, into `bench/data/`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import data
import paimon
from context import Context
from sql_process import SqlProcess, sql_process

JARS = data.CACHE / "jars"
ON_READ, ON_WRITE = "merge-on-read", "copy-on-write"


@dataclass(frozen=True)
class Peer:
    """`tables`: for each mode what the way is called, and what follows CREATE TABLE's name. `back`: SQL that brings a
    table back to what `state` gave after its load."""

    name: str
    settings: Callable[[Path], Mapping[str, str]]
    tables: Mapping[str, tuple[str, str]]
    state: str
    back: str
    python: Callable[[Context], Path | str | None] = lambda context: sys.executable

    def label(self, mode: str) -> str:
        return f"{self.name}, {self.tables[mode][0]}"


def _delta(folder: Path) -> dict[str, str]:
    return {
        "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0,io.delta:delta-storage:4.4.0",
        "spark.jars.ivy": str(JARS),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _iceberg(folder: Path) -> dict[str, str]:
    return {
        "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        "spark.jars.ivy": str(JARS),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.peer": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.peer.type": "hadoop",
        "spark.sql.catalog.peer.warehouse": str(folder / "warehouse"),
        "spark.sql.defaultCatalog": "peer",
    }


def _delta_table(vectors: str) -> str:
    return f"({data.SCHEMA}) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"


def _iceberg_table(mode: str) -> str:
    return f"({data.SCHEMA}) USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = '{mode}')"


PEERS = (
    Peer(
        "Delta",
        _delta,
        {
            ON_READ: ("deletion vectors", _delta_table("true")),
            ON_WRITE: ("copy-on-write", _delta_table("false")),
        },
        state="DESCRIBE HISTORY d.{t} LIMIT 1",
        back="RESTORE TABLE d.{t} TO VERSION AS OF {state}",
    ),
    Peer(
        "Iceberg",
        _iceberg,
        {ON_READ: ("merge-on-read", _iceberg_table(ON_READ)), ON_WRITE: ("copy-on-write", _iceberg_table(ON_WRITE))},
        state="SELECT snapshot_id FROM d.{t}.snapshots ORDER BY committed_at DESC LIMIT 1",
        back="CALL peer.system.rollback_to_snapshot('d.{t}', {state})",
    ),
    Peer(
        "Paimon",
        paimon.settings,
        {
            ON_READ: ("primary key", f"({paimon.KEYED}) TBLPROPERTIES ({paimon.OPTIONS})"),
            ON_WRITE: ("copy-on-write", f"({data.SCHEMA}) TBLPROPERTIES ('file.format' = 'parquet')"),
        },
        state="SELECT max(snapshot_id) FROM d.`{t}$snapshots`",
        back="CALL sys.rollback(table => 'd.{t}', version => '{state}')",
        python=paimon.python_for_paimon,
    ),
)


class Tables:
    """A peer's two tables with the rows in them, and two small ones to warm up on."""

    def __init__(self, peer: Peer, process: SqlProcess) -> None:
        self.peer, self.sql = peer, process.sql
        self._states: dict[str, object] = {}
        self._merged: set[str] = set()

    def load(self, rows: str, warm_up: int) -> None:
        self.sql("CREATE DATABASE d")
        self.view("rows", rows)
        for mode, (_, made) in self.peer.tables.items():
            for name, where in ((_small(mode), f" WHERE id < {warm_up}"), (_name(mode), "")):
                self.sql(f"CREATE TABLE d.{name} {made}")
                self.sql(f"INSERT INTO d.{name} SELECT * FROM rows{where}")
            self._states[mode] = self.sql(self.peer.state.format(t=_name(mode)))[0][0]

    def view(self, name: str, path: Path | str) -> None:
        self.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} USING parquet OPTIONS (path '{path}')")

    def warm_up(self, merge: str) -> None:
        for mode in self.peer.tables:
            for _ in range(2):
                self.sql(merge.format(t=f"d.{_small(mode)}"))

    def merge(self, mode: str, merge: str) -> None:
        self._merged.add(mode)
        self.sql(merge.format(t=f"d.{_name(mode)}"))

    def scan(self, mode: str, query: str) -> list[object]:
        return self.sql(query.format(t=f"d.{_name(mode)}"))[0]

    def back(self, mode: str) -> None:
        """The table as it was loaded."""
        if mode not in self._merged:
            return
        self.sql(self.peer.back.format(t=_name(mode), state=self._states[mode]))


def _name(mode: str) -> str:
    return mode.replace("-", "_")


def _small(mode: str) -> str:
    return _name(mode) + "_small"


@contextmanager
def tables(context: Context, peer: Peer) -> Iterator[Tables | None]:
    """None, and a line that says so, if the peer cannot be had."""
    python = peer.python(context)
    if python is None:
        yield None
        return
    folder = context.folder(f"peer-{peer.name}")
    with sql_process(context, peer.name, folder, peer.settings(folder), python) as process:
        yield None if process is None else Tables(peer, process)
