"""Every statement: text on the left, what it means on the right."""

import pytest

from anabranch.sql import parse
from anabranch.sql import statements as st
from anabranch.sql.refs import Name, Ref

D = Name(("d",))
T = Name(("d", "t"))


def column(name, type_text, **options):
    return st.ColumnDef(tuple(name.split(".")), type_text, **options)


DATABASES = {
    "CREATE DATABASE d": st.CreateDatabase(D),
    "create schema if not exists d comment 'it''s' with dbproperties ('a' = 'b', c.d = 1)": st.CreateDatabase(
        D, if_not_exists=True, comment="it's", properties={"a": "b", "c.d": "1"}
    ),
    "CREATE NAMESPACE `d`": st.CreateDatabase(D),
    "ALTER DATABASE d RENAME TO `e f`": st.RenameDatabase(D, Name(("e f",))),
    "ALTER SCHEMA d SET DBPROPERTIES (a = true, 'b' = -1.5)": st.SetDatabaseProperties(D, {"a": "true", "b": "-1.5"}),
    "ALTER DATABASE d UNSET DBPROPERTIES IF EXISTS ('a', b)": st.UnsetDatabaseProperties(D, ("a", "b"), if_exists=True),
    "DROP DATABASE d": st.DropDatabase(D),
    "DROP DATABASE IF EXISTS d CASCADE": st.DropDatabase(D, if_exists=True, cascade=True),
    "DROP SCHEMA d RESTRICT": st.DropDatabase(D),
    "SHOW DATABASES": st.ShowDatabases(),
    "SHOW SCHEMAS LIKE 'a;b*'": st.ShowDatabases("a;b*"),
    "DESCRIBE DATABASE d": st.DescribeDatabase(D),
    "DESC SCHEMA EXTENDED d": st.DescribeDatabase(D, extended=True),
}

CREATE_TABLE = {
    "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING DEFAULT 'x', PRIMARY KEY (id))": st.CreateTable(
        T,
        columns=(column("id", "BIGINT", nullable=False), column("v", "STRING", default_sql="'x'")),
        primary_key=("id",),
    ),
    "CREATE TABLE IF NOT EXISTS d.t@dev (id int PRIMARY KEY) USING parquet": st.CreateTable(
        Name(("d", "t"), Ref("dev")), if_not_exists=True, columns=(column("id", "int"),), primary_key=("id",)
    ),
    "CREATE TABLE d.t (a int, b int, CONSTRAINT pk PRIMARY KEY (a, b))": st.CreateTable(
        T, columns=(column("a", "int"), column("b", "int")), primary_key=("a", "b")
    ),
    "CREATE TABLE d.t (m map<string, struct<a: int NOT NULL COMMENT 'x', b: decimal(10, 2)>> NOT NULL COMMENT 'm')": (
        st.CreateTable(
            T,
            columns=(
                column(
                    "m",
                    "map<string, struct<a: int NOT NULL COMMENT 'x', b: decimal(10, 2)>>",
                    nullable=False,
                    comment="m",
                ),
            ),
        )
    ),
    "CREATE TABLE d.t (a int DEFAULT 1 + f(2, 3) NOT NULL, b boolean DEFAULT a IS NOT NULL, c int DEFAULT NULL)": (
        st.CreateTable(
            T,
            columns=(
                column("a", "int", default_sql="1 + f(2, 3)", nullable=False),
                column("b", "boolean", default_sql="a IS NOT NULL"),
                column("c", "int", default_sql="NULL"),
            ),
        )
    ),
    "CREATE TABLE d.t (comment string COMMENT 'c', first int, `x y` timestamp_ntz) PARTITIONED BY (first, `x y`)": (
        st.CreateTable(
            T,
            columns=(
                column("comment", "string", comment="c"),
                column("first", "int"),
                st.ColumnDef(("x y",), "timestamp_ntz"),
            ),
            partitioned_by=("first", "x y"),
        )
    ),
    "CREATE TABLE d.t (a int) PARTITIONED BY (p date COMMENT 'p') COMMENT 'c' TBLPROPERTIES ('k' 'v')": st.CreateTable(
        T,
        columns=(column("a", "int"), column("p", "date", comment="p")),
        partitioned_by=("p",),
        properties={"k": "v"},
        comment="c",
    ),
    "CREATE TABLE d.t AS SELECT 'a;b' -- c\n FROM d.u": st.CreateTable(T, query="SELECT 'a;b' -- c\n FROM d.u"),
    "CREATE TABLE d.t PARTITIONED BY (a) AS (WITH c AS (SELECT 1 a) SELECT * FROM c);": st.CreateTable(
        T, partitioned_by=("a",), query="(WITH c AS (SELECT 1 a) SELECT * FROM c)"
    ),
    "CREATE TABLE d.t USING anabranch SELECT 1": st.CreateTable(T, query="SELECT 1"),
    "CREATE TABLE d.t LIKE e.u@dev": st.CreateTable(T, like=Name(("e", "u"), Ref("dev"))),
}

