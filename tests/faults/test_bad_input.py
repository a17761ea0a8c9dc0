"""Bad input: an error that names the thing and the way out, and nothing changed; and names that are merely odd."""

import pyarrow as pa
import pytest

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    ColumnMismatch,
    DataError,
    ExpressionError,
    InvalidName,
    InvalidOption,
    NotFound,
    NullViolation,
    OptionConflict,
    Refused,
    SchemaError,
    SqlError,
    TypeMismatch,
    UnknownOption,
    UnsupportedType,
    ValueOutOfRange,
)
from tests.stories.telling import labels, one, rows, told

STATEMENTS = [
    # names that nothing has
    ("DROP DATABASE dd", NotFound, "'dd' does not exist", "'d'"),
    ("DESCRIBE DATABASE othr", NotFound, "'othr'", "Did you mean 'other'"),
    ("CREATE TABLE zzz.t (a INT)", NotFound, "'zzz'", "CREATE DATABASE"),
    ("SHOW TABLES IN nowhere", NotFound, "nowhere"),
    ("ALTER DATABASE nowhere RENAME TO e", NotFound, "nowhere"),
    ("DROP TABLE d.tt", NotFound, "'d.tt'", "'d.t'"),
    ("INSERT INTO d.tee VALUES (1)", NotFound, "'d.tee'"),
    ("DELETE FROM d.ones", NotFound, "'d.ones'", "'d.one'"),
    ("UPDATE d.ones SET only = 1", NotFound, "'d.ones'"),
    ("TRUNCATE TABLE d.ones", NotFound, "'d.ones'"),
    ("ALTER TABLE d.ones RENAME TO d.two", NotFound, "'d.ones'"),
    ("ALTER TABLE d.t RENAME TO nowhere.t", NotFound, "nowhere"),
    ("DESCRIBE d.ones", NotFound, "'d.ones'"),
    ("SHOW CREATE TABLE d.ones", NotFound, "'d.ones'"),
    ("EXPLAIN SELECT * FROM d.ones", NotFound, "'d.ones'"),
    ("DELETE FROM d.t WHERE nam = 1", NotFound, "'nam'", "'name'"),
    ("DELETE FROM d.t WHERE s.xx = 1", NotFound, "xx", "x'"),
    ("UPDATE d.t SET nam = 1", NotFound, "'nam'", "'name'"),
    ("UPDATE d.t SET name = nam", NotFound, "'nam'", "'name'"),
    ("INSERT INTO d.t (idd) VALUES (1)", NotFound, "'idd'", "'id'"),
    ("ALTER TABLE d.t DROP COLUMN nam", NotFound, "'nam'", "'name'"),
    ("ALTER TABLE d.t RENAME COLUMN nam TO n", NotFound, "'nam'", "'name'"),
    ("ALTER TABLE d.t ALTER COLUMN nam TYPE INT", NotFound, "'nam'", "'name'"),
    ("ALTER TABLE d.t ALTER COLUMN id AFTER nam", NotFound, "'nam'", "'name'"),
    ("ALTER TABLE d.t ADD COLUMN z INT AFTER nam", NotFound, "'nam'", "'name'"),
    ("CREATE TABLE d.u (a INT) PARTITIONED BY (b)", SchemaError, "'b'"),
    ("USE BRANCH de", NotFound, "'de'", "'dev'"),
    ("DROP BRANCH devv", NotFound, "'devv'", "'dev'"),
    ("CREATE BRANCH b FROM devv", NotFound, "'devv'", "'dev'"),
    ("SELECT nam FROM d.t", NotFound, "'nam'", "Did you mean 'name'"),
    ("SELECT t.nam, x.id FROM d.t JOIN d.one x ON true", NotFound, "'t.nam'", "Did you mean 'name'"),
    ("SELECT zzzz FROM d.one", NotFound, "'zzzz'", "The columns are 'only'"),
    ("SELECT aliass FROM (SELECT id AS alias FROM d.t)", NotFound, "Did you mean 'alias'"),
    ("INSERT INTO d.one SELECT nam FROM d.t", NotFound, "'nam'", "'name'"),
    ("DELETE FROM d.t WHERE zzzz = 1", NotFound, "'zzzz'", "The columns are 'id'"),
    ("SELECT * FROM d.t VERSION AS OF 1", NotFound, "table 'd.t' does not exist at version 1 of branch 'main'."),
    ("RESTORE TABLE d.t TO VERSION 1", NotFound, "table 'd.t' does not exist at version 1 of branch 'main'."),
    ("RESTORE DATABASE other TO VERSION 0", NotFound, "database 'other' does not exist at version 0 of branch 'main'."),
    ("DROP TAG v11", NotFound, "'v11'", "'v1'"),
    ("CREATE BRANCH b AT VERSION 1000", NotFound, "'1000'", "version"),
    ("RESTORE TABLE d.t TO VERSION 1000", NotFound, "'1000'"),
    ("DELETE FROM d.t@devv", NotFound, "'devv'", "'dev'"),
    ("SHOW LOG IN devv", NotFound, "'devv'"),
    ("ALTER TABLE d.t UNSET TBLPROPERTIES (nothing)", NotFound, "nothing"),
    # options
    ("CREATE TABLE d.u (a INT) TBLPROPERTIES ('write.compresion' = 'zstd')", UnknownOption, "'write.compression'"),
    ("CREATE TABLE d.u (a INT) TBLPROPERTIES ('write.nothing' = '1')", UnknownOption, "write.nothing"),
    ("CREATE TABLE d.u (a INT) TBLPROPERTIES ('merge-engine' = 'first-row')", OptionConflict, "no primary key"),
    ("ALTER TABLE d.t SET TBLPROPERTIES ('write.compression' = 'zip')", InvalidOption, "zip", "zstd"),
    # names that are taken, reserved or impossible
    ("CREATE DATABASE D", AlreadyExists, "'D'"),
    ("ALTER DATABASE d RENAME TO OTHER", AlreadyExists, "OTHER"),
    ("CREATE TABLE d.T (a INT)", AlreadyExists, "d.T"),
    ("ALTER TABLE d.t RENAME TO d.P", AlreadyExists, "d.P"),
    ("ALTER TABLE d.t ADD COLUMN Name INT", AlreadyExists, "Name"),
    ("ALTER TABLE d.t ADD COLUMNS (z INT, Z INT)", AlreadyExists, "Z"),
    ("ALTER TABLE d.t RENAME COLUMN id TO name", AlreadyExists, "name"),
    ("CREATE TABLE d.u (a INT, A INT)", AlreadyExists, "A"),
    ("CREATE TABLE d.u (_row_id INT)", InvalidName, "_row_id", "reserved"),
    ("CREATE TABLE d.u (_Origin INT)", InvalidName, "_Origin", "reserved"),
    ("ALTER TABLE d.t ADD COLUMN _metadata INT", InvalidName, "_metadata", "reserved"),
    ("ALTER TABLE d.t RENAME COLUMN id TO _kind", InvalidName, "_kind", "reserved"),
    ("CREATE TABLE d.u (s STRUCT<_change: INT>)", InvalidName, "_change", "reserved"),
    (f"CREATE DATABASE {'x' * 300}", InvalidName, "255"),
    (f"CREATE TABLE d.{'x' * 300} (a INT)", InvalidName, "255"),
    ("CREATE TABLE d.`a\tb` (a INT)", InvalidName, "control"),
    ("CREATE DATABASE `  `", InvalidName, "empty"),
    ("CREATE BRANCH main", AlreadyExists, "main"),
    # types and values that do not fit
    ("CREATE TABLE d.u (a VARIANT)", UnsupportedType, "VARIANT", "timestamp_ntz"),
    ("CREATE TABLE d.u (a INTERVAL DAY)", UnsupportedType, "INTERVAL"),
    ("CREATE TABLE d.u (a FOO)", UnsupportedType, "FOO"),
    ("CREATE TABLE d.u (a DECIMAL(40,2))", SqlError, "38"),
    # digits that are none of SQL's
    ("MERGE BRANCH dev@٤", SqlError, "a version, a whole number"),
    ("SHOW LOG LIMIT ٤", SqlError, "a limit, a whole number"),
    (f"SHOW LOG LIMIT {'9' * 5000}", SqlError, "a limit, a whole number"),
    ("DESCRIBE d.t VERSION AS OF 'dev@٤'", NotFound, "'dev@٤'"),
    ("CREATE TABLE d.u (a DECIMAL(١٠, ٢))", SqlError, "expected a number"),
    ("CREATE TABLE d.u (a DECIMAL(²))", SqlError, "expected a number"),
    ("ALTER TABLE d.t SET TBLPROPERTIES ('num-sorted-run.compaction-trigger' = '²')", InvalidOption, "'²'"),
    ("INSERT INTO d.one VALUES (٤)", ExpressionError, "'٤' is not a constant"),
    ("CREATE TABLE d.u (k ARRAY<INT>, v INT) PARTITIONED BY (k)", UnsupportedType, "'k'"),
    ("CREATE TABLE d.u (k INT) PARTITIONED BY (k)", SchemaError, "partitioned"),
    ("CREATE TABLE d.u (a INT DEFAULT 'no')", SchemaError, "'no'", "'a'"),
    ("CREATE TABLE d.u (a TINYINT DEFAULT 300)", SchemaError, "300", "'a'"),
    ("ALTER TABLE d.t ALTER COLUMN small SET DEFAULT 300", SchemaError, "300", "'small'"),
    ("CREATE TABLE d.u (a INT NOT NULL DEFAULT NULL)", SchemaError, "'a'"),
    ("INSERT INTO d.t (id) VALUES ('one')", DataError, "'id'"),
    ("INSERT INTO d.t (id) VALUES (2147483648)", ValueOutOfRange, "'id'", "int"),
    ("INSERT INTO d.t (id, small) VALUES (1, 128)", ValueOutOfRange, "'small'", "tinyint"),
    ("INSERT INTO d.t (id, small) VALUES (1, -129)", ValueOutOfRange, "'small'"),
    ("INSERT INTO d.t (id, small) VALUES (1, 1e10)", ValueOutOfRange, "'small'"),
    ("INSERT INTO d.t (id, price) VALUES (1, 1000)", ValueOutOfRange, "'price'", "decimal(5,2)"),
    ("INSERT INTO d.t (id) VALUES (2147483647 + 1)", AnabranchError, "overflow"),
    ("INSERT INTO d.t (id) VALUES (1 / 0)", AnabranchError, "zero"),
    ("INSERT INTO d.t (id, name) VALUES (1, array(1))", DataError, "'name'"),
    ("INSERT INTO d.t (id, s) VALUES (1, named_struct('y', 1, 'z', 2))", DataError, "'s'"),
    ("UPDATE d.t SET small = 128", ValueOutOfRange, "'small'"),
    ("UPDATE d.t SET small = small * 200", AnabranchError, "overflow|small"),
    ("UPDATE d.t SET id = id + 2147483647 WHERE id = 1", AnabranchError, "overflow"),
    ("UPDATE d.t SET price = 1000", ValueOutOfRange, "'price'"),
    ("UPDATE d.t SET id = name", DataError, "'id'"),
    ("ALTER TABLE d.p ADD PARTITION (k = array(1))", AnabranchError, "k"),
    # NULL into NOT NULL
    ("INSERT INTO d.t VALUES (NULL, 1, 'a', 1, NULL)", NullViolation, "'id'", "'d.t'"),
    ("INSERT INTO d.t (name) VALUES ('a')", ColumnMismatch, "'id'", "NOT NULL"),
    ("INSERT INTO d.t VALUES (DEFAULT, 1, 'a', 1, NULL)", NullViolation, "'id'"),
    ("UPDATE d.t SET id = NULL", NullViolation, "'id'"),
    ("UPDATE d.t SET id = small", NullViolation, "'id'"),
    ("ALTER TABLE d.t ALTER COLUMN name SET NOT NULL", NullViolation, "'name'", "(1 rows)|(1 row)"),
    ("ALTER TABLE d.t ADD COLUMN z INT NOT NULL", SchemaError, "'z'", "DEFAULT"),
    # missing and extra columns
    ("INSERT INTO d.t VALUES (1)", DataError, "'d.t'", "5"),
    ("INSERT INTO d.t VALUES (1, 1, 'a', 1, NULL, 6)", DataError, "'d.t'", "6"),
    ("INSERT INTO d.t VALUES (1, 1, 'a', 1, NULL), (2)", DataError, "1"),
    ("INSERT INTO d.t (id, name) VALUES (1)", DataError, "name"),
    ("INSERT INTO d.t (id, id) VALUES (1, 2)", DataError, "'id'", "twice"),
    ("INSERT INTO d.p PARTITION (k = 'a') VALUES (1, 'b')", DataError, "'d.p'"),
    ("INSERT INTO d.p PARTITION (k = 'a') (v, k) VALUES (1, 'b')", DataError, "'k'"),
    ("UPDATE d.t SET id = 1, ID = 2", SqlError, "twice"),
    # narrowing, last column, keys
    ("ALTER TABLE d.t ALTER COLUMN id TYPE SMALLINT", SchemaError, "'id'", "smallint"),
    ("ALTER TABLE d.t ALTER COLUMN id TYPE STRING", SchemaError, "'id'"),
    ("ALTER TABLE d.t ALTER COLUMN price TYPE DECIMAL(5,3)", SchemaError, "'price'"),
    ("ALTER TABLE d.one DROP COLUMN only", Refused, "'only'", "Drop the table"),
    ("ALTER TABLE d.p DROP COLUMN k", Refused, "'k'", "partition"),
    ("ALTER TABLE d.p DROP COLUMNS (v)", AnabranchError, "v"),
    ("CREATE TABLE d.u ()", AnabranchError, "column"),
    ("CREATE TABLE d.u (id INT, PRIMARY KEY (ie))", SchemaError, "'ie'"),
    # predicates that are not boolean
    ("DELETE FROM d.t WHERE id", ExpressionError, "id", "boolean"),
    ("DELETE FROM d.t WHERE id + 1", ExpressionError, "boolean"),
    ("DELETE FROM d.t WHERE 'true'", ExpressionError, "boolean"),
    ("UPDATE d.t SET name = 'q' WHERE name", ExpressionError, "boolean"),
    ("DELETE FROM d.t WHERE id = array(1)", AnabranchError, "array|id"),
    ("DELETE FROM d.t WHERE name > 5", AnabranchError, "name|a"),
    # text that does not parse
    ("SELEC 1", SqlError, "SELECT", "line 1, column 1"),
    ("DELETE d.t", SqlError, "column 8"),
    ("DELETE FROM d.t WHERE", SqlError, "column 22"),
    ("DELETE FROM d.t WHERE id = ", SqlError, "line 1"),
    ("UPDATE d.t SET id = 1 WHERE id >", SqlError, "something is missing here"),
    ("SELECT id FROM d.t GROUP BY", SqlError, "unexpected the end (line 1, column 28)"),
    ("SELECT id FROM d.t ORDER BY id NULLS FRIST", SqlError, "line 1|FRIST"),
    ("DELETE FROM d.t WHERE (id = 1", SqlError, "line 1"),
    ("DELETE FROM d.t WHERE id = 1)", SqlError, "column 29"),
    ("DELETE FROM d.t WHERE id ==== 1", SqlError, "line 1"),
    ("DELETE FROM d.t; DELETE FROM d.one", SqlError, "column 18|one statement"),
    ("INSERT INTO d.t VALUES (1", SqlError, "line 1"),
    ("INSERT INTO d.t VALUES ('a", SqlError, "line 1"),
    ("CREATE TABLE d.u (a INT", SqlError, "column 24"),
    ("CREATE TABLE u (a INT)", SqlError, "database.table"),
    ("CREATE TABLE a.b.c (a INT)", SqlError, "database.table"),
    ("CREATE TABLE d.u (a INT,)", SqlError, "column 25"),
    ("ALTER TABLE d.t\nADD COLUMN", SqlError, "line 2"),
    ("ALTER TABLE d.t FROB id", SqlError, "FROB", "ADD"),
    ("CREATE BRANCH", SqlError, "branch name"),
    ("UPDATE d.t SET", SqlError, "column 15"),
    ("", SqlError, "no statement"),
    ("-- only a comment", SqlError, "no statement"),
    ("CREATE OR REPLACE TABLE d.t (a INT)", Refused, "INSERT OVERWRITE"),
    ("CREATE TABLE d.u (a INT) LOCATION '/tmp/x'", Refused, "LOCATION"),
    ("CREATE TABLE d.u (a INT) USING delta", SqlError, "delta", "anabranch"),
    # understood and not allowed
    ("DROP DATABASE d", Refused, "'d'", "CASCADE"),
    ("DROP BRANCH main", Refused, "main"),
    ("INSERT INTO d.t@v1 VALUES (1)", Refused, "'v1'", "tag"),
    ("DELETE FROM d.t@2", SqlError, "past version"),
    ("ALTER TABLE d.t RENAME TO d.u@dev", AnabranchError, "ref|branch"),
    ("UPDATE d.t SET s.xx = 1", NotFound, "'s.xx'", "'s.x'"),
]  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize("case", STATEMENTS, ids=[case[0][:70].replace("\n", " ") for case in STATEMENTS])
def test_a_bad_statement_says_what_is_wrong_and_changes_nothing(lake, print_of, case):
    statement, error, *words = case
    before = print_of(lake)
    with pytest.raises(error) as raised:
        told(lake, statement)
    message = str(raised.value)
    for word in words:
        assert any(choice in message for choice in word.split("|")), f"{word!r} is not in: {message}"
    assert print_of(lake) == before


