"""Statements that run again, on the new head, when what they did does not fit beside what others did meanwhile.

1. A few times as it is: what stood in the way is seen then, and seldom stands there twice.
2. A few times with its tables to itself: others that change rows wait for their turn. Appends take no turn.
3. Once with the branch's head held: everybody waits with their commits, so that nobody starves.

Turns are taken before the head, and by whoever holds the head none are: so nobody waits for one who waits for him. Nor
does a thread that holds the head wait for another one of its process that writes to the catalog.

A name means to a statement what it meant at its first try: a table that others rename meanwhile is still the one that
was asked for, and another one that has its name now is not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from anabranch.errors import CommitConflict
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position
from anabranch.model.names import fold, qualified

FREE, ALONE = 3, 3
"""How often a statement is tried beside all others, and then at most with its tables to itself."""
PATIENCE = 1.0
"""Seconds after which it is not tried once more beside appends."""
_PAUSE = 0.01

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Found = TypeVar("Found")


class Beaten(CommitConflict):
    """Others were first with what no further try would change."""


class Dropped(Beaten):
    """What the statement means was dropped meanwhile."""

    def __init__(self, kind: str, name: str, operation: str) -> None:
        record = ConflictRecord(f"{kind} {name}", kind, "drop", "dropped", operation)
        super().__init__(f"the {kind} '{name}' was dropped while '{operation}' ran. Nothing was written.", [record])


@dataclass
class Tries:
    """One statement, however often it is tried: where it commits, and what names meant to it at first."""

    again: bool = False
    branch_id: int | None = None
    operation: str = "the statement"
    heads: set[tuple[Any, Position]] = field(default_factory=set)
    """Of some catalog. Names at other positions mean what they mean there."""
    meant: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Catalog, branch and names -> what was found at the head."""
    seen: dict[str, Any] = field(default_factory=dict)
    """The same by id."""


_RUNNING: ContextVar[Tries | None] = ContextVar("anabranch_tries", default=None)


def rerun(statement: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Its first argument is, or has, the session."""

    @wraps(statement)
    def tried(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        session: Any = getattr(args[0], "_session", args[0])
        is_inside = _RUNNING.get() is not None  # of data, say, that is made by statements while it is written
        with _beginning() as tries:
            return _tried(session, tries, lambda: statement(*args, **kwargs), waits=not is_inside)

    return tried


@contextmanager
def _beginning() -> Iterator[Tries]:
    tries = Tries()
    token = _RUNNING.set(tries)
    try:
        yield tries
    finally:
        _RUNNING.reset(token)


def _tried(session: Any, tries: Tries, once: Callable[[], Answer], *, waits: bool) -> Answer:
    """`waits`: it may take turns, and make others wait. The statement around another one may have done so."""
    table_ids: Sequence[str] = ()
    for number in range(FREE):
        try:
            return once()
        except Beaten:
            raise
        except CommitConflict as conflict:
            if not waits and number + 1 == FREE:
                raise
            tries.again, table_ids = True, conflict.table_ids
    with session.alone(table_ids):
        until = time.monotonic() + PATIENCE
        for number in range(ALONE if table_ids else 0):
            try:
                return once()
            except Beaten:
                raise
            except CommitConflict:
                if time.monotonic() > until:
                    break
                time.sleep(random.uniform(0, _PAUSE * number))
        with session.catalog.holding(session.branch_id if tries.branch_id is None else tries.branch_id):
            return once()


# --- what the session tells, and asks ---------------------------------------------------------------------------------


def commits(branch_id: int, operation: str) -> None:
    """The statement that runs is about to commit."""
    tries = _RUNNING.get()
    if tries is not None:
        tries.branch_id, tries.operation = branch_id, operation


def looks_at(catalog: Any, head: Position) -> None:
    """The statement that runs sees this head."""
    tries = _RUNNING.get()
    if tries is not None:
        tries.heads.add((catalog, head))


def followed(
    catalog: Any, position: Position, names: Sequence[str], found: Found | None, by_id: Callable[[str], Found | None]
) -> Found | None:
    """What names mean at a position: `found` there, or, on a head that moved, what they meant at first."""
    tries = _RUNNING.get()
    if tries is None or (catalog, position) not in tries.heads:
        return found
    key = (catalog, position.branch_id, *map(fold, names))
    if not tries.again and found is not None:
        tries.meant.setdefault(key, found)
        tries.seen.setdefault(found.id, found)  # type: ignore[attr-defined]
    if not tries.again or key not in tries.meant:
        return found
    first = tries.meant[key]
    now = found if getattr(found, "id", None) == first.id else by_id(first.id)
    if now is None:
        kind, name = ("table", qualified(*names)) if len(names) > 1 else ("database", names[0])
        raise Dropped(kind, name, tries.operation)
    return now


def as_first_seen(thing: Found) -> Found:
    """The same table or database as the statement that runs found it at its first try."""
    tries = _RUNNING.get()
    return thing if tries is None else tries.seen.get(thing.id, thing)  # type: ignore[attr-defined]