ALTER_TABLE = {
    "ALTER TABLE d.t ADD COLUMN a int": st.AddColumns(T, ((column("a", "int"), None),)),
    "ALTER TABLE d.t ADD COLUMNS (a int DEFAULT 5 COMMENT 'x' FIRST, s.f.g string AFTER b)": st.AddColumns(
        T,
        (
            (column("a", "int", default_sql="5", comment="x"), st.Place()),
            (column("s.f.g", "string"), st.Place("b")),
        ),
    ),
    "ALTER TABLE d.t ADD COLUMN a int NOT NULL DEFAULT 'b', c date": st.AddColumns(
        T, ((column("a", "int", nullable=False, default_sql="'b'"), None), (column("c", "date"), None))
    ),
    "ALTER TABLE d.t DROP COLUMN a.b": st.DropColumns(T, (("a", "b"),)),
    "ALTER TABLE d.t DROP COLUMNS IF EXISTS (a, `b.c`)": st.DropColumns(T, (("a",), ("b.c",)), if_exists=True),
    "ALTER TABLE d.t RENAME COLUMN a.b TO c": st.RenameColumn(T, ("a", "b"), "c"),
    "ALTER TABLE d.t ALTER COLUMN a TYPE decimal(20, 2)": st.AlterColumn(T, ("a",), type_text="decimal(20, 2)"),
    "ALTER TABLE d.t ALTER a SET NOT NULL": st.AlterColumn(T, ("a",), nullable=False),
    "ALTER TABLE d.t ALTER COLUMN a DROP NOT NULL": st.AlterColumn(T, ("a",), nullable=True),
    "ALTER TABLE d.t ALTER COLUMN a SET DEFAULT 1 + 1": st.AlterColumn(T, ("a",), default_sql="1 + 1"),
    "ALTER TABLE d.t ALTER COLUMN a DROP DEFAULT": st.AlterColumn(T, ("a",), drop_default=True),
    "ALTER TABLE d.t ALTER COLUMN a.b COMMENT ''": st.AlterColumn(T, ("a", "b"), comment=""),
    "ALTER TABLE d.t ALTER COLUMN a FIRST": st.AlterColumn(T, ("a",), place=st.Place()),
    "ALTER TABLE d.t ALTER COLUMN a AFTER b": st.AlterColumn(T, ("a",), place=st.Place("b")),
    "ALTER TABLE d.t CHANGE COLUMN a b bigint COMMENT 'x' AFTER c": st.AlterColumn(
        T, ("a",), "b", "bigint", comment="x", place=st.Place("c")
    ),
    "ALTER TABLE d.t CHANGE a a bigint": st.AlterColumn(T, ("a",), type_text="bigint"),
    "ALTER TABLE d.t CHANGE COLUMN s.a TYPE bigint": st.AlterColumn(T, ("s", "a"), type_text="bigint"),
    "ALTER TABLE d.t RENAME TO e.u": st.RenameTable(T, Name(("e", "u"))),
    "ALTER TABLE d.t SET TBLPROPERTIES ('a' = 'b')": st.SetProperties(T, {"a": "b"}),
    "ALTER TABLE d.t UNSET TBLPROPERTIES IF EXISTS ('a')": st.UnsetProperties(T, ("a",), if_exists=True),
    "ALTER TABLE d.t ADD PARTITION (a = 1, b = DATE '2026-01-01')": st.AddPartition(
        T, ({"a": "1", "b": "DATE '2026-01-01'"},)
    ),
    "ALTER TABLE d.t ADD IF NOT EXISTS PARTITION (a = 1) PARTITION (a = f(2, 3))": st.AddPartition(
        T, ({"a": "1"}, {"a": "f(2, 3)"}), if_not_exists=True
    ),
    "ALTER TABLE d.t DROP IF EXISTS PARTITION (a = 1), PARTITION (a = 2) PURGE": st.DropPartition(
        T, ({"a": "1"}, {"a": "2"}), if_exists=True
    ),
}

