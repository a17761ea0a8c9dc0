"""DIFF against the plainest way to do it: read both states, and pair rows by their origin."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from anabranch.branching import versions
from anabranch.errors import AnabranchError, SqlError
from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import ORIGIN, ROW_ID, read_table
from tests.stories.telling import rows, told

STATEMENTS = (
    "INSERT INTO {t} (id) VALUES ({n}), ({m})",
    "UPDATE {t} SET id = id + 10 WHERE id % 3 = {k}",
    "DELETE FROM {t} WHERE id % 5 = {k}",
    "ALTER TABLE {t} ADD COLUMN c{i} INT DEFAULT {n}",
    "INSERT OVERWRITE {t} (id) VALUES ({n})",
    "MERGE BRANCH {a} TO {b} RESOLVE USING OURS",
)
WEIGHTS = (8, 5, 4, 1, 1, 2)


def whole(lake, version):
    """Origin -> (row id, values) of all rows."""
    session = lake._session
    table = session.table(("d", "t"), session.resolve(version))
    found = read_table(plan_scan(session.view(table), ["id"]), ids=True).to_pylist()
    return {row[ORIGIN]: (row[ROW_ID], row["id"]) for row in found}


@pytest.mark.parametrize("seed", range(8))
def test_any_two_versions_of_any_history(lake, seed):
    chance = random.Random(seed)
    told(lake, "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (1), (2), (3), (4), (5)", "CREATE BRANCH dev")
    first = lake.version
    for i in range(14):
        a, b = chance.sample(["main", "dev"], 2)
        text = chance.choices(STATEMENTS, WEIGHTS)[0]
        numbers = {"n": chance.randrange(99), "m": chance.randrange(99), "k": chance.randrange(3), "i": i}
        told(lake, text.format(t=f"d.t@{a}", a=a, b=b, **numbers))
    places = [f"{name}@{v}" for name in ("main", "dev") for v in range(first, lake.on(name).version + 1)]
    for _ in range(30):
        old, new = chance.choices(places, k=2)
        was, now = whole(lake, old), whole(lake, new)
        updated = {origin for origin in was.keys() & now.keys() if was[origin][0] != now[origin][0]}
        counts = (len(now.keys() - was.keys()), len(was.keys() - now.keys()), len(updated))
        lines = [row for row in lake.sql(f"DIFF {old} {new}") if row.kind == "rows"]
        assert [(row.inserted, row.deleted, row.updated) for row in lines] == ([counts] if any(counts) else [])
        expected = Counter(("+I", now[origin][1]) for origin in now.keys() - was.keys())
        expected += Counter(("-D", was[origin][1]) for origin in was.keys() - now.keys())
        moved = [origin for origin in updated if was[origin][1] != now[origin][1]]
        expected += Counter(("-U", was[origin][1]) for origin in moved)
        expected += Counter(("+U", now[origin][1]) for origin in moved)
        table = lake.sql(f"DIFF {old} {new} TABLE d.t")
        assert Counter((row[0], row.id) for row in table) == expected
        assert all(after[0] == "+U" for before, after in pairwise(table) if before[0] == "-U")


def test_a_diff_reads_only_what_changed(lake, monkeypatch):
    told(lake, "CREATE TABLE d.t (id INT)", "CREATE TABLE d.u (id INT)")
    for start in range(0, 40, 10):
        told(lake, f"INSERT INTO d.t VALUES {', '.join(f'({n})' for n in range(start, start + 10))}")
    told(lake, "INSERT INTO d.u VALUES (1)", "CREATE BRANCH dev", "UPDATE d.t@dev SET id = -1 WHERE id = 15")
    import anabranch.storage.parquet as parquet

    opened = []
    original = parquet.open_part

    def watched(files, part, *rest):
        opened.append(part.slot)
        return original(files, part, *rest)

    monkeypatch.setattr("anabranch.storage.parquet.open_part", watched)
    assert lake.sql("DIFF main dev").count() == 1
    assert len(set(opened)) <= 1
    opened.clear()
    assert told(lake, "DIFF main dev TABLE d.t") == [("-U", 15), ("+U", -1)]
    assert len(set(opened)) == 2


# --- columns that need not be read ------------------------------------------------------------------------------------

RESHAPING = (
    ("UPDATE d.t@{a} SET a = {n} WHERE id % 3 = {k}", 6),
    ("UPDATE d.t@{a} SET b = NULL, s = 'x{n}' WHERE id % 4 = {k}", 6),
    ("UPDATE d.t@{a} SET c = {n} WHERE id % 3 = {k}", 4),
    ("INSERT INTO d.t@{a} (id, a) VALUES ({n}, {m})", 2),
    ("DELETE FROM d.t@{a} WHERE id % 7 = {k}", 2),
    ("ALTER TABLE d.t@{a} ADD COLUMN c INT DEFAULT {n}", 3),
    ("ALTER TABLE d.t@{a} DROP COLUMN c", 2),
    ("ALTER TABLE d.t@{a} DROP COLUMN b", 1),
    ("ALTER TABLE d.t@{a} RENAME COLUMN a TO c", 1),
    ("ALTER TABLE d.t@{a} RENAME COLUMN c TO a", 1),
    ("ALTER TABLE d.t@{a} ALTER COLUMN b TYPE BIGINT", 2),
    ("MERGE BRANCH {a} TO {b} WITH (detect = 'cell')", 5),
    ("MERGE BRANCH {a} TO {b} WITH (detect = 'cell') RESOLVE USING THEIRS", 2),
    ("RESTORE TABLE d.t@{a} TO VERSION {v}", 2),
    ("REVERT {v} RESOLVE USING THEIRS", 2),
)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_not_read_is_what_would_have_been_read(lake, monkeypatch, seed):
    """Any two versions of histories that reshape the table, with and without knowing what updates left alone."""
    chance = random.Random(seed)
    told(lake, "CREATE TABLE d.t (id INT, a INT, b INT, s STRING)")
    values = ", ".join(f"({n}, {n * 10}, {n}, 's{n}')" for n in range(24))
    told(lake, f"INSERT INTO d.t VALUES {values}", "CREATE BRANCH dev")
    first = lake.version
    told(lake, "UPDATE d.t@dev SET a = 1 WHERE id % 2 = 0")
    for _ in range(24):
        a, b = chance.sample(["main", "dev"], 2)
        text = chance.choices([text for text, _ in RESHAPING], [weight for _, weight in RESHAPING])[0]
        numbers = {name: chance.randrange(99) for name in "nm"}
        version = chance.randint(first, lake.on(a).version)
        try:
            told(lake.on(a), text.format(a=a, b=b, k=chance.randrange(3), v=version, **numbers))
        except SqlError:
            raise
        except AnabranchError:  # a column that is not there, a conflict: the history goes on without it
            continue
    places = [f"{name}@{v}" for name in ("main", "dev") for v in range(first, lake.on(name).version + 1)]
    pairs = [(f"main@{first}", f"dev@{first + 1}"), *(chance.choices(places, k=2) for _ in range(40))]
    knowing = [lake.sql(f"DIFF {old} {new} TABLE d.t").toArrow() for old, new in pairs]
    known = []
    monkeypatch.setattr("anabranch.commands.diff.alike", lambda *of: known.append(versions.alike(*of)) or {})
    plain = [lake.sql(f"DIFF {old} {new} TABLE d.t").toArrow() for old, new in pairs]
    assert [found.to_pylist() for found in knowing] == [found.to_pylist() for found in plain]
    assert any(names for found in known for names in found.values())


@pytest.fixture
def columns_read(monkeypatch):
    """(slot, column) of everything that is fetched by row id."""
    import anabranch.execution.fetch as fetching

    seen = set()
    original = fetching.read_rows

    def watched(files, part, table, columns, positions):
        seen.update((part.slot, column) for column in columns)
        return original(files, part, table, columns, positions)

    monkeypatch.setattr(fetching, "read_rows", watched)
    return seen


def large_table(lake, *statements):
    """Of two versions the one in the smaller part is read first, so the old part has to be the larger one."""
    values = ", ".join(f"({n}, {n + 1}, {n + 2})" for n in range(1, 500))
    told(lake, "CREATE TABLE d.t (id INT, a INT, b INT)", f"INSERT INTO d.t VALUES {values}", "CREATE BRANCH dev")
    told(lake, *statements)


def old_columns(lake, seen):
    """The columns read of the parts that inserts wrote."""
    session = lake._session
    state = session.catalog.state(session.resolve("main"), session.table(("d", "t")).id)
    return sorted(column for slot, column in seen if slot in state.parts and not state.parts[slot].has_origin)


@pytest.mark.parametrize(
    ("statements", "read"),
    [
        (["UPDATE d.t@dev SET a = 0 WHERE id = 1"], ["a"]),
        (["UPDATE d.t@dev SET a = 0 WHERE id = 1", "UPDATE d.t@dev SET b = 0 WHERE id = 1"], ["a", "b"]),
        (["UPDATE d.t@dev SET a = 0 WHERE id = 1", "ALTER TABLE d.t@dev RENAME COLUMN b TO c"], ["a"]),
        (["UPDATE d.t@dev SET a = 0 WHERE id = 1", "ALTER TABLE d.t@dev ALTER COLUMN b TYPE BIGINT"], ["a"]),
        (["ALTER TABLE d.t@dev ALTER COLUMN b TYPE BIGINT", "UPDATE d.t@dev SET a = 0 WHERE id = 1"], ["a", "b"]),
        (["ALTER TABLE d.t@dev ADD COLUMN c INT DEFAULT 3", "UPDATE d.t@dev SET c = 0 WHERE id = 1"], []),
        (["UPDATE d.t@dev SET a = 0 WHERE id = 1", "DELETE FROM d.t@dev WHERE id = 1"], ["a", "b", "id"]),
    ],
)
@pytest.mark.parametrize("way", ["main dev", "dev main"])
def test_of_old_parts_only_what_updates_set_is_read(lake, columns_read, way, statements, read):
    large_table(lake, *statements)
    columns_read.clear()
    lake.sql(f"DIFF {way} TABLE d.t")
    assert old_columns(lake, columns_read) == read


def test_cells_of_different_columns_are_merged_without_reading_the_base(lake, columns_read):
    large_table(lake, "UPDATE d.t@dev SET a = 0 WHERE id = 1", "UPDATE d.t SET b = 0 WHERE id = 1")
    columns_read.clear()
    told(lake, "MERGE BRANCH dev WITH (detect = 'cell')")
    assert old_columns(lake, columns_read) == []
    assert rows(lake, "d.t")[:2] == [(1, 0, 0), (2, 3, 4)]
    columns_read.clear()
    assert told(lake, "DIFF main@3 main TABLE d.t") == [("-U", 1, 2, 3), ("+U", 1, 0, 0)]
    assert old_columns(lake, columns_read) == ["a", "b"]


def test_a_cell_that_both_sides_set_is_compared_with_the_base(lake, columns_read):
    large_table(lake, "UPDATE d.t@dev SET a = 2, b = 9 WHERE id = 1", "UPDATE d.t SET a = 7 WHERE id = 1")
    columns_read.clear()
    told(lake, "MERGE BRANCH dev WITH (detect = 'cell')")
    assert old_columns(lake, columns_read) == ["a"]
    assert rows(lake, "d.t")[:2] == [(1, 7, 9), (2, 3, 4)]


def test_a_column_that_a_version_did_not_hold_is_read(lake, columns_read):
    """REVERT brings the column back, and its values; what came of it in between is not known, so it is compared."""
    large_table(lake)
    before = lake.version
    told(lake, "ALTER TABLE d.t DROP COLUMN a")
    dropped = lake.version
    told(lake, "UPDATE d.t SET b = 8 WHERE id = 1", f"REVERT {dropped}", "UPDATE d.t SET b = 9 WHERE id = 1")
    columns_read.clear()
    assert told(lake, f"DIFF main@{before} main TABLE d.t") == [("-U", 1, 2, 3), ("+U", 1, 2, 9)]
    assert old_columns(lake, columns_read) == ["a", "b", "id"]


LINES = [
    # what dev did, the object that is told, and what of it: kind, before, after, the change and the change back
    ("CREATE DATABASE e", "e", "database", None, None, "added", "dropped"),
    ("DROP DATABASE bare", "bare", "database", None, None, "dropped", "added"),
    ("ALTER DATABASE d RENAME TO e", "e/d", "database", "d", "e", "renamed", "renamed"),
    ("ALTER DATABASE d SET DBPROPERTIES (k = 'v')", "d", "property", None, "k = v", "set", "unset"),
    ("ALTER DATABASE d SET DBPROPERTIES (old = 'w')", "d", "property", "old = v", "old = w", "set", "set"),
    ("ALTER DATABASE d UNSET DBPROPERTIES (old)", "d", "property", "old = v", None, "unset", "set"),
    ("DROP TABLE d.t", "d.t", "table", None, None, "dropped", "added"),
    ("ALTER TABLE d.t RENAME TO d.u", "d.u/d.t", "table", "d.t", "d.u", "renamed", "renamed"),
    ("ALTER TABLE d.t SET TBLPROPERTIES (k = 'v')", "d.t", "property", None, "k = v", "set", "unset"),
    ("ALTER TABLE d.t SET TBLPROPERTIES (old = 'w')", "d.t", "property", "old = v", "old = w", "set", "set"),
    ("ALTER TABLE d.t UNSET TBLPROPERTIES (old)", "d.t", "property", "old = v", None, "unset", "set"),
    ("COMMENT ON TABLE d.t IS 'new'", "d.t", "comment", "first", "new", "changed", "changed"),
    ("COMMENT ON TABLE d.t IS NULL", "d.t", "comment", "first", None, "changed", "changed"),
    ("ALTER TABLE d.t ADD COLUMN c INT", "d.t", "column", None, "c int", "added", "dropped"),
    ("ALTER TABLE d.t DROP COLUMN b", "d.t", "column", "b string", None, "dropped", "added"),
    ("ALTER TABLE d.t RENAME COLUMN b TO c", "d.t", "column", "b", "c", "renamed", "renamed"),
    ("ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT", "d.t", "column", "a int", "a bigint", "type", "type"),
    ("ALTER TABLE d.t ALTER COLUMN b SET DEFAULT 'y'", "d.t", "column", "b 'x'", "b 'y'", "default", "default"),
    ("ALTER TABLE d.t ALTER COLUMN b DROP DEFAULT", "d.t", "column", "b 'x'", None, "default", "default"),
    ("ALTER TABLE d.t ALTER COLUMN a SET DEFAULT 5", "d.t", "column", None, "a 5", "default", "default"),
    ("ALTER TABLE d.t ALTER COLUMN a SET NOT NULL", "d.t", "column", "a NULL", "a NOT NULL", "nullable", "nullable"),
    ("ALTER TABLE d.t ALTER COLUMN b FIRST", "d.t", "column", "a, b, k", "b, a, k", "moved", "moved"),
    ("ALTER TABLE d.t ADD PARTITION (k = 'z')", "d.t", "partition", None, "k=z", "added", "dropped"),
    ("ALTER TABLE d.t DROP PARTITION (k = 'p')", "d.t", "partition", "k=p", None, "dropped", "added"),
]


@pytest.mark.parametrize(
    ("done", "names", "kind", "before", "after", "change", "back"), LINES, ids=[c[0] for c in LINES]
)
def test_a_change_is_a_line_and_its_opposite_the_way_back(lake, done, names, kind, before, after, change, back):
    columns = "(a INT, b STRING DEFAULT 'x', k STRING) PARTITIONED BY (k)"
    told(lake, "CREATE DATABASE bare", "ALTER DATABASE d SET DBPROPERTIES (old = 'v')")
    told(lake, f"CREATE TABLE d.t {columns} COMMENT 'first' TBLPROPERTIES (old = 'v')")
    told(lake, "ALTER TABLE d.t ADD PARTITION (k = 'p')", "CREATE BRANCH dev")
    lake.on("dev").sql(done)
    new, _, old = names.partition("/")
    counts = (0, 0, 0) if change in ("added", "dropped") and kind == "table" else (None, None, None)
    assert told(lake, "DIFF main dev") == [(new, kind, change, before, after, *counts)]
    assert told(lake, "DIFF dev main") == [(old or new, kind, back, after, before, *counts)]


def test_comments_of_columns_and_of_fields(lake):
    told(lake, "CREATE TABLE d.t (a INT, s STRUCT<x: INT, l: ARRAY<STRUCT<y: INT>>>)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN a COMMENT 'one'", "ALTER TABLE d.t@dev ALTER COLUMN s.x COMMENT 'two'")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN s.l.element.y COMMENT 'three'")
    said = [(row.kind, row.change, row.before, row.after) for row in lake.sql("DIFF main dev")]
    texts = ["a one", "s.x two", "s.l.element.y three"]
    assert said == [("column", "comment", None, text) for text in texts]
    assert [row.before for row in lake.sql("DIFF dev main")] == texts


def test_not_null_of_fields(lake):
    told(lake, "CREATE TABLE d.t (s STRUCT<x: INT, l: ARRAY<STRUCT<y: INT NOT NULL>>>)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN s.x SET NOT NULL")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN s.l.element.y DROP NOT NULL")
    said = [(row.kind, row.change, row.before, row.after) for row in lake.sql("DIFF main dev")]
    assert said == [
        ("column", "nullable", "s.x NULL", "s.x NOT NULL"),
        ("column", "nullable", "s.l.element.y NOT NULL", "s.l.element.y NULL"),
    ]
    told(lake, "ALTER TABLE d.t@dev ADD COLUMN n STRUCT<z: INT NOT NULL COMMENT 'last'>")
    assert "n struct<z:int NOT NULL COMMENT 'last'>" in [row.after for row in lake.sql("DIFF main dev")]


def test_fields_that_one_side_has_widened(lake):
    told(lake, "CREATE TABLE d.t (id INT, s STRUCT<a: INT>)", "INSERT INTO d.t VALUES (1, named_struct('a', 1))")
    told(lake, "CREATE BRANCH dev", "ALTER TABLE d.t@dev ALTER COLUMN s.a TYPE BIGINT")
    told(lake, "UPDATE d.t@dev SET s = named_struct('a', 100000000000L)")
    small, large = {"a": 1}, {"a": 100_000_000_000}
    for old, new, before, after in (("main", "dev", small, large), ("dev", "main", large, small)):
        found = lake.sql(f"DIFF {old} {new} TABLE d.t").toArrow().to_pylist()
        assert found == [{"_change": "-U", "id": 1, "s": before}, {"_change": "+U", "id": 1, "s": after}]


def test_fields_that_both_sides_have_added(lake):
    told(lake, "CREATE TABLE d.t (id INT, s STRUCT<a: INT>)", "INSERT INTO d.t VALUES (1, named_struct('a', 1))")
    told(lake, "CREATE BRANCH dev", "ALTER TABLE d.t@dev ADD COLUMN s.c BIGINT", "ALTER TABLE d.t ADD COLUMN s.c INT")
    told(lake, "UPDATE d.t SET s = named_struct('a', 1, 'c', 2)")
    told(lake, "INSERT INTO d.t@dev VALUES (2, named_struct('a', 2, 'c', 2L))")
    told(lake, "MERGE BRANCH dev WITH (detect = 'row')")
    before, after = lake.sql("DIFF main dev TABLE d.t").toArrow().column("s").to_pylist()
    assert (before, after) == ({"a": 1, "c": 2}, {"a": 1, "c": None})


def test_a_column_that_was_widened_and_then_dropped(lake):
    told(lake, "CREATE TABLE d.t (id INT, n INT)", "INSERT INTO d.t VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN n TYPE BIGINT", "UPDATE d.t@dev SET n = 100000000000")
    told(lake, "ALTER TABLE d.t@dev DROP COLUMN n")
    assert [row[:2] for row in told(lake, "DIFF dev main TABLE d.t")] == [("-U", 1), ("+U", 1)]
