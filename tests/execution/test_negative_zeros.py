"""-0.0 in a key or a partition is 0.0, whichever way its row came."""

import math

import pytest

from anabranch.options import Limits

pytestmark = pytest.mark.spark

ZEROS = "SELECT CAST(z AS {0}) AS k, v FROM VALUES (-0.0D, 1), (1.5D, 2), (double('NaN'), 3), (-1.5D, 4) AS t(z, v)"
WAYS = {
    "insert": "INSERT INTO d.t {0}",
    "values": "INSERT INTO d.t VALUES (CAST(-0.0D AS {1}), 1), (1.5, 2), (double('NaN'), 3), (-1.5, 4)",
    "upsert": "MERGE INTO d.t USING ({0}) s ON d.t.k = s.k WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
}


@pytest.mark.parametrize("limits", [None, Limits(local_insert=-1, local_work=-1)], ids=["small", "job"])
@pytest.mark.parametrize("type_", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize(
    "table",
    [
        "k {0}, v INT, PRIMARY KEY (k)",
        "k {0}, v INT) PARTITIONED BY (k",
        "k {0}, v INT, PRIMARY KEY (k)) PARTITIONED BY (k",
    ],
    ids=["key", "partition", "both"],
)
def test_it_is_stored_as_zero(new_lake, table, type_, limits):
    lake = new_lake(limits)
    for way, text in WAYS.items():
        lake.sql("DROP TABLE IF EXISTS d.t")
        lake.sql(f"CREATE TABLE d.t ({table.format(type_)})")
        lake.sql(text.format(ZEROS.format(type_), type_))
        rows = {row["v"]: row["k"] for row in lake.table("d.t").to_arrow().to_pylist()}
        assert math.copysign(1, rows[1]) == 1, way
        assert (rows[1], rows[2], rows[4]) == (0.0, 1.5, -1.5), way
        assert math.isnan(rows[3]), way


def test_elsewhere_it_stays(new_lake):
    lake = new_lake()
    lake.sql("CREATE TABLE d.t (k DOUBLE)")
    lake.sql("INSERT INTO d.t SELECT -0.0D")
    assert math.copysign(1, lake.table("d.t").to_arrow().column("k")[0].as_py()) == -1
