"""A Spark session in another zone reads times without a zone by its own: what this process decides must not differ."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.options import Limits

WHERE = "at >= TIMESTAMP '2026-06-01 00:00:00'"  # in Berlin that is 22:00 UTC of the day before


@pytest.fixture
def berlin(spark):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def test_parts_and_rows_are_chosen_as_spark_reads_the_literal(berlin, tmp_path):
    lake = anabranch.connect(tmp_path / "lake", spark=berlin, durability="process", limits=Limits(local_scan=-1))
    lake.create_database("d")
    table = lake.create_table("d.t", "id INT, at TIMESTAMP")
    for id, hour in ((1, 21), (2, 23)):  # one part each, around the line
        lake.sql(f"INSERT INTO d.t VALUES ({id}, TIMESTAMP '2026-05-31 {hour}:00:00+00:00')")
    assert [row.id for row in lake.sql(f"SELECT id FROM d.t WHERE {WHERE}").collect()] == [2]
    assert table.delete(WHERE) == 1
    assert table.to_arrow().column("id").to_pylist() == [1]
