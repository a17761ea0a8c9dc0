"""INSERT, DELETE, UPDATE and TRUNCATE."""

from decimal import Decimal

import pytest

from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import read_table
from tests.stories.telling import in_order, one, rows, told


@pytest.fixture
def table(lake):
    told(
        lake,
        "CREATE TABLE d.t (id INT, a INT, b STRING DEFAULT 'none')",
        "INSERT INTO d.t VALUES (1, 10, 'x'), (2, NULL, 'y'), (3, 30, NULL)",
        "INSERT INTO d.t VALUES (4, NULL, NULL), (5, 50, 'x')",
    )
    return lake


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("INSERT INTO d.t VALUES (9, 1, 'q')", (9, 1, "q")),
        ("INSERT INTO TABLE d.t VALUES (9, 1, 'q')", (9, 1, "q")),
        ("INSERT INTO d.t (b, id) VALUES ('q', 9)", (9, None, "q")),
        ("INSERT INTO d.t (id) VALUES (9)", (9, None, "none")),
        ("INSERT INTO d.t VALUES (9, DEFAULT, DEFAULT)", (9, None, "none")),
        ("INSERT INTO d.t (id, b) VALUES (9, DEFAULT)", (9, None, "none")),
        ("INSERT INTO d.t VALUES (4 + 5, CAST('7' AS INT), concat('q', 'r'))", (9, 7, "qr")),
        ("INSERT INTO d.t VALUES (9, -2147483648, '')", (9, -(2**31), "")),
        ("INSERT INTO d.t VALUES (9, NULL, NULL)", (9, None, None)),
        (
            "insert into D.T values (9, 1, '-- no comment; d.t@dev /* {x} */')",
            (9, 1, "-- no comment; d.t@dev /* {x} */"),
        ),
        ("INSERT INTO d.t VALUES (9, 1, 'a''b') -- a comment; DROP TABLE d.t", (9, 1, "a'b")),
        ("INSERT INTO d.t /* d.nothing */ VALUES (9, 1, \"double 'q'\");", (9, 1, "double 'q'")),
        ("INSERT INTO d.t VALUES (9, 1, r'raw\\n')", (9, 1, "raw\\n")),
    ],
)
def test_the_forms_of_insert(table, statement, row):
    assert told(table, statement) == [(1,)]
    assert rows(table, "d.t")[-1] == row
    assert table.table("d.t").count() == 6


def test_insert_overwrite_replaces_all_rows_and_the_past_keeps_them(table):
    before, version = rows(table, "d.t"), table.version
    assert told(table, "INSERT OVERWRITE d.t VALUES (7, 7, '7')") == [(1,)]
    assert rows(table, "d.t") == [(7, 7, "7")]
    told(table, "INSERT OVERWRITE TABLE d.t (id) VALUES (8)")
    assert rows(table, "d.t") == [(8, None, "none")]
    assert rows(table, "d.t", version) == before