ROWS = [
    ({"id": [1], "nam": ["x"]}, ColumnMismatch, "'nam'", "did you mean 'name'"),
    ({"name": ["x"]}, ColumnMismatch, "missing 'id'"),
    ({"id": [1], "ID": [2]}, DataError, "twice"),
    ({"id": [1, 2], "name": ["x"]}, DataError, "lengths"),
    ({"id": [None]}, NullViolation, "'id'", "1"),
    ({"id": [1], "small": [128]}, ValueOutOfRange, "'small'", "tinyint"),
    ({"id": [2**31]}, ValueOutOfRange, "'id'"),
    ({"id": [2**70]}, ValueOutOfRange, "'id'"),
    ({"id": ["one"]}, TypeMismatch, "'id' is int, but the data is str ('one', for example)"),
    ({"id": [1, "x"]}, TypeMismatch, "'x'"),
    ({"id": [1], "name": [5]}, TypeMismatch, "'name' is string, but the data is int"),
    ({"id": [1], "small": [1, 300][1:]}, ValueOutOfRange, "the value is 300"),
    ([{}], ColumnMismatch, "'id'"),
    ({"id": [1], "s": [{"q": 1}]}, DataError, "'s"),
    (pa.table({"id": pa.array([2**31], pa.int64())}), ValueOutOfRange, "'id'"),
    (pa.table({"id": [1], "small": pa.array([128], pa.int32())}), ValueOutOfRange, "'small'"),
    (pa.table({"id": [1], "price": pa.array(["1000.00"])}), DataError, "'price'"),
    (pa.table({"id": ["1"]}), TypeMismatch, "'id'", "string"),
    (pa.table({"id": [b"1"]}), TypeMismatch, "'id'"),
    (pa.table({"id": [True]}), TypeMismatch, "'id'"),
    (pa.table({"id": [float("nan")]}), AnabranchError, "'id'"),
    (pa.table({"id": [1e300]}), ValueOutOfRange, "'id'"),
    (pa.table({"id": [1], "s": pa.array([{"x": 2**40}])}), ValueOutOfRange, "s"),
    (pa.table([[1], [2]], names=["id", "id"]), DataError, "twice"),
    (pa.table({}), ColumnMismatch, "'id'"),
    (5, DataError, "int"),
    ("text", DataError, "str"),
    (None, DataError, "None"),
    ([1, 2], DataError, "list"),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=[str(case[0])[:60].replace("\n", " ") for case in ROWS])
