"""Histories on which model and lake once disagreed, shrunk: name -> statements. All begin with a database d."""

SHRUNK = {
    "a new row of a MERGE INTO that was updated and deleted is no insert": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT); INSERT INTO d.t (k, a) VALUES (0, 0); CREATE BRANCH dev FROM main;"
        " MERGE INTO d.t AS t USING (VALUES (0, 0), (2, 0)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = "
        "s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); UPDATE d.t SET a = 0 WHERE k = 2; DELETE FROM d.t"
        " WHERE k = 2; USE BRANCH dev; UPDATE d.t SET a = 0 WHERE k = 0; USE BRANCH main; MERGE BRANCH dev"
    ),
    "a merge by THEIRS brings an UPDATE of a row that ours had deleted: its statement stands": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; INSERT OVERWRITE d.t "
        "PARTITION (p = 1) (k, a) VALUES (4, 0); USE BRANCH x; DELETE FROM d.t WHERE k < 2; USE BRANCH main; UPDATE "
        "d.t SET b = 19 WHERE k >= 1; USE BRANCH x; MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'file'); "
        "USE BRANCH a; INSERT INTO d.t (k, a, p) VALUES (2, 1, 0); MERGE BRANCH x WITH (detect = 'row')"
    ),
    "an UPDATE that showed nothing, of a row that theirs then took from elsewhere, still reaches inserts": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES (1, 0, "
        "0), (2, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH a; UPDATE d.t SET a = 1 WHERE k"
        " = 1; USE BRANCH x; UPDATE d.t SET a = 0 WHERE k < 4; USE BRANCH a; UPDATE d.t SET a = 3 WHERE k = 1; USE "
        "BRANCH main; INSERT INTO d.t (k, a, p) VALUES (2, 2, 1); USE BRANCH x; MERGE BRANCH a@4 WITH (detect = "
        "'row'); USE BRANCH main; MERGE BRANCH x WITH (detect = 'row')"
    ),
    "REVERT of a merge brings NULL back in a column that the merge made one": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT DEFAULT 0); INSERT INTO d.t (k, a) VALUES (0, 0); CREATE BRANCH dev "
        "FROM main; ALTER TABLE d.t ADD COLUMN c INT; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN c INT DEFAULT 0; "
        "UPDATE d.t SET c = 0 WHERE k = 0; USE BRANCH main; MERGE BRANCH dev WITH (detect = 'row'); REVERT main@5"
    ),
    "the base of an UPDATE in a column that is one with ours, of another type": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM "
        "main; ALTER TABLE d.t ADD COLUMN c INT; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN c BIGINT DEFAULT 0; "
        "INSERT INTO d.t (k, c) VALUES (0, 0); USE BRANCH main; MERGE BRANCH dev; RESTORE TABLE d.t TO VERSION 3; USE"
        " BRANCH exp; MERGE BRANCH main; USE BRANCH dev; UPDATE d.t SET c = 1 WHERE k = 0; USE BRANCH exp; CHERRY "
        "PICK dev@5"
    ),
    "a table that ours dropped again, after theirs had revived it": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH dev FROM"
        " main; CREATE BRANCH exp FROM main; USE BRANCH exp; DELETE FROM d.t WHERE k = 1; USE BRANCH dev; DROP TABLE "
        "d.t; USE BRANCH main; MERGE BRANCH dev RESOLVE USING OURS WITH (detect = 'row'); MERGE BRANCH exp RESOLVE "
        "USING THEIRS WITH (detect = 'cell'); USE BRANCH exp; MERGE BRANCH dev WITH (detect = 'row'); MERGE BRANCH "
        "main WITH (detect = 'file')"
    ),
    "a column that came and went is no change of a table that ours dropped": (
        "CREATE TABLE d.t (k INT, a INT, b INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH"
        " exp; ALTER TABLE d.t ADD COLUMN c INT; ALTER TABLE d.t DROP COLUMN c; USE BRANCH dev; DROP TABLE d.t; MERGE"
        " BRANCH exp WITH (detect = 'file')"
    ),
    "REVERT of a DROP COLUMN that never came here changes no default": (
        "CREATE TABLE d.t (k INT, b INT); INSERT INTO d.t (k, b) VALUES (1, 5); CREATE BRANCH dev FROM main; CREATE "
        "BRANCH exp FROM dev; USE BRANCH dev; ALTER TABLE d.t ALTER COLUMN b SET DEFAULT 3; ALTER TABLE d.t DROP COLUMN"
        " b; USE BRANCH exp; REVERT dev@5"
    ),
    "a REVERT that only exchanges a version for one that shows the same": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (3, 0), (1, 1); CREATE BRANCH exp FROM main; "
        "USE BRANCH exp; UPDATE d.t SET a = a + 0 WHERE k >= 3; REVERT main@3 RESOLVE USING OURS; USE BRANCH main; "
        "REVERT exp@5 RESOLVE USING OURS"
    ),
    "updates that ours has overwritten stay away, though their parts lack columns of ours": (
        "CREATE TABLE d.t (k INT, p INT, a INT, b INT); INSERT INTO d.t (k, p, a, b) VALUES (1, 0, 0, 5), (2, 0, 0, 6),"
        " (3, 1, NULL, 7); CREATE BRANCH exp FROM main; INSERT OVERWRITE d.t (k, p, b) VALUES (2, 0, 3); USE BRANCH "
        "exp; ALTER TABLE d.t DROP COLUMN a; ALTER TABLE d.t DROP COLUMN b; UPDATE d.t SET p = 2 WHERE k >= 1; USE "
        "BRANCH main; CHERRY PICK exp@6"
    ),
    "REVERT of a change of a column that is not here, of a row that is gone": (
        "CREATE TABLE d.t (k INT, p INT, a INT, b INT); INSERT INTO d.t (k, p, a, b) VALUES (1, 0, 0, 5), (2, 0, 0, 6);"
        " CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; ALTER TABLE d.t DROP COLUMN b; USE BRANCH dev; "
        "DELETE FROM d.t WHERE k = 1; USE BRANCH exp; ALTER TABLE d.t ALTER COLUMN b TYPE DOUBLE; USE BRANCH main; "
        "ALTER TABLE d.t ADD COLUMN x BIGINT; USE BRANCH exp; MERGE BRANCH main RESOLVE USING OURS; UPDATE d.t SET x = "
        "k + 3; USE BRANCH dev; REVERT exp@6 RESOLVE USING THEIRS"
    ),
    "a row that each side got back in its own version is no insert of ours, either": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (1, 0), (2, 0); CREATE BRANCH a FROM "
        "main; CREATE BRANCH x FROM main; INSERT INTO d.t (id, a) VALUES (5, 3); USE BRANCH x; INSERT INTO d.t (id, a) "
        "VALUES (4, 2); USE BRANCH main; DELETE FROM d.t WHERE id > 4; USE BRANCH x; INSERT INTO d.t (id, a) VALUES (4,"
        " 0); USE BRANCH main; MERGE BRANCH x WITH (detect = 'file'); USE BRANCH x; RESTORE TABLE d.t TO VERSION 4; USE"
        " BRANCH a; CHERRY PICK main@6; USE BRANCH x; INSERT INTO d.t (id, a) VALUES (2, 3); USE BRANCH main; UPDATE "
        "d.t SET a = 1 WHERE id > 1; USE BRANCH x; MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'cell'); USE "
        "BRANCH a; UPDATE d.t SET b = 1 WHERE id < 7; USE BRANCH x; MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = "
        "'row')"
    ),
    "an UPDATE of a column that is one with ours', as only the history knows": (
        "CREATE TABLE d.t (k INT, a INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH "
        "dev; ALTER TABLE d.t ADD COLUMN c INT DEFAULT 2; USE BRANCH exp; ALTER TABLE d.t ADD COLUMN c INT "
        "DEFAULT 3; INSERT INTO d.t (k, c) VALUES (1, 1); USE BRANCH dev; MERGE BRANCH exp; RESTORE TABLE d.t TO "
        "VERSION 3; USE BRANCH main; MERGE BRANCH dev; USE BRANCH exp; UPDATE d.t SET c = 0 WHERE k = 1; USE "
        "BRANCH main; CHERRY PICK exp@5; MERGE BRANCH exp WITH (detect = 'row'); MERGE BRANCH exp WITH (detect = "
        "'cell')"
    ),
    "the same, after a REVERT of the merge that made the two one": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH dev FROM main; ALTER TABLE d.t "
        "ADD COLUMN c INT; ALTER TABLE d.t ADD COLUMN x INT; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN c INT; "
        "ALTER TABLE d.t ADD COLUMN y INT; USE BRANCH main; MERGE BRANCH dev; REVERT main@6; USE BRANCH dev; "
        "UPDATE d.t SET c = 1; USE BRANCH main; MERGE BRANCH dev"
    ),
    "CHERRY PICK of a REVERT that brings a table back deletes nothing that was deleted before": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (2), (3); CREATE BRANCH exp FROM main; USE BRANCH "
        "exp; DELETE FROM d.t WHERE k = 2; DROP TABLE d.t; REVERT exp@5; USE BRANCH main; CHERRY PICK exp@6"
    ),
    "REVERT of a merge of another branch, which had dropped a column: ours' key goes back whole": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine' = "
        "'deduplicate'); INSERT INTO d.t (k, a, b) VALUES (0, 0, 0); CREATE BRANCH dev FROM main; CREATE BRANCH exp "
        "FROM main; USE BRANCH dev; ALTER TABLE d.t DROP COLUMN a; USE BRANCH exp; INSERT INTO d.t (k, a) VALUES (0, "
        "NULL); USE BRANCH dev; MERGE BRANCH exp@4; USE BRANCH exp; REVERT dev@5"
    ),
    "a change of a column whose other name only the history knows": (
        "CREATE TABLE d.t (k INT, a INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; "
        "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 2; USE BRANCH exp; ALTER TABLE d.t ADD COLUMN c INT DEFAULT 3; "
        "INSERT INTO d.t (k, c) VALUES (1, 1); USE BRANCH dev; MERGE BRANCH exp; RESTORE TABLE d.t TO VERSION 3; USE "
        "BRANCH main; MERGE BRANCH dev; USE BRANCH exp; UPDATE d.t SET c = 0 WHERE k = 1; USE BRANCH main; CHERRY PICK "
        "exp@5; MERGE BRANCH exp WITH (detect = 'row')"
    ),
    "a pick of what brought a table back deletes no row that had been deleted before": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (2); CREATE BRANCH exp FROM main; USE BRANCH exp; DELETE "
        "FROM d.t; DROP TABLE d.t; REVERT exp@5; USE BRANCH main; CHERRY PICK exp@6"
    ),
    "the same, by RESTORE": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (2); CREATE BRANCH exp FROM main; USE BRANCH exp; DELETE "
        "FROM d.t; DROP TABLE d.t; RESTORE TABLE d.t TO VERSION 4; USE BRANCH main; CHERRY PICK exp@6"
    ),
    "columns that a branch made one, and took back, stay one where that branch is merged": (
        "CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH dev; ALTER "
        "TABLE d.t ADD COLUMN c INT; USE BRANCH exp; ALTER TABLE d.t ADD COLUMN c INT; USE BRANCH dev; MERGE BRANCH "
        "exp; RESTORE TABLE d.t TO VERSION 3; USE BRANCH main; MERGE BRANCH dev; USE BRANCH exp; INSERT INTO d.t (k, "
        "c) VALUES (1, 1); USE BRANCH main; MERGE BRANCH exp"
    ),
    "the same, by REVERT, and the third branch has rows of its own": (
        "CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH dev; ALTER "
        "TABLE d.t ADD COLUMN c INT DEFAULT 2; USE BRANCH exp; ALTER TABLE d.t ADD COLUMN c INT; INSERT INTO d.t (k, c)"
        " VALUES (3, 3); USE BRANCH dev; MERGE BRANCH exp; REVERT dev@4; USE BRANCH main; MERGE BRANCH dev; INSERT "
        "INTO d.t (k, c) VALUES (2, 2); USE BRANCH exp; INSERT INTO d.t (k, c) VALUES (1, 1); USE BRANCH main; MERGE "
        "BRANCH exp; MERGE BRANCH dev"
    ),
    "a property that both unset hides no other conflict of its table": (
        "CREATE TABLE d.t (k INT, a SMALLINT); ALTER TABLE d.t SET TBLPROPERTIES ('x' = '0'); INSERT INTO d.t (k, a) "
        "VALUES (1, 1); CREATE BRANCH dev FROM main; ALTER TABLE d.t UNSET TBLPROPERTIES ('x'); UPDATE d.t SET k = 2; "
        "ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT; USE BRANCH dev; ALTER TABLE d.t UNSET TBLPROPERTIES ('x'); UPDATE "
        "d.t SET k = 3; ALTER TABLE d.t ALTER COLUMN a TYPE INT; USE BRANCH main; MERGE BRANCH dev; MERGE BRANCH dev "
        "WITH (detect = 'row')"
    ),
    "nor does one of a database": (
        "ALTER DATABASE d SET DBPROPERTIES ('x' = '0'); CREATE BRANCH dev FROM main; ALTER DATABASE d UNSET "
        "DBPROPERTIES ('x'); CREATE DATABASE e; USE BRANCH dev; ALTER DATABASE d UNSET DBPROPERTIES ('x'); ALTER "
        "DATABASE d RENAME TO e; USE BRANCH main; MERGE BRANCH dev"
    ),
    "a CASCADE that comes by a merge is one for the next merge": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; DROP DATABASE d CASCADE; USE BRANCH exp; MERGE "
        "BRANCH main; USE BRANCH dev; CREATE TABLE d.t (k INT); MERGE BRANCH exp"
    ),
    "and so is one that comes by a pick": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; DROP DATABASE d CASCADE; USE BRANCH exp; CHERRY "
        "PICK main@2; USE BRANCH dev; CREATE TABLE d.t (k INT); MERGE BRANCH exp"
    ),
    "a drop that comes by a merge, and is no CASCADE, takes no table along": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; DROP DATABASE d; USE BRANCH exp; MERGE BRANCH main; "
        "USE BRANCH dev; CREATE TABLE d.t (k INT); MERGE BRANCH exp"
    ),
    "RESTORE DATABASE keeps a table that was moved in, and drops one that was made since": (
        "CREATE TABLE d.t (k INT); CREATE DATABASE e; ALTER TABLE d.t RENAME TO e.t; CREATE TABLE e.u (k INT); RESTORE "
        "DATABASE e TO VERSION 3"
    ),
    "RESTORE DATABASE is refused where a table that was moved in has the name": (
        "CREATE TABLE d.t (k INT); CREATE DATABASE e; CREATE TABLE e.t (k INT); DROP TABLE e.t; ALTER TABLE d.t RENAME "
        "TO e.t; RESTORE DATABASE e TO VERSION 4"
    ),
    "a property that both set alike is no news, whatever else ours set": (
        "CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; ALTER TABLE d.t SET TBLPROPERTIES ('y' = '1'); ALTER "
        "TABLE d.t SET TBLPROPERTIES ('x' = '1'); ALTER DATABASE d SET DBPROPERTIES ('y' = '1'); ALTER DATABASE d SET "
        "DBPROPERTIES ('x' = '1'); USE BRANCH dev; ALTER TABLE d.t SET TBLPROPERTIES ('y' = '1'); ALTER DATABASE d SET "
        "DBPROPERTIES ('y' = '1'); USE BRANCH main; CHERRY PICK dev@3; CHERRY PICK dev@4; MERGE BRANCH dev"
    ),
    "REVERT of a SET that ours has unset since is up to date": (
        "CREATE TABLE d.t (k INT); ALTER TABLE d.t SET TBLPROPERTIES ('x' = '1'); ALTER DATABASE d SET DBPROPERTIES "
        "('x' = '1'); ALTER TABLE d.t UNSET TBLPROPERTIES ('x'); ALTER DATABASE d UNSET DBPROPERTIES ('x'); ALTER "
        "TABLE d.t SET TBLPROPERTIES ('y' = '1'); REVERT main@3; REVERT main@4"
    ),
    "CHERRY PICK of nothing but a column's other name, where the column is not": (
        "CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; ALTER TABLE d.t ADD "
        "COLUMN c INT; USE BRANCH exp; ALTER TABLE d.t ADD COLUMN c INT; USE BRANCH main; CHERRY PICK exp@3; RESTORE "
        "TABLE d.t TO VERSION 3; USE BRANCH dev; CHERRY PICK main@5"
    ),
    "CHERRY PICK of a move to a database that ours does not have names it": (
        "CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; CREATE DATABASE e; ALTER TABLE d.t RENAME TO e.t; USE "
        "BRANCH dev; CHERRY PICK main@4"
    ),
    "a table that one side renamed and the other moved has the new name in the other database": (
        "CREATE TABLE d.t (k INT); CREATE DATABASE e; CREATE BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t "
        "RENAME TO e.t; USE BRANCH main; ALTER TABLE d.t RENAME TO d.u; MERGE BRANCH dev"
    ),
    "NOT NULL of two columns that are one is ours' or theirs', also where an earlier merge made them one": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH dev FROM main; ALTER TABLE d.t ADD "
        "COLUMN c INT NOT NULL DEFAULT 3; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN c INT DEFAULT 3; USE BRANCH main; "
        "MERGE BRANCH dev; CHERRY PICK dev@4"
    ),
    "what ours picked without its column is there once the two columns are one": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM "
        "main; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN c INT DEFAULT 2; USE BRANCH main; ALTER TABLE d.t ADD COLUMN "
        "c INT; UPDATE d.t SET c = 0; USE BRANCH dev; CHERRY PICK main@5; USE BRANCH exp; MERGE BRANCH dev; MERGE "
        "BRANCH main"
    ),
    "a row that both sides have back, each in its own version, is no insert of ours": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM main; UPDATE d.t SET a = 4 WHERE k = 2; USE BRANCH exp; DELETE FROM d.t WHERE k = 2; "
        "USE BRANCH dev; UPDATE d.t SET a = 5 WHERE k = 2; USE BRANCH exp; MERGE BRANCH dev RESOLVE USING OURS WITH "
        "(detect = 'row'); USE BRANCH dev; UPDATE d.t SET a = 6 WHERE k = 2; MERGE BRANCH exp RESOLVE USING OURS WITH "
        "(detect = 'row'); USE BRANCH exp; MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH "
        "dev; UPDATE d.t SET a = 7; USE BRANCH exp; MERGE BRANCH dev WITH (detect = 'row'); MERGE BRANCH dev RESOLVE "
        "USING THEIRS WITH (detect = 'row')"
    ),
    "cell: a column that both added, and theirs left at another default than ours', did not change": (
        "CREATE TABLE d.t (k INT, p INT, a INT); INSERT INTO d.t (k, p, a) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); "
        "CREATE BRANCH dev FROM main; UPDATE d.t SET a = 3; ALTER TABLE d.t ADD COLUMN c DOUBLE DEFAULT 1; USE BRANCH "
        "dev; ALTER TABLE d.t ADD COLUMN c DOUBLE DEFAULT 2; UPDATE d.t SET p = 2 WHERE k = 1; UPDATE d.t SET c = 2 "
        "WHERE k = 2; UPDATE d.t SET c = 1 WHERE k = 3; USE BRANCH main; MERGE BRANCH dev WITH (detect = 'cell')"
    ),
    "a column comes back to a row that only ours has, as the base has it": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 1); ALTER TABLE d.t ADD COLUMN c INT "
        "DEFAULT 7; CREATE BRANCH dev FROM main; USE BRANCH dev; INSERT INTO d.t (k, a, c) VALUES (5, 5, 55); ALTER "
        "TABLE d.t DROP COLUMN c; USE BRANCH main; INSERT INTO d.t (k, a, c) VALUES (2, 2, 22); MERGE BRANCH dev; "
        "UPDATE d.t SET a = 6 WHERE k = 5; REVERT main@6; REVERT main@6 RESOLVE USING OURS"
    ),
    "a column that came and went on a branch, which theirs has merged whole and ours half, is dropped": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0); CREATE BRANCH dev FROM main; CREATE "
        "BRANCH exp FROM dev; ALTER TABLE d.t ADD COLUMN c INT; USE BRANCH dev; INSERT INTO d.t (k, a) VALUES (4, 1); "
        "USE BRANCH main; MERGE BRANCH dev; USE BRANCH dev; MERGE BRANCH main; USE BRANCH exp; INSERT INTO d.t (k, a) "
        "VALUES (2, 1); USE BRANCH main; ALTER TABLE d.t DROP COLUMN c; USE BRANCH exp; MERGE BRANCH main; USE BRANCH "
        "dev; MERGE BRANCH exp"
    ),
    "CHERRY PICK of an UPDATE of a row that ours had updated, and that a merge has deleted with it": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; UPDATE d.t SET p = 0 WHERE k = 2; USE BRANCH a; "
        "UPDATE d.t SET a = 2 WHERE k = 2; USE BRANCH main; DELETE FROM d.t WHERE a = 0; USE BRANCH a; MERGE BRANCH "
        "main WITH (detect = 'file'); CHERRY PICK main@4"
    ),
    "columns that only go by another name in files are no news": (
        "CREATE TABLE d.t (k INT, p INT, a INT, b INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE "
        "BRANCH exp; ALTER TABLE d.t DROP COLUMN a; USE BRANCH dev; ALTER TABLE d.t ADD COLUMN C DOUBLE; USE BRANCH "
        "main; ALTER TABLE d.t ADD COLUMN C DOUBLE; MERGE BRANCH dev RESOLVE USING THEIRS; USE BRANCH exp; MERGE "
        "BRANCH dev; MERGE BRANCH main"
    ),
    "an UPDATE whose row another one changed too, and a pick left as it was, meets ours' inserts": (
        "CREATE TABLE d.t (k INT, p INT, a INT, b INT); "
        "INSERT INTO d.t (k, p, a, b) VALUES (1, 0, 0, 5), (2, 0, 0, 6), (3, 1, NULL, 7); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM dev; USE BRANCH exp; DELETE FROM d.t WHERE p = 0; INSERT INTO d.t (k, p, a) VALUES "
        "(3, 1, 3); UPDATE d.t SET b = 0 WHERE k >= 1; USE BRANCH dev; UPDATE d.t SET p = 0 WHERE k < 4; "
        "CHERRY PICK exp@6 RESOLVE USING OURS; USE BRANCH exp; MERGE BRANCH dev WITH (detect = 'row')"
    ),
    "ours' inserts in what theirs overwrote are in nobody's way": (
        "CREATE TABLE d.t (k INT, p INT, a INT) PARTITIONED BY (p); INSERT INTO d.t (k, p, a) VALUES (1, 0, 1), "
        "(2, 1, 2); CREATE BRANCH dev FROM main; USE BRANCH dev; DELETE FROM d.t WHERE k = 1; TRUNCATE TABLE d.t "
        "PARTITION (p = 1); USE BRANCH main; INSERT INTO d.t (k, p, a) VALUES (1, 1, 3); MERGE BRANCH dev WITH "
        "(detect = 'row')"
    ),
    "statements from before a RESTORE that went back behind a merge": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 1), (2, 2), (3, 3); CREATE BRANCH dev FROM "
        "main; USE BRANCH dev; INSERT INTO d.t (k, a) VALUES (10, 1), (11, 1); DELETE FROM d.t WHERE k = 10; USE BRANCH"
        " main; MERGE BRANCH dev; RESTORE BRANCH TO VERSION 3; CREATE BRANCH exp FROM main; USE BRANCH exp; INSERT INTO"
        " d.t (k, a) VALUES (20, 1); USE BRANCH main; DELETE FROM d.t WHERE k = 2; REVERT main@6; RESTORE BRANCH TO "
        "VERSION 6; USE BRANCH exp; MERGE BRANCH main WITH (detect = 'row')"
    ),
    "each picked the other's UPDATE: nobody knows which is newer": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 1); CREATE BRANCH dev FROM main; USE BRANCH"
        " dev; UPDATE d.t SET a = 2; USE BRANCH main; UPDATE d.t SET a = 3; CHERRY PICK dev@4 RESOLVE USING THEIRS; USE"
        " BRANCH dev; CHERRY PICK main@4 RESOLVE USING THEIRS; MERGE BRANCH main WITH (detect = 'row'); MERGE BRANCH "
        "main WITH (detect = 'file'); USE BRANCH main; MERGE BRANCH dev WITH (detect = 'cell'); MERGE BRANCH dev "
        "RESOLVE USING OURS; USE BRANCH dev; MERGE BRANCH main"
    ),
    "a column that theirs dropped takes ours' changes of it with it": (
        "CREATE TABLE d.t (k INT, p INT, b INT); INSERT INTO d.t (k, p, b) VALUES (1, 0, 5), (2, 0, 6); "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; UPDATE d.t SET b = 0 WHERE k < 2; USE BRANCH main; "
        "UPDATE d.t SET p = 3; ALTER TABLE d.t DROP COLUMN b; USE BRANCH exp; MERGE BRANCH main WITH (detect = 'row')"
    ),
    "the same, resolved for ours: theirs' other changes are no conflict": (
        "CREATE TABLE d.t (k INT, p INT, b INT); INSERT INTO d.t (k, p, b) VALUES (1, 0, 5), (2, 0, 6); "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; UPDATE d.t SET b = 0 WHERE k < 3; USE BRANCH main; "
        "UPDATE d.t SET p = 2 WHERE k >= 2; ALTER TABLE d.t DROP COLUMN b; USE BRANCH exp; "
        "MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'row')"
    ),
    "theirs changed what ours has dropped, in rows that ours changed: a merge that shows nothing is recorded": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 5), (2, 0, 6); "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; ALTER TABLE d.t DROP COLUMN a; USE BRANCH main; "
        "UPDATE d.t SET a = 1 WHERE k = 1; USE BRANCH exp; UPDATE d.t SET b = 2 WHERE k < 2; "
        "MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "theirs changed what ours has dropped, in a row that ours deleted": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 5), (2, 0, 6); "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; ALTER TABLE d.t DROP COLUMN a; DELETE FROM d.t WHERE k = 1; "
        "USE BRANCH main; UPDATE d.t SET a = 1 WHERE k = 1; USE BRANCH exp; MERGE BRANCH main WITH (detect = 'row')"
    ),
    "rows that an overwrite of ours wrote are no inserts: THEIRS leaves them": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; INSERT OVERWRITE d.t (k, a, b) VALUES (3, 1, 2); "
        "INSERT INTO d.t (k, a, b) VALUES (5, 0, 3); USE BRANCH x; UPDATE d.t SET a = 21 WHERE k = 3; "
        "USE BRANCH a; MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "rows that an overwrite of ours wrote are no inserts: no conflict": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; INSERT OVERWRITE d.t (k, a, b) VALUES (3, 1, 2); "
        "INSERT INTO d.t (k, a, b) VALUES (5, 0, 3); USE BRANCH x; UPDATE d.t SET a = 21 WHERE k = 3; "
        "USE BRANCH a; MERGE BRANCH x WITH (detect = 'row')"
    ),
    "a DELETE that theirs reverted does not run on inserts": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH x FROM main; "
        "USE BRANCH x; INSERT INTO d.t (k, a, b) VALUES (3, 1, 3); USE BRANCH main; "
        "UPDATE d.t SET a = 22 WHERE k < 3; DELETE FROM d.t WHERE k > 1; REVERT main@5; USE BRANCH x; "
        "MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "a DELETE that theirs reverted conflicts with nothing": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH x FROM main; "
        "USE BRANCH x; INSERT INTO d.t (k, a, b) VALUES (3, 1, 3); USE BRANCH main; "
        "UPDATE d.t SET a = 22 WHERE k < 3; DELETE FROM d.t WHERE k > 1; REVERT main@5; USE BRANCH x; "
        "MERGE BRANCH main WITH (detect = 'row')"
    ),
    "an overwrite that ours has does not run again": (
        "CREATE TABLE d.t (k INT, a INT, b INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; "
        "USE BRANCH a; INSERT OVERWRITE d.t (k, a, b) VALUES (2, 1, 3); USE BRANCH x; "
        "INSERT INTO d.t (k, a, b) VALUES (3, 3, 0); USE BRANCH main; MERGE BRANCH a; MERGE BRANCH x; "
        "USE BRANCH x; MERGE BRANCH a; USE BRANCH main; INSERT INTO d.t (k, a, b) VALUES (1, 3, 3); "
        "MERGE BRANCH x"
    ),
    "an overwrite that came by two ways runs once": (
        "CREATE TABLE d.t (k INT, a INT, b INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; "
        "USE BRANCH a; "
        "MERGE INTO d.t AS t USING (VALUES (8, 21)) AS s(k, a) ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); "
        "USE BRANCH main; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH x; "
        "INSERT OVERWRITE d.t (k, a, b) VALUES (3, 3, 0); USE BRANCH a; "
        "MERGE BRANCH x WITH (detect = 'row'); USE BRANCH x; INSERT INTO d.t (k, a, b) VALUES (5, 2, 1); "
        "USE BRANCH main; MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'cell'); "
        "MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'file')"
    ),
    "a row kept by RESOLVE, then deleted on theirs: row": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0); "
        "INSERT INTO d.t (k, a, b) VALUES (4, 1, 1), (5, 1, 1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; DELETE FROM d.t WHERE k = 4; USE BRANCH main; "
        "RESTORE TABLE d.t TO VERSION 3; USE BRANCH a; UPDATE d.t SET b = 23 WHERE k = 4; "
        "MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'row'); MERGE BRANCH x WITH (detect = 'row')"
    ),
    "a row kept by RESOLVE, then deleted on theirs: file": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0); "
        "INSERT INTO d.t (k, a, b) VALUES (4, 1, 1), (5, 1, 1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; DELETE FROM d.t WHERE k = 4; USE BRANCH main; "
        "RESTORE TABLE d.t TO VERSION 3; USE BRANCH a; UPDATE d.t SET b = 23 WHERE k = 4; "
        "MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'row'); MERGE BRANCH x WITH (detect = 'file')"
    ),
    "a pick of a merge whose overwrite ours has": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0); "
        "CREATE BRANCH x FROM main; INSERT OVERWRITE d.t (k, a, b) VALUES (2, 2, 1); USE BRANCH x; "
        "MERGE BRANCH main WITH (detect = 'row'); USE BRANCH main; "
        "INSERT INTO d.t (k, a, b) VALUES (5, 3, 1); CHERRY PICK x@4"
    ),
    "what theirs truncated after a criss-cross is gone": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); "
        "INSERT INTO d.t (k, a, b) VALUES (4, 1, 1), (5, 1, 1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; DELETE FROM d.t WHERE k < 3; USE BRANCH main; "
        "MERGE INTO d.t AS t USING (VALUES (5, 21)) AS s(k, a) ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); "
        "USE BRANCH a; MERGE BRANCH main WITH (detect = 'file'); MERGE BRANCH x WITH (detect = 'file'); "
        "TRUNCATE TABLE d.t; USE BRANCH main; MERGE BRANCH x RESOLVE USING OURS WITH (detect = 'row'); "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a DELETE reverted twice, with an UPDATE in between": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "DELETE FROM d.t WHERE k = 1; REVERT main@4; UPDATE d.t SET a = 21 WHERE k = 1; REVERT main@4"
    ),
    "both brought a dead row back and ours updated it": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "DELETE FROM d.t WHERE k = 1; CREATE BRANCH a FROM main; RESTORE TABLE d.t TO VERSION 3; "
        "UPDATE d.t SET a = 21 WHERE k = 1; USE BRANCH a; RESTORE TABLE d.t TO VERSION 3; USE BRANCH main; "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "both brought a dead row back and updated it": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "DELETE FROM d.t WHERE k = 1; CREATE BRANCH a FROM main; RESTORE TABLE d.t TO VERSION 3; "
        "UPDATE d.t SET a = 21 WHERE k = 1; USE BRANCH a; RESTORE TABLE d.t TO VERSION 3; "
        "UPDATE d.t SET a = 22 WHERE k = 1; USE BRANCH main; MERGE BRANCH a WITH (detect = 'row')"
    ),
    "both brought a dead row back and theirs updated it": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "DELETE FROM d.t WHERE k = 1; CREATE BRANCH a FROM main; RESTORE TABLE d.t TO VERSION 3; "
        "USE BRANCH a; RESTORE TABLE d.t TO VERSION 3; UPDATE d.t SET a = 22 WHERE k = 1; USE BRANCH main; "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a pick of a RESTORE": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "CREATE BRANCH a FROM main; UPDATE d.t SET a = 21 WHERE k = 1; USE BRANCH a; "
        "DELETE FROM d.t WHERE k = 1; REVERT a@4; USE BRANCH main; CHERRY PICK a@5"
    ),
    "a RESTORE forth again: the statement counts": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "CREATE BRANCH a FROM main; USE BRANCH a; DELETE FROM d.t WHERE k < 2; "
        "RESTORE TABLE d.t TO VERSION 3; RESTORE TABLE d.t TO VERSION 4; USE BRANCH main; "
        "INSERT INTO d.t (k, a, b) VALUES (1, 9, 9); MERGE BRANCH a WITH (detect = 'row')"
    ),
    "REVERT of a RESTORE: the statement counts": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "CREATE BRANCH a FROM main; USE BRANCH a; DELETE FROM d.t WHERE k < 2; "
        "RESTORE TABLE d.t TO VERSION 3; REVERT a@5; USE BRANCH main; "
        "INSERT INTO d.t (k, a, b) VALUES (1, 9, 9); MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a pick of an undone undo brings the statement": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH a; DELETE FROM d.t WHERE k < 2; "
        "REVERT a@4; REVERT a@5; USE BRANCH x; CHERRY PICK a@6; USE BRANCH main; "
        "INSERT INTO d.t (k, a, b) VALUES (1, 9, 9); MERGE BRANCH x WITH (detect = 'row')"
    ),
    "statements of a table that THEIRS revived": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; DROP TABLE d.t; USE BRANCH a; "
        "DELETE FROM d.t WHERE k < 2; USE BRANCH main; "
        "MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH y; "
        "INSERT INTO d.t (k, a, b) VALUES (1, 9, 9); MERGE BRANCH main WITH (detect = 'row')"
    ),
    "NOT NULL against rows that come back by a merge": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, NULL); "
        "DELETE FROM d.t WHERE k = 2; CREATE BRANCH x FROM main; "
        "ALTER TABLE d.t ALTER COLUMN a SET NOT NULL; USE BRANCH x; RESTORE TABLE d.t TO VERSION 3; "
        "USE BRANCH main; MERGE BRANCH x"
    ),
    "NOT NULL against rows that come back by REVERT": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, NULL); "
        "DELETE FROM d.t WHERE k = 2; ALTER TABLE d.t ALTER COLUMN a SET NOT NULL; REVERT main@4"
    ),
    "a row that is back where ours has no such part": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0); "
        "INSERT INTO d.t (k, a) VALUES (2, 5); DELETE FROM d.t WHERE k = 2; CREATE BRANCH x FROM main; "
        "RESTORE TABLE d.t TO VERSION 3; USE BRANCH x; RESTORE TABLE d.t TO VERSION 4; USE BRANCH main; "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "REVERT of a DELETE before a TRUNCATE": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0); "
        "INSERT INTO d.t (k, a) VALUES (2, 5); DELETE FROM d.t WHERE k = 2; CREATE BRANCH x FROM main; "
        "TRUNCATE TABLE d.t; USE BRANCH x; RESTORE TABLE d.t TO VERSION 4; USE BRANCH main; "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "a statement that speaks of a unified column: THEIRS": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT; UPDATE d.t SET c = 1 WHERE k < 9; USE BRANCH main; "
        "ALTER TABLE d.t ADD COLUMN c INT; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH y; "
        "INSERT INTO d.t (k, a) VALUES (4, 1); MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "a statement that speaks of a column dropped since": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT; UPDATE d.t SET c = 1 WHERE k = 1; DELETE FROM d.t WHERE c = 1; "
        "ALTER TABLE d.t DROP COLUMN c; USE BRANCH y; INSERT INTO d.t (k, a) VALUES (4, 1); "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a statement that speaks of a unified column": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT; UPDATE d.t SET c = 1 WHERE k = 1; DELETE FROM d.t WHERE c = 1; "
        "USE BRANCH main; ALTER TABLE d.t ADD COLUMN c INT; MERGE BRANCH a WITH (detect = 'row'); "
        "USE BRANCH y; INSERT INTO d.t (k, a) VALUES (9, 1); MERGE BRANCH main WITH (detect = 'row')"
    ),
    "a statement that speaks of a column that both dropped": (
        "CREATE TABLE d.t (k INT, a INT, c INT); "
        "INSERT INTO d.t (k, a, c) VALUES (1, 0, 1), (2, 0, 2), (3, 0, 2); CREATE BRANCH a FROM main; "
        "CREATE BRANCH y FROM main; USE BRANCH a; DELETE FROM d.t WHERE c = 1; "
        "ALTER TABLE d.t DROP COLUMN c; USE BRANCH y; ALTER TABLE d.t DROP COLUMN c; "
        "INSERT INTO d.t (k, a) VALUES (4, 1); MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a picked DELETE that speaks of a column which was never here": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; CREATE BRANCH x FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 7; DELETE FROM d.t WHERE c > 6; USE BRANCH x; "
        "CHERRY PICK a@5; USE BRANCH y; INSERT INTO d.t (k, a) VALUES (4, 1); "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "a condition of theirs on a column that both added": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "CREATE BRANCH a FROM main; CREATE BRANCH y FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT; UPDATE d.t SET c = 1 WHERE k = 1; DELETE FROM d.t WHERE c = 1; "
        "USE BRANCH y; ALTER TABLE d.t ADD COLUMN c INT; INSERT INTO d.t (k, a, c) VALUES (9, 1, 1); "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a pick of a merge back onto what it merged": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (4, 1, 1), (5, 1, 1); "
        "CREATE BRANCH a FROM main; USE BRANCH a; UPDATE d.t SET a = 22 WHERE k = 5; "
        "UPDATE d.t SET a = 25 WHERE a = 1; USE BRANCH main; "
        "INSERT OVERWRITE d.t (k, a, b) VALUES (4, 3, 3); "
        "MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'file'); USE BRANCH a; CHERRY PICK main@5"
    ),
    "REVERT of a merge that truncated": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; TRUNCATE TABLE d.t; USE BRANCH a; "
        "UPDATE d.t SET a = 21 WHERE k = 2; MERGE BRANCH x WITH (detect = 'file'); REVERT a@5"
    ),
    "rows that a merge brings again are all there": (
        "CREATE TABLE d.t (k INT, a INT, b INT); "
        "INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; TRUNCATE TABLE d.t; USE BRANCH x; UPDATE d.t SET b = 21 WHERE b = 0; "
        "USE BRANCH a; MERGE BRANCH main@4 RESOLVE USING OURS WITH (detect = 'file'); USE BRANCH x; "
        "MERGE BRANCH a WITH (detect = 'row'); USE BRANCH a; RESTORE BRANCH TO VERSION 3; USE BRANCH x; "
        "MERGE BRANCH a WITH (detect = 'row')"
    ),
    "a pick of a merge that had what ours has, and ours went on": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); "
        "CREATE BRANCH a FROM main; USE BRANCH a; INSERT INTO d.t (k, a) VALUES (3, 2); "
        "UPDATE d.t SET a = 3 WHERE k < 7; USE BRANCH main; MERGE BRANCH a WITH (detect = 'cell'); "
        "USE BRANCH a; UPDATE d.t SET b = 18 WHERE k > 1; CHERRY PICK main@4"
    ),
    "theirs went back behind one of two bases": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; INSERT INTO d.t (k, a) VALUES (3, 0); USE BRANCH main; "
        "INSERT INTO d.t (k, a) VALUES (1, 2); USE BRANCH x; MERGE BRANCH main; USE BRANCH main; "
        "MERGE BRANCH a; USE BRANCH x; MERGE BRANCH a; USE BRANCH main; RESTORE TABLE d.t TO VERSION 3; "
        "USE BRANCH x; MERGE BRANCH main WITH (detect = 'cell')"
    ),
    "a statement that RESOLVE rejected runs on nothing later": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; DELETE FROM d.t WHERE a = 0; USE BRANCH main; "
        "UPDATE d.t SET a = 3 WHERE k < 7; USE BRANCH a; INSERT INTO d.t (k, a) VALUES (6, 2); USE BRANCH x; "
        "MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'cell'); USE BRANCH a; "
        "MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "REVERT of another branch's REVERT, and ours has truncated": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 0); CREATE BRANCH dev FROM main; "
        "INSERT INTO d.t (k, a) VALUES (0, NULL); USE BRANCH dev; REVERT main@3; USE BRANCH main; TRUNCATE TABLE d.t; "
        "REVERT dev@4"
    ),
    "a DELETE that RESOLVE overruled conflicts with nothing": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; DELETE FROM d.t WHERE k < 4; USE BRANCH x; "
        "UPDATE d.t SET a = 2 WHERE a = 0; USE BRANCH a; MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'row'); "
        "USE BRANCH main; INSERT INTO d.t (k, a) VALUES (1, 3); MERGE BRANCH a WITH (detect = 'cell')"
    ),
    "a column added and dropped is nothing": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH a FROM main; USE BRANCH a; "
        "ALTER TABLE d.t ADD COLUMN c INT; ALTER TABLE d.t DROP COLUMN c; USE BRANCH main; MERGE BRANCH a"
    ),
    "a column added on both sides, merged there and back": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; ALTER TABLE d.t ADD COLUMN c BIGINT; "
        "INSERT INTO d.t (k, c) VALUES (1, 3); USE BRANCH x; ALTER TABLE d.t ADD COLUMN c INT; MERGE BRANCH a; "
        "USE BRANCH a; MERGE BRANCH x; INSERT INTO d.t (k, c) VALUES (2, 4); USE BRANCH x; MERGE BRANCH a"
    ),
    "rows that RESTORE brought back meet theirs' UPDATE": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); "
        "DELETE FROM d.t WHERE k = 2; CREATE BRANCH x FROM main; RESTORE TABLE d.t TO VERSION 3; USE BRANCH x; "
        "UPDATE d.t SET a = 5 WHERE k > 0; USE BRANCH main; MERGE BRANCH x WITH (detect = 'row'); "
        "MERGE BRANCH x WITH (detect = 'file'); MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "rows that REVERT brought back, updated since, meet theirs' DELETE": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); "
        "DELETE FROM d.t WHERE k = 2; CREATE BRANCH x FROM main; REVERT main@4; UPDATE d.t SET a = 7 WHERE k = 2; "
        "USE BRANCH x; DELETE FROM d.t WHERE k > 0; USE BRANCH main; MERGE BRANCH x WITH (detect = 'cell'); "
        "MERGE BRANCH x WITH (detect = 'file'); MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "a row that came and went before a merge can be picked": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (3, 0); CREATE BRANCH a FROM main; "
        "UPDATE d.t SET a = 1 WHERE k = 1; USE BRANCH a; INSERT INTO d.t (k, a) VALUES (4, 0); "
        "DELETE FROM d.t WHERE k > 2; USE BRANCH main; MERGE BRANCH a WITH (detect = 'row'); CHERRY PICK a@4"
    ),
    "what A4 discarded does not come back as a delete": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (4, 1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH a; UPDATE d.t SET a = 24 WHERE a = 1; USE BRANCH x; "
        "INSERT OVERWRITE d.t (k, a) VALUES (6, 0); USE BRANCH a; MERGE BRANCH x WITH (detect = 'file'); REVERT a@4; "
        "USE BRANCH main; INSERT INTO d.t (k, a) VALUES (3, 1); "
        "MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "a version that an overwrite discarded, merged there and back": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (4, 1, 1); "
        "CREATE BRANCH x FROM main; UPDATE d.t SET a = 23 WHERE k = 4; USE BRANCH x; "
        "INSERT OVERWRITE d.t (k, a, b) VALUES (8, 1, 1); MERGE BRANCH main WITH (detect = 'cell'); USE BRANCH main; "
        "UPDATE d.t SET b = 24 WHERE k > 3; MERGE BRANCH x WITH (detect = 'row')"
    ),
    "a slot that theirs took back, and ours has brought back a row of it": (
        "CREATE TABLE d.t (k INT, b INT); INSERT INTO d.t (k, b) VALUES (4, 1), (5, 1); CREATE BRANCH x FROM main; "
        "USE BRANCH x; REVERT x@3; USE BRANCH main; UPDATE d.t SET b = 22 WHERE k > 4; USE BRANCH x; "
        "MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH main; "
        "RESTORE TABLE d.t TO VERSION 3; MERGE BRANCH x RESOLVE USING OURS WITH (detect = 'row')"
    ),
    "an UPDATE that RESTORE undid, on rows that an earlier one had changed and RESTORE brings back so": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH a FROM main; "
        "UPDATE d.t SET a = 11 WHERE k < 7; RESTORE TABLE d.t TO VERSION 3; UPDATE d.t SET a = 1 WHERE k > 1; "
        "RESTORE TABLE d.t TO VERSION 4; USE BRANCH a; INSERT INTO d.t (k, a) VALUES (3, 0); "
        "MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "REVERT of a RESTORE: the overwrite counts": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; INSERT OVERWRITE d.t (k, a) VALUES (6, 1); "
        "RESTORE TABLE d.t TO VERSION 3; REVERT x@5; USE BRANCH a; UPDATE d.t SET a = 22 WHERE k = 1; "
        "INSERT INTO d.t (k, a) VALUES (7, 0); MERGE BRANCH x RESOLVE USING OURS WITH (detect = 'cell')"
    ),
    "a row that RESTORE took back before it was born is deleted, whatever was truncated since": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH a FROM main; USE BRANCH a; "
        "INSERT INTO d.t (k) VALUES (2); USE BRANCH main; MERGE BRANCH a; RESTORE TABLE d.t TO VERSION 3; "
        "TRUNCATE TABLE d.t; USE BRANCH a; INSERT INTO d.t (k) VALUES (6); MERGE BRANCH main WITH (detect = 'file')"
    ),
    "a version that RESTORE took back, and then the row was truncated: overwritten": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); "
        "UPDATE d.t SET a = 23 WHERE k = 1; RESTORE TABLE d.t TO VERSION 3; TRUNCATE TABLE d.t; REVERT main@4"
    ),
    "an insert that RESTORE undid can be picked": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); INSERT INTO d.t (k) VALUES (4); "
        "CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH a; INSERT OVERWRITE d.t (k) VALUES (2); "
        "RESTORE TABLE d.t TO VERSION 3; CHERRY PICK x@4"
    ),
    "TRUNCATE, undone by RESTORE and redone by another one": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0); CREATE BRANCH x FROM main; "
        "USE BRANCH x; TRUNCATE TABLE d.t; INSERT INTO d.t (k, a) VALUES (1, 1); RESTORE TABLE d.t TO VERSION 3; "
        "RESTORE TABLE d.t TO VERSION 5; USE BRANCH main; UPDATE d.t SET a = 21 WHERE k < 7; "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "an overwrite that a base of a criss-cross has does not run again": (
        "CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; INSERT INTO d.t (k) VALUES (6); USE BRANCH a; INSERT INTO d.t (k) VALUES (8); "
        "MERGE BRANCH main; USE BRANCH x; TRUNCATE TABLE d.t; USE BRANCH main; MERGE BRANCH x; USE BRANCH x; "
        "MERGE BRANCH a; MERGE BRANCH main"
    ),
    "REVERT of an UPDATE that an overwrite has discarded, then REVERT of the overwrite": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (1, 0), (2, 0), (3, 0); "
        "UPDATE d.t SET a = 21 WHERE k = 3; INSERT OVERWRITE d.t (k, a) VALUES (8, 1); REVERT main@4; REVERT main@5"
    ),
    "rows that an overwrite wrote and an UPDATE changed: the overwrite counts": (
        "CREATE TABLE d.t (k INT, a INT); CREATE BRANCH x FROM main; INSERT INTO d.t (k, a) VALUES (6, 2); "
        "USE BRANCH x; INSERT OVERWRITE d.t (k, a) VALUES (8, 0); UPDATE d.t SET a = 23 WHERE k = 8; USE BRANCH main; "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "REVERT of an UPDATE without effect, on a row that ours has taken back": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 0); CREATE BRANCH dev FROM main; "
        "UPDATE d.t SET a = 0 WHERE k = 0; USE BRANCH dev; RESTORE TABLE d.t TO VERSION 2; REVERT main@4"
    ),
    "REVERT of another branch's RESTORE, and ours has undone the insert": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 0); CREATE BRANCH dev FROM main; "
        "UPDATE d.t SET a = 0 WHERE k = 0; REVERT main@3; USE BRANCH dev; RESTORE TABLE d.t TO VERSION 2; "
        "USE BRANCH main; REVERT dev@4"
    ),
    "an overwrite before the row came by a merge leaves the row, whichever version ours has": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT DEFAULT 0, b INT); CREATE BRANCH dev FROM main; MERGE INTO d.t AS t "
        "USING (VALUES (0, NULL)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN "
        "INSERT (k, a) VALUES (s.k, s.a); UPDATE d.t SET b = k + 2; USE BRANCH dev; INSERT OVERWRITE d.t (k) VALUES "
        "(0); MERGE BRANCH main WITH (detect = 'file'); USE BRANCH main; RESTORE TABLE d.t TO VERSION 3; MERGE BRANCH "
        "dev WITH (detect = 'cell')"
    ),
    "REVERT of another branch's merge: a version without effect of a row that ours has": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT DEFAULT 2); INSERT INTO d.t (k, a) VALUES (2, NULL); CREATE BRANCH "
        "dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH exp; INSERT OVERWRITE d.t (k) VALUES (1); USE BRANCH "
        "main; UPDATE d.t SET a = a + 2; MERGE BRANCH exp WITH (detect = 'cell'); USE BRANCH dev; REVERT main@5"
    ),
    "REVERT of another branch's UPDATE of a row that ours never had, and ours has overwritten": (
        "CREATE TABLE d.t (k INT NOT NULL, b INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE "
        "BRANCH exp; INSERT OVERWRITE d.t (k) VALUES (3); USE BRANCH dev; INSERT OVERWRITE d.t (k) VALUES (2); USE "
        "BRANCH exp; UPDATE d.t SET b = 3; USE BRANCH dev; REVERT exp@4"
    ),
    "a table that ours has taken back, and theirs' UPDATE without effect": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT); INSERT INTO d.t (k) VALUES (0); CREATE BRANCH dev FROM main; "
        "REVERT dev@2; USE BRANCH dev; UPDATE d.t SET a = a + 3; USE BRANCH main; MERGE BRANCH dev WITH (detect = "
        "'row')"
    ),
    "CHERRY PICK of an insert that a merge took back, and ours had updated": (
        "CREATE TABLE d.t (k INT NOT NULL, b INT); INSERT INTO d.t (k) VALUES (0), (1); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; UPDATE d.t SET b = b + 1 WHERE k = 1; USE BRANCH main; RESTORE "
        "TABLE d.t TO VERSION 2; USE BRANCH dev; MERGE BRANCH exp; MERGE BRANCH main WITH (detect = 'file'); CHERRY "
        "PICK exp@3"
    ),
    "REVERT of another branch's REVERT of an insert that ours has updated, and that a merge took back": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT); INSERT INTO d.t (k) VALUES (3), (2); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM dev; UPDATE d.t SET a = a + 3 WHERE k = 2; USE BRANCH exp; REVERT exp@3; "
        "USE BRANCH main; MERGE BRANCH exp; REVERT exp@4"
    ),
    "REVERT of another branch's RESTORE leaves rows that it did not touch": (
        "CREATE TABLE d.t (k INT NOT NULL, p INT); INSERT INTO d.t (k) VALUES (3); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM main; USE BRANCH exp; INSERT OVERWRITE d.t (k) VALUES (3); "
        "RESTORE TABLE d.t TO VERSION 2; USE BRANCH dev; REVERT exp@5"
    ),
    "REVERT of a DROP after a merge revived the table: the versions of before come back": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT); INSERT INTO d.t (k) VALUES (1); CREATE BRANCH dev FROM main; USE "
        "BRANCH dev; MERGE INTO d.t AS t USING (VALUES (1, 3)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a "
        "= s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH main; INSERT INTO d.t (k) VALUES "
        "(2); USE BRANCH dev; REVERT dev@2; MERGE BRANCH main@4 RESOLVE USING THEIRS WITH (detect = 'row'); REVERT "
        "dev@5"
    ),
    "a TRUNCATE of rows that ours picked and overwrote counts": (
        "CREATE TABLE d.t (id INT, a INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; INSERT OVERWRITE d.t "
        "(a) VALUES (0); USE BRANCH a; MERGE BRANCH main WITH (detect = 'row'); USE BRANCH main; TRUNCATE TABLE d.t; "
        "USE BRANCH x; CHERRY PICK a@3; INSERT OVERWRITE d.t (a) VALUES (0); MERGE BRANCH main WITH (detect = 'file')"
    ),
    "CHERRY PICK of a RESTORE brings a row back that ours has deleted": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (id) VALUES (2); CREATE BRANCH a FROM main; TRUNCATE TABLE "
        "d.t; INSERT OVERWRITE d.t (a) VALUES (1); INSERT INTO d.t (a) VALUES (2); RESTORE TABLE d.t TO VERSION 3; "
        "USE BRANCH a; DELETE FROM d.t; CHERRY PICK main@6; CHERRY PICK main@7"
    ),
    "an overwrite stands against one base of a criss-cross": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id) VALUES (2); CREATE BRANCH a FROM main; CREATE "
        "BRANCH x FROM main; USE BRANCH a; UPDATE d.t SET b = 1; USE BRANCH x; INSERT OVERWRITE d.t (a) VALUES (1); "
        "USE BRANCH main; UPDATE d.t SET a = 1; USE BRANCH x; MERGE BRANCH a WITH (detect = 'file'); USE BRANCH a; "
        "MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH x; MERGE BRANCH main WITH (detect = "
        "'cell'); TRUNCATE TABLE d.t; USE BRANCH a; MERGE BRANCH x WITH (detect = 'cell')"
    ),
    "each side overwrote what the other had overwritten: a conflict, row by row": (
        "CREATE TABLE d.t (id INT, a INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH x; INSERT "
        "OVERWRITE d.t (a) VALUES (0); USE BRANCH main; MERGE BRANCH x WITH (detect = 'row'); USE BRANCH a; INSERT "
        "OVERWRITE d.t (a) VALUES (0); USE BRANCH main; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH a; MERGE "
        "BRANCH x WITH (detect = 'file'); MERGE BRANCH main WITH (detect = 'row')"
    ),
    "CHERRY PICK of an overwrite that a merge brought, and a later one took its rows": (
        "CREATE TABLE d.t (id INT, a INT); CREATE BRANCH a FROM main; INSERT OVERWRITE d.t (a) VALUES (3); INSERT "
        "OVERWRITE d.t (a) VALUES (3); USE BRANCH a; MERGE BRANCH main WITH (detect = 'cell'); CHERRY PICK main@3"
    ),
    "CHERRY PICK of a TRUNCATE that ours has by a merge": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (a) VALUES (0); CREATE BRANCH a FROM main; TRUNCATE TABLE "
        "d.t; USE BRANCH a; TRUNCATE TABLE d.t; INSERT INTO d.t (a) VALUES (1); USE BRANCH main; MERGE BRANCH a WITH "
        "(detect = 'cell'); CHERRY PICK a@4"
    ),
    "REVERT of a RESTORE: the TRUNCATE counts": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (a) VALUES (0); CREATE BRANCH a FROM main; USE BRANCH a; "
        "TRUNCATE TABLE d.t; RESTORE TABLE d.t TO VERSION 3; REVERT a@5; USE BRANCH main; INSERT INTO d.t (a) VALUES "
        "(1); MERGE BRANCH a WITH (detect = 'file')"
    ),
    "REVERT of a TRUNCATE of rows that were dead": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (id) VALUES (3); DELETE FROM d.t; TRUNCATE TABLE d.t; "
        "REVERT main@5"
    ),
    "CHERRY PICK of an overwrite that a merge brought and a REVERT took back": (
        "CREATE TABLE d.t (id INT, a INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH x; INSERT "
        "OVERWRITE d.t (a) VALUES (2); USE BRANCH a; INSERT INTO d.t (a) VALUES (1); MERGE BRANCH x WITH (detect = "
        "'cell'); REVERT a@4; CHERRY PICK x@3"
    ),
    "an overwrite that theirs picked from ours": (
        "CREATE TABLE d.t (id INT, a INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH a; INSERT "
        "OVERWRITE d.t (a) VALUES (0); USE BRANCH x; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH a; TRUNCATE "
        "TABLE d.t; USE BRANCH x; CHERRY PICK a@4; USE BRANCH a; INSERT INTO d.t (a) VALUES (1); MERGE BRANCH x WITH "
        "(detect = 'file')"
    ),
    "an overwrite that the base has, brought again by a merge, and ours has undone it": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (a) VALUES (0); CREATE BRANCH a FROM main; CREATE BRANCH x "
        "FROM main; USE BRANCH x; INSERT OVERWRITE d.t (a) VALUES (0); USE BRANCH main; MERGE BRANCH x WITH (detect = "
        "'row'); USE BRANCH x; RESTORE TABLE d.t TO VERSION 3; USE BRANCH a; INSERT INTO d.t (a) VALUES (2); MERGE "
        "BRANCH main WITH (detect = 'row'); USE BRANCH x; CHERRY PICK a@4; MERGE BRANCH a WITH (detect = 'cell')"
    ),
    "CHERRY PICK of an insert that ours has overwritten, undone and redone": (
        "CREATE TABLE d.t (k INT NOT NULL, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, p) VALUES (0, 1); CREATE "
        "BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t DROP PARTITION (p = 1); RESTORE DATABASE d TO VERSION "
        "3; RESTORE BRANCH TO VERSION 4; CHERRY PICK dev@3"
    ),
    "CHERRY PICK of a DELETE that RESOLVE overruled conflicts again": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (id) VALUES (3); CREATE BRANCH a FROM main; USE BRANCH a; "
        "UPDATE d.t SET a = 3; USE BRANCH main; DELETE FROM d.t; USE BRANCH a; MERGE BRANCH main RESOLVE USING OURS "
        "WITH (detect = 'row'); CHERRY PICK main@4"
    ),
    "a TRUNCATE of rows that came and went, after one that ours has picked": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (a) VALUES (0); CREATE BRANCH a FROM main; USE BRANCH a; "
        "TRUNCATE TABLE d.t; USE BRANCH main; CHERRY PICK a@4; USE BRANCH a; INSERT INTO d.t (a) VALUES (2); TRUNCATE "
        "TABLE d.t; USE BRANCH main; INSERT INTO d.t (a) VALUES (3); MERGE BRANCH a WITH (detect = 'row')"
    ),
    "CHERRY PICK of an UPDATE on a row that ours has set back since": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT DEFAULT 3); MERGE INTO d.t AS t USING (VALUES (3, NULL), (2, NULL), "
        "(1, NULL)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) "
        "VALUES (s.k, s.a); UPDATE d.t SET a = 0; MERGE INTO d.t AS t USING (VALUES (3, NULL), (2, NULL), (1, NULL)) "
        "AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES "
        "(s.k, s.a); CHERRY PICK main@4"
    ),
    "one UPDATE that two merges ran on an inserted row": (
        "CREATE TABLE d.t (id INT, b INT); INSERT INTO d.t (id) VALUES (3); CREATE BRANCH a FROM main; CREATE BRANCH "
        "x FROM main; USE BRANCH a; INSERT INTO d.t (id) VALUES (6); USE BRANCH main; UPDATE d.t SET b = 2; USE "
        "BRANCH x; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH a; MERGE BRANCH main RESOLVE USING THEIRS WITH "
        "(detect = 'cell'); USE BRANCH x; MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH a; "
        "MERGE BRANCH x WITH (detect = 'row')"
    ),
    "an overwrite whose rows were gone at the base": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (a) VALUES (0); CREATE BRANCH a FROM main; CREATE BRANCH x "
        "FROM main; INSERT OVERWRITE d.t (a) VALUES (3); USE BRANCH x; INSERT OVERWRITE d.t (a) VALUES (3); USE "
        "BRANCH a; MERGE BRANCH main WITH (detect = 'cell'); USE BRANCH x; MERGE BRANCH a WITH (detect = 'row'); USE "
        "BRANCH a; INSERT INTO d.t (a) VALUES (0); MERGE BRANCH x WITH (detect = 'file')"
    ),
    "REVERT of another branch's CREATE TABLE": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; CREATE TABLE d.u (a INT DEFAULT 1, "
        "p INT); USE BRANCH main; REVERT exp@2"
    ),
    "REVERT of another branch's merge brings a row back that theirs had overwritten before the base": (
        "CREATE TABLE d.t (k INT NOT NULL, b INT); INSERT INTO d.t (k) VALUES (3); CREATE BRANCH dev FROM main; "
        "CREATE BRANCH exp FROM dev; USE BRANCH dev; INSERT OVERWRITE d.t (k) VALUES (0); USE BRANCH exp; MERGE "
        "BRANCH dev; USE BRANCH main; REVERT exp@3; INSERT OVERWRITE d.t (k) VALUES (2); USE BRANCH dev; MERGE BRANCH "
        "main; USE BRANCH main; REVERT exp@4; MERGE BRANCH dev WITH (detect = 'cell')"
    ),
    "what a third branch undid on the way is undone": (
        "CREATE TABLE d.t (k INT NOT NULL, p INT); CREATE TABLE d.u (k INT NOT NULL, b INT); CREATE BRANCH dev FROM "
        "main; CREATE BRANCH exp FROM main; USE BRANCH dev; INSERT OVERWRITE d.u (k) VALUES (2); INSERT INTO d.t (k) "
        "VALUES (2); USE BRANCH main; MERGE BRANCH dev WITH (detect = 'cell'); RESTORE TABLE d.t TO VERSION 3; USE "
        "BRANCH exp; MERGE BRANCH main; USE BRANCH dev; MERGE BRANCH exp WITH (detect = 'row')"
    ),
    "REVERT of another branch's drop, after a column was dropped there": (
        "CREATE TABLE d.t (k INT NOT NULL, p INT); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; ALTER "
        "TABLE d.t DROP COLUMN k; REVERT exp@2; USE BRANCH exp; REVERT main@4"
    ),
    "rows that show the same are taken along, so that branches converge": (
        "CREATE TABLE d.t (k INT NOT NULL); CREATE TABLE d.u (k INT NOT NULL, b INT); INSERT INTO d.u (k) VALUES (1); "
        "CREATE BRANCH dev FROM main; USE BRANCH dev; UPDATE d.u SET b = NULL; INSERT INTO d.t (k) VALUES (0); USE "
        "BRANCH main; MERGE BRANCH dev WITH (detect = 'cell'); USE BRANCH dev; MERGE BRANCH main WITH (detect = 'file')"
    ),
    "after a criss-cross: a row that came and went with an overwrite that ours has by a merge": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (3, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; INSERT INTO d.t (id, a) VALUES (3, 2); USE BRANCH a; MERGE BRANCH main WITH (detect"
        " = 'cell'); USE BRANCH x; INSERT INTO d.t (id, a) VALUES (6, 1); USE BRANCH main; MERGE BRANCH x WITH (detect "
        "= 'row'); USE BRANCH a; TRUNCATE TABLE d.t; USE BRANCH x; MERGE BRANCH a WITH (detect = 'cell'); MERGE BRANCH "
        "main WITH (detect = 'row')"
    ),
    "a REVERT brings some rows back of those that a TRUNCATE took: it counts still": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (2, 0), (3, 0); CREATE BRANCH x FROM "
        "main; USE BRANCH x; DELETE FROM d.t WHERE id < 3; USE BRANCH main; INSERT INTO d.t (id, a) VALUES (3, 1); USE "
        "BRANCH x; TRUNCATE TABLE d.t; REVERT x@4; USE BRANCH main; MERGE BRANCH x WITH (detect = 'row')"
    ),
    "an inserted row that theirs overwrote is not updated, too": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES (1, 0, "
        "0), (2, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; TRUNCATE TABLE d.t "
        "PARTITION (p = 0); USE BRANCH exp; INSERT INTO d.t (k, a, p) VALUES (3, 2, 0); USE BRANCH dev; UPDATE d.t SET "
        "a = 1; USE BRANCH exp; MERGE BRANCH dev@5 RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "ours overwrote a row where the base has it no more: a deletion": (
        "CREATE TABLE d.t (k INT NOT NULL, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, p) VALUES (3, 1); CREATE "
        "BRANCH dev FROM main; USE BRANCH dev; UPDATE d.t SET p = 0; USE BRANCH main; TRUNCATE TABLE d.t PARTITION (p ="
        " 1); REVERT dev@4"
    ),
    "a contest over rows whose first versions are in parts that the base has not": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; "
        "UPDATE d.t SET b = 12; USE BRANCH exp; DELETE FROM d.t WHERE p = 0; UPDATE d.t SET b = 1; USE BRANCH main; "
        "TRUNCATE TABLE d.t PARTITION (p = 1); USE BRANCH exp; MERGE BRANCH main WITH (detect = 'cell'); REVERT exp@6; "
        "USE BRANCH dev; CHERRY PICK exp@7"
    ),
    "a TRUNCATE of a partition that all rows have left counts for nothing": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; "
        "INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (2, 3); USE BRANCH exp; UPDATE d.t SET p = 1; TRUNCATE "
        "TABLE d.t PARTITION (p = 0); USE BRANCH dev; MERGE BRANCH exp WITH (detect = 'row')"
    ),
    "CHERRY PICK of an update of a row that ours overwrote, updated before": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; MERGE INTO d.t AS t "
        "USING (VALUES (1, 1)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN "
        "INSERT (k, a) VALUES (s.k, s.a); USE BRANCH exp; TRUNCATE TABLE d.t PARTITION (p = 0); USE BRANCH main; UPDATE"
        " d.t SET b = 16; USE BRANCH exp; MERGE BRANCH main WITH (detect = 'file'); CHERRY PICK main@5"
    ),
    "a row that both have had is gone by an overwrite that the base has": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; "
        "TRUNCATE TABLE d.t PARTITION (p = 0); USE BRANCH main; UPDATE d.t SET b = 19 WHERE k = 1; MERGE BRANCH exp "
        "WITH (detect = 'row'); USE BRANCH exp; REVERT main@5; MERGE BRANCH main WITH (detect = 'row')"
    ),
    "rows that ours moved into what theirs overwrote die, updated there or not": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; "
        "UPDATE d.t SET p = 0; USE BRANCH main; TRUNCATE TABLE d.t PARTITION (p = 0); UPDATE d.t SET b = 16; USE BRANCH"
        " exp; MERGE BRANCH main WITH (detect = 'cell')"
    ),
    "a pick takes the current version of a row that its overwrite took elsewhere": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; "
        "INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (3, 2); INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) "
        "VALUES (3, 2); USE BRANCH main; UPDATE d.t SET p = 1; USE BRANCH exp; UPDATE d.t SET b = 20; USE BRANCH main; "
        "CHERRY PICK dev@5; USE BRANCH exp; MERGE BRANCH main WITH (detect = 'cell')"
    ),
    "ours overwrote a row where it had moved it, and where it had been as well": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; "
        "UPDATE d.t SET p = 1; TRUNCATE TABLE d.t PARTITION (p = 1); USE BRANCH main; MERGE INTO d.t AS t USING (VALUES"
        " (1, 3)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) "
        "VALUES (s.k, s.a); USE BRANCH exp; INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (1, 2); MERGE BRANCH "
        "main WITH (detect = 'row')"
    ),
    "REVERT of an update of rows that ours had moved and truncated": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; INSERT INTO d.t (k, "
        "a, p) VALUES (2, 3, 1); TRUNCATE TABLE d.t PARTITION (p = 0); USE BRANCH exp; UPDATE d.t SET p = 0; USE BRANCH"
        " main; UPDATE d.t SET b = 0 WHERE a = 0; USE BRANCH exp; TRUNCATE TABLE d.t PARTITION (p = 1); TRUNCATE TABLE "
        "d.t PARTITION (p = 0); REVERT main@6"
    ),
    "CHERRY PICK of a RESTORE: one version of a row, not two": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; MERGE INTO d.t AS t USING (VALUES (3, 3)) "
        "AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, "
        "s.a); TRUNCATE TABLE d.t PARTITION (p = 1); INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (4, 3); "
        "RESTORE TABLE d.t TO VERSION 4; USE BRANCH exp; CHERRY PICK main@7"
    ),
    "after a criss-cross: an overwrite that one base has discards": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; "
        "UPDATE d.t SET a = 10; USE BRANCH main; DELETE FROM d.t WHERE p = 0; TRUNCATE TABLE d.t PARTITION (p = 0); USE"
        " BRANCH dev; MERGE BRANCH exp WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH exp WITH (detect = 'file');"
        " USE BRANCH dev; MERGE BRANCH main@5 WITH (detect = 'row'); REVERT dev@5; USE BRANCH main; MERGE BRANCH dev "
        "WITH (detect = 'row')"
    ),
    "REVERT of what undid another branch's overwrite deletes": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; INSERT OVERWRITE d.t "
        "PARTITION (p = 1) (k, a) VALUES (3, 2); DELETE FROM d.t; USE BRANCH main; INSERT INTO d.t (k, a, p) VALUES (1,"
        " 1, 1); USE BRANCH dev; MERGE BRANCH main WITH (detect = 'cell'); REVERT dev@4; USE BRANCH exp; REVERT dev@7; "
        "USE BRANCH dev; MERGE BRANCH exp WITH (detect = 'file')"
    ),
    "after a criss-cross: what an overwrite wrote, and ours deleted, it did not take": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (3, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; INSERT INTO d.t (id, a) VALUES (6, 0); USE BRANCH a; INSERT OVERWRITE d.t (id, a) "
        "VALUES (4, 2); USE BRANCH x; MERGE BRANCH a WITH (detect = 'cell'); DELETE FROM d.t; USE BRANCH a; MERGE "
        "BRANCH main WITH (detect = 'cell'); USE BRANCH main; MERGE BRANCH x WITH (detect = 'row'); MERGE BRANCH a WITH"
        " (detect = 'row')"
    ),
    "an UPDATE of rows that were new to the branch that brings it": (
        "CREATE TABLE d.t (id INT, a INT, b INT); CREATE BRANCH a FROM main; CREATE BRANCH x FROM main; USE BRANCH x; "
        "INSERT INTO d.t (id, a) VALUES (6, 0); USE BRANCH a; MERGE BRANCH x WITH (detect = 'row'); USE BRANCH x; "
        "UPDATE d.t SET b = 2; USE BRANCH main; MERGE BRANCH x WITH (detect = 'file'); USE BRANCH a; INSERT INTO d.t "
        "(id, a) VALUES (5, 1); MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "an older file that came back on both sides is no common state": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, a, p) VALUES (1, 1, 0); DELETE FROM d.t"
        " WHERE k = 3; USE BRANCH dev; TRUNCATE TABLE d.t PARTITION (p = 1); USE BRANCH main; UPDATE d.t SET a = 14; "
        "MERGE BRANCH dev WITH (detect = 'row'); USE BRANCH dev; REVERT main@5; USE BRANCH main; REVERT main@7; USE "
        "BRANCH dev; MERGE BRANCH main WITH (detect = 'cell')"
    ),
    "a version that came and went with an overwrite was not had": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; "
        "UPDATE d.t SET p = 0; USE BRANCH main; DELETE FROM d.t WHERE k < 2; USE BRANCH dev; MERGE BRANCH exp WITH "
        "(detect = 'row'); USE BRANCH exp; INSERT INTO d.t (k, a, p) VALUES (1, 1, 0); USE BRANCH dev; MERGE BRANCH "
        "main@4 WITH (detect = 'row'); USE BRANCH exp; MERGE BRANCH dev WITH (detect = 'row')"
    ),
    "a DELETE of a row that the base has in a newer version meets inserts": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; TRUNCATE TABLE d.t "
        "PARTITION (p = 1); USE BRANCH main; UPDATE d.t SET b = 15; USE BRANCH dev; INSERT INTO d.t (k, a, p) VALUES "
        "(4, 0, 0); USE BRANCH main; MERGE BRANCH dev WITH (detect = 'row'); MERGE BRANCH exp WITH (detect = 'cell'); "
        "USE BRANCH exp; MERGE BRANCH main WITH (detect = 'cell'); CHERRY PICK main@4"
    ),
    "a DELETE that theirs kept against the base's update meets inserts": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (3, 0); CREATE BRANCH a FROM main; "
        "CREATE BRANCH x FROM main; USE BRANCH x; DELETE FROM d.t; USE BRANCH a; UPDATE d.t SET a = 2; USE BRANCH x; "
        "MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH a; INSERT INTO d.t (id, a) VALUES (2, 3); "
        "MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "a statement that was merged and whose rows ours overwrote is older than inserts": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; "
        "UPDATE d.t SET a = 1; DELETE FROM d.t WHERE k = 1 AND p = 0; USE BRANCH main; TRUNCATE TABLE d.t PARTITION (p "
        "= 1); USE BRANCH exp; MERGE BRANCH dev WITH (detect = 'file'); USE BRANCH main; MERGE BRANCH exp WITH (detect "
        "= 'cell'); USE BRANCH dev; MERGE BRANCH main WITH (detect = 'row'); USE BRANCH main; INSERT INTO d.t (k, a, p)"
        " VALUES (2, 0, 0); USE BRANCH dev; REVERT dev@6; USE BRANCH main; REVERT main@4; MERGE BRANCH dev WITH (detect"
        " = 'cell')"
    ),
    "a MERGE INTO that changed no value is not brought by a merge that keeps ours": (
        "CREATE TABLE d.u (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.u (k, a, p) VALUES "
        "(2, NULL, 1), (3, 3, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH exp; MERGE INTO "
        "d.u AS t USING (VALUES (2, 0)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED "
        "THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH main; MERGE INTO d.u AS t USING (VALUES (0, 2)) AS s(k, a) ON"
        " t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); USE "
        "BRANCH dev; MERGE INTO d.u AS t USING (VALUES (2, NULL), (0, 1), (1, 1)) AS s(k, a) ON t.k = s.k WHEN MATCHED "
        "THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH exp; MERGE BRANCH "
        "dev WITH (detect = 'cell'); USE BRANCH main; MERGE BRANCH exp WITH (detect = 'row')"
    ),
    "CHERRY PICK of a TRUNCATE takes rows that theirs had moved out before": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(2, 0, 1), (3, 0, 1); CREATE BRANCH dev FROM main; USE BRANCH dev; UPDATE d.t SET p = 0 WHERE k = 2; TRUNCATE "
        "TABLE d.t PARTITION (p = 1); USE BRANCH main; CHERRY PICK dev@5"
    ),
    "rows that ours inserted, updated and deleted are no inserts": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(3, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM dev; USE BRANCH dev; TRUNCATE TABLE d.t "
        "PARTITION (p = 1); INSERT INTO d.t (k, a, p) VALUES (4, 3, 1); USE BRANCH main; MERGE BRANCH dev WITH (detect "
        "= 'cell'); UPDATE d.t SET b = 1; DELETE FROM d.t; USE BRANCH exp; UPDATE d.t SET a = 24; USE BRANCH main; "
        "MERGE BRANCH exp@4 WITH (detect = 'file')"
    ),
    "statements meet inserts in the order in which they were run": (
        "CREATE TABLE d.t (id INT, a INT, b INT); INSERT INTO d.t (id, a) VALUES (1, 0), (2, 0), (3, 0); CREATE BRANCH "
        "a FROM main; CREATE BRANCH x FROM main; USE BRANCH x; UPDATE d.t SET b = 10; USE BRANCH main; UPDATE d.t SET b"
        " = 2 WHERE id > 1; MERGE BRANCH x RESOLVE USING OURS WITH (detect = 'cell'); USE BRANCH a; INSERT INTO d.t "
        "(id, a) VALUES (4, 0); MERGE BRANCH main RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "REVERT of another branch's DROP brings rows back that ours has deleted": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 1); CREATE BRANCH dev FROM main; USE BRANCH"
        " dev; DROP TABLE d.t; USE BRANCH main; DELETE FROM d.t; REVERT dev@4"
    ),
    "a merge that takes theirs as it is forgets no row that ours has had": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH a; UPDATE d.t "
        "SET b = 13 WHERE k < 3; USE BRANCH main; INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (1, 3); USE "
        "BRANCH x; MERGE BRANCH main WITH (detect = 'cell'); USE BRANCH main; INSERT OVERWRITE d.t PARTITION (p = 1) "
        "(k, a) VALUES (1, 0); USE BRANCH a; MERGE BRANCH main WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH a "
        "RESOLVE USING OURS WITH (detect = 'row'); CHERRY PICK x@4"
    ),
    "a TRUNCATE of deleted rows gives them its class, and a merge that brings nothing of them leaves it": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; UPDATE d.t SET p = 0 "
        "WHERE k = 1; USE BRANCH x; DELETE FROM d.t WHERE k >= 2; USE BRANCH main; MERGE BRANCH x@4 RESOLVE USING "
        "THEIRS WITH (detect = 'file'); USE BRANCH x; TRUNCATE TABLE d.t PARTITION (p = 1); USE BRANCH a; MERGE INTO "
        "d.t AS t USING (VALUES (4, 3)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED "
        "THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH x; MERGE BRANCH main WITH (detect = 'file'); USE BRANCH a; "
        "MERGE BRANCH x RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "an overwrite that a base has undone, and theirs picked, runs on what ours overwrote": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) "
        "VALUES (3, 2); REVERT main@4; INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (1, 2); USE BRANCH a; "
        "CHERRY PICK main@4; USE BRANCH main; INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (2, 1); USE BRANCH "
        "a; MERGE BRANCH main@6 RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH a WITH (detect"
        " = 'file')"
    ),
    "REVERT of a REVERT of an overwrite: it counts again": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; MERGE INTO d.t AS t USING"
        " (VALUES (1, 2)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT "
        "(k, a) VALUES (s.k, s.a); INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (4, 1); REVERT main@5; REVERT "
        "main@6; USE BRANCH a; INSERT INTO d.t (k, a, p) VALUES (4, 1, 0); MERGE BRANCH main RESOLVE USING OURS WITH "
        "(detect = 'cell')"
    ),
    "an overwrite takes the older version that ours shows in another partition": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; UPDATE d.t SET p = 1 WHERE p = 0; INSERT "
        "OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (3, 2); TRUNCATE TABLE d.t PARTITION (p = 1); USE BRANCH a; "
        "CHERRY PICK main@6"
    ),
    "REVERT of a REVERT brings no first version beside a newer one": (
        "CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t (id, a) VALUES (1, 1); CREATE BRANCH dev FROM main; USE "
        "BRANCH dev; INSERT INTO d.t (id, a) VALUES (4, 4); USE BRANCH main; MERGE BRANCH dev WITH (detect = 'row'); "
        "REVERT main@4; USE BRANCH dev; UPDATE d.t SET a = 44 WHERE id = 4; USE BRANCH main; MERGE BRANCH dev RESOLVE "
        "USING THEIRS WITH (detect = 'row'); REVERT main@5; UPDATE d.t SET a = 5 WHERE id = 4"
    ),
    "rows that REVERT brings of another branch's overwrite overwrite nothing": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH a; MERGE INTO "
        "d.t AS t USING (VALUES (1, 0)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED "
        "THEN INSERT (k, a) VALUES (s.k, s.a); INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (1, 3); INSERT "
        "OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (2, 3); USE BRANCH main; REVERT a@6; USE BRANCH x; INSERT "
        "OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (4, 3); MERGE BRANCH main WITH (detect = 'cell')"
    ),
    "an overwrite older than what both share, undone on the way and redone": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH x; INSERT "
        "OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (4, 1); INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES "
        "(4, 3); MERGE INTO d.t AS t USING (VALUES (2, 0)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = "
        "s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH main; MERGE BRANCH x WITH (detect = "
        "'cell'); RESTORE TABLE d.t TO VERSION 3; USE BRANCH x; MERGE BRANCH main WITH (detect = 'row'); USE BRANCH "
        "main; UPDATE d.t SET b = 22 WHERE k < 4; USE BRANCH x; REVERT x@7; MERGE BRANCH main RESOLVE USING THEIRS "
        "WITH (detect = 'row')"
    ),
    "a statement that a merge brought changed only the rows that were there": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH x; TRUNCATE "
        "TABLE d.t PARTITION (p = 0); USE BRANCH main; DELETE FROM d.t WHERE k >= 3; USE BRANCH x; UPDATE d.t SET a = "
        "0 WHERE p = 1; USE BRANCH main; MERGE BRANCH x WITH (detect = 'row'); USE BRANCH a; INSERT INTO d.t (k, a, p)"
        " VALUES (1, 1, 1); MERGE BRANCH main WITH (detect = 'row')"
    ),
    "REVERT of a DROP COLUMN: rows that were updated since have their values again": (
        "CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 1, 1), (2, 2, 2); CREATE BRANCH "
        "dev FROM main; ALTER TABLE d.t DROP COLUMN a; UPDATE d.t SET b = 3 WHERE k = 1; REVERT main@4"
    ),
    "a column that theirs brought back, in rows that both sides updated": (
        "CREATE TABLE d.t (k INT, a INT, b INT, c INT); INSERT INTO d.t (k, a, b, c) VALUES (1, 1, 1, 1), (2, 2, 2, "
        "2), (3, 3, 3, 3); CREATE BRANCH dev FROM main; ALTER TABLE d.t DROP COLUMN a; USE BRANCH dev; MERGE BRANCH "
        "main; REVERT dev@4; UPDATE d.t SET a = 10, c = 5 WHERE k = 1; UPDATE d.t SET a = 20 WHERE k = 2; USE BRANCH "
        "main; UPDATE d.t SET b = 3; MERGE BRANCH dev WITH (detect = 'row'); MERGE BRANCH dev WITH (detect = 'cell'); "
        "USE BRANCH dev; MERGE BRANCH main"
    ),
    "a version that a pick left behind, showing the same as ours, was had": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; UPDATE d.t SET p = 0 "
        "WHERE k = 1; USE BRANCH a; UPDATE d.t SET a = 0 WHERE k < 4; USE BRANCH x; UPDATE d.t SET a = 0 WHERE k >= 2;"
        " USE BRANCH a; DELETE FROM d.t WHERE k = 2; USE BRANCH x; MERGE BRANCH a WITH (detect = 'row'); USE BRANCH "
        "main; CHERRY PICK x@5; USE BRANCH x; MERGE BRANCH main WITH (detect = 'file')"
    ),
    "a CHERRY PICK brings the versions that its commit made, and no older ones": (
        "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT) PARTITIONED BY (p); INSERT INTO d.t (k, a, p) VALUES "
        "(1, 0, 0), (2, 0, 1), (3, 0, 1); CREATE BRANCH a FROM main; CREATE BRANCH x FROM a; USE BRANCH x; MERGE INTO "
        "d.t AS t USING (VALUES (1, 1)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED "
        "THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH main; MERGE BRANCH x WITH (detect = 'file'); USE BRANCH x; "
        "MERGE INTO d.t AS t USING (VALUES (1, 0)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN "
        "NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a); USE BRANCH a; CHERRY PICK x@5; USE BRANCH main; MERGE "
        "BRANCH a WITH (detect = 'row')"
    ),
    "REVERT of a CREATE DATABASE that holds tables, resolved for ours: nothing changes": (
        "CREATE TABLE d.t (k INT, a INT); INSERT INTO d.t (k, a) VALUES (0, 0); REVERT main@1 RESOLVE USING OURS; "
        "REVERT main@1 RESOLVE USING THEIRS"
    ),
    "a database that theirs dropped and in which ours created a table, resolved": (
        "CREATE DATABASE e; CREATE BRANCH dev FROM main; CREATE TABLE e.t (k INT, a INT); CREATE BRANCH exp FROM main; "
        "USE BRANCH dev; DROP DATABASE e; USE BRANCH main; MERGE BRANCH dev RESOLVE USING OURS; MERGE BRANCH dev; USE "
        "BRANCH exp; MERGE BRANCH dev RESOLVE USING THEIRS"
    ),
    "CHERRY PICK of an UPDATE of a table that has lost a column before: ours' values of it stay": (
        "CREATE TABLE d.t (k INT, a INT, b INT NOT NULL); INSERT INTO d.t (k, a, b) VALUES (0, 1, 1), (1, 2, 2); "
        "CREATE BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t DROP COLUMN b; UPDATE d.t SET a = 7 WHERE k = 1; "
        "USE BRANCH main; CHERRY PICK dev@5; MERGE BRANCH dev"
    ),
    "the same, of a row in which ours has changed that column, resolved": (
        "CREATE TABLE d.t (k INT, a INT, b INT NOT NULL); INSERT INTO d.t (k, a, b) VALUES (0, 1, 1), (1, 2, 2); "
        "CREATE BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t DROP COLUMN b; UPDATE d.t SET a = 7 WHERE k = 1; "
        "USE BRANCH main; UPDATE d.t SET b = 9 WHERE k = 1; CHERRY PICK dev@5; CHERRY PICK dev@5 RESOLVE USING "
        "THEIRS; MERGE BRANCH dev WITH (detect = 'row')"
    ),
    "a dropped column that ours has reverted, and a row that theirs updates after that": (
        "CREATE TABLE d.t (k INT, a INT, b INT NOT NULL); INSERT INTO d.t (k, a, b) VALUES (0, 1, 1), (1, 2, 2); "
        "CREATE BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t DROP COLUMN b; UPDATE d.t SET a = 7 WHERE k = 1; "
        "USE BRANCH main; MERGE BRANCH dev@4; REVERT main@4; MERGE BRANCH dev; UPDATE d.t SET b = 5 WHERE k = 1; "
        "REVERT main@6"
    ),
}

