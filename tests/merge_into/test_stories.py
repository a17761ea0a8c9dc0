"""MERGE INTO as users tell it: by SQL and by the builder, on tables, branches and sources of all kinds."""

from __future__ import annotations

import contextlib
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.commands.merge_into import keyed_by_spark
from anabranch.commands.merge_into import source as merge_source
from anabranch.commands.session import Session
from anabranch.errors import CommitConflict, InvalidMerge, Refused, SqlError
from anabranch.execution import spark_merge
from anabranch.lake import Lake
from anabranch.options import Limits
from anabranch.storage import parquet
from tests.stories.telling import labels, rows, told

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


@pytest.fixture
def table(lake: Lake) -> Lake:
    told(
        lake,
        "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING DEFAULT 'none', n INT)",
        "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
    )
    return lake


@pytest.fixture
def keyed(lake: Lake) -> Lake:
    told(
        lake,
        "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, n INT, PRIMARY KEY (id))",
        "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
    )
    return lake


def without_data(lake: Lake, folder: Path) -> None:
    """Nothing of the tables can be read any more."""
    for path in (folder / "lake" / "data").rglob("*.parquet"):
        path.unlink()


# --- the builder and its sources --------------------------------------------------------------------------------------


def test_the_builder(table: Lake) -> None:
    result = (
        table.table("d.t")
        .merge([{"id": 2, "v": "B"}, {"id": 9, "v": "new"}, {"id": 3, "v": None}], on="t.id = s.id")
        .when_matched("s.v IS NULL").delete()
        .when_matched().update({"v": "s.v", "n": 20})
        .when_not_matched().insert({"id": "s.id", "n": "s.id + 1", "v": "DEFAULT"})
        .when_not_matched_by_source("t.n = 1").update({"n": "t.n * 10"})
        .execute()
    )  # fmt: skip
    assert rows(table, "d.t") == [(1, "a", 10), (2, "B", 20), (9, "none", 10)]
    (row,) = result.collect()
    assert (row.rows_inserted, row.rows_updated, row.rows_deleted) == (1, 2, 1)
    assert row.strategy == "dead rows"
    assert {"join", "write", "commit"} <= set(row.seconds)
    assert table.table("d.t").history()[0].operation == "MERGE INTO"


def test_columns_in_common_and_all_columns(table: Lake) -> None:
    source = pa.table({"id": [3, 4], "v": ["x", "y"], "n": pa.array([7, 8], pa.int32())})
    table.table("d.t").merge(source, on=["id"]).when_matched().update("*").when_not_matched().insert("*").execute()
    assert rows(table, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "x", 7), (4, "y", 8)]


def test_a_table_merges_into_another(table: Lake) -> None:
    told(table, "CREATE TABLE d.s (id BIGINT, v STRING, n INT)", "INSERT INTO d.s VALUES (3, 'x', 7)")
    merge = (
        table.table("d.t")
        .merge(table.table("d.s"), on=["id"])
        .when_matched()
        .update("*")
        .when_not_matched()
        .insert("*")
    )
    told(table, "INSERT INTO d.s VALUES (4, 'y', 8)")  # the source is read when the MERGE runs
    merge.execute()
    assert rows(table, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "x", 7), (4, "y", 8)]


ONCE = {
    "a stream": lambda data: pa.RecordBatchReader.from_batches(data.schema, data.to_batches()),
    "a generator": lambda data: (row for row in data.to_pylist()),
}


@pytest.mark.parametrize("kind", ONCE)
@pytest.mark.parametrize("way", ["sql", "builder"])
def test_what_can_be_read_once_is_there_when_a_merge_runs_again(
    table: Lake, monkeypatch: pytest.MonkeyPatch, kind: str, way: str
) -> None:
    commit, tries = Session.commit, []

    def beside(self: Session, *args: Any, **kwargs: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise CommitConflict("somebody was faster", [], [])
        return commit(self, *args, **kwargs)

    monkeypatch.setattr(Session, "commit", beside)
    source = ONCE[kind](pa.table({"id": [3, 4], "v": ["x", "y"], "n": pa.array([7, 8], pa.int32())}))
    if way == "sql":
        table.sql(f"MERGE INTO d.t USING {{source}} AS s ON t.id = s.id {UPSERT}", source=source)
    else:
        table.table("d.t").merge(source, on=["id"]).when_matched().update("*").when_not_matched().insert("*").execute()
    assert len(tries) == 2
    assert rows(table, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "x", 7), (4, "y", 8)]