@pytest.mark.parametrize("how", ["write", "overwrite"])
def test_bad_rows_say_what_is_wrong_and_change_nothing(lake, print_of, how, case):
    data, error, *words = case
    before = print_of(lake)
    with pytest.raises(error) as raised:
        getattr(lake.table("d.t"), how)(data)
    assert [word for word in words if word not in str(raised.value)] == [], str(raised.value)
    assert print_of(lake) == before


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda lake: lake.table("d"), SqlError, "database.table"),
        (lambda lake: lake.table("d.t.u"), SqlError, "database.table"),
        (lambda lake: lake.table("d.t; DROP TABLE d.t"), SqlError, "column 6"),
        (lambda lake: lake.table("d.nothing"), NotFound, "nothing"),
        (lambda lake: lake.diff("main", "dev", 3), Refused, "names no table"),
        (lambda lake: lake.table("d.t", version=1000), NotFound, "1000"),
        (lambda lake: lake.table("d.t", version=-1), NotFound, "-1"),
        (lambda lake: lake.on("nothing"), NotFound, "nothing"),
        (lambda lake: lake.use("v1"), NotFound, "v1"),
        (lambda lake: lake.table("d.t").to_arrow(columns=["nam"]), NotFound, "'name'"),
        (lambda lake: lake.table("d.t").to_arrow(where="id"), ExpressionError, "boolean"),
        (lambda lake: lake.table("d.t").to_arrow(where="id = "), SqlError, "line 1"),
        (lambda lake: lake.table("d.t").to_arrow(where="id = 1; DROP TABLE d.t"), SqlError, "line 1"),
        (lambda lake: lake.table("d.t").delete("id = 1; DROP TABLE d.t"), SqlError, "line 1"),
        (lambda lake: lake.table("d.t").update({"nam": "1"}), NotFound, "'name'"),
        (lambda lake: lake.table("d.t").update({}), AnabranchError, "column"),
        (lambda lake: lake.create_table("d.u", "a INT) COMMENT 'x' --"), SqlError, "column"),
        (lambda lake: lake.create_table("d.u", 5), SchemaError, "int"),
        (lambda lake: lake.create_table("d.u", {}), SchemaError, "column"),
        (lambda lake: lake.create_table("d.u", {"a": "nothing"}), UnsupportedType, "nothing"),
        (lambda lake: lake.table("d.t").add_column("z", "int", default="no such"), AnabranchError, "no such|such"),
        (lambda lake: lake.table("d.t").overwrite([{"id": 1}], {"k": "x"}), Refused, "not partitioned"),
        (lambda lake: lake.restore(1000), NotFound, "1000"),
        (lambda lake: lake.restore(1, table="d.t", database="d"), Refused, "not both"),
        (lambda lake: lake.restore(None), Refused, "None names no version"),
        (lambda lake: lake.merge(5), Refused, "names no branch"),
        *(
            (lambda lake, ref=ref: lake.merge(ref), Refused, "branch or tag: write its name, or 'branch@version'.")
            for ref in ("", " ", "@3", "dev@")
        ),
        (lambda lake: lake.diff(""), Refused, "or a version's number alone."),
        (lambda lake: lake.table("t"), SqlError, "write database.table. Did you mean 'd.t'?"),
        (lambda lake: lake.drop_table("x"), SqlError, "'x' does not name a table: write database.table."),
        (lambda lake: lake.create_table("t", "a INT"), SqlError, "'t' does not name a table: write database.table."),
        (lambda lake: lake.on(5), Refused, "5 names no branch"),
        (lambda lake: lake.table("d.t", version="main").count(), Refused, "'main' is no version"),
        (lambda lake: lake.table("d.t", version=True).count(), Refused, "True is no version"),
        (lambda lake: lake.create_branch("b", version="x"), Refused, "'x' is no version"),
        (lambda lake: lake.create_tag("g", version="x"), Refused, "'x' is no version"),
        (lambda lake: lake.log(limit="all"), Refused, "'all' is no limit"),
        (lambda lake: lake.log(limit=-1), Refused, "-1 is no limit"),
        (lambda lake: lake.graph(limit="all"), Refused, "'all' is no limit"),
        (lambda lake: lake.graph(limit=-1), Refused, "-1 is no limit"),
        (lambda lake: lake.table("d.t").history(limit="all"), Refused, "'all' is no limit"),
        (lambda lake: lake.log("main@" + "9" * 5000), NotFound, "A version is a number"),
        (lambda lake: lake.merge("dev", into=""), NotFound, "branch ''"),
        (lambda lake: lake.revert(None), Refused, "None names no commit"),
        (lambda lake: lake.cherry_pick(None), Refused, "None names no commit"),
        (lambda lake: lake.revert("²"), NotFound, "commit '²'"),
        (lambda lake: lake.revert("dev@²"), NotFound, "A version is a number"),
        (lambda lake: lake.on(""), NotFound, "branch ''"),
        (lambda lake: lake.create_branch("x", "dev@1000"), NotFound, "1000"),
        (lambda lake: lake.create_branch("x", "dev@abc"), NotFound, "abc"),
    ],
)
def test_bad_calls_say_what_is_wrong_and_change_nothing(lake, print_of, call, error, word):
    before = print_of(lake)
    with pytest.raises(error) as raised:
        call(lake)
    assert any(choice in str(raised.value) for choice in word.split("|")), str(raised.value)
    assert print_of(lake) == before


