"""LAW.md as tiny histories with outcomes written by hand, for the model and for the lake.

A case is a script; its last statement is the merge. Outcomes are tables as text: the columns, then the rows, `-` for
NULL; or the rule that conflicts. The two matrices are LAW.md's own, and every cell of them is a case.
"""

from dataclasses import dataclass

# Two files of two rows: one in partition 0, one in partition 1. `d.e` is empty.
BASE = """
    CREATE DATABASE d;
    CREATE TABLE d.t (k INT NOT NULL, a INT, b INT DEFAULT 0, p INT) PARTITIONED BY (p);
    ALTER TABLE d.t SET TBLPROPERTIES ('x' = 'base');
    ALTER TABLE d.t SET TBLPROPERTIES ('y' = 'base');
    INSERT INTO d.t (k, a, p) VALUES (1, 10, 0), (2, 20, 0);
    INSERT INTO d.t (k, a, p) VALUES (3, 30, 1), (4, 40, 1);
    CREATE TABLE d.e (k INT, s SMALLINT);
    CREATE DATABASE free;
    ALTER DATABASE free SET DBPROPERTIES ('x' = 'base');
    ALTER DATABASE free SET DBPROPERTIES ('y' = 'base');
    CREATE BRANCH dev FROM main;
"""
# The same rows, each in a file of its own, so that a compaction has something to do.
SCATTERED = BASE.replace("), (", "); INSERT INTO d.t (k, a, p) VALUES (")
OLD = "1 10 0 | 2 20 0 | 3 30 1 | 4 40 1"  # the rows of d.t at the fork, as k a p


@dataclass(frozen=True)
class Case:
    name: str
    script: str
    conflict: str | None = None  # the rules; then nothing may have changed
    tables: tuple[tuple[str, str | None], ...] = ()  # of the branch that the script ends on; None: not there
    properties: tuple[tuple[str, str], ...] = ()  # of tables and databases
    databases: str | None = None
    version: int | None = None  # of the branch in the end: "up to date" makes none
    base: str = BASE  # what the script begins with
    parts: tuple[tuple[str, int], ...] = ()  # of tables of that branch: how many files are read

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def case(
    name: str,
    *,
    theirs: str = "",
    ours: str = "",
    merge: str = "MERGE BRANCH dev",
    detect: str | None = None,
    conflict: str | None = None,
    tables: dict[str, str | None] | None = None,
    properties: dict[str, str] | None = None,
    databases: str | None = None,
    up_to_date: bool = False,
    base: str = BASE,
    parts: dict[str, int] | None = None,
) -> None:
    """Adds a case: the base, what theirs (dev) did, what ours (main) did, and the merge of dev into main."""
    how = f" WITH (detect = '{detect}')" if detect else ""
    script = f"{base}; USE BRANCH dev; {theirs}; USE BRANCH main; {ours}"
    version = len([part for part in f"{base};{ours}".split(";") if part.strip()]) - 1 if up_to_date else None
    found = Case(
        name if detect is None else f"{name} [{detect}]",
        f"{script}; {merge}{how}",
        conflict,
        tuple((tables or {}).items()),
        tuple((properties or {}).items()),
        databases,
        version,
        base,
        tuple((parts or {}).items()),
    )
    assert found.name not in {other.name for other in CASES}, found.name
    CASES.append(found)


def story(name: str, script: str, **expected) -> None:
    """Adds a case that is a whole history after BASE."""
    tables = tuple(expected.pop("tables", {}).items())
    CASES.append(Case(name, f"{BASE}; {script}", tables=tables, **expected))


# --- the matrix of append tables -------------------------------------------------------------------------------------

APPEND = """
| theirs \\ ours | drop | rename | properties | column | partition | insert | delete | update | overwrite | compaction |
|---|---|---|---|---|---|---|---|---|---|---|
| drop | - | - | - | - | - | - | - | - | - | -* |
| rename | X | - | - | - | - | - | - | - | - | -* |
| properties | X | - | A0* | - | - | - | - | - | - | -* |
| column | X | - | - | A6 | - | - | - | - | - | -* |
| partition | X | - | - | - | A7* | - | - | - | - | -* |
| insert | X | - | - | - | - | - | - | - | - | -* |
| delete | X | - | - | - | - | X | A2 | - | A5 | -* |
| update | X | - | - | - | - | X | A1 | A3 | A4 | -* |
| overwrite | X | - | - | - | - | - | - | - | - | -* |
| compaction | A8 | - | - | - | - | -* | -* | -* | -* | -* |
"""
# Theirs works in partition 0, ours in partition 1, so that rules A0 to A7 find nothing to object to: what each leaves
# of its own partition is all that matters.
THEIRS = {
    "drop": ("DROP TABLE d.t", ""),
    "rename": ("ALTER TABLE d.t RENAME TO d.theirs", "1 10 0 | 2 20 0"),
    "properties": ("ALTER TABLE d.t SET TBLPROPERTIES ('x' = 'theirs')", "1 10 0 | 2 20 0"),
    "column": ("ALTER TABLE d.t ADD COLUMN theirs INT DEFAULT 7", "1 10 0 | 2 20 0"),
    "partition": ("ALTER TABLE d.t ADD PARTITION (p = 8)", "1 10 0 | 2 20 0"),
    "insert": ("INSERT INTO d.t (k, a, p) VALUES (5, 50, 0)", "1 10 0 | 2 20 0 | 5 50 0"),
    "delete": ("DELETE FROM d.t WHERE k = 1", "2 20 0"),
    "update": ("UPDATE d.t SET a = 11 WHERE k = 1", "1 11 0 | 2 20 0"),
    "overwrite": ("INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (6, 60)", "6 60 0"),
    "compaction": ("OPTIMIZE d.t", "1 10 0 | 2 20 0"),
}
OURS = {
    "drop": ("DROP TABLE d.t", ""),
    "rename": ("ALTER TABLE d.t RENAME TO d.ours", "3 30 1 | 4 40 1"),
    "properties": ("ALTER TABLE d.t SET TBLPROPERTIES ('y' = 'ours')", "3 30 1 | 4 40 1"),
    "column": ("ALTER TABLE d.t ADD COLUMN ours INT DEFAULT 9", "3 30 1 | 4 40 1"),
    "partition": ("ALTER TABLE d.t ADD PARTITION (p = 9)", "3 30 1 | 4 40 1"),
    "insert": ("INSERT INTO d.t (k, a, p) VALUES (7, 70, 1)", "3 30 1 | 4 40 1 | 7 70 1"),
    "delete": ("DELETE FROM d.t WHERE k = 3", "4 40 1"),
    "update": ("UPDATE d.t SET a = 31 WHERE k = 3", "3 31 1 | 4 40 1"),
    "overwrite": ("INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (8, 80)", "8 80 1"),
    "compaction": ("OPTIMIZE d.t", "3 30 1 | 4 40 1"),
}


def cells(matrix: str) -> list[tuple[str, str, str]]:
    """(theirs, ours, cell) for each cell of a table of LAW.md."""
    header, _, *lines = ([part.strip() for part in line.strip("|").split("|")] for line in matrix.strip().splitlines())
    return [(line[0], ours, cell) for line in lines for ours, cell in zip(header[1:], line[1:], strict=True)]