def test_duplicate_rows_are_rows(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1), (1)", "INSERT INTO d.t VALUES (1)")
    assert one(lake, "d.t") == [1, 1, 1]
    assert told(lake, "DELETE FROM d.t WHERE a = 1") == [(3,)]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("a = 10", [2, 3, 4, 5]),
        ("a <> 10", [1, 2, 4]),
        ("NOT (a = 10)", [1, 2, 4]),
        ("a = NULL", [1, 2, 3, 4, 5]),
        ("NULL", [1, 2, 3, 4, 5]),
        ("a <=> NULL", [1, 3, 5]),
        ("a IS NULL", [1, 3, 5]),
        ("a IS NOT NULL", [2, 4]),
        ("a IN (10, NULL)", [2, 3, 4, 5]),
        ("a NOT IN (10, NULL)", [1, 2, 3, 4, 5]),
        ("a = 10 OR b IS NULL", [2, 5]),
        ("a > 10 AND b = 'x'", [1, 2, 3, 4]),
        ("a > 10 OR b = 'x'", [2, 4]),
        ("coalesce(a, 0) < 20", [3, 5]),
        ("b LIKE 'x%'", [2, 3, 4]),
        ("b NOT LIKE 'x%'", [1, 3, 4, 5]),
        ("a BETWEEN 10 AND 30", [2, 4, 5]),
        ("CASE WHEN a IS NULL THEN b = 'y' ELSE a > 40 END", [1, 3, 4]),
        ("id % 2 = 1", [2, 4]),
        ("t.a = 10", [2, 3, 4, 5]),
        ("d.t.a = 10", [2, 3, 4, 5]),
        ("`A` = 10", [2, 3, 4, 5]),
        ("true", []),
        ("false", [1, 2, 3, 4, 5]),
        ("1 = 1", []),
        ("b = 'd.t@dev'", [1, 2, 3, 4, 5]),
        ("length(b) = 1 AND upper(b) = 'X'", [2, 3, 4]),
    ],
)
def test_delete_takes_the_rows_for_which_the_predicate_is_true(table, where, left):
    version = table.version
    assert told(table, f"DELETE FROM d.t WHERE {where}") == [(5 - len(left),)]
    assert one(table, "d.t") == left
    assert table.version == version + (len(left) < 5)
    assert one(table, "d.t", version) == [1, 2, 3, 4, 5]
    assert table.table("d.t").count() == len(left)


def test_delete_by_alias_and_twice(table):
    assert told(table, "DELETE FROM d.t AS q WHERE q.a = 10") == [(1,)]
    assert told(table, "DELETE FROM d.t q WHERE q.a = 10") == [(0,)]
    assert told(table, "DELETE FROM d.t") == [(4,)]
    assert told(table, "DELETE FROM d.t") == [(0,)]
    told(table, "INSERT INTO d.t (id) VALUES (6)")
    assert one(table, "d.t") == [6]


@pytest.mark.parametrize(
    ("update", "changed", "after"),
    [
        ("SET a = 0", 5, [(1, 0, "x"), (2, 0, "y"), (3, 0, None), (4, 0, None), (5, 0, "x")]),
        ("SET a = 0 WHERE a IS NULL", 2, [(1, 10, "x"), (2, 0, "y"), (3, 30, None), (4, 0, None), (5, 50, "x")]),
        (
            "SET a = a + id, b = 'n' WHERE id < 3",
            2,
            [(1, 11, "n"), (2, None, "n"), (3, 30, None), (4, None, None), (5, 50, "x")],
        ),
        (
            "SET a = NULL, b = DEFAULT WHERE id = 1",
            1,
            [(1, None, "none"), (2, None, "y"), (3, 30, None), (4, None, None), (5, 50, "x")],
        ),
        (
            "SET id = a, a = id WHERE id = 1",
            1,
            [(2, None, "y"), (3, 30, None), (4, None, None), (5, 50, "x"), (10, 1, "x")],
        ),
        (
            "AS q SET q.a = q.id WHERE q.b = 'y'",
            1,
            [(1, 10, "x"), (2, 2, "y"), (3, 30, None), (4, None, None), (5, 50, "x")],
        ),
        (
            "SET t.a = 7 WHERE d.t.id = 5",
            1,
            [(1, 10, "x"), (2, None, "y"), (3, 30, None), (4, None, None), (5, 7, "x")],
        ),
        (
            "SET b = CASE WHEN a > 20 THEN upper(b) ELSE concat(b, '!') END WHERE b = 'x'",
            2,
            [(1, 10, "x!"), (2, None, "y"), (3, 30, None), (4, None, None), (5, 50, "X")],
        ),
        ("SET a = 1 WHERE a = NULL", 0, [(1, 10, "x"), (2, None, "y"), (3, 30, None), (4, None, None), (5, 50, "x")]),
    ],
)
def test_update_changes_what_it_says_and_nothing_else(table, update, changed, after):
    before, version = rows(table, "d.t"), table.version
    assert told(table, f"UPDATE d.t {update}") == [(changed,)]
    assert rows(table, "d.t") == after
    assert rows(table, "d.t", version) == before
    assert table.version == version + bool(changed)


