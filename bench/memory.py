"""Memory: peak RSS of the driver's Python process and of each Python worker while the rows are loaded and scanned.

A process of its own loads and scans; this one watches it. The JVM is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import data
from context import TABLE, Context, start_spark
from measure import Line, child_command, peaks
from scan import ALL

LIMIT_MB = 500.0


def run(context: Context) -> Iterator[Line]:
    source = data.source(context.rows)
    context.say("memory of a load and a scan")
    driver, worker, workers = peaks(child_command("memory", context.folder("memory"), source))
    yield Line("peak RSS of the driver's Python, load and scan", driver, LIMIT_MB, "MB", "without the JVM")
    yield Line("peak RSS of a Python worker, load and scan", worker, LIMIT_MB, "MB", f"the largest of {workers}")


def main(folder: Path, source: str) -> None:
    import anabranch

    spark = start_spark()
    lake = anabranch.connect(folder, spark=spark)
    lake.sql("CREATE DATABASE d")
    lake.create_table(TABLE, data.SCHEMA)
    lake.sql(f"INSERT INTO {TABLE} SELECT * FROM {{source}}", source=spark.read.parquet(source))
    for _ in range(3):
        lake.sql(ALL.format(t=TABLE)).collect()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