TABLES = {
    "DROP TABLE d.t": st.DropTable(T),
    "DROP TABLE IF EXISTS d.t PURGE": st.DropTable(T, if_exists=True, purge=True),
    "TRUNCATE TABLE d.t": st.TruncateTable(T),
    "TRUNCATE TABLE d.t PARTITION (a = 'x')": st.TruncateTable(T, {"a": "'x'"}),
    "SHOW TABLES": st.ShowTables(),
    "SHOW TABLES IN d LIKE 'x'": st.ShowTables(D, "x"),
    "SHOW TABLES FROM d@dev 'x'": st.ShowTables(Name(("d",), Ref("dev")), "x"),
    "SHOW COLUMNS IN d.t": st.ShowColumns(T),
    "SHOW COLUMNS FROM t FROM d": st.ShowColumns(T),
    "SHOW PARTITIONS d.t": st.ShowPartitions(T),
    "SHOW PARTITIONS d.t PARTITION (a = 1)": st.ShowPartitions(T, {"a": "1"}),
    "SHOW CREATE TABLE d.t": st.ShowCreateTable(T),
    "SHOW TBLPROPERTIES d.t": st.ShowTblProperties(T),
    "SHOW TBLPROPERTIES d.t ('a.b')": st.ShowTblProperties(T, "a.b"),
    "DESCRIBE d.t": st.DescribeTable(T),
    "DESC TABLE EXTENDED d.t": st.DescribeTable(T, extended=True),
    "DESCRIBE FORMATTED d.t@dev": st.DescribeTable(Name(("d", "t"), Ref("dev")), extended=True),
    "DESCRIBE HISTORY d.t": st.DescribeHistory(T),
    "DESCRIBE history.t": st.DescribeTable(Name(("history", "t"))),
    "DESCRIBE EXTENDED extended.t": st.DescribeTable(Name(("extended", "t")), extended=True),
    "DESCRIBE sections.t": st.DescribeTable(Name(("sections", "t"))),
}

