"""Structs as values: what UPDATE, MERGE INTO and writes of data make of their fields, in this process and on Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch
from anabranch.errors import InvalidMerge
from anabranch.lake import Lake
from anabranch.options import Limits
from tests.stories.telling import rows, told

pytestmark = pytest.mark.spark

RUNNERS = {"here": None, "on spark": Limits(local_work=-1, local_insert=-1)}


@pytest.fixture(params=RUNNERS.values(), ids=RUNNERS)
def lake(request: pytest.FixtureRequest, tmp_path: Path, spark) -> Iterator[Lake]:
    with anabranch.connect(tmp_path / "lake", spark=spark, limits=request.param, durability="process") as opened:
        opened.sql("CREATE DATABASE d")
        yield opened


MATCHED = "MERGE INTO d.t USING {} ON t.k = x.k WHEN MATCHED THEN UPDATE SET s = {}"
NEW = "MERGE INTO d.t USING {} ON t.k = x.k WHEN NOT MATCHED THEN INSERT (k, s) VALUES (x.k, {})"

# What has no type takes that of the column, wherever it stands.
BARE = "named_struct('a', 1, 'b', NULL, 'c', array())"


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        (f"UPDATE d.t SET s = {BARE}", 1),
        (MATCHED.format("VALUES (1) AS x(k)", BARE), 1),
        (NEW.format("VALUES (2) AS x(k)", BARE), 2),
        (MATCHED.format(f"VALUES (1, {BARE}) AS x(k, s)", "x.s"), 1),
        (MATCHED.format(f"(SELECT 1 AS k, {BARE} AS s) AS x", "x.s"), 1),
    ],
)
@pytest.mark.parametrize("key_of", ["", ", PRIMARY KEY (k)"], ids=["append", "keyed"])
def test_null_and_array_without_a_type_inside_a_struct(lake, statement, key, key_of):
    told(lake, f"CREATE TABLE d.t (k INT, s STRUCT<a: INT, b: STRING, c: ARRAY<INT>>{key_of})")
    told(lake, "INSERT INTO d.t VALUES (1, NULL)", statement)
    assert dict(rows(lake, "d.t"))[key] == {"a": 1, "b": None, "c": []}


def test_a_new_field_of_no_type_is_refused(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT>)", "INSERT INTO d.t VALUES (1, NULL)")
    text = MATCHED.format("(SELECT 1 AS k, named_struct('a', 1, 'b', NULL) AS s) AS x", "x.s")
    with pytest.raises(InvalidMerge, match=r"'s\.b' has no type"):
        told(lake, text.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))
