"""Names: what may be called what. Case does not count anywhere; labels keep the case they were written with."""

from __future__ import annotations

import re

from anabranch import given
from anabranch.errors import InvalidName
from anabranch.model.types import quote_identifier

RESERVED_COLUMNS = frozenset({"_metadata", "_row_id", "_origin", "_kind", "_sets", "_change"})
ROW_INDEX = "_tmp_metadata_row_index"
"""A column that Spark's Parquet reader fills with the row's place in its file: `_metadata.row_index` is made of it."""
MAX_LENGTH = 255


def fold(name: str) -> str:
    """The form in which names are compared."""
    return name.casefold()


def checked(kind: str, name: str) -> str:
    """The name itself, if it may name a `kind`."""
    if not given.name(kind, name).strip():
        raise InvalidName(kind, name, "it is empty")
    if len(name) > MAX_LENGTH:
        raise InvalidName(kind, name, f"it is longer than {MAX_LENGTH} characters")
    if re.search(r"[\x00-\x1f\x7f]", name):
        raise InvalidName(kind, name, "it holds a control character")
    if kind == "column" and fold(name) in RESERVED_COLUMNS:
        raise InvalidName(kind, name, "the name is reserved")
    if kind in ("branch", "tag"):
        if "@" in name:
            raise InvalidName(kind, name, "'@' separates a ref from a version")
        if name.isdigit():
            raise InvalidName(kind, name, "a number is a version")
        if name.startswith("-"):
            raise InvalidName(kind, name, "a command line takes it for an option")
    return name


def qualified(database: str, table: str) -> str:
    """`database.table`, quoted where SQL needs it."""
    return f"{quote_identifier(database)}.{quote_identifier(table)}"
