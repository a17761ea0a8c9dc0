"""MERGE INTO that is refused: the message names the clause, the column and the way out, and nothing changes."""

from __future__ import annotations

import pytest

from anabranch.commands.merge_into import source as merge_source
from anabranch.errors import AnabranchError
from anabranch.lake import Lake
from anabranch.options import Limits
from anabranch.sql import run_merge
from tests.stories.telling import rows, told

CASES = {
    # ON and conditions
    "ON x.id = s.id WHEN MATCHED THEN DELETE": r"MERGE INTO, ON: the column 'x.id' does not exist",
    "ON t.id = WHEN MATCHED THEN DELETE": r"MERGE INTO, ON: the expression does not parse",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 1 +": r"clause 1 .*column 'n': the expression does not parse",
    "ON t.idd = s.id WHEN MATCHED THEN DELETE": r"ON: the column 't.idd' does not exist. Did you mean 'id'\?",
    "ON id = s.id WHEN MATCHED THEN DELETE": r"'id' is ambiguous: both sides have it. Write t.id or s.id",
    "ON t.id = (SELECT 1) WHEN MATCHED THEN DELETE": r"ON: a subquery cannot stand .* USING \(SELECT",
    "ON t.id = max(s.id) WHEN MATCHED THEN DELETE": r"ON: an aggregate cannot stand",
    "ON t.id = s.id WHEN MATCHED AND rand() > 0.5 THEN DELETE": r"\(WHEN MATCHED\): .*nondeterministic \(rand\)",
    "ON t.id = s.id WHEN MATCHED AND uuid() = t.v THEN DELETE": r"nondeterministic \(uuid\)",
    "ON t.id = s.id WHEN MATCHED AND t.id THEN DELETE": r"is bigint, not boolean|BOOLEAN",
    # which side a clause sees
    "ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)": (
        r"clause 1 \(WHEN NOT MATCHED\), column 'id': 't.id' is a column of the target, and this clause sees"
    ),
    "ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND s.id = 1 THEN DELETE": r"'s.id' is a column of the source",
    # assignments
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET w = 1": r"clause 1 \(WHEN MATCHED\): the target has no column 'w'",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET extra = 1": r"MERGE WITH SCHEMA EVOLUTION INTO adds it",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'a', t.v = 'b'": r"'v' is assigned twice",
    "ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)": r"'id' is assigned twice",
    "ON t.id = s.id WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v)": r"leaves out the column 'id', which is NOT NULL",
    "ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (1)": r"INSERT has 1 values, the table 3 columns",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *": r"UPDATE SET \* finds no source column for 'n'",
    "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *": r"INSERT \* finds no source column for 'n'",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = sum(s.id)": r"column 'v': an aggregate cannot stand",
    # order of clauses
    "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN MATCHED AND t.id = 1 THEN DELETE": (
        r"clause 1 \(WHEN MATCHED\): only the last WHEN MATCHED clause may omit its condition"
    ),
    # values
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = NULL": r"clause 1 .*'id' of 'd.t' is NOT NULL",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 3000000000": r"clause 1 .*does not fit column 'n' of type int",
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = true": r"clause 1 .*column 'n' is int, but the data is boolean",
    "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 1 / 0": r"by zero|BY_ZERO",
    "ON t.id >= 0 WHEN MATCHED THEN UPDATE SET n = 1": r"2 rows of 'd.t' matched by ON with more than one source row",
}


@pytest.fixture
def tables(lake: Lake) -> Lake:
    told(
        lake,
        "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, n INT)",
        "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2)",
        "CREATE TABLE d.s (id BIGINT, v STRING, extra STRING)",
        "INSERT INTO d.s VALUES (1, 'x', 'e'), (3, 'z', 'e')",
    )
    return lake


def files(lake: Lake, tmp_path) -> set:
    return set((tmp_path / "lake" / "data").rglob("*.parquet"))


@pytest.mark.parametrize("text", CASES)
def test_refused(tables: Lake, tmp_path, text: str) -> None:
    before, version, known = rows(tables, "d.t"), tables.version, files(tables, tmp_path)
    with pytest.raises(AnabranchError, match=CASES[text]):
        tables.sql(f"MERGE INTO d.t USING d.s {text}")
    assert (rows(tables, "d.t"), tables.version, files(tables, tmp_path)) == (before, version, known)