def test_what_the_builder_refuses(table: Lake) -> None:
    merge = table.table("d.t").merge([{"id": 1}], on=["id"])
    with pytest.raises(Refused, match="needs a clause"):
        merge.execute()
    with pytest.raises(Refused, match="cannot insert"):
        merge.when_matched().insert("*")
    with pytest.raises(Refused, match="cannot update: there is no target row"):
        merge.when_not_matched().update("*")
    with pytest.raises(Refused, match="no source row here"):
        merge.when_not_matched_by_source().update("*")
    with pytest.raises(Refused, match="past version"):
        table.table("d.t", version=table.version).merge([], on=["id"])


def test_sources_of_other_branches_and_versions(table: Lake) -> None:
    told(table, "CREATE BRANCH dev", "UPDATE d.t@dev SET v = 'dev' WHERE id < 3", "DELETE FROM d.t WHERE id = 1")
    told(table, f"MERGE INTO d.t USING d.t@dev AS s ON t.id = s.id {UPSERT}")
    assert rows(table, "d.t") == [(1, "dev", 1), (2, "dev", 2), (3, "c", 3)]
    told(table, "MERGE INTO d.t@dev AS t USING d.t AS s ON t.id = s.id AND t.id = 3 WHEN MATCHED THEN DELETE")
    assert rows(table.on("dev"), "d.t") == [(1, "dev", 1), (2, "dev", 2)]


@pytest.mark.spark
def test_temporary_views_of_spark(spark_lake: Lake) -> None:
    lake = spark_lake
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING)", "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
    lake.spark.sql("SELECT 2L AS id, 'x' AS v UNION ALL SELECT 9L, 'y'").createOrReplaceTempView("changes")
    lake.sql("SELECT id + 10 AS id, v FROM d.t").createOrReplaceGlobalTempView("shifted")
    try:
        told(lake, f"MERGE INTO d.t USING changes AS s ON t.id = s.id {UPSERT}")
        assert rows(lake, "d.t") == [(1, "a"), (2, "x"), (9, "y")]
        told(lake, "MERGE INTO d.t USING Changes ON t.id = changes.id WHEN MATCHED THEN DELETE")
        told(lake, f"MERGE INTO d.t USING global_temp.shifted ON t.id = shifted.id {UPSERT}")
        assert rows(lake, "d.t") == [(1, "a"), (11, "a"), (12, "b")]
        read = lake.sql("SELECT changes.v, t.id FROM changes JOIN d.t ON t.id < changes.id WHERE t.id > 0")
        assert sorted(map(tuple, read.collect())) == [("x", 1), ("y", 1)]
        told(lake, "INSERT INTO d.t SELECT * FROM changes WHERE id NOT IN (SELECT id FROM d.t)")
        told(lake, "DELETE FROM d.t WHERE id IN (SELECT id FROM global_temp.shifted)")
        assert rows(lake, "d.t") == [(1, "a"), (2, "x"), (9, "y")]
        assert "a Spark frame" in lake.sql(f"EXPLAIN MERGE INTO d.t USING changes s ON t.id = s.id {UPSERT}")[1].note
        told(lake, "CREATE DATABASE global_temp", "CREATE TABLE global_temp.shifted (id BIGINT, v STRING)")
        assert lake.sql("SELECT * FROM global_temp.shifted").collect() == [], "what the lake has goes first"
    finally:
        lake.spark.catalog.dropTempView("changes")
        lake.spark.catalog.dropGlobalTempView("shifted")
    with pytest.raises(SqlError, match=r"'changes' does not name a table: write .* It is no temporary view"):
        lake.sql("SELECT * FROM changes")
    with pytest.raises(SqlError, match="'changes' does not name a table"):
        lake.sql(f"MERGE INTO d.t USING changes AS s ON t.id = s.id {UPSERT}")
    with pytest.raises(SqlError, match="'changes' does not name a table"):
        lake.sql(f"MERGE INTO d.t USING changes@dev AS s ON t.id = s.id {UPSERT}")


