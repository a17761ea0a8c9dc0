"""DDL beside DDL, as the law has it: names follow what they meant, a drop wins, and what both did is done once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch.errors import AlreadyExists, CommitConflict
from anabranch.lake import Lake
from tests.faults.test_races import let_in
from tests.stories.telling import rows, told


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    catalog = request.getfixturevalue("fresh_postgres_url") if request.param == "postgresql" else None
    return {"path_or_url": tmp_path / "lake", "catalog": catalog, "durability": "process"}


@pytest.fixture
def lake(address: dict[str, Any]) -> Iterator[Lake]:
    with anabranch.connect(**address) as opened:
        told(opened, "CREATE DATABASE d", "CREATE DATABASE other", "ALTER DATABASE d SET DBPROPERTIES (p = '1')")
        told(opened, "CREATE TABLE d.t (a INT, s STRUCT<x: INT, y: INT>)", "CREATE TABLE d.u (a INT)")
        told(opened, "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'y', 1))", "INSERT INTO d.u VALUES (7)")
        yield opened


@pytest.fixture
def second(address: dict[str, Any], lake: Lake) -> Iterator[Lake]:
    with anabranch.connect(**address) as opened:
        yield opened


def shape(lake: Lake, table: str) -> list[str]:
    """Columns and types."""
    return [f"{column.label} {column.type}" for column in lake.table(table)._open().schema.columns]


def properties(lake: Lake, table: str) -> dict[str, str]:
    return lake.table(table).properties


RENAMED, MOVED, OF_D = (
    "ALTER TABLE d.t RENAME TO d.v",
    "ALTER TABLE d.t RENAME TO other.v",
    "ALTER DATABASE d RENAME TO e",
)
NAMED_AGAIN = [RENAMED, "ALTER TABLE d.u RENAME TO d.t"]
FOLLOWED = [
    # what runs, what is committed meanwhile, and what is then so
    ("ALTER TABLE d.t SET TBLPROPERTIES (p = '2')", [RENAMED], lambda lake: properties(lake, "d.v") == {"p": "2"}),
    ("ALTER TABLE d.t SET TBLPROPERTIES (p = '2')", [MOVED], lambda lake: properties(lake, "other.v") == {"p": "2"}),
    ("ALTER TABLE d.t SET TBLPROPERTIES (p = '2')", [OF_D], lambda lake: properties(lake, "e.t") == {"p": "2"}),
    (
        "ALTER TABLE d.t SET TBLPROPERTIES (p = '2')",
        [RENAMED, OF_D],
        lambda lake: properties(lake, "e.v") == {"p": "2"},
    ),
    (
        "ALTER TABLE d.t SET TBLPROPERTIES (p = '2')",
        NAMED_AGAIN,
        lambda lake: (properties(lake, "d.v"), properties(lake, "d.t")) == ({"p": "2"}, {}),
    ),
    ("ALTER TABLE d.t ADD COLUMN z INT", [RENAMED], lambda lake: "z int" in shape(lake, "d.v")),
    ("ALTER TABLE d.t RENAME COLUMN a TO b", [RENAMED], lambda lake: "b int" in shape(lake, "d.v")),
    ("ALTER TABLE d.t ALTER COLUMN a SET NOT NULL", [RENAMED], lambda lake: not lake.table("d.v").schema[0].nullable),
    ("COMMENT ON TABLE d.t IS 'c'", [RENAMED], lambda lake: "c" in str(told(lake, "DESCRIBE EXTENDED d.v"))),
    ("ALTER TABLE d.t RENAME TO d.w", [RENAMED], lambda lake: lake.tables() == ["d.u", "d.w"]),
    ("ALTER TABLE d.t RENAME TO d.w", [MOVED], lambda lake: lake.tables() == ["d.u", "d.w"]),
    ("ALTER TABLE d.t RENAME TO d.w", [OF_D, "COMMENT ON TABLE e.t IS 'c'"], lambda lake: "e.w" in lake.tables()),
    ("DROP TABLE d.t", [RENAMED], lambda lake: lake.tables() == ["d.u"]),
    ("DROP TABLE IF EXISTS d.t", [MOVED], lambda lake: lake.tables() == ["d.u"]),
    ("DROP TABLE d.t", NAMED_AGAIN, lambda lake: (lake.tables(), rows(lake, "d.t")) == (["d.t"], [(7,)])),
    ("DROP TABLE d.t", ["DROP TABLE d.t"], lambda lake: lake.tables() == ["d.u"]),
    ("DROP TABLE d.t", ["DROP DATABASE d CASCADE"], lambda lake: lake.databases() == ["other"]),
    ("DROP TABLE d.t", ["DROP TABLE d.t", "CREATE TABLE d.t (new INT)"], lambda lake: "d.t" in lake.tables()),
    ("DROP DATABASE other", ["DROP DATABASE other"], lambda lake: lake.databases() == ["d"]),
    ("DROP DATABASE other", ["ALTER DATABASE other RENAME TO o"], lambda lake: lake.databases() == ["d"]),
    ("ALTER DATABASE d RENAME TO f", [OF_D], lambda lake: lake.databases() == ["f", "other"]),
    (
        "ALTER DATABASE d SET DBPROPERTIES (q = '2')",
        [OF_D],
        lambda lake: all(p in str(told(lake, "DESCRIBE DATABASE e")) for p in ("p=1", "q=2")),
    ),
    ("CREATE TABLE d.n (a INT)", [OF_D], lambda lake: "e.n" in lake.tables()),
    ("ALTER TABLE d.t RENAME TO other.w", ["ALTER DATABASE other RENAME TO o"], lambda lake: "o.w" in lake.tables()),
    # DML runs again for the rows, on the table that it meant, by the name that it knows
    ("UPDATE d.t SET a = t.a + 10 WHERE t.a > 0", ["UPDATE d.t SET a = 2", RENAMED], lambda lake: first(lake) == 12),
    (
        "UPDATE d.t SET a = a + 10 WHERE d.t.a > 0",
        ["UPDATE d.t SET a = 2", *NAMED_AGAIN],
        lambda lake: first(lake) == 12,
    ),
    ("DELETE FROM d.t WHERE d.t.a > 0", ["UPDATE d.t SET a = 2", OF_D], lambda lake: rows(lake, "e.t") == []),
    (
        "MERGE INTO d.t USING VALUES (1), (2) AS s(a) ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = t.a + 10",
        ["UPDATE d.t SET a = 2", *NAMED_AGAIN],
        lambda lake: (first(lake), rows(lake, "d.t")) == (12, [(7,)]),
    ),
]


def first(lake: Lake) -> Any:
    return rows(lake, "d.v", columns=["a"])[0][0]


@pytest.mark.parametrize(
    ("runs", "meanwhile", "holds"), FOLLOWED, ids=[f"{a} | {'; '.join(b)}" for a, b, _ in FOLLOWED]
)
def test_a_statement_follows_what_its_names_meant(
    lake: Lake,
    second: Lake,
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    meanwhile: list[str],
    holds: Callable[[Lake], bool],
) -> None:
    let_in(monkeypatch, lake, lambda: told(second, *meanwhile))
    told(lake, runs)
    assert holds(second)
    assert holds(lake)


CALLED = [
    lambda lake, table: table.set_properties({"p": "2"}),
    lambda lake, table: table.add_column("z", "int"),
    lambda lake, table: table.rename("d.w"),
    lambda lake, table: lake.drop_table("d.t"),
]


@pytest.mark.parametrize("call", CALLED)
def test_what_is_called_in_python_follows_as_well(
    lake: Lake, second: Lake, monkeypatch: pytest.MonkeyPatch, call: Callable[[Lake, Any], object]
) -> None:
    table = lake.table("d.t")
    let_in(monkeypatch, lake, lambda: told(second, *NAMED_AGAIN))
    call(lake, table)
    assert (properties(lake, "d.t"), rows(lake, "d.t")) == ({}, [(7,)])
    if "d.v" in lake.tables():
        assert properties(lake, "d.v") == {"p": "2"} or "z int" in shape(lake, "d.v")


DROPPED = [
    # what runs, what is dropped meanwhile, the object that the conflict names, and what wanted it
    ("ALTER TABLE d.t SET TBLPROPERTIES (p = '2')", ["DROP TABLE d.t"], "table d.t", "ALTER TABLE"),
    ("ALTER TABLE d.t ADD COLUMN z INT", ["DROP DATABASE d CASCADE"], "table d.t", "ALTER TABLE"),
    ("ALTER TABLE d.t RENAME TO d.v", ["DROP TABLE d.t"], "table d.t", "RENAME TABLE"),
    ("COMMENT ON TABLE d.t IS 'c'", ["DROP TABLE d.t", "CREATE TABLE d.t (b INT)"], "table d.t", "ALTER TABLE"),
    ("INSERT INTO d.t (a) VALUES (2)", ["DROP TABLE d.t"], "table d.t", "INSERT"),
    ("UPDATE d.t SET a = 2", [RENAMED, "DROP TABLE d.v"], "table d.t", "UPDATE"),
    ("ALTER DATABASE d SET DBPROPERTIES (q = '2')", ["DROP DATABASE d CASCADE"], "database d", "ALTER DATABASE"),
    ("ALTER DATABASE d RENAME TO e", ["DROP DATABASE d CASCADE"], "database d", "RENAME DATABASE"),
    ("CREATE TABLE other.n (a INT)", ["DROP DATABASE other"], "database other", "CREATE TABLE"),
    ("ALTER TABLE d.t RENAME TO other.t", ["DROP DATABASE other"], "database other", "RENAME TABLE"),
]


@pytest.mark.parametrize(
    ("runs", "meanwhile", "named", "verb"), DROPPED, ids=[f"{a} | {'; '.join(b)}" for a, b, *_ in DROPPED]
)
def test_what_was_dropped_meanwhile_is_a_conflict(
    lake: Lake,
    second: Lake,
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    meanwhile: list[str],
    named: str,
    verb: str,
) -> None:
    let_in(monkeypatch, lake, lambda: told(second, *meanwhile))
    with pytest.raises(CommitConflict, match="was dropped while") as caught:
        told(lake, runs)
    (record,) = caught.value.conflicts
    assert (record.object, record.rule, record.ours, record.theirs) == (named, "drop", "dropped", verb)
    assert lake.version == second.version


X, Y = "s struct<x:int,y:int>", "s struct<y:int>"
COLUMNS = [
    # how the table is altered, how it was meanwhile, and its columns then
    ("ADD COLUMN z INT", "ADD COLUMN z INT", ["a int", X, "z int"]),
    ("ADD COLUMN z INT DEFAULT 3", "ADD COLUMN Z INT DEFAULT 3", ["a int", X, "Z int"]),
    ("ADD COLUMN z BIGINT", "ADD COLUMN z INT", ["a int", X, "z bigint"]),
    ("ADD COLUMN z INT FIRST", "ADD COLUMN z INT", ["z int", "a int", X]),
    ("ADD COLUMN z STRUCT<p: BIGINT>", "ADD COLUMN z STRUCT<p: BIGINT>", ["a int", X, "z struct<p:bigint>"]),
    ("ADD COLUMNS (y INT, z INT)", "ADD COLUMNS (z INT, w INT)", ["a int", X, "z int", "w int", "y int"]),
    ("DROP COLUMN a", "DROP COLUMN a", [X]),
    ("DROP COLUMN a", "RENAME COLUMN a TO b", [X]),
    ("RENAME COLUMN a TO b", "RENAME COLUMN a TO c", ["b int", X]),
    ("RENAME COLUMN a TO b", "RENAME COLUMN a TO b", ["b int", X]),
    ("RENAME COLUMN a TO b", "DROP COLUMN a", [X]),
    ("ALTER COLUMN a TYPE BIGINT", "DROP COLUMN a", [X]),
    ("ALTER COLUMN a TYPE BIGINT", "RENAME COLUMN a TO b", ["b bigint", X]),
    ("ALTER COLUMN a TYPE BIGINT", "ALTER COLUMN a TYPE BIGINT", ["a bigint", X]),
    ("RENAME COLUMN s.x TO z", "RENAME COLUMN s TO t", ["a int", "t struct<z:int,y:int>"]),
    ("ADD COLUMN s.z INT", "RENAME COLUMN s TO t", ["a int", "t struct<x:int,y:int,z:int>"]),
    ("DROP COLUMN s.x", "DROP COLUMN s.x", ["a int", Y]),
    ("ADD COLUMN s.z INT", "DROP COLUMN s", ["a int"]),
]


@pytest.mark.parametrize(("runs", "meanwhile", "columns"), COLUMNS, ids=[f"{a} | {b}" for a, b, _ in COLUMNS])
def test_columns_are_followed_and_added_once(
    lake: Lake, second: Lake, monkeypatch: pytest.MonkeyPatch, runs: str, meanwhile: str, columns: list[str]
) -> None:
    let_in(monkeypatch, lake, lambda: told(second, f"ALTER TABLE d.t {meanwhile}"))
    told(lake, f"ALTER TABLE d.t {runs}")
    assert shape(second, "d.t") == columns
    assert len(rows(second, "d.t")) == 1


APART = [
    ("ADD COLUMN z INT", "ADD COLUMN z STRING", "added", "int", "string"),
    ("ADD COLUMN z INT", "ADD COLUMN z BIGINT", "A6.1", "int", "bigint"),
    ("ADD COLUMN z INT DEFAULT 3", "ADD COLUMN z INT", "added", "int DEFAULT 3", "int"),
    ("ADD COLUMN z INT", "ADD COLUMN z INT NOT NULL DEFAULT 3", "added", "int", "int NOT NULL DEFAULT 3"),
]


@pytest.mark.parametrize(("runs", "meanwhile", "rule", "theirs", "ours"), APART)
def test_columns_that_are_not_alike_are_told(
    lake: Lake,
    second: Lake,
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    meanwhile: str,
    rule: str,
    theirs: str,
    ours: str,
) -> None:
    let_in(monkeypatch, lake, lambda: told(second, f"ALTER TABLE d.t {meanwhile}"))
    with pytest.raises(CommitConflict, match="others have added the column 'z'") as caught:
        told(lake, f"ALTER TABLE d.t {runs}")
    (record,) = caught.value.conflicts
    assert (record.object, record.column, record.rule) == ("table d.t", "z", rule)
    assert (record.theirs, record.ours) == (theirs, ours)
    assert lake.version == second.version


@pytest.mark.parametrize(
    ("runs", "meanwhile"),
    [
        ("ALTER TABLE d.t ADD COLUMN a INT", "INSERT INTO d.u VALUES (1)"),
        ("ALTER TABLE d.t ADD COLUMN b INT", "ALTER TABLE d.t RENAME COLUMN a TO b"),
        ("ALTER TABLE d.t RENAME COLUMN a TO z", "ALTER TABLE d.t ADD COLUMN z INT"),
        ("ALTER TABLE d.t RENAME TO d.w", "ALTER TABLE d.u RENAME TO d.w"),
    ],
)
def test_a_name_that_is_taken_is_taken(
    lake: Lake, second: Lake, monkeypatch: pytest.MonkeyPatch, runs: str, meanwhile: str
) -> None:
    let_in(monkeypatch, lake, lambda: told(second, meanwhile))
    with pytest.raises(AlreadyExists):
        told(lake, runs)


@pytest.mark.spark
def test_a_query_reads_what_its_names_meant(lake: Lake, second: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Spark, too, whose text names the table; and no other one that has the name by then."""
    let_in(monkeypatch, lake, lambda: told(second, "UPDATE d.t SET a = 2", *NAMED_AGAIN))
    told(lake, "UPDATE d.t SET a = (SELECT sum(a) FROM d.t) + 100 WHERE t.a IN (SELECT a FROM d.t)")
    assert (first(lake), rows(lake, "d.t")) == (102, [(7,)])
