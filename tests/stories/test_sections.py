"""DESCRIBE SECTIONS, and a table put together again from its sections by the formula of Doop:

valid upper section = Snapshot without RDel, without CDel's columns, with VSection's columns
valid lower section = HSection
"""

import random
import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest

from anabranch.branching.rows import ids_of
from anabranch.commands.sections import Sections, sections
from anabranch.execution.fetch import fetch
from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import ROW_ID, read_table
from anabranch.storage.projection import initial_value
from tests.stories.telling import in_order, rows, told


def found(lake, table="d.t", against=None) -> Sections:
    session = lake._session
    return sections(session, session.table(table.split(".")), against)


def shown(lake, statement="DESCRIBE SECTIONS d.t"):
    return {row.section: (row.parts, row.rows, row.columns) for row in lake.sql(statement)}


def put_together(lake, pieces: Sections) -> list[tuple]:
    """The rows of the table, from nothing but its sections."""
    return in_order(_upper(lake, pieces) + _lower(lake, pieces))


def _upper(lake, pieces):
    session, table = lake._session, pieces.table
    if pieces.snapshot_schema is None:
        return []
    then = session.table(table.name.split("."), pieces.since[0])
    snapshot = read_table(plan_scan(session.view(then)), ids=True)
    dead = pa.array(ids_of(pieces.rdel), pa.int64())
    valid = snapshot.filter(pa.compute.invert(pa.compute.is_in(snapshot[ROW_ID], dead)))
    concrete = {c.physical: c.label for c in then.schema.columns if c not in pieces.cdel}
    new = {c.physical: pa.repeat(initial_value(c), valid.num_rows) for c in pieces.vsection}
    columns = [valid[concrete[c.physical]] if c.physical in concrete else new[c.physical] for c in table.schema.columns]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _lower(lake, pieces):
    session, table = lake._session, pieces.table
    state = session.catalog.state(table.position, table.id)
    written = session.view(table).written
    ids = ids_of(pieces.hsection)
    lower = fetch(session.folder(table.id), table.name, state.parts, written, table.schema.columns, ids)
    return list(zip(*(column.to_pylist() for column in lower.columns), strict=True))


@pytest.fixture
def people(lake):
    told(lake, "CREATE TABLE d.t (id INT, name STRING, age INT)")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "DELETE FROM d.t WHERE id = 3")
    told(lake, "CREATE BRANCH dev", "USE BRANCH dev")
    return lake


def test_a_fresh_branch_is_its_snapshot(people):
    result = people.sql("DESCRIBE SECTIONS d.t")
    assert result.columns == ["section", "parts", "rows", "bytes", "columns"]
    assert [row.section for row in result] == ["Snapshot", "HSection", "VSection", "RDel", "CDel"]
    assert shown(people)["Snapshot"] == (1, 2, "id, name, age")
    assert [row.rows for row in result][1:] == [0, 0, 0, 0]
    assert result[0].bytes == people._session.catalog.state(*_at(people)).bytes


def _at(lake):
    table = lake._session.table(("d", "t"))
    return table.position, table.id


def test_every_section_has_what_the_branch_did(people):
    told(
        people,
        "INSERT INTO d.t VALUES (4, 'd', 4), (5, 'e', 5)",
        "UPDATE d.t SET age = 20 WHERE id IN (2, 4)",
        "DELETE FROM d.t WHERE id IN (1, 5)",
        "ALTER TABLE d.t ADD COLUMN city STRING DEFAULT 'here'",
        "ALTER TABLE d.t DROP COLUMN name",
        "ALTER TABLE d.t RENAME COLUMN age TO years",
    )
    assert shown(people) == {
        "Snapshot": (1, 2, "id, name, age"),
        "HSection": (2, 2, "id, years, city"),
        "VSection": (0, 2, "city"),
        "RDel": (1, 2, ""),
        "CDel": (0, 0, "name"),
    }
    assert put_together(people, found(people)) == rows(people, "d.t")


def sizes(lake) -> dict[str, int]:
    """The section's bytes, as they are shown."""
    return {row.section: row.bytes for row in lake.sql("DESCRIBE SECTIONS d.n")}


