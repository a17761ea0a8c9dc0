"""Schemas, merged three ways by physical name; the fields of structs by the same rules as columns.

1. Names that one column goes by (its physical name, its aliases, what earlier merges unified) are one identity.
2. Columns are paired by identity. One that a base has and a head lacks was dropped there, and is dropped.
3. Columns that both sides added under one label are paired too: theirs' physical name becomes an alias of ours'.
4. Paired columns merge attribute by attribute: theirs' value where theirs changed it; types only widen (A6.1).
5. The order is an attribute, too: theirs' if theirs moved columns, else ours'. What the other side alone has comes
   after the column that it follows there.
6. Labels and physical names must be unique, and key and partition columns there (A7). Where labels are not, theirs'
   gets another one, under which rows can still be read and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.branching.aliases import Known, classes, inside
from anabranch.branching.law import ADDED
from anabranch.branching.members import Members, members_of, names_of, path_to, paths_in, struct_of
from anabranch.branching.objects import three_way
from anabranch.model import types
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.names import RESERVED_COLUMNS, fold
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, Struct

UNNUMBERED = 0
"""The id of a schema that is neither ours nor theirs; real ids begin at 1."""

Pairs = Mapping[str, tuple[Column, Column]]
"""The physical name of a merged column -> the column as ours and as theirs has it."""


@dataclass(frozen=True)
class LeftOut:
    """A column, or a field inside one, that is not in the merged schema: both sides added it in types that cannot be
    one, and a resolution took the other side's. Rows that hold it under one of its `paths` would lose their values."""

    labels: tuple[str, ...]
    ours: DataType
    theirs: DataType
    paths: frozenset[str]
    top: str = ""
    """The physical name of the merged column in whose place it stood, or within."""
    sides: tuple[Column, ...] = ()
    """That column as ours and as theirs has it."""

    def held(self, written: Schema) -> bool:
        """Whether rows of this schema have it."""
        return not self.paths.isdisjoint(paths_in(written.columns, ""))


@dataclass(frozen=True)
class SchemaMerge:
    """With conflicts the schema is only a preview. `changed`: it differs from ours. `new_aliases`: the physical path of
    a column on theirs -> that of the column of ours with which it was unified; later merges want all of them back.
    `set_aside`: theirs changed something that the schema does not show, because ours dropped it, or by a resolution.
    `apart`: columns whose types conflict; the schema has them as ours does. `left_out`: see there. `beside`: columns
    that both sides added and that cannot be one, the physical path of theirs -> that of ours."""

    schema: Schema
    conflicts: tuple[ConflictRecord, ...] = ()
    changed: bool = False
    new_aliases: Mapping[str, str] = field(default_factory=dict)
    set_aside: bool = False
    apart: Pairs = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)


def merge_schemas(
    bases: Sequence[Schema],
    ours: Schema,
    theirs: Schema,
    known: Known = (),
    resolve: Choice | None = None,
    table: str = "",
    *,
    backwards: bool = False,
) -> SchemaMerge:
    """The result has the id of the side that it equals, else UNNUMBERED. `resolve` settles types that do not fit, but
    neither names nor key and partition spec. `backwards`: a REVERT, which may undo a widening; the rows that stay must
    fit the narrow type then."""
    if alike(ours, theirs) or (bases and all(alike(base, theirs) for base in bases)):
        return SchemaMerge(ours)
    merge = _Merge(table, known, resolve, backwards)
    columns = merge.members([base.columns for base in bases], ours.columns, theirs.columns, _Scope())
    key = merge.spec("primary key", columns, [base.primary_key for base in bases], ours.primary_key, theirs.primary_key)
    partition = merge.spec(
        "partition spec",
        columns,
        [base.partitioned_by for base in bases],
        ours.partitioned_by,
        theirs.partitioned_by,
    )
    if len(partition) == len(columns):
        merge.refuse("empty", _labels(ours.columns), _labels(theirs.columns), None, ())
    schema = Schema(UNNUMBERED, columns, key, partition)
    schema = next((side for side in (ours, theirs) if alike(side, schema)), schema)
    changed = not alike(schema, ours)
    return SchemaMerge(
        schema,
        tuple(merge.conflicts),
        changed,
        merge.new_aliases,
        merge.set_aside,
        merge.apart,
        tuple(merge.left_out),
        merge.beside,
    )