def append_cell(theirs: str, ours: str, cell: str) -> None:
    (their_statement, their_rows), (our_statement, our_rows) = THEIRS[theirs], OURS[ours]
    name = "d.theirs" if theirs == "rename" else "d.ours" if ours == "rename" else "d.t"
    labels = ["k a p", *(["theirs"] if theirs == "column" else []), *(["ours"] if ours == "column" else [])]
    more = f"{' 7' if theirs == 'column' else ''}{' 9' if ours == 'column' else ''}"
    rows = [f"{row}{more}" for part in (their_rows, our_rows) for row in part.split(" | ") if row]
    conflict = None
    if cell == "X":
        rule = {("delete", "insert"): "delete/insert", ("update", "insert"): "update/insert"}
        conflict = rule.get((theirs, ours), "drop")
    dropped = theirs == "drop" or ours == "drop"
    # A rewritten file for each partition, whoever rewrote them and whoever reads; new rows and versions beside them.
    rewritten = "compaction" in (theirs, ours)
    files = 3 if {"insert", "update"} & {theirs, ours} else 2
    properties = f"x={'theirs' if theirs == 'properties' else 'base'} y={'ours' if ours == 'properties' else 'base'}"
    case(
        f"append: {theirs} x {ours} = {cell}",
        theirs=their_statement,
        ours=our_statement,
        conflict=conflict,
        tables=None if conflict else {name: None if dropped else f"{' '.join(labels)} | {' | '.join(rows)}"},
        properties=None if conflict or dropped else {name: properties},
        base=SCATTERED if rewritten else BASE,
        parts={name: files} if rewritten and not dropped else None,
    )


for _cell in cells(APPEND):
    append_cell(*_cell)

# --- the matrix of databases -----------------------------------------------------------------------------------------

DATABASES = """
| theirs \\ ours | drop | rename | set properties | unset properties |
|---|---|---|---|---|
| drop | - | - | - | - |
| rename | X | - | - | - |
| set properties | X | - | - | - |
| unset properties | X | - | - | X if the same property |
"""


def database_cell(theirs: str, ours: str, cell: str) -> None:
    def statement(who: str, what: str) -> str:
        return {
            "drop": "DROP DATABASE free",
            "rename": f"ALTER DATABASE free RENAME TO {who}",
            "set properties": f"ALTER DATABASE free SET DBPROPERTIES ('{who}' = '1')",
            "unset properties": f"ALTER DATABASE free UNSET DBPROPERTIES ('{'x' if who == 'theirs' else 'y'}')",
        }[what]

    name = "theirs" if theirs == "rename" else "ours" if ours == "rename" else "free"
    dropped = "drop" in (theirs, ours)
    properties = {"x": "base", "y": "base"}
    for who, what in (("ours", ours), ("theirs", theirs)):
        if what == "set properties":
            properties[who] = "1"
        if what == "unset properties":
            del properties["x" if who == "theirs" else "y"]
    text = " ".join(f"{key}={value}" for key, value in sorted(properties.items()))
    case(
        f"database: {theirs} x {ours} = {cell}",
        theirs=statement("theirs", theirs),
        ours=statement("ours", ours),
        conflict="drop" if cell == "X" else None,
        databases=None if cell == "X" else "d" if dropped else f"d {name}",
        properties=None if cell == "X" or dropped else {name: text},
    )


for _cell in cells(DATABASES):
    database_cell(*_cell)

UNSET_X = "ALTER DATABASE free UNSET DBPROPERTIES ('x')"
SET_X = "ALTER DATABASE free SET DBPROPERTIES ('x' = '{}')"
case("database: both unset the same property", theirs=UNSET_X, ours=UNSET_X, conflict="unset")
case(
    "database: both set one property: theirs' value",
    theirs=SET_X.format("theirs"),
    ours=SET_X.format("ours"),
    properties={"free": "x=theirs y=base"},
)
case("database: set against unset", theirs=SET_X.format(5), ours=UNSET_X, properties={"free": "x=5 y=base"})
case("database: unset against set", theirs=UNSET_X, ours=SET_X.format(5), properties={"free": "y=base"})
case(
    "database: both renamed alike is up to date",
    theirs="ALTER DATABASE free RENAME TO n",
    ours="ALTER DATABASE free RENAME TO n",
    databases="d n",
    up_to_date=True,
)

# --- names and existence ---------------------------------------------------------------------------------------------

CREATE_U = "CREATE TABLE d.u (k INT)"
case("a table new on theirs joins", theirs=f"{CREATE_U}; INSERT INTO d.u (k) VALUES (1)", tables={"d.u": "k | 1"})
case("a table new on both sides under one name", theirs=CREATE_U, ours=CREATE_U, conflict="name")
case("the same, and case does not count", theirs=CREATE_U, ours="CREATE TABLE d.U (k INT)", conflict="name")
case("renamed to a name that ours took", theirs="ALTER TABLE d.t RENAME TO d.u", ours=CREATE_U, conflict="name")
case(
    "name collisions cannot be resolved",
    theirs=CREATE_U,
    ours=CREATE_U,
    merge="MERGE BRANCH dev RESOLVE USING THEIRS",
    conflict="name",
)
case(
    "a database new on theirs joins with its tables",
    theirs="CREATE DATABASE n; CREATE TABLE n.u (k INT)",
    databases="d free n",
    tables={"n.u": "k"},
)
case(
    "a database new on both sides under one name", theirs="CREATE DATABASE n", ours="CREATE DATABASE n", conflict="name"
)
case(
    "theirs renamed a database to a name that ours took",
    theirs="ALTER DATABASE free RENAME TO n",
    ours="CREATE DATABASE n",
    conflict="name",
)
case(
    "a new table in a database that ours dropped",
    theirs="CREATE TABLE free.u (k INT)",
    ours="DROP DATABASE free",
    conflict="parent",
)
case(
    "a changed table in a database that ours dropped",
    theirs="DELETE FROM d.t WHERE k = 1",
    ours="DROP DATABASE d CASCADE",
    conflict="drop",
)
case("ours dropped a database that theirs left alone", theirs=CREATE_U, ours="DROP DATABASE free", databases="d")
case(
    "theirs dropped a database, ours made a table in it",
    theirs="DROP DATABASE free",
    ours="CREATE TABLE free.u (k INT)",
    conflict="drop-with-tables",
)
case(
    "the same with CASCADE",
    theirs="DROP DATABASE free CASCADE",
    ours="CREATE TABLE free.u (k INT)",
    databases="d",
    tables={"free.u": None},
)
case(
    "a table dropped and made again is another table",
    theirs="DROP TABLE d.t; CREATE TABLE d.t (z INT)",
    ours="INSERT INTO d.t (k) VALUES (9)",
    tables={"d.t": "z"},
)
case(
    "a table made again where ours dropped it too",
    theirs="DROP TABLE d.t; CREATE TABLE d.t (z INT)",
    ours="DROP TABLE d.t",
    tables={"d.t": "z"},
)
case(
    "ours moved a table away, theirs dropped the database",
    theirs="DROP DATABASE d CASCADE",
    ours="ALTER TABLE d.t RENAME TO free.t",
    tables={"free.t": None},
    databases="free",
)

# --- what counts: the difference of two states -----------------------------------------------------------------------

