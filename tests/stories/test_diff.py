"""DIFF against the plainest way to do it: read both states, and pair rows by their origin."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import ORIGIN, ROW_ID, read_table
from tests.stories.telling import told

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

    for module in ("anabranch.storage.parquet", "anabranch.execution.fetch"):
        monkeypatch.setattr(f"{module}.open_part", watched)
    assert lake.sql("DIFF main dev").count() == 1
    assert len(set(opened)) <= 1
    opened.clear()
    assert told(lake, "DIFF main dev TABLE d.t") == [("-U", 15), ("+U", -1)]
    assert len(set(opened)) == 2
