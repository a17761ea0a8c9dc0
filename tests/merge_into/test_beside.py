"""MERGE INTO beside others: what committed while it ran, and whether it ran again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import anabranch
from anabranch.commands.merge_into import commit as merge_commit
from anabranch.commands.merge_into import keyed as merge_keyed
from anabranch.lake import Lake
from tests.stories.telling import rows, told

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


@pytest.fixture
def meanwhile(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Statements that another session runs once, just before the MERGE's first commit; gives how often it committed."""

    def between(*statements: str) -> list[int]:
        tries: list[int] = []
        original = merge_commit.commit_merge

        def commit(*args, **kwargs):
            tries.append(1)
            if len(tries) == 1:
                with anabranch.connect(tmp_path / "lake", create=False, author="bob") as other:
                    told(other, *statements)
            return original(*args, **kwargs)

        for module in (merge_commit, merge_keyed):
            monkeypatch.setattr(module, "commit_merge", commit)
        return tries

    return between


CASES = {
    "a row that ON would match was inserted": ("INSERT INTO d.t VALUES (3, 'new')", 2, [(1, "a"), (2, "S"), (3, "S")]),
    "another row was inserted": ("INSERT INTO d.t VALUES (9, 'new')", 1, [(1, "a"), (2, "S"), (3, "S"), (9, "new")]),
    "a row that it updated was deleted": ("DELETE FROM d.t WHERE id = 2", 2, [(1, "a"), (2, "S"), (3, "S")]),
    "a row that it updated was updated": ("UPDATE d.t SET v = 'x' WHERE id = 2", 2, [(1, "a"), (2, "S"), (3, "S")]),
    "another row was updated": ("UPDATE d.t SET v = 'x' WHERE id = 1", 1, [(1, "x"), (2, "S"), (3, "S")]),
    "the parts were rewritten": ("OPTIMIZE d.t", 1, [(1, "a"), (2, "S"), (3, "S")]),
    "a column was added": ("ALTER TABLE d.t ADD COLUMN w INT", 1, [(1, "a", None), (2, "S", None), (3, "S", None)]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_append(lake: Lake, meanwhile: Callable[..., list[int]], case: str, mode: str) -> None:
    statement, runs, expected = CASES[case]
    told(lake, f"CREATE TABLE d.t (id BIGINT, v STRING) TBLPROPERTIES ('merge.mode' = '{mode}')")
    told(lake, "INSERT INTO d.t VALUES (1, 'a')", "INSERT INTO d.t VALUES (2, 'b')")
    tries = meanwhile(statement)
    lake.sql(f"MERGE INTO d.t USING VALUES (2L, 'S'), (3L, 'S') AS s(id, v) ON t.id = s.id {UPSERT}")
    assert (len(tries), rows(lake, "d.t")) == (runs, expected)


KEYED = {
    "blind: the order of commits": (UPSERT, "INSERT INTO d.t VALUES (2, 'new')", 1, [(1, "a"), (2, "S"), (3, "S")]),
    "looked up, and written meanwhile": (
        "WHEN MATCHED AND t.v = 'b' THEN UPDATE SET *",
        "INSERT INTO d.t VALUES (2, 'new')",
        2,
        [(1, "a"), (2, "new")],
    ),
    "looked up, others written": (
        "WHEN MATCHED AND t.v = 'b' THEN UPDATE SET *",
        "INSERT INTO d.t VALUES (9, 'new')",
        1,
        [(1, "a"), (2, "S"), (9, "new")],
    ),
    "inserted if absent, and inserted meanwhile": (
        "WHEN NOT MATCHED THEN INSERT *",
        "INSERT INTO d.t VALUES (3, 'new')",
        2,
        [(1, "a"), (2, "b"), (3, "new")],
    ),
    "updated, and deleted meanwhile": (
        "WHEN MATCHED THEN UPDATE SET *",
        "DELETE FROM d.t WHERE id = 2",
        2,
        [(1, "a")],
    ),
}


@pytest.mark.parametrize("case", KEYED)
def test_keyed(lake: Lake, meanwhile: Callable[..., list[int]], case: str) -> None:
    clauses, statement, runs, expected = KEYED[case]
    told(lake, "CREATE TABLE d.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id))")
    told(lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
    tries = meanwhile(statement)
    lake.sql(f"MERGE INTO d.t USING VALUES (2L, 'S'), (3L, 'S') AS s(id, v) ON t.id = s.id {clauses}")
    assert (len(tries), rows(lake, "d.t")) == (runs, expected)


BACK = {
    "restored": "RESTORE TABLE d.t TO VERSION {full}",
    "reverted": "REVERT {deleted}",
    "merged": "MERGE BRANCH dev WITH (detect = 'row')",
}
"""Ways in which a row comes back that had been deleted, no part of it being new."""


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
@pytest.mark.parametrize("clauses", [UPSERT, "WHEN NOT MATCHED THEN INSERT *"], ids=["upsert", "insert if absent"])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"], ids=["append", "keyed"])
@pytest.mark.parametrize("back", BACK)
def test_a_row_that_came_back_is_seen(
    lake: Lake, meanwhile: Callable[..., list[int]], back: str, key: str, clauses: str, isolation: str
) -> None:
    told(lake, f"CREATE TABLE d.t (id BIGINT NOT NULL, v STRING{key}) TBLPROPERTIES ('isolation' = '{isolation}')")
    told(lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
    full = lake.version
    told(lake, "DELETE FROM d.t WHERE id = 1", "CREATE BRANCH dev")
    told(lake.on("dev"), f"RESTORE TABLE d.t TO VERSION {full}")
    tries = meanwhile(BACK[back].format(full=full, deleted=full + 1))
    lake.sql(f"MERGE INTO d.t USING VALUES (1L, 'S') AS s(id, v) ON t.id = s.id {clauses}")
    blind = bool(key) and clauses == UPSERT  # which replaces the row that came back, whenever it does
    seen = "a" if clauses != UPSERT else "S"
    assert (len(tries), rows(lake, "d.t")) == (1 if blind else 2, [(1, seen), (2, "b")])


def test_another_row_that_came_back_is_in_nobodys_way(lake: Lake, meanwhile: Callable[..., list[int]]) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING)", "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    told(lake, "DELETE FROM d.t WHERE id = 3", "DELETE FROM d.t WHERE id = 1")
    tries = meanwhile(f"REVERT {lake.version}")
    lake.sql("MERGE INTO d.t USING VALUES (3L, 'S') AS s(id, v) ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert (len(tries), rows(lake, "d.t")) == (1, [(1, "a"), (2, "b"), (3, "S")])


def test_two_merges_of_the_same_new_keys_insert_them_once(lake: Lake, meanwhile: Callable[..., list[int]]) -> None:
    told(lake, "CREATE TABLE d.t (id BIGINT, v STRING)")
    merge = "MERGE INTO d.t USING VALUES (1L, '{}') AS s(id, v) ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    tries = meanwhile("INSERT INTO d.t VALUES (1, 'theirs')")
    lake.sql(merge.format("ours"))
    assert rows(lake, "d.t") == [(1, "theirs")]
    assert len(tries) == 2