# Of a keyed table that is there already.
KEYED = (
    "CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, p INT NOT NULL, PRIMARY KEY (k, p)) PARTITIONED BY (p) "
    "TBLPROPERTIES ('merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true')"
)
SHRUNK_KEYED = {
    "REVERT of another branch's RESTORE over a dropped partition compares keys: it is no overwrite": (
        "INSERT INTO d.t (k, a, p) VALUES (1, 1, 0); CREATE BRANCH dev FROM main; USE BRANCH dev; ALTER TABLE d.t DROP "
        "PARTITION (p = 0); RESTORE TABLE d.t TO VERSION 3; USE BRANCH main; UPDATE d.t SET a = 7; REVERT dev@5; "
        "REVERT dev@5 RESOLVE USING OURS; REVERT dev@5 RESOLVE USING THEIRS"
    ),
    "CHERRY PICK of a flush that a merge took back": (
        "INSERT INTO d.t (k, p) VALUES (0, 0); CREATE BRANCH exp FROM main; RESTORE TABLE d.t TO VERSION 2; USE BRANCH "
        "exp; MERGE BRANCH main; CHERRY PICK exp@3"
    ),
    "CHERRY PICK of a flush that a REVERT took back": (
        "INSERT INTO d.t (k, p) VALUES (2, 1); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, p) VALUES (1, 1); "
        "REVERT dev@3; CHERRY PICK dev@3"
    ),
    "a key that nobody has stays away in whatever order flushes meet": (
        "INSERT INTO d.t (k, p) VALUES (0, 0); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, b, p) VALUES (0, 2, 0),"
        " (0, 2, 1); USE BRANCH dev; DELETE FROM d.t; INSERT INTO d.t (k, a, p, _kind) VALUES (1, 2, 0, '-D'); USE "
        "BRANCH main; MERGE BRANCH dev@4 RESOLVE USING THEIRS; USE BRANCH dev; MERGE BRANCH main"
    ),
    "a flush that the bases of a criss-cross disagree on was changed on both sides": (
        "INSERT INTO d.t (k, p) VALUES (1, 1), (0, 0); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, b, p, _kind) "
        "VALUES (0, 2, 0, '-U'); USE BRANCH dev; DELETE FROM d.t; MERGE BRANCH main@4; USE BRANCH main; MERGE BRANCH "
        "dev@4; RESTORE TABLE d.t TO VERSION 3; INSERT INTO d.t (k, b, p) VALUES (1, 3, 0); USE BRANCH dev; MERGE "
        "BRANCH main RESOLVE USING THEIRS"
    ),
    "CHERRY PICK of a merge that brought a TRUNCATE of what a RESTORE had taken": (
        "INSERT INTO d.t (k, a, b, p) VALUES (3, 0, 1, 0); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; "
        "USE BRANCH dev; UPDATE d.t SET b = NULL; USE BRANCH main; INSERT INTO d.t (k, a, p) VALUES (0, 0, 1); USE "
        "BRANCH exp; MERGE BRANCH dev; USE BRANCH main; TRUNCATE TABLE d.t PARTITION (p = 0); USE BRANCH dev; RESTORE "
        "TABLE d.t TO VERSION 2; MERGE BRANCH main; USE BRANCH exp; CHERRY PICK dev@6"
    ),
    "DROP PARTITION where only deletes are": (
        "CREATE BRANCH exp FROM main; USE BRANCH exp; INSERT INTO d.t (k, a, p, _kind) VALUES (0, 1, 0, '-D'); ALTER "
        "TABLE d.t DROP PARTITION (p = 0)"
    ),
    "a TRUNCATE that ours has picked": (
        "INSERT INTO d.t (k, p) VALUES (3, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH "
        "dev; TRUNCATE TABLE d.t; USE BRANCH main; MERGE BRANCH dev; USE BRANCH exp; CHERRY PICK main@4; INSERT INTO "
        "d.t (k, b, p) VALUES (0, 1, 0); MERGE BRANCH dev"
    ),
    "a flush that both picked is no move of ours": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; INSERT INTO d.t (k, a, p) VALUES (0, 0, 1); USE "
        "BRANCH exp; INSERT INTO d.t (k, a, p) VALUES (0, 1, 1); USE BRANCH dev; MERGE BRANCH main; MERGE BRANCH exp "
        "RESOLVE USING THEIRS; USE BRANCH main; CHERRY PICK dev@4; USE BRANCH exp; MERGE BRANCH main; USE BRANCH main; "
        "MERGE BRANCH exp"
    ),
    "REVERT of a REVERT, where ours has truncated since": (
        "INSERT INTO d.t (k, a, b, p) VALUES (3, 1, 1, 1); CREATE BRANCH dev FROM main; DELETE FROM d.t; USE BRANCH "
        "dev; INSERT INTO d.t (k, a, p, _kind) VALUES (0, 3, 1, '-D'); USE BRANCH main; MERGE BRANCH dev; REVERT "
        "main@3; USE BRANCH dev; TRUNCATE TABLE d.t; REVERT main@6"
    ),
    "an overwrite that the base has discards nothing": (
        "CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; USE BRANCH exp; INSERT OVERWRITE d.t (k, b, p) "
        "VALUES (0, 3, 0); USE BRANCH main; MERGE BRANCH exp; INSERT INTO d.t (k, p) VALUES (0, 0), (1, 0); USE BRANCH "
        "exp; DELETE FROM d.t; USE BRANCH dev; MERGE BRANCH main; MERGE BRANCH exp"
    ),
    "flushes that both have in another order: what ours shows stays": (
        "INSERT INTO d.t (k, a, p) VALUES (0, 0, 1); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main; INSERT "
        "INTO d.t (k, a, p) VALUES (3, 0, 1); USE BRANCH dev; INSERT INTO d.t (k, b, p) VALUES (3, 1, 1); USE BRANCH "
        "main; MERGE BRANCH dev; USE BRANCH dev; MERGE BRANCH main@4; USE BRANCH exp; MERGE BRANCH main; USE BRANCH "
        "dev; REVERT exp@4"
    ),
    "ours truncated before a key came that theirs took away": (
        "INSERT INTO d.t (k, a, b, p) VALUES (2, 0, NULL, 0); CREATE BRANCH dev FROM main; CREATE BRANCH exp FROM main;"
        " INSERT INTO d.t (k, b, p, _kind) VALUES (0, 3, 1, '-D'); INSERT INTO d.t (k, a, p) VALUES (2, NULL, 1), (0, "
        "2, 0); DELETE FROM d.t WHERE a < 3; USE BRANCH exp; INSERT INTO d.t (k, b, p) VALUES (1, NULL, 0); USE BRANCH "
        "dev; TRUNCATE TABLE d.t; USE BRANCH main; DELETE FROM d.t; INSERT INTO d.t (k, b, p, _kind) VALUES (1, NULL, "
        "0, '-D'), (3, 0, 0, '+U'), (0, NULL, 1, '-U'); MERGE BRANCH exp@4; REVERT main@9; USE BRANCH dev; MERGE BRANCH"
        " exp; MERGE BRANCH main"
    ),
    "ours took a key away in what theirs overwrote, and theirs left it as it was": (
        "INSERT INTO d.t (k, a, b, p) VALUES (0, NULL, 0, 1), (2, 3, 1, 0); CREATE BRANCH dev FROM main; CREATE BRANCH "
        "exp FROM main; USE BRANCH dev; INSERT INTO d.t (k, b, p) VALUES (3, 0, 1); USE BRANCH exp; INSERT OVERWRITE "
        "d.t PARTITION (p = 1) (k, a, b) VALUES (2, NULL, 2); MERGE BRANCH dev@4; USE BRANCH main; ALTER TABLE d.t DROP"
        " PARTITION (p = 1); USE BRANCH dev; MERGE BRANCH main; MERGE BRANCH exp"
    ),
    "a partition in which flushes only stand in another order": (
        "INSERT INTO d.t (k, a, b, p) VALUES (0, NULL, 1, 1), (1, 1, NULL, 0); CREATE BRANCH dev FROM main; INSERT INTO"
        " d.t (k, a, p, _kind) VALUES (1, 1, 1, '-D'); INSERT INTO d.t (k, a, b, p) VALUES (0, 2, NULL, 1), (2, NULL, "
        "2, 1); USE BRANCH dev; DELETE FROM d.t; USE BRANCH main; MERGE BRANCH dev RESOLVE USING THEIRS; USE BRANCH "
        "dev; MERGE BRANCH main@5 RESOLVE USING THEIRS; INSERT INTO d.t (k, a, b, p) VALUES (2, NULL, 1, 0); USE BRANCH"
        " main; MERGE BRANCH dev"
    ),
    "a set row that is the only record of its key says what it sets": (
        "INSERT INTO d.t (k, a, b, p) VALUES (1, 2, NULL, 0); CREATE BRANCH exp FROM main; USE BRANCH exp; REVERT "
        "exp@3; USE BRANCH main; UPDATE d.t SET b = a + 1; MERGE BRANCH exp RESOLVE USING OURS; INSERT INTO d.t (k, a, "
        "b, p) VALUES (1, NULL, 1, 0)"
    ),
    "CHERRY PICK of a flush of a table that a RESTORE took and a pick brought again": (
        "CREATE BRANCH dev FROM main; USE BRANCH dev; INSERT INTO d.t (k, a, b, p) VALUES (1, 0, NULL, 1); RESTORE "
        "BRANCH TO VERSION 1; CHERRY PICK main@2; CHERRY PICK dev@3"
    ),
    "a flush that ours took away, in what theirs overwrote before it came": (
        "INSERT INTO d.t (k, a, b, p) VALUES (3, NULL, 2, 1); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, a, b, p)"
        " VALUES (0, 0, 3, 0); UPDATE d.t SET b = k + 2; INSERT INTO d.t (k, a, p) VALUES (1, NULL, 1); TRUNCATE TABLE "
        "d.t; INSERT INTO d.t (k, a, p) VALUES (3, NULL, 1); USE BRANCH dev; CHERRY PICK main@8; TRUNCATE TABLE d.t; "
        "REVERT main@7; MERGE BRANCH main"
    ),
    "REVERT of an overwrite that ours has by a pick: it runs again": (
        "INSERT INTO d.t (k, a, b, p) VALUES (3, NULL, 2, 1); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, a, b, p)"
        " VALUES (0, 0, 3, 0); INSERT INTO d.t (k, a, p) VALUES (0, 1, 1); USE BRANCH dev; INSERT INTO d.t (k, a, p) "
        "VALUES (0, 1, 1); USE BRANCH main; MERGE BRANCH dev; UPDATE d.t SET b = k + 2; USE BRANCH dev; UPDATE d.t SET "
        "b = k + 2; USE BRANCH main; INSERT INTO d.t (k, a, p) VALUES (1, NULL, 1); TRUNCATE TABLE d.t; USE BRANCH dev;"
        " CHERRY PICK main@9; INSERT INTO d.t (k, a, b, p) VALUES (1, NULL, 2, 1); REVERT main@9; MERGE BRANCH main"
    ),
    "what both have had since a criss-cross comes after what each has of the other": (
        "INSERT INTO d.t (k, p) VALUES (0, 0); CREATE BRANCH dev FROM main; INSERT INTO d.t (k, b, p) VALUES (0, "
        "1, 0); USE BRANCH dev; INSERT INTO d.t (k, p) VALUES (3, 0); USE BRANCH main; MERGE BRANCH dev@4; USE "
        "BRANCH dev; MERGE BRANCH main@4; USE BRANCH main; INSERT INTO d.t (k, a, p) VALUES (3, 0, 0); INSERT INTO "
        "d.t (k, p) VALUES (2, 0); USE BRANCH dev; DELETE FROM d.t; USE BRANCH main; CHERRY PICK dev@6 RESOLVE "
        "USING OURS; USE BRANCH dev; CHERRY PICK main@7; INSERT INTO d.t (k, p) VALUES (1, 0); USE BRANCH main; "
        "MERGE BRANCH dev"
    ),
}


