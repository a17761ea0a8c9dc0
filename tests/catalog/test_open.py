"""Opening: creation, migration, refusals."""

import errno
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Text, create_engine, inspect, text

from anabranch.catalog import Catalog, migrations, tables
from anabranch.errors import (
    CatalogDamaged,
    CatalogError,
    CatalogUnreachable,
    CatalogVersionError,
    InvalidOption,
    NotALake,
)
from anabranch.model.history import Position
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer


def test_a_new_lake_has_main_and_its_first_commit(catalog: Catalog) -> None:
    (main,) = catalog.branches()
    assert (main.id, main.name, main.parent_id, main.head, main.dropped) == (1, "main", None, 0, False)
    (first,) = catalog.log(Position(1, 0))
    assert (first.version, first.operation, first.parents) == (0, "create lake", ())
    assert catalog.databases(Position(1, 0)) == []


def test_reopening_finds_the_same_lake(catalog: Catalog, reopen: Reopen) -> None:
    Writer(catalog).database("d")
    again = reopen()
    assert again.lake_id == catalog.lake_id
    assert [d.name for d in again.databases(again.resolve("main"))] == ["d"]


def test_nothing_there_is_not_a_lake(url: str) -> None:
    with pytest.raises(NotALake):
        Catalog.open(url, create=False)
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).exists()
    Catalog.open(url, create=True).close()
    Catalog.open(url, create=False).close()


