"""DIFF and DESCRIBE SECTIONS of keyed tables, against the plainest way: read both states and pair rows by key."""

import random
from itertools import pairwise

import pytest

from anabranch.commands import keyed_diff
from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told

ENGINES = {
    "deduplicate": "'merge-engine' = 'deduplicate'",
    "sequence": "'sequence.field' = 'x'",
    "partial-update": "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'",
    "first-row": "'merge-engine' = 'first-row'",
    "aggregation": "'merge-engine' = 'aggregation', 'fields.x.aggregate-function' = 'sum'",
}


def keyed(lake, engine="deduplicate", columns="id INT, x INT, y INT, PRIMARY KEY (id)", more=""):
    told(lake, f"CREATE TABLE d.t ({columns}) {more} TBLPROPERTIES ({ENGINES[engine]})")


def naive(was, now):
    """Rows before and after, as DIFF gives them, from rows that begin with their key."""
    old, new = {row[0]: row for row in was}, {row[0]: row for row in now}
    found = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if before is not None:
            found.append(("-U" if after else "-D", *before))
        if after is not None:
            found.append(("+U" if before else "+I", *after))
    return found


def counts(marked):
    found = [mark for mark, *_ in marked]
    return tuple(found.count(mark) for mark in ("+I", "-D", "+U"))


def changes(chance, engine, branch):
    key, value, other = chance.randrange(6), chance.choice(["NULL", "0", "1", "2"]), chance.randrange(3)
    table = f"d.t@{branch}"
    yield from [f"INSERT INTO {table} VALUES ({key}, {value}, {other}), ({(key + 1) % 6}, {other}, {value})"] * 4
    if engine != "first-row":
        yield f"UPDATE {table} SET y = {value} WHERE id >= {key}"
    if engine not in ("first-row", "aggregation"):
        yield from [f"DELETE FROM {table} WHERE id = {key}"] * 2
    yield f"INSERT OVERWRITE {table} VALUES ({key}, 1, 1)"
    yield f"OPTIMIZE {table}"
    yield f"MERGE BRANCH {'dev' if branch == 'main' else 'main'} TO {branch}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(2))
def test_any_two_versions_of_any_history(lake, engine, seed, monkeypatch):
    monkeypatch.setattr(keyed_diff, "KEYS_AT_ONCE", 2)
    chance = random.Random(seed)
    keyed(lake, engine)
    told(lake, "CREATE BRANCH dev")
    first = lake.version
    for _ in range(16):
        statement = chance.choice(list(changes(chance, engine, chance.choice(["main", "dev"]))))
        try:
            told(lake, statement)
        except MergeConflict:
            told(lake, statement + " RESOLVE USING THEIRS")
    places = [(name, v) for name in ("main", "dev") for v in range(first, lake.on(name).version + 1)]
    for _ in range(12):
        old, new = chance.choices(places, k=2)
        was, now = (rows(lake.on(name), "d.t", version) for name, version in (old, new))
        expected = naive(was, now)
        refs = f"{old[0]}@{old[1]} {new[0]}@{new[1]}"
        assert told(lake, f"DIFF {refs} TABLE d.t") == expected, refs
        lines = [row for row in lake.sql(f"DIFF {refs}") if row.kind == "rows"]
        assert [(row.inserted, row.deleted, row.updated) for row in lines] == ([counts(expected)] if expected else [])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(2))
def test_sections_add_up(lake, engine, seed):
    """Snapshot without RDel, and HSection, are as many rows as the table has; a key written as it was is in neither."""
    chance = random.Random(seed)
    keyed(lake, engine)
    for key in range(6):
        told(lake, f"INSERT INTO d.t VALUES ({key}, {key}, 0)")
    told(lake, "CREATE BRANCH dev")
    base = rows(lake, "d.t")
    for _ in range(12):
        statement = chance.choice([x for x in changes(chance, engine, "dev") if not x.startswith("MERGE")])
        told(lake, statement)
        now = rows(lake.on("dev"), "d.t")
        inserted, deleted, updated = counts(naive(base, now))
        seen = {row.section: row.rows for row in lake.sql("DESCRIBE SECTIONS d.t@dev")}
        assert seen["Snapshot"] == len(base)
        assert (seen["HSection"], seen["RDel"]) == (inserted + updated, deleted + updated)
        assert seen["Snapshot"] - seen["RDel"] + seen["HSection"] == len(now)


