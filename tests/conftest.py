"""Fixtures that every test may ask for: one Spark session for the whole run, a PostgreSQL cluster for each process."""

import ast
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import Cluster, cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Before anything starts a JVM: its Python workers are this Python, and local time is UTC on both sides.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["TZ"] = "UTC"
time.tzset()


# A suite that fails today fails tomorrow: random tests draw the same cases each time. `make fuzz` draws others.
settings.register_profile("suite", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
if not os.environ.get("ANABRANCH_FUZZ_EXAMPLES"):
    settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of several processes one has Spark, and gets all tests that need it."""
    from xdist.scheduler import LoadScopeScheduling

    class BySpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, *_, test = nodeid.split("::")
            return "spark" if names_spark(config.rootpath / file, test.split("[")[0]) else file

    return BySpark(config, log)


def names_spark(file: Path, test: str) -> bool:
    """Tests that need Spark name it: by a fixture, or by `pytest.mark.spark`, also for all of a file."""
    return bool({test, "pytestmark"} & naming_spark(file))


@cache
def naming_spark(file: Path) -> set[str]:
    """The functions and variables of a file whose text, decorators included, has the word."""
    text = file.read_text()
    lines, found = text.splitlines(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Assign)):
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            if any("spark" in line for line in lines[first - 1 : node.end_lineno]):
                found |= {node.name} if isinstance(node, ast.FunctionDef) else {ast.unparse(node.targets[0])}
    return found


@pytest.fixture(autouse=True)
def says_that_it_needs_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """One that does not would start a second session in a process beside the first."""
    asked, before = "spark" in request.fixturenames, is_running()
    yield
    if asked or is_running() > before:
        test = request.node.originalname
        assert names_spark(request.path, test), f"{test} needs Spark: mark it with pytest.mark.spark"


def is_running() -> bool:
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return context is not None and context._active_spark_context is not None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    configuration = {
        "spark.driver.memory": "2g",
        # Loopback by number: a fresh machine may not resolve its own name.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").appName("anabranch tests").config(map=configuration).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    if sys.platform != "linux":
        pytest.skip("the PostgreSQL cluster of the tests is set up for Linux")
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def postgres_url(postgres_cluster: Cluster) -> str:
    """The cluster's own database, shared by the whole run."""
    return postgres_cluster.url()


@pytest.fixture
def fresh_postgres_url(postgres_cluster: Cluster) -> Iterator[str]:
    """A new database for this test alone."""
    with postgres_cluster.database() as url:
        yield url
