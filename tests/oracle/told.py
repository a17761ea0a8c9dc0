"""What the model and the lake tell of a refused merge, made comparable: every conflict of one is one of the other.

They have the same object, the same rule, and the same column, property or key where the rule is about one. Rows in
conflict show the same values in base, ours and theirs; of what files and statements do, the numbers of rows are equal.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.model.conflict import ConflictRecord

from .law import GONE, SEVERAL, Found
from .state import State

# The model's rule -> what the lake calls it, which tells some of them apart.
CALLED = {
    "name": {"names"},
    "unset": {"same property"},
    "drop-with-tables": {"database"},  # theirs dropped the database, ours has new tables in it
    "parent": {"database"},  # ours dropped the database, theirs has new tables in it
    "A6.1": {
        "A6.1",  # ours' type is wider
        "incompatible",  # neither holds the other
        "added",  # likewise, of columns that both added
        "narrow",  # rows are wider than the column, since a widening was undone
    },
    "A6.3": {
        "A6.2",  # the NOT NULL is ours', and theirs' rows never had the column
        "A6.3",
    },
}
# Under detect = 'file' the lake has a word of its own for rows on which the bases of a criss-cross disagree; what it
# says of other rows of that table is not compared.
CRISS_CROSS = {"A1", "A3", "delete/insert", "update/insert"}
# Of a CHERRY PICK or REVERT: the lake says so where ours may never have had what is not there.
ABSENT = {"drop", "update/delete"}

ROWS = {"delete/insert", "update/insert", "update/update", "update/delete", "delete/update"}
COUNTED = {"A1", "A3"}
IN_IT = "tables in it"
"""What the lake adds about a database that ours dropped: what its tables tell, too."""


class Known:
    """The objects that have had a name, by the states of the branches that meet."""

    def __init__(self, states: Iterable[State]) -> None:
        states = list(states)
        databases: dict[int, set[str]] = {}
        tables: dict[int, set[tuple[int, str]]] = {}
        for state in states:
            for id, database in state.databases.items():
                databases.setdefault(id, set()).add(database.name.lower())
            for id, table in state.tables.items():
                tables.setdefault(id, set()).add((table.database, table.name.lower()))
        self.objects: dict[str, set[tuple[str, int]]] = {}
        for id, names in databases.items():
            for name in names:
                self.objects.setdefault(name, set()).add(("database", id))
        for id, places in tables.items():
            # After a merge it may have one side's name, in a database that has the other's.
            parents = {name for parent, _ in places for name in databases.get(parent, ())}
            for name in (f"{parent}.{name}" for parent in parents for _, name in places):
                self.objects.setdefault(name, set()).add(("table", id))
        self.parents = {id: {parent for parent, _ in places} for id, places in tables.items()}

    def named(self, name: str) -> set[tuple[str, int]]:
        return self.objects.get(name.lower(), set())


RowOf = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def differences(
    expected: list[Found], found: Sequence[ConflictRecord], known: Known, row_of: RowOf, *, replayed: bool
) -> list[str]:
    """What only one of them tells. `row_of`: a row of the lake as the model shows it. `replayed`: of a CHERRY PICK or
    REVERT."""
    crossed = {id for record in found if record.rule == "criss-cross" for id in known.named(record.object)}

    def is_compared(one: Found) -> bool:
        return one.rule not in CRISS_CROSS or one.id not in crossed

    def is_left_out(record: ConflictRecord) -> bool:
        return record.kind == "rows" and bool(known.named(record.object) & crossed)

    left = [one for one in expected if is_compared(one)]
    crossing = [one for one in expected if one.id in crossed and one.rule in CRISS_CROSS]
    wrong = ["no rows are in conflict"] if crossed and not crossing else []
    for record in found:
        same = next((one for one in left if matches(one, record, known, row_of, replayed=replayed)), None)
        if same is not None:
            left.remove(same)
        elif not is_left_out(record) and not is_about_tables(record, expected, known):
            wrong.append(f"only the lake has {record!r}")
    return wrong + [f"only the model has {one}" for one in left]


def is_about_tables(record: ConflictRecord, expected: list[Found], known: Known) -> bool:
    """The model says it of the tables alone."""
    told = {parent for one in expected if one.id[0] == "table" for parent in known.parents.get(one.id[1], ())}
    ids = {id for kind, id in known.named(record.object) if kind == "database"}
    return record.kind == "database" and record.theirs == IN_IT and bool(ids & told)


def matches(one: Found, record: ConflictRecord, known: Known, row_of: RowOf, *, replayed: bool) -> bool:
    rule, _, columns = record.rule.partition(" of ")
    names = CALLED.get(one.rule, {one.rule}) | ({"absent"} if replayed and one.rule in ABSENT else set())
    if one.rule == "key":  # what was done depends on a base
        names |= {"absent", "delete/delete"} | ROWS | {"insert/insert", "insert/update", "insert/delete"}
    if record.kind == "key" and replayed and one.rule.endswith("/delete"):
        names |= {"absent"}
    if one.id not in known.named(record.object) or rule not in names:
        return False
    if one.rule in COUNTED or record.kind == "rows":
        return (one.ours, one.theirs) == (counted(record.ours), counted(record.theirs))
    if record.kind in ("row", "key"):
        sides = [shown(side, row_of) for side in (record.base, record.ours, record.theirs)]
        same = all(
            told is None or in_order(told) in (SEVERAL, side)
            for told, side in zip((one.base, one.ours, one.theirs), sides, strict=True)
        )
        if record.kind == "key":
            return same and in_order(one.of) == shown(record.row, row_of)
        return same and (frozenset(filter(None, columns.split(", "))) == (one.of or frozenset()))
    if one.rule == "A6.3":
        lacking = {"ours": one.ours, "theirs": one.theirs}
        sides = {"ours": counted(record.ours), "theirs": counted(record.theirs)}
        return one.of == label(record.column) and lacking == sides
    if one.rule in ("A6.1", "name") and record.kind == "column":
        return one.of == label(record.column)
    if one.rule in ("A0", "unset"):
        return (f"unset {one.of}", one.base) == (record.ours, record.base) and record.ours == record.theirs
    if one.rule == "A7":
        return one.of == str(record.row).partition("=")[2]
    if one.rule == "drop":
        return one.theirs == frozenset(str(record.theirs).split(", ")) - {IN_IT}
    return True


def counted(words: Any) -> int | None:
    """`2 rows deleted`; None, where it says something else."""
    found = re.match(r"([\d,]+) rows? ", str(words))
    return int(found[1].replace(",", "")) if found else None


def label(path: str | None) -> str | None:
    return path and path.rpartition(".")[2].lower()


def shown(side: Any, row_of: RowOf) -> Any:
    """Labels and values; of two columns in conflict that have one label the lake calls theirs otherwise."""
    if not isinstance(side, Mapping):
        return GONE
    return in_order((label.removesuffix(" (theirs)"), value) for label, value in row_of(side).items())


def in_order(cells: Any) -> Any:
    if cells is None or isinstance(cells, str):
        return cells
    return tuple(sorted(cells, key=lambda cell: (cell[0].lower(), cell[1] is None, cell[1] or 0, cell[0])))