def files(folder) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"])
def test_bytes_are_those_of_files_and_of_the_bitmaps_that_hide_rows(lake, tmp_path, key):
    told(lake, f"CREATE TABLE d.n (id INT NOT NULL, n INT{key})")
    for first in (0, 1000):
        lake.table("d.n").write([{"id": id, "n": 0} for id in range(first, first + 1000)])
    told(lake, "CREATE BRANCH dev", "USE BRANCH dev")
    held = files(tmp_path)
    told(lake, "INSERT INTO d.n VALUES (5000, 1)", "UPDATE d.n SET n = 1 WHERE id % 7 = 3 AND id < 1000")
    told(lake, "ALTER TABLE d.n ADD COLUMN more INT DEFAULT 3")
    made = {name: size for name, size in files(tmp_path).items() if name not in held}
    assert (len(held), len(made)) == (2, 2)
    with closing(sqlite3.connect(tmp_path / "lake" / "catalog.db")) as catalog:
        ((hiding, bitmaps),) = catalog.execute("SELECT coalesce(sum(length(bitmap)), 0), count(*) FROM dead_rows")
    assert bitmaps == (0 if key else 1)  # rows of a keyed table are hidden by newer ones
    told(lake, "ALTER TABLE d.n DROP COLUMN n")
    shown = {"Snapshot": sum(held.values()), "HSection": sum(made.values())}
    assert sizes(lake) == {**shown, "VSection": 0, "RDel": hiding, "CDel": 0}
    if not key:
        told(lake, "TRUNCATE TABLE d.n")  # takes whole parts, so nothing has to hide rows
        assert sizes(lake) == {"Snapshot": sum(held.values()), "HSection": 0, "VSection": 0, "RDel": 0, "CDel": 0}


def test_a_column_that_came_and_went_is_in_no_section(people):
    told(people, "ALTER TABLE d.t ADD COLUMN city STRING", "ALTER TABLE d.t DROP COLUMN city")
    assert (shown(people)["VSection"][2], shown(people)["CDel"][2]) == ("", "")


def test_main_is_seen_since_the_latest_fork_from_it(people):
    told(people, "USE BRANCH main", "INSERT INTO d.t VALUES (4, 'd', 4)")
    assert (shown(people)["Snapshot"][1], shown(people)["HSection"][1]) == (2, 1)
    told(people, "CREATE BRANCH later")
    assert (shown(people)["Snapshot"][1], shown(people)["HSection"][1]) == (3, 0)


def test_against_another_branch_it_is_seen_since_they_parted_or_met(people):
    told(people, "INSERT INTO d.t VALUES (4, 'd', 4)", "INSERT INTO d.t@main VALUES (5, 'e', 5)")
    assert shown(people, "DESCRIBE SECTIONS d.t AGAINST main")["HSection"][1] == 1
    told(people, "MERGE BRANCH main", "INSERT INTO d.t VALUES (6, 'f', 6)")
    seen = shown(people, "DESCRIBE SECTIONS d.t AGAINST main")
    assert (seen["Snapshot"][1], seen["HSection"][1]) == (3, 2)
    assert shown(people)["HSection"][1] == 3
    for against in (None, "main"):
        assert put_together(people, found(people, against=against)) == rows(people, "d.t")


def test_a_table_that_the_branch_created_is_all_hsection(people):
    told(people, "CREATE TABLE d.n (a INT)", "INSERT INTO d.n VALUES (1), (2)")
    seen = shown(people, "DESCRIBE SECTIONS d.n")
    assert (seen["Snapshot"], seen["HSection"], seen["VSection"][2]) == ((0, 0, ""), (1, 2, "a"), "a")
    assert put_together(people, found(people, "d.n")) == rows(people, "d.n")


def test_rows_that_a_restore_revives_are_the_branch_s_own(people):
    told(people, "DELETE FROM d.t WHERE id = 1", "RESTORE TABLE d.t TO VERSION 3")
    assert (shown(people)["Snapshot"][1], shown(people)["HSection"][1], shown(people)["RDel"][1]) == (2, 1, 0)
    assert put_together(people, found(people)) == rows(people, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]


def test_an_overwrite_leaves_nothing_of_the_snapshot(people):
    told(people, "INSERT OVERWRITE d.t VALUES (9, 'z', 9)")
    assert (shown(people)["RDel"][1], shown(people)["HSection"][1]) == (2, 1)
    assert put_together(people, found(people)) == [(9, "z", 9)]


STATEMENTS = (
    "INSERT INTO d.t (id) VALUES ({n}), ({m})",
    "UPDATE d.t SET id = id + 10 WHERE id % 3 = {k}",
    "DELETE FROM d.t WHERE id % 5 = {k}",
    "ALTER TABLE d.t ADD COLUMN c{i} INT DEFAULT {n}",
    "TRUNCATE TABLE d.t",
    "MERGE BRANCH main RESOLVE USING OURS",
    "INSERT INTO d.t@main (id) VALUES ({m})",
    "DELETE FROM d.t@main WHERE id % 7 = {k}",
)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_the_sections_make_the_table(people, seed):
    chance = random.Random(seed)
    for i in range(12):
        weights = (8, 4, 4, 2, 1, 2, 3, 2)
        text = chance.choices(STATEMENTS, weights)[0]
        told(people, text.format(n=chance.randrange(99), m=chance.randrange(99), k=chance.randrange(3), i=i))
        assert put_together(people, found(people)) == rows(people, "d.t"), text
