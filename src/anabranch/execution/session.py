"""The Spark session: the user's own, the running one, or a local one that starts when something first needs it."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.execution.interrupts import held_back

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

# Errors only: Spark's warnings at every start are about itself. A default, so that a user's own options come after it.
_LOG4J = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"

_SETTINGS = {
    "spark.driver.defaultJavaOptions": _LOG4J,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(max(2, (os.cpu_count() or 2) * 2)),
}


UTC = "UTC"
_UTC = frozenset({UTC, "Etc/UTC", "GMT", "Etc/GMT", "Z", "UCT", "Zulu", "+00:00"})


class SparkHolder:
    """Gives the session, and remembers whether it was needed at all."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark

    @property
    def running(self) -> bool:
        return self._spark is not None

    @property
    def there(self) -> SparkSession | None:
        """The session, if there is one; it is not started."""
        self._spark = self._seen()
        return self._spark

    def _seen(self) -> SparkSession | None:
        if self._spark is None and "pyspark.sql.session" in sys.modules:
            from pyspark.sql import SparkSession

            return SparkSession.getActiveSession()
        return self._spark

    @property
    def zone(self) -> str:
        """Which a time without a zone is in; a session that we start says UTC, by whichever of its names."""
        spark = self._seen()
        named = None if spark is None else spark.conf.get("spark.sql.session.timeZone", UTC)
        return UTC if named is None or named in _UTC else named

    @property
    def reads_times_as_utc(self) -> bool:
        """Whether a time without a zone means the same to Spark as it does here."""
        return self.zone == UTC

    def __call__(self) -> SparkSession:
        if self._spark is None:
            self._spark = _started()
        return self._spark


def _started() -> SparkSession:
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _log.info("starting Spark…")
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # prints what the exception says, once more, as a page of JSON
    # Workers must run the Python that has pyarrow and this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("anabranch")
    if not os.environ.get("SPARK_REMOTE") and not os.environ.get("MASTER"):
        builder = builder.master("local[*]")
    warehouse = os.path.join(tempfile.gettempdir(), "anabranch-spark-warehouse")
    for name, value in (_SETTINGS | {"spark.sql.warehouse.dir": warehouse}).items():
        builder = builder.config(name, value)
    with nullcontext() if os.environ.get("SPARK_REMOTE") else held_back():  # a remote Spark has no JVM here
        spark = builder.getOrCreate()
    _log.info("running…")
    return spark


def on_cluster(spark: SparkSession) -> bool:
    """Whether tasks run on other machines, or in other processes than the driver's JVM."""
    master = spark.conf.get("spark.master", "") or ""
    return master != "local" and not master.startswith("local[")


@contextmanager
def temporarily(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A setting of the session, for as long as a frame is planned or a job runs."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
