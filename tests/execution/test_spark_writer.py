"""Writing by Spark: all rows or none, errors that name the column, and never a value that wrapped or moved."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    ColumnMismatch,
    DataError,
    NullViolation,
    TypeMismatch,
    UnsupportedType,
    ValueOutOfRange,
)
from anabranch.execution import failures
from anabranch.execution.plan import plan_scan
from anabranch.execution.predicate import Predicate
from tests.execution.conftest import WAYS
from tests.execution.plans import plan_of
from tests.execution.rows import rows

pytestmark = pytest.mark.spark

COLUMNS = (
    "id INT, small TINYINT, must STRING NOT NULL DEFAULT 'd', price DECIMAL(5,2), day DATE, "
    "st STRUCT<a: TINYINT, b: STRING>, xs ARRAY<SMALLINT>"
)


@pytest.fixture
def lake(new_lake):
    lake = new_lake()
    lake.create_table("d.t", COLUMNS)
    return lake


@pytest.fixture
def no_jobs(monkeypatch):
    """Fails the test if a job is started."""
    from pyspark.sql.classic.dataframe import DataFrame

    for name in ("mapInArrow", "toArrow", "collect"):
        monkeypatch.setattr(DataFrame, name, lambda *_: pytest.fail("a job was started"))
    monkeypatch.setattr(DataFrame, "write", property(lambda _: pytest.fail("a job was started")))


@pytest.fixture
def unchanged(lake, files_in):
    """Checks after the test that nothing was committed and no file is left."""
    version = lake.version
    yield
    assert lake.version == version
    assert lake.table("d.t").to_arrow().num_rows == 0
    assert files_in(lake) == set()


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("columns", "query", "error", "named"),
    [
        ("small", "SELECT CAST(id AS INT) FROM range(0, 200, 1, 2)", ValueOutOfRange, "'small'"),
        ("must", "SELECT CASE WHEN id < 150 THEN 'x' END FROM range(0, 200, 1, 2)", NullViolation, "'must'"),
        ("price", "SELECT CAST(id AS DECIMAL(10,2)) FROM range(990, 1010)", ValueOutOfRange, "'price'"),
        ("st", "SELECT named_struct('a', CAST(id AS INT), 'b', 'x') FROM range(200)", ValueOutOfRange, "'st'"),
        ("xs", "SELECT array(1, CAST(id AS INT)) FROM range(32760, 32770)", ValueOutOfRange, "'xs'"),
        ("id", "SELECT double(id) * 1e300 FROM range(1, 3)", ValueOutOfRange, "'id'"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(lake, columns, query, error, named):
    with pytest.raises(error, match=re.escape(named)) as raised:
        lake.sql(f"INSERT INTO d.t ({columns}) {query}")
    assert "Traceback" not in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.usefixtures("unchanged")
def test_a_late_error_leaves_no_file(lake):
    """Rows enough for a task to have closed a row group, before the row that does not fit."""
    lake.spark.range(0, 400_000, 1, 2).selectExpr("CAST(id AS INT) AS id", "'x' AS must").createOrReplaceTempView("v")
    frame = lake.spark.sql("SELECT id, CASE WHEN id < 399999 THEN must END AS must FROM v")
    with pytest.raises(NullViolation, match="'must'"):
        lake.table("d.t").write(frame)


@pytest.mark.usefixtures("unchanged")
def test_an_error_of_spark_itself(lake):
    with pytest.raises(AnabranchError, match="DIVIDE_BY_ZERO") as raised:
        lake.sql("INSERT INTO d.t (id) SELECT 1 / (id - 1) FROM range(3)")
    assert "\tat " not in str(raised.value)


@pytest.mark.usefixtures("unchanged", "no_jobs")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO d.t (id) SELECT 'text' FROM range(2)", TypeMismatch),
        ("INSERT INTO d.t (day) SELECT id FROM range(2)", TypeMismatch),
        ("INSERT INTO d.t (st) SELECT id FROM range(2)", TypeMismatch),
        ("INSERT INTO d.t (xs) SELECT array('a') FROM range(2)", TypeMismatch),
        ("INSERT INTO d.t (id, small) SELECT id FROM range(2)", DataError),
        ("INSERT INTO d.t SELECT id FROM range(2)", DataError),
        ("INSERT INTO d.t BY NAME SELECT id, 1 AS other FROM range(2)", ColumnMismatch),
        ("INSERT INTO d.t (id, id) SELECT id, id FROM range(2)", DataError),
        ("INSERT INTO d.t (id) SELECT parse_json('1') FROM range(2)", UnsupportedType),
        ("INSERT INTO d.t (day) SELECT INTERVAL '1' DAY FROM range(2)", UnsupportedType),
        ("CREATE TABLE d.n AS SELECT INTERVAL '1' DAY AS i FROM range(2)", UnsupportedType),
        ("CREATE TABLE d.n AS SELECT NULL AS i FROM range(2)", UnsupportedType),
        ("CREATE TABLE d.n AS SELECT 1 AS a, 2 AS A", AlreadyExists),
        ("CREATE TABLE d.t AS SELECT 1 AS a", AlreadyExists),
    ],
)
def test_refused_before_a_job_starts(lake, text, error):
    with pytest.raises(error):
        lake.sql(text)
    assert lake.tables("d") == ["d.t"]


def test_defaults_and_column_lists(lake):
    lake.sql("INSERT INTO d.t (small, id) SELECT 5, id FROM range(1)")
    lake.sql("INSERT INTO d.t BY NAME SELECT NULL AS small, id FROM range(1, 2)")
    found = lake.table("d.t").to_arrow(["id", "small", "must", "price"]).sort_by("id").to_pylist()
    assert found == [
        {"id": 0, "small": 5, "must": "d", "price": None},
        {"id": 1, "small": None, "must": "d", "price": None},
    ]


def test_one_part_for_each_partition(new_lake):
    lake = new_lake()
    lake.sql("CREATE TABLE d.p (id INT, k INT, s STRING) PARTITIONED BY (k, s)")
    lake.sql(
        "INSERT INTO d.p SELECT id, CASE WHEN id % 5 < 4 THEN id % 5 END, CASE WHEN id % 2 = 0 THEN 'é/=' END "
        "FROM range(0, 1000, 1, 6)"
    )
    parts = plan_of(lake, "d.p").parts
    assert len({part.partition for part in parts}) == len(parts) == 10
    assert len({part.slot for part in parts}) == 10
    assert sum(part.rows for part in parts) == 1000
    found = lake.table("d.p").to_arrow(where="k IS NULL AND s = 'é/='").column("id").to_pylist()
    assert sorted(found) == [i for i in range(1000) if i % 5 == 4 and i % 2 == 0]
    lake.sql("INSERT OVERWRITE d.p PARTITION (k = 1, s) SELECT id, 'é/=' FROM range(3)")
    assert lake.table("d.p").count() == 1000 - 100 + 3


def test_created_types(new_lake):
    lake = new_lake()
    lake.sql(
        "CREATE TABLE d.c AS SELECT CAST(1 AS TINYINT) a, 1S b, 1 c, 1L d, CAST(1 AS FLOAT) e, 1D f, 1.50 g, 'x' h, "
        "X'00' i, true j, DATE '2020-01-01' k, TIMESTAMP '2020-01-01 00:00:00Z' l, "
        "TIMESTAMP_NTZ '2020-01-01 00:00:00' m, "
        "array(1, NULL) n, map('a', 1L) o, named_struct('x', 1, 'y z', named_struct('d', DATE '2020-01-01')) p"
    )
    types = [row.type for row in lake.table("d.c").describe()]
    assert types == [
        "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(3,2)", "string", "binary", "boolean",
        "date", "timestamp", "timestamp_ntz", "array<int>", "map<string,bigint>", "struct<x:int,`y z`:struct<d:date>>",
    ]  # fmt: skip
    native = new_lake(WAYS["native"])
    assert rows(native.sql("SELECT * FROM d.c").toArrow()) == rows(lake.table("d.c").to_arrow())


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("column", "query"),
    [("small", "SELECT CAST(id AS INT) FROM range(126, 130)"), ("id", "SELECT id * 3000000000 FROM range(3)")],
)
def test_without_ansi_nothing_wraps(lake, conf, column, query):
    conf("spark.sql.ansi.enabled", "false")
    conf("spark.sql.storeAssignmentPolicy", "LEGACY")
    with pytest.raises(ValueOutOfRange, match=f"'{column}'"):
        lake.sql(f"INSERT INTO d.t ({column}) {query}")


@pytest.mark.parametrize("way", WAYS)
def test_time_zones(new_lake, conf, way):
    """A timestamp is a moment, a timestamp_ntz a text on the wall: the session's zone changes neither."""
    conf("spark.sql.session.timeZone", "America/New_York")
    lake = new_lake(WAYS[way])
    table = lake.create_table("d.z", "id INT, t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, s STRUCT<t: TIMESTAMP>")
    utc = dt.datetime(2021, 3, 28, 2, 30, tzinfo=dt.timezone.utc)
    wall = dt.datetime(2021, 3, 28, 2, 30)
    table.write({"id": [1], "t": [utc], "n": [wall], "d": [wall.date()], "s": [{"t": utc}]})
    lake.sql("INSERT INTO d.z SELECT id + 1, t, n, d, s FROM d.z")
    lake.sql(
        "INSERT INTO d.z SELECT 3, TIMESTAMP '2021-03-28 02:30:00Z', TIMESTAMP_NTZ '2021-03-28 02:30:00', "
        "DATE '2021-03-28', named_struct('t', TIMESTAMP '2021-03-28 02:30:00Z')"
    )
    table.add_column("t2", "TIMESTAMP", default="TIMESTAMP '2021-03-28 02:30:00Z'")
    found = table.to_arrow()
    assert sorted(found.column("id").to_pylist()) == [1, 2, 3]
    for row in found.to_pylist():
        assert (row["t"], row["n"], row["d"], row["s"]["t"], row["t2"]) == (utc, wall, wall.date(), utc, utc)
    seen = lake.sql("SELECT unix_micros(t), CAST(n AS STRING), unix_micros(s.t), unix_micros(t2) FROM d.z").collect()
    micros = int(utc.timestamp() * 1_000_000)
    assert [tuple(row) for row in seen] == [(micros, "2021-03-28 02:30:00", micros, micros)] * 3
    assert lake.sql("SELECT count(*) FROM d.z WHERE t = TIMESTAMP '2021-03-28 02:30:00Z'").collect()[0][0] == 3


