"""Which frames are Parquet files as they stand."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.execution.plain_files import plain_files, read_as_they_are
from anabranch.execution.spark_types import from_spark

SIZE = ", Statistics(sizeInBytes=256.0 MiB)\n"
SCAN = (
    "FileScan parquet [a#0L,b#1] Batched: true, DataFilters: [], Format: Parquet, Location: "
    "InMemoryFileIndex(1 paths)[file:/x], PartitionFilters: [], PushedFilters: [], ReadSchema: struct<a:bigint>\n"
)
RELATION = f"Relation [a#0L,b#1] parquet{SIZE}"


def said(logical, scan=SCAN):
    return f"== Optimized Logical Plan ==\n{logical}\n== Physical Plan ==\n*(1) ColumnarToRow\n+- {scan}"


TEXTS = {
    "all columns": (said(RELATION), ("a", "b")),
    "some columns": (said(f"Project [b#1, a#0L]{SIZE}+- {RELATION}"), ("b", "a")),
    "another name": (said(f"Project [b#1 AS a#2]{SIZE}+- {RELATION}"), None),
    "an expression": (said(f"Project [(a#0L + 1) AS a#2L]{SIZE}+- {RELATION}"), None),
    "a filter": (said(f"Filter isnotnull(a#0L){SIZE}+- {RELATION}"), None),
    "a sample": (said(f"Sample 0.0, 0.1, false, 1{SIZE}+- {RELATION}"), None),
    "a table of the session": (said(f"Relation spark_catalog.default.t[a#0L,b#1] parquet{SIZE}"), None),
    "another format": (said(f"Relation [a#0L,b#1] orc{SIZE}"), None),
    "a union": (said(f"Union false, false{SIZE}:- {RELATION}+- {RELATION}"), None),
    "an index of another format": (said(RELATION, SCAN.replace("InMemoryFileIndex", "TahoeLogFileIndex")), None),
    "a filter in the scan": (said(RELATION, SCAN.replace("DataFilters: []", "DataFilters: [(a#0L > 1)]")), None),
    "too many columns to show": (said(f"Relation [a#0L,... 30 more fields] parquet{SIZE}"), None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "columns"), TEXTS.values(), ids=TEXTS)
def test_the_text_of_a_plan(text, columns):
    assert read_as_they_are(text) == columns


QUERIES = {
    "SELECT * FROM {t}": True,
    "SELECT s, id FROM {t}": True,
    "SELECT ID FROM {t}": False,
    "SELECT id AS s, s AS id FROM {t}": False,
    "SELECT * FROM {t} WHERE id > 1": False,
    "SELECT * FROM {t} LIMIT 2": False,
    "SELECT * FROM {t} ORDER BY id": False,
    "SELECT DISTINCT * FROM {t}": False,
    "SELECT * FROM {t} UNION ALL SELECT * FROM {t}": False,
    "SELECT a.* FROM {t} a JOIN {t} b USING (id)": False,
    "SELECT id, id AS x FROM {t}": False,
}


def types_of(frame):
    return [type_ for _, type_ in from_spark(frame.schema, lenient=True)]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "ä b%20c"
    path.mkdir()
    for file in range(3):
        ids = range(10 * file, 10 * file + 10)
        pq.write_table(pa.table({"id": ids, "s": map(str, ids)}), path / f"{file} +.parquet", row_group_size=4)
    return path


@pytest.mark.spark
@pytest.mark.parametrize(("query", "taken"), QUERIES.items())
def test_queries(spark, folder, query, taken):
    frame = spark.sql(query, t=spark.read.parquet(str(folder)))
    found = plain_files(frame, types_of(frame))
    assert (found is not None) == taken
    if found is not None:
        assert (found.rows, list(found.columns)) == (30, frame.columns)
        assert [len(unit.groups) for unit in found.units] == [3, 3, 3]


READERS = {
    "as another type": lambda spark, path: spark.read.schema("id INT, s STRING").parquet(path),
    "a column that no file has": lambda spark, path: spark.read.schema("id BIGINT, s STRING, x INT").parquet(path),
    "cached": lambda spark, path: spark.read.parquet(path).cache(),
    "a place": lambda spark, path: spark.read.parquet(path).select("id", "_metadata.row_index"),
    "cut": lambda spark, path: spark.read.parquet(path).sample(0.5),
}


@pytest.mark.spark
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_only_spark_knows_how_to_read(spark, folder, read):
    frame = read(spark, str(folder))
    assert plain_files(frame, types_of(frame)) is None
    frame.unpersist()


@pytest.mark.spark
def test_columns_of_paths_and_times_are_sparks(spark, tmp_path):
    spark.range(9).selectExpr("id", "id % 2 AS p").write.partitionBy("p").parquet(str(tmp_path / "p"))
    spark.range(9).selectExpr("id", "date_from_unix_date(id) AS at").write.parquet(str(tmp_path / "at"))
    for name in ("p", "at"):
        frame = spark.read.parquet(str(tmp_path / name))
        assert plain_files(frame, types_of(frame)) is None, name


@pytest.mark.spark
def test_a_listing_keeps_to_its_options(spark, folder):
    frame = spark.read.option("pathGlobFilter", "1*").parquet(str(folder))
    found = plain_files(frame, types_of(frame))
    assert [unit.path for unit in found.units] == [str(folder / "1 +.parquet")]
