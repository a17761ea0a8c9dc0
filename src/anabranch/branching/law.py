r"""The law as tables: what conflicts when theirs is replayed on ours.

Rows: what theirs did since the base. Columns: what ours did. `-` no conflict, `X` conflict, else the rule that decides;
`*` marks a cell that the first design left blank. The texts are the page, and are read into mappings at import.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Matrix = Mapping[tuple[str, str], str]
"""(theirs' operation, ours' operation) -> `-`, `X` or the name of a rule."""

_DATABASES = r"""
| theirs \ ours | drop | rename | set properties | unset properties |
|---|---|---|---|---|
| drop | - | - | - | - |
| rename | X | - | - | - |
| set properties | X | - | - | - |
| unset properties | X | - | - | X if the same property |
"""

_APPEND_TABLES = r"""
| theirs \ ours | drop | rename | properties | column | partition | insert | delete | update | overwrite | compaction |
|---|---|---|---|---|---|---|---|---|---|---|
| drop | - | - | - | - | - | - | - | - | - | -* |
| rename | X | - | - | - | - | - | - | - | - | -* |
| properties | X | - | A0* | - | - | - | - | - | - | -* |
| column | X | - | - | A6 | - | - | - | - | - | -* |
| partition | X | - | - | - | A7* | - | - | - | - | -* |
| insert | X | - | - | - | - | - | - | - | - | -* |
| delete | X | - | - | - | - | X | A2 | - | A5 | -* |
| update | X | - | - | - | - | X | A1 | A3 | A4 | -* |
| overwrite | X | - | - | - | - | - | - | - | - | -* |
| compaction | A8 | - | - | - | - | -* | -* | -* | -* | -* |
"""

ABSENT = "absent"
"""The rule of picks and reverts of what ours does not have."""
ADDED = "added"
"""The rule of columns that both sides added under one name, in types that cannot be one."""
NARROW = "narrow"
"""The rule of rows whose type is wider than the column that they would join, since a widening was undone there."""
REQUIRED = "NOT NULL"
"""What the side says whose column wants a value, in conflicts by A6.2 and A6.3."""
RULES: Mapping[str, str] = MappingProxyType(
    {
        "A0": "where both set a property theirs' value stands; both unset the same one: conflict",
        "A1": "theirs updated and ours deleted rows of the same file",
        "A2": "both may delete the same row: it may be dead twice",
        "A3": "both updated rows of the same file",
        "A4": "theirs' updates of rows that ours overwrote are discarded; those of rows that theirs added are merged",
        "A5": "theirs' deletes of rows that ours overwrote are discarded; those of rows that theirs added are merged",
        "A6": "both changed columns: types only widen, and NOT NULL must hold for every merged row",
        "A6.1": "theirs changed a column's type and ours' is wider: widening only goes up",
        "A6.2": "a column of ours is NOT NULL without a default, and theirs wrote rows without it",
        "A6.3": "a merged row would break a NOT NULL of one side",
        "A7": "both changed the same partition, the partition spec or the key, and differently",
        "A8": "a rewrite changes no row: it is discarded and the merge goes on",
        "same property": "both unset the same property",
        "insert": "theirs deleted or updated rows of a table into which ours inserted",
        "drop": "ours dropped what theirs changed",
        ABSENT: "this branch does not have what the commit changed: it never had it, or has it no more",
        "database": "a table needs a database, and one side dropped it",
        "names": "names are unique in their parent, and case does not count: rename one of them first",
        "incompatible": "neither of the two types holds the other's values",
        ADDED: "both added it, and neither type holds the other's values, or their structs have other fields",
        NARROW: "the type is narrower here (a widening was undone or not picked), and rows of the wider one would come",
        "alias": "an earlier merge made one column of two that one side still has: drop one of them first",
        "engine": "what the records of a keyed table mean cannot change under them: set the options back on one side",
        "empty": "together the two sides dropped everything",
    }
)
"""What each rule says, for people: the rules of the tables, and the names that other conflicts carry."""


def cell(matrix: Matrix, theirs: str, ours: str) -> str:
    """What the law says when theirs did one operation and ours another on the same object."""
    return matrix[theirs, ours]


def _read(page: str) -> Matrix:
    header, _, *rows = ([word.strip() for word in line.strip("|").split("|")] for line in page.strip().splitlines())
    return MappingProxyType(
        {
            (theirs, ours): verdict.rstrip("*").removeprefix("X if the ")
            for theirs, *verdicts in rows
            for ours, verdict in zip(header[1:], verdicts, strict=True)
        }
    )


DATABASES: Matrix = _read(_DATABASES)
APPEND_TABLES: Matrix = _read(_APPEND_TABLES)