KEYED = {
    ("deduplicate", "ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.id + 1"): r"a primary key keeps its value",
    ("deduplicate", "ON t.v = s.v WHEN MATCHED THEN UPDATE SET id = s.id"): r"only if ON equates every key column",
    ("aggregation", "ON t.id = s.id WHEN MATCHED THEN DELETE"): r"needs the merge engine 'deduplicate' or 'partial-up",
    ("first-row", "ON t.id = s.id WHEN MATCHED THEN DELETE"): r"needs the merge engine",
    (
        "partial-update",
        "ON t.id = s.id WHEN MATCHED THEN DELETE",
    ): r"'partial-update.remove-record-on-delete' to 'true'",
    ("deduplicate", "ON t.id = 1 AND s.id > 0 WHEN MATCHED THEN UPDATE SET v = s.v"): r"more than one source row",
}


@pytest.mark.parametrize(("engine", "text"), KEYED)
def test_keyed_refused(lake: Lake, engine: str, text: str) -> None:
    lake.create_table("d.t", "id BIGINT NOT NULL, v STRING", primary_key=["id"], properties={"merge-engine": engine})
    told(lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
    before, version = rows(lake, "d.t"), lake.version
    with pytest.raises(AnabranchError, match=KEYED[engine, text]):
        lake.sql(f"MERGE INTO d.t USING VALUES (1L, 'x'), (3L, 'z') AS s(id, v) {text}")
    assert (rows(lake, "d.t"), lake.version) == (before, version)


def test_a_key_that_the_source_has_twice_and_the_target_has(lake: Lake) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id))", "INSERT INTO d.t VALUES (1, 'a')")
    upsert = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    with pytest.raises(AnabranchError, match="more than one source row"):
        lake.sql(f"MERGE INTO d.t USING VALUES (1L, 'x'), (1L, 'y') AS s(id, v) {upsert}")
    lake.sql(f"MERGE INTO d.t USING VALUES (2L, 'x'), (2L, 'y') AS s(id, v) {upsert}")
    assert rows(lake, "d.t") == [(1, "a"), (2, "y")]


def test_target_and_source_of_one_name(lake: Lake) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT)")
    with pytest.raises(AnabranchError, match="both called 't': give them aliases"):
        lake.sql("MERGE INTO d.t USING d.t ON t.id = t.id WHEN MATCHED THEN DELETE")


# Rows that do not fit, on tables of every kind, decided here and by Spark: clauses after ON t.id = s.id -> the error.
UNFIT = {
    "WHEN MATCHED THEN UPDATE SET r = s.n": r"clause 1 \(WHEN MATCHED\): column 'r' of 'd.t' is NOT NULL",
    "WHEN MATCHED AND s.n = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'x', r = s.n": r"clause 2 .*'r' .* NOT NULL",
    "WHEN MATCHED THEN UPDATE SET v = 'x' WHEN NOT MATCHED THEN INSERT (id, r) VALUES (s.id, NULL)": (
        r"clause 2 \(WHEN NOT MATCHED\): column 'r' of 'd.t' is NOT NULL"
    ),
    "WHEN MATCHED THEN UPDATE SET r = s.big": r"clause 1 \(WHEN MATCHED\): a value does not fit column 'r' of type int",
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET r = v": r"clause 1 .*column 'r' is int, but the data is string",
}
KINDS = {
    "append": "",
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "partial-update": "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'",
}


def told_kind(lake: Lake, kind: str) -> None:
    key = "" if kind == "append" else ", PRIMARY KEY (id)"
    properties = f" TBLPROPERTIES ({KINDS[kind]})" if KINDS[kind] else ""
    told(lake, f"CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, r INT NOT NULL{key}){properties}")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2)")


def refuse_unfit(lake: Lake, kind: str) -> None:
    told_kind(lake, kind)
    before, version = rows(lake, "d.t"), lake.version
    for clauses, error in UNFIT.items():
        source = "VALUES (1L, CAST(NULL AS INT), 3000000000L), (3L, 5, 5L) AS s(id, n, big)"
        with pytest.raises(AnabranchError, match=error):
            lake.sql(f"MERGE INTO d.t USING {source} ON t.id = s.id {clauses}")
        assert (rows(lake, "d.t"), lake.version) == (before, version), clauses
    # A partial update says nothing of what it does not set, so its NULLs are none.
    told(
        lake,
        "MERGE INTO d.t USING VALUES (1L) AS s(id) ON t.id = s.id AND t.v = 'a' WHEN MATCHED THEN UPDATE SET v = 'x'",
    )
    assert rows(lake, "d.t") == [(1, "x", 1), (2, "b", 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_fit(lake: Lake, kind: str) -> None:
    refuse_unfit(lake, kind)


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_fit_by_spark(spark_lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_lake._session.shared.limits = Limits(local_work=0)
    monkeypatch.setattr(
        run_merge, "of_arrow", lambda data: merge_source.of_frame(spark_lake.spark.createDataFrame(data))
    )
    monkeypatch.setattr(merge_source, "MOST_ROWS", -1)
    refuse_unfit(spark_lake, kind)
