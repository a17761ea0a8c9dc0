"""Metadata, small writes, DELETE and UPDATE by known expressions, merges, picks, reverts, DIFF, DESCRIBE SECTIONS,
and reading start no JVM: pyspark is never imported."""

import subprocess
import sys

STORY = '''
import sys
import anabranch
assert not {"pyspark", "pyarrow", "sqlglot", "sqlalchemy"} & set(sys.modules), "import anabranch is not lazy"

with anabranch.connect(sys.argv[1], durability="process") as lake:
    for statement in """
        CREATE DATABASE d
        CREATE TABLE d.t (a INT NOT NULL, b STRING DEFAULT 'x', s STRUCT<x: INT>, k STRING) PARTITIONED BY (k)
        INSERT INTO d.t VALUES (1, 'one', named_struct('x', 1), 'p'), (2, DEFAULT, NULL, 'q')
        INSERT INTO d.t VALUES (1 + 2, upper('c'), NULL, NULL)
        INSERT OVERWRITE d.t PARTITION (k = 'p') (a) VALUES (9)
        ALTER TABLE d.t ADD COLUMN c DECIMAL(10,2) DEFAULT 1.5
        ALTER TABLE d.t ADD COLUMN s.y STRING
        ALTER TABLE d.t RENAME COLUMN b TO bb
        ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT
        ALTER TABLE d.t ALTER COLUMN c SET NOT NULL
        ALTER TABLE d.t SET TBLPROPERTIES ('user.a' = 'b')
        ALTER TABLE d.t ADD PARTITION (k = 'z')
        SHOW PARTITIONS d.t
        UPDATE d.t SET c = c + 1, bb = concat(bb, '!') WHERE a BETWEEN 2 AND 9 AND bb LIKE 'x%'
        DELETE FROM d.t WHERE s.x IS NULL AND k IS NULL OR a IN (100, 200)
        CREATE BRANCH dev
        USE BRANCH dev
        CREATE TAG v1
        TRUNCATE TABLE d.t
        SHOW LOG
        RESTORE TABLE d.t TO VERSION 3
        RESTORE BRANCH TO VERSION 14
        EXPLAIN SELECT * FROM d.t WHERE a > 5
        EXPLAIN DELETE FROM d.t WHERE a > 5
        DESCRIBE EXTENDED d.t
        DESCRIBE HISTORY d.t
        DESCRIBE DATABASE d
        SHOW CREATE TABLE d.t
        SHOW BRANCHES
        SHOW TAGS
        DROP TAG v1
        CREATE TABLE d.k (id INT, n INT, PRIMARY KEY (id))
        INSERT INTO d.k VALUES (1, 1), (2, 2)
        CREATE BRANCH kid
        INSERT INTO d.k VALUES (1, 10)
        INSERT INTO d.k@kid VALUES (1, 20), (2, 20)
        SHOW CONFLICTS FROM kid
        MERGE BRANCH kid RESOLVE USING THEIRS
        CREATE TABLE d.m (id INT, b STRING)
        INSERT INTO d.m VALUES (1, 'one'), (2, 'two')
        CREATE BRANCH side
        UPDATE d.m@side SET b = upper(b) WHERE id < 3 AND b LIKE 'o%'
        DELETE FROM d.m@side WHERE b = 'two'
        INSERT INTO d.m VALUES (0, 'ok'), (3, 'three')
        SHOW CONFLICTS FROM side WITH (detect = 'row')
        MERGE BRANCH side RESOLVE USING THEIRS WITH (detect = 'row')
        CREATE TABLE d.c (id INT, a INT, b STRING)
        INSERT INTO d.c VALUES (1, 1, 'one'), (2, 2, 'two')
        CREATE BRANCH far
        INSERT INTO d.c@far VALUES (3, 3, 'three')
        INSERT INTO d.c VALUES (4, 4, 'four')
        UPDATE d.c SET a = 22 WHERE id = 2
        MERGE BRANCH far DRY RUN
        MERGE BRANCH far WITH (detect = 'file')
        ALTER TABLE d.c@far ADD COLUMN more DOUBLE DEFAULT 0.5
        UPDATE d.c@far SET a = 10 WHERE id = 1
        UPDATE d.c SET b = 'eins' WHERE id = 1
        SHOW CONFLICTS IN far
        SHOW CONFLICTS IN far WITH (detect = 'row')
        SHOW CONFLICTS IN far WITH (detect = 'cell')
        DIFF dev far
        DIFF dev far TABLE d.c
        DIFF dev kid TABLE d.k
        DESCRIBE SECTIONS d.c@far
        DESCRIBE SECTIONS d.c AGAINST far
        DESCRIBE SECTIONS d.k
        MERGE BRANCH far WITH (detect = 'cell')
        MERGE BRANCH dev TO far
        SHOW LOG GRAPH
    """.strip().splitlines():
        lake.sql(statement.strip())
    for name in ("d.c", "d.k"):
        before = lake.table(name).to_arrow().to_pylist()
        lake.sql(f"DELETE FROM {name}@far WHERE id = 1")
        lake.sql(f"CHERRY PICK far@{lake.on('far').version}")
        assert lake.table(name).count() == len(before) - 1
        lake.sql(f"REVERT {lake.version} DRY RUN")
        lake.sql(f"REVERT {lake.version}")
        assert sorted(lake.table(name).to_arrow().to_pylist(), key=str) == sorted(before, key=str)
    assert {"id": 1, "a": 10, "b": "eins", "more": 0.5} in lake.table("d.c").to_arrow().to_pylist()
    table = lake.table("d.t")
    table.write([{"a": 5, "k": "p"}])
    table.write({"a": [6], "k": ["q"]})
    table.overwrite([{"a": 7, "k": "q"}], dynamic=True)
    assert table.delete("a = 5") == 1
    assert table.update({"bb": "'n'"}, "a = 7") == 1
    assert sorted(table.to_arrow(columns=["a"]).column("a").to_pylist()) == [7, 9]
    assert len(table.to_pandas()) == table.count() == 2
    assert sum(batch.num_rows for batch in table.to_batches(where="a > 8")) == 1
    loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j"))
    assert not loaded, loaded
print("done")
'''


def test_none_of_it_imports_pyspark(tmp_path):
    done = subprocess.run([sys.executable, "-c", STORY, tmp_path / "lake"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
