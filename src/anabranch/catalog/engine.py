"""The database under the catalog: connections, transactions, and what differs between SQLite and PostgreSQL.

Reads run in autocommit mode: what they read is append-only and bounded by a version. A write is one transaction. On
SQLite, writers queue on an flock before BEGIN IMMEDIATE, since SQLite's own busy handler polls and starves, and wait
for the disk after they have left the queue; on PostgreSQL, the rows that a write locks do the queueing. Errors of
SQLAlchemy and of the drivers end here.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, Engine, Executable, create_engine, event, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from anabranch.catalog.links import Link, Links
from anabranch.errors import CatalogDamaged, CatalogError, CatalogUnreachable, StorageFull

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: BEGIN IMMEDIATE alone, correct and less fair
    fcntl = None  # type: ignore[assignment]

Durability = Literal["disk", "process"]
Run = Callable[[Executable, Mapping[str, Any]], Sequence[Any]]
"""Runs a statement and gives its rows: on any connection, or inside a transaction."""

_CAN_SYNC = hasattr(os, "fdatasync")  # elsewhere SQLite syncs its log itself, within the queue

CONNECT_SECONDS = 5
BUSY_SECONDS = 60
_MIGRATION_LOCK = 0x616E6162  # PostgreSQL's advisory lock of those who create or migrate; any number that is ours

_DAMAGED = ("file is not a database", "database disk image is malformed")
_SHUT = ("unable to open database", "readonly database")
_WRITABLE = "SQLite writes beside its database even to read it: allow that, or copy the lake to where one can write."

Made = TypeVar("Made")


def without_passwords(url: str) -> str:
    """A URL to show: with `***` for the passwords of the user and of the query, such as `?sslpassword=…`."""
    return _IN_QUERY.sub(r"\1***", _OF_USER.sub(r"\1***@", url))


_OF_USER = re.compile(r"(://[^:/@?]*:).*@")
_IN_QUERY = re.compile(r"([?&]\w*password=)[^&]*", re.IGNORECASE)


def _passwords(url: URL) -> list[str]:
    asked = [value for name, values in url.normalized_query.items() if "password" in name.lower() for value in values]
    return [password for password in [url.password or "", *asked] if password]


class Database:
    """Connections of one process to one database; `url` shows no password."""

    def __init__(self, url: str, durability: Durability) -> None:
        try:
            self._url = make_url(url)
        except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
            raise CatalogUnreachable(without_passwords(url), "it is no database URL") from error
        self.url = without_passwords(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        if not self.is_sqlite and self._url.get_backend_name() != "postgresql":
            raise CatalogUnreachable(self.url, "a catalog lives in SQLite or PostgreSQL (postgresql+psycopg://...)")
        self._lock: _FileLock | None = None
        self._held = threading.local()
        self._syncs = self.is_sqlite and durability == "disk" and _CAN_SYNC
        try:
            if self.is_sqlite:
                self.path = Path(self._url.database or "")
                self._log = str(self.path.with_name(self.path.name + "-wal"))
                self._lock = _FileLock(self.path.with_name(self.path.name + ".lock"))
                self._links = Links(_sqlite(self._url, "FULL" if durability == "disk" and not _CAN_SYNC else "NORMAL"))
            else:
                self._links = Links(_postgresql(self._url, durability))
        except ImportError as error:
            raise CatalogUnreachable(self.url, f"{error}; install anabranch[postgres]") from error

    def close(self) -> None:
        self._links.close()
        if self._lock:
            self._lock.close()

    def rows(self, statement: Executable, values: Mapping[str, Any]) -> Sequence[Any]:
        """What a read gives; a connection that was lost meanwhile is replaced once."""
        try:
            try:
                return self._links.rows(statement, values)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
            return self._links.rows(statement, values)
        except (SQLAlchemyError, UnicodeError) as error:
            raise self._mapped(error) from error

    @contextmanager
    def reading(self) -> Iterator[Link]:
        """One link for several statements, which are no transaction."""
        with self.errors(), self._links.one() as link:
            yield link

    @contextmanager
    def writing(self, *, relaxed: bool = False) -> Iterator[Link]:
        """One transaction: all of it, or nothing if the block raises. `relaxed`: durable with the next commit."""
        held: Link | None = None if relaxed else self._held.__dict__.pop("link", None)
        try:
            with self._lock or nullcontext():
                link = self._links.take() if held is None or held.lost else held
                try:
                    if link is not held:
                        link.begin()
                    try:
                        yield link
                        link.commit()
                    except BaseException:
                        link.rollback()
                        raise
                finally:
                    if link is not held or link.lost:
                        self._links.give_back(link)
            if not relaxed:
                self._settle()
        except (SQLAlchemyError, UnicodeError) as error:
            raise self._mapped(error) from error

    @contextmanager
    def holding(self, statement: Executable, values: Mapping[str, Any]) -> Iterator[None]:
        """Nobody else writes what the statement locks: they wait, and other threads of whoever holds it, too. What this
        thread writes is not in its own way: on SQLite it has the queue to itself, on PostgreSQL its first write that is
        not relaxed ends the transaction. Who holds something already has enough: he would wait for himself."""
        if self.is_held:
            yield
            return
        with self._lock.held() if self._lock is not None else self._locking(statement, values):
            self._held.by = True
            try:
                yield
            finally:
                del self._held.by

    @property
    def is_held(self) -> bool:
        """Whether this thread holds something."""
        return hasattr(self._held, "by")

    @contextmanager
    def _locking(self, statement: Executable, values: Mapping[str, Any]) -> Iterator[None]:
        with self.errors(), self._links.one() as link:
            link.begin()
            try:
                link.rows(statement, values)
                self._held.link = link
                yield
            finally:
                self._held.__dict__.pop("link", None)
                with suppress(DBAPIError):
                    link.rollback()  # if nothing was written

    def _settle(self) -> None:
        """Waits until SQLite's log is on the disk, with all that was committed before now.

        Whoever waits has left the queue: the next writer goes on meanwhile, and one flush serves several. What it
        commits stands behind this commit in the log, so that no power cut can leave it without this one.
        """
        if not self._syncs:
            return
        try:
            log = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # the last connection was closed: all of it is in the database, and synced
            return
        try:
            os.fdatasync(log)
        except OSError as error:
            raise CatalogError(f"the catalog {self.url!r} cannot be synced: {error}") from error
        finally:
            os.close(log)

    @contextmanager
    def inspecting(self) -> Iterator[Connection]:
        """SQLAlchemy's own connection, for what the catalog's tables are."""
        with self.errors(), self._links.engine.connect() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction that all who create or migrate this catalog queue for."""
        if self.is_sqlite:
            self._switch_to_wal()
        with self.errors(), self._lock or nullcontext(), self._links.engine.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection = connection.execution_options(isolation_level="READ COMMITTED")
                connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            try:
                yield connection
                connection.commit()
            except BaseException:
                if not connection.invalidated:
                    connection.rollback()
                raise
            self._settle()

    def retrying(self, write: Callable[..., Made]) -> Made:
        """A write, once more if the connection was lost: then it must find out whether it was done."""
        try:
            return write(may_be_done=False)
        except CatalogError as error:
            if not _was_lost(error):
                raise
        return write(may_be_done=True)

    def _switch_to_wal(self) -> None:
        # The switch needs the file alone for a moment, and SQLite does not wait for that by itself.
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self.inspecting() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except CatalogError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the drivers' errors into ours, without SQL text or password."""
        try:
            yield
        except (SQLAlchemyError, UnicodeError) as error:
            raise self._mapped(error) from error

    def _mapped(self, error: SQLAlchemyError | UnicodeError) -> Exception:
        if isinstance(error, UnicodeError):
            return CatalogError(f"the catalog cannot hold this text: {error}")
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        for password in _passwords(self._url):
            reason = reason.replace(password, "***")
        failed_disk = self.is_sqlite and "disk I/O error" in reason
        if failed_disk or "is full" in reason or getattr(getattr(error, "orig", None), "sqlstate", None) == "53100":
            return StorageFull(self.url, reason)
        if self.is_sqlite and any(sign in reason for sign in _DAMAGED):
            return CatalogDamaged(self.url, reason)
        shut = self._shut() if any(sign in reason for sign in _SHUT) else None
        if shut is not None:
            return CatalogUnreachable(self.url, f"'{shut}' cannot be written", _WRITABLE)
        lost = isinstance(error, DBAPIError) and (error.connection_invalidated or error.statement is None)
        if lost or "unable to open database" in reason:
            return CatalogUnreachable(self.url, reason)
        return CatalogError(f"the catalog {self.url!r} failed: {reason}")

    def _shut(self) -> Path | None:
        """What of SQLite's may not be written."""
        places = (self.path.parent, self.path) if self.is_sqlite else ()
        return next((place for place in places if place.exists() and not os.access(place, os.W_OK)), None)