INSERT_7 = "INSERT INTO d.t (k, a, p) VALUES (7, 70, 0)"
case("nothing is up to date", ours=INSERT_7, up_to_date=True, tables={"d.t": f"k a p | {OLD} | 7 70 0"})
case(
    "inserted and deleted again is nothing",
    theirs=f"{INSERT_7}; DELETE FROM d.t WHERE k = 7",
    ours="INSERT INTO d.t (k, a, p) VALUES (8, 80, 0)",
    up_to_date=True,
    tables={"d.t": f"k a p | {OLD} | 8 80 0"},
)
ROUND = "UPDATE d.t SET a = 11 WHERE k = 1; UPDATE d.t SET a = 10 WHERE k = 1"
case(
    "1 to 2 to 1 is nothing",
    theirs=ROUND,
    ours="UPDATE d.t SET a = 12 WHERE k = 1",
    detect="row",
    up_to_date=True,
    tables={"d.t": f"k a p | {OLD.replace('1 10', '1 12')}"},
)
case("1 to 2 to 1 is nothing", theirs=ROUND, ours="UPDATE d.t SET a = 12 WHERE k = 1", detect="cell", up_to_date=True)
case(
    "1 to 2 to 1: versions are compared",
    theirs=ROUND,
    ours="UPDATE d.t SET a = 12 WHERE k = 1",
    detect="file",
    conflict="A3",
)
case(
    "a delete undone by RESTORE is nothing",
    theirs="DELETE FROM d.t WHERE k = 1; RESTORE TABLE d.t TO VERSION 9",
    ours=INSERT_7,
    up_to_date=True,
    tables={"d.t": f"k a p | {OLD} | 7 70 0"},
)
case(
    "an overwrite undone does not count",
    theirs="TRUNCATE TABLE d.t; RESTORE TABLE d.t TO VERSION 9; INSERT INTO d.t (k, a, p) VALUES (9, 90, 0)",
    ours=INSERT_7,
    tables={"d.t": f"k a p | {OLD} | 7 70 0 | 9 90 0"},
)
case(
    "an update of theirs' own insert is an insert",
    theirs="INSERT INTO d.t (k, a, p) VALUES (9, 90, 0); UPDATE d.t SET a = 91 WHERE k = 9",
    ours=INSERT_7,
    tables={"d.t": f"k a p | {OLD} | 7 70 0 | 9 91 0"},
)
case(
    "a row that two statements killed has the class of the last",
    theirs="UPDATE d.t SET a = 11 WHERE k = 1; TRUNCATE TABLE d.t",
    ours=INSERT_7,
    tables={"d.t": "k a p"},
)
case(
    "both deleted the same row is up to date",
    theirs="DELETE FROM d.t WHERE k = 1",
    ours="DELETE FROM d.t WHERE k <= 1",
    up_to_date=True,
    tables={"d.t": "k a p | 2 20 0 | 3 30 1 | 4 40 1"},
)

# --- A0 --------------------------------------------------------------------------------------------------------------

TABLE_SET = "ALTER TABLE d.t SET TBLPROPERTIES ('x' = '{}')"
TABLE_UNSET = "ALTER TABLE d.t UNSET TBLPROPERTIES ('x')"
case(
    "A0: both set: theirs' value",
    theirs=TABLE_SET.format(1),
    ours=TABLE_SET.format(2),
    properties={"d.t": "x=1 y=base"},
)
case("A0: both unset the same", theirs=TABLE_UNSET, ours=TABLE_UNSET, conflict="A0")
case("A0: set against unset", theirs=TABLE_SET.format(1), ours=TABLE_UNSET, properties={"d.t": "x=1 y=base"})
case("A0: unset against set", theirs=TABLE_UNSET, ours=TABLE_SET.format(2), properties={"d.t": "y=base"})

# --- A1, A2, A3: the same file, the same row, the same cell ----------------------------------------------------------


def update(k: int, what: str) -> str:
    return f"UPDATE d.t SET {what} WHERE k = {k}"


def delete(k: int) -> str:
    return f"DELETE FROM d.t WHERE k = {k}"


def left(*rows: str) -> dict[str, str]:
    return {"d.t": " | ".join(["k a b p", *rows])}


_1, _2, _3, _4 = "1 10 0 0", "2 20 0 0", "3 30 0 1", "4 40 0 1"

case("A1: the same row", theirs=update(1, "a = 11"), ours=delete(1), detect="file", conflict="A1")
case("A1: the same row", theirs=update(1, "a = 11"), ours=delete(1), detect="row", conflict="update/delete")
case("A1: the same row", theirs=update(1, "a = 11"), ours=delete(1), detect="cell", conflict="update/delete")
case("A1: the same file", theirs=update(1, "a = 11"), ours=delete(2), detect="file", conflict="A1")
case("A1: the same file", theirs=update(1, "a = 11"), ours=delete(2), detect="row", tables=left("1 11 0 0", _3, _4))
# Another file in partition 0.
THREE_FILES = BASE.replace("CREATE BRANCH", "INSERT INTO d.t (k, a, p) VALUES (5, 50, 0); CREATE BRANCH")
case(
    "A1: the same file after a rewrite",
    theirs=update(1, "a = 11"),
    ours=f"OPTIMIZE d.t; {delete(2)}",
    conflict="A1",
    base=THREE_FILES,
)
case(
    "A1: another file, which a rewrite made the same one",
    theirs=update(1, "a = 11"),
    ours=f"OPTIMIZE d.t; {delete(5)}",
    tables=left("1 11 0 0", _2, _3, _4),
    base=THREE_FILES,
    parts={"d.t": 3},
)
case(
    "A1: a row born after the base never counts",
    theirs=f"{INSERT_7}; {update(7, 'a = 71')}",
    ours=delete(1),
    tables=left(_2, _3, _4, "7 71 0 0"),
)
for _how in ("file", "row", "cell"):
    case(
        "A2: both deleted, not only the same",
        theirs="DELETE FROM d.t WHERE k <= 2",
        ours="DELETE FROM d.t WHERE k >= 2 AND k <= 3",
        detect=_how,
        tables=left(_4),
    )
case("A3: the same row", theirs=update(1, "a = 11"), ours=update(1, "a = 12"), detect="file", conflict="A3")
case("A3: the same row", theirs=update(1, "a = 11"), ours=update(1, "a = 12"), detect="row", conflict="update/update")
case("A3: the same row", theirs=update(1, "a = 11"), ours=update(1, "a = 12"), detect="cell", conflict="update/update")
case("A3: the same file", theirs=update(1, "a = 11"), ours=update(2, "a = 21"), detect="file", conflict="A3")
case(
    "A3: the same file",
    theirs=update(1, "a = 11"),
    ours=update(2, "a = 21"),
    detect="row",
    tables=left("1 11 0 0", "2 21 0 0", _3, _4),
)
case(
    "both updated, to the same value",
    theirs=update(1, "a = 11"),
    ours=update(1, "a = 11"),
    detect="file",
    conflict="A3",
)
case(
    "both updated, to the same value",
    theirs=update(1, "a = 11"),
    ours=update(1, "a = 11"),
    detect="row",
    tables=left("1 11 0 0", _2, _3, _4),
)
case(
    "both updated other columns",
    theirs=update(1, "a = 11"),
    ours=update(1, "b = 5"),
    detect="row",
    conflict="update/update",
)
case(
    "both updated other columns",
    theirs=update(1, "a = 11"),
    ours=update(1, "b = 5"),
    detect="cell",
    tables=left("1 11 5 0", _2, _3, _4),
)
case(
    "both updated one column alike, theirs another too",
    theirs=update(1, "a = 11, b = 4"),
    ours=update(1, "a = 11"),
    detect="cell",
    tables=left("1 11 4 0", _2, _3, _4),
)
case(
    "cells and columns: theirs added one and set it",
    theirs=f"ALTER TABLE d.t ADD COLUMN c INT; {update(1, 'c = 3')}",
    ours=update(1, "a = 11"),
    detect="cell",
    tables={"d.t": "k a b p c | 1 11 0 0 3 | 2 20 0 0 - | 3 30 0 1 - | 4 40 0 1 -"},
)
case(
    "theirs deleted what ours updated",
    theirs=delete(1),
    ours=update(1, "a = 12"),
    detect="file",
    tables=left(_2, _3, _4),
)
case(
    "theirs deleted what ours updated",
    theirs=delete(1),
    ours=update(1, "a = 12"),
    detect="row",
    conflict="delete/update",
)
case(
    "theirs deleted what ours updated",
    theirs=delete(1),
    ours=update(1, "a = 12"),
    detect="cell",
    conflict="delete/update",
)
case(
    "theirs deleted beside what ours updated",
    theirs=delete(1),
    ours=update(2, "a = 21"),
    detect="row",
    tables=left("2 21 0 0", _3, _4),
)

