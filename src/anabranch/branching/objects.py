"""Databases, tables and named partitions, merged three ways, attribute by attribute.

A delta is the difference of two states. First comes existence: a drop on theirs wins, a drop on ours conflicts with any
change of theirs. Then every attribute takes theirs' value where theirs changed it, and stays as ours has it elsewhere.
Names are checked over the merged whole, because two clean merges can still meet in one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from anabranch.branching.law import APPEND_TABLES, DATABASES, Matrix, cell
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.names import fold
from anabranch.model.records import DatabaseRecord, Operation, TableRecord
from anabranch.model.types import quote_identifier

NOT_CALLED: Mapping[str, str] = MappingProxyType({})
Value = TypeVar("Value")
Record = TypeVar("Record", DatabaseRecord, TableRecord)


@dataclass(frozen=True)
class Merged(Generic[Record]):
    """`changes` are what theirs did to ours' record; none: it stays as it is. With conflicts of existence the record is
    ours', with conflicts of attributes a preview, so that whatever else conflicts is found as well. `settled`: there
    was a conflict, and the wish of the user decided it; that is news, even if nothing comes of it."""

    record: Record | None
    conflicts: tuple[ConflictRecord, ...] = ()
    changes: tuple[Operation, ...] = ()
    settled: bool = False


def three_way(bases: Sequence[Value], ours: Value, theirs: Value) -> Value:
    """Theirs' value if theirs changed it, whatever ours did: the change is replayed. Bases that disagree differ from
    theirs in one of them, so it counts as changed; so does what no base has."""
    return ours if bases and all(base == theirs for base in bases) else theirs


def merge_database(
    bases: Sequence[DatabaseRecord | None],
    ours: DatabaseRecord | None,
    theirs: DatabaseRecord | None,
    *,
    theirs_changed_tables: bool = False,
    ours_filled_it: str | None = None,
    resolve: Choice | None = None,
    backwards: bool = False,
    replays: bool = False,
) -> Merged[DatabaseRecord]:
    """`theirs_changed_tables`: theirs changed or created a table in it. `ours_filled_it`: what ours did, if tables are
    in it that theirs' drop does not take along. Both matter only if the other side dropped it."""
    others = ("tables in it",) if theirs_changed_tables else ()
    merged = _merge(_DATABASE, bases, ours, theirs, others, resolve, backwards=backwards, replays=replays)
    if merged.changes != ("drop",) or ours_filled_it is None:
        return merged
    assert ours is not None
    if resolve is not None:
        return replace(merged, settled=True) if resolve == "theirs" else Merged(ours, settled=True)
    conflict = ConflictRecord(
        object=quote_identifier(ours.name),
        kind="database",
        rule="database",
        ours=ours_filled_it,
        theirs="dropped",
    )
    return Merged(ours, (conflict,))


def merge_table(
    bases: Sequence[TableRecord | None],
    ours: TableRecord | None,
    theirs: TableRecord | None,
    *,
    theirs_changed_rows: bool = False,
    name: str | None = None,
    resolve: Choice | None = None,
    backwards: bool = False,
    replays: bool = False,
) -> Merged[TableRecord]:
    """`replays`: a CHERRY PICK or REVERT, whose base ours may never have had; `backwards`: a REVERT, to which what ours
    has undone already is done. The schema id stays ours', unless the whole record is theirs'. `theirs_changed_rows`:
    rows, columns or partitions changed too, a rewrite not counted; it matters only if ours dropped the table. `name` is
    what conflicts call it."""
    others = ("rows or columns",) if theirs_changed_rows else ()
    return _merge(_TABLE, bases, ours, theirs, others, resolve, name, backwards=backwards, replays=replays)


@dataclass(frozen=True)
class _Kind:
    """How the law speaks of a kind of object; `place` is what RENAME changes."""

    name: Literal["database", "table"]
    matrix: Matrix
    set: str
    unset: str
    place: tuple[str, ...]


_DATABASE = _Kind("database", DATABASES, "set properties", "unset properties", ("name",))
_TABLE = _Kind("table", APPEND_TABLES, "properties", "properties", ("database_id", "name"))


def _merge(
    kind: _Kind,
    bases: Sequence[Record | None],
    ours: Record | None,
    theirs: Record | None,
    others: tuple[str, ...],
    resolve: Choice | None,
    name: str | None = None,
    *,
    backwards: bool,
    replays: bool,
) -> Merged[Record]:
    """`others` are changes of theirs that its record does not show."""
    old: list[Record] = [base for base in bases if base is not None and not base.dropped]
    if theirs is None or theirs.dropped:
        if ours is None or ours.dropped or not old:  # what no base has and only ours has, ours created
            return Merged(ours)
        return Merged(replace(ours, dropped=True), (), ("drop",))
    if ours is None or ours.dropped:
        revived: Merged[Record] = Merged(theirs, (), ("create" if ours is None else "restore",))
        if not old:
            return revived
        changed = _forbidden(kind, old, theirs)
        changed.extend(others)
        if len(old) < len(bases):  # bases that disagree: changed on both sides
            changed.append("create")
        if not changed:
            return Merged(ours)
        if resolve is not None:
            return replace(revived, settled=True) if resolve == "theirs" else Merged(ours, settled=True)
        shown = name or quote_identifier(old[0].name)
        rule, here = ("absent", "never there") if ours is None and replays else ("drop", "dropped")
        return Merged(ours, (ConflictRecord(shown, kind.name, rule, here, ", ".join(changed), old[0].name),))
    if ours == theirs and all(base == ours for base in old):
        return Merged(ours)
    return _attributes(kind, old, ours, theirs, resolve, name or quote_identifier(ours.name), backwards=backwards)


