"""Another Spark, as a child process: statements that are asked run there, one at a time (`sql_side.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from context import SPARK, Context
from measure import HERE

Rows = list[list[Any]]


class SqlProcess:
    """A statement's rows come back, or an error that has the process's name."""

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        self._name, self._process, self._log = name, process, log

    def answer(self) -> Rows:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"{self._name}'s side ended: {self._last_words()}")
        found = json.loads(line)
        if "error" in found:
            raise RuntimeError(f"{self._name}'s side failed: {found['error']}")
        rows: Rows = found["rows"]
        return rows

    def _last_words(self) -> str:
        lines = self._log.read_text().splitlines()
        missing = [line.strip(" :\t") for line in lines if "unresolved dependency" in line]
        return missing[0] if missing else " | ".join(lines[-3:])

    def sql(self, text: str, **views: Path) -> Rows:
        """`views` are Parquet files under the names that the SQL has for them."""
        asked = {"sql": text, "views": {name: str(path) for name, path in views.items()}}
        self._process.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return self.answer()


@contextmanager
def sql_process(
    context: Context, name: str, folder: Path, settings: Mapping[str, str], python: Path | str = sys.executable
) -> Iterator[SqlProcess | None]:
    """A Spark with our Spark's settings and these. None, and a line that says so, if it does not start."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    command = [str(python), str(HERE / "sql_side.py"), json.dumps({**SPARK, **settings})]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=_environment()
        )
    try:
        side = SqlProcess(name, process, log)
        try:
            context.say(f"{name} is there, on Spark {side.answer()[0][0].split()[0]}")
        except RuntimeError as error:
            context.say(f"{name} is left out: {error}")
            yield None
            return
        yield side
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()


def _environment() -> dict[str, str]:
    """Nothing that points to this process's Spark."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