TAKING_REFS = {
    "merge": lambda lake, ref: lake.merge(ref),
    "conflicts": lambda lake, ref: lake.conflicts(ref),
    "diff from": lambda lake, ref: lake.diff(ref),
    "diff to": lambda lake, ref: lake.diff("dev", ref),
    "cherry_pick": lambda lake, ref: lake.cherry_pick(ref),
    "revert": lambda lake, ref: lake.revert(ref),
    "restore": lambda lake, ref: lake.restore(ref),
    "log": lambda lake, ref: lake.log(ref),
    "sections": lambda lake, ref: lake.sections("d.t", ref),
    "create_branch": lambda lake, ref: lake.create_branch("fresh", ref),
    "create_tag": lambda lake, ref: lake.create_tag("fresh", ref),
}


@pytest.mark.parametrize("call", TAKING_REFS)
def test_versions_are_written_with_the_digits_of_sql(lake, print_of, call):
    """Those of other scripts are numbers to `int`; the branch has such a version."""
    told(lake, "INSERT INTO d.one@dev VALUES (1)")
    before = print_of(lake)
    with pytest.raises(NotFound, match="'٠٤'"):
        TAKING_REFS[call](lake, "dev@٠٤")
    assert print_of(lake) == before


@pytest.mark.parametrize("ref", ["", " ", "@", "@3", "dev@", 3.0, True], ids=repr)
@pytest.mark.parametrize("call", TAKING_REFS)
def test_what_names_nothing_is_never_the_branch_one_stands_on(lake, print_of, call, ref):
    """An unset variable of a shell is an empty ref."""
    told(lake, "INSERT INTO d.one@dev VALUES (1)")
    before = print_of(lake)
    with pytest.raises(Refused) as raised:
        TAKING_REFS[call](lake, ref)
    assert f"{ref!r} names no " in str(raised.value)
    assert print_of(lake) == before