SHRUNK_BY_WAYS = {
    "ours widened a column that theirs had widened itself, and then took back": (
        "USE BRANCH a; ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT; USE BRANCH c; INSERT INTO d.o (id) VALUES (12); "
        "MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH a; INSERT INTO d.o (id) VALUES (20); USE"
        " BRANCH main; ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT; MERGE BRANCH c WITH (detect = 'file'); USE BRANCH "
        "a; REVERT a@8 RESOLVE USING OURS; USE BRANCH main; MERGE BRANCH a@10 WITH (detect = 'row')"
    ),
    "CHERRY PICK of an insert that a criss-cross took back": (
        "USE BRANCH a; INSERT INTO d.o (id) VALUES (10); USE BRANCH c; REVERT c@7; USE BRANCH main; MERGE BRANCH c "
        "WITH (detect = 'cell'); MERGE BRANCH a WITH (detect = 'file'); USE BRANCH c; MERGE BRANCH a RESOLVE USING "
        "OURS WITH (detect = 'cell'); REVERT c@9; USE BRANCH main; MERGE BRANCH c RESOLVE USING THEIRS WITH (detect ="
        " 'row'); CHERRY PICK c@9 RESOLVE USING OURS"
    ),
    "CHERRY PICK of an insert that came and went on a branch which was merged": (
        "USE BRANCH b; INSERT INTO d.o (id) VALUES (10); USE BRANCH main; MERGE BRANCH b WITH (detect = 'cell'); USE "
        "BRANCH b; REVERT b@8; INSERT INTO d.o (id) VALUES (15); USE BRANCH c; REVERT c@7; USE BRANCH a; MERGE BRANCH"
        " b WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row'); USE "
        "BRANCH c; CHERRY PICK b@8 RESOLVE USING OURS; USE BRANCH main; MERGE BRANCH c@9 WITH (detect = 'file')"
    ),
    "theirs took back rows that only one base has, and ours inserted": (
        "USE BRANCH a; INSERT INTO d.o (id) VALUES (10); USE BRANCH c; REVERT c@7; USE BRANCH b; MERGE BRANCH a "
        "RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH main; INSERT INTO d.o (id) VALUES (14); MERGE BRANCH "
        "a@8 RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH b; REVERT b@8; MERGE BRANCH c RESOLVE USING OURS "
        "WITH (detect = 'file'); USE BRANCH c; MERGE BRANCH main WITH (detect = 'cell'); MERGE BRANCH b WITH (detect "
        "= 'file')"
    ),
    "CHERRY PICK of an insert that ours had deleted in part, and a merge took back": (
        "USE BRANCH a; INSERT INTO d.o (id) VALUES (15); USE BRANCH c; MERGE BRANCH a RESOLVE USING OURS WITH (detect"
        " = 'file'); REVERT c@7; USE BRANCH a; DELETE FROM e.u WHERE id = 1; MERGE BRANCH c@9 RESOLVE USING OURS WITH"
        " (detect = 'file'); CHERRY PICK c@7 RESOLVE USING THEIRS"
    ),
    "theirs took back rows that only one base has, after undoing it twice": (
        "USE BRANCH b; INSERT INTO d.o (id) VALUES (19); REVERT b@8; REVERT b@9; REVERT b@10; USE BRANCH main; REVERT"
        " main@7; USE BRANCH c; MERGE BRANCH main WITH (detect = 'cell'); MERGE BRANCH b@8 RESOLVE USING OURS WITH "
        "(detect = 'cell'); USE BRANCH b; MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'cell'); USE BRANCH a; "
        "MERGE BRANCH c WITH (detect = 'file'); USE BRANCH b; REVERT b@12; USE BRANCH a; INSERT INTO d.o (id) VALUES "
        "(43); MERGE BRANCH b WITH (detect = 'file')"
    ),
    "theirs took back rows that only one base has, and ours got others by a merge": (
        "INSERT INTO d.o (id) VALUES (15); INSERT INTO d.o (id) VALUES (17); USE BRANCH c; REVERT c@7; MERGE BRANCH "
        "main WITH (detect = 'cell'); USE BRANCH main; REVERT main@9; USE BRANCH b; INSERT INTO d.o (id) VALUES (29);"
        " USE BRANCH a; UPDATE d.t SET a = 2; USE BRANCH b; MERGE BRANCH c@9 WITH (detect = 'row'); USE BRANCH main; "
        "MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH a; MERGE BRANCH b RESOLVE USING THEIRS"
        " WITH (detect = 'cell'); MERGE BRANCH main WITH (detect = 'file')"
    ),
    "REVERT of a RESTORE whose column is one with ours": (
        "INSERT INTO d.o (id) VALUES (10); USE BRANCH b; ALTER TABLE d.t ADD COLUMN x INT DEFAULT 1; USE BRANCH main;"
        " REVERT main@8; REVERT c@7; INSERT INTO d.o (id) VALUES (20); ALTER TABLE d.t ADD COLUMN x INT DEFAULT 1; "
        "RESTORE BRANCH TO VERSION 11; MERGE BRANCH b@8 RESOLVE USING THEIRS WITH (detect = 'cell'); REVERT main@13"
    ),
    "a widening is taken back, and ours is as both bases are": (
        "REVERT b@7; USE BRANCH a; ALTER TABLE e.u ALTER COLUMN a TYPE BIGINT; USE BRANCH c; MERGE BRANCH main WITH "
        "(detect = 'row'); MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'file'); USE BRANCH main; CHERRY PICK "
        "a@7; USE BRANCH c; RESTORE BRANCH TO VERSION 7; INSERT INTO d.o (id) VALUES (26); INSERT INTO d.o (id) "
        "VALUES (31); USE BRANCH b; INSERT INTO d.o (id) VALUES (35); MERGE BRANCH a WITH (detect = 'file'); USE "
        "BRANCH main; ALTER TABLE e.u ALTER COLUMN a TYPE BIGINT; USE BRANCH c; MERGE BRANCH b WITH (detect = "
        "'cell'); MERGE BRANCH main WITH (detect = 'row'); REVERT c@14; USE BRANCH main; MERGE BRANCH b RESOLVE USING"
        " OURS WITH (detect = 'row'); MERGE BRANCH c RESOLVE USING OURS WITH (detect = 'row')"
    ),
    "theirs has the column of ours again under its own name": (
        "ALTER TABLE e.u ADD COLUMN x INT DEFAULT 2; USE BRANCH c; ALTER TABLE e.u ADD COLUMN x INT DEFAULT 2; MERGE "
        "BRANCH main RESOLVE USING THEIRS WITH (detect = 'file'); RESTORE BRANCH TO VERSION 8; USE BRANCH main; MERGE"
        " BRANCH c WITH (detect = 'file')"
    ),
    "a widening is taken back by RESTORE, and ours is as both bases are": (
        "USE BRANCH b; INSERT INTO d.o (id) VALUES (10); USE BRANCH c; ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT; "
        "INSERT INTO d.o (id) VALUES (13); USE BRANCH b; ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT; USE BRANCH main;"
        " REVERT main@7; USE BRANCH c; MERGE BRANCH main@8 RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH a; "
        "MERGE BRANCH c RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH c; REVERT c@10; MERGE BRANCH b RESOLVE "
        "USING OURS WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH c@12 RESOLVE USING OURS WITH (detect = "
        "'cell'); RESTORE BRANCH TO VERSION 8; USE BRANCH b; MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row');"
        " MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'cell')"
    ),
    "bases of a criss-cross disagree on a database": (
        "USE BRANCH c; REVERT b@7 RESOLVE USING OURS; USE BRANCH main; REVERT main@7; USE BRANCH b; DROP DATABASE e "
        "CASCADE; USE BRANCH main; INSERT INTO d.o (id) VALUES (18); INSERT INTO d.o (id) VALUES (26); USE BRANCH a; "
        "MERGE BRANCH b WITH (detect = 'row'); USE BRANCH c; MERGE BRANCH main@10 RESOLVE USING OURS WITH (detect = "
        "'row'); USE BRANCH main; MERGE BRANCH a WITH (detect = 'cell'); REVERT main@11; USE BRANCH c; CHERRY PICK "
        "main@7 RESOLVE USING THEIRS; USE BRANCH a; MERGE BRANCH c@10 RESOLVE USING OURS WITH (detect = 'row'); MERGE"
        " BRANCH main WITH (detect = 'file')"
    ),
    "one base of a criss-cross has dropped the table: its rows do not count": (
        "USE BRANCH b; REVERT b@7; USE BRANCH main; DROP TABLE e.u; REVERT main@8; USE BRANCH a; MERGE BRANCH b WITH "
        "(detect = 'row'); MERGE BRANCH main@8 WITH (detect = 'row'); RESTORE BRANCH TO VERSION 7; USE BRANCH main; "
        "MERGE BRANCH b WITH (detect = 'row'); MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row')"
    ),
    "a NOT NULL on which bases disagree stays, and the merge is recorded": (
        "USE BRANCH c; REVERT c@7; USE BRANCH b; ALTER TABLE d.t ALTER COLUMN a SET NOT NULL; USE BRANCH c; MERGE "
        "BRANCH b RESOLVE USING OURS WITH (detect = 'row'); REVERT c@9; USE BRANCH b; MERGE BRANCH c@8 WITH (detect ="
        " 'row'); MERGE BRANCH c RESOLVE USING OURS WITH (detect = 'file')"
    ),
    "columns that both added, known for one only by a third branch": (
        "USE BRANCH a; ALTER TABLE d.t ADD COLUMN x INT DEFAULT 1; INSERT INTO d.o (id) VALUES (18); USE BRANCH b; "
        "REVERT b@7; USE BRANCH a; REVERT a@9; USE BRANCH b; ALTER TABLE d.t ADD COLUMN x INT DEFAULT 1; USE BRANCH "
        "c; MERGE BRANCH b RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH b; MERGE BRANCH a@9 RESOLVE USING "
        "OURS WITH (detect = 'cell'); USE BRANCH a; MERGE BRANCH b RESOLVE USING OURS WITH (detect = 'row'); USE "
        "BRANCH c; MERGE BRANCH a RESOLVE USING THEIRS WITH (detect = 'cell')"
    ),
    "RESTORE of a database with a table that ours had emptied before both dropped it": (
        "USE BRANCH c; INSERT INTO d.o (id) VALUES (11); USE BRANCH b; DROP DATABASE e CASCADE; USE BRANCH a; REVERT "
        "a@7; MERGE BRANCH b RESOLVE USING OURS WITH (detect = 'file'); INSERT INTO d.o (id) VALUES (19); USE BRANCH "
        "c; INSERT INTO d.o (id) VALUES (22); USE BRANCH a; DROP TABLE d.t; USE BRANCH c; MERGE BRANCH a@11 RESOLVE "
        "USING OURS WITH (detect = 'row'); USE BRANCH a; MERGE BRANCH c WITH (detect = 'row'); USE BRANCH c; RESTORE "
        "DATABASE e TO VERSION 9; USE BRANCH a; MERGE BRANCH c RESOLVE USING THEIRS WITH (detect = 'row')"
    ),
    "a table that came and went, and that only one base has": (
        "USE BRANCH b; REVERT b@7; CREATE TABLE d.n (id INT); USE BRANCH c; REVERT c@7; USE BRANCH b; RESTORE BRANCH "
        "TO VERSION 7; USE BRANCH a; MERGE BRANCH c WITH (detect = 'row'); USE BRANCH b; INSERT INTO d.o (id) VALUES "
        "(27); USE BRANCH c; MERGE BRANCH b RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH a; MERGE BRANCH b@9 "
        "RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH main; MERGE BRANCH c WITH (detect = 'file'); MERGE "
        "BRANCH a WITH (detect = 'file')"
    ),
    "a NOT NULL that a RESTORE took back, on which bases disagree": (
        "ALTER TABLE e.u ALTER COLUMN a SET NOT NULL; USE BRANCH c; REVERT c@7; USE BRANCH b; MERGE BRANCH main "
        "RESOLVE USING THEIRS WITH (detect = 'row'); USE BRANCH a; MERGE BRANCH main RESOLVE USING OURS WITH (detect "
        "= 'cell'); RESTORE TABLE e.u TO VERSION 7; MERGE BRANCH c RESOLVE USING OURS WITH (detect = 'file'); USE "
        "BRANCH c; MERGE BRANCH b WITH (detect = 'row'); MERGE BRANCH a RESOLVE USING OURS WITH (detect = 'row')"
    ),
    "a column is one with ours, though RESTORE took back the merge that says so": (
        "ALTER TABLE d.t ADD COLUMN x INT DEFAULT 2; USE BRANCH b; ALTER TABLE d.t ADD COLUMN x INT DEFAULT 2; USE "
        "BRANCH main; MERGE BRANCH b WITH (detect = 'cell'); RESTORE TABLE d.t TO VERSION 8; USE BRANCH b; MERGE "
        "BRANCH main RESOLVE USING OURS WITH (detect = 'cell')"
    ),
    "a NOT NULL is set twice, picked and taken back": (
        "USE BRANCH a; REVERT a@7 RESOLVE USING OURS; INSERT INTO d.o (id) VALUES (13); USE BRANCH main; ALTER TABLE "
        "d.t ALTER COLUMN a SET NOT NULL; USE BRANCH a; REVERT a@9; USE BRANCH b; MERGE BRANCH a WITH (detect = "
        "'row'); USE BRANCH main; MERGE BRANCH a@8 WITH (detect = 'row'); USE BRANCH a; CHERRY PICK b@7; USE BRANCH "
        "b; MERGE BRANCH main WITH (detect = 'row'); USE BRANCH a; ALTER TABLE d.t ALTER COLUMN a SET NOT NULL; USE "
        "BRANCH main; MERGE BRANCH a@12 RESOLVE USING OURS WITH (detect = 'row'); USE BRANCH b; RESTORE TABLE d.t TO "
        "VERSION 8; USE BRANCH main; MERGE BRANCH b WITH (detect = 'file')"
    ),
}
"""After the beginning of `test_by_ways.py`."""
