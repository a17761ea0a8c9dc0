"""Keyed tables in the naive lake: a table is a list of flushes, a row is what the records of its key become.

Merges follow LAW.md, "Keyed tables", for every key that any side has, touched or not: bases, ours and theirs are
compared row by row, and what the merged list would not say by itself is one more flush. Engines: deduplicate, with a
sequence field too, first-row, partial-update that removes records on delete, or with a sequence group, and an
aggregation of a sum and a maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Key = tuple[int | None, ...]
Values = dict[int, Any]  # by column id
Record = tuple[str, Values]
CONFLICT = object()

KINDS = {"+I": "+", "+U": "+", "-D": "-", "-U": "-U"}
"""What users write -> kinds of records: + a row, - a delete. (= are fields that are set whatever was there.)"""


@dataclass(frozen=True)
class Rules:
    """A table's engine, the column that orders records before their arrival does, the functions of columns, and a
    sequence group: its sequence and the column that follows it."""

    engine: str
    sequence: int | None = None
    functions: dict[int, str] = field(default_factory=dict)
    group: tuple[int, int] | None = None
    ignores_deletes: bool = False

    @property
    def refuses(self) -> set[str]:
        """Kinds of records. (A maximum takes nothing back.)"""
        return {"first-row": {"-U", "-D"}, "aggregation": {"-U"}}.get(self.engine, set())

    @property
    def named(self) -> set[int | None]:
        """Columns that options speak of."""
        return {self.sequence, *self.functions, *(self.group or ())}

    @property
    def combines(self) -> bool:
        """Whether fields are compared one by one."""
        return self.engine in ("partial-update", "aggregation")

    def place(self, record: Record | None) -> tuple[bool, int]:
        """Where the sequence puts a record: NULL comes first."""
        value = None if record is None or self.sequence is None else record[1].get(self.sequence)
        return value is not None, value or 0


@dataclass(frozen=True, eq=False)
class Flush:
    """What one write brought to a partition: one record a key. `overwrites`: the scope that the write replaced.
    `types`: of the columns when it was written."""

    id: tuple[int, Any]
    records: dict[Key, Record] = field(default_factory=dict)
    partition: Any = None
    overwrites: Any = None
    types: dict[int, str] = field(default_factory=dict)


def reduced(rules: Rules, records: Sequence[Record]) -> Record:
    """The records of one key in one write, as one record. A delete before a row is never lost: nothing older counts."""
    records = sorted(records, key=rules.place)
    if rules.engine == "deduplicate" or len(records) == 1:
        return records[-1]
    row: Values | None = None
    removed = False
    for kind, values in records:
        if kind == "+":
            row = met(rules, row, values)
        elif kind == "-":
            row, removed = None, True
    if row is None:
        return ("-" if removed else "-U"), {}
    return ("=" if removed else "+"), row


def row_of(rules: Rules, columns: Sequence[Any], flushes: Sequence[Flush], key: Key) -> Values | None:
    """`columns`: those that are no part of the key. A row that begins with fields that are set has, of columns that
    came later, the value that rows of that time have."""
    row: Values | None = None
    holding = sorted((flush for flush in flushes if key in flush.records), key=lambda f: rules.place(f.records[key]))
    if len(holding) == 1 and holding[0].records[key][0] == "+":  # no function sees a record that is alone
        rules = Rules("deduplicate")
    for flush in holding:
        kind, values = flush.records[key]
        if kind == "-" or (kind == "-U" and rules.engine == "deduplicate"):
            row = None
        elif kind == "=":
            nothing = {column.id: None if column.id in flush.types else column.initial for column in columns}
            row = (row or nothing) | {id: value for id, value in values.items() if id in nothing}
        elif kind == "+":
            row = met(rules, row, {column.id: values.get(column.id, column.initial) for column in columns})
    return row


def records_of(rules: Rules, flushes: Sequence[Flush], key: Key) -> list[Record]:
    return sorted((flush.records[key] for flush in flushes if key in flush.records), key=rules.place)


def met(rules: Rules, row: Values | None, new: Values) -> Values:
    if rules.engine == "first-row":
        return new if row is None else row
    if rules.group is not None:
        return in_group(rules.group, row or dict.fromkeys(new), new)
    if rules.combines and row is not None:
        return row | {id: aggregated(rules, id, row[id], value) for id, value in new.items() if value is not None}
    return new


def in_group(group: tuple[int, int], row: Values, new: Values) -> Values:
    """The group's columns follow its sequence, NULLs too; the others are as ever."""
    sequence, column = group
    found = row | {id: value for id, value in new.items() if value is not None and id not in group}
    if new[sequence] is not None and (row[sequence] is None or new[sequence] >= row[sequence]):
        found |= {sequence: new[sequence], column: new[column]}
    return found


