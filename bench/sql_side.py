"""A Spark of its own: runs the SQL that comes in, one JSON line each, and answers with the rows as JSON.

May run under another Python than the rest of this folder, so it imports nothing of it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(settings: str) -> None:
    # Spark and the JVM print to the standard output as they please: the answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = _start(json.loads(settings))
    asked: dict[str, Any] = {"sql": "SELECT version()", "views": {}}
    while True:
        answers.write(json.dumps(_answer(spark, asked), default=str) + "\n")
        answers.flush()
        line = sys.stdin.readline()
        if not line:
            break
        asked = json.loads(line)
    spark.stop()


def _start(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("peer")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _answer(spark: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """`views` are Parquet files under the names that the SQL has for them."""
    try:
        for name, path in asked["views"].items():
            spark.read.parquet(path).createOrReplaceTempView(name)
        return {"rows": [list(row) for row in spark.sql(asked["sql"]).collect()]}
    except Exception as error:  # it belongs to whoever asked
        return {"error": str(error)}


if __name__ == "__main__":
    main(sys.argv[1])
