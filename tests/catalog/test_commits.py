"""Commits: retries, moved heads, names, and never half."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from anabranch.catalog import Catalog
from anabranch.catalog.tables import metadata
from anabranch.errors import AlreadyExists, AnabranchError, CatalogError, CommitConflict, NotFound
from anabranch.model.history import Position
from anabranch.model.records import Change, DatabaseRecord, PartitionRecord, TableDelta, TableRecord
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer, admit_all, admit_nothing, part, request, schema, uid
from tests.statements import cut


def refuse_to_be_asked(*_: Any) -> None:
    pytest.fail("asked, though the head did not move")


def test_a_commit_comes_back_as_it_is_stored(catalog: Catalog) -> None:
    made = catalog.commit(
        request(Position(1, 0), "INSERT", message="it's", detail={"rows": 3}, merged=Position(1, 0)),
        refuse_to_be_asked,
    )
    assert made == catalog.commit_at(Position(1, 1))
    assert (made.version, made.operation, made.author, made.message) == (1, "INSERT", "ann", "it's")
    assert made.detail == {"rows": 3}


@pytest.mark.parametrize("others", [0, 2])
def test_a_commit_whose_answer_was_lost_is_found(writer: Writer, reopen: Reopen, others: int) -> None:
    """Whatever was committed after it: `others` do not make it a commit that has to fit."""
    other = Writer(reopen())
    sent = request(writer.head, deltas=(TableDelta("t", (part(1),)),), databases=(DatabaseRecord("d", "d"),))
    with cut("after", lambda: [other.commit() for _ in range(others)]):
        made = writer.catalog.commit(sent, refuse_to_be_asked)
    assert (made.id, made.version) == (sent.id, 1)
    assert writer.head.version == 1 + others
    for catalog in (writer.catalog, reopen()):
        assert catalog.commit_at(Position(1, 1)) == made
        assert list(catalog.state(catalog.resolve("main"), "t").parts) == [1]


def test_a_commit_that_was_cut_off_is_made_by_the_retry(writer: Writer) -> None:
    with cut("before"):
        assert writer.commit() == Position(1, 1)
    assert writer.head.version == 1


def test_a_commit_is_looked_for_only_where_it_may_be_done(writer: Writer, statements: list[str]) -> None:
    def looked() -> int:
        return sum("commit_log.id =" in text for text in statements)

    writer.commit()
    assert looked() == 0
    with cut("after"):
        writer.commit()
    assert looked() == 1


def test_an_id_of_another_branch_is_another_commit(writer: Writer) -> None:
    dev = writer.fork("dev")
    id = uid()
    dev.commit(id=id)
    with cut("before"):
        assert writer.commit(id=id) == Position(1, 1)
    assert writer.catalog.resolve("dev").version == 1


def test_admit_sees_what_happened_since_the_base(writer: Writer) -> None:
    base = writer.head
    changes = (Change("table", "t", "insert", {"slots": [1]}), Change("table", "u", "drop"))
    writer.commit(changes=changes[:1])
    writer.commit(changes=changes[1:])
    asked = []
    late = request(base)
    made = writer.catalog.commit(late, lambda *arguments: asked.append(arguments))
    assert made.version == 3
    ((seen, moved),) = asked
    assert seen is late
    assert [(commit.version, change) for commit, change in moved] == [(1, changes[0]), (2, changes[1])]


def test_admit_may_read_and_must_not_write(writer: Writer) -> None:
    catalog, base = writer.catalog, writer.head
    writer.rows("t", placed=[part(1)])
    states = []
    catalog.commit(request(base), lambda *_: states.append(catalog.state(Position(1, 1), "t")))
    assert list(states[0].parts) == [1]
    if catalog._db.is_sqlite:
        with pytest.raises(CatalogError, match="wait for itself"):
            catalog.commit(request(base), lambda *_: catalog.reserve_slots("t", 1))
    assert writer.head.version == 2


def test_a_refused_commit_leaves_nothing(writer: Writer, url: str) -> None:
    base = writer.head
    writer.commit()
    before = _everything(url)
    full = request(
        base,
        databases=(DatabaseRecord("d", "d"),),
        tables=(TableRecord("t", "d", "t", 1),),
        schemas=(("t", schema()),),
        partitions=(PartitionRecord("t", "{}"),),
        deltas=(TableDelta("t", (part(1),)),),
        changes=(Change("table", "t", "create"),),
    )
    with pytest.raises(CommitConflict):
        writer.catalog.commit(full, admit_nothing)
    assert _everything(url) == before

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.catalog.commit(full, interrupt)
    assert _everything(url) == before
    writer.catalog.commit(full, admit_all)  # the lock is free and the id unused


BROKEN: dict[str, dict[str, Any]] = {
    "an event twice": {"partitions": (), "tables": (TableRecord("t", "d", "t", 1), TableRecord("t", "d", "u", 1))},
    "two deltas of a table": {"deltas": (TableDelta("t", (part(1),)), TableDelta("t", (part(2),)))},
    "another part in a slot": {"deltas": (TableDelta("t", (part(1), part(1, id="other"))),)},
    "another schema of that id": {"schemas": (("t", schema(1, "a")), ("t", schema(1, "b")))},
    "text that is no text": {"message": "\ud800"},
}


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_a_broken_request_leaves_nothing(writer: Writer, url: str, fields: dict[str, Any]) -> None:
    writer.database("d", id="d")
    before = _everything(url)
    whole = {"databases": (DatabaseRecord("e", "e"),), "changes": (Change("table", "t", "insert"),), **fields}
    with pytest.raises(AnabranchError):
        writer.catalog.commit(request(writer.head, **whole), admit_nothing)
    assert _everything(url) == before
    assert writer.commit().version == 2


def _everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {
            name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
            for name, table in metadata.tables.items()
        }
    engine.dispose()
    return found


def test_positions_that_do_not_exist(writer: Writer) -> None:
    for base in (Position(1, 5), Position(1, -1), Position(99, 0)):
        with pytest.raises(NotFound):
            writer.catalog.commit(request(base), admit_all)


def test_a_dropped_branch_takes_no_commits(writer: Writer) -> None:
    dev = writer.fork("dev")
    base = dev.head
    with cut("after", lambda: writer.catalog.drop_branch("dev")):
        assert writer.catalog.commit(request(base), admit_nothing).version == 1  # it went through before
    with pytest.raises(CommitConflict, match="'dev' was dropped"):
        writer.catalog.commit(request(base), admit_all)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def taken(writer: Writer) -> Writer:
    """Databases d and e; tables d.t and d.u."""
    d = writer.database("d", id="d")
    writer.database("e", id="e")
    writer.table(d, "t", id="t")
    writer.table(d, "u", id="u")
    return writer


def database(id: str, name: str, *, dropped: bool = False) -> DatabaseRecord:
    return DatabaseRecord(id, name, dropped=dropped)


def table(id: str, home: str, name: str, *, dropped: bool = False) -> TableRecord:
    return TableRecord(id, home, name, 1, dropped=dropped)


REFUSED: dict[str, tuple[type[Exception], list[DatabaseRecord], list[TableRecord]]] = {
    "new database": (AlreadyExists, [database("x", "D")], []),
    "renamed database": (AlreadyExists, [database("e", "D")], []),
    "two new databases": (AlreadyExists, [database("x", "x"), database("y", "X")], []),
    "new table": (AlreadyExists, [], [table("x", "d", "T")]),
    "renamed table": (AlreadyExists, [], [table("u", "d", "T")]),
    "two new tables": (AlreadyExists, [], [table("x", "d", "x"), table("y", "d", "X")]),
    "a new table beside one that is only altered": (AlreadyExists, [], [table("t", "d", "t"), table("y", "d", "T")]),
    "no such database": (NotFound, [], [table("x", "nowhere", "x")]),
    "in a database that goes": (
        CommitConflict,
        [database("e", "e", dropped=True)],
        [table("x", "e", "x")],
    ),
    "tables would be left behind": (
        CommitConflict,
        [database("d", "d", dropped=True)],
        [table("t", "d", "t", dropped=True)],
    ),
}


@pytest.mark.parametrize(("error", "databases", "tables"), REFUSED.values(), ids=REFUSED)
def test_names_that_are_taken(
    taken: Writer, error: type[Exception], databases: list[DatabaseRecord], tables: list[TableRecord]
) -> None:
    head = taken.head
    with pytest.raises(error):
        taken.commit(databases=tuple(databases), tables=tuple(tables))
    assert taken.head == head


ALLOWED: dict[str, tuple[list[DatabaseRecord], list[TableRecord]]] = {
    "the same name elsewhere": ([], [table("x", "e", "t")]),
    "its own name in another case": ([database("d", "D")], [table("t", "d", "T")]),
    "a swap": ([database("d", "e"), database("e", "d")], [table("t", "d", "u"), table("u", "d", "t")]),
    "a name given up": ([], [table("t", "d", "t", dropped=True), table("x", "d", "t")]),
    "a database with its tables": (
        [database("d", "d", dropped=True), database("x", "d")],
        [table("t", "d", "t", dropped=True), table("u", "x", "u")],
    ),
    "a database and a table in it": ([database("x", "x")], [table("y", "x", "t")]),
    "a move": ([], [table("t", "e", "t")]),
}


@pytest.mark.parametrize(("databases", "tables"), ALLOWED.values(), ids=ALLOWED)
def test_names_that_are_free(taken: Writer, databases: list[DatabaseRecord], tables: list[TableRecord]) -> None:
    taken.commit(databases=tuple(databases), tables=tuple(tables))
    for record in tables:
        assert taken.catalog.table_by_id(taken.head, record.id) == record
    for wanted in databases:
        assert taken.catalog.database_by_id(taken.head, wanted.id) == wanted


def test_reviving_needs_the_name(taken: Writer) -> None:
    taken.commit(tables=(table("t", "d", "t", dropped=True),))
    taken.commit(tables=(table("x", "d", "t"),))
    with pytest.raises(AlreadyExists, match=r"d\.t"):
        taken.commit(tables=(table("t", "d", "t"),))
    taken.commit(tables=(table("x", "d", "t", dropped=True), table("t", "d", "t")))


def test_names_are_checked_at_the_head_that_moved(taken: Writer) -> None:
    base = taken.head
    taken.commit(tables=(table("x", "d", "new"),))
    with pytest.raises(AlreadyExists):
        taken.catalog.commit(request(base, tables=(table("y", "d", "NEW"),)), admit_all)
    taken.commit(databases=(database("e", "e", dropped=True),))
    with pytest.raises(CommitConflict, match="'e'"):
        taken.catalog.commit(request(base, tables=(table("y", "e", "y"),)), admit_all)


def test_names_on_other_branches_do_not_count(taken: Writer) -> None:
    dev = taken.fork("dev")
    dev.commit(tables=(table("x", "d", "mine"), table("t", "d", "t", dropped=True)))
    taken.commit(tables=(table("y", "d", "mine"),))
    dev.commit(tables=(table("z", "d", "t"),))
    names = [{record.id: record.name for record in taken.catalog.tables(one.head, "d")} for one in (taken, dev)]
    assert names == [{"t": "t", "u": "u", "y": "mine"}, {"u": "u", "x": "mine", "z": "t"}]


# --- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.parametrize("others", [0, 1])
def test_an_append_takes_three_round_trips(fresh_postgres_url: str, tmp_path: Path, others: int) -> None:
    """One for the head, and two for the commit, whatever others did since."""
    catalog = Catalog.open(fresh_postgres_url, create=True)
    writer, other = Writer(catalog), Writer(Catalog.open(fresh_postgres_url, create=False))

    def append(slot: int) -> None:
        base = writer.head
        for _ in range(others):
            other.commit()
        catalog.commit(request(base, deltas=(TableDelta("t", (part(slot),)),)), admit_all)

    append(1)
    (link,) = catalog._db._links._idle
    with (tmp_path / "trace").open("w") as file:
        link._driver.pgconn.trace(file.fileno())
        append(2)
        link._driver.pgconn.untrace()
    assert (tmp_path / "trace").read_text().count("ReadyForQuery") == 3
    for each in (catalog, other.catalog):
        each.close()


# --- lost connections -------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_connection_is_tried_once_more(fresh_postgres_url: str, when: str) -> None:
    catalog = Catalog.open(fresh_postgres_url, create=True)
    Writer(catalog).commit()
    engine = create_engine(fresh_postgres_url, isolation_level="AUTOCOMMIT")
    kill = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )

    def kill_all() -> None:
        with engine.connect() as connection:
            connection.execute(kill)

    if when == "before":
        kill_all()
        assert catalog.resolve("main").version == 1  # reads come back too
        kill_all()
        assert Writer(catalog).commit().version == 2
    else:
        asked = []

        def cut(*_: Any) -> None:
            asked.append(1)
            if len(asked) == 1:
                kill_all()

        assert catalog.commit(request(Position(1, 0)), cut).version == 2
        assert len(asked) == 2
    engine.dispose()
    catalog.close()