def test_a_foreign_database_is_left_alone(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE meta (key TEXT, value TEXT)"))
    with pytest.raises(CatalogError, match="not Anabranch's"):
        Catalog.open(url, create=True)
    assert inspect(engine).get_table_names() == ["meta"]
    engine.dispose()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(CatalogDamaged, match=r"catalog\.db' is damaged: .*not a database\. Restore it from a backup"):
        Catalog.open(f"sqlite:///{tmp_path}/catalog.db", create=True)


def test_a_catalog_that_is_broken_inside_is_to_be_restored(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/catalog.db", tmp_path / "catalog.db"
    Catalog.open(url, create=True).close()
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(CatalogDamaged, match="malformed"):
        Catalog.open(url, create=False)


@pytest.mark.parametrize("shut", ["", "catalog.db"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shut: str) -> None:
    """As on a disk that was mounted to be read; root may write anywhere else, so that SQLite is stopped by a folder."""
    url = f"sqlite:///{tmp_path}/catalog.db"
    Catalog.open(url, create=True).close()
    (tmp_path / "catalog.db-wal").mkdir()
    may = os.access
    monkeypatch.setattr("os.access", lambda path, mode: may(path, mode) and Path(path) != tmp_path / shut)
    with pytest.raises(CatalogUnreachable, match=rf"'{tmp_path / shut}' cannot be written\. SQLite writes beside"):
        Catalog.open(url, create=False)


@pytest.mark.parametrize(
    "address",
    ["sqlite:////proc/no/such/place/catalog.db", "mysql://host/db", "no url at all"],
)
def test_places_that_cannot_hold_a_catalog(address: str) -> None:
    with pytest.raises((CatalogUnreachable, OSError)):
        Catalog.open(address, create=True)


def test_an_unreachable_server_is_said_soon_and_without_the_password() -> None:
    begun = time.monotonic()
    with pytest.raises(CatalogUnreachable) as raised:
        Catalog.open("postgresql+psycopg://joe:s3cret@127.0.0.1:1/db", create=True)
    assert time.monotonic() - begun < 8
    assert "127.0.0.1" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_unknown_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption):
        Catalog.open(f"sqlite:///{tmp_path}/c.db", create=True, durability="hope")  # type: ignore[arg-type]


def test_a_newer_catalog_is_refused(url: str) -> None:
    Catalog.open(url, create=True).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = '99' WHERE key = 'schema_version'"))
    engine.dispose()
    with pytest.raises(CatalogVersionError, match="99"):
        Catalog.open(url, create=True)


def test_an_older_catalog_is_migrated_step_by_step(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Catalog.open(url, create=True)
    Writer(first).database("d")
    first.close()
    ran = []

    def second(connection: Connection) -> None:
        ran.append(2)
        connection.execute(text("CREATE TABLE newer (id INTEGER)"))

    def third(connection: Connection) -> None:
        ran.append(3)
        connection.execute(text("INSERT INTO newer VALUES (3)"))

    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, second, third))
    for _ in range(2):  # the second time there is nothing to do
        opened = Catalog.open(url, create=False)
        assert [d.name for d in opened.databases(opened.resolve("main"))] == ["d"]
        opened.close()
    assert ran == [2, 3]


def test_a_migration_that_fails_leaves_the_catalog_as_it_was(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Catalog.open(url, create=True).close()

    def broken(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (id INTEGER)"))
        raise RuntimeError("power")

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
        with pytest.raises(RuntimeError, match="power"):
            Catalog.open(url, create=False)
    engine = create_engine(url)
    assert "half" not in inspect(engine).get_table_names()
    engine.dispose()
    Catalog.open(url, create=False).close()


def test_a_column_of_a_later_version_is_added_to_old_and_new_catalogs(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Catalog.open(url, create=True).close()
    version = len(migrations.MIGRATIONS) + 1
    later = Column("colour", Text, nullable=True, info={"since": version})
    tables.ref.append_column(later)
    try:
        steps = (*migrations.MIGRATIONS, lambda connection: migrations.introduce(version, connection))
        monkeypatch.setattr(migrations, "MIGRATIONS", steps)
        for place in (url, f"sqlite:///{tmp_path}/from-nothing.db"):
            Catalog.open(place, create=True).close()
            engine = create_engine(place)
            assert "colour" in {column["name"] for column in inspect(engine).get_columns("ref")}
            engine.dispose()
    finally:
        tables.ref._columns.remove(later)


def test_a_table_that_gets_a_later_column_has_its_indexes_as_they_are(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = len(migrations.MIGRATIONS) + 1
    later = Column("colour", Text, nullable=True, info={"since": version})
    tables.commit_log.append_column(later)
    try:
        steps = (*migrations.MIGRATIONS, lambda connection: migrations.introduce(version, connection))
        monkeypatch.setattr(migrations, "MIGRATIONS", steps)
        Catalog.open(url, create=True).close()
    finally:
        tables.commit_log._columns.remove(later)
    engine = create_engine(url)
    partial = f"{engine.dialect.name}_where"
    made = {index["name"]: index for index in inspect(engine).get_indexes("commit_log")}
    engine.dispose()
    for index in tables.commit_log.indexes:
        assert made[index.name]["column_names"] == index.columns.keys()
        is_partial = index.dialect_kwargs.get(partial) is not None
        assert (partial in made[index.name].get("dialect_options", {})) == is_partial


def _open_at(url: str, moment: float) -> str:
    time.sleep(max(0, moment - time.time()))
    opened = Catalog.open(url, create=True)
    heads = [branch.head for branch in opened.branches()]
    opened.close()
    assert heads == [0]
    return opened.lake_id


def test_processes_that_create_at_once_make_one_lake(url: str) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        moment = time.time() + 1.5
        ids = pool.starmap(_open_at, [(url, moment)] * 4)
    assert len(set(ids)) == 1


def test_a_forked_process_connects_anew(writer: Writer) -> None:
    database = writer.database("d")
    child = os.fork()
    if child == 0:
        try:
            writer.table(database, "t")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert [table.name for table in writer.catalog.tables(writer.head)] == ["t"]
    writer.table(database, "u")
    assert writer.head.version == 3


def test_a_catalog_that_went_away_is_unreachable(tmp_path: Path) -> None:
    opened = Catalog.open(f"sqlite:///{tmp_path}/lake/catalog.db", create=True)
    opened.close()
    shutil.rmtree(tmp_path / "lake")
    with pytest.raises(CatalogUnreachable):
        opened.branches()
    with pytest.raises(CatalogUnreachable):
        Writer(opened).commit()


def test_importing_the_catalog_is_light() -> None:
    heavy = "[m for m in ('pyarrow', 'numpy', 'pyspark', 'psycopg', 'sqlalchemy.orm') if m in sys.modules]"
    code = f"import sys, anabranch.catalog; sys.exit(str({heavy}) if {heavy} else 0)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sqlite_writes_ahead_and_syncs_its_log_when_the_next_writer_may_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Catalog.open(f"sqlite:///{tmp_path}/catalog.db", create=True)
    assert sqlite3.connect(tmp_path / "catalog.db").execute("PRAGMA journal_mode").fetchone() == ("wal",)
    synced = []

    def sync(log: int) -> None:
        with opened._db.writing(relaxed=True):  # which would wait for itself inside of the queue
            synced.append(os.readlink(f"/proc/self/fd/{log}"))

    monkeypatch.setattr(os, "fdatasync", sync)
    with opened._db.writing():
        assert not synced
    assert synced == [f"{tmp_path}/catalog.db-wal"]
    with opened._db.writing(relaxed=True):
        pass
    assert len(synced) == 1
    opened.close()


def test_a_log_that_cannot_be_synced_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Catalog.open(f"sqlite:///{tmp_path}/catalog.db", create=True)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(CatalogError, match="cannot be synced"):
        Writer(opened).commit()
    opened.close()