def test_a_view_is_looked_for_without_a_jvm(table: Lake) -> None:
    with pytest.raises(SqlError, match="no temporary view"):
        table.sql("MERGE INTO d.t USING changes AS s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert not table._session.shared.spark.running or "pyspark.sql.session" in sys.modules


def test_arguments(table: Lake) -> None:
    table.sql(
        "MERGE INTO d.t USING VALUES (:id) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = :v",
        {"id": 2, "v": "it's"},
    )
    assert rows(table, "d.t")[1] == (2, "it's", 2)


def test_no_jvm(table: Lake) -> None:
    told(table, f"MERGE INTO d.t USING VALUES (2L, 'x', 5) AS s(id, v, n) ON t.id = s.id {UPSERT}")
    assert not table._session.shared.spark.running
    assert "pyspark.sql.session" not in sys.modules or not table._session.shared.spark.running


NAMES = {
    "MERGE INTO d.t AS n USING VALUES (2L, 'x', 9) AS v(id, v, n) ON n.id = v.id "
    "WHEN MATCHED THEN UPDATE SET n.n = v.n + n.n, v = v.v": (2, "x", 11),
    "MERGE INTO d.t AS id USING VALUES (2L, 'x', 9) AS t(id, v, n) ON id.id = t.id "
    "WHEN MATCHED THEN UPDATE SET v = t.v": (2, "x", 2),
    "MERGE INTO d.t USING VALUES (2L, 9) AS s(id, n) ON d.t.id = s.id WHEN MATCHED THEN UPDATE SET d.t.n = s.n": (
        2,
        "b",
        9,
    ),
    "MERGE INTO d.t T USING VALUES (2L, 9) AS S(ID, N) ON t.Id = s.iD WHEN MATCHED THEN UPDATE SET t.N = S.n": (
        2,
        "b",
        9,
    ),
    "MERGE INTO d.t `my t` USING VALUES (2L, 9) `a.s`(id, `n m`) ON `my t`.id = `a.s`.id "
    "WHEN MATCHED THEN UPDATE SET `my t`.n = `a.s`.`n m`": (2, "b", 9),
    "MERGE INTO d.t -- WHEN\n USING VALUES (2L, 'WHEN MATCHED') AS s(id, v) /* ON */ ON t.id = s.id "
    "WHEN MATCHED AND s.v = 'WHEN MATCHED' THEN UPDATE SET v = CASE WHEN t.n = 2 THEN ') WHEN (' END": (
        2,
        ") WHEN (",
        2,
    ),
}


@pytest.mark.parametrize("text", NAMES)
def test_names_that_hide_each_other(table: Lake, text: str) -> None:
    told(table, text)
    assert rows(table, "d.t")[1] == NAMES[text]


# --- what is read -----------------------------------------------------------------------------------------------------


def test_a_row_that_matches_in_one_of_many_parts_opens_one(lake: Lake, tmp_path: Path) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING)")
    for first in range(0, 200, 2):
        lake.table("d.t").write({"id": [first, first + 1], "v": ["a", "b"]})
    result = lake.sql(
        "MERGE INTO d.t USING VALUES (77L, 'x') AS s(id, v) ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    assert result.collect()[0].parts_read == 1
    explained = lake.sql("EXPLAIN MERGE INTO d.t USING VALUES (5L) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert [(row.path, row.parts) for row in explained] == [
        ("dead rows", None),
        ("here", None),
        ("local", 1),
        ("skipped", 100),
    ]


# ON, and how many of ten parts can hold a row that it matches. Source: ids 3, 4 and 5, as the target has them.
PRUNED = {
    "t.id = s.id": 3,
    "t.id = s.id AND t.v = 'p4'": 1,
    "t.id = s.id AND t.n BETWEEN 4 AND 9": 2,
    "t.id = s.id + 100": 0,
    "t.v = s.v AND t.id >= 4": 2,
    "t.v = s.v OR t.id = 7": 10,
    "t.id < s.id AND t.id = 1": 1,
}


@pytest.fixture
def in_ten_parts(lake: Lake) -> Lake:
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING, n INT)")
    for id in range(10):
        lake.table("d.t").write({"id": [id], "v": [f"p{id}"], "n": [id]})
    return lake


@pytest.mark.parametrize("on", PRUNED)
def test_parts_are_pruned_by_the_source_and_by_constants_of_on(in_ten_parts: Lake, on: str) -> None:
    source = "VALUES (3L, 'p3', 3), (4L, 'p4', 4), (5L, 'p5', 5) AS s(id, v, n)"
    merge = f"MERGE INTO d.t USING {source} ON {on} WHEN MATCHED THEN DELETE"
    explained = {row.path: row.parts for row in in_ten_parts.sql(f"EXPLAIN {merge}") if row.parts}
    assert explained.get("skipped", 0) == 10 - PRUNED[on]
    assert in_ten_parts.sql(merge).collect()[0].parts_read == PRUNED[on]


