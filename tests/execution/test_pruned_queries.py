"""Skipping parts never changes an answer: random queries against plain Spark over the same rows."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import anabranch
from anabranch.options import Limits
from anabranch.sql.frames import plans_of
from anabranch.sql.query import prepare
from tests.execution.conftest import WAYS
from tests.execution.queries import make_tables, query

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pruned") / "lake"
    with anabranch.connect(folder, durability="process") as lake:
        lake.create_database("d")
        make_tables(lake)
    return folder


@pytest.fixture(scope="module")
def plain(spark, folder):
    """Views of all rows in plain Spark, which knows nothing of parts."""
    with anabranch.connect(folder, create=False) as lake:
        for name in "ab":
            spark.createDataFrame(lake.table(f"d.{name}").to_arrow()).createOrReplaceTempView(f"plain_{name}")
    yield {"a": "plain_a", "b": "plain_b"}
    for name in "ab":
        spark.catalog.dropTempView(f"plain_{name}")


def answers(frame):
    return Counter(tuple(row) for row in frame.collect())


def skipped(lake, text):
    return sum(plan.skipped for plan in plans_of(lake._session, prepare(text)))


def check(spark, lake, plain, texts):
    """Runs the queries as one; if the answers differ, one by one, to name the culprit."""
    union = " UNION ALL ".join(f"SELECT {number} AS q, row FROM ({text})" for number, text in enumerate(texts))
    names = {"a": "d.a", "b": "d.b"}
    got, wanted = answers(lake.sql(union.format(**names))), answers(spark.sql(union.format(**plain)))
    if got != wanted:
        wrong = {number for number, _ in (got - wanted) + (wanted - got)}
        pytest.fail("\n".join(texts[number] for number in sorted(wrong)))
    return sum(skipped(lake, text.format(**names)) for text in texts), sum(wanted.values())


@pytest.mark.parametrize("seed", range(4))
def test_random_queries(spark, folder, plain, seed):
    rng = random.Random(seed)
    limits = Limits() if seed % 2 else WAYS["native"]
    with anabranch.connect(folder, spark=spark, limits=limits, create=False) as lake:
        parts, found = check(spark, lake, plain, [query(rng) for _ in range(8)])
    assert parts > 0
    assert found > 0
