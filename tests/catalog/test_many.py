"""Reads of many tables at once give what reads of each give, in few statements."""

from dataclasses import replace

import pytest

from anabranch.catalog import along
from anabranch.errors import CatalogError
from anabranch.model.history import Position
from anabranch.model.records import Change, PartitionRecord, TableDelta
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer, part, schema

TABLES = [f"t{number}" for number in range(7)]


@pytest.fixture(params=[2, along.IDS_AT_ONCE])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Many tables take several statements, or one."""
    monkeypatch.setattr(along, "IDS_AT_ONCE", request.param)
    return request.param


def filled(writer: Writer) -> list[Position]:
    """Every table gets other events at other versions, on main and on a child; the positions at which to look."""
    looks = []
    for number, table in enumerate(TABLES):
        writer.rows(table, placed=[part(slot) for slot in range(1, number + 2)])
    looks.append(writer.head)
    dev = writer.fork("dev")
    for number, table in enumerate(TABLES[::2]):
        dev.rows(table, placed=[part(20)], removed=[1], killed={20: [number], 1: [4]})
        looks.append(dev.head)
        writer.rows(table, placed=[part(30 + number)], killed={1: [number, 9]})
    dev.rows(TABLES[2], placed=[part(1)], revived={1: [4], 20: [0, 1]})
    return [*looks, writer.head, dev.head]


def test_states_of_many_tables(writer: Writer, reopen: Reopen, at_once: int) -> None:
    looks = filled(writer)
    for found in (reopen(), writer.catalog):
        for number, position in enumerate(looks):  # what is at hand by now is of another age for every table
            found.state(position, TABLES[number % len(TABLES)])
        for position in (looks[-1], *looks):
            alone = reopen()
            states = found.states(position, [*TABLES, "nowhere"])
            assert states == {table: alone.state(position, table) for table in [*TABLES, "nowhere"]}
            assert all(state.position == position for state in states.values())


def test_what_is_at_hand_is_not_applied_twice(writer: Writer, reopen: Reopen) -> None:
    """States of ages 2 and 3 are read together: the younger one's last event is among the rows, and is left out."""
    writer.rows("a", placed=[part(1)])
    writer.rows("b", placed=[part(1)])
    reader = reopen()
    reader.state(writer.head, "a")
    writer.rows("b", killed={1: [5]})
    reader.state(writer.head, "b")
    writer.commit()
    writer.rows("b", revived={1: [5]})
    states = reader.states(writer.head, ["a", "b"])
    assert states == {table: reopen().state(writer.head, table) for table in ("a", "b")}
    assert states["b"].dead == {}


def test_deltas_of_many_tables(writer: Writer, reopen: Reopen, at_once: int) -> None:
    looks = filled(writer)
    for position in looks:
        for after in (-1, 4, looks[0].version):
            many = reopen().deltas_of(position, TABLES, after)
            assert many == {table: writer.catalog.deltas(position, table, after) for table in TABLES}
    assert any(many.values())


def test_attributes_of_many_tables(writer: Writer, reopen: Reopen, at_once: int) -> None:
    d, e = writer.database("d"), writer.database("e")
    tables = [writer.table(d if number % 2 else e, f"T{number}") for number in range(5)]
    dev = writer.fork("dev")
    first, second, *_ = tables
    dev.commit(
        tables=(replace(first, schema_id=2), replace(second, dropped=True)),
        schemas=((first.id, schema(2, "a", "b")),),
        partitions=tuple(PartitionRecord(t.id, f'{{"p":{number}}}') for number, t in enumerate(tables)),
        changes=(Change("table", first.id, "column", {"n": 1}), Change("table", second.id, "drop")),
        hidden_schemas=((second.id, 7),),
    )
    dev.commit(changes=(Change("table", first.id, "column", {"n": 2}),))
    ids = [table.id for table in tables]
    for position in (writer.head, dev.head):
        many, one = reopen(), reopen()
        assert many.tables_by_id(position, ids) == {id: one.table_by_id(position, id) for id in ids}
        assert many.databases_by_id(position, [d.id, e.id, "none"]) == {d.id: d, e.id: e}
        assert many.partitions_of(position, ids) == {id: one.partitions(position, id) for id in ids}
        assert many.tables_named(position, e.id, ["t0", "t1", "T2", "t4"]) == {
            name: record for name in ("t0", "t2", "t4") if (record := one.table(position, e.id, name))
        }
        keys = [(record.id, record.schema_id) for record in many.tables_by_id(position, ids).values()]
        assert many.schemas(keys) == {key: one.schema(*key) for key in keys}
        with pytest.raises(CatalogError, match="no schema 9"):
            many.schemas([*keys, (first.id, 9)])
    assert reopen().schema_ids(dev.head, ids) == {
        id: {1} | ({2} if id == first.id else set()) | ({7} if id == second.id else set()) for id in ids
    }
    changes = reopen().changes_of(dev.head, ids, "column")
    assert {id: [change.detail["n"] for _, change in done] for id, done in changes.items()} == {first.id: [1, 2]}
    assert [commit.version for commit, _ in changes[first.id]] == [dev.head.version - 1, dev.head.version]
    assert reopen().changes_of(writer.head, ids, "column") == {}


def test_parts_that_are_there_already_are_checked_together(writer: Writer, statements: list[str]) -> None:
    """A merge places parts that another branch's commits have stored."""
    dev = writer.fork("dev")
    many = [f"m{number}" for number in range(30)]
    dev.commit(deltas=tuple(TableDelta(id, (part(number + 1),)) for number, id in enumerate(many)))

    def place(count: int, **changed: str) -> int:
        statements.clear()
        placed = [TableDelta(id, (part(number + 1, id=changed.get(id)),)) for number, id in enumerate(many[:count])]
        writer.commit(deltas=tuple(placed))
        return len(statements)

    assert place(30) == place(1)
    with pytest.raises(CatalogError, match="slot 2 of table 'm1' belongs to part 'part-2', not to 'other'"):
        place(30, m1="other")


def test_many_tables_are_read_in_few_statements(writer: Writer, reopen: Reopen, statements: list[str]) -> None:
    looks = filled(writer)
    reader = reopen()
    statements.clear()
    reader.states(looks[-1], TABLES)
    reader.deltas_of(looks[-1], TABLES, 0)
    assert len([sql for sql in statements if "dead_rows" in sql or "placement" in sql]) == 4
