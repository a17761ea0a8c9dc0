"""Local Parquet files, loaded into keyed tables without Spark: the same rows as in any other way."""

import random
from itertools import chain
from math import copysign
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.errors import NullViolation, StorageError
from anabranch.execution import plain_load, spark_keyed
from anabranch.options import Limits

pytestmark = pytest.mark.spark
BY_A_JOB = Limits(local_insert=-1)
KEYS = {
    "one number": ("k BIGINT", pa.int64(), lambda number: number - 70),
    "a narrower number": ("k BIGINT", pa.int32(), lambda number: number - 70),
    "text": ("k STRING", pa.string(), lambda number: f"key-{number % 7}-{number}"),
    "floats": ("k DOUBLE", pa.float64(), lambda number: copysign(number // 2, number % 2 - 0.5)),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Many batches, ranges and parts of few rows."""
    monkeypatch.setattr(plain_load, "_SMALL_UNITS", 0)
    monkeypatch.setattr(plain_load, "_RANGE_ROWS", 60)
    monkeypatch.setattr(plain_load, "_BATCH_ROWS", 50)
    monkeypatch.setattr(plain_load, "_LEAST_BATCH", 50)


def rows_of(seed, key, count=900, different=300):
    chance = random.Random(seed)
    return [
        {
            "k": key(chance.randrange(different)),
            "seq": chance.randrange(5),
            "v": None if chance.random() < 0.4 else chance.randrange(1000),
            "s": None if chance.random() < 0.4 else f"s{chance.randrange(1000)}",
        }
        for _ in range(count)
    ]


def stored(folder, rows, kind, files=3):
    """The rows in files of several row groups, in the order of their names."""
    folder.mkdir()
    schema = pa.schema([("k", kind), ("seq", pa.int32()), ("v", pa.int32()), ("s", pa.string())])
    step = len(rows) // files
    for file in range(files):
        table = pa.Table.from_pylist(rows[file * step : (file + 1) * step], schema)
        pq.write_table(table, folder / f"{file}.parquet", row_group_size=120)
    return str(folder)


def expected(rows, engine, *, sequence):
    """Row by row, as the engines are specified."""
    found = {}
    for row in sorted(rows, key=lambda row: row["seq"]) if sequence else rows:
        known = found.get(row["k"])
        if known is None or engine == "deduplicate":
            found[row["k"]] = dict(row)
        elif engine == "partial-update":
            found[row["k"]] |= {name: value for name, value in row.items() if value is not None and name != "k"}
    return found


def parts_of(lake):
    return lake._session.view(lake.table("d.t")._open()).parts


@pytest.mark.parametrize(("declared", "kind", "key"), KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(
    ("engine", "sequence"),
    [("deduplicate", False), ("deduplicate", True), ("first-row", False), ("partial-update", False)],
)
def test_one_row_a_key(new_lake, spark, tmp_path, monkeypatch, declared, kind, key, engine, sequence):
    monkeypatch.setattr(spark_keyed, "write_parquet", None)  # Spark has no part in it
    rows = rows_of(f"{declared} {engine}", key)
    lake = new_lake(limits=BY_A_JOB)
    options = f"'merge-engine' = '{engine}'" + (", 'sequence.field' = 'seq'" if sequence else "")
    lake.sql(f"CREATE TABLE d.t ({declared}, seq INT, v INT, s STRING, PRIMARY KEY (k)) TBLPROPERTIES ({options})")
    source = spark.read.parquet(stored(tmp_path / "source", rows, kind))
    told = lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source).collect()
    assert told[0].rows_inserted == len(rows)
    found = {row["k"]: row for row in lake.table("d.t").to_arrow().to_pylist()}
    assert found == expected(rows, engine, sequence=sequence)
    parts = parts_of(lake)
    assert len(parts) > 1
    assert sum(part.rows for part in parts) == len(found), "each key is in one part, once"
    files = lake._session.folder(lake.table("d.t")._open().id)
    keys = sorted(pq.read_table(files.path(part.path)).column(0).to_pylist() for part in parts)
    assert list(chain.from_iterable(keys)) == sorted(found), "sorted, and no part's keys meet another's"


def test_keys_of_several_columns(new_lake, spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_keyed, "write_parquet", None)
    rows = rows_of("several", lambda number: number % 20)
    lake = new_lake(limits=BY_A_JOB)
    lake.sql("CREATE TABLE d.t (v INT, k BIGINT, s STRING, seq INT, PRIMARY KEY (seq, k))")
    source = spark.read.parquet(stored(tmp_path / "source", rows, pa.int64())).select("v", "k", "s", "seq")
    lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    last = {(row["seq"], row["k"]): row for row in rows}
    assert {(row["seq"], row["k"]): row for row in lake.table("d.t").to_arrow().to_pylist()} == last


def test_a_few_keys_with_all_rows_are_left_to_spark(new_lake, spark, tmp_path, monkeypatch):
    monkeypatch.setattr(plain_load, "_RANGE_BYTES", 1000)
    monkeypatch.setattr(plain_load, "_SKEW", 2)
    rows = rows_of("skewed", lambda number: number % 2)
    lake = new_lake(limits=BY_A_JOB)
    lake.sql(
        "CREATE TABLE d.t (k BIGINT, seq INT, v INT, s STRING, PRIMARY KEY (k)) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.seq.aggregate-function' = 'sum')"
    )
    source = spark.read.parquet(stored(tmp_path / "source", rows, pa.int64()))
    lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    sums = {key: sum(row["seq"] for row in rows if row["k"] == key) for key in (0, 1)}
    found = lake.table("d.t").to_arrow()
    assert dict(zip(found.column("k").to_pylist(), found.column("seq").to_pylist(), strict=True)) == sums
    assert left_behind(lake) == set()


def left_behind(lake):
    """What lies in the table's folder, and belongs to no part."""
    folder = lake._session.folder(lake.table("d.t")._open().id)
    held = {part.path for part in parts_of(lake)}
    files = (path for path in Path(folder.path("")).rglob("*") if path.is_file())
    return {str(path.relative_to(folder.path(""))) for path in files} - held


def test_a_null_key_leaves_nothing(new_lake, spark, tmp_path):
    rows = rows_of("null", lambda number: number)
    rows[555]["k"] = None
    lake = new_lake(limits=BY_A_JOB)
    lake.sql("CREATE TABLE d.t (k BIGINT, seq INT, v INT, s STRING, PRIMARY KEY (k))")
    source = spark.read.parquet(stored(tmp_path / "source", rows, pa.int64()))
    with pytest.raises(NullViolation, match="'k'"):
        lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    assert (lake.table("d.t").count(), left_behind(lake)) == (0, set())


def test_a_write_that_fails_leaves_nothing(new_lake, spark, tmp_path, monkeypatch):
    written = plain_load.write_keyed

    def failing(to, tables, next_slot, *, kinds):
        made = written(to, tables, next_slot, kinds=kinds)
        if made[0].slot > 1:
            raise StorageError("the disk is gone")
        return made

    monkeypatch.setattr(plain_load, "write_keyed", failing)
    lake = new_lake(limits=BY_A_JOB)
    lake.sql("CREATE TABLE d.t (k BIGINT, seq INT, v INT, s STRING, PRIMARY KEY (k))")
    source = spark.read.parquet(stored(tmp_path / "source", rows_of("fails", int), pa.int64()))
    with pytest.raises(StorageError, match="the disk is gone"):
        lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    assert (lake.table("d.t").count(), left_behind(lake)) == (0, set())


def test_a_broken_file_is_sparks_to_tell_or_to_pass_over(new_lake, spark, tmp_path, conf):
    folder = stored(tmp_path / "source", rows := rows_of("broken", int), pa.int64())
    source = spark.read.parquet(folder)
    (tmp_path / "source" / "1.parquet").write_bytes(b"PAR1 no more")
    lake = new_lake(limits=BY_A_JOB)
    lake.sql("CREATE TABLE d.t (k BIGINT, seq INT, v INT, s STRING, PRIMARY KEY (k))")
    with pytest.raises(Exception, match=r"1\.parquet"):
        lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    assert lake.table("d.t").count() == 0
    conf("spark.sql.files.ignoreCorruptFiles", "true")
    lake.sql("INSERT INTO d.t SELECT * FROM {source}", source=source)
    assert set(lake.table("d.t").to_arrow().column("k").to_pylist()) == {row["k"] for row in rows[:300] + rows[600:]}


def test_explain_says_who_writes(new_lake, spark, tmp_path):
    lake = new_lake(limits=BY_A_JOB)
    lake.sql("CREATE TABLE d.t (k BIGINT, seq INT, v INT, s STRING, PRIMARY KEY (k))")
    source = spark.read.parquet(stored(tmp_path / "source", rows_of("explain", int), pa.int64()))
    for where, writer in (("", "this process: the rows stand in Parquet files"), ("WHERE k > 3", "Spark's own writer")):
        told = lake.sql("EXPLAIN EXTENDED INSERT INTO d.t SELECT * FROM {source} " + where, source=source).collect()
        assert [row[6] for row in told if row[1] == "write"] == [writer]