@pytest.mark.parametrize("literal", ["TIMESTAMP '2021-07-01 00:00:00'", "CAST('2021-07-01 00:00:00' AS TIMESTAMP)"])
def test_literals_mean_the_same_for_skipping_and_filtering(new_lake, conf, literal):
    """A literal without a zone is read in the session's zone; parts must not be skipped by another reading."""
    conf("spark.sql.session.timeZone", "America/New_York")
    lake = new_lake()
    table = lake.create_table("d.z", "t TIMESTAMP")
    for hour in (0, 2, 4, 6):
        table.write({"t": [dt.datetime(2021, 7, 1, hour, tzinfo=dt.timezone.utc)]})
    found = lake.sql(f"SELECT unix_seconds(t) % 86400 / 3600 AS hour FROM d.z WHERE t >= {literal}").collect()
    assert sorted(row.hour for row in found) == [4, 6]


def test_our_errors_come_back_as_themselves():
    text = (
        "Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        "  File 'x.py', line 3, in f\n"
        "anabranch.errors.ValueOutOfRange: a value does not fit column 'a b' of type int: the value is 3.\n\n"
        "\tat org.apache.spark.Foo\n\tat org.apache.spark.Bar\n"
    )
    found = failures.translated(Exception(text))
    assert type(found) is ValueOutOfRange
    assert str(found) == "a value does not fit column 'a b' of type int: the value is 3."


