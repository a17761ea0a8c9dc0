"""A part that is missing or broken stops a statement with an error that names it, on every way of reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import AnabranchError, PartCorrupted, PartMissing
from tests.execution.conftest import WAYS
from tests.execution.plans import plan_of

pytestmark = pytest.mark.spark


@pytest.fixture
def broken(new_lake):
    """Breaks the file of a table's first part by a function, and gives a lake that reads it by the way asked for."""

    def make(way, change):
        lake = new_lake(WAYS[way])
        lake.create_table("d.t", "a INT, s STRING")
        lake.create_table("d.u", "a INT")
        for first in (0, 500):
            lake.table("d.t").write({"a": list(range(first, first + 500)), "s": [f"s{first}"] * 500})
        part = plan_of(lake, "d.t").parts[0]
        change(Path(lake._session.folder(lake.table("d.t").id).path(part.path)))
        return lake, part

    return make


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_part(broken, way):
    lake, part = broken(way, Path.unlink)
    with pytest.raises(PartMissing) as raised:
        lake.sql("INSERT INTO d.u SELECT a FROM d.t")
    assert part.id in str(raised.value)
    assert "'d.t'" in str(raised.value)
    assert lake.table("d.u").count() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_broken_part(broken, way):
    lake, part = broken(way, lambda path: path.write_bytes(b"PAR1" + b"\xff" * 500))
    with pytest.raises(AnabranchError if way == "native" else PartCorrupted) as raised:
        lake.sql("INSERT INTO d.u SELECT a FROM d.t")
    assert part.id in str(raised.value)
    assert lake.table("d.u").count() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_part_that_is_skipped_may_be_missing(broken, way):
    lake, _ = broken(way, Path.unlink)
    assert lake.sql("SELECT count(*), min(a) FROM d.t WHERE a >= 500").collect() == [(500, 500)]