ROWS = {
    "INSERT INTO d.t VALUES (1, 'a,b'), (f(2, 3), DEFAULT)": st.Insert(
        T, st.Values((("1", "'a,b'"), ("f(2, 3)", st.DEFAULT)))
    ),
    "INSERT INTO TABLE d.t (a, `b c`) VALUES (1, default)": st.Insert(
        T, st.Values((("1", st.DEFAULT),)), columns=("a", "b c")
    ),
    "INSERT INTO d.t (values, from) VALUES (1, 2)": st.Insert(T, st.Values((("1", "2"),)), columns=("values", "from")),
    "INSERT INTO d.t@dev SELECT * FROM d.u": st.Insert(Name(("d", "t"), Ref("dev")), "SELECT * FROM d.u"),
    "INSERT INTO d.t (SELECT 1)": st.Insert(T, "(SELECT 1)"),
    "INSERT INTO d.t ((SELECT 1))": st.Insert(T, "((SELECT 1))"),
    "INSERT INTO d.t TABLE d.u": st.Insert(T, "TABLE d.u"),
    "INSERT INTO d.t FROM d.u SELECT a": st.Insert(T, "FROM d.u SELECT a"),
    "INSERT INTO d.t VALUES 1, 2": st.Insert(T, "VALUES 1, 2"),
    "INSERT INTO d.t VALUES (1) AS v(a)": st.Insert(T, "VALUES (1) AS v(a)"),
    "INSERT INTO d.t VALUES (1), struct(2)": st.Insert(T, "VALUES (1), struct(2)"),
    "INSERT INTO d.t WITH c AS (SELECT 1) SELECT * FROM c": st.Insert(T, "WITH c AS (SELECT 1) SELECT * FROM c"),
    "INSERT OVERWRITE d.t SELECT 1": st.Insert(T, "SELECT 1", overwrite=True),
    "INSERT OVERWRITE TABLE d.t PARTITION (a = 1 + 1, b) (c) SELECT 1, 2": st.Insert(
        T, "SELECT 1, 2", columns=("c",), overwrite=True, partition={"a": "1 + 1", "b": None}
    ),
    "INSERT INTO d.t BY NAME SELECT 1 AS a": st.Insert(T, "SELECT 1 AS a", by_name=True),
    "WITH c AS (SELECT 1) INSERT INTO d.t SELECT * FROM c": st.Insert(T, "WITH c AS (SELECT 1) SELECT * FROM c"),
    "WITH c AS (SELECT 1) INSERT OVERWRITE d.t WITH e AS (SELECT 2) SELECT * FROM e": st.Insert(
        T, "WITH c AS (SELECT 1) (WITH e AS (SELECT 2) SELECT * FROM e)", overwrite=True
    ),
    "DELETE FROM d.t": st.Delete(T),
    "DELETE FROM d.t AS x WHERE x.a IN (SELECT b FROM d.u WHERE c)": st.Delete(
        T, "x", "x.a IN (SELECT b FROM d.u WHERE c)"
    ),
    "DELETE FROM d.t@dev `x` WHERE a = ';' -- done": st.Delete(Name(("d", "t"), Ref("dev")), "x", "a = ';'"),
    "UPDATE d.t SET a = a + 1": st.Update(T, ((("a",), "a + 1"),)),
    "UPDATE d.t x SET s.f = if(a, b, c), `d e` = DEFAULT WHERE x.a > 1": st.Update(
        T, ((("s", "f"), "if(a, b, c)"), (("d e",), st.DEFAULT)), "x", "x.a > 1"
    ),
    "UPDATE d.t SET a = (SELECT max(b) FROM d.u WHERE c = 1) WHERE a = 2": st.Update(
        T, ((("a",), "(SELECT max(b) FROM d.u WHERE c = 1)"),), None, "a = 2"
    ),
    "SELECT 1": st.Query(),
    "WITH c AS (SELECT 1) SELECT * FROM c": st.Query(),
    "VALUES (1)": st.Query(),
    "TABLE d.t": st.Query(),
    "FROM d.t": st.Query(),
    "(SELECT 1) UNION (SELECT 2)": st.Query(),
}