@dataclass(frozen=True)
class _Scope:
    """Where a struct stands: by labels for people, and by physical path on each side and under all its names."""

    labels: tuple[str, ...] = ()
    ours: str = ""
    theirs: str = ""
    names: frozenset[str] = frozenset({""})

    def within(self, ours: Column, theirs: Column) -> _Scope:
        names = {*names_of(ours), *names_of(theirs)}
        return _Scope(
            (*self.labels, ours.label),
            path_to(self.ours, ours.physical),
            path_to(self.theirs, theirs.physical),
            frozenset(path_to(parent, name) for parent in self.names for name in names),
        )

    def step(self, word: str) -> _Scope:
        """Into the elements of an array, or the keys or values of a map."""
        names = frozenset(path_to(parent, word) for parent in self.names)
        return _Scope((*self.labels, word), path_to(self.ours, word), path_to(self.theirs, word), names)


@dataclass
class _Merge:
    """One merge under way; it collects what it finds."""

    table: str
    known: Known
    resolve: Choice | None
    backwards: bool
    conflicts: list[ConflictRecord] = field(default_factory=list)
    new_aliases: dict[str, str] = field(default_factory=dict)
    set_aside: bool = False
    apart: dict[str, tuple[Column, Column]] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def refuse(self, rule: str, ours: object, theirs: object, base: object, path: tuple[str, ...]) -> None:
        column = ".".join(path) or None
        self.conflicts.append(ConflictRecord(self.table, "column", rule, ours, theirs, base, column=column))

    def members(self, bases: Sequence[Members], ours: Members, theirs: Members, scope: _Scope) -> Members:
        found = len(self.conflicts)
        identity = self._identities(bases, ours, theirs, scope)
        split = len(self.conflicts) > found
        old = [{identity(column): column for column in base} for base in bases]
        mine = {identity(column): column for column in ours}
        other = {identity(column): column for column in theirs}
        known = {key for base in old for key in base}
        added = {fold(column.label): key for key, column in mine.items() if key not in known and key not in other}
        unified = {
            key: added[fold(column.label)]
            for key, column in other.items()
            if key not in known and key not in mine and fold(column.label) in added
        }
        other = {unified.get(key, key): column for key, column in other.items()}

        merged: dict[str, Column] = {}
        for key, column in {**other, **mine}.items():
            if key in mine and key in other:
                versions = [base[key] for base in old if key in base]
                refused, left = len(self.conflicts), len(self.left_out)
                merged[key] = self._column(versions, mine[key], other[key], scope, unified=key in unified.values())
                if not scope.labels:
                    top, sides = merged[key].physical, (mine[key], other[key])
                    if any(found.rule in ("incompatible", ADDED) for found in self.conflicts[refused:]):
                        self.apart[top] = sides
                    self.left_out[left:] = [replace(one, top=top, sides=sides) for one in self.left_out[left:]]
            elif key not in known:
                merged[key] = column
        for key in (known & other.keys()) - mine.keys():
            changed = (key in base and not _members_shown_alike((base[key],), (other[key],)) for base in old)
            self.set_aside |= any(changed)
        if not merged:
            self.refuse("empty", _labels(ours), _labels(theirs), None, scope.labels)
            return ours
        if not split:  # which already says what is wrong with these names
            self._check_names(merged, mine, scope)
        return _told_apart([merged[key] for key in _ordered(old, mine, other, merged)], ours)

    def _identities(
        self, bases: Sequence[Members], ours: Members, theirs: Members, scope: _Scope
    ) -> Callable[[Column], str]:
        """The same text for columns that are one. Where a side has two of one identity they count as two columns, and
        that is a conflict unless the other side has the same two, or none."""
        sides = (*bases, ours, theirs)
        pairs = [(column.physical, alias) for side in sides for column in side for alias in column.aliases]
        find = classes([*pairs, *inside(self.known, scope.names)])

        split: set[str] = set()
        for side in sides:
            seen: set[str] = set()
            for column in side:
                (split if find(column.physical) in seen else seen).add(find(column.physical))
        for name in sorted(split):
            mine = [column for column in ours if find(column.physical) == name]
            other = [column for column in theirs if find(column.physical) == name]
            if mine and other and {c.physical for c in mine} != {c.physical for c in other}:
                self.refuse("alias", _labels(mine), _labels(other), None, (*scope.labels, mine[0].label))

        def identity(column: Column) -> str:
            found = find(column.physical)
            return column.physical if found in split else found

        return identity

    def _column(self, bases: Sequence[Column], ours: Column, theirs: Column, scope: _Scope, *, unified: bool) -> Column:
        """Both heads have it; `bases` are the versions of the bases that have it."""
        inner = scope.within(ours, theirs)
        apart = not set(names_of(ours)) & set(names_of(theirs))
        if not bases and self.backwards and not apart:
            return ours  # which never lost what a REVERT would bring back
        if not bases:
            if scope.ours != scope.theirs and not apart and fold(ours.label) != fold(theirs.label):
                # Each side named this field in a struct of its own: two fields that files hold under one name.
                self.refuse("names", _shown(ours), _shown(theirs), None, inner.labels)
                return ours
            if apart and not _comparable(ours.type, theirs.type):
                self.set_aside = True
                self.beside[inner.theirs] = inner.ours
                nullable = ours.nullable and theirs.nullable
                if self.resolve is None:
                    self.refuse(ADDED, str(ours.type), str(theirs.type), None, inner.labels)
                    return replace(ours, nullable=nullable)
                taken, left = (theirs, ours) if self.resolve == "theirs" else (ours, theirs)
                paths = frozenset(path_to(parent, name) for parent in scope.names for name in names_of(left))
                self.left_out.append(LeftOut(inner.labels, ours.type, theirs.type, paths))
                return replace(taken, nullable=nullable)
        if unified:
            self.new_aliases[inner.theirs] = inner.ours
        label, default = ours.label, ours.write_default
        if bases or fold(label) != fold(theirs.label):
            label = three_way([base.label for base in bases], ours.label, theirs.label)
        if bases or ours.physical == theirs.physical:
            default = three_way([base.write_default for base in bases], ours.write_default, theirs.write_default)
        type_ = self._type([base.type for base in bases], ours.type, theirs.type, inner)
        if types.is_atomic(type_):  # a default that the merged type need not hold goes with its own
            taken = next((side for side in (ours, theirs) if side.type == type_), ours)
            left = theirs if taken is ours else ours
            default = default if types.widens(left.type, type_) else taken.write_default
        nullable = _stricter([base.nullable for base in bases], ours.nullable, theirs.nullable)
        self.set_aside |= theirs.nullable != nullable and any(base.nullable != theirs.nullable for base in bases)
        # Ours' id stays, unless theirs alone has another one than the bases.
        holder = theirs if bases and all(base.physical == ours.physical for base in bases) else ours
        return Column(
            label,
            type_,
            holder.physical,
            nullable,
            three_way([base.comment for base in bases] or [None], ours.comment, theirs.comment),
            holder.initial_default,
            default,
            _united([base.aliases for base in bases], ours, theirs, holder.physical),
        )

    def _type(self, bases: Sequence[DataType], ours: DataType, theirs: DataType, scope: _Scope) -> DataType:
        if ours == theirs:
            return ours
        if isinstance(ours, Struct) and isinstance(theirs, Struct):
            structs = [members_of(base) for base in bases if isinstance(base, Struct)]
            return struct_of(self.members(structs, members_of(ours), members_of(theirs), scope))
        if isinstance(ours, types.Array) and isinstance(theirs, types.Array):
            arrays = [base for base in bases if isinstance(base, types.Array)]
            return types.Array(
                self._type([base.element for base in arrays], ours.element, theirs.element, scope.step("element")),
                three_way([base.contains_null for base in arrays], ours.contains_null, theirs.contains_null),
            )
        if isinstance(ours, types.Map) and isinstance(theirs, types.Map):
            maps = [base for base in bases if isinstance(base, types.Map)]
            return types.Map(
                self._type([base.key for base in maps], ours.key, theirs.key, scope.step("key")),
                self._type([base.value for base in maps], ours.value, theirs.value, scope.step("value")),
                three_way([base.contains_null for base in maps], ours.contains_null, theirs.contains_null),
            )
        if bases and all(base == theirs for base in bases):
            return ours
        if types.widens(ours, theirs):
            return theirs
        wider = types.widens(theirs, ours)
        self.set_aside = True
        if self.resolve is None:
            before = " or ".join(sorted({str(base) for base in bases})) or None
            self.refuse("A6.1" if wider else "incompatible", str(ours), str(theirs), before, scope.labels)
        # The wider type holds the values of both sides, so it is the resolution whichever side is chosen; but who
        # undoes a widening wants the narrow one.
        return theirs if self.resolve == "theirs" and (self.backwards or not wider) else ours

    def _check_names(self, merged: Mapping[str, Column], mine: Mapping[str, Column], scope: _Scope) -> None:
        """Columns under the labels that ours has for them claim these first."""
        labels: dict[str, Column] = {}
        physical: dict[str, Column] = {}

        def claim(item: tuple[str, Column]) -> int:
            key, column = item
            return 2 if key not in mine else int(fold(mine[key].label) != fold(column.label))

        for _, column in sorted(merged.items(), key=claim):
            path = (*scope.labels, column.label)
            first = labels.setdefault(fold(column.label), column)
            if first is column:
                first = next((physical[n] for n in map(fold, names_of(column)) if n in physical), column)
            for name in names_of(column):
                physical.setdefault(fold(name), column)
            if first is not column:
                self.refuse("names", _shown(first), _shown(column), None, path)
            elif fold(column.label) in RESERVED_COLUMNS:
                self.refuse("names", "reserved", _shown(column), None, path)

    def spec(
        self,
        what: str,
        columns: Members,
        bases: Sequence[tuple[str, ...]],
        ours: tuple[str, ...],
        theirs: tuple[str, ...],
    ) -> tuple[str, ...]:
        """A key or partition spec in the physical names of the merged columns."""
        now = {name: column for column in columns for name in names_of(column)}

        def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(now[name].physical if name in now else name for name in names)

        old, mine, other = [renamed(base) for base in bases], renamed(ours), renamed(theirs)
        merged = three_way(old, mine, other)
        both = mine != other and not (old and (all(base == mine for base in old) or all(base == other for base in old)))
        if both or any(name not in now for name in merged):
            shown = [f"{what} ({', '.join(names)})" for names in (mine, other, *old[:1])]
            self.refuse("A7", shown[0], shown[1], shown[2] if old else None, ())
            return mine
        return merged


