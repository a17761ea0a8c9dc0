"""Tables: made, renamed, moved, described, dropped; their properties."""

import pytest

from anabranch.errors import AlreadyExists, NotFound
from tests.stories.telling import labels, one, rows, told


def test_a_table_is_created_described_and_dropped(any_lake):
    told(
        any_lake,
        """CREATE TABLE d.t (
             id BIGINT NOT NULL COMMENT 'the key',
             v STRING DEFAULT 'x',
             day DATE
           ) USING anabranch PARTITIONED BY (day) COMMENT 'events' TBLPROPERTIES ('user.team' = 'blue')""",
    )
    assert told(any_lake, "DESCRIBE d.t") == [
        ("id", "bigint", "no", None, "the key"),
        ("v", "string", "yes", "'x'", None),
        ("day", "date", "yes", None, None),
    ]
    details = {row[0]: row[1] for row in told(any_lake, "DESCRIBE TABLE EXTENDED d.t")}
    assert details["# comment"] == "events"
    assert details["# partitioned by"] == "day"
    assert details["# properties"] == "user.team=blue"
    assert told(any_lake, "SHOW TABLES IN d") == [("d", "t", "events")]
    assert told(any_lake, "SHOW COLUMNS IN d.t") == [("id",), ("v",), ("day",)]
    told(any_lake, "DROP TABLE d.t")
    assert told(any_lake, "SHOW TABLES") == []


def test_partition_columns_may_be_declared_in_the_clause(lake):
    told(lake, "CREATE TABLE d.t (a INT) PARTITIONED BY (day DATE, k STRING)")
    assert labels(lake, "d.t") == ["a", "day", "k"]
    assert [row[0] for row in told(lake, "SHOW COLUMNS IN d.t")] == ["a", "day", "k"]


def test_show_create_table_makes_an_equal_table(lake):
    told(
        lake,
        """CREATE TABLE d.`my t` (
             `a b` DECIMAL(12,2) NOT NULL DEFAULT 1.5 COMMENT 'it''s',
             s STRUCT<x: INT NOT NULL COMMENT 'it''s \\\\ %', `y z`: ARRAY<STRING>>,
             m MAP<STRING, TIMESTAMP_NTZ>,
             n ARRAY<MAP<STRUCT<p: INT NOT NULL>, STRUCT<q: STRUCT<r: INT COMMENT 'in \\'it\\'\n'> NOT NULL>>>,
             k STRING DEFAULT 'a\\'b'
           ) PARTITIONED BY (k) COMMENT 'odd \\\\ one' TBLPROPERTIES (plain = 'v', 'user.q' = 'a\\'b')""",
    )
    ((statement,),) = told(lake, "SHOW CREATE TABLE d.`my t`")
    first = told(lake, "DESCRIBE TABLE d.`my t`")
    assert first[1][1] == "struct<x:int NOT NULL COMMENT 'it\\'s \\\\ %',`y z`:array<string>>"
    assert "q:struct<r:int COMMENT 'in \\'it\\'\n'> NOT NULL" in first[3][1]
    properties = told(lake, "SHOW TBLPROPERTIES d.`my t`")
    told(lake, "DROP TABLE d.`my t`", statement)
    assert told(lake, "DESCRIBE TABLE d.`my t`") == first
    assert told(lake, "SHOW TBLPROPERTIES d.`my t`") == properties
    assert told(lake, "SHOW CREATE TABLE d.`my t`") == [(statement,)]


def test_like_copies_columns_partitions_and_properties_but_no_rows(lake):
    told(
        lake,
        "CREATE TABLE d.t (a INT NOT NULL DEFAULT 3, k STRING) PARTITIONED BY (k) TBLPROPERTIES (colour = 'red')",
        "INSERT INTO d.t VALUES (1, 'x')",
        "CREATE TABLE d.u LIKE d.t",
        "INSERT INTO d.u (k) VALUES ('y')",
    )
    assert rows(lake, "d.u") == [(3, "y")]
    assert told(lake, "SHOW PARTITIONS d.u") == [("k=y",)]
    assert told(lake, "SHOW TBLPROPERTIES d.u") == [("colour", "red")]
    assert rows(lake, "d.t") == [(1, "x")]


def test_the_comment_of_a_table_is_changed_and_taken_away(lake):
    told(lake, "CREATE TABLE d.t (a INT) COMMENT 'old'", "CREATE BRANCH dev", "COMMENT ON TABLE d.t@dev IS 'new'")
    assert told(lake, "SHOW TABLES") == [("d", "t", "old")]
    told(lake, "MERGE BRANCH dev")
    assert told(lake, "SHOW TABLES") == [("d", "t", "new")]
    told(lake, "COMMENT ON TABLE d.t IS NULL")
    assert told(lake, "SHOW TABLES") == [("d", "t", None)]


def test_like_copies_the_key_and_its_engine(lake):
    told(
        lake,
        "CREATE TABLE d.t (k INT, `a b` INT, PRIMARY KEY (`a b`, k)) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum')",
        "CREATE TABLE d.u LIKE d.t",
    )
    ((first,), (second,)) = told(lake, "SHOW CREATE TABLE d.t"), told(lake, "SHOW CREATE TABLE d.u")
    assert second[0] == first[0].replace("d.t", "d.u")
    assert ("# primary key", "a b, k") in [row[:2] for row in told(lake, "DESCRIBE EXTENDED d.u")]