# --- predicates against inserts: row and cell ------------------------------------------------------------------------

for _how in ("row", "cell"):
    case(
        "a delete that does not match ours' insert",
        theirs=delete(1),
        ours=INSERT_7,
        detect=_how,
        tables=left(_2, _3, _4, "7 70 0 0"),
    )
    case(
        "a delete that matches ours' insert",
        theirs="DELETE FROM d.t WHERE p = 0",
        ours=INSERT_7,
        detect=_how,
        conflict="delete/insert",
    )
    case("a delete of all rows", theirs="DELETE FROM d.t", ours=INSERT_7, detect=_how, conflict="delete/insert")
    case(
        "an update that does not match ours' insert",
        theirs=update(1, "a = 11"),
        ours=INSERT_7,
        detect=_how,
        tables=left("1 11 0 0", _2, _3, _4, "7 70 0 0"),
    )
    case(
        "an update that matches ours' insert",
        theirs="UPDATE d.t SET b = 1 WHERE a >= 40",
        ours=INSERT_7,
        detect=_how,
        conflict="update/insert",
    )
    case(
        "a predicate whose statement changed no row that stays changed",
        theirs=f"{INSERT_7.replace('7', '9')}; DELETE FROM d.t WHERE k >= 5; {delete(1)}",
        ours=INSERT_7,
        detect=_how,
        tables=left(_2, _3, _4, "7 70 0 0"),
    )
case(
    "a predicate reads a column that theirs added by its default",
    theirs="ALTER TABLE d.t ADD COLUMN c INT DEFAULT 5; UPDATE d.t SET a = 0 WHERE c = 5 AND k = 1;"
    "DELETE FROM d.t WHERE c = 5 AND k = 2",
    ours=INSERT_7,
    detect="row",
    tables={"d.t": "k a c | 1 0 5 | 3 30 5 | 4 40 5 | 7 70 5"},
)
case(
    "a predicate follows its column through a rename",
    theirs="DELETE FROM d.t WHERE a = 10",
    ours="ALTER TABLE d.t RENAME COLUMN a TO z; INSERT INTO d.t (k, z, p) VALUES (7, 10, 0)",
    detect="row",
    conflict="delete/insert",
)

# --- A4, A5: overwrites ----------------------------------------------------------------------------------------------

OVER_0 = "INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (6, 60)"
for _how in ("file", "row", "cell"):
    case(
        "A4: updates of rows that ours overwrote are discarded",
        theirs="UPDATE d.t SET a = 99",
        ours=OVER_0,
        detect=_how,
        tables=left("3 99 0 1", "4 99 0 1", "6 60 0 0"),
    )
    case(
        "A4: updates of rows that theirs added are merged",
        theirs=f"{INSERT_7}; UPDATE d.t SET a = a + 1 WHERE p = 0",
        ours=OVER_0,
        detect=_how,
        tables=left(_3, _4, "6 60 0 0", "7 71 0 0"),
    )
    case("A5: deletes likewise", theirs="DELETE FROM d.t", ours=OVER_0, detect=_how, tables=left("6 60 0 0"))
    case(
        "theirs overwrote: ours' inserts in that scope die",
        theirs=OVER_0,
        ours=f"{INSERT_7}; INSERT INTO d.t (k, a, p) VALUES (8, 80, 1)",
        detect=_how,
        tables=left(_3, _4, "6 60 0 0", "8 80 0 1"),
    )
    case(
        "theirs overwrote: ours' updates die",
        theirs=OVER_0,
        ours=update(1, "a = 11"),
        detect=_how,
        tables=left(_3, _4, "6 60 0 0"),
    )
    case(
        "theirs overwrote: what ours moved into the scope dies",
        theirs=OVER_0,
        ours=update(3, "p = 0"),
        detect=_how,
        tables=left(_4, "6 60 0 0"),
    )
    case(
        "theirs overwrote: what ours moved out of it dies",
        theirs=OVER_0,
        ours=update(1, "p = 1"),
        detect=_how,
        tables=left(_3, _4, "6 60 0 0"),
    )
    case(
        "both overwrote: theirs' rows",
        theirs=OVER_0,
        ours="INSERT OVERWRITE d.t (k, a, p) VALUES (5, 50, 0), (9, 90, 1)",
        detect=_how,
        tables=left("6 60 0 0", "9 90 0 1"),
    )
    case(
        "theirs truncated",
        theirs="TRUNCATE TABLE d.t",
        ours=f"{INSERT_7}; {update(1, 'a = 11')}; {delete(3)}",
        detect=_how,
        tables=left(),
    )
    case(
        "theirs dropped a partition",
        theirs="ALTER TABLE d.t DROP PARTITION (p = 0)",
        ours=INSERT_7,
        detect=_how,
        tables=left(_3, _4),
    )
    case(
        "an overwrite and then a delete of one of its rows",
        theirs=f"{OVER_0.replace('(6, 60)', '(6, 60), (5, 50)')}; {delete(5)}",
        ours=INSERT_7,
        detect=_how,
        tables=left(_3, _4, "6 60 0 0"),
    )
case("rows that ours' overwrite wrote are no inserts", theirs=delete(3), ours=OVER_0, tables=left(_4, "6 60 0 0"))

# --- A6: columns -----------------------------------------------------------------------------------------------------

