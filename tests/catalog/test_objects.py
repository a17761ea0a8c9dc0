"""Databases, tables, schemas and partitions at positions."""

from dataclasses import replace

import pytest

from anabranch.catalog import Catalog
from anabranch.catalog.along import CHUNK
from anabranch.errors import CatalogError
from anabranch.model import types
from anabranch.model.history import Position
from anabranch.model.records import Change, PartitionRecord, TableRecord
from anabranch.model.schema import Column, Schema
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer, schema
from tests.statements import watched

HOSTILE = "x'; DROP TABLE part; -- \" %s :name {0} \\ \x01 é 日本 \N{PILE OF POO}"


def test_records_come_back_as_they_went_in(writer: Writer, reopen: Reopen) -> None:
    database = writer.database(HOSTILE.replace("\x01", ""), properties={HOSTILE: HOSTILE, "": "\x00"}, comment=HOSTILE)
    table = writer.table(database, HOSTILE.replace("\x01", "")[::-1], properties={"a.b": HOSTILE}, comment="")
    fresh, head = reopen(), writer.head
    assert fresh.databases(head) == [database]
    assert fresh.database(head, database.name.upper()) == database
    assert fresh.tables(head) == fresh.tables(head, database.id) == [table]
    assert fresh.table(head, database.id, table.name) == fresh.table_by_id(head, table.id) == table


def test_names_are_looked_up_again_only_where_one_changed(writer: Writer, reopen: Reopen) -> None:
    d = writer.database("d")
    t = writer.table(d, "t")
    reader = reopen()

    def look(branch_id: int) -> tuple[TableRecord | None, int]:
        """What the name means at the head, and the statements that it took; another catalog writes."""
        seen: list[str] = []
        head = Position(branch_id, reader.branch_by_id(branch_id).head)
        with watched(seen.append):
            return reader.table(head, d.id, "t"), len(seen)

    assert look(1) == (t, 1)
    for _ in range(2):
        writer.rows(t.id, placed=[])
        assert look(1) == (t, 0)
    writer.table(d, "other")
    assert look(1) == (t, 1)
    moved = replace(t, name="u")
    writer.commit(tables=(moved,))
    assert look(1) == (None, 1)
    writer.commit(tables=(t,))
    dev = writer.fork("dev")
    below = Position(dev.head.branch_id, dev.head.version - 1)  # what names mean there says nothing of the head
    assert reader.table(below, d.id, "u") == moved
    dev.rows(t.id, placed=[])
    assert look(below.branch_id) == (t, 1)
    assert reader.table(dev.head, d.id, "u") is None


def test_each_position_has_its_own_names(writer: Writer) -> None:
    catalog = writer.catalog
    d = writer.database("d")
    t = writer.table(d, "T")
    before = writer.head
    writer.commit(databases=(replace(d, name="e"),), tables=(replace(t, name="u"),))
    renamed = writer.head
    writer.commit(tables=(replace(t, name="u", dropped=True),))
    dropped = writer.head

    assert catalog.table(before, d.id, "t") == t
    assert catalog.table(before, d.id, "u") is None
    assert catalog.database(before, "e") is None
    assert catalog.table(renamed, d.id, "t") is None
    assert catalog.table(renamed, d.id, "U").id == t.id
    assert catalog.database(renamed, "E").id == d.id
    assert catalog.database(renamed, "d") is None
    assert catalog.table(dropped, d.id, "u") is None
    assert catalog.tables(dropped) == catalog.tables(dropped, d.id) == []
    assert catalog.table_by_id(dropped, t.id).dropped
    assert catalog.table_by_id(Position(1, 0), t.id) is None
    assert catalog.database_by_id(Position(1, 0), d.id) is None


def test_a_name_dropped_and_created_again_is_another_table(writer: Writer) -> None:
    d = writer.database("d")
    old = writer.table(d, "t")
    at_old = writer.head
    child = writer.fork("child")
    writer.commit(tables=(replace(old, dropped=True),))
    new = writer.table(d, "T")
    child.commit()
    assert writer.catalog.table(writer.head, d.id, "t") == new
    assert writer.catalog.table(at_old, d.id, "t") == old
    assert writer.catalog.table(child.head, d.id, "t") == old
    assert [t.id for t in writer.catalog.tables(writer.head)] == [new.id]


