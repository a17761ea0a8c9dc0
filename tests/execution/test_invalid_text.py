"""Strings of Spark's that are not UTF-8: refused as keys and partition values, stored elsewhere."""

import pytest

from anabranch.errors import DataError, InvalidText
from anabranch.options import Limits

pytestmark = pytest.mark.spark

TABLES = {
    "key": "id INT, s STRING, PRIMARY KEY (s)",
    "partition": "id INT, s STRING) PARTITIONED BY (s",
    "key and partition": "id INT, s STRING, PRIMARY KEY (id, s)) PARTITIONED BY (s",
}
ROWS = "SELECT 1 AS id, CASE id WHEN 1 THEN CAST(X'61ff62' AS STRING) ELSE CAST(id AS STRING) END AS s FROM range(3)"
STATEMENTS = {
    "insert": f"INSERT INTO d.t {ROWS}",
    "values": "INSERT INTO d.t VALUES (1, CAST(X'ff' AS STRING))",
    "overwrite": f"INSERT OVERWRITE d.t {ROWS}",
    "merge": f"MERGE INTO d.t USING ({ROWS}) q ON d.t.s = q.s WHEN NOT MATCHED THEN INSERT *",
    "upsert": f"MERGE INTO d.t USING ({ROWS}) q ON d.t.s = q.s AND d.t.id = q.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
}


@pytest.mark.parametrize("limits", [None, Limits(local_insert=-1, local_work=-1)], ids=["small", "job"])
@pytest.mark.parametrize("where", TABLES)
def test_keys_and_partitions_are_utf8(new_lake, files_in, where, limits):
    lake = new_lake(limits)
    lake.sql(f"CREATE TABLE d.t ({TABLES[where]})")
    lake.sql("INSERT INTO d.t VALUES (1, 'x')")
    before, files = lake.table("d.t").version, files_in(lake)
    for name, statement in STATEMENTS.items():
        # A key that is only looked for has no column to speak of.
        error, word = (DataError, "UTF-8") if name in ("merge", "upsert") else (InvalidText, "column 's' of 'd.t'")
        with pytest.raises(error, match=word):
            lake.sql(statement)
        assert (lake.table("d.t").version, files_in(lake)) == (before, files), name
    assert lake.table("d.t").to_arrow().to_pylist() == [{"id": 1, "s": "x"}]


def test_elsewhere_they_are_stored_as_they_are(new_lake):
    lake = new_lake()
    lake.sql("CREATE TABLE d.t (id INT, s STRING)")
    lake.sql("INSERT INTO d.t SELECT 1, CAST(X'ff' AS STRING)")
    assert lake.sql("SELECT CAST(s AS BINARY) FROM d.t").collect()[0][0] == b"\xff"
