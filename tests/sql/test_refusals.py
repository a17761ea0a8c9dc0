"""What is refused: each with its reason, and where it stands in the text. `¦` marks the position."""

import pytest

from anabranch.errors import Refused, SqlError
from anabranch.sql import parse

ERRORS = {
    "": "no statement",
    "¦SELEC 1": "Did you mean SELECT",
    "CREATE ¦TABEL d.t (a int)": "Did you mean CREATE TABLE",
    "SHOW ¦LOGS": "Did you mean SHOW LOG",
    "¦FROBNICATE": "does not begin a statement",
    "¦SET x = 3": "SET does not begin a statement (line",
    "USE ¦dev": "expected BRANCH after USE, found dev: write USE BRANCH dev (line",
    "USE ¦`my dev`;": "found `my dev`: write USE BRANCH `my dev` (line",
    "USE ¦BRANSH": "expected BRANCH after USE, found BRANSH. Did you mean USE BRANCH?",
    "USE ¦DATABASE d": "expected BRANCH after USE, found DATABASE (line",
    "USE¦": "expected BRANCH after USE, found the end (line",
    "¦'a'": "does not begin a statement",
    "MERGE INTO d.t¦": "expected USING, found the end",
    "MERGE INTO d.t USING d.s¦": "expected ON, found the end",
    "MERGE INTO d.t USING d.s ON t.a = s.a¦": "expected WHEN MATCHED",
    "MERGE INTO d.t USING d.s ON t.a = s.a WHEN ¦MATCHED THEN INSERT *": "WHEN MATCHED can only UPDATE or DELETE",
    "MERGE INTO d.t USING d.s ON t.a = s.a WHEN ¦NOT MATCHED THEN DELETE": "WHEN NOT MATCHED can only INSERT",
    "MERGE INTO d.t USING d.s ON t.a = s.a WHEN ¦NOT MATCHED BY SOURCE THEN UPDATE SET *": "has no source row here",
    "¦BEGIN": "BEGIN is not available",
    "¦CREATE OR REPLACE VIEW d.v AS SELECT 1": "CREATE OR REPLACE VIEW is not available",
    "EXPLAIN ¦VACUUM": "VACUUM is not available",
    "DROP TABLE ¦t": "write database.table",
    "DROP TABLE ¦a.b.c": "write database.table",
    "CREATE DATABASE ¦a.b": "one piece",
    "DROP TABLE d.t ¦x": "expected the end of the statement, found x",
    "DROP TABLE d.t; ¦DROP TABLE d.u": "expected the end of the statement, found DROP",
    "DROP TABLE d.¦": "expected a table name, found the end",
    "DROP TABLE d.¦'t'": "expected a table name, found 't'",
    "DROP TABLE ¦``.t": "expected a table name, found an empty one",
    "DROP TABLE ¦d.t@3": "past version",
    "INSERT INTO ¦d.t VERSION AS OF 3 VALUES (1)": "past version",
    "DESCRIBE d.t@dev@3 ¦VERSION AS OF 4": "two versions",
    "DESCRIBE d.t VERSION AS OF ¦x": "expected a version, a whole number, found x",
    "DESCRIBE d.t TIMESTAMP AS OF ¦current_date()": "expected a time in quotes",
    "DESCRIBE d.t ¦col": "no column",
    "CREATE BRANCH feature¦-1": "backquotes",
    "CREATE BRANCH a FROM b AT VERSION ¦-1": "expected a version",
    "CREATE TABLE d.t ¦": "expected ( with columns, or AS with a query, found the end",
    "CREATE TABLE d.t (a int¦": "expected )",
    "CREATE TABLE d.t (¦a int FIRST)": "ALTER TABLE",
    "CREATE TABLE d.t (a ¦)": "expected a type, found )",
    "CREATE TABLE d.t (a array<int¦": "to close the type",
    "CREATE TABLE d.t (a int DEFAULT ¦)": "expected a default",
    "CREATE TABLE d.t (a int COMMENT ¦x)": "expected a comment in quotes, found x",
    "CREATE TABLE d.t (a int PRIMARY KEY, ¦b int PRIMARY KEY)": "two primary keys",
    "CREATE TABLE ¦d.t (a int) AS SELECT 1": "the query gives them",
    "CREATE TABLE d.t (a int) USING ¦orc": "every table is USING anabranch",
    "CREATE TABLE d.t (a int) TBLPROPERTIES ('a' = 1, ¦'a' = 2)": "given twice",
    "CREATE TABLE d.t (a int) COMMENT 'a' ¦COMMENT 'b'": "given twice",
    "ALTER TABLE d.t ¦FROB": "expected ADD or DROP",
    "ALTER TABLE d.t ADD ¦a int": "expected COLUMNS or COLUMN or PARTITION, found a",
    "ALTER TABLE d.t ALTER COLUMN a ¦int": "expected TYPE, SET, DROP",
    "ALTER TABLE d.t RENAME TO ¦u": "write database.table",
    "ALTER TABLE d.t DROP ¦PARTITION (a)": "needs a value",
    "ALTER TABLE d.t DROP PARTITION (a ¦> 1)": "expected )",
    "INSERT INTO d.t ¦": "expected VALUES or a query, found the end",
    "INSERT INTO d.t (a) ¦b": "expected VALUES or a query, found b",
    "INSERT INTO d.t VALUES (1, ¦)": "expected a value",
    "INSERT INTO d.t VALUES (¦,1)": "expected a value",
    "INSERT INTO d.t VALUES (1¦": "expected ), found the end",
    "¦WITH c AS (SELECT 1) DELETE FROM d.t": "DELETE takes no WITH",
    "DELETE FROM d.t WHERE ¦": "expected a condition, found the end",
    "DELETE FROM d.t WHERE a = 1¦)": "expected the end of the statement, found )",
    "DELETE FROM d.t WHERE f¦(a": "not closed",
    "DELETE FROM d.t WHERE f(a¦]": "expected ), found ]",
    "DELETE FROM d.t ¦LIMIT 1": "expected the end of the statement, found LIMIT",
    "DELETE FROM d.t ¦SET a = 1": "expected the end of the statement, found SET",
    "UPDATE d.t ¦": "expected SET, found the end",
    "UPDATE d.t ¦WHERE id = 1": "expected SET, found WHERE",
    "UPDATE d.t SET a ¦+ 1": "expected = or ==, found +",
    "UPDATE d.t SET a = ¦WHERE b": "expected a value, found WHERE",
    "RESTORE TABLE d.t TO ¦3": "expected VERSION or TIMESTAMP, found 3",
    "MERGE BRANCH ¦": "expected a branch or tag name, found the end",
    "MERGE ¦BRANSH dev": "Did you mean MERGE BRANCH",
    "MERGE BRANCH dev TO main ¦INTO main": "expected the end of the statement, found INTO",
    "MERGE BRANCH dev TO main¦@3": "expected the end of the statement, found @",
    "MERGE BRANCH dev@¦x": "expected a version, a whole number, found x",
    "MERGE BRANCH dev RESOLVE ¦OURS": "expected USING, found OURS",
    "MERGE BRANCH dev RESOLVE USING ¦MINE": "expected OURS or THEIRS, found MINE",
    "MERGE BRANCH dev RESOLVE TABLE ¦t USING OURS": "write database.table",
    "MERGE BRANCH dev RESOLVE TABLE ¦d.t@dev USING OURS": "the branches are named already",
    "MERGE BRANCH dev RESOLVE TABLE d.t USING OURS RESOLVE TABLE ¦d.t USING OURS": "the table 'd.t' is given twice",
    "MERGE BRANCH dev DRY RUN ¦DRY RUN": "DRY RUN is given twice",
    "MERGE BRANCH dev WITH ¦(detekt = 'row')": "Did you mean 'detect'?",
    "MERGE BRANCH dev WITH (detect = ¦row)": "true or false, found row: write 'row'",
    "MERGE BRANCH dev WITH (detect = ¦`row`)": "write 'row'",
    "MERGE BRANCH dev WITH (detect = ¦)": "true or false, found )",
    "SHOW CONFLICTS ¦dev": "expected IN or FROM, found dev",
    "SHOW CONFLICTS IN dev ¦DRY RUN": "expected the end of the statement, found DRY",
    "CHERRY PICK ¦": "expected a commit",
    "CHERRY PICK ¦(": "expected a commit",
    "REVERT 3 ¦RESOLVE TABLE d.t USING OURS": "only MERGE BRANCH resolves table by table",
    "DIFF main ¦": "expected a branch or tag name, found the end",
    "DIFF main dev TABLE ¦d.t@dev": "the branches are named already",
    "DESCRIBE SECTIONS ¦t": "write database.table",
    "DESCRIBE SECTIONS d.t AGAINST ¦": "expected a branch or tag name, found the end",
    "SELECT ¦'abc": "this string is not closed",
    "SELECT 'a' ¦\"abc": "this string is not closed",
    "SELECT ¦`abc 'x'": "this name is not closed",
    "SELECT 1 ¦/* 'x' `": "this comment is not closed",
    "EXPLAIN ¦EXPLAIN SELECT 1": "expected a statement",
}


