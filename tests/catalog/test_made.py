"""Commits of this process are remembered just as another one reads them."""

import random

import pytest
from pyroaring import BitMap

from anabranch.catalog import made
from anabranch.errors import CatalogError
from anabranch.model.history import Position
from anabranch.model.records import Change, TableDelta
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer, part

CAUSES = ("delete", "insert", "overwrite", "restore", "update")


def a_delta(choose: random.Random, table_id: str, cause: str) -> TableDelta:
    first = 10 * CAUSES.index(cause)  # a commit does a slot one thing
    slots = choose.sample(range(first + 1, first + 9), 4)
    return TableDelta(
        table_id,
        tuple(part(slot, id=f"{table_id}-{slot}") for slot in slots[: choose.randrange(3)]),
        tuple(choose.sample(slots, choose.randrange(4))),
        {slot: BitMap(choose.sample(range(10), 3)) for slot in slots[: choose.randrange(3)]},
        {slot: BitMap([choose.randrange(10)]) for slot in slots[: choose.randrange(2)]},
        cause,  # type: ignore[arg-type]
    )


def commit(choose: random.Random, writer: Writer) -> Position:
    tables = choose.sample(["a", "b", "c"], choose.randrange(3))
    deltas = [a_delta(choose, id, cause) for id in tables for cause in choose.sample(CAUSES, choose.choice([0, 1, 2]))]
    changes = [Change("table", id, choose.choice(CAUSES), {"slots": (1, 2), "n": {3: None}}) for id in tables]
    merged = Position(1, 0) if choose.randrange(4) == 0 else None
    detail = {"of": (1, {2: "x"})}
    return writer.commit(deltas=tuple(deltas), changes=tuple(changes), merged=merged, detail=detail)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_is_what_is_read(writer: Writer, reopen: Reopen, statements: list[str], seed: int) -> None:
    choose = random.Random(seed)
    dev = writer.fork("dev")
    heads = [writer.head, dev.head]
    for _ in range(12):
        heads.append(commit(choose, choose.choice([writer, dev, dev])))
        if choose.randrange(5) == 0:
            dev = dev.fork(f"dev{len(heads)}")
    other = reopen()
    for head in heads:
        for after in range(-1, head.version + 1):
            statements.clear()
            changes, deltas = writer.catalog.changes(head, after), writer.catalog.deltas_of(head, "abc", after)
            told = after >= 0 and not any("placement" in text or "change" in text for text in statements)
            assert told == (after >= 0), "only the lake's first version is not of this process"
            assert changes == other.changes(head, after)
            assert [commit.detail for commit, _ in changes] == [c.detail for c, _ in other.changes(head, after)]
            read = other.deltas_of(head, "abc", after)
            assert deltas == read
            assert [d.version for found in deltas.values() for d in found] == [
                d.version for found in read.values() for d in found
            ]


def test_large_commits_and_long_histories_are_read(writer: Writer, statements: list[str]) -> None:
    base = writer.head.version
    writer.rows("t", placed=[part(slot) for slot in range(1, made._ENTRIES + 2)])
    statements.clear()
    (delta,) = writer.catalog.deltas(writer.head, "t", base)
    assert len(delta.placed) == made._ENTRIES + 1
    assert statements, "too large to be remembered"
    after = writer.head.version
    for _ in range(made.COMMITS):
        writer.rows("t", killed={1: [1]})
    statements.clear()
    assert len(writer.catalog.deltas(writer.head, "t", after)) == made.COMMITS
    assert not any("dead_rows" in text for text in statements)
    writer.rows("t", killed={1: [2]})
    statements.clear()
    assert len(writer.catalog.deltas(writer.head, "t", after)) == made.COMMITS + 1
    assert any("dead_rows" in text for text in statements), "one more than are put together from memory"


def test_a_merge_stores_its_own_parts_alone(writer: Writer, reopen: Reopen, statements: list[str]) -> None:
    dev = writer.fork("dev")
    there = dev.rows("t", placed=[part(1)])
    statements.clear()
    writer.commit(deltas=(TableDelta("t", (part(1),)),), merged=there, fresh=frozenset())
    assert not any("INTO part " in text or "FROM part " in text for text in statements)
    writer.commit(deltas=(TableDelta("t", (part(1), part(2))),), merged=there, fresh=frozenset([part(2).id]))
    for catalog in (writer.catalog, reopen()):
        assert [p.id for p in catalog.state(writer.head, "t").parts.values()] == ["part-1", "part-2"]
    taken = part(2, id="other")
    with pytest.raises(CatalogError, match="slot 2 of table 't' belongs to part 'part-2', not to 'other'"):
        writer.commit(deltas=(TableDelta("t", (taken,)),), merged=there, fresh=frozenset([taken.id]))


@pytest.mark.parametrize("seed", range(4))
def test_merges_are_those_that_another_process_reads(writer: Writer, reopen: Reopen, seed: int) -> None:
    """Whoever wrote them, and whatever was known before."""
    choose = random.Random(seed)
    reader = reopen()
    branches = [writer]
    made: dict[int, list[tuple[int, Position]]] = {}
    for number in range(40):
        on = choose.choice(branches)
        if choose.randrange(4) == 0:
            branches.append(on.fork(f"b{number}"))
            continue
        merged = choose.choice(branches).head if choose.randrange(2) else None
        at = on.commit(merged=merged)
        if merged is not None:
            made.setdefault(at.branch_id, []).append((at.version, merged))
        for catalog in [writer.catalog, reader] if choose.randrange(3) == 0 else []:
            merges = catalog.merges()
            for one in choose.sample(branches, min(6, len(branches))):
                head = one.head
                wanted = [merge for merge in made.get(head.branch_id, ()) if merge[0] <= head.version]
                assert [merge for merge in merges(head.branch_id, head.version) if merge[0] <= head.version] == wanted


def test_merges_that_are_known_are_not_read_again(writer: Writer, reopen: Reopen, statements: list[str]) -> None:
    dev = writer.fork("dev")
    first = writer.commit(merged=dev.commit())
    fresh = reopen()
    assert fresh.merges()(first.branch_id, first.version) == writer.catalog.merges()(first.branch_id, first.version)
    statements.clear()
    assert len(fresh.merges()(first.branch_id, first.version)) == 1
    assert not statements
    second = writer.commit(merged=dev.commit())
    statements.clear()
    assert len(fresh.merges()(second.branch_id, second.version)) == 2
    assert len(statements) == 1, "only what is new on this branch"
