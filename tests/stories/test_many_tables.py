"""A merge of many tables reads the catalog for all of them at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from anabranch.commands import merge_reads
from anabranch.lake import Lake
from tests.statements import watched


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that the catalog runs meanwhile."""
    seen: list[str] = []
    with watched(seen.append):
        yield seen


def forget(lake: Lake) -> None:
    """Reads start as cold as in a new process."""
    catalog = lake._session.catalog
    catalog._memory = type(catalog._memory)()


OTHER = 2
"""Statements that a lake's second merge needs for the first one's branch; a statement a table would be nine more."""

Change = Callable[[Lake, str, int], object]


def insert(lake: Lake, name: str, number: int) -> None:
    lake.table(name).write({"id": [number], "k": ["p"]})


def column(lake: Lake, name: str, number: int) -> None:
    lake.sql(f"ALTER TABLE {name} ADD COLUMN c INT")
    insert(lake, name, number)


CASES: dict[str, tuple[str, Change | None, Change, list[int]]] = {
    "rows on theirs": ("", None, insert, [0, 2]),
    "rows on both": ("", insert, insert, [0, 1, 2]),
    "rows on both, partitioned": ("PARTITIONED BY (k)", insert, insert, [0, 1, 2]),
    "partitions": (
        "PARTITIONED BY (k)",
        lambda lake, name, _: lake.sql(f"ALTER TABLE {name} ADD PARTITION (k = 'a')"),
        lambda lake, name, _: lake.sql(f"ALTER TABLE {name} ADD PARTITION (k = 'b')"),
        [0],
    ),
    "deleted": ("", None, lambda lake, name, _: lake.table(name).delete("id = 0"), []),
    "columns": ("", None, column, [0, 2]),
    "columns on theirs, rows on ours": ("", insert, column, [0, 1, 2]),
    "properties": (
        "",
        insert,
        lambda lake, name, _: lake.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('user.a' = 'b')"),
        [0, 1],
    ),
    "renamed": ("", insert, lambda lake, name, _: lake.sql(f"ALTER TABLE {name} RENAME TO {name}_x"), [0, 1]),
    "dropped": ("", None, lambda lake, name, _: lake.sql(f"DROP TABLE {name}"), []),
}


@pytest.mark.parametrize("case", CASES)
def test_statements_do_not_grow_with_tables(lake: Lake, case: str) -> None:
    how, ours, theirs, expected = CASES[case]
    found = {}
    for count in (3, 12):
        names = [f"d.t{count}_{number}" for number in range(count)]
        for name in names:
            lake.sql(f"CREATE TABLE {name} (id BIGINT, k STRING) {how}")
            insert(lake, name, 0)
        dev = lake.create_branch(f"dev{count}")
        for name in names:
            theirs(dev, name, 2)
            if ours is not None:
                ours(lake, name, 1)
        forget(lake)
        with counted() as dry:
            lake.merge(dev.branch, dry_run=True)
        forget(lake)
        with counted() as merged:
            report = lake.merge(dev.branch)
        found[count] = (len(dry), len(merged))
        assert len(report.plan.tables) == count
        if case not in ("dropped", "renamed"):
            for name in names:
                assert sorted(lake.table(name).to_arrow().column("id").to_pylist()) == expected
    growth = [more - few for few, more in zip(found[3], found[12], strict=True)]
    assert max(growth) <= OTHER, found


def test_created_tables(lake: Lake) -> None:
    found = []
    for count in (3, 12):
        dev = lake.create_branch(f"dev{count}")
        for number in range(count):
            insert_into = dev.create_table(f"d.t{count}_{number}", "id BIGINT, k STRING")
            insert_into.write({"id": [1], "k": ["p"]})
        forget(lake)
        with counted() as statements:
            lake.merge(dev.branch)
        found.append(len(statements))
        assert all(lake.table(f"d.t{count}_{number}").count() == 1 for number in range(count))
    assert found[1] - found[0] <= OTHER


def test_statements_for_hundreds_of_tables(any_lake: Lake) -> None:
    """A batch more costs a dozen statements more, whatever the number of its tables."""
    lake, found = any_lake, {}
    for count in (20, 200):
        for number in range(count):
            insert(lake.create_table(f"d.t{count}_{number}", "id BIGINT, k STRING") and lake, f"d.t{count}_{number}", 0)
        dev = lake.create_branch(f"dev{count}")
        for number in range(count):
            insert(dev, f"d.t{count}_{number}", 2)
        insert(lake, f"d.t{count}_0", 1)
        forget(lake)
        with counted() as statements:
            lake.merge(dev.branch)
        found[count] = len(statements)
        assert [lake.table(f"d.t{count}_{number}").count() for number in (0, 1, count - 1)] == [3, 2, 2]
    assert found[20] <= 50
    assert found[200] - found[20] <= 20 * (200 // merge_reads.BATCH - 1)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_batches_change_nothing(lake: Lake, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_reads, "BATCH", size)
    for number in range(5):
        insert(lake.create_table(f"d.t{number}", "id BIGINT, k STRING") and lake, f"d.t{number}", 0)
    dev = lake.create_branch("dev")
    for number in range(5):
        insert(dev, f"d.t{number}", 2)
        if number in (1, 3):
            lake.table(f"d.t{number}").delete("id = 0")
    dev.table("d.t3").update({"id": "7"}, "id = 0")
    dry = lake.merge("dev", dry_run=True)
    assert [conflict.object for conflict in dry.conflicts] == ["d.t3"]
    report = lake.merge("dev", resolve="ours")
    assert [made.name for made in report.plan.tables.values()] == [f"d.t{number}" for number in range(5)]
    assert [sorted(lake.table(f"d.t{n}").to_arrow().column("id").to_pylist()) for n in range(5)] == [
        [0, 2],
        [2],
        [0, 2],
        [2],
        [0, 2],
    ]