def aggregated(rules: Rules, id: int, old: Any, value: Any) -> Any:
    function = rules.functions.get(id)
    if function is None or old is None:
        return value
    return old + value if function == "sum" else max(old, value)


def all_keys(*lists: Sequence[Flush]) -> list[Key]:
    return sorted({key for flushes in lists for flush in flushes for key in flush.records}, key=repr)


# --- the law ----------------------------------------------------------------------------------------------------------


@dataclass
class Clash:
    """A key in conflict, and its row in each base and on both sides."""

    key: Key
    bases: list[Values | None]
    heads: tuple[Values | None, Values | None]


@dataclass
class FlushMerge:
    """`flushes`: the merged list, what was decided at its end."""

    flushes: tuple[Flush, ...]
    changed: bool
    clashes: list[Clash]


Sides = tuple[Sequence[Sequence[Flush]], Sequence[Flush], Sequence[Flush]]
"""Bases, ours and theirs."""


def merge_flushes(
    rules: Rules,
    columns: Sequence[Any],
    sides: Sides,
    overwrote: tuple[bool, bool],
    resolve: str | None,
    id: tuple[int, Any],
    returning: dict[int, str],
) -> FlushMerge:
    """One partition. `overwrote`: whether ours, and theirs, replaced all of it since the base. `id`: of the decided.
    `returning`: columns that bases and one side have dropped, and the side that has them."""
    bases, ours, theirs = sides
    merged = merged_list(sides, theirs_overwrote=overwrote[1])
    common = set.intersection(*(set(ids(base)) for base in bases))
    apart = {id for base in bases for id in ids(base) if (id in ids(ours)) != (id in ids(theirs))} - common
    moves = ids(merged) != ids(ours) or bool(apart)
    alike = [as_both_have_it(base, ours, theirs) for base in bases]
    new = [f for f in (*ours, *theirs) if (f.id in ids(ours)) != (f.id in ids(theirs)) and f.id not in common]
    decided: dict[Key, Record] = {}
    changed, clashes = set(ids(merged)) != set(ids(ours)) or bool(apart), []

    def taken(key: Key) -> bool:
        return any(key in f.records for base in alike for f in base if f.id not in ids(ours))

    def added(key: Key) -> bool:
        return any(key in f.records for f in new if f in theirs)

    def without(key: Key) -> bool:
        """Whether a flush that is new to a side knows nothing of a column that this side has."""
        news = ((f, id) for id, side in returning.items() for f in merged if f.id not in ids(having(side)))
        return any(id not in f.types and key in f.records for f, id in news)

    def having(side: str) -> Sequence[Flush]:
        return ours if side == "OURS" else theirs

    def touched(side: Sequence[Flush], key: Key) -> bool:
        """Whether a side has a flush of the key that a base has not, or the other way round."""
        return any(key in f.records and (f in base) != (f in side) for base in bases for f in (*base, *side))

    for key in all_keys(*bases, ours, theirs):
        crossed = out_of_order(ours, theirs, key)
        if not moves and not crossed and not without(key):
            continue
        was = [base_row(rules, columns, (base, ours, theirs), key, crossed) for base in bases]
        here, there, all_say = (row_of(rules, columns, side, key) for side in (ours, theirs, merged))
        kept = row_of(rules, columns, [f for f in theirs if f.id in ids(merged)], key)
        # Where one side alone moved, its records say themselves what it shows in a column that the schema dropped.
        contested = (touched(ours, key) and touched(theirs, key)) or crossed or without(key)
        for column, side in returning.items() if contested else ():  # nobody changed what it did not have
            known = here if side == "OURS" else there
            for row in (*was, here, there, kept):
                if known is not None and row is not None:
                    row[column] = known[column]
        last = [(records_of(rules, side, key) or [None])[-1] for side in (ours, theirs, merged)]
        lists = (ours, theirs, merged, alike)
        fixed = fixed_fields(columns, lists, key, [f.id for f in new], apart)
        held = (id for id, side in returning.items() if (here if side == "OURS" else there) is not None)
        fixed |= set(held) if contested else set()
        case = Case(
            rules, was, here, there, all_say, [rules.place(record) for record in last], fixed, last[2] is not None
        )
        if overwrote[1]:  # (flushes that ours took away, and theirs left as they were, stay away)
            found = kept
        elif overwrote[0] and any(row is not None for row in was) and taken(key) and added(key):
            found = here  # A4, A5: what theirs did to a row that ours overwrote
        else:
            found = case.decide(resolve)
            changed |= here != there and any(there != row for row in was)
        if found is CONFLICT:
            clashes.append(Clash(key, was, (here, there)))
        elif found != all_say:
            decided[key] = record(rules, found, all_say, last[2])
    extra = (Flush(id, decided, id[1], types={column.id: column.type for column in columns}),) if decided else ()
    return FlushMerge((*merged, *extra), changed, clashes)