def _was_lost(error: CatalogError) -> bool:
    return isinstance(error.__cause__, DBAPIError) and error.__cause__.connection_invalidated


def _sqlite(url: URL, synchronous: Literal["FULL", "NORMAL"]) -> Engine:
    # AUTOCOMMIT keeps the driver from opening transactions of its own; ours begin with BEGIN IMMEDIATE.
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False, "cached_statements": 512},
        max_overflow=-1,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA synchronous={synchronous}")

    return engine


def _postgresql(url: URL, durability: Durability) -> Engine:
    arguments = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_SECONDS}
    engine = create_engine(
        url, isolation_level="AUTOCOMMIT", connect_args=arguments, max_overflow=-1, paramstyle="format"
    )
    if durability == "process":

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.execute("SET synchronous_commit = off")

    return engine


class _FileLock:
    """An exclusive lock between threads and processes: a mutex for the former, an flock for the latter."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._owner: int | None = None
        self._file: int | None = None
        self._lends = self._lent = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """For any number of writes of this thread, one after another."""
        with self:
            self._lends = True
            try:
                yield
            finally:
                self._lends = False

    def __enter__(self) -> None:
        if self._owner == threading.get_ident():
            if self._lends and not self._lent:
                self._lent = True
                return
            raise CatalogError("a write inside a commit would wait for itself: reserve and write before the commit.")
        self._mutex.acquire()
        try:
            if fcntl is not None:
                if self._file is None:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                fcntl.flock(self._file, fcntl.LOCK_EX)
        except BaseException as error:
            self._mutex.release()
            if isinstance(error, OSError):
                raise CatalogUnreachable(str(self._path), error.strerror or str(error), _WRITABLE) from error
            raise
        self._owner = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        if self._lent:
            self._lent = False
            return
        self._owner = None
        if fcntl is not None and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._mutex.release()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