WIDE = "ALTER TABLE d.e ALTER COLUMN s TYPE {}"
FILL = "INSERT INTO d.e (k, s) VALUES (1, 2)"
case("A6.1: ours is wider", theirs=WIDE.format("INT"), ours=WIDE.format("BIGINT"), conflict="A6.1")
case(
    "A6.1: theirs is wider",
    theirs=f"{WIDE.format('BIGINT')}; {FILL}",
    ours=f"{WIDE.format('INT')}; {FILL}",
    tables={"d.e": "k s:BIGINT | 1 2 | 1 2"},
)
case("A6.1: ours alone widened", theirs=FILL, ours=WIDE.format("BIGINT"), tables={"d.e": "k s:BIGINT | 1 2"})
case(
    "A6.1: both alike", theirs=f"{WIDE.format('INT')}; {FILL}", ours=WIDE.format("INT"), tables={"d.e": "k s:INT | 1 2"}
)
case("A6.1: neither holds the other", theirs=WIDE.format("DOUBLE"), ours=WIDE.format("BIGINT"), conflict="A6.1")
ADD_N = "ALTER TABLE d.e ADD COLUMN n INT{}"
case("A6.2: NOT NULL without default, theirs wrote rows", theirs=FILL, ours=ADD_N.format(" NOT NULL"), conflict="A6.3")
case(
    "A6.2: NOT NULL with a default",
    theirs=FILL,
    ours=ADD_N.format(" NOT NULL DEFAULT 7"),
    tables={"d.e": "k s n:INT! | 1 2 7"},
)
case(
    "A6.2: NOT NULL without default, theirs wrote none",
    theirs="ALTER TABLE d.e SET TBLPROPERTIES ('x' = '1')",
    ours=ADD_N.format(" NOT NULL"),
    tables={"d.e": "k s n:INT!"},
)
case("A6.3: theirs' NOT NULL, ours' rows", theirs=ADD_N.format(" NOT NULL"), ours=FILL, conflict="A6.3")
NULL_A = "INSERT INTO d.t (k, a, p) VALUES (7, NULL, 0)"
NOT_NULL_A = "ALTER TABLE d.t ALTER COLUMN a SET NOT NULL"
case("A6.3: ours SET NOT NULL, theirs wrote NULL", theirs=NULL_A, ours=NOT_NULL_A, conflict="A6.3")
case("A6.3: theirs SET NOT NULL, ours wrote NULL", theirs=NOT_NULL_A, ours=NULL_A, conflict="A6.3")
case(
    "A6.3: a NULL that theirs' overwrite kills breaks nothing",
    theirs=f"{NOT_NULL_A}; {OVER_0}",
    ours=NULL_A,
    tables={"d.t": "k a:INT! | 3 30 | 4 40 | 6 60"},
)
ADD_C = "ALTER TABLE d.t ADD COLUMN c {}"
case(
    "both added a column of one name: one column, ours' default",
    theirs=f"{ADD_C.format('INT DEFAULT 5')}; INSERT INTO d.t (k, p) VALUES (7, 0)",
    ours=f"{ADD_C.format('INT DEFAULT 6')}; INSERT INTO d.t (k, p) VALUES (8, 0)",
    tables={"d.t": "k c:INT | 1 6 | 2 6 | 3 6 | 4 6 | 7 5 | 8 6"},
)
case(
    "the same, and case does not count",
    theirs="ALTER TABLE d.t ADD COLUMN C INT",
    ours=ADD_C.format("INT DEFAULT 6"),
    tables={"d.t": "k c | 1 6 | 2 6 | 3 6 | 4 6"},
    detect="row",
)
case(
    "the same, theirs wider",
    theirs=ADD_C.format("BIGINT"),
    ours=ADD_C.format("INT"),
    tables={"d.t": "k c:BIGINT | 1 - | 2 - | 3 - | 4 -"},
)
case("the same, ours wider", theirs=ADD_C.format("INT"), ours=ADD_C.format("BIGINT"), conflict="A6.1")
case("the same, neither holds the other", theirs=ADD_C.format("DOUBLE"), ours=ADD_C.format("BIGINT"), conflict="A6.1")
RENAME_A = "ALTER TABLE d.t RENAME COLUMN a TO {}"
case(
    "a column renamed on theirs is renamed",
    theirs=RENAME_A.format("n"),
    ours=INSERT_7,
    tables={"d.t": "k n p | " + OLD + " | 7 70 0"},
)
case(
    "both renamed a column: theirs' name",
    theirs=RENAME_A.format("n"),
    ours=RENAME_A.format("m"),
    tables={"d.t": "k n p | " + OLD},
)
case(
    "both renamed a column alike, and ours did more: up to date",
    theirs=RENAME_A.format("n"),
    ours=f"{RENAME_A.format('n')}; {ADD_C.format('INT')}",
    up_to_date=True,
)
case(
    "both dropped a column, and ours did more: up to date",
    theirs="ALTER TABLE d.t DROP COLUMN b",
    ours=f"ALTER TABLE d.t DROP COLUMN b; {ADD_C.format('INT')}",
    up_to_date=True,
)
case(
    "a revert of what is undone already is up to date",
    ours=f"{ADD_C.format('INT')}; ALTER TABLE d.t DROP COLUMN c; ALTER TABLE d.t ADD COLUMN f INT",
    merge="REVERT main@11",
    up_to_date=True,
)
case(
    "both renamed two columns to one name",
    theirs=RENAME_A.format("n"),
    ours="ALTER TABLE d.t RENAME COLUMN b TO n",
    conflict="name",
)
case(
    "renamed to a name that ours added",
    theirs=RENAME_A.format("n"),
    ours="ALTER TABLE d.t ADD COLUMN n INT",
    conflict="name",
)
case(
    "added under a name that ours gave another column",
    theirs="ALTER TABLE d.t ADD COLUMN n INT",
    ours=RENAME_A.format("n"),
    conflict="name",
)
case(
    "renamed against dropped: dropped",
    theirs=RENAME_A.format("n"),
    ours="ALTER TABLE d.t DROP COLUMN a",
    tables={"d.t": "k | 1 | 2 | 3 | 4"},
)
case(
    "dropped against renamed: dropped",
    theirs="ALTER TABLE d.t DROP COLUMN a",
    ours=RENAME_A.format("n"),
    tables={"d.t": "k | 1 | 2 | 3 | 4"},
)
case(
    "widened against dropped: dropped",
    theirs="ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT",
    ours="ALTER TABLE d.t DROP COLUMN a",
    tables={"d.t": "k | 1 | 2 | 3 | 4"},
)
case(
    "dropped against updated: dropped",
    theirs="ALTER TABLE d.t DROP COLUMN a",
    ours=f"UPDATE d.t SET a = 5; {INSERT_7}",
    tables={"d.t": "k | 1 | 2 | 3 | 4 | 7"},
)
case(
    "dropped and added again is another column",
    theirs="ALTER TABLE d.t DROP COLUMN a; ALTER TABLE d.t ADD COLUMN a INT DEFAULT 1",
    ours=INSERT_7,
    tables={"d.t": "k a | 1 1 | 2 1 | 3 1 | 4 1 | 7 1"},
)
case(
    "defaults: theirs' wins",
    theirs="ALTER TABLE d.t ALTER COLUMN b SET DEFAULT 1",
    ours=f"ALTER TABLE d.t ALTER COLUMN b SET DEFAULT 2; {INSERT_7}",
    merge="MERGE BRANCH dev; INSERT INTO d.t (k) VALUES (8)",
    tables={"d.t": "k b | 1 0 | 2 0 | 3 0 | 4 0 | 7 2 | 8 1"},
)

# --- A7 --------------------------------------------------------------------------------------------------------------

ADD_9 = "ALTER TABLE d.t ADD PARTITION (p = 9)"
case("A7: both added one partition alike is up to date", theirs=ADD_9, ours=ADD_9, up_to_date=True)
case(
    "A7: both dropped one partition",
    theirs="ALTER TABLE d.t DROP PARTITION (p = 0)",
    ours="ALTER TABLE d.t DROP PARTITION (p = 0)",
    tables=left(_3, _4),
)

# --- resolving -------------------------------------------------------------------------------------------------------

OURS_WINS, THEIRS_WINS = ("MERGE BRANCH dev RESOLVE USING OURS", "MERGE BRANCH dev RESOLVE USING THEIRS")
for _merge, _rows in ((OURS_WINS, "1 12 0 0"), (THEIRS_WINS, "1 11 0 0")):
    for _how in ("file", "row", "cell"):
        case(
            f"{_merge}: one row",
            theirs="UPDATE d.t SET a = 11 WHERE k = 1",
            ours="UPDATE d.t SET a = 12 WHERE k = 1",
            merge=_merge,
            detect=_how,
            tables=left(_rows, _2, _3, _4),
        )
    case(
        f"{_merge}: what one side alone changed keeps that change",
        theirs="UPDATE d.t SET a = 11 WHERE k = 1; UPDATE d.t SET a = 31 WHERE k = 3",
        ours="UPDATE d.t SET a = 12 WHERE k = 1; UPDATE d.t SET a = 22 WHERE k = 2",
        merge=_merge,
        tables=left(_rows, "2 22 0 0", "3 31 0 1", _4),
    )
for _how in ("file", "row"):
    case(
        "OURS: theirs updated, ours deleted",
        theirs=update(1, "a = 11"),
        ours=delete(1),
        merge=OURS_WINS,
        detect=_how,
        tables=left(_2, _3, _4),
    )
    case(
        "THEIRS: theirs updated, ours deleted",
        theirs=update(1, "a = 11"),
        ours=delete(1),
        merge=THEIRS_WINS,
        detect=_how,
        tables=left("1 11 0 0", _2, _3, _4),
    )
    case(
        "OURS spares ours' inserts",
        theirs="DELETE FROM d.t WHERE p = 0",
        ours=INSERT_7,
        merge=OURS_WINS,
        detect=_how,
        tables=left(_3, _4, "7 70 0 0"),
    )
    case(
        "THEIRS applies the predicate to them",
        theirs="DELETE FROM d.t WHERE p = 0",
        ours=f"{INSERT_7}; INSERT INTO d.t (k, a, p) VALUES (8, 80, 1)",
        merge=THEIRS_WINS,
        detect=_how,
        tables=left(_3, _4, "8 80 0 1"),
    )