def _ordered(
    bases: Sequence[Mapping[str, Column]],
    ours: Mapping[str, Column],
    theirs: Mapping[str, Column],
    kept: Mapping[str, Column],
) -> list[str]:
    """The kept ones of both sides. If theirs moved some, theirs' order stands, else ours'; what the other side alone
    has comes after the one that it follows there: first if it follows none, last if that one is gone."""
    shared = ours.keys() & theirs.keys() & kept.keys()

    def moved(side: Mapping[str, Column]) -> bool:
        return any(
            [key for key in base if key in shared] != [key for key in side if key in shared and key in base]
            for base in bases
        )

    lead, follow = (theirs, ours) if moved(theirs) else (ours, theirs)
    placed = [key for key in lead if key in kept]
    before: str | None = None
    for key in follow:
        if key in kept and key not in lead:
            at = 0 if before is None else placed.index(before) + 1 if before in placed else len(placed)
            placed.insert(at, key)
        before = key
    return placed


def _told_apart(columns: Sequence[Column], ours: Members) -> Members:
    """With distinct labels: of two that have one (which is a conflict), that which ours has it for keeps it."""
    taken = {fold(column.label) for column in columns}
    if len(taken) == len(columns):
        return tuple(columns)
    mine = {(name, fold(column.label)) for column in ours for name in names_of(column)}

    def is_theirs(place: int) -> bool:
        return not any((name, fold(columns[place].label)) in mine for name in names_of(columns[place]))

    labels: dict[int, str] = {}
    for place in sorted(range(len(columns)), key=is_theirs):
        label = columns[place].label
        if fold(label) in map(fold, labels.values()):
            while fold(label) in taken:
                label = f"{label} (theirs)"
            taken.add(fold(label))
        labels[place] = label
    return tuple(replace(column, label=labels[place]) for place, column in enumerate(columns))


