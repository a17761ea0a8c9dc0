"""What the subjects of one run share: a work folder, a Spark session, and a lake that holds the rows."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch import Lake

TABLE = "d.t"
LAKE = "lake"


SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "6g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # By default Spark would cut these tables into three tasks or four, and one of two cores would often be idle.
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": str(data.CACHE / "warehouse"),
}
"""The settings of every Spark that is measured."""


def start_spark() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("bench")
    for name, value in SPARK.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    return spark


def part_files(lake_folder: Path | str) -> list[str]:
    """The files of a lake's only table."""
    return sorted(str(path) for path in Path(lake_folder).glob("data/*/slot=*/*.parquet"))


@dataclass
class Context:
    """`rows` in the large table; `say` shows progress."""

    rows: int
    work: Path
    say: Callable[[str], None]

    @property
    def scale(self) -> float:
        """1 for a full run; counts of small things (parts, tables) shrink with the rows."""
        return min(1.0, self.rows / data.FULL)

    def scaled(self, full: int, least: int = 100) -> int:
        return max(least, int(full * self.scale))

    def folder(self, name: str) -> Path:
        """An empty folder on the disk that everything is measured on."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @cached_property
    def spark(self) -> SparkSession:
        self.say("starting Spark")
        return start_spark()

    @cached_property
    def source(self) -> DataFrame:
        self.say(f"source of {self.rows:,} rows")
        return self.spark.read.parquet(data.source(self.rows))

    @cached_property
    def lake(self) -> Lake:
        """A lake with the rows in `d.t`, loaded by INSERT … SELECT; nobody writes to its main branch afterwards."""
        import anabranch

        lake = anabranch.connect(self.folder(LAKE), spark=self.spark)
        lake.sql("CREATE DATABASE d")
        lake.create_table(TABLE, data.SCHEMA)
        self.say("loading the lake")
        lake.sql(f"INSERT INTO {TABLE} SELECT * FROM {{source}}", source=self.source)
        return lake

    @property
    def files(self) -> list[str]:
        """The lake's part files, for the other side of a comparison."""
        _ = self.lake
        return part_files(self.work / LAKE)

    @cached_property
    def plain(self) -> DataFrame:
        """The same files as Spark reads them by itself."""
        return self.spark.read.parquet(*self.files)
