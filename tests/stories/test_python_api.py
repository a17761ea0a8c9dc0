"""Python says the same as SQL: from equal beginnings, each pair leaves equal lakes behind."""

import shutil
from pathlib import Path

import pytest

import anabranch
from anabranch.errors import AlreadyExists, AnabranchError, DataError, NotFound, Refused
from tests.stories.telling import rows, told

BEGINNING = (
    "CREATE DATABASE d",
    "CREATE TABLE d.t (a INT NOT NULL, b STRING DEFAULT 'x', s STRUCT<x: INT>, k STRING) PARTITIONED BY (k)",
    "INSERT INTO d.t VALUES (1, 'one', named_struct('x', 1), 'p'), (2, NULL, NULL, 'q'), (3, 'three', NULL, NULL)",
    "ALTER TABLE d.t ADD PARTITION (k = 'named')",
    "CREATE TAG start",
    "DELETE FROM d.t WHERE a = 3",
)


@pytest.fixture(scope="module")
def beginning(tmp_path_factory) -> Path:
    """A lake that is made once and copied for every test: a closed lake is nothing but its folder."""
    folder = tmp_path_factory.mktemp("beginning") / "lake"
    with anabranch.connect(folder, durability="process", author="ann") as lake:
        told(lake, *BEGINNING)
    return folder


@pytest.fixture
def begun(beginning):
    def copied(path: Path):
        shutil.copytree(beginning, path)
        return anabranch.connect(path, durability="process", author="ann", create=False)

    return copied


def state(lake):
    """All that a user can see, but ids and times."""
    seen = {"branch": lake.branch, "tags": [(tag.name, tag.version) for tag in lake.tags()]}
    for branch in lake.branches():
        on = lake.on(branch.name)
        seen[branch.name] = {
            "version": on.version,
            "log": [(commit.operation, commit.message, commit.author) for commit in on.log()],
            "databases": [
                [row for row in told(on, f"DESCRIBE DATABASE `{d}`") if row[0] != "id"] for d in on.databases()
            ],
            "tables": {
                name: (
                    told(on, f"SHOW CREATE TABLE {name}"),
                    rows(on, name),
                    told(on, f"SHOW PARTITIONS {name}")
                    if "PARTITIONED" in str(told(on, f"SHOW CREATE TABLE {name}"))
                    else None,
                )
                for name in on.tables()
            },
        }
    return seen


