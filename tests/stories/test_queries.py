"""SELECT on Spark: joins, CTEs, subqueries, over tables, branches and versions; and the statements that need it."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from anabranch.errors import AnabranchError, DataError, NotFound, NullViolation, SqlError, ValueOutOfRange
from tests.stories.telling import in_order, one, rows, told

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory, spark):
    """Customers and orders on main, more of them on dev, and a past."""
    import anabranch

    folder = tmp_path_factory.mktemp("queries") / "lake"
    with anabranch.connect(folder, spark=spark, durability="process") as opened:
        told(
            opened,
            "CREATE DATABASE d",
            "CREATE DATABASE `my db`",
            "CREATE TABLE d.customers (id INT, name STRING)",
            "CREATE TABLE d.orders (id INT, customer INT, amount DECIMAL(10,2), day DATE) PARTITIONED BY (day)",
            "CREATE TABLE `my db`.`odd. t` (`a b` INT, `select` STRING)",
            "INSERT INTO d.customers VALUES (1, 'ann'), (2, 'bob'), (3, 'cy')",
            "INSERT INTO d.orders VALUES (1, 1, 10.5, DATE '2026-01-01'), (2, 1, 2, DATE '2026-01-02')",
            "INSERT INTO d.orders VALUES (3, 2, 7, NULL)",
            "INSERT INTO `my db`.`odd. t` VALUES (1, 'd.customers@dev'), (2, 'x')",
            "CREATE TAG start",
            "DELETE FROM d.customers WHERE id = 3",
            "CREATE BRANCH dev",
        )
        told(
            opened.on("dev"),
            "INSERT INTO d.customers VALUES (4, 'dan')",
            "UPDATE d.orders SET amount = amount * 2 WHERE customer = 1",
            "ALTER TABLE d.customers ADD COLUMN vip BOOLEAN DEFAULT false",
        )
        yield opened


QUERIES = [
    ("SELECT * FROM d.customers", [(1, "ann"), (2, "bob")]),
    ("SELECT customers.name, d.customers.id FROM d.customers WHERE d.customers.id = 1", [("ann", 1)]),
    ("SELECT t.* FROM d.customers AS t WHERE t.id > 1", [(2, "bob")]),
    (
        "SELECT c.name, o.amount FROM d.customers c JOIN d.orders o ON c.id = o.customer",
        [("ann", Decimal("2.00")), ("ann", Decimal("10.50")), ("bob", Decimal("7.00"))],
    ),
    (
        "SELECT name, count(o.id) FROM d.customers c LEFT JOIN d.orders o "
        "ON c.id = customer AND amount > 5 GROUP BY name",
        [("ann", 1), ("bob", 1)],
    ),
    (
        "WITH big AS (SELECT customer AS id FROM d.orders WHERE amount > 5) "
        "SELECT name FROM big JOIN d.customers USING (id)",
        [("ann",), ("bob",)],
    ),
    ("SELECT name FROM d.customers WHERE id IN (SELECT customer FROM d.orders WHERE day IS NULL)", [("bob",)]),
    (
        "SELECT name FROM d.customers c WHERE EXISTS (SELECT 1 FROM d.orders WHERE customer = c.id AND amount > 10)",
        [("ann",)],
    ),
    ("SELECT (SELECT max(amount) FROM d.orders) AS m", [(Decimal("10.50"),)]),
    ("SELECT name FROM d.customers@dev", [("ann",), ("bob",), ("dan",)]),
    ("SELECT name, vip FROM d.customers@dev WHERE NOT vip", [("ann", False), ("bob", False), ("dan", False)]),
    ("SELECT name FROM d.customers@start", [("ann",), ("bob",), ("cy",)]),
    ("SELECT name FROM d.customers VERSION AS OF 'start' WHERE id = 3", [("cy",)]),
    ("SELECT name FROM d.customers VERSION AS OF 6", [("ann",), ("bob",), ("cy",)]),
    ("SELECT new.name FROM d.customers@dev new LEFT ANTI JOIN d.customers old ON new.id = old.id", [("dan",)]),
    (
        "SELECT a.amount, b.amount FROM d.orders a JOIN d.orders@dev b ON a.id = b.id WHERE a.customer = 1",
        [(Decimal("2.00"), Decimal("4.00")), (Decimal("10.50"), Decimal("21.00"))],
    ),
    ("SELECT a.id FROM d.customers@start a LEFT JOIN d.customers b ON a.id = b.id WHERE b.id IS NULL", [(3,)]),
    (
        "SELECT id FROM d.customers UNION ALL SELECT id FROM d.customers@dev "
        "EXCEPT ALL SELECT id FROM d.customers@start",
        [(1,), (2,), (4,)],
    ),
    ("SELECT `a b`, `select` FROM `my db`.`odd. t`", [(1, "d.customers@dev"), (2, "x")]),
    ("SELECT `odd. t`.`a b` FROM `my db`.`odd. t` WHERE `select` = 'd.customers@dev'", [(1,)]),
    (
        "SELECT 'FROM d.nothing@dev' AS s -- FROM d.nothing\n FROM d.customers /* d.nothing VERSION AS OF 3 */ LIMIT 1",
        [("FROM d.nothing@dev",)],
    ),
    ("SELECT count(*) FROM d.orders", [(3,)]),
    ("SELECT count(*) FROM d.orders WHERE day > DATE '2026-01-01'", [(1,)]),
    (
        "SELECT day, sum(amount) OVER (PARTITION BY customer ORDER BY id) FROM d.orders WHERE customer = 1",
        [(date(2026, 1, 1), Decimal("10.50")), (date(2026, 1, 2), Decimal("12.50"))],
    ),
    (
        "SELECT '{not a frame}', transform(array(1, 2), x -> x + id) FROM d.customers WHERE id = 1",
        [("{not a frame}", [2, 3])],
    ),
    ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    ("SELECT 1 AS one", [(1,)]),
    ("TABLE d.customers", [(1, "ann"), (2, "bob")]),
    ("FROM d.customers SELECT name WHERE id = 1", [("ann",)]),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES, ids=[query[:60] for query, _ in QUERIES])
def test_a_query_reads_tables_of_any_branch_and_version(lake, query, expected):
    assert in_order(lake.sql(query).collect()) == in_order(expected)


def test_times_travel_in_queries(lake):
    then = lake.log("start")[0].time.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert lake.sql(f"SELECT count(*) FROM d.customers TIMESTAMP AS OF '{then}'").first()[0] == 3


def test_arguments_are_bound_not_spliced(lake):
    evil = "x' OR '1' = '1"
    assert lake.sql("SELECT count(*) FROM d.customers WHERE name = :name", {"name": evil}).first()[0] == 0
    assert lake.sql("SELECT name FROM d.customers WHERE id = ?", [2]).first()[0] == "bob"
    assert lake.sql("SELECT name FROM d.customers WHERE id = ?", (2,)).first()[0] == "bob"


def test_frames_join_tables(lake):
    extra = pa.table({"id": [1, 2], "rank": ["gold", "tin"]})
    found = lake.sql("SELECT c.name, e.rank FROM d.customers c JOIN {extra} e ON c.id = e.id", extra=extra)
    assert in_order(found.collect()) == [("ann", "gold"), ("bob", "tin")]


@pytest.mark.parametrize(
    ("query", "error", "word"),
    [
        ("SELECT * FROM d.custmers", NotFound, "'d.customers'"),
        ("SELECT * FROM dd.customers", NotFound, "'d'"),
        ("SELECT * FROM d.customers@nothing", NotFound, "nothing"),
        ("SELECT * FROM d.customers VERSION AS OF 999", NotFound, "999"),
        ("SELECT nam FROM d.customers", AnabranchError, "name"),
        ("SELECT * FROM customers", AnabranchError, "customers"),
        ("SELECT * FROM d.customers WHERE", SqlError, "line 1"),
        ("SELECT * FROM d.customers WHERE id = 1 GROUP BY nothing(", SqlError, "line"),
    ],
)
def test_queries_that_cannot_be(lake, query, error, word):
    with pytest.raises(error, match=word):
        lake.sql(query).collect()


# --- statements that need Spark ---------------------------------------------------------------------------------------


def test_create_table_as_select(spark_lake):
    lake = spark_lake
    told(lake, "CREATE TABLE d.t (a INT, b STRING)", "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')")
    before = lake.version
    told(
        lake,
        "CREATE TABLE d.u PARTITIONED BY (b) COMMENT 'made' TBLPROPERTIES (p = 'q') AS SELECT a * 2 AS a2, b FROM d.t",
        "CREATE TABLE IF NOT EXISTS d.u AS SELECT * FROM d.t",
    )
    assert lake.version == before + 1
    assert rows(lake, "d.u") == [(2, "x"), (4, "y")]
    assert told(lake, "SHOW PARTITIONS d.u") == [("b=x",), ("b=y",)]
    assert lake.log()[0].operation == "CREATE TABLE AS SELECT"
    told(lake, "CREATE TABLE d.empty AS SELECT * FROM d.t WHERE a > 100")
    assert (one(lake, "d.empty"), lake.table("d.empty").schema.names) == ([], ["a", "b"])


def test_insert_select_in_its_forms(spark_lake):
    lake = spark_lake
    told(
        lake,
        "CREATE TABLE d.t (a INT, b STRING DEFAULT 'dflt', k STRING) PARTITIONED BY (k)",
        "CREATE TABLE d.src (x INT, y STRING)",
        "INSERT INTO d.src VALUES (1, 'p'), (2, 'q'), (3, 'p')",
        "CREATE BRANCH dev",
        "INSERT INTO d.src@dev VALUES (4, 'dev')",
        "INSERT INTO d.t SELECT x, y, y FROM d.src",
        "INSERT INTO d.t (k, a) SELECT y, x + 10 FROM d.src WHERE y = 'p'",
    )
    assert rows(lake, "d.t") == [(1, "p", "p"), (2, "q", "q"), (3, "p", "p"), (11, "dflt", "p"), (13, "dflt", "p")]
    told(lake, "INSERT OVERWRITE d.t PARTITION (k) SELECT x, y, y FROM d.src WHERE y = 'p'")
    assert rows(lake, "d.t") == [(1, "p", "p"), (2, "q", "q"), (3, "p", "p")]
    told(lake, "INSERT OVERWRITE d.t PARTITION (k = 'q') SELECT x, y FROM d.src@dev WHERE y = 'dev'")
    assert rows(lake, "d.t") == [(1, "p", "p"), (3, "p", "p"), (4, "dev", "q")]
    told(lake, "INSERT INTO d.t BY NAME SELECT 'z' AS k, 7 AS a")
    assert rows(lake, "d.t", where="k = 'z'") == [(7, "dflt", "z")]
    told(lake, "WITH c AS (SELECT 8 AS a) INSERT INTO d.t (a) SELECT a FROM c")
    assert rows(lake, "d.t", where="a = 8") == [(8, "dflt", None)]
    told(lake, "INSERT OVERWRITE d.t SELECT x, y, y FROM d.src")
    assert len(one(lake, "d.t")) == 3
    assert told(lake, "INSERT INTO d.t SELECT a, b, k FROM d.t") == [(3,)]
    assert len(one(lake, "d.t")) == 6


def test_values_that_only_spark_can_evaluate(spark_lake):
    told(
        spark_lake,
        "CREATE TABLE d.t (a INT, b STRING)",
        "INSERT INTO d.t VALUES (1, md5('x')), (size(split('a,b', ',')), NULL)",
    )
    assert [row[0] for row in rows(spark_lake, "d.t")] == [1, 2]


def test_delete_and_update_by_subqueries_and_functions(spark_lake):
    lake = spark_lake
    told(
        lake,
        "CREATE TABLE d.t (a INT, b STRING)",
        "CREATE TABLE d.gone (a INT)",
        "INSERT INTO d.t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (4, NULL)",
        "INSERT INTO d.gone VALUES (1), (NULL)",
    )
    assert told(lake, "DELETE FROM d.t WHERE a IN (SELECT a FROM d.gone)") == [(1,)]
    assert told(lake, "DELETE FROM d.t t WHERE EXISTS (SELECT 1 FROM d.gone g WHERE g.a = t.a + 100)") == [(0,)]
    assert told(lake, "UPDATE d.t SET b = md5(b) WHERE a = 2") == [(1,)]
    assert told(lake, "UPDATE d.t AS t SET b = (SELECT max(a) FROM d.gone), a = a * 10 WHERE t.b = 'z'") == [(1,)]
    assert rows(lake, "d.t") == [(2, "415290769594460e2e485922904f345d"), (4, None), (30, "1")]
    assert told(lake, "DELETE FROM d.t WHERE regexp_like(b, '^[0-9a-f]+$')") == [(2,)]
    assert one(lake, "d.t") == [4]


def test_spark_frames_are_written_and_read(spark_lake, spark):
    table = spark_lake.create_table(
        "d.t", "a BIGINT, t TIMESTAMP, n TIMESTAMP_NTZ, m MAP<STRING, INT>, s STRUCT<x: INT>"
    )
    frame = spark.sql(
        "SELECT id AS a, TIMESTAMP '2026-01-01 00:00:00Z' AS t, TIMESTAMP_NTZ '2026-01-01 00:00:00' AS n, "
        "map('k', CAST(id AS INT)) AS m, named_struct('x', CAST(id AS INT)) AS s FROM range(100)"
    )
    assert table.write(frame) == 100
    assert table.overwrite(frame.where("a < 2")) == 2
    assert rows(spark_lake, "d.t") == [
        (a, datetime(2026, 1, 1, tzinfo=timezone.utc), datetime(2026, 1, 1), [("k", a)], {"x": a}) for a in (0, 1)
    ]
    assert table.to_spark(columns=["a"], where="s.x = 1").collect() == [(1,)]
    assert spark_lake.sql("SHOW TABLES").to_spark(spark).count() == 1


def test_spark_writes_that_do_not_fit_leave_nothing(spark_lake, tmp_path):
    lake = spark_lake
    told(lake, "CREATE TABLE d.t (a TINYINT NOT NULL, b STRING)", "INSERT INTO d.t VALUES (1, 'x')")
    before, version = rows(lake, "d.t"), lake.version
    files = sorted((tmp_path / "lake" / "data").rglob("*.parquet"))
    for statement, error in [
        ("INSERT INTO d.t SELECT id, 'x' FROM range(0, 1000, 1, 4)", ValueOutOfRange),
        ("INSERT INTO d.t SELECT CASE WHEN id < 900 THEN 1 END, 'x' FROM range(0, 1000, 1, 4)", NullViolation),
        ("INSERT INTO d.t SELECT 1", DataError),
        ("INSERT INTO d.t SELECT 1, 'x', 2", DataError),
        ("INSERT INTO d.t SELECT map('a', 1), 'x'", DataError),
        ("INSERT INTO d.t SELECT 1, raise_error('stop') FROM range(10)", AnabranchError),
        ("INSERT INTO d.t SELECT nothing FROM d.t", AnabranchError),
        ("CREATE TABLE d.u AS SELECT 1 AS a, 2 AS A", AnabranchError),
        ("CREATE TABLE d.u AS SELECT interval '1' day AS a", AnabranchError),
        ("CREATE TABLE d.u AS SELECT raise_error('stop') AS a", AnabranchError),
        ("UPDATE d.t SET a = CAST(rand() + 1000 AS INT)", ValueOutOfRange),
        ("DELETE FROM d.t WHERE md5(b)", AnabranchError),
    ]:
        with pytest.raises(error):
            told(lake, statement)
        assert (rows(lake, "d.t"), lake.version, lake.tables()) == (before, version, ["d.t"]), statement
        assert sorted((tmp_path / "lake" / "data").rglob("*.parquet")) == files, statement
