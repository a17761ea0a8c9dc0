"""One lake with a table in every kind of state, built once and opened with other limits by each test."""

from pathlib import Path

import pytest

import anabranch
from anabranch.options import Limits
from tests.execution.states import build_all

HUGE = 1 << 60
WAYS = {
    "local": Limits(local_scan=HUGE),
    "bundled": Limits(local_scan=-1, small_part=HUGE),
    "native": Limits(local_scan=-1, small_part=0),
}


@pytest.fixture(scope="session")
def states_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("states") / "lake"


@pytest.fixture(scope="session")
def sources(states_folder):
    """State -> what a query reads it by."""
    with anabranch.connect(states_folder, durability="process") as lake:
        return build_all(lake)


@pytest.fixture
def new_lake(spark, tmp_path):
    """Makes lakes with limits of their own on one new folder; the first one has a database `d`."""
    opened = []

    def connect(limits=None, **more):
        lake = anabranch.connect(tmp_path / "lake", spark=spark, limits=limits, durability="process", **more)
        if not lake.databases():
            lake.create_database("d")
        opened.append(lake)
        return lake

    yield connect
    for lake in opened:
        lake.close()


@pytest.fixture
def conf(spark):
    """Sets Spark's settings for one test."""
    before = {}

    def set_(name, value):
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield set_
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.fixture
def files_in():
    """The data files of a lake, committed or not."""

    def found(lake):
        return {path for path in Path(lake._session.shared.files.root, "data").rglob("*") if path.is_file()}

    return found