def ids(flushes: Sequence[Flush]) -> list[tuple[int, Any]]:
    return [flush.id for flush in flushes]


def merged_list(sides: Sides, *, theirs_overwrote: bool) -> list[Flush]:
    """What theirs added comes after ours', what it removed goes; where ours did not move, theirs' list as it is."""
    bases, ours, theirs = sides
    if len(bases) == 1 and ids(ours) == ids(bases[0]) + [id for id in ids(theirs) if id in set(ids(ours)) - had(bases)]:
        return list(theirs)
    known = set.intersection(*(set(ids(base)) for base in bases))
    here, there = set(ids(ours)), set(ids(theirs))
    kept = [f for f in ours if f.id in there or (f.id not in known and not theirs_overwrote)]
    return kept + [f for f in theirs if f.id not in here and f.id not in known]


def had(bases: Sequence[Sequence[Flush]]) -> set[tuple[int, Any]]:
    return {id for base in bases for id in ids(base)}


def as_both_have_it(base: Sequence[Flush], ours: Sequence[Flush], theirs: Sequence[Flush]) -> list[Flush]:
    """The base as if what both heads did alike had been done before."""
    mine, other = set(ids(ours)), set(ids(theirs))
    return [f for f in base if f.id in mine | other] + [f for f in theirs if f.id in mine - had([base])]


def out_of_order(ours: Sequence[Flush], theirs: Sequence[Flush], key: Key) -> set[tuple[int, Any]]:
    """Flushes of a key that the heads have in another order than one of the others."""
    here, there = ([f.id for f in side if key in f.records] for side in (ours, theirs))
    common = [id for id in here if id in there]
    pairs = [(one, two) for at, one in enumerate(common) for two in common[at:] if there.index(one) > there.index(two)]
    return {id for pair in pairs for id in pair}


def fixed_fields(
    columns: Sequence[Any],
    lists: tuple[Sequence[Flush], Sequence[Flush], Sequence[Flush], Sequence[Sequence[Flush]]],
    key: Key,
    new: Sequence[tuple[int, Any]],
    apart: set[tuple[int, Any]],
) -> set[int]:
    """Fields of which even what commutes depends on the order: those that a new record sets, all of them where one
    removes the key; where records have changed places, any record; and all where bases disagree on one."""
    ours, theirs, merged, bases = lists
    pairs = [(merged, theirs), *((base, head) for base in bases for head in (ours, theirs))]
    moved = any(out_of_order(one, other, key) for one, other in pairs)
    held = {f.id: f.records[key] for f in (*ours, *theirs, *merged) if key in f.records}
    seen = [record for id, record in held.items() if id in new or (moved and id in ids(merged))]
    every = {column.id for column in columns}
    if any(kind == "-" for kind, _ in seen) or any(key in f.records for f in (*ours, *theirs) if f.id in apart):
        return every
    return {id for kind, values in seen if kind == "=" for id in values} & every


def base_row(
    rules: Rules,
    columns: Sequence[Any],
    sides: tuple[Sequence[Flush], Sequence[Flush], Sequence[Flush]],
    key: Key,
    crossed: set[tuple[int, Any]],
) -> Values | None:
    """With what both heads have alike; without what they have in another order, where that shows."""
    base, ours, theirs = sides
    both = as_both_have_it(base, ours, theirs)
    shared = [f for f in ours if f.id in ids(both) and f.id not in had([base])]
    again = iter(shared)
    mirrored = [next(again) if f in shared else f for f in both]
    before = [f for f in both if f.id in had([base]) or f.id not in crossed]
    there, here, was = (row_of(rules, columns, flushes, key) for flushes in (both, mirrored, before))
    if rules.combines and here is not None and there is not None:
        return {id: there[id] if there[id] == here[id] else (was or {}).get(id) for id in there}
    return there if there == here else was