case(
    "OURS: theirs deleted, ours updated",
    theirs=delete(1),
    ours=update(1, "a = 12"),
    merge=OURS_WINS,
    detect="row",
    tables=left("1 12 0 0", _2, _3, _4),
)
case(
    "THEIRS: theirs deleted, ours updated",
    theirs=delete(1),
    ours=update(1, "a = 12"),
    merge=THEIRS_WINS,
    detect="row",
    tables=left(_2, _3, _4),
)
case("OURS: ours dropped the table", theirs=delete(1), ours="DROP TABLE d.t", merge=OURS_WINS, tables={"d.t": None})
case("THEIRS revives the table", theirs=delete(1), ours="DROP TABLE d.t", merge=THEIRS_WINS, tables=left(_2, _3, _4))

# --- merges along a history ------------------------------------------------------------------------------------------


def new(k: int) -> str:
    return f"INSERT INTO d.t (k, a, p) VALUES ({k}, {k}0, 0)"


def rows(*born: int) -> dict[str, str]:
    """The rows of BASE and these."""
    return {"d.t": " | ".join(["k a p", OLD, *(f"{k} {k}0 0" for k in born)])}


MAIN, DEV, EXP = "USE BRANCH main", "USE BRANCH dev", "USE BRANCH exp"
PULL, PUSH = f"{DEV}; MERGE BRANCH main", f"{MAIN}; MERGE BRANCH dev"
BOTH = f"{DEV}; {new(5)}; {MAIN}; {new(7)}"  # dev@11 and main@11

story("merging again takes only what is new", f"{BOTH}; {PUSH}; {DEV}; {new(6)}; {PUSH}", tables=rows(5, 6, 7))
story("merging again at once is up to date", f"{BOTH}; {PUSH}; {PUSH}", tables=rows(5, 7), version=12)
story("what ours deleted stays deleted", f"{BOTH}; {PUSH}; {delete(5)}; {DEV}; {new(6)}; {PUSH}", tables=rows(6, 7))
story("main to dev to main", f"{BOTH}; {PULL}; {delete(7)}; {PUSH}", tables=rows(5))
SIBLINGS = f"CREATE BRANCH exp FROM main; {DEV}; {new(5)}; {EXP}; {new(6)}"
story("siblings", f"{SIBLINGS}; {PUSH}; MERGE BRANCH exp", tables=rows(5, 6))
story("a sibling by way of a sibling", f"{SIBLINGS}; MERGE BRANCH dev; {MAIN}; MERGE BRANCH exp", tables=rows(5, 6))
story(
    "and then the sibling itself is up to date",
    f"{SIBLINGS}; MERGE BRANCH dev; {MAIN}; MERGE BRANCH exp; MERGE BRANCH dev",
    tables=rows(5, 6),
    version=11,
)
GRANDCHILD = f"{BOTH}; CREATE BRANCH exp FROM dev; {EXP}; {update(5, 'a = 51')}"
story("a grandchild", f"{GRANDCHILD}; {MAIN}; MERGE BRANCH exp", tables={"d.t": f"k a p | {OLD} | 5 51 0 | 7 70 0"})
story(
    "a grandchild, then its parent",
    f"{GRANDCHILD}; {MAIN}; MERGE BRANCH exp; MERGE BRANCH dev",
    tables={"d.t": f"k a p | {OLD} | 5 51 0 | 7 70 0"},
    version=12,
)
CRISS_CROSS = f"{BOTH}; MERGE BRANCH dev@11; {DEV}; MERGE BRANCH main@11"
story("criss-cross", f"{CRISS_CROSS}; {new(8)}; {MAIN}; {new(9)}; MERGE BRANCH dev", tables=rows(5, 7, 8, 9))
story(
    "criss-cross: what the bases disagree on counts as changed on both sides",
    f"{CRISS_CROSS}; {update(5, 'a = 51')}; {MAIN}; {delete(7)}; MERGE BRANCH dev WITH (detect = 'row')",
    conflict="update/delete update/update",
)
UNIFIED = (
    f"{DEV}; {ADD_C.format('INT')}; INSERT INTO d.t (k, c) VALUES (5, 1);"
    f"{MAIN}; {ADD_C.format('INT')}; INSERT INTO d.t (k, c) VALUES (7, 2); {PUSH}"
)
story(
    "a column unified once stays unified",
    f"{UNIFIED}; ALTER TABLE d.t RENAME COLUMN c TO m; {DEV}; INSERT INTO d.t (k, c) VALUES (6, 3); {PUSH}",
    tables={"d.t": "k m | 1 - | 2 - | 3 - | 4 - | 5 1 | 6 3 | 7 2"},
)
story(
    "even if that merge was undone",
    f"{UNIFIED}; RESTORE TABLE d.t TO VERSION 11; ALTER TABLE d.t RENAME COLUMN c TO m;"
    f"{DEV}; INSERT INTO d.t (k, c) VALUES (6, 3); {PUSH}",
    tables={"d.t": "k m | 1 - | 2 - | 3 - | 4 - | 6 3"},
)

# --- going back ------------------------------------------------------------------------------------------------------

PICK = f"{DEV}; {new(5)}; {new(6)}; {MAIN}; {new(7)}; CHERRY PICK dev@11"
story("a cherry-pick brings one commit", PICK, tables=rows(5, 7))
story("a merge after a cherry-pick doubles nothing", f"{PICK}; {PUSH}", tables=rows(5, 6, 7))
story("what ours deleted after a cherry-pick stays deleted", f"{PICK}; {delete(5)}; {PUSH}", tables=rows(6, 7))
story("a cherry-pick of what is there is up to date", f"{PICK}; CHERRY PICK dev@11", tables=rows(5, 7), version=12)
story(
    "a cherry-picked delete spares ours' inserts",
    f"{DEV}; DELETE FROM d.t WHERE p = 0; {MAIN}; {new(7)}; CHERRY PICK dev@11",
    tables={"d.t": "k a p | 3 30 1 | 4 40 1 | 7 70 0"},
)
story(
    "a cherry-pick of a row that ours changed too",
    f"{DEV}; {update(1, 'a = 11')}; {MAIN}; {update(1, 'a = 12')}; CHERRY PICK dev@11",
    conflict="update/update",
)
story("revert of an insert", f"{new(7)}; {new(8)}; REVERT main@11", tables=rows(8))
story("revert of a delete revives", f"{delete(1)}; {new(8)}; REVERT main@11", tables=rows(8))
story(
    "revert of an update of a row updated again",
    f"{update(1, 'a = 11')}; {update(1, 'a = 12')}; REVERT main@11",
    conflict="update/update",
)
story("revert of an overwrite", f"{OVER_0}; {new(8)}; REVERT main@11", tables=rows(8))
story("revert of a drop", f"{new(7)}; DROP TABLE d.t; REVERT main@12", tables=rows(7))
story(
    "after the revert of a merge only what is new comes",
    f"{BOTH}; {PUSH}; REVERT main@12; {DEV}; {new(6)}; {PUSH}",
    tables=rows(6, 7),
)
story("revert of the revert", f"{BOTH}; {PUSH}; REVERT main@12; REVERT main@13", tables=rows(5, 7))
story("restore after a merge", f"{BOTH}; {PUSH}; RESTORE TABLE d.t TO VERSION 11", tables=rows(7))

# --- what random histories found ------------------------------------------------------------------------------------