BRANCHES = {
    "CREATE BRANCH b": st.CreateBranch("b"),
    "CREATE BRANCH IF NOT EXISTS `b-1` FROM a AT VERSION 7": st.CreateBranch("b-1", "a", 7, if_not_exists=True),
    "CREATE BRANCH b AT VERSION 0": st.CreateBranch("b", None, 0),
    "DROP BRANCH IF EXISTS b": st.DropBranch("b", if_exists=True),
    "ALTER BRANCH a RENAME TO b": st.RenameBranch("a", "b"),
    "RENAME BRANCH a TO b": st.RenameBranch("a", "b"),
    "USE BRANCH `é b`": st.UseBranch("é b"),
    "SHOW BRANCHES": st.ShowBranches(),
    "SHOW CURRENT BRANCH": st.ShowCurrentBranch(),
    "CREATE TAG t": st.CreateTag("t"),
    "CREATE TAG IF NOT EXISTS t FROM b": st.CreateTag("t", "b", if_not_exists=True),
    "CREATE TAG t AS OF b AT VERSION 3": st.CreateTag("t", "b", 3),
    "DROP TAG t": st.DropTag("t"),
    "ALTER TAG t RENAME TO u": st.RenameTag("t", "u"),
    "RENAME TAG t TO u": st.RenameTag("t", "u"),
    "SHOW TAGS": st.ShowTags(),
    "COMMENT ON TABLE d.t IS 'it''s'": st.CommentOnTable(Name(("d", "t")), "it's"),
    "COMMENT ON TABLE d.t@dev IS NULL": st.CommentOnTable(Name(("d", "t"), Ref("dev")), None),
    "SHOW LOG": st.ShowLog(),
    "SHOW LOG IN dev LIMIT 5": st.ShowLog("dev", 5),
    "SHOW LOG IN dev@3 LIMIT 5": st.ShowLog("dev", 5, version=3),
    "SHOW LOG IN dev AT VERSION 3": st.ShowLog("dev", version=3),
    "SHOW LOG LIMIT 5": st.ShowLog(None, 5),
    "CREATE BRANCH b FROM dev@3": st.CreateBranch("b", "dev", 3, False),
    "CREATE TAG t FROM `a b`@3": st.CreateTag("t", "a b", 3, False),
    "SHOW LOG GRAPH": st.ShowLog(graph=True),
    "SHOW LOG GRAPH IN dev LIMIT 5": st.ShowLog("dev", 5, graph=True),
    "RESTORE TABLE d.t TO VERSION 3": st.RestoreTable(T, 3),
    "RESTORE TABLE d.t TO VERSION AS OF 3": st.RestoreTable(T, 3),
    "RESTORE DATABASE d TO TIMESTAMP '2026-01-01 00:00:00'": st.RestoreDatabase(D, None, "2026-01-01 00:00:00"),
    "RESTORE BRANCH b TO VERSION 3": st.RestoreBranch("b", 3),
    "RESTORE BRANCH TO VERSION 3": st.RestoreBranch(None, 3),
    "EXPLAIN SELECT 1": st.Explain(st.Query()),
    "EXPLAIN EXTENDED DELETE FROM d.t": st.Explain(st.Delete(T), extended=True),
}

MERGING = {
    "MERGE BRANCH dev": st.MergeBranch("dev"),
    "MERGE BRANCH `dev-1` TO `my main`": st.MergeBranch("dev-1", "my main"),
    "MERGE BRANCH dev INTO main DRY RUN": st.MergeBranch("dev", "main", dry_run=True),
    "MERGE BRANCH dev@12 DRY RUN": st.MergeBranch("dev@12", dry_run=True),
    "MERGE BRANCH `dev-1`@12 TO main": st.MergeBranch("dev-1@12", "main"),
    "MERGE BRANCH dev RESOLVE USING OURS": st.MergeBranch("dev", resolve="ours"),
    "MERGE BRANCH dev WITH (detect = 'cell')": st.MergeBranch("dev", detect="cell"),
    "MERGE BRANCH dev TO b WITH (DETECT 'row') RESOLVE USING THEIRS RESOLVE TABLE d.t USING OURS DRY RUN": (
        st.MergeBranch("dev", "b", dry_run=True, resolve="theirs", tables={T: "ours"}, detect="row")
    ),
    "MERGE BRANCH dev RESOLVE TABLE d.t USING OURS RESOLVE TABLE `a b`.u USING THEIRS": st.MergeBranch(
        "dev", tables={T: "ours", Name(("a b", "u")): "theirs"}
    ),
    "SHOW CONFLICTS IN dev": st.ShowConflicts("dev"),
    "SHOW CONFLICTS IN dev INTO main": st.ShowConflicts("dev", "main"),
    "SHOW CONFLICTS IN dev@3 TO main WITH (detect = 'row')": st.ShowConflicts("dev@3", "main", "row"),
    "CHERRY PICK 12": st.CherryPick(12),
    "CHERRY PICK dev@12 DRY RUN": st.CherryPick("dev@12", dry_run=True),
    "CHERRY PICK `dev-1`@12 RESOLVE USING THEIRS": st.CherryPick("dev-1@12", resolve="theirs"),
    "REVERT '12'": st.Revert("12"),
    "REVERT abcdef12": st.Revert("abcdef12"),
    "REVERT 12abcdef": st.Revert("12abcdef"),
    "REVERT 3e4": st.Revert("3e4"),
    "REVERT 0f3e4567-89ab-4def-8012-3456789abcde WITH (detect = 'cell')": st.Revert(
        "0f3e4567-89ab-4def-8012-3456789abcde", detect="cell"
    ),
    "DIFF main dev": st.Diff("main", "dev"),
    "DIFF 3 dev@12": st.Diff(3, "dev@12"),
    "DIFF `a b` 7 TABLE d.t": st.Diff("a b", 7, T),
    "DESCRIBE SECTIONS d.t": st.DescribeSections(T),
    "DESCRIBE SECTIONS d.t@dev AGAINST main": st.DescribeSections(Name(("d", "t"), Ref("dev")), "main"),
    "DESCRIBE SECTIONS.t": st.DescribeTable(Name(("SECTIONS", "t"))),
}