def record(rules: Rules, found: Values | None, said: Values | None, last: Record | None) -> Record:
    if found is None:  # what decides comes last, so it has the sequence of what would be last without it
        return "-", {rules.sequence: last[1].get(rules.sequence)} if last and rules.sequence is not None else {}
    if rules.engine == "deduplicate":
        return "+", found
    return "=", {id: value for id, value in found.items() if said is None or said[id] != value}


@dataclass
class Case:
    """One key on all sides. `places`: where the sequence puts the last record of ours, theirs and the merged list.
    `fixed`: fields that do not commute, whatever their function. `recorded`: the merged list has a record."""

    rules: Rules
    bases: list[Values | None]
    ours: Values | None
    theirs: Values | None
    merged: Values | None
    places: list[tuple[bool, int]]
    fixed: set[int]
    recorded: bool

    def decide(self, resolve: str | None) -> Any:
        bases, ours, theirs = self.bases, self.ours, self.theirs
        if self.rules.engine == "first-row":
            return net(bases, ours, theirs, "OURS")
        if self.rules.sequence is not None:
            return self.by_sequence(resolve)
        apart = len({base is None for base in bases}) > 1
        lacking = bases[0] is not None or apart
        if self.rules.engine == "deduplicate" or (lacking and (ours is None) != (theirs is None)):
            return net(bases, ours, theirs, resolve)
        if ours is None and theirs is None:
            return None
        fields = {id: self.field(id, resolve) for id in (ours or theirs or {})}
        if self.rules.group is not None:
            fields |= self.by_group(self.rules.group, resolve)
        if CONFLICT in fields.values():
            return CONFLICT
        return fields if self.recorded or any(value is not None for value in fields.values()) else None

    def field(self, id: int, resolve: str | None) -> Any:
        if id in self.rules.functions and id not in self.fixed:  # both commute
            return (self.merged or {}).get(id)
        was, ours, theirs = [(base or {}).get(id) for base in self.bases], *((r or {}).get(id) for r in self.heads)
        return net(was, ours, theirs, resolve)

    @property
    def heads(self) -> tuple[Values | None, Values | None]:
        return self.ours, self.theirs

    def by_group(self, group: tuple[int, int], resolve: str | None) -> Values:
        """Two changes go to the larger sequence."""
        *was, ours, theirs = (tuple((row or {}).get(id) for id in group) for row in (*self.bases, *self.heads))
        found = net(was, ours, theirs, None)
        if found is CONFLICT:
            here, there = ((pair[0] is not None, pair[0] or 0) for pair in (ours, theirs))
            side = None if here == there else "OURS" if here > there else "THEIRS"
            found = net(was, ours, theirs, side or resolve)
        return dict.fromkeys(group, CONFLICT) if found is CONFLICT else dict(zip(group, found, strict=True))

    def by_sequence(self, resolve: str | None) -> Any:
        """The larger sequence wins; a row that is behind what is there cannot be decided for."""
        here, there, all_say = self.places
        found = net(self.bases, self.ours, self.theirs, None)
        takes = found is not CONFLICT and found == self.theirs and found != self.ours
        if found is CONFLICT and here != there:
            takes = there > here
            found = self.theirs if takes else self.ours
        elif found is CONFLICT and resolve:
            takes = resolve == "THEIRS"
            found = self.theirs if takes else self.ours
        behind = all_say > (there if takes else here)
        present = (self.theirs if takes else self.ours) is not None
        return self.merged if behind and present else found


def net(bases: Sequence[Any], ours: Any, theirs: Any, resolve: str | None) -> Any:
    """Where bases disagree, both sides changed it."""
    disagree = any(base != bases[0] for base in bases)
    if ours == theirs or (theirs == bases[0] and not disagree):
        return ours
    if ours == bases[0] and not disagree:
        return theirs
    return {None: CONFLICT, "OURS": ours, "THEIRS": theirs}[resolve]