story(
    "reverted and picked again",
    f"{update(1, 'a = 11')}; REVERT main@11; CHERRY PICK main@11",
    tables=left("1 11 0 0", _2, _3, _4),
)
story(
    "a pick of an insert, updated on theirs since",
    f"{PICK}; {DEV}; {update(5, 'a = 51')}; {PUSH}",
    tables={"d.t": f"k a p | {OLD} | 5 51 0 | 6 60 0 | 7 70 0"},
)
story(
    "a pick of an insert, updated on both sides since",
    f"{PICK}; {update(5, 'a = 52')}; {DEV}; {update(5, 'a = 51')}; {PUSH} WITH (detect = 'row')",
    conflict="update/update",
)
story(
    "a pick of what ours overwrote brings nothing back",
    f"{OVER_0}; CHERRY PICK main@5",
    tables=left(_3, _4, "6 60 0 0"),
    version=11,
)
story(
    "revert of an overwrite after a merge whose updates it discarded",
    f"{DEV}; UPDATE d.t SET a = 99 WHERE p = 0; {MAIN}; {OVER_0}; {PUSH}; REVERT main@11",
    tables=left(_1, _2, _3, _4),
)
story(
    "a row moved into the scope of an overwrite is not discarded",
    f"{DEV}; {update(3, 'a = 31')}; {MAIN}; {update(3, 'p = 0')}; TRUNCATE TABLE d.t PARTITION (p = 0); {PUSH}",
    conflict="A1",
)
story(
    "THEIRS reaches an insert that ours updated",
    f"{DEV}; DELETE FROM d.t WHERE p = 0; {MAIN}; {new(7)}; {update(7, 'a = 71')}; {THEIRS_WINS}",
    tables=left(_3, _4),
)
story(
    "THEIRS applies an update to ours' insert",
    f"{DEV}; UPDATE d.t SET a = 99 WHERE p = 0; {MAIN}; {new(7)}; {THEIRS_WINS}",
    tables=left("1 99 0 0", "2 99 0 0", _3, _4, "7 99 0 0"),
)
story(
    "revert of an insert that ours updated without effect",
    f"{new(7)}; {update(7, 'a = a + 0')}; REVERT main@11",
    tables=rows(),
)
case(
    "deleted and then truncated: an overwrite",
    theirs="DELETE FROM d.t WHERE p = 0; TRUNCATE TABLE d.t PARTITION (p = 0)",
    ours=INSERT_7,
    tables=left(_3, _4),
)
story(
    "the same by way of another branch",
    f"CREATE BRANCH exp FROM main; {EXP}; DELETE FROM d.t WHERE p = 0; TRUNCATE TABLE d.t PARTITION (p = 0);"
    f"{DEV}; MERGE BRANCH exp; {MAIN}; {INSERT_7}; MERGE BRANCH dev WITH (detect = 'row')",
    tables=left(_3, _4),
)
REVERTED = f"{DEV}; {update(1, 'a = 11')}; {PUSH}; REVERT main@11; {DEV}"
story(
    "a row that ours reverted and theirs updated again",
    f"{REVERTED}; {update(1, 'a = 12')}; {PUSH} WITH (detect = 'row')",
    conflict="update/update",
)
story(
    "a row that ours reverted and theirs updated again, resolved: it is there once",
    f"{REVERTED}; {update(1, 'a = 12')}; {MAIN}; {THEIRS_WINS}",
    tables=left("1 12 0 0", _2, _3, _4),
)
story("a row that ours reverted and theirs deleted", f"{REVERTED}; {delete(1)}; {PUSH}", tables=left(_2, _3, _4))
story(
    "a row that theirs reverted and ours updated again",
    f"{DEV}; {update(1, 'a = 11')}; {PUSH}; {DEV}; REVERT dev@11; {MAIN}; {update(1, 'a = 12')}; {THEIRS_WINS}",
    tables=left(_1, _2, _3, _4),
)
for _merge, _rows in ((OURS_WINS, (_1, _2, _3, _4)), (THEIRS_WINS, ("1 - 0 0", _2, _3, _4, "5 - 0 0"))):
    case(
        f"{_merge}: NOT NULL on ours, rows without it on theirs",
        theirs="UPDATE d.t SET a = NULL WHERE k = 1; INSERT INTO d.t (k, a, b, p) VALUES (5, NULL, 0, 0)",
        ours="ALTER TABLE d.t ALTER COLUMN a SET NOT NULL",
        merge=_merge,
        tables=left(*_rows),
    )
NEUTRAL = "UPDATE d.t SET a = a + 0"
story(
    "an update that changes no value is up to date under row",
    f"{DEV}; {NEUTRAL}; {MAIN}; MERGE BRANCH dev WITH (detect = 'row')",
    tables=rows(),
    version=10,
)
story("an update that changes no value is a change under file", f"{DEV}; {NEUTRAL}; {PUSH}", tables=rows(), version=11)
story(
    "an update that changes no value reaches no insert",
    f"{DEV}; {NEUTRAL}; {MAIN}; {new(7)}; MERGE BRANCH dev WITH (detect = 'cell')",
    tables=rows(7),
)
story(
    "a row that theirs inserted and updated, beside updates without effect",
    f"{DEV}; {new(5)}; {NEUTRAL}; {MAIN}; {update(1, 'a = 12')}; MERGE BRANCH dev WITH (detect = 'row')",
    tables=left("1 12 0 0", _2, _3, _4, "5 50 0 0"),
)
for _what in ("RENAME TO d.u", "ADD COLUMN c INT", "RENAME COLUMN a TO x"):
    story(
        f"a pick of one's own CREATE TABLE after {_what}",
        f"ALTER TABLE d.t {_what}; CHERRY PICK main@2",
        version=11,
    )
story(
    "overwritten, and restored to before the insert: deleted",
    f"{DEV}; {update(1, 'a = 11')}; {MAIN}; {OVER_0}; RESTORE TABLE d.t TO VERSION 2; {PUSH}",
    conflict="A1",
)
story(
    "a revert of something else leaves an overwrite standing",
    f"{DEV}; {OVER_0}; INSERT INTO d.t (k, a, p) VALUES (8, 80, 1); REVERT dev@12; {MAIN}; {new(7)}; {PUSH}",
    tables=left(_3, _4, "6 60 0 0"),
)
WIDEN = "ALTER TABLE d.e ALTER COLUMN s TYPE INT"
story(
    "revert of a widening",
    f"{WIDEN}; REVERT main@11; INSERT INTO d.e (k, s) VALUES (1, 1)",
    tables={"d.e": "k s | 1 1"},
)
story(
    "revert of a merge that widened",
    f"{DEV}; {WIDEN}; INSERT INTO d.e (k, s) VALUES (1, 1); {MAIN}; INSERT INTO d.e (k, s) VALUES (2, 2); {PUSH};"
    "REVERT main@12",
    tables={"d.e": "k s | 2 2"},
)
story(
    "wide rows for a column that was narrowed again",
    f"{DEV}; {WIDEN}; {PUSH}; REVERT main@11; {DEV}; INSERT INTO d.e (k, s) VALUES (1, 1); {PUSH}",
    conflict="A6.1",
)
story(
    "restored and overwritten on theirs, updated on ours: overwritten, so a revert of the update has nothing to undo",
    f"{DEV}; RESTORE TABLE d.t TO VERSION 2; {OVER_0}; {MAIN}; {update(1, 'a = 11')}; {PUSH}; REVERT main@11",
    tables=left("6 60 0 0"),
)
ROUND = (
    "CREATE BRANCH x FROM main; USE BRANCH x; {did}; USE BRANCH dev; {brought};USE BRANCH main; {new}; MERGE BRANCH dev"
)
for _brought in ("MERGE BRANCH x", "CHERRY PICK x@11"):
    for _did, _then in (
        (delete(1), left(_2, _3, _4, "7 70 0 0")),
        (update(1, "a = 11"), left("1 11 0 0", _2, _3, _4, "7 70 0 0")),
    ):
        _name = f"{_did.split()[0]} that came by {_brought}: its condition"
        _script = ROUND.format(did=_did, brought=_brought, new=new(7))
        story(f"{_name} spares others", f"{_script} WITH (detect = 'row')", tables=_then)
        story(f"{_name} is what THEIRS runs", f"{_script} RESOLVE USING THEIRS WITH (detect = 'row')", tables=_then)
    for _did, _rule in ((delete(1), "delete/insert"), (update(1, "a = 11"), "update/insert")):
        story(
            f"{_did.split()[0]} that came by {_brought} conflicts with what its condition matches",
            ROUND.format(did=_did.replace("k = 1", "k <> 2"), brought=_brought, new=new(7)) + " WITH (detect = 'row')",
            conflict=_rule,
        )
