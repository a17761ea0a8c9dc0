"""Links: the driver's own connections, and the statements that run on them.

Links that nobody uses wait for the next one who needs one. Errors of the driver become SQLAlchemy's here, so that they
look the same whoever ran the statement. A connection that was lost, or left in the middle of a statement, is not used
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, cast

from sqlalchemy import Engine, Executable
from sqlalchemy.exc import DBAPIError

from anabranch.catalog.prepared import Prepared, Statements, Values, statements_of

KEPT = 5
"""Links that wait; more of them are closed after use."""
NOTHING: Values = {}
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"  # ours: psycopg's own BEGIN and COMMIT wait for their answers


class Link:
    """One connection, for one user at a time. Outside of a transaction every statement is one."""

    def __init__(self, engine: Engine, statements: Statements) -> None:
        self._connection = engine.connect()
        self._driver = cast(Any, self._connection.connection.driver_connection)
        self._dialect, self._statements = cast(Any, engine.dialect), statements
        self.dialect: str = engine.dialect.name
        self._is_sqlite = self.dialect == "sqlite"
        self._begins = False
        self.lost = False

    def rows(self, statement: Executable, values: Values = NOTHING) -> list[Any]:
        return self.ask(statement, values).rows()

    def write(self, statement: Executable, values: Values | list[Any]) -> int:
        """For one or for many values, all of one shape; gives the number of rows that were written."""
        return self.ask(statement, values).count

    def ask(self, statement: Executable, values: Values | list[Any]) -> Answer:
        if self._begins:
            self._begins = False
            self._send(_BEGIN)
        if not isinstance(values, list):
            prepared, values = self._statements.prepared(statement, values)
            return Answer(self, prepared, self._send(prepared.text, prepared.parameters(values)))
        prepared, _ = self._statements.prepared(statement, values[0])
        many = [prepared.parameters(each) for each in values]
        if len(many) == 1:
            return Answer(self, prepared, self._send(prepared.text, many[0]))
        cursor = self._driver.cursor()
        self._driven(prepared.text, cursor.executemany, prepared.text, many)
        return Answer(self, prepared, cursor)

    def ahead(self, statement: Executable, values: Values) -> Callable[[], list[Any]]:
        """Rows that may be wanted: PostgreSQL is asked at once, beside what else it is asked; SQLite when they are."""
        return partial(self.rows, statement, values) if self._is_sqlite else self.ask(statement, values).rows

    # --- transactions

    def begin(self) -> None:
        """What follows is one transaction."""
        if self._is_sqlite:
            self._send("BEGIN IMMEDIATE")
        else:  # it goes with the first statement
            self._begins = True

    def commit(self) -> None:
        self._end("COMMIT", self._driver.commit)

    def rollback(self) -> None:
        if not self.lost:
            try:
                self._end("ROLLBACK", self._driver.rollback)
            except BaseException:
                self.lost = True  # nobody knows what it is in the middle of
                raise

    def _end(self, text: str, end: Callable[[], None]) -> None:
        self._begins = False
        self._driven(text, end)

    def in_one_go(self, *, last: bool = False) -> AbstractContextManager[None]:
        """Statements whose answers are read after the block: PostgreSQL gets them in one round trip. `last`: nothing
        follows them but the transaction's end, which it gets with them."""
        return nullcontext() if self._is_sqlite else self._pipelined(last=last)

    @contextmanager
    def _pipelined(self, *, last: bool) -> Iterator[None]:
        pipeline = self._driver.pipeline()
        try:
            pipeline.__enter__()
            try:
                yield
                if last:
                    self._driver.execute("COMMIT")
            except BaseException:
                with suppress(Exception):
                    pipeline.__exit__(None, None, None)  # told of the error, it would log what ending it raises
                raise
            pipeline.__exit__(None, None, None)
        except BaseException as error:
            self.note(error, "pipeline")
            raise

    # --- the driver

    def _send(self, text: str, parameters: Sequence[Any] = ()) -> Any:
        return self._driven(text, self._driver.execute, text, parameters)

    def _driven(self, text: str, work: Callable[..., Any], *given: Any) -> Any:
        """All that the driver does for us: statements, and the ends of transactions."""
        try:
            return work(*given)
        except BaseException as error:
            self.note(error, text)
            raise

    def note(self, error: BaseException, text: str) -> None:
        """Raises SQLAlchemy's error if this is the driver's; what interrupts the driver makes the link unusable."""
        failed = self._dialect.dbapi.Error
        if isinstance(error, failed):
            self.lost = self.lost or self._dialect.is_disconnect(error, self._driver, None)
            raise DBAPIError.instance(
                text, None, error, failed, connection_invalidated=self.lost, dialect=self._dialect
            ) from error
        if not isinstance(error, Exception):
            self.lost = True

    def close(self) -> None:
        with suppress(Exception):
            self._connection.invalidate()
            self._connection.close()


class Answer:
    """What a statement gives; inside of `in_one_go` not before the block has ended."""

    def __init__(self, link: Link, prepared: Prepared, cursor: Any) -> None:
        self._link, self._prepared, self._cursor = link, prepared, cursor

    def rows(self) -> list[Any]:
        """Once."""
        try:
            raw = self._cursor.fetchall()
        except BaseException as error:
            self._link.note(error, self._prepared.text)
            raise
        return self._prepared.rows(raw)

    @property
    def count(self) -> int:
        """How many rows were written."""
        return int(self._cursor.rowcount)


class Links:
    """The links of one process to one database, all made alike."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._statements = engine, statements_of(engine.dialect)
        self._idle: list[Link] = []

    @contextmanager
    def one(self) -> Iterator[Link]:
        link = self.take()
        try:
            yield link
        finally:
            self.give_back(link)

    def rows(self, statement: Executable, values: Values) -> list[Any]:
        """What one statement gives, on any link."""
        link = self.take()
        try:
            return link.rows(statement, values)
        finally:
            self.give_back(link)

    def take(self) -> Link:
        try:
            return self._idle.pop()
        except IndexError:
            return Link(self.engine, self._statements)

    def give_back(self, link: Link) -> None:
        if link.lost:  # as the others are, probably
            link.close()
            self._close_idle()
        elif len(self._idle) < KEPT:
            self._idle.append(link)
        else:
            link.close()

    def close(self) -> None:
        self._close_idle()
        self.engine.dispose()

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()