def test_a_table_may_move_to_another_database(writer: Writer) -> None:
    d, e = writer.database("d"), writer.database("e")
    t = writer.table(d, "t")
    writer.commit(tables=(replace(t, database_id=e.id),))
    catalog, head = writer.catalog, writer.head
    assert catalog.tables(head, d.id) == []
    assert catalog.table(head, d.id, "t") is None
    assert [x.id for x in catalog.tables(head, e.id)] == [t.id]


def test_lists_are_sorted_by_name(writer: Writer) -> None:
    d = writer.database("d")
    for name in ("b", "A", "c"):
        writer.table(d, name)
        writer.database(name)
    assert [t.name for t in writer.catalog.tables(writer.head)] == ["A", "b", "c"]
    assert [x.name for x in writer.catalog.databases(writer.head)] == ["A", "b", "c", "d"]


def test_lineages_longer_than_a_chunk(writer: Writer, reopen: Reopen) -> None:
    d = writer.database("d")
    first = writer.table(d, "first")
    names = ["first"]
    for number in range(CHUNK * 2 + 3):
        writer = writer.fork(f"b{number}")
        if number % 3 == 0:
            writer.table(d, f"t{number}")
            names.append(f"t{number}")
        else:
            writer.commit(tables=(replace(first, comment=str(number)),))
    fresh, head = reopen(), writer.head
    assert sorted(t.name for t in fresh.tables(head)) == sorted(names)
    assert fresh.table(head, d.id, "FIRST").comment == str(CHUNK * 2 + 2)
    assert len(fresh.log(head)) == head.version + 1


def test_schemas_are_kept_forever(writer: Writer, reopen: Reopen) -> None:
    columns = (
        Column("id", types.BIGINT, "id", nullable=False, comment="it's"),
        Column("Straße", types.parse_type("array<struct<a:int,b:map<string,decimal(10,2)>>>"), "strasse_2"),
        Column("v", types.STRING, "v", initial_default="'x'", write_default="'y'"),
    )
    stored = Schema(2, columns, ("id",), ("v",))
    writer.commit(schemas=(("t", schema(1)), ("t", stored)))
    for catalog in (writer.catalog, reopen()):
        assert catalog.schema("t", 1) == schema(1)
        assert catalog.schema("t", 2) == stored
        with pytest.raises(CatalogError, match="no schema 3"):
            catalog.schema("t", 3)


def test_schema_history_shows_changes_along_the_lineage(writer: Writer) -> None:
    catalog = writer.catalog
    d = writer.database("d")
    t = writer.table(d, "t")
    writer.commit(tables=(replace(t, comment="same schema"),))
    dev = writer.fork("dev")
    dev.commit(tables=(replace(t, schema_id=2),), schemas=((t.id, schema(2, "id", "v")),))
    dev.commit(tables=(replace(t, schema_id=1),))
    writer.commit(tables=(replace(t, schema_id=3),), schemas=((t.id, schema(3, "w")),))

    def seen(position: Position) -> list[tuple[int, int]]:
        found = catalog.schema_history(position, t.id)
        assert [time for _, time, _ in found] == [
            catalog.commit_at(Position(position.branch_id, version)).time_us for version, _, _ in found
        ]
        return [(version, schema_id) for version, _, schema_id in found]

    assert seen(writer.head) == [(2, 1), (4, 3)]
    assert seen(dev.head) == [(2, 1), (4, 2), (5, 1)]
    assert seen(Position(1, 1)) == []


def test_partitions(writer: Writer) -> None:
    one, two, long = '{"p":1}', '{"p":"\'2\'"}', '{"p":"' + "x" * 10_000 + '"}'
    add = tuple(PartitionRecord("t", values) for values in (one, two, long))
    writer.commit(partitions=add)
    at = writer.head
    dev = writer.fork("dev")
    dev.commit(partitions=(PartitionRecord("t", two, dropped=True), PartitionRecord("u", one)))
    dev.commit(partitions=(PartitionRecord("t", one, dropped=True),))
    dev.commit(partitions=(PartitionRecord("t", one),))
    assert writer.catalog.partitions(at, "t") == [one, two, long]
    assert writer.catalog.partitions(dev.head, "t") == [long, one]
    assert writer.catalog.partitions(dev.head, "u") == [one]


def test_many_tables_in_one_commit(catalog: Catalog) -> None:
    writer = Writer(catalog)
    d = writer.database("d")
    many = tuple(TableRecord(f"id{n}", d.id, f"t{n:04}", 1) for n in range(1_200))
    writer.commit(tables=many, changes=tuple(Change("table", t.id, "create") for t in many))
    assert catalog.tables(writer.head) == list(many)