story(
    "what a pick and a merge both brought is run once",
    ROUND.format(did="UPDATE d.t SET a = a + 1 WHERE k > 0", brought="CHERRY PICK x@11; MERGE BRANCH x", new=new(7))
    + " RESOLVE USING THEIRS WITH (detect = 'row')",
    tables=left("1 11 0 0", "2 21 0 0", "3 31 0 1", "4 41 0 1", "7 71 0 0"),
)
story(
    "several statements that came by a merge, each with its condition",
    ROUND.format(did=f"{update(1, 'a = 11')}; {new(8)}; {delete(2)}", brought="MERGE BRANCH x", new=new(7))
    + " RESOLVE USING THEIRS WITH (detect = 'row')",
    tables=left("1 11 0 0", _3, _4, "7 70 0 0", "8 80 0 0"),
)
story(
    "what a merge brought and a RESTORE undid matches nothing",
    ROUND.format(did=delete(1), brought="MERGE BRANCH x; RESTORE TABLE d.t TO VERSION 10", new=new(7))
    + " WITH (detect = 'row')",
    tables=left(_1, _2, _3, _4, "7 70 0 0"),
)
for _last, _rule in (("UPDATE d.t SET a = 12", "update/insert"), ("DELETE FROM d.t", "delete/insert")):
    story(
        f"a statement on rows that theirs updated before counts: {_last}",
        f"{DEV}; UPDATE d.t SET a = 11 WHERE k < 5; {_last} WHERE k > 0; {MAIN}; {new(7)}; {PUSH}"
        " WITH (detect = 'row')",
        conflict=_rule,
    )
story(
    "updated and then deleted: the update counts, too",
    f"{DEV}; UPDATE d.t SET a = 11 WHERE k > 3; DELETE FROM d.t WHERE k < 5; {MAIN}; {new(7)}; {PUSH}"
    " WITH (detect = 'row')",
    conflict="update/insert",
)
story(
    "a merge that names a column's alias, beside a rename",
    f"ALTER TABLE d.e ADD COLUMN c INT; INSERT INTO d.e (k, c) VALUES (2, 2); {DEV}; ALTER TABLE d.e ADD COLUMN c INT;"
    f"INSERT INTO d.e (k, c) VALUES (3, 3); {PUSH}; REVERT main@13; CREATE BRANCH x FROM main;"
    f"{DEV}; INSERT INTO d.e (k, c) VALUES (4, 4); {PUSH};"
    f"USE BRANCH x; ALTER TABLE d.e RENAME TO d.f; {MAIN}; MERGE BRANCH x",
    tables={"d.f": "k c | 2 2 | 4 4"},
)
story(
    "a pick of what a merge brought before, and whose rows are gone since",
    f"{DEV}; {update(1, 'a = 11')}; {PUSH}; {delete(1)}; CHERRY PICK dev@11",
    tables=left(_2, _3, _4),
    version=12,
)
story(
    "what both got by a pick is no change of either: the cells that each changed since are combined",
    f"{DEV}; {update(1, 'a = 11')}; {MAIN}; CHERRY PICK dev@11; {update(1, 'a = 12')};"
    f"{DEV}; {update(1, 'b = 13')}; {PUSH} WITH (detect = 'cell')",
    tables=left("1 12 13 0", _2, _3, _4),
)
story(
    "REVERT of an UPDATE that changed no value has nothing to undo",
    f"{update(1, 'a = 10')}; REVERT main@11",
    tables=left(_1, _2, _3, _4),
    version=11,
)
story(
    "REVERT of an UPDATE that changed the values of some rows",
    "UPDATE d.t SET a = 10 WHERE p = 0; REVERT main@11",
    tables=left(_1, _2, _3, _4),
    version=12,
)
for _detect in ("row", "cell"):
    story(
        f"both updated a row to one value: either statement's condition counts, {_detect}",
        f"CREATE BRANCH x FROM main; {DEV}; UPDATE d.t SET a = 11 WHERE k <> 2 AND p = 0;"
        f"USE BRANCH x; UPDATE d.t SET a = 11 WHERE k = 1; MERGE BRANCH dev WITH (detect = '{_detect}');"
        f"{MAIN}; {new(7)}; MERGE BRANCH x WITH (detect = '{_detect}')",
        conflict="update/insert",
    )
    story(
        f"a row kept against a DELETE that is undone then is there once, {_detect}",
        f"{DEV}; DELETE FROM d.t WHERE p = 0; {MAIN}; {update(1, 'a = 11')};"
        f"MERGE BRANCH dev RESOLVE USING OURS WITH (detect = '{_detect}'); {DEV}; REVERT dev@11; {new(7)};"
        f"{MAIN}; MERGE BRANCH dev WITH (detect = '{_detect}')",
        tables=left("1 11 0 0", _2, _3, _4, "7 70 0 0"),
    )
    story(
        f"the same, and theirs updated it then, {_detect}",
        f"{DEV}; DELETE FROM d.t WHERE p = 0; {MAIN}; {update(1, 'a = 11')};"
        f"MERGE BRANCH dev RESOLVE USING OURS WITH (detect = '{_detect}'); {DEV}; REVERT dev@11; {update(1, 'a = 12')};"
        f"{MAIN}; MERGE BRANCH dev WITH (detect = '{_detect}')",
        conflict="update/update",
    )
story(
    "the same under file: theirs' version",
    f"{DEV}; DELETE FROM d.t WHERE p = 0; {MAIN}; {update(1, 'a = 11')};"
    f"MERGE BRANCH dev RESOLVE USING OURS WITH (detect = 'row'); {DEV}; REVERT dev@11; {update(1, 'a = 12')};"
    f"{MAIN}; {PUSH}",
    tables=left("1 12 0 0", _2, _3, _4),
)
story(
    "the other way round: ours undid the DELETE, theirs kept its version",
    f"DELETE FROM d.t WHERE p = 0; {DEV}; {update(1, 'a = 11')};"
    f"MERGE BRANCH main RESOLVE USING OURS WITH (detect = 'row'); {MAIN}; REVERT main@11;"
    f"{PUSH} WITH (detect = 'row')",
    tables=left("1 11 0 0", _2, _3, _4),
)
story(
    "a column added on both sides and merged both ways at once is one column, and that is all",
    f"ALTER TABLE d.t ADD COLUMN c INT DEFAULT 5; CREATE BRANCH x FROM main; {DEV};"
    f"ALTER TABLE d.t ADD COLUMN c INT DEFAULT 5; CREATE BRANCH y FROM dev; MERGE BRANCH x; {MAIN}; MERGE BRANCH y;"
    "MERGE BRANCH dev",
    tables={"d.t": "k c | 1 5 | 2 5 | 3 5 | 4 5"},
    version=12,
)