@pytest.mark.spark
def test_parts_are_pruned_by_the_range_of_a_source_that_spark_keeps(
    spark_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_source, "MOST_ROWS", -1)
    told(spark_lake, "CREATE TABLE d.t (id BIGINT, v STRING)")
    for id in range(10):
        spark_lake.table("d.t").write({"id": [id], "v": ["a"]})
    merge = (
        "MERGE INTO d.t USING (SELECT id + 3 AS id FROM range(3)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'x'"
    )
    assert spark_lake.sql(merge).collect()[0].parts_read == 3
    assert [row[0] for row in rows(spark_lake, "d.t") if row[1] == "x"] == [3, 4, 5]


@pytest.mark.parametrize(("of_target", "of_source"), [("BIGINT", "FLOAT"), ("FLOAT", "INT")])
def test_an_integer_and_a_float_meet_as_doubles(lake: Lake, of_target: str, of_source: str) -> None:
    """As floats 16777217 and 16777216 would be one."""
    values = {"BIGINT": 16777217, "INT": 16777217, "FLOAT": 16777216.0}
    for name, type_ in (("d.t", of_target), ("d.s", of_source)):
        lake.create_table(name, f"k {type_}").write({"k": [values[type_], 5]})
    told(lake, "MERGE INTO d.t USING d.s ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert rows(lake, "d.t") == [(values[of_target],)]


def test_an_integer_and_a_decimal_meet_exactly(lake: Lake) -> None:
    lake.create_table("d.t", "k DECIMAL(20, 2)").write({"k": [Decimal("9007199254740993.00"), Decimal("7.50")]})
    lake.create_table("d.s", "k BIGINT").write({"k": [9007199254740992, 9007199254740993, 7]})
    told(lake, "MERGE INTO d.t USING d.s ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert rows(lake, "d.t") == [(Decimal("7.50"),)]


def test_an_empty_source_does_nothing_and_says_so(table: Lake) -> None:
    version = table.version
    result = table.sql(f"MERGE INTO d.t USING {{s}} AS s ON t.id = s.id {UPSERT}", s=table.table("d.t").to_arrow()[:0])
    assert (result.collect()[0].strategy, result.collect()[0].reason) == ("nothing", "the source is empty")
    assert table.version == version
    told(table, "CREATE TABLE d.empty (id BIGINT)")
    told(table, "MERGE INTO d.t USING d.empty s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id > 1 THEN DELETE")
    assert rows(table, "d.t") == [(1, "a", 1)]


@pytest.mark.spark
@pytest.mark.parametrize("most", [merge_source.MOST_ROWS, -1], ids=["here", "by Spark"])
def test_a_source_that_never_is_the_same_twice(
    spark_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A costly view, nondeterministic, of several partitions and more rows than come here at first; and the target."""
    monkeypatch.setattr(merge_source, "MOST_ROWS", most)
    spark = spark_lake.spark
    told(
        spark_lake,
        "CREATE TABLE d.t (id BIGINT, u STRING, w STRING)",
        "INSERT INTO d.t SELECT id, '', '' FROM range(10)",
    )
    calls = spark.sparkContext.accumulator(0)

    def costly(id: int, calls: Any = calls) -> int:
        calls.add(1)
        return id

    view = spark.range(0, 6000, 1, 3).select(spark.udf.register("costly", costly, "bigint")("id").alias("id"))
    view.selectExpr("id", "uuid() AS u", "CAST(rand() * 1000 AS INT) AS r").createOrReplaceTempView("costly_view")
    try:
        told(
            spark_lake,
            "MERGE INTO d.t USING costly_view s ON t.id = s.id WHEN MATCHED THEN UPDATE SET u = s.u, w = s.u "
            "WHEN NOT MATCHED AND s.r >= 0 THEN INSERT (id, u, w) VALUES (s.id, s.u, s.u)",
        )
    finally:
        spark.catalog.dropTempView("costly_view")
    found = spark_lake.table("d.t").to_arrow().to_pylist()
    assert calls.value == 6000
    assert len(found) == 6000
    assert all(row["u"] == row["w"] != "" for row in found)
    told(spark_lake, "MERGE INTO d.t USING (SELECT id + 5990 AS id FROM d.t WHERE id < 20) s ON t.id = s.id "
         "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")  # fmt: skip
    assert sorted(row[0] for row in rows(spark_lake, "d.t"))[-12:] == [5988, 5989, *range(6000, 6010)]


@pytest.mark.spark
def test_a_small_source_is_broadcast_and_the_target_never_shuffled(
    spark_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only Spark can evaluate a clause, and rows that match nothing are inserted."""
    told(spark_lake, "CREATE TABLE d.t (id BIGINT, v STRING)", "INSERT INTO d.t SELECT id, 'a' FROM range(100)")
    spark_lake._session.shared.limits = Limits(local_work=0)
    plans: list[str] = []

    def seen(gathered: Any, *rest: Any) -> Any:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            gathered.explain()
        plans.append(printed.getvalue())
        return run_tasks(gathered, *rest)

    run_tasks = spark_merge.run_tasks
    monkeypatch.setattr(spark_merge, "run_tasks", seen)
    for clauses, expected in {
        "WHEN MATCHED THEN UPDATE SET v = soundex(s.v) WHEN NOT MATCHED THEN INSERT *": (1, 1, 0),
        "WHEN NOT MATCHED AND soundex(s.v) <> '' THEN INSERT *": (0, 0, 0),
        "WHEN MATCHED AND soundex(s.v) = 'X000' THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.id < 3 THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *": (0, 0, 4),
    }.items():
        row = spark_lake.sql(
            f"MERGE INTO d.t USING VALUES (5L, 'x'), (500L, 'y') s(id, v) ON t.id = s.id {clauses}"
        ).collect()[0]
        assert (row.rows_inserted, row.rows_updated, row.rows_deleted) == expected
        plan = plans.pop()
        assert "SortMergeJoin" not in plan
        assert "hashpartitioning" not in plan
        assert ("BroadcastHashJoin" in plan) is ("WHEN MATCHED" in clauses)


@pytest.mark.spark
def test_the_source_is_evaluated_once(spark_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    told(spark_lake, "CREATE TABLE d.t (id BIGINT, v STRING)", "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
    spark = spark_lake.spark
    for most in (merge_source.MOST_ROWS, -1):
        monkeypatch.setattr(merge_source, "MOST_ROWS", most)
        calls = spark.sparkContext.accumulator(0)

        def seen(id, calls=calls):
            calls.add(1)
            return id

        source = spark.range(1, 5).select(spark.udf.register("seen", seen, "bigint")("id").alias("id"))
        clauses = "WHEN MATCHED THEN UPDATE SET v = uuid() WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        spark_lake.sql(f"MERGE INTO d.t USING {{source}} s ON t.id = s.id {clauses}", source=source)
        assert calls.value == 4
        assert [row[0] for row in rows(spark_lake, "d.t")] == [1, 2, 3, 4]


def test_copy_on_write_leaves_no_dead_rows_to_hide(table: Lake) -> None:
    told(table, "ALTER TABLE d.t SET TBLPROPERTIES ('merge.mode' = 'copy-on-write')")
    told(table, "INSERT INTO d.t VALUES (7, 'g', 7)")
    clauses = "WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
    told(table, f"MERGE INTO d.t USING VALUES (1L, 'x'), (2L, 'y') s(id, v) ON t.id = s.id {clauses}")
    assert rows(table, "d.t") == [(2, "y", 2), (3, "c", 3), (7, "g", 7)]
    explained = [row for row in table.sql("EXPLAIN SELECT * FROM d.t") if row.path == "local"]
    assert [(row.parts, row.rows, row.dead_rows) for row in explained] == [(3, 3, 0)]
    assert rows(table, "d.t", version=table.version - 1) == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (7, "g", 7)]


# --- keyed tables -----------------------------------------------------------------------------------------------------

BLIND = {
    UPSERT: ("blind upsert", [(1, "a", 1), (2, "x", 5), (3, "c", 3), (9, "y", 6)]),
    "WHEN MATCHED THEN DELETE": ("blind delete", [(1, "a", 1), (3, "c", 3)]),
}


@pytest.mark.parametrize("clauses", BLIND)
def test_unconditional_changes_by_key_read_nothing(keyed: Lake, tmp_path: Path, clauses: str) -> None:
    way, expected = BLIND[clauses]
    kept = {path: path.read_bytes() for path in (tmp_path / "lake" / "data").rglob("*.parquet")}
    without_data(keyed, tmp_path)
    source = "VALUES (2L, 'x', 5), (9L, 'y', 6) AS s(id, v, n)"
    result = keyed.sql(f"MERGE INTO d.t USING {source} ON t.id = s.id {clauses}").collect()[0]
    for path, body in kept.items():
        path.write_bytes(body)
    assert (result.strategy, result.parts_read, result.rows_affected) == (way, 0, 2)
    assert rows(keyed, "d.t") == expected


def test_conditions_look_up_the_matching_keys_alone(keyed: Lake) -> None:
    clauses = "WHEN MATCHED AND s.n > t.n THEN UPDATE SET * WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    source = "VALUES (2L, 'x', 5), (3L, 'y', 0), (9L, 'z', 6) AS s(id, v, n)"
    row = keyed.sql(f"MERGE INTO d.t USING {source} ON t.id = s.id {clauses}").collect()[0]
    assert (row.strategy, row.rows_inserted, row.rows_updated, row.rows_deleted) == ("lookup", 1, 1, 1)
    assert rows(keyed, "d.t") == [(1, "a", 1), (2, "x", 5), (9, "z", 6)]
    assert not keyed._session.shared.spark.running


def test_a_lookup_opens_row_groups_that_can_hold_the_keys_and_columns_that_clauses_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, q INT, PRIMARY KEY (id))")
    monkeypatch.setattr(parquet, "ROW_GROUP", 4)
    lake.table("d.t").write({"id": list(range(0, 200, 2)), "v": ["a"] * 100, "q": [5] * 100})
    read: list[tuple[int, tuple[str, ...]]] = []
    original = pq.ParquetFile.read_row_group

    def read_row_group(self: pq.ParquetFile, group: int, columns: list[str], **how: bool) -> pa.Table:
        read.append((group, tuple(columns)))
        return original(self, group, columns=columns, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read_row_group)
    source = "VALUES (18L, 'x', 9), (51L, 'y', 9), (162L, 'z', 1) AS s(id, v, q)"
    lake.sql(f"MERGE INTO d.t USING {source} ON t.id = s.id WHEN MATCHED AND s.q > t.q THEN UPDATE SET *")
    # 51 can only be in row group 6, whose keys do not have it: nothing else of that is read.
    assert sorted(read) == [(2, ("id",)), (2, ("q",)), (6, ("id",)), (20, ("id",)), (20, ("q",))]
    monkeypatch.undo()
    assert [row for row in rows(lake, "d.t") if row[1] != "a"] == [(18, "x", 9)]


NAN, HUGE = float("nan"), 1 << 40


@pytest.mark.parametrize("clause", ["AND s.x > 0 THEN UPDATE SET v = 'met'", "THEN DELETE"])
@pytest.mark.parametrize(
    ("key", "held", "given", "met"),
    [
        ("INT", [1, 2, 3], pa.array([1, HUGE + 2, None, 3], pa.int64()), [1, 3]),
        ("TINYINT", [1, 2, 3], pa.array([257, -255, 2], pa.int32()), [2]),
        ("SMALLINT", [1, 2, 3], pa.array([1.5, 2.0, 1e300, NAN]), [2]),
        ("DOUBLE", [1.0, 2.0, 2.0**53], pa.array([2, (1 << 53) + 1]), [2.0, 2.0**53]),
        ("FLOAT", [1.0, 0.1, 2.0**24], pa.array([1.0, 0.1, 2.0**24 + 1]), [1.0]),
        ("FLOAT", [1.0, 2.0, NAN], pa.array([NAN, 5.0]), [NAN]),
    ],
)
def test_keys_of_another_number_type_are_looked_up_here(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, key: str, held: list[Any], given: pa.Array, met: list[Any], clause: str
) -> None:
    monkeypatch.setattr(keyed_by_spark, "joined", None)
    monkeypatch.setattr(keyed_by_spark, "blind", None)
    told(lake, f"CREATE TABLE d.k (id {key}, v STRING, PRIMARY KEY (id))")
    lake.table("d.k").write({"id": held, "v": ["old"] * len(held)})
    source = pa.table({"k": given, "x": [1] * len(given)})
    lake.sql(f"MERGE INTO d.k AS t USING {{s}} AS s ON t.id = s.k WHEN MATCHED {clause}", s=source)
    left = [repr(id) for id, v in rows(lake, "d.k") if v == "old"]
    assert sorted(left) == sorted({repr(rounded(id, key)) for id in held} - {repr(id) for id in met})


def rounded(value: Any, type_: str) -> Any:
    return pa.scalar(value, pa.float32()).as_py() if type_ == "FLOAT" else value


def test_another_condition_joins(keyed: Lake) -> None:
    clauses = "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED BY SOURCE THEN DELETE"
    row = keyed.sql(f"MERGE INTO d.t USING VALUES ('b', 5) s(v, n) ON t.v = s.v {clauses}").collect()[0]
    assert (row.strategy, row.rows_updated, row.rows_deleted) == ("join", 1, 2)
    assert rows(keyed, "d.t") == [(2, "b", 7)]


def test_partial_updates_go_through_the_engine(lake: Lake) -> None:
    told(
        lake,
        "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, n INT, PRIMARY KEY (id)) "
        "TBLPROPERTIES ('merge-engine' = 'partial-update')",
        "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2)",
    )
    blind = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    row = lake.sql(f"MERGE INTO d.t USING VALUES (1L, 'x'), (3L, 'y') s(id, v) ON t.id = s.id {blind}").collect()[0]
    assert row.strategy == "blind upsert"
    looked = "WHEN MATCHED AND t.n = 2 THEN UPDATE SET n = t.n * 10"
    told(lake, f"MERGE INTO d.t USING VALUES (1L), (2L) s(id) ON t.id = s.id {looked}")
    assert rows(lake, "d.t") == [(1, "x", 1), (2, "b", 20), (3, "y", None)]


def test_deletes_carry_their_sequence(lake: Lake) -> None:
    told(
        lake,
        "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, n INT, PRIMARY KEY (id)) "
        "TBLPROPERTIES ('sequence.field' = 'n')",
        "INSERT INTO d.t VALUES (1, 'a', 5), (2, 'b', 5)",
        "MERGE INTO d.t USING VALUES (1L) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE",
    )
    assert rows(lake, "d.t") == [(2, "b", 5)]


# --- schema evolution, partitions, branches ---------------------------------------------------------------------------


def test_schema_evolution_is_part_of_the_commit(table: Lake) -> None:
    version = table.version
    source = pa.table({"id": [2, 4], "v": ["x", "y"], "extra": [2.5, 4.5]})
    table.table("d.t").merge(source, on=["id"]).with_schema_evolution().when_matched().update(
        "*"
    ).when_not_matched().insert("*").execute()
    assert table.version == version + 1
    assert labels(table, "d.t") == ["id", "v", "n", "extra"]
    expected = [(1, "a", 1, None), (2, "x", 2, 2.5), (3, "c", 3, None), (4, "y", None, 4.5)]
    assert rows(table, "d.t") == expected
    told(table, f"RESTORE TABLE d.t TO VERSION {version}")
    assert labels(table, "d.t") == ["id", "v", "n"]


def test_new_fields_of_structs(lake: Lake, request: pytest.FixtureRequest) -> None:
    told(lake, "CREATE TABLE d.t (id INT, a STRUCT<x: INT, n: STRUCT<y: INT>>)")
    told(lake, "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'n', named_struct('y', 1))), (2, NULL)")
    version = lake.version
    source = pa.table(
        {
            "id": pa.array([1, 3], pa.int32()),
            "a": pa.array(
                [{"x": 10, "n": {"y": 10, "z": "new"}, "w": 0.5}, {"x": 30, "n": None, "w": None}],
                pa.struct(
                    [("x", pa.int32()), ("n", pa.struct([("y", pa.int32()), ("z", pa.string())])), ("w", pa.float64())]
                ),
            ),
        }
    )
    merge = lake.table("d.t").merge(source, on=["id"]).when_matched().update("*").when_not_matched().insert("*")
    with pytest.raises(
        InvalidMerge, match=r"clause 1 .*column 'a': .*the field 'w', which the target lacks.*EVOLUTION"
    ):
        merge.execute()
    merge.with_schema_evolution().execute()
    assert lake.version == version + 1
    assert rows(lake, "d.t") == [
        (1, {"x": 10, "n": {"y": 10, "z": "new"}, "w": 0.5}),
        (2, None),
        (3, {"x": 30, "n": None, "w": None}),
    ]
    assert rows(lake, "d.t", version=version)[0] == (1, {"x": 1, "n": {"y": 1}})


def test_a_partitioned_table(lake: Lake) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT, p STRING) PARTITIONED BY (p)")
    told(lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    source = "VALUES (1L, 'b'), (3L, 'c'), (4L, 'a') s(id, p)"
    told(lake, f"MERGE INTO d.t USING {source} ON t.id = s.id {UPSERT}")
    assert rows(lake, "d.t") == [(1, "b"), (2, "b"), (3, "c"), (4, "a")]
    assert lake.table("d.t").partitions() == ["p=a", "p=b", "p=c"]


def test_a_branch_with_a_merge_into_merges(table: Lake) -> None:
    told(table, "CREATE BRANCH dev")
    clauses = (
        "WHEN MATCHED AND s.v = 'gone' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    source = "VALUES (1L, 'gone', 0), (2L, 'x', 0), (9L, 'y', 9) s(id, v, n)"
    told(table, f"MERGE INTO d.t@dev t USING {source} ON t.id = s.id {clauses}", "UPDATE d.t SET n = 30 WHERE id = 3")
    told(table, "MERGE BRANCH dev WITH (detect = 'row')")
    assert rows(table, "d.t") == [(2, "x", 2), (3, "c", 30), (9, "y", 9)]


ONE_PART = (
    "MERGE INTO d.t t USING VALUES (1L, 'x', 0), (2L, 'x', 0), (8L, 'y', 8), (9L, 'y', 9) s(id, v, n) ON t.id = s.id "
)


def test_new_versions_and_new_rows_are_one_part(table: Lake) -> None:
    row = table.sql(ONE_PART + UPSERT).collect()[0]
    assert (row.rows_updated, row.rows_inserted, row.parts_written) == (2, 2, 1)
    told(table, "DELETE FROM d.t WHERE id = 8", "UPDATE d.t SET n = 7 WHERE id IN (2, 9)")
    changed = {(row.id, row["_change"]) for row in table.diff(table.version - 3, table="d.t")}
    assert changed == {(1, "-U"), (1, "+U"), (2, "-U"), (2, "+U"), (9, "+I")}


# What ours did after its MERGE INTO -> whether theirs' DELETE of a row that ours left alone meets an insert.
NEW_ROWS_LEFT = {
    "SELECT 1": True,
    "DELETE FROM d.t WHERE id = 8": True,
    "UPDATE d.t SET n = 7 WHERE id > 7": True,
    "DELETE FROM d.t WHERE id > 7": False,
    "DELETE FROM d.t WHERE id < 3": True,
}


@pytest.mark.parametrize("then", NEW_ROWS_LEFT)
def test_new_rows_among_new_versions_are_inserts_to_the_law(table: Lake, then: str) -> None:
    told(table, "CREATE BRANCH dev", "DELETE FROM d.t@dev WHERE id = 3")
    told(table, ONE_PART + UPSERT, *([then] if then != "SELECT 1" else []))
    assert bool(table.sql("SHOW CONFLICTS IN dev").collect()) is NEW_ROWS_LEFT[then]


def test_dead_versions_are_not_mistaken_for_new_rows(table: Lake) -> None:
    """Two rows updated and two new, the new versions deleted: as many live as were updated, and all these are gone."""
    told(table, "CREATE BRANCH dev", ONE_PART + UPSERT, "DELETE FROM d.t WHERE id < 3")
    told(table, "UPDATE d.t@dev SET v = 'dev' WHERE id = 2")
    (conflict,) = [
        row for row in table.sql("SHOW CONFLICTS IN dev WITH (detect = 'row')").collect() if row.rule != "update/insert"
    ]
    assert conflict.rule == "update/delete"


def test_rows_that_both_sides_changed_conflict(table: Lake) -> None:
    told(table, "CREATE BRANCH dev", "UPDATE d.t SET v = 'ours' WHERE id = 2")
    told(
        table,
        "MERGE INTO d.t@dev t USING VALUES (2L, 'theirs') s(id, v) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
    )
    conflicts = table.sql("SHOW CONFLICTS IN dev")
    assert len(conflicts) == 1


def test_time_travel_and_revert(table: Lake) -> None:
    before, version = rows(table, "d.t"), table.version
    told(table, f"MERGE INTO d.t USING VALUES (2L, 'x', 5), (9L, 'y', 6) s(id, v, n) ON t.id = s.id {UPSERT}")
    assert rows(table, "d.t", version=version) == before
    told(table, f"REVERT {table.version}")
    assert rows(table, "d.t") == before