def test_a_diff_reads_only_what_changed(lake, monkeypatch):
    keyed(lake)
    for start in range(0, 40, 10):
        told(lake, f"INSERT INTO d.t VALUES {', '.join(f'({n}, {n}, 0)' for n in range(start, start + 10))}")
    told(lake, "CREATE BRANCH dev", "UPDATE d.t@dev SET y = 1 WHERE id = 15", "INSERT INTO d.t@dev VALUES (99, 1, 1)")
    from anabranch.execution import records
    from anabranch.storage import parquet

    opened = set()
    original = parquet.open_part

    def watched(files, part, *rest):
        opened.add(part.slot)
        return original(files, part, *rest)

    monkeypatch.setattr(parquet, "open_part", watched)
    monkeypatch.setattr(records, "open_part", watched)
    expected = [("-U", 15, 15, 0), ("+U", 15, 15, 1), ("+I", 99, 1, 1)]
    assert told(lake, "DIFF main dev TABLE d.t") == expected
    assert len(opened) == 3  # the two new flushes, and the only old one that can hold a key of theirs


def test_a_key_written_as_it_was_is_no_difference(lake):
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (1, 1, 1)")
    assert told(lake, "DIFF main dev TABLE d.t") == []
    assert [row.kind for row in lake.sql("DIFF main dev")] == []


def test_tables_that_came_and_went_are_counted_by_keys(lake):
    told(lake, "CREATE BRANCH dev", "USE BRANCH dev")
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2)", "INSERT INTO d.t VALUES (1, 2, 2)")
    (line,) = lake.sql("DIFF main dev")
    assert (line.change, line.inserted) == ("added", 2)
    (line,) = lake.sql("DIFF dev main")
    assert (line.change, line.deleted) == ("dropped", 2)
    assert told(lake, "DIFF main dev TABLE d.t") == [("+I", 1, 2, 2), ("+I", 2, 2, 2)]
    assert told(lake, "DIFF dev main TABLE d.t") == [("-D", 1, 2, 2), ("-D", 2, 2, 2)]


def test_columns_and_keys_that_changed(lake):
    keyed(lake)
    told(
        lake,
        "INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
        "CREATE BRANCH dev",
        "USE BRANCH dev",
        "ALTER TABLE d.t ADD COLUMN z INT DEFAULT 7",
        "ALTER TABLE d.t RENAME COLUMN x TO w",
        "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE d.t DROP COLUMN y",
        "INSERT INTO d.t VALUES (2, 2, 7), (3, 3, 8), (5000000000, 1, 1)",
        "DELETE FROM d.t WHERE id = 1",
    )
    big = 5_000_000_000
    assert told(lake, "DIFF main dev TABLE d.t") == [
        ("-D", 1, 1, 7), ("-U", 3, 3, 7), ("+U", 3, 3, 8), ("+I", big, 1, 1),
    ]  # fmt: skip
    assert lake.sql("DIFF dev main TABLE d.t").columns == ["_change", "id", "x", "y"]
    assert told(lake, "DIFF dev main TABLE d.t") == [
        ("+I", 1, 1, 1), ("-U", 2, 2, None), ("+U", 2, 2, 2), ("-U", 3, 3, None), ("+U", 3, 3, 3), ("-D", big, 1, None),
    ]  # fmt: skip
    assert {row.kind for row in lake.sql("DIFF main dev")} == {"column", "rows"}


def test_keys_of_types_that_no_type_holds_are_different_keys(lake):
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT", "ALTER TABLE d.t@dev ALTER COLUMN id TYPE DOUBLE")
    marks = [row[0] for row in told(lake, "DIFF main dev TABLE d.t")]
    assert marks == ["-D", "+I"]


def test_nested_values_under_new_names(lake):
    keyed(lake, columns="id INT, s STRUCT<a: INT, b: INT>, PRIMARY KEY (id)")
    lake.table("d.t").write([{"id": 1, "s": {"a": 1, "b": 2}}, {"id": 2, "s": None}])
    told(lake, "CREATE BRANCH dev", "ALTER TABLE d.t@dev RENAME COLUMN s.a TO c")
    lake.on("dev").table("d.t").write([{"id": 1, "s": {"c": 1, "b": 2}}, {"id": 2, "s": {"c": 5, "b": 6}}])
    assert [row[:2] for row in told(lake, "DIFF main dev TABLE d.t")] == [("-U", 2), ("+U", 2)]
    assert told(lake, "DIFF main dev TABLE d.t")[1][2] == {"c": 5, "b": 6}


def test_keys_in_partitions(lake):
    keyed(lake, columns="p INT, id INT, x INT, PRIMARY KEY (p, id)", more="PARTITIONED BY (p)")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1), (2, 1, 1), (3, 1, 1)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t@dev VALUES (2, 1, 5)", "TRUNCATE TABLE d.t@dev PARTITION (p = 3)")
    found = told(lake, "DIFF main dev TABLE d.t")
    assert found == [("-U", 2, 1, 1), ("+U", 2, 1, 5), ("-D", 3, 1, 1)]
    assert all(after[0] == "+U" for before, after in pairwise(found) if before[0] == "-U")