def test_rename_within_and_across_databases_keeps_rows_and_identity(any_lake):
    told(any_lake, "CREATE DATABASE e", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    identity = any_lake.table("d.t").id
    told(any_lake, "ALTER TABLE d.t RENAME TO d.u", "INSERT INTO d.u VALUES (2)", "ALTER TABLE d.u RENAME TO e.v")
    assert one(any_lake, "e.v") == [1, 2]
    assert any_lake.table("e.v").id == identity
    assert any_lake.tables() == ["e.v"]


def test_two_tables_swap_their_names(lake):
    told(
        lake,
        "CREATE TABLE d.a (x INT)",
        "CREATE TABLE d.b (x INT)",
        "INSERT INTO d.a VALUES (1)",
        "INSERT INTO d.b VALUES (2)",
        "ALTER TABLE d.a RENAME TO d.c",
        "ALTER TABLE d.b RENAME TO d.a",
        "ALTER TABLE d.c RENAME TO d.b",
    )
    assert (one(lake, "d.a"), one(lake, "d.b")) == ([2], [1])


def test_a_table_of_the_same_name_is_another_table(any_lake):
    told(any_lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)")
    version, identity = any_lake.version, any_lake.table("d.t").id
    told(any_lake, "DROP TABLE d.t", "CREATE TABLE d.t (b STRING)", "INSERT INTO d.t VALUES ('x')")
    assert any_lake.table("d.t").id != identity
    assert rows(any_lake, "d.t") == [("x",)]
    assert rows(any_lake, "d.t", version) == [(1,)]


def test_names_are_found_whatever_their_case_and_keep_the_case_they_have(lake):
    told(lake, "CREATE TABLE d.Orders (Id INT, ID2 INT)", "INSERT INTO D.ORDERS (id) VALUES (1)")
    assert lake.tables() == ["d.Orders"]
    assert labels(lake, "d.orders") == ["Id", "ID2"]
    assert lake.table("d.orders").to_arrow(columns=["ID"]).column_names == ["Id"]
    with pytest.raises(AlreadyExists):
        told(lake, "CREATE TABLE d.orders (a INT)")


def test_table_properties_are_set_shown_and_unset(any_lake):
    told(
        any_lake,
        "CREATE TABLE d.t (a INT) TBLPROPERTIES ('user.a' = '1', plain = 'p')",
        "ALTER TABLE d.t SET TBLPROPERTIES ('user.a' = '2', 'write.compression' = 'zstd')",
    )
    assert told(any_lake, "SHOW TBLPROPERTIES d.t") == [
        ("plain", "p"),
        ("user.a", "2"),
        ("write.compression", "zstd"),
    ]
    assert told(any_lake, "SHOW TBLPROPERTIES d.t ('user.a')") == [("user.a", "2")]
    told(any_lake, "ALTER TABLE d.t UNSET TBLPROPERTIES ('user.a', plain)")
    assert told(any_lake, "SHOW TBLPROPERTIES d.t") == [("write.compression", "zstd")]
    with pytest.raises(NotFound, match="plain"):
        told(any_lake, "ALTER TABLE d.t UNSET TBLPROPERTIES (plain)")


@pytest.mark.parametrize(
    ("option", "codec"), [("zstd", "ZSTD"), ("none", "UNCOMPRESSED"), ("lz4", "LZ4"), ("snappy", "SNAPPY")]
)
def test_the_compression_option_decides_how_parts_are_written(lake, tmp_path, option, codec):
    import pyarrow.parquet as pq

    told(
        lake,
        f"CREATE TABLE d.t (a INT) TBLPROPERTIES ('write.compression' = '{option}')",
        "INSERT INTO d.t VALUES (1)",
    )
    (file,) = (tmp_path / "lake" / "data").rglob("*.parquet")
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == codec


def test_show_tables_by_pattern_and_on_another_branch(lake):
    told(lake, "CREATE TABLE d.orders (a INT)", "CREATE TABLE d.order_lines (a INT)", "CREATE TABLE d.people (a INT)")
    lake.create_branch("dev").sql("DROP TABLE d.people")
    assert [row[1] for row in told(lake, "SHOW TABLES IN d LIKE 'order*|people'")] == [
        "order_lines",
        "orders",
        "people",
    ]
    assert [row[1] for row in told(lake, "SHOW TABLES IN d@dev")] == ["order_lines", "orders"]


def test_history_holds_only_what_changed_this_table(lake):
    told(lake, "CREATE TABLE d.t (a INT)", "CREATE TABLE d.u (a INT)", "INSERT INTO d.t VALUES (1)")
    told(lake, "INSERT INTO d.u VALUES (1)", "ALTER TABLE d.t RENAME TO d.v", "DELETE FROM d.v")
    operations = [commit.operation for commit in lake.table("d.v").history()]
    assert operations == ["DELETE", "RENAME TABLE", "INSERT", "CREATE TABLE"]
    assert [row[4] for row in told(lake, "DESCRIBE HISTORY d.v")] == operations
    assert [commit.operation for commit in lake.table("d.v").history(limit=1)] == ["DELETE"]