PAIRS = [
    (
        "CREATE DATABASE e COMMENT 'c' WITH DBPROPERTIES (p = 'q')",
        lambda lake: lake.create_database("e", comment="c", properties={"p": "q"}),
    ),
    ("CREATE DATABASE IF NOT EXISTS d", lambda lake: lake.create_database("d", if_not_exists=True)),
    ("DROP DATABASE d CASCADE", lambda lake: lake.drop_database("d", cascade=True)),
    ("DROP DATABASE IF EXISTS nothing", lambda lake: lake.drop_database("nothing", if_exists=True)),
    ("ALTER DATABASE d RENAME TO e", lambda lake: lake.rename_database("d", "e")),
    ("ALTER DATABASE d SET DBPROPERTIES (a = 'b')", lambda lake: lake.set_database_properties("d", {"a": "b"})),
    (
        "ALTER DATABASE d UNSET DBPROPERTIES IF EXISTS (a)",
        lambda lake: lake.unset_database_properties("d", ["a"], if_exists=True),
    ),
    (
        "CREATE TABLE d.u (id BIGINT NOT NULL COMMENT 'c', v STRING DEFAULT 'x') COMMENT 'tc' TBLPROPERTIES (p = 'q')",
        lambda lake: lake.create_table(
            "d.u", "id BIGINT NOT NULL COMMENT 'c', v STRING DEFAULT 'x'", comment="tc", properties={"p": "q"}
        ),
    ),
    (
        "CREATE TABLE d.u (id BIGINT, k STRING) PARTITIONED BY (k)",
        lambda lake: lake.create_table("d.u", {"id": "bigint", "k": "string"}, partitioned_by=["k"]),
    ),
    ("CREATE TABLE IF NOT EXISTS d.t (a INT)", lambda lake: lake.create_table("d.t", "a INT", if_not_exists=True)),
    ("DROP TABLE d.t", lambda lake: lake.drop_table("d.t")),
    ("DROP TABLE IF EXISTS d.nothing", lambda lake: lake.drop_table("d.nothing", if_exists=True)),
    ("ALTER TABLE d.t RENAME TO d.u", lambda lake: lake.table("d.t").rename("d.u")),
    (
        "ALTER TABLE d.t ADD COLUMN c INT NOT NULL DEFAULT 5 COMMENT 'q' AFTER a",
        lambda lake: lake.table("d.t").add_column("c", "int", nullable=False, default="5", comment="q", after="a"),
    ),
    (
        "ALTER TABLE d.t ADD COLUMN s.y DOUBLE FIRST",
        lambda lake: lake.table("d.t").add_column("s.y", "double", first=True),
    ),
    ("ALTER TABLE d.t DROP COLUMN b", lambda lake: lake.table("d.t").drop_column("b")),
    ("ALTER TABLE d.t DROP COLUMN IF EXISTS zz", lambda lake: lake.table("d.t").drop_column("zz", if_exists=True)),
    ("ALTER TABLE d.t RENAME COLUMN s.x TO y", lambda lake: lake.table("d.t").rename_column("s.x", "y")),
    ("ALTER TABLE d.t RENAME COLUMN b TO `b 2`", lambda lake: lake.table("d.t").rename_column("b", "b 2")),
    ("ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT", lambda lake: lake.table("d.t").alter_column("a", type="bigint")),
    ("ALTER TABLE d.t ALTER COLUMN a DROP NOT NULL", lambda lake: lake.table("d.t").alter_column("a", nullable=True)),
    ("ALTER TABLE d.t ALTER COLUMN b SET DEFAULT 'n'", lambda lake: lake.table("d.t").alter_column("b", default="'n'")),
    (
        "ALTER TABLE d.t ALTER COLUMN b DROP DEFAULT",
        lambda lake: lake.table("d.t").alter_column("b", drop_default=True),
    ),
    ("ALTER TABLE d.t ALTER COLUMN b COMMENT 'n'", lambda lake: lake.table("d.t").alter_column("b", comment="n")),
    ("ALTER TABLE d.t ALTER COLUMN b FIRST", lambda lake: lake.table("d.t").alter_column("b", first=True)),
    ("ALTER TABLE d.t ALTER COLUMN a AFTER b", lambda lake: lake.table("d.t").alter_column("a", after="b")),
    (
        "ALTER TABLE d.t SET TBLPROPERTIES ('user.a' = 'b')",
        lambda lake: lake.table("d.t").set_properties({"user.a": "b"}),
    ),
    (
        "ALTER TABLE d.t UNSET TBLPROPERTIES IF EXISTS (z)",
        lambda lake: lake.table("d.t").unset_properties(["z"], if_exists=True),
    ),
    ("ALTER TABLE d.t ADD PARTITION (k = 'z')", lambda lake: lake.table("d.t").add_partition({"k": "z"})),
    ("ALTER TABLE d.t DROP PARTITION (k = 'p')", lambda lake: lake.table("d.t").drop_partition({"k": "p"})),
    (
        "ALTER TABLE d.t DROP IF EXISTS PARTITION (k = 'zz')",
        lambda lake: lake.table("d.t").drop_partition({"k": "zz"}, if_exists=True),
    ),
    ("INSERT INTO d.t (a, k) VALUES (9, 'p')", lambda lake: lake.table("d.t").write([{"a": 9, "k": "p"}])),
    ("INSERT OVERWRITE d.t (a, k) VALUES (9, 'p')", lambda lake: lake.table("d.t").overwrite([{"a": 9, "k": "p"}])),
    (
        "INSERT OVERWRITE d.t PARTITION (k = 'p') (a) VALUES (9)",
        lambda lake: lake.table("d.t").overwrite([{"a": 9}], {"k": "p"}),
    ),
    (
        "INSERT OVERWRITE d.t PARTITION (k) (a, k) VALUES (9, 'p')",
        lambda lake: lake.table("d.t").overwrite([{"a": 9, "k": "p"}], dynamic=True),
    ),
    ("DELETE FROM d.t WHERE a = 1", lambda lake: lake.table("d.t").delete("a = 1")),
    ("DELETE FROM d.t", lambda lake: lake.table("d.t").delete()),
    (
        "UPDATE d.t SET b = upper(b), a = 7 WHERE a = 1",
        lambda lake: lake.table("d.t").update({"b": "upper(b)", "a": 7}, "a = 1"),
    ),
    ("UPDATE d.t SET b = NULL", lambda lake: lake.table("d.t").update({"b": None})),
    ("TRUNCATE TABLE d.t", lambda lake: lake.table("d.t").truncate()),
    ("TRUNCATE TABLE d.t PARTITION (k = 'p')", lambda lake: lake.table("d.t").truncate({"k": "p"})),
    ("CREATE BRANCH dev", lambda lake: lake.create_branch("dev")),
    ("CREATE BRANCH dev FROM start", lambda lake: lake.create_branch("dev", "start")),
    ("CREATE BRANCH dev FROM main AT VERSION 2", lambda lake: lake.create_branch("dev", "main", 2)),
    ("CREATE BRANCH dev AT VERSION 2", lambda lake: lake.create_branch("dev", version=2)),
    ("CREATE TAG v2", lambda lake: lake.create_tag("v2")),
    ("CREATE TAG v2 FROM main AT VERSION 2", lambda lake: lake.create_tag("v2", "main", 2)),
    ("DROP TAG start", lambda lake: lake.drop_tag("start")),
    ("ALTER TAG start RENAME TO begin", lambda lake: lake.rename_tag("start", "begin")),
    ("RESTORE TABLE d.t TO VERSION 3", lambda lake: lake.restore(3, table="d.t")),
    ("RESTORE DATABASE d TO VERSION 2", lambda lake: lake.restore(2, database="d")),
    ("RESTORE BRANCH TO VERSION 1", lambda lake: lake.restore(1)),
]