@pytest.mark.parametrize(
    ("how", "error", "word"),
    [
        ({"resolutions": [1]}, Refused, "resolutions is a mapping from names of tables to rows, not [1]"),
        ({"resolutions": "x"}, Refused, "not 'x'"),
        ({"resolutions": {5: []}}, Refused, "not {5: []}"),
        ({"resolutions": {"d.one": {"only": 1}}}, DataError, "the data's column 'only' is 1: give a list"),
        ({"resolutions": {"d.one": {"only": "ab"}}}, DataError, "is 'ab': give a list"),
        ({"resolve_tables": ["d.one"]}, Refused, "to 'ours' or 'theirs', not ['d.one']"),
        ({"resolve_tables": {"d.one": None}}, InvalidOption, "'ours' or 'theirs'"),
        ({"resolve": 5}, InvalidOption, "'ours' or 'theirs'"),
        ({"detect": 5}, InvalidOption, "'file', 'row' or 'cell'"),
    ],
    ids=str,
)
def test_what_a_merge_cannot_be_asked_for(lake, print_of, how, error, word):
    told(lake, "INSERT INTO d.one VALUES (0)", "MERGE BRANCH main TO dev")
    told(lake, "UPDATE d.one@dev SET only = 1", "UPDATE d.one SET only = 2")
    before = print_of(lake)
    with pytest.raises(error) as raised:
        lake.merge("dev", **how)
    assert word in str(raised.value)
    assert print_of(lake) == before


