"""Turns: who may change the rows of a table, when statements keep getting in each other's way.

Statements that kill rows hold a table's lock together, so they run side by side; one that failed often enough holds it
alone, and then nobody's commit can spoil its own. A newcomer passes the gate first, which one who waits to be alone
keeps shut: otherwise newcomers, who may share, would be let in before him for ever. Appends take no turn; upserts of
keyed tables take one for their commit. Who holds the head (`Commits.holding`) takes none: one who has a turn may wait
for the head, so the other way round they would wait for each other.

Turns are for fairness: what may be committed beside what is decided while the head is locked. So on PostgreSQL, where a
lock is lost with the session that holds it, a statement goes on without it, at worst to be run again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy.exc import DBAPIError

from anabranch.catalog.links import Link
from anabranch.catalog.rewrites import Rewrites

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: no turns, statements are only run again
    fcntl = None  # type: ignore[assignment]


_key = bindparam("key", type_=BigInteger)
_ADVISORY = {
    True: (select(func.pg_advisory_lock(_key)), select(func.pg_advisory_unlock(_key))),
    False: (select(func.pg_advisory_lock_shared(_key)), select(func.pg_advisory_unlock_shared(_key))),
}
"""Taking and giving back PostgreSQL's locks: alone, and with others."""


class Turns(Rewrites):
    """Locks that last as long as a statement."""

    @contextmanager
    def turn(self, table_id: str, *, alone: bool) -> Iterator[None]:
        """Holds the right to change a table's rows: with others, or alone."""
        with self._db.retrying(partial(self._taken, table_id, alone=alone)):
            yield

    def _taken(self, table_id: str, *, alone: bool, may_be_done: bool) -> ExitStack:
        """The locks, to be given back. If they `may_be_done`, they were lost with the session that took them."""
        with ExitStack() as stack:
            lock = self._locks(stack)
            if alone:
                lock(f"{table_id}.gate", True)
                lock(f"{table_id}.turn", True)
            else:
                with ExitStack() as passing:
                    self._locks(passing)(f"{table_id}.gate", False)
                    lock(f"{table_id}.turn", False)
            return stack.pop_all()

    def _locks(self, stack: ExitStack) -> Any:
        database = self._db
        if database.is_sqlite:
            folder = database.path.with_name(database.path.name + ".turns")
            return lambda name, alone: stack.enter_context(_file_lock(folder / name, alone=alone))
        link = stack.enter_context(database.reading())

        def lock(name: str, alone: bool) -> None:
            key = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
            link.rows(_ADVISORY[alone][0], {"key": key})
            stack.callback(_give_back, link, key, alone=alone)

        return lock


def _give_back(link: Link, key: int, *, alone: bool) -> None:
    """What the statement did is done, so this cannot fail: a session that ends gives back all of its locks."""
    if not link.lost:
        try:
            link.rows(_ADVISORY[alone][1], {"key": key})
        except DBAPIError:
            link.lost = True  # and so it is closed, if it was not


@contextmanager
def _file_lock(path: Path, *, alone: bool) -> Iterator[None]:
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        process = os.getpid()
        try:
            yield
        finally:  # closing it is not enough: a process that was forked meanwhile has the file open, too
            if fcntl is not None and os.getpid() == process:
                fcntl.flock(file, fcntl.LOCK_UN)
