"""Spark's answer is the kernel's answer, for every kind of state and every way of reading it."""

from __future__ import annotations

import anabranch
import pytest
from anabranch.execution import masks
from anabranch.execution.plan import choose_paths, plan_scan
from anabranch.execution.spark_types import from_spark
from anabranch.options import Limits
from anabranch.sql.declare import table_name
from anabranch.sql.frames import open_use

from tests.execution.rows import rows
from tests.execution.states import STATES, build_all

pytestmark = pytest.mark.spark

HUGE = 1 << 60
WAYS = {
    "local": Limits(local_scan=HUGE),
    "bundled": Limits(local_scan=-1, small_part=HUGE),
    "native": Limits(local_scan=-1, small_part=0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("states") / "lake"


@pytest.fixture(scope="module")
def sources(folder):
    with anabranch.connect(folder, durability="process") as lake:
        return build_all(lake)


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return request.param


@pytest.fixture(scope="module")
def lake(spark, folder, sources, way):
    with anabranch.connect(folder, spark=spark, limits=WAYS[way], create=False) as opened:
        yield opened


def plan_of(lake, source, labels=None):
    session = lake._session
    return plan_scan(session.view(open_use(session, table_name(source))), labels)


def kernel_rows(lake, source):
    from anabranch.execution.reader import read_table

    return read_table(plan_of(lake, source))


def ways_of(lake, source):
    """The names of the ways that the parts of a scan take."""
    paths = choose_paths(plan_of(lake, source), lake._session.shared.limits, native=True)
    return {name for name in ("local", "bundled", "native", "masked") if getattr(paths, name)}


@pytest.mark.parametrize("state", STATES)
def test_spark_agrees(lake, sources, way, state):
    source = sources[state]
    expected = kernel_rows(lake, source)
    assert ways_of(lake, source) <= ({"native", "masked"} if way == "native" else {way})
    frame = lake.sql(f"SELECT * FROM {source}")
    assert frame.columns == expected.column_names
    columns = plan_of(lake, source).columns
    assert [str(type_) for _, type_ in from_spark(frame.schema)] == [str(column.type) for column in columns]
    assert rows(frame.toArrow()) == rows(expected)