def _stricter(bases: Sequence[bool], ours: bool, theirs: bool) -> bool:
    """Whether NULL is allowed: as the side that changed it says; NOT NULL if both did and differ (A6.3 holds them)."""
    if bases and all(base == theirs for base in bases):
        return ours
    if bases and all(base == ours for base in bases):
        return theirs
    return ours and theirs


def _united(bases: Sequence[tuple[str, ...]], ours: Column, theirs: Column, physical: str) -> tuple[str, ...]:
    """All names of both sides but the physical one, in the order of theirs if ours left its aliases alone."""
    lead, follow = (theirs, ours) if bases and all(base == ours.aliases for base in bases) else (ours, theirs)
    names = dict.fromkeys((*lead.aliases, lead.physical, *names_of(follow)))
    return tuple(name for name in names if name != physical)


def _comparable(ours: DataType, theirs: DataType) -> bool:
    """Whether columns that were added apart can be one: one type widens to the other, and struct fields have the same
    labels and physical names, since a reader goes by these inside a struct."""
    if not (types.widens(ours, theirs) or types.widens(theirs, ours)):
        return False
    mine, other = (tuple(fold(f.label) for s in types.structs_in(type_) for f in s.fields) for type_ in (ours, theirs))
    return mine == other


def alike(one: Schema, other: Schema) -> bool:
    """The same schema, whatever its id."""
    return replace(one, id=other.id) == other