def test_not_null_fields(new_lake):
    """A field's NOT NULL holds where its struct is present."""
    lake = new_lake()
    lake.create_table("d.n", "id INT, st STRUCT<a: INT, b: STRING NOT NULL>, l ARRAY<STRUCT<c: INT NOT NULL>>")
    lake.table("d.n").write({"id": [1], "st": [None], "l": [[None]]})
    lake.sql("INSERT INTO d.n SELECT id, IF(id = 3, NULL, named_struct('a', 1, 'b', 'x')), NULL FROM range(2, 4)")
    with pytest.raises(NullViolation, match=r"'st\.b'"):
        lake.sql("INSERT INTO d.n (st) SELECT named_struct('a', 1, 'b', CAST(NULL AS STRING)) FROM range(2)")
    found = lake.table("d.n").to_arrow().sort_by("id").to_pylist()
    assert [row["st"] for row in found] == [None, {"a": 1, "b": "x"}, None]


def test_odd_names_of_the_query(lake):
    """A literal's column is called like its text; names are not looked at."""
    lake.sql("INSERT INTO d.t (id, price) SELECT id, 1.25 FROM range(0, 10, 1, 2)")
    lake.sql("INSERT INTO d.t (id, price) SELECT id AS `a.b`, id AS `a.b` FROM range(1)")
    assert lake.sql("SELECT count(*) FROM d.t WHERE price = 1.25 AND id = 7").collect()[0][0] == 1
    assert lake.table("d.t").count() == 11
    lake.sql("CREATE TABLE d.dots AS SELECT id AS `a.b`, id + 1 AS `c``d` FROM range(2)")
    assert sorted(lake.table("d.dots").to_arrow().column("a.b").to_pylist()) == [0, 1]
    lake.sql("UPDATE d.dots SET `a.b` = (SELECT max(id) FROM d.t) WHERE `c``d` = 1")
    assert sorted(lake.table("d.dots").to_arrow().column("a.b").to_pylist()) == [1, 9]


def test_what_a_task_reports_is_committed(lake):
    lake.sql("INSERT INTO d.t (id) SELECT id FROM range(0, 10, 1, 2)")
    plan = plan_of(lake, "d.t")
    assert sorted(part.rows for part in plan.parts) == [5, 5]
    assert [len(plan_scan(plan.view, None, Predicate(f"id = {k}")).parts) for k in (2, 7, 10)] == [1, 1, 0]