ODD_NAMES = [
    "a b",
    "with.dot",
    "back`quote",
    "``",
    "'quote'",
    '"double"',
    "ünïcode",
    "İstanbul",
    "straße",
    "数据",
    "\U0001f600",
    "select",
    "from",
    "t; DROP TABLE branch; --",
    "Robert'); DROP TABLE part;--",
    "%s %(x)s :name ? {x} $1",
    "a/b\\c",
    "..",
    "@dev",
    "-- comment",
    "/* x */",
    "slot",
    "slot=1",
    "1",
    "NULL",
    " lead and trail ",
    "a\u0301",
    "x" * 255,
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.spark
@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_name_everything(lake, name):
    """Databases, tables, columns, fields, partitions, properties, comments, values."""
    q, literal = quoted(name), "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    told(
        lake,
        f"CREATE DATABASE {q} COMMENT {literal} WITH DBPROPERTIES ({literal} = {literal})",
        f"CREATE TABLE {q}.{q} ({q} STRING DEFAULT {literal} COMMENT {literal}, s STRUCT<{q}: INT>, k STRING) "
        f"PARTITIONED BY (k) COMMENT {literal} TBLPROPERTIES (p = {literal})",
        f"INSERT INTO {q}.{q} ({q}, s, k) VALUES ({literal}, named_struct({literal}, 1), {literal}), "
        "(DEFAULT, NULL, 'other')",
        f"INSERT INTO {q}.{q} (k) VALUES ('third')",
        f"UPDATE {q}.{q} SET {q} = concat({q}, '!') WHERE k = 'third' AND {q} = {literal}",
        f"DELETE FROM {q}.{q} WHERE {q}.{q} = {literal} AND k = 'other'",
        f"ALTER TABLE {q}.{q} ADD COLUMN s.x INT AFTER {q}",
    )
    table = lake.table(f"{q}.{q}")
    assert lake.databases().count(name) == 1
    assert table.name in lake.tables()
    assert table.schema.names == [name, "s", "k"]
    assert rows(lake, f"{q}.{q}") == [(name, {name: 1, "x": None}, name), (name + "!", None, "third")]
    assert table.to_arrow(columns=[name], where=f"{q} = {literal}").num_rows == 1
    assert table.to_arrow(where=f"s.{q} = 1").num_rows == 1
    assert table.properties == {"p": name}
    assert told(lake, f"DESCRIBE {q}.{q}")[0][4] == name
    ((statement,),) = told(lake, f"SHOW CREATE TABLE {q}.{q}")
    told(lake, f"DROP TABLE {q}.{q}", statement)
    assert (labels(lake, f"{q}.{q}"), rows(lake, f"{q}.{q}")) == ([name, "s", "k"], [])
    told(lake, f"ALTER TABLE {q}.{q} RENAME TO d.renamed", f"ALTER DATABASE {q} RENAME TO plain")
    assert one(lake, "d.t") == [1, 2]


