"""Columns change, files do not: every row reads under the new schema as it should."""

import pyarrow as pa
import pytest

from anabranch.errors import NullViolation, SchemaError
from tests.stories.telling import labels, one, rows, told


@pytest.fixture
def table(lake):
    told(lake, "CREATE TABLE d.t (a INT, b STRING)", "INSERT INTO d.t VALUES (1, 'one'), (2, 'two')")
    return lake


def test_an_added_column_is_null_in_old_rows(table):
    told(table, "ALTER TABLE d.t ADD COLUMN c DOUBLE", "INSERT INTO d.t VALUES (3, 'three', 0.5)")
    assert rows(table, "d.t") == [(1, "one", None), (2, "two", None), (3, "three", 0.5)]


def test_old_rows_keep_the_default_that_a_column_was_added_with(table):
    told(
        table,
        "ALTER TABLE d.t ADD COLUMN c STRING DEFAULT 'first'",
        "INSERT INTO d.t (a) VALUES (3)",
        "ALTER TABLE d.t ALTER COLUMN c SET DEFAULT 'second'",
        "INSERT INTO d.t (a) VALUES (4)",
        "ALTER TABLE d.t ALTER COLUMN c DROP DEFAULT",
        "INSERT INTO d.t (a) VALUES (5)",
    )
    assert rows(table, "d.t", columns=["a", "c"]) == [
        (1, "first"),
        (2, "first"),
        (3, "first"),
        (4, "second"),
        (5, None),
    ]


def test_a_default_meets_predicates_as_if_it_had_been_written(table):
    told(table, "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 7", "INSERT INTO d.t VALUES (3, 'three', 1)")
    assert rows(table, "d.t", columns=["a"], where="c = 7") == [(1,), (2,)]
    assert rows(table, "d.t", columns=["a"], where="c IS NULL") == []
    told(table, "DELETE FROM d.t WHERE c > 5")
    assert one(table, "d.t") == [3]


