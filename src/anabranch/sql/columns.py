"""Column definitions: `path type [NOT NULL] [DEFAULT expression] [COMMENT 'text'] [PRIMARY KEY]`, in any order."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.sql import clauses
from anabranch.sql.cursor import Cursor
from anabranch.sql.statements import ColumnDef, Path, Place
from anabranch.sql.tokens import Kind

_REFUSED = {
    "GENERATED": "generated columns are not available; write the value, or give a DEFAULT",
    "CHECK": "constraints other than PRIMARY KEY and NOT NULL are not available",
    "UNIQUE": "constraints other than PRIMARY KEY and NOT NULL are not available",
    "REFERENCES": "constraints other than PRIMARY KEY and NOT NULL are not available",
    "CONSTRAINT": "constraints of a column have no names here; write NOT NULL or PRIMARY KEY alone",
    "MASK": "column masks are not available",
}
_OPTIONS = (*_REFUSED, "NOT NULL", "NULL", "DEFAULT", "COMMENT", "PRIMARY KEY", "FIRST", "AFTER")


@dataclass(frozen=True)
class Declared:
    """A definition with what does not belong to the column itself."""

    column: ColumnDef
    primary_key: bool = False
    place: Place | None = None


def declared(cursor: Cursor) -> Declared:
    position = cursor.position
    path = cursor.path("a column name")
    return options(cursor, path, type_text(cursor), position)


def options(cursor: Cursor, path: Path, type_: str, position: int) -> Declared:
    nullable, default, comment, key, place = True, None, None, False, None
    seen: set[str] = set()
    while option := cursor.take_any(*_OPTIONS):
        family = {"NULL": "NOT NULL", "AFTER": "FIRST"}.get(option, option)
        if family in seen:
            raise cursor.error(f"{option} is given twice for column '{'.'.join(path)}'", position)
        seen.add(family)
        if option in _REFUSED:
            raise clauses.refuse(f"{option} of column '{'.'.join(path)}'", _REFUSED[option])
        if option == "NOT NULL":
            nullable = False
        elif option == "DEFAULT":
            default = default_expression(cursor)
        elif option == "COMMENT":
            comment = cursor.string("a comment")
        elif option == "PRIMARY KEY":
            key = True
        elif option == "FIRST":
            place = Place()
        elif option == "AFTER":
            place = Place(cursor.identifier("a column name"))
    return Declared(ColumnDef(path, type_, nullable, default, comment, position), key, place)


def place(cursor: Cursor) -> Place | None:
    if cursor.take("FIRST"):
        return Place()
    if cursor.take("AFTER"):
        return Place(cursor.identifier("a column name"))
    return None


def type_text(cursor: Cursor) -> str:
    """The text of a type: all up to an option or comma outside `<…>` and brackets."""
    start, depth = cursor.position, 0
    while cursor.token.kind is not Kind.END:
        if depth == 0 and cursor.at_any(",", ")", ";", *_OPTIONS):
            break
        opened, closed = cursor.take("<"), cursor.take(">")
        depth += opened - closed
        if not (opened or closed):
            cursor.skip()
    if depth > 0:
        cursor.fail("> to close the type")
    text = cursor.slice(start, "a type")
    if not text[0].isalpha():
        raise cursor.error(f"expected a type, found {text}", start)
    return text


def default_expression(cursor: Cursor) -> str:
    """The text of a default: NOT NULL ends it, unless IS stands before or nothing has been read yet."""
    start, first = cursor.position, cursor.index
    while cursor.token.kind is not Kind.END and not cursor.at_any(",", ")", ";"):
        if cursor.index > first and _ends_default(cursor):
            break
        cursor.skip()
    return cursor.slice(start, "a default")


def _ends_default(cursor: Cursor) -> bool:
    if cursor.at("NOT NULL"):
        return not cursor.at("IS", -1)
    if cursor.at("COMMENT"):
        return cursor.ahead(1).kind is Kind.STRING
    return cursor.at_any(*_REFUSED, "PRIMARY KEY", "FIRST", "AFTER")