def shown_alike(one: Schema, other: Schema) -> bool:
    """The same to users: columns may go by other names in files, if they are known for one and the same."""

    def places(schema: Schema, names: tuple[str, ...]) -> list[int]:
        return [place for place, column in enumerate(schema.columns) if column.physical in names]

    return (
        _members_shown_alike(one.columns, other.columns)
        and places(one, one.primary_key) == places(other, other.primary_key)
        and places(one, one.partitioned_by) == places(other, other.partitioned_by)
    )


def _members_shown_alike(ours: Members, theirs: Members) -> bool:
    def told(column: Column) -> Column:
        return replace(column, physical="", aliases=(), type=types.STRING)

    return len(ours) == len(theirs) and all(
        told(mine) == told(its) and set(names_of(mine)) & set(names_of(its)) and _types_shown_alike(mine.type, its.type)
        for mine, its in zip(ours, theirs, strict=True)
    )


def _types_shown_alike(ours: DataType, theirs: DataType) -> bool:
    if isinstance(ours, Struct) and isinstance(theirs, Struct):
        return _members_shown_alike(members_of(ours), members_of(theirs))
    if isinstance(ours, types.Array) and isinstance(theirs, types.Array):
        return _types_shown_alike(ours.element, theirs.element)
    if isinstance(ours, types.Map) and isinstance(theirs, types.Map):
        return _types_shown_alike(ours.key, theirs.key) and _types_shown_alike(ours.value, theirs.value)
    return ours == theirs


def _labels(columns: Iterable[Column]) -> str:
    return ", ".join(column.label for column in columns)


def _shown(column: Column) -> str:
    return f"{column.label} {column.type}, stored as {column.physical}"