def test_an_update_swaps_columns(lake):
    told(
        lake,
        "CREATE TABLE d.t (a INT, b INT)",
        "INSERT INTO d.t VALUES (1, 2), (3, NULL)",
        "UPDATE d.t SET a = b, b = a",
    )
    assert rows(lake, "d.t") == [(None, 3), (2, 1)]


def test_an_updated_value_is_assigned_as_an_inserted_one(lake):
    told(lake, "CREATE TABLE d.t (a DECIMAL(5,2), n TINYINT)", "INSERT INTO d.t VALUES (1, 1)")
    told(lake, "UPDATE d.t SET a = 2, n = 100 + 27")
    assert rows(lake, "d.t") == [(Decimal("2.00"), 127)]


def with_ids(lake, name):
    """(first column, row id, origin) of every live row."""
    table = lake.table(name)
    plan = plan_scan(table._session.view(table._open()))
    found = read_table(plan, ids=True)
    columns = (found.column(0), found.column("_row_id"), found.column("_origin"))
    return in_order(zip(*(column.to_pylist() for column in columns), strict=True))


def test_the_origin_of_a_row_is_its_first_version_however_often_it_is_updated(table):
    first = {value: row_id for value, row_id, origin in with_ids(table, "d.t")}
    assert all(row_id == origin for _, row_id, origin in with_ids(table, "d.t"))
    for number in range(3):
        told(table, f"UPDATE d.t SET a = {number} WHERE id IN (2, 5)")
    seen = with_ids(table, "d.t")
    assert {value: origin for value, _, origin in seen} == first
    assert {value for value, row_id, origin in seen if row_id != origin} == {2, 5}
    told(table, "UPDATE d.t SET id = id + 100")
    assert {value - 100: origin for value, _, origin in with_ids(table, "d.t")} == first


def test_origins_survive_column_changes_branches_and_moves_between_partitions(lake):
    told(
        lake,
        "CREATE TABLE d.p (v INT, k STRING) PARTITIONED BY (k)",
        "INSERT INTO d.p VALUES (1, 'a'), (2, 'a'), (3, 'b')",
    )
    first = {value: row_id for value, row_id, _ in with_ids(lake, "d.p")}
    told(lake, "UPDATE d.p SET k = 'b' WHERE v = 1", "ALTER TABLE d.p ADD COLUMN c INT DEFAULT 1")
    dev = lake.create_branch("dev")
    told(dev, "UPDATE d.p SET c = 2", "UPDATE d.p SET k = 'z' WHERE v = 3")
    assert {value: origin for value, _, origin in with_ids(dev, "d.p")} == first
    told(lake, "UPDATE d.p SET c = 3")
    assert {value: origin for value, _, origin in with_ids(lake, "d.p")} == first


def test_row_ids_are_unique_across_branches(table):
    dev = table.create_branch("dev")
    told(table, "INSERT INTO d.t (id) VALUES (6)")
    told(dev, "INSERT INTO d.t (id) VALUES (7)", "UPDATE d.t SET a = 1 WHERE id = 1")
    told(table, "UPDATE d.t SET a = 2 WHERE id = 1")
    here = {row_id: value for value, row_id, _ in with_ids(table, "d.t")}
    there = {row_id: value for value, row_id, _ in with_ids(dev, "d.t")}
    assert {here[row_id] for row_id in here.keys() & there.keys()} == {2, 3, 4, 5}


def test_truncate_empties_and_the_past_stays(table):
    version = table.version
    assert told(table, "TRUNCATE TABLE d.t") == [(5,)]
    assert one(table, "d.t") == []
    assert told(table, "TRUNCATE TABLE d.t") == [(0,)]
    assert table.version == version + 1
    told(table, "INSERT INTO d.t (id) VALUES (1)")
    assert one(table, "d.t") == [1]
    assert one(table, "d.t", version) == [1, 2, 3, 4, 5]