CASES = DATABASES | CREATE_TABLE | ALTER_TABLE | TABLES | ROWS | BRANCHES | MERGING


@pytest.mark.parametrize("text", CASES)
def test_a_statement(text):
    assert parse(text) == CASES[text]


@pytest.mark.parametrize("text", CASES)
def test_case_space_and_comments_around_words_do_not_matter(text):
    assert parse(f"/* SHOW */ -- x\n  {text.rstrip(';')}\n -- y\n ; -- z") == CASES[text]


def test_a_statement_keeps_its_text():
    explain = parse("  EXPLAIN /* why */ SELECT 'a' ; ")
    assert explain.text == "EXPLAIN /* why */ SELECT 'a'"
    assert explain.statement.text == "SELECT 'a'"


NAMES = {
    "d.t": Name(("d", "t")),
    "`a b`.`c.d``e`": Name(("a b", "c.d`e")),
    "`é😀`.日本": Name(("é😀", "日本")),
    "`a@b`.`t@dev`": Name(("a@b", "t@dev")),
    "table.select": Name(("table", "select")),
    "d.1t": Name(("d", "1t")),
    "d.t@dev": Name(("d", "t"), Ref("dev")),
    "d.t@`x y`": Name(("d", "t"), Ref("x y")),
    "d.t@dev@12": Name(("d", "t"), Ref("dev", version=12)),
    "d.t@12": Name(("d", "t"), Ref(version=12)),
    "d.t@`12`": Name(("d", "t"), Ref("12")),
    "d.t VERSION AS OF 12": Name(("d", "t"), Ref(version=12)),
    "d.t FOR VERSION AS OF 'dev'": Name(("d", "t"), Ref("dev")),
    "d.t FOR SYSTEM_VERSION AS OF 12": Name(("d", "t"), Ref(version=12)),
    "d.t TIMESTAMP AS OF '2026-01-01'": Name(("d", "t"), Ref(timestamp="2026-01-01")),
    "d.t for system_time as of TIMESTAMP '2026-01-01'": Name(("d", "t"), Ref(timestamp="2026-01-01")),
    "d.t@dev VERSION AS OF 12": Name(("d", "t"), Ref("dev", version=12)),
    "d.t@dev TIMESTAMP AS OF '2026-01-01'": Name(("d", "t"), Ref("dev", timestamp="2026-01-01")),
}


@pytest.mark.parametrize("text", NAMES)
def test_a_name(text):
    statement = parse(f"DESCRIBE {text}")
    assert statement.name == NAMES[text]
    assert statement.name.position == len("DESCRIBE ")