def _forbidden(kind: _Kind, old: Sequence[Record], theirs: Record) -> list[str]:
    """The operations of theirs with which a drop on ours conflicts. A comment counts as a property."""
    done: set[str] = set()
    for base in old:
        if _differ(kind.place, base, theirs):
            done.add("rename")
        if base.comment != theirs.comment or any(base.properties.get(k) != v for k, v in theirs.properties.items()):
            done.add(kind.set)
        if base.properties.keys() - theirs.properties.keys():
            done.add(kind.unset)
    return sorted(operation for operation in done if cell(kind.matrix, operation, "drop") == "X")


def _differ(attributes: Sequence[str], one: Record, other: Record) -> bool:
    return any(getattr(one, attribute) != getattr(other, attribute) for attribute in attributes)


def _attributes(
    kind: _Kind,
    old: Sequence[Record],
    ours: Record,
    theirs: Record,
    resolve: Choice | None,
    shown: str,
    *,
    backwards: bool,
) -> Merged[Record]:
    """Both heads have the object."""
    conflicts = []
    properties = {}
    for key in dict.fromkeys([*ours.properties, *theirs.properties, *(key for base in old for key in base.properties)]):
        before = [base.properties.get(key) for base in old]
        mine, other = ours.properties.get(key), theirs.properties.get(key)
        # Neither head has it: that is nothing they have alike, but two removals, if all bases had it.
        if mine is None and other is None and None not in before and not backwards:
            rule = cell(kind.matrix, kind.unset, kind.unset)
            conflicts.append(ConflictRecord(shown, kind.name, rule, f"unset {key}", f"unset {key}", before[0]))
        value = three_way(before or [None], mine, other)
        if value is not None:
            properties[key] = value
    place: dict[str, Any] = {
        attribute: three_way(
            [getattr(base, attribute) for base in old], getattr(ours, attribute), getattr(theirs, attribute)
        )
        for attribute in kind.place
    }
    comment = three_way([base.comment for base in old] or [None], ours.comment, theirs.comment)
    merged = replace(ours, properties=properties, comment=comment, **place)
    effects: dict[Operation, tuple[str, ...]] = {
        "rename": kind.place,
        "properties": ("properties",),
        "comment": ("comment",),
    }
    changes = tuple(operation for operation, where in effects.items() if _differ(where, ours, merged))
    if resolve is None:
        return Merged(merged, tuple(conflicts), changes)
    return Merged(merged, (), changes, settled=bool(conflicts))


def check_names(
    databases: Iterable[DatabaseRecord], tables: Iterable[TableRecord], called: Mapping[str, str] = NOT_CALLED
) -> list[ConflictRecord]:
    """After a merge: live names are unique in their parent, and the database of every live table lives.

    Of two records with one name the earlier is shown as ours: give ours' objects first. `called`: what ours calls them
    until then, by id, and what theirs calls databases that ours never had.
    """
    known = {database.id: database for database in databases}
    conflicts: list[ConflictRecord] = []
    taken: dict[tuple[str, str], tuple[DatabaseRecord | TableRecord, str]] = {}

    def take(kind: str, parent: str, record: DatabaseRecord | TableRecord, shown: str) -> None:
        first, name = taken.setdefault((parent, fold(record.name)), (record, shown))
        if first.id != record.id:
            ours = f"{kind} {called.get(first.id) or name}, id {first.id}"
            theirs = f"{kind} {shown}, id {record.id}"
            conflicts.append(ConflictRecord(shown, kind, "names", ours, theirs))

    for database in known.values():
        if not database.dropped:
            take("database", "", database, quote_identifier(database.name))
    for table in tables:
        if table.dropped:
            continue
        parent = known.get(table.database_id)
        name = quote_identifier(parent.name if parent else table.database_id)
        place = name if parent else called.get(table.database_id, name)
        shown = f"{place}.{quote_identifier(table.name)}"
        take("table", table.database_id, table, shown)
        if parent is None or parent.dropped:
            conflicts.append(ConflictRecord(shown, "table", "database", "no database", "a table in it"))
    return conflicts


def merge_partitions(
    bases: Sequence[frozenset[str]],
    ours: frozenset[str],
    theirs: frozenset[str],
    *,
    table: str = "",
    resolve: Choice | None = None,
) -> tuple[frozenset[str], tuple[ConflictRecord, ...]]:
    """Partitions that were added by name. Both adding or both dropping one is alike; only where the bases disagree can
    two heads have changed one partition differently, and that conflicts (A7)."""
    merged, conflicts = set(), []
    for text in sorted(ours | theirs):
        before = [text in base for base in bases or (frozenset(),)]
        mine, other = text in ours, text in theirs
        if mine != other and len(set(before)) > 1:
            if resolve is None:
                words = {True: "added", False: "dropped"}
                conflicts.append(ConflictRecord(table, "partition", "A7", words[mine], words[other], row=text))
            kept = other if resolve == "theirs" else mine
        else:
            kept = three_way(before, mine, other)
        if kept:
            merged.add(text)
    return frozenset(merged), tuple(conflicts)
