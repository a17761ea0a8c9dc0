"""Clauses that several statements share: properties, partitions, patterns, IF [NOT] EXISTS."""

from __future__ import annotations

from anabranch.errors import Refused
from anabranch.sql.cursor import Cursor
from anabranch.sql.tokens import Kind

_VALUE = "a value: a string, a number, true or false"


def refuse(what: str, why: str) -> Refused:
    return Refused(f"{what} is refused: {why}.")


def if_exists(cursor: Cursor) -> bool:
    return cursor.take("IF EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    return cursor.take("IF NOT EXISTS")


def like(cursor: Cursor) -> str | None:
    """`[LIKE] 'pattern'`; Spark takes the pattern without the word too."""
    if cursor.take("LIKE") or cursor.token.kind is Kind.STRING:
        return cursor.string("a pattern")
    return None


def properties(cursor: Cursor) -> dict[str, str]:
    """`('key' = 'value', some.key = 1, flag = true)`; values are kept as text."""
    found: dict[str, str] = {}
    cursor.expect("(")
    while True:
        position = cursor.position
        key = property_key(cursor)
        cursor.take("=") or cursor.take("==")
        if key in found:
            raise cursor.error(f"the property '{key}' is given twice", position)
        found[key] = _property_value(cursor)
        if not cursor.take(","):
            break
    cursor.expect(")")
    return found


def property_keys(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    keys = [property_key(cursor)]
    while cursor.take(","):
        keys.append(property_key(cursor))
    cursor.expect(")")
    return tuple(keys)


def property_key(cursor: Cursor) -> str:
    # One literal only: in `'key' 'value'` the next one is the value.
    if cursor.token.kind is Kind.STRING:
        return cursor.advance().value
    return ".".join(cursor.path("a property"))


def _property_value(cursor: Cursor) -> str:
    if cursor.token.kind is Kind.STRING:
        return cursor.string("a value")
    if word := cursor.take_any("TRUE", "FALSE"):
        return word.lower()
    sign = "-" if cursor.take("-") else ""
    if not sign and cursor.token.kind in (Kind.WORD, Kind.QUOTED):
        word = cursor.found()
        raise cursor.error(f"expected {_VALUE}, found {word}: write '{word.strip('`')}'")
    if cursor.token.kind is not Kind.NUMBER:
        cursor.fail(_VALUE)
    return sign + cursor.advance().value


def partition(cursor: Cursor) -> dict[str, str]:
    """`PARTITION (col = expression, …)`, every column with its value."""
    position = cursor.position
    spec: dict[str, str] = {}
    for column, value in open_partition(cursor).items():
        if value is None:
            raise cursor.error(f"the partition column '{column}' needs a value here", position)
        spec[column] = value
    return spec


def open_partition(cursor: Cursor) -> dict[str, str | None]:
    """`PARTITION (col = expression, col)`; a column without a value is dynamic."""
    spec: dict[str, str | None] = {}
    cursor.expect("PARTITION")
    cursor.expect("(")
    while True:
        position = cursor.position
        column = cursor.identifier("a partition column")
        if column in spec:
            raise cursor.error(f"the partition column '{column}' is given twice", position)
        given = cursor.take("=") or cursor.take("==")
        spec[column] = cursor.expression("a value", ",") if given else None
        if not cursor.take(","):
            break
    cursor.expect(")")
    return spec