@pytest.mark.parametrize(("statement", "call"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_python_does_what_sql_does(begun, tmp_path, statement, call):
    with begun(tmp_path / "sql") as by_sql, begun(tmp_path / "python") as by_python:
        before = state(by_sql)
        told(by_sql, statement)
        call(by_python)
        assert state(by_python) == state(by_sql)
        if not any(word in statement for word in ("IF EXISTS", "IF NOT EXISTS")):
            assert state(by_sql) != before


def test_branch_calls(begun, tmp_path):
    with begun(tmp_path / "lake") as lake:
        dev = lake.create_branch("dev")
        assert lake.create_branch("dev", if_not_exists=True).branch == "dev"
        lake.rename_branch("dev", "prod")
        assert dev.branch == "prod"
        lake.use("prod")
        assert lake.branch == "prod"
        lake.use("main")
        lake.drop_branch("prod")
        lake.drop_branch("prod", if_exists=True)
        with pytest.raises(NotFound):
            lake.drop_branch("prod")
        with pytest.raises(AlreadyExists):
            lake.create_tag("start")
        assert lake.create_tag("start", if_not_exists=True).name == "start"


def test_reading_calls(begun, tmp_path):
    with begun(tmp_path / "lake") as lake:
        table = lake.table("d.t")
        assert table.name == "d.t"
        assert table.branch == "main"
        assert table.version == lake.version
        assert table.count() == 2
        assert table.schema.names == ["a", "b", "s", "k"]
        assert table.schema.field("a").nullable is False
        assert table.to_arrow(columns=["k", "a"]).column_names == ["k", "a"]
        assert table.to_arrow(columns=["A"], where="b = 'one'").to_pylist() == [{"a": 1}]
        assert sum(batch.num_rows for batch in table.to_batches(where="a > 0")) == 2
        assert table.to_pandas(columns=["a"])["a"].tolist() == [1, 2]
        assert sorted(table.partitions()) == ["k=named", "k=p", "k=q"]
        assert [row.column for row in table.describe()][:1] == ["a"]
        assert table.properties == {}
        assert lake.table("d.t@start").count() == 3
        assert lake.table("d.t", version=3).count() == 3
        assert lake.log(limit=1)[0].operation == "DELETE"
        assert lake.log("start")[0].operation == "ADD PARTITION"
        assert lake.describe_database("d").collect()[0].value == "d"
        with pytest.raises(NotFound, match="'a'"):
            table.to_arrow(columns=["aa"])
        with pytest.raises(NotFound, match="'b'"):
            table.to_arrow(where="bb = 1")


def test_an_overwritten_partition_takes_only_rows_of_its_own(begun, tmp_path):
    with begun(tmp_path / "lake") as lake:
        before, version = rows(lake, "d.t"), lake.version
        with pytest.raises(AnabranchError, match="k"):
            lake.table("d.t").overwrite([{"a": 9, "k": "q"}], {"k": "p"})
        assert (rows(lake, "d.t"), lake.version) == (before, version)


def test_a_handle_follows_its_table_through_commits_of_others(begun, tmp_path):
    with begun(tmp_path / "lake") as lake, anabranch.connect(tmp_path / "lake") as other:
        table = lake.table("d.t")
        other.sql("INSERT INTO d.t (a) VALUES (100)")
        assert table.count() == 3
        other.sql("ALTER TABLE d.t ADD COLUMN z INT DEFAULT 1")
        assert table.to_arrow(columns=["z"]).column("z").to_pylist() == [1, 1, 1]
        assert table.write([{"a": 101, "z": 2}]) == 1
        other.sql("DROP TABLE d.t")
        with pytest.raises(NotFound, match=r"d\.t"):
            table.to_arrow()


def test_results_quack_like_frames(begun, tmp_path, capsys):
    with begun(tmp_path / "lake") as lake:
        result = lake.sql("SHOW TABLES")
        assert result.columns == ["database", "table", "comment"]
        (row,) = result.collect()
        assert (row.table, row["database"], row[1]) == ("t", "d", "t")
        assert row.asDict() == {"database": "d", "table": "t", "comment": None}
        assert result.toArrow().column("table").to_pylist() == ["t"]
        assert result.toPandas()["table"].tolist() == ["t"]
        assert "d" in str(result)
        result.show()
        assert "table" in capsys.readouterr().out
        assert lake.sql("SHOW BRANCHES LIKE 'nothing'").toArrow().num_rows == 0


def test_lakes_open_again_on_any_branch_and_are_not_made_unasked(begun, tmp_path):
    with begun(tmp_path / "lake") as lake:
        lake.create_branch("dev").sql("INSERT INTO d.t (a) VALUES (50)")
    with anabranch.connect(tmp_path / "lake", branch="dev", create=False) as dev:
        assert (dev.branch, dev.table("d.t").count()) == ("dev", 3)
    with anabranch.connect(str(tmp_path / "lake")) as main:
        assert main.table("d.t").count() == 2
    with anabranch.connect(f"file://{tmp_path}/lake", create=False) as by_url:
        assert by_url.table("d.t").count() == 2
    with pytest.raises(AnabranchError, match="nowhere"):
        anabranch.connect(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_row_that_names_no_column_is_a_row_of_defaults(lake):
    table = lake.create_table("d.t", "a INT, b STRING DEFAULT 'x'")
    assert table.write([{}, {}]) == 2
    assert rows(lake, "d.t") == [(None, "x"), (None, "x")]
    with pytest.raises(DataError, match="name no column"):
        lake.create_table("d.u", "b STRING DEFAULT 'x'").write([{}])


def test_conflicts_print_as_a_table_and_are_records(begun, tmp_path):
    lake = begun(tmp_path / "lake")
    lake.create_branch("dev").sql("UPDATE d.t SET b = 'dev' WHERE a = 1")
    assert lake.conflicts("dev", detect="row") == []
    lake.sql("UPDATE d.t SET b = 'main' WHERE a = 1")
    found = lake.conflicts("dev", detect="row")
    assert str(found).splitlines()[0].split() == ["object", "kind", "rule", "row", "column", "base", "ours", "theirs"]
    assert [(one.kind, one.ours["b"], one.theirs["b"]) for one in found] == [("row", "main", "dev")]
    assert found == list(found)


def test_a_lake_stands_for_its_branch_where_branches_meet(begun, tmp_path):
    lake = begun(tmp_path / "lake")
    dev = lake.create_branch("dev")
    dev.sql("UPDATE d.t SET b = 'dev' WHERE a = 1")
    assert list(lake.diff(dev)) == list(lake.diff("dev")) != []
    assert list(lake.diff(lake, dev)) == list(lake.diff("main", "dev")) != []
    assert lake.conflicts(dev) == lake.conflicts(lake, dev) == []
    with (
        begun(tmp_path / "another") as apart,
        pytest.raises(Refused, match="was opened apart from this lake: write the name of a branch, as 'main'"),
    ):
        lake.merge(apart)
    assert lake.merge(lake, dev).up_to_date
    assert lake.merge(dev).commit.message == "dev into main"
    assert (1, "dev") in [row[:2] for row in rows(lake, "d.t")]