@pytest.mark.parametrize("marked", ERRORS)
def test_an_error_and_its_position(marked):
    text = marked.replace("¦", "")
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert ERRORS[marked] in str(caught.value)
    if "¦" in marked:
        assert caught.value.position == min(marked.index("¦"), len(text.rstrip()))


REFUSED = {
    "CREATE OR REPLACE TABLE d.t (a int)": "CREATE OR REPLACE TABLE",
    "CREATE EXTERNAL TABLE d.t (a int)": "EXTERNAL",
    "CREATE TEMPORARY TABLE d.t (a int)": "TEMPORARY",
    "CREATE TABLE d.t (a int) LOCATION '/x'": "LOCATION",
    "CREATE TABLE d.t (a int) CLUSTERED BY (a) INTO 4 BUCKETS": "CLUSTERED BY",
    "CREATE TABLE d.t (a int) OPTIONS (a = 1)": "OPTIONS",
    "CREATE TABLE d.t (a int) PARTITIONED BY (bucket(4, a))": "bucket",
    "CREATE TABLE d.t (a int, CHECK (a > 1))": "CHECK",
    "CREATE TABLE d.t (a int, CONSTRAINT c FOREIGN KEY (a) REFERENCES d.u)": "CONSTRAINT",
    "CREATE TABLE d.t (a int GENERATED ALWAYS AS (1))": "GENERATED",
    "CREATE DATABASE d LOCATION '/x'": "LOCATION",
    "ALTER TABLE d.t SET LOCATION '/x'": "SET LOCATION",
    "ALTER TABLE d.t REPLACE COLUMNS (a int)": "REPLACE COLUMNS",
    "ALTER TABLE d.t ADD CONSTRAINT c PRIMARY KEY (a)": "CREATE TABLE",
    "ALTER TABLE d.t ADD PARTITION (a = 1) LOCATION '/x'": "LOCATION",
    "INSERT OVERWRITE d.t PARTITION (a = 1) IF NOT EXISTS SELECT 1": "IF NOT EXISTS",
    "INSERT INTO d.t REPLACE WHERE a = 1 SELECT 1": "REPLACE WHERE",
    "INSERT OVERWRITE DIRECTORY '/x' SELECT 1": "DIRECTORY",
    "FROM d.t INSERT INTO d.u SELECT a INSERT INTO d.v SELECT b": "FROM … INSERT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_understood_and_refused(text):
    with pytest.raises(Refused, match=r"is refused: .*\.$") as caught:
        parse(text)
    assert REFUSED[text] in str(caught.value)