@pytest.mark.parametrize(
    ("type_", "default", "value"),
    [
        ("BIGINT", "9000000000", 9000000000),
        ("DECIMAL(10,2)", "1.5", "1.50"),
        ("BOOLEAN", "true", True),
        ("DATE", "DATE '2026-02-03'", "2026-02-03"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2026-02-03 04:05:06.000007'", "2026-02-03 04:05:06.000007"),
        ("BINARY", "X'00FF'", b"\x00\xff"),
        ("STRING", "'it''s \\n \"ok\" `x`'", 'it\'s \n "ok" `x`'),
        ("STRING", "concat('a', 'b')", "ab"),
        ("DOUBLE", "1 + 1", 2.0),
        ("ARRAY<INT>", "array(1, 2)", [1, 2]),
        ("STRUCT<x: INT, y: STRING>", "named_struct('x', 1, 'y', 'z')", {"x": 1, "y": "z"}),
    ],
)
def test_defaults_of_every_kind_reach_old_and_new_rows(table, type_, default, value):
    told(table, f"ALTER TABLE d.t ADD COLUMN c {type_} DEFAULT {default}", "INSERT INTO d.t (a) VALUES (3)")
    told(table, "INSERT INTO d.t VALUES (4, 'x', DEFAULT)")
    found = [row[0] for row in rows(table, "d.t", columns=["c"])]
    assert found == [found[0]] * 4
    assert found[0] == value or str(found[0]) == value


def test_a_dropped_and_added_name_is_a_new_column(table):
    told(table, "ALTER TABLE d.t DROP COLUMN b", "ALTER TABLE d.t ADD COLUMN b STRING")
    assert rows(table, "d.t") == [(1, None), (2, None)]
    told(table, "INSERT INTO d.t VALUES (3, 'new')")
    assert rows(table, "d.t") == [(1, None), (2, None), (3, "new")]
    assert rows(table, "d.t", where="b = 'one'") == []
    assert rows(table, "d.t", where="b IS NULL", columns=["a"]) == [(1,), (2,)]


def test_a_dropped_and_added_name_may_have_another_type(table):
    told(table, "ALTER TABLE d.t DROP COLUMN b", "ALTER TABLE d.t ADD COLUMN B INT DEFAULT 9")
    assert rows(table, "d.t") == [(1, 9), (2, 9)]


def test_several_columns_are_added_and_dropped_at_once(table):
    before = table.version
    told(table, "ALTER TABLE d.t ADD COLUMNS (c INT FIRST, e INT DEFAULT 5 AFTER a, f STRING COMMENT 'last')")
    assert labels(table, "d.t") == ["c", "a", "e", "b", "f"]
    assert rows(table, "d.t") == [(None, 1, 5, "one", None), (None, 2, 5, "two", None)]
    told(table, "ALTER TABLE d.t DROP COLUMNS (c, f)", "ALTER TABLE d.t DROP COLUMN IF EXISTS nothing")
    assert labels(table, "d.t") == ["a", "e", "b"]
    assert table.version == before + 2


def test_a_renamed_column_keeps_its_values(table):
    told(table, "ALTER TABLE d.t RENAME COLUMN b TO name", "INSERT INTO d.t (name, a) VALUES ('three', 3)")
    assert labels(table, "d.t") == ["a", "name"]
    assert rows(table, "d.t", where="name = 'two'") == [(2, "two")]
    told(table, "UPDATE d.t SET name = upper(name) WHERE a = 1")
    assert rows(table, "d.t") == [(1, "ONE"), (2, "two"), (3, "three")]


def test_two_columns_swap_their_names(lake):
    told(
        lake,
        "CREATE TABLE d.t (a INT, b INT)",
        "INSERT INTO d.t VALUES (1, 10)",
        "ALTER TABLE d.t RENAME COLUMN a TO c",
        "ALTER TABLE d.t RENAME COLUMN b TO a",
        "ALTER TABLE d.t RENAME COLUMN c TO b",
        "INSERT INTO d.t (a, b) VALUES (20, 2)",
    )
    assert rows(lake, "d.t", columns=["a", "b"]) == [(10, 1), (20, 2)]
    assert rows(lake, "d.t", columns=["b"], where="a = 10") == [(1,)]
    assert rows(lake, "d.t", columns=["b"], where="a < 10") == []
    told(lake, "DELETE FROM d.t WHERE b = 1")
    assert rows(lake, "d.t", columns=["a", "b"]) == [(20, 2)]


def test_a_name_is_taken_over_by_another_column(lake):
    """The first holder of a name has it as its physical name; the second must not read the first one's values."""
    told(
        lake,
        "CREATE TABLE d.t (a INT, b INT)",
        "INSERT INTO d.t VALUES (1, 10)",
        "ALTER TABLE d.t DROP COLUMN a",
        "ALTER TABLE d.t RENAME COLUMN b TO a",
        "INSERT INTO d.t VALUES (20)",
    )
    assert one(lake, "d.t") == [10, 20]
    assert rows(lake, "d.t", where="a = 1") == []


def test_columns_move(table):
    told(table, "ALTER TABLE d.t ADD COLUMN c INT", "ALTER TABLE d.t ALTER COLUMN c FIRST")
    assert labels(table, "d.t") == ["c", "a", "b"]
    told(table, "ALTER TABLE d.t ALTER COLUMN c AFTER a", "INSERT INTO d.t VALUES (3, 33, 'three')")
    assert labels(table, "d.t") == ["a", "c", "b"]
    assert rows(table, "d.t") == [(1, None, "one"), (2, None, "two"), (3, 33, "three")]


def test_not_null_is_set_only_where_no_row_is_null(table):
    told(table, "ALTER TABLE d.t ALTER COLUMN b SET NOT NULL")
    with pytest.raises(NullViolation, match="'b'"):
        told(table, "INSERT INTO d.t VALUES (3, NULL)")
    told(table, "ALTER TABLE d.t ALTER COLUMN b DROP NOT NULL", "INSERT INTO d.t VALUES (3, NULL)")
    with pytest.raises(NullViolation, match="'b'"):
        told(table, "ALTER TABLE d.t ALTER COLUMN b SET NOT NULL")
    told(table, "DELETE FROM d.t WHERE b IS NULL", "ALTER TABLE d.t ALTER COLUMN b SET NOT NULL")
    assert rows(table, "d.t") == [(1, "one"), (2, "two")]


def test_not_null_with_a_default_fills_old_rows(table):
    told(table, "ALTER TABLE d.t ADD COLUMN c INT NOT NULL DEFAULT 0", "INSERT INTO d.t (a) VALUES (3)")
    assert rows(table, "d.t", columns=["c"]) == [(0,), (0,), (0,)]


def test_not_null_without_a_default_needs_an_empty_table(table):
    with pytest.raises(SchemaError, match="DEFAULT"):
        told(table, "ALTER TABLE d.t ADD COLUMN c INT NOT NULL")
    told(table, "TRUNCATE TABLE d.t", "ALTER TABLE d.t ADD COLUMN c INT NOT NULL", "INSERT INTO d.t VALUES (1, 'x', 2)")
    assert rows(table, "d.t") == [(1, "x", 2)]


def test_comments_are_set_and_replaced(table):
    told(
        table,
        "ALTER TABLE d.t ALTER COLUMN a COMMENT 'first'",
        "ALTER TABLE d.t ALTER COLUMN b COMMENT 'it''s'",
        "ALTER TABLE d.t ALTER COLUMN a COMMENT 'ünïcode \U0001f600'",
    )
    assert [row[4] for row in told(table, "DESCRIBE d.t")] == ["ünïcode \U0001f600", "it's"]


def test_hive_change_column_renames_widens_comments_and_moves_in_one_commit(table):
    before = table.version
    told(table, "ALTER TABLE d.t CHANGE COLUMN a big BIGINT COMMENT 'wide' AFTER b")
    assert table.version == before + 1
    assert told(table, "DESCRIBE d.t") == [("b", "string", "yes", None, None), ("big", "bigint", "yes", None, "wide")]
    assert rows(table, "d.t") == [("one", 1), ("two", 2)]


def test_a_change_that_changes_nothing_commits_nothing(table):
    before = table.version
    told(table, "ALTER TABLE d.t ALTER COLUMN a DROP NOT NULL", "ALTER TABLE d.t ALTER COLUMN a TYPE INT")
    assert table.version == before


def test_branches_change_columns_apart(table):
    dev = table.create_branch("dev")
    told(dev, "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 1", "ALTER TABLE d.t RENAME COLUMN b TO x")
    told(table, "ALTER TABLE d.t ADD COLUMN c STRING DEFAULT 'main'", "ALTER TABLE d.t DROP COLUMN a")
    assert (labels(table, "d.t"), labels(dev, "d.t")) == (["b", "c"], ["a", "x", "c"])
    assert rows(table, "d.t") == [("one", "main"), ("two", "main")]
    assert rows(dev, "d.t") == [(1, "one", 1), (2, "two", 1)]


def test_past_versions_have_their_own_columns(table):
    versions = [table.version]
    for change in ("ADD COLUMN c INT DEFAULT 5", "RENAME COLUMN a TO z", "DROP COLUMN b", "ALTER COLUMN z TYPE BIGINT"):
        told(table, f"ALTER TABLE d.t {change}")
        versions.append(table.version)
    seen = [table.table("d.t", version=version).to_arrow() for version in versions]
    assert [found.column_names for found in seen] == [
        ["a", "b"],
        ["a", "b", "c"],
        ["z", "b", "c"],
        ["z", "c"],
        ["z", "c"],
    ]
    assert [str(found.schema.types[0]) for found in seen] == ["int32"] * 4 + ["int64"]
    assert seen[0].to_pylist() == [{"a": 1, "b": "one"}, {"a": 2, "b": "two"}]
    assert seen[3].to_pylist() == [{"z": 1, "c": 5}, {"z": 2, "c": 5}]


def test_many_changes_on_one_column_one_after_the_other(table):
    told(
        table,
        "ALTER TABLE d.t ADD COLUMN n TINYINT DEFAULT 1",
        "INSERT INTO d.t VALUES (3, 'three', 127)",
        "ALTER TABLE d.t ALTER COLUMN n TYPE SMALLINT",
        "ALTER TABLE d.t RENAME COLUMN n TO m",
        "ALTER TABLE d.t ALTER COLUMN m TYPE INT",
        "ALTER TABLE d.t ALTER COLUMN m SET DEFAULT 100000",
        "INSERT INTO d.t (a) VALUES (4)",
        "ALTER TABLE d.t ALTER COLUMN m TYPE DECIMAL(20, 3)",
        "ALTER TABLE d.t ALTER COLUMN m FIRST",
    )
    assert [str(row[0]) for row in rows(table, "d.t", columns=["m"])] == ["1.000", "1.000", "127.000", "100000.000"]
    assert rows(table, "d.t", columns=["a"], where="m > 100") == [(3,), (4,)]


# What theirs and ours did to (id, a, b), and the columns that both branches have after merging both ways.
MOVES = {
    "both": (["b FIRST"], ["a FIRST"], ["b", "id", "a"]),
    "both, alike": (["b FIRST"], ["b FIRST"], ["b", "id", "a"]),
    "theirs alone": (["b FIRST"], [], ["b", "id", "a"]),
    "ours alone": (["id COMMENT 'key'"], ["a FIRST"], ["a", "id", "b"]),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("added", [False, True])
def test_columns_that_both_moved_stand_as_theirs_has_them_and_branches_converge(lake, name, added):
    theirs, ours, expected = MOVES[name]
    told(lake, "CREATE TABLE d.t (id INT, a INT, b STRING)", "CREATE BRANCH dev")
    told(lake, *(f"ALTER TABLE d.t@dev ALTER COLUMN {move}" for move in theirs))
    told(lake, *(f"ALTER TABLE d.t ALTER COLUMN {move}" for move in ours))
    if added:  # it stays behind the column that it follows
        told(lake, "ALTER TABLE d.t ADD COLUMN n INT AFTER a")
        expected = [label for known in expected for label in ((known, "n") if known == "a" else (known,))]
    assert lake.merge("dev").up_to_date == (name == "both, alike")
    lake.on("dev").merge("main")
    assert labels(lake, "d.t") == labels(lake.on("dev"), "d.t") == expected
    assert told(lake, "DIFF main dev") == []
    assert lake.merge("dev").up_to_date


DEFAULTS = {
    "an array": ("ARRAY<STRING>", "array('a')"),
    "a map": ("MAP<STRING, INT>", "map('k', 1)"),
    "a struct": ("STRUCT<x: ARRAY<INT>>", "named_struct('x', array(1))"),
}


@pytest.mark.parametrize(("type_", "value"), DEFAULTS.values(), ids=DEFAULTS.keys())
@pytest.mark.parametrize("key", ["", " PRIMARY KEY"], ids=["append", "keyed"])
def test_a_default_of_no_rows_at_all(lake, type_, value, key):
    """Where a side has no rows to compare, or a write none to store."""
    told(lake, f"CREATE TABLE d.t (id INT{key}, x INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)")
    told(lake, f"ALTER TABLE d.t ADD COLUMN c {type_} DEFAULT {value}")
    assert lake.table("d.t").write(pa.table({"id": pa.array([], pa.int32())})) == 0
    assert lake.table("d.t").overwrite(pa.table({"id": pa.array([], pa.int32())})) == 0
    told(lake, f"RESTORE TABLE d.t TO VERSION {lake.version - 1}")
    dev = lake.create_branch("dev")
    told(dev, "UPDATE d.t SET x = 5 WHERE id = 1")
    told(lake, "DELETE FROM d.t WHERE id = 1")
    assert [(one.rule, one.theirs["x"]) for one in lake.conflicts("dev", detect="row")] == [("update/delete", 5)]
    assert [row[:2] for row in told(lake, "DIFF main dev TABLE d.t")] == [("+I", 1)]
    lake.merge("dev", detect="row", resolve="theirs")
    assert len({str(row[2]) for row in rows(lake, "d.t")}) == 1
    assert sorted(row[:2] for row in rows(lake, "d.t")) == [(1, 5), (2, 2)]