def test_truncate_after_a_delete_counts_only_living_rows(table):
    told(table, "DELETE FROM d.t WHERE id < 3")
    assert told(table, "TRUNCATE TABLE d.t") == [(3,)]


def test_writing_to_another_branch_by_its_ref(table):
    table.create_branch("dev")
    told(
        table,
        "INSERT INTO d.t@dev (id) VALUES (6)",
        "DELETE FROM d.t@dev WHERE id = 1",
        "UPDATE d.t@dev SET a = 0 WHERE id = 2",
    )
    assert one(table, "d.t") == [1, 2, 3, 4, 5]
    assert one(table, "d.t@dev") == [2, 3, 4, 5, 6]
    told(table, "TRUNCATE TABLE d.t@dev")
    assert one(table.on("dev"), "d.t") == []


def test_many_small_writes_are_all_there(lake):
    table = lake.create_table("d.t", "a INT")
    for number in range(200):
        table.write([{"a": number}])
    assert one(lake, "d.t") == list(range(200))
    assert table.delete("a % 2 = 0") == 100
    assert one(lake, "d.t") == list(range(1, 200, 2))


def test_large_writes_have_several_row_groups_and_exact_ids(lake):
    import pyarrow as pa

    table = lake.create_table("d.t", "a BIGINT, b STRING")
    table.write(pa.table({"a": range(300_000), "b": ["x"] * 300_000}))
    assert table.delete("a % 7 = 3") == 42857
    assert table.update({"b": "'y'"}, "a >= 262144 AND a % 7 = 0") == 5408
    found = table.to_arrow(columns=["a"], where="b = 'y'").column("a").to_pylist()
    assert len(found) == 5408
    assert set(found) == {number for number in range(262144, 300_000) if number % 7 == 0}
    assert table.count() == 300_000 - 42857


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DELETE FROM d.t WHERE id IN (SELECT x.id FROM d.t@old AS x WHERE x.v < 2)", [(2, 2)]),
        ("DELETE FROM d.t WHERE id IN (SELECT id FROM d.t@main@3)", []),
        ("UPDATE d.t SET v = 5 WHERE id IN (SELECT id FROM d.t@old@3 WHERE v = 1)", [(1, 5), (2, 2)]),
        ("UPDATE d.t SET v = (SELECT max(x.v) FROM d.t@old AS x) WHERE id = 1", [(1, 9), (2, 2)]),
        ("UPDATE d.t SET v = (SELECT max(v) FROM d.t VERSION AS OF 'old') WHERE id = 1", [(1, 9), (2, 2)]),
    ],
)
def test_subqueries_read_other_states(spark_lake, statement, left):
    told(spark_lake, "CREATE TABLE d.t (id INT, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)", "CREATE BRANCH old")
    told(spark_lake, "UPDATE d.t@old SET v = 9 WHERE id = 2", statement)
    assert rows(spark_lake, "d.t") == left


@pytest.mark.parametrize("before", ["UPDATE d.t SET v = 5 WHERE id = 1", "OPTIMIZE d.t"])
@pytest.mark.parametrize(("condition", "left"), [("true", []), ("1 = 1", []), ("false", [1, 2]), ("1 = 2", [1, 2])])
def test_a_condition_that_reads_no_column(lake, before, condition, left):
    told(
        lake,
        "CREATE TABLE d.t (id INT, v INT)",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "DELETE FROM d.t WHERE id = 9",
    )
    told(lake, "INSERT INTO d.t VALUES (3, 3)", "DELETE FROM d.t WHERE id = 3", before)
    assert told(lake, f"DELETE FROM d.t WHERE {condition}") == [(2 - len(left),)]
    assert one(lake, "d.t") == left