@pytest.mark.parametrize("name", [name for name in ODD_NAMES if "@" not in name and name not in ("1", "-- comment")])
def test_odd_names_name_branches_and_tags(lake, name):
    q = quoted(name)
    told(
        lake,
        f"CREATE BRANCH {q}",
        f"INSERT INTO d.one@{q} VALUES (1)",
        f"CREATE TAG `t {name[:200].replace('`', '``')}` FROM {q}",
    )
    assert one(lake.on(name), "d.one") == one(lake, f"d.one@{q}") == [1]
    assert one(lake, "d.one") == []
    told(lake, f"USE BRANCH {q}", f"SHOW LOG IN {q}")
    assert lake.branch == name
    told(
        lake,
        "USE BRANCH main",
        f"ALTER BRANCH {q} RENAME TO plain",
        f"ALTER BRANCH plain RENAME TO {q}",
        f"DROP BRANCH {q}",
    )
    assert {b.name for b in lake.branches()} == {"main", "dev"}


INJECTIONS = [
    "'; DROP TABLE part; --",
    "x' OR '1'='1",
    "\\'; DELETE FROM branch; --",
    "${x}",
    "%s",
    ":p",
    "{d.t}",
    "d.t@dev",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_values_predicates_and_properties_reach_no_sql_of_the_catalog(lake, text):
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    told(
        lake,
        f"INSERT INTO d.t (id, name) VALUES (3, {literal})",
        f"DELETE FROM d.t WHERE name = {literal} AND id <> 3",
        f"ALTER TABLE d.t SET TBLPROPERTIES ({literal} = {literal})"
        if "." not in text and "-" not in text
        else "SHOW TABLES",
        f"ALTER DATABASE d SET DBPROPERTIES ({literal} = {literal})",
        f"SHOW TABLES LIKE {literal}",
        f"UPDATE d.t SET name = {literal} WHERE name = {literal}",
    )
    assert rows(lake, "d.t", columns=["name"], where="id = 3") == [(text,)]
    assert lake.table("d.t").count() == 3
    assert told(lake, "DESCRIBE DATABASE d")[-1] == ("properties", f"{text}={text}")


def test_bound_arguments_are_values(lake):
    """`args` in statements that this process runs itself are bound as Spark binds them."""
    evil = "x'; DROP TABLE d.t; --"
    lake.sql("INSERT INTO d.t (id, name) VALUES (:id, :name)", {"id": 9, "name": evil})
    assert rows(lake, "d.t", columns=["name"], where="id = 9") == [(evil,)]
    lake.sql("UPDATE d.t SET name = ? WHERE id = ?", ["bound", 9])
    assert lake.sql("DELETE FROM d.t WHERE name = :name", {"name": "bound"}).collect()[0][0] == 1
