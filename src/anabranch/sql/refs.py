"""Names with the state they mean: `d.t`, `d.t@dev`, `d.t@dev@12`, `d.t VERSION AS OF 12`, `d.t TIMESTAMP AS OF '…'`.

A number after `@` or VERSION AS OF is a version, anything else names a branch or tag; a name made of digits is written
in backquotes (`@`) or quotes (VERSION AS OF).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from anabranch.sql.cursor import Cursor
from anabranch.sql.tokens import Kind
from anabranch.texts import is_number

_VERSION = ("FOR VERSION AS OF", "FOR SYSTEM_VERSION AS OF", "VERSION AS OF", "SYSTEM_VERSION AS OF")
_TIMESTAMP = ("FOR TIMESTAMP AS OF", "FOR SYSTEM_TIME AS OF", "TIMESTAMP AS OF", "SYSTEM_TIME AS OF")


@dataclass(frozen=True)
class Ref:
    """A state: of the branch or tag `name` (None: the current branch), at a version or a time (None: its head)."""

    name: str | None = None
    version: int | None = None
    timestamp: str | None = None

    @property
    def in_the_past(self) -> bool:
        return self.version is not None or self.timestamp is not None


@dataclass(frozen=True)
class Name:
    """A database (one part) or a table (two parts), perhaps of another state; `position` is where it was written."""

    parts: tuple[str, ...]
    ref: Ref | None = None
    position: int = field(default=0, compare=False)

    @property
    def database(self) -> str:
        return self.parts[0]

    @property
    def table(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


def table_name(cursor: Cursor) -> Name:
    """`database.table`, with what follows of `@ref` and time travel."""
    position = cursor.position
    parts = cursor.path("a table name")
    if len(parts) != 2:
        raise cursor.error(not_qualified(parts), position)
    return Name(parts, ref(cursor), position)


def not_qualified(parts: Sequence[str]) -> str:
    return f"'{'.'.join(parts)}' does not name a table: write database.table"


def written_table_name(cursor: Cursor) -> Name:
    """A table that the statement changes: of a branch, never of a past version."""
    name = table_name(cursor)
    if name.ref is not None and name.ref.in_the_past:
        raise cursor.error("a past version cannot be changed; name a branch only", name.position)
    return name


def database_name(cursor: Cursor) -> Name:
    position = cursor.position
    parts = cursor.path("a database name")
    if len(parts) != 1:
        raise cursor.error(f"'{'.'.join(parts)}' does not name a database: its name is one piece", position)
    return Name(parts, ref(cursor), position)


def ref(cursor: Cursor) -> Ref | None:
    """`@…` and then a time-travel clause, each of them optional."""
    found = _at_ref(cursor) if cursor.at("@") else None
    position = cursor.position
    clause = _time_travel(cursor)
    if clause is None or found is None:
        return clause or found
    if found.in_the_past or clause.name is not None:
        raise cursor.error("the table has two versions: keep one", position)
    return replace(found, version=clause.version, timestamp=clause.timestamp)


def at_time_travel(cursor: Cursor) -> bool:
    """Whether a time-travel clause with a literal stands here, so that `SELECT version AS of` is left alone."""
    for phrase in (*_VERSION, *_TIMESTAMP):
        if cursor.at(phrase):
            after = len(phrase.split())
            if cursor.ahead(after).value in ("TIMESTAMP", "DATE"):
                after += 1
            return cursor.ahead(after).kind in (Kind.STRING, Kind.NUMBER)
    return False


def state_of(cursor: Cursor) -> tuple[str, int | None]:
    """`dev`, a tag, or either at a version: `dev@12`, `dev AT VERSION 12`."""
    name = cursor.identifier("a branch or tag name")
    version = cursor.integer("a version") if cursor.take("@") else None
    position = cursor.position
    if cursor.take("AT VERSION"):
        if version is not None:
            raise cursor.error("the version is given twice", position)
        version = cursor.integer("a version")
    return name, version


def _at_ref(cursor: Cursor) -> Ref:
    cursor.expect("@")
    if cursor.token.kind is Kind.NUMBER:
        return Ref(version=cursor.integer("a version"))
    name = cursor.identifier("a branch or tag name")
    return Ref(name, version=cursor.integer("a version") if cursor.take("@") else None)


def _time_travel(cursor: Cursor) -> Ref | None:
    if cursor.take_any(*_VERSION):
        if cursor.token.kind is Kind.STRING:
            name, at, version = cursor.string("a branch or tag name").partition("@")  # which no name can hold
            return Ref(name, int(version)) if is_number(version) else Ref(name + at + version)
        return Ref(version=cursor.integer("a version"))
    if cursor.take_any(*_TIMESTAMP):
        cursor.take_any("TIMESTAMP", "DATE")
        return Ref(timestamp=cursor.string("a time"))
    return None
