"""LAW.md as plain code over full states: read it page in hand, rule by rule. Rows of keyed tables are in `keyed.py`.

`merge(bases, ours, theirs)` replays on ours what theirs did since the base. It gives the merged state, or the conflicts
with what each is about. There are several bases only after a criss-cross: what they disagree on counts as changed on
both sides. Where LAW.md leaves the outcome of a RESOLVE open, `Undecided` is raised and a history leaves the step out.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from . import keyed
from .state import Column, Database, Row, Scope, Setting, State, Table, Test, Write

WIDER = {
    "SMALLINT": {"INT", "BIGINT", "DOUBLE"},
    "INT": {"BIGINT", "DOUBLE"},
    "BIGINT": set(),
    "DOUBLE": set(),
}


class Undecided(Exception):
    """LAW.md does not say."""


Shown = tuple[tuple[str, Any], ...]  # a row as people see it: labels and values


@dataclass(frozen=True)
class Found:
    """A conflict. `of`: the column, property or key that it is about, if any; the sides are rows, counts of rows or
    names of operations, as the rule has it; None: nothing to tell. `id`: of the object, with its kind."""

    id: tuple[str, int]
    object: str
    rule: str
    of: Any = None
    base: Any = None
    ours: Any = None
    theirs: Any = None


GONE = "gone"
"""What a side shows that has the row no more."""
UNKNOWN: Any = object()
SEVERAL = "several"
"""What rows were where several bases each say something."""


@dataclass
class Merged:
    state: State
    theirs_changed: bool = False  # False: up to date, no commit
    conflicts: list[Found] = field(default_factory=list)
    aliases: set[tuple[int, int]] = field(default_factory=set)  # (theirs' column, ours' column)


@dataclass
class How:
    detect: str | None
    resolve: str | None
    predicates: bool
    backwards: bool  # theirs is older than the base: no statement of its was run since
    numbers: Any
    ancient: frozenset[tuple[int, int]]  # rows that the bases' histories have known, there or not
    ran: frozenset[int]  # statements that all bases' histories have


def merge(
    bases: list[State],
    ours: State,
    theirs: State,
    *,
    numbers: Any,
    detect: str | None = None,
    resolve: str | None = None,
    predicates: bool = True,
    backwards: bool = False,
    aliases: set[tuple[int, int]] = frozenset(),
    ancient: frozenset[tuple[int, int]] = frozenset(),
    ran: frozenset[int] = frozenset(),
) -> Merged:
    merged = Merged(State({}, {}, ours.dropped | theirs.dropped))
    how = How(detect, resolve, predicates, backwards, numbers, ancient, ran)
    for id in {**ours.databases, **theirs.databases}:
        merge_database(id, bases, ours, theirs, merged, how)
    for id in {**ours.tables, **theirs.tables}:
        merge_existence(id, bases, ours, theirs, merged, how, aliases)
    check_parents(ours, theirs, merged, how)
    check_names(merged)
    return merged


# --- three-way, for anything that is one value -----------------------------------------------------------------------

ABSENT = object()


def moved(bases: list[Any], head: Any) -> bool:
    """Did this side change it since the base? What the bases disagree on, both sides changed."""
    return not bases or any(base != head for base in bases)


def theirs_counts(bases: list[Any], ours: Any, theirs: Any) -> bool:
    """What both heads have alike leaves both deltas."""
    return theirs != ours and moved(bases, theirs)


def pick(bases: list[Any], ours: Any, theirs: Any) -> Any:
    """Replay theirs: where both changed it, theirs is the value."""
    return theirs if theirs_counts(bases, ours, theirs) else ours


# --- databases, properties, names ------------------------------------------------------------------------------------


def merge_database(id: int, bases: list[State], ours: State, theirs: State, merged: Merged, how: How) -> None:
    """LAW.md, "Databases"."""
    known = [base.databases[id] for base in bases if id in base.databases]
    our, their = ours.databases.get(id), theirs.databases.get(id)
    if their is None:
        if known:  # row `drop`: theirs dropped it, which never conflicts
            merged.theirs_changed |= our is not None
        else:
            merged.state.databases[id] = our.copy()
    elif our is None and not known:  # new on theirs: the same id
        merged.state.databases[id] = their.copy()
        merged.theirs_changed = True
    elif our is None:  # column `drop`: ours dropped it
        done = operations_on_database(known, their) | ({"create"} if len(known) < len(bases) else set())
        if done:
            if how.resolve:
                raise Undecided("a dropped database")
            merged.conflicts.append(Found(("database", id), their.name, "drop", theirs=done))
    else:
        names = [base.name for base in known]
        properties, twice = merge_properties([base.properties for base in known], our.properties, their.properties)
        if twice and not how.backwards:  # (going back, it is done already)
            told = [Found(("database", id), our.name, "unset", *of) for of in sorted(twice)]
            merged.conflicts += [] if how.resolve else told
            merged.theirs_changed |= bool(how.resolve)  # settled once, it does not conflict again
        merged.state.databases[id] = Database(pick(names, our.name, their.name), properties)
        merged.theirs_changed |= theirs_counts(names, our.name, their.name) or properties != our.properties


def operations_on_database(bases: list[Database], theirs: Database) -> frozenset[str]:
    """What theirs did that meets a drop of ours."""
    done = set()
    for base in bases:
        done |= {"rename"} if base.name != theirs.name else set()
        done |= {"set properties"} if not theirs.properties.items() <= base.properties.items() else set()
        done |= {"unset properties"} if base.properties.keys() - theirs.properties.keys() else set()
    return frozenset(done)


def merge_properties(bases: list[dict], ours: dict, theirs: dict) -> tuple[dict, list[tuple[str, str]]]:
    """A0: both set: theirs' value. Both unset the same key: conflict (the second of the pair, with the value that is
    lost). What one of several bases lacks was unset before."""
    merged, twice = {}, []
    for key in {key for side in (*bases, ours, theirs) for key in side}:
        was = [base.get(key, ABSENT) for base in bases] or [ABSENT]
        value = pick(was, ours.get(key, ABSENT), theirs.get(key, ABSENT))
        if value is not ABSENT:
            merged[key] = value
        elif key not in ours and key not in theirs and ABSENT not in was:
            twice.append((key, was[0]))
    return merged, twice


def check_parents(ours: State, theirs: State, merged: Merged, how: How) -> None:
    """LAW.md, "Names and existence": a table cannot stay in a database that is gone."""
    for id, table in list(merged.state.tables.items()):
        if table.database in merged.state.databases:
            continue
        if table.database in ours.databases:  # theirs dropped the database
            if id in theirs.tables and how.resolve == "THEIRS":  # ours moved it there, and it goes back
                table.database, table.name = theirs.tables[id].database, theirs.tables[id].name
                merged.theirs_changed = True
            elif theirs.dropped.get(table.database) and id not in theirs.tables:  # CASCADE: ours' new tables go too
                del merged.state.tables[id]
            elif how.resolve == "THEIRS":
                del merged.state.tables[id]
                merged.theirs_changed = True
            elif how.resolve == "OURS":
                merged.state.databases[table.database] = ours.databases[table.database].copy()
                merged.theirs_changed = True
            else:
                found = Found(("database", table.database), ours.databases[table.database].name, "drop-with-tables")
                merged.conflicts += [found] if found not in merged.conflicts else []
        elif how.resolve:
            raise Undecided("a table whose database ours dropped")
        else:  # ours dropped it: any change to a table in it conflicts
            merged.conflicts.append(Found(("table", id), theirs.full_name(id), "parent"))


def check_names(merged: Merged) -> None:
    """After a merge names are unique in their parent; case does not count."""
    databases: dict[str, int] = {}
    for id, database in merged.state.databases.items():
        if databases.setdefault(database.name.lower(), id) != id:
            merged.conflicts.append(Found(("database", id), database.name, "name"))
    tables: dict[tuple[int, str], int] = {}
    for id, table in merged.state.tables.items():
        if tables.setdefault((table.database, table.name.lower()), id) != id:
            merged.conflicts.append(Found(("table", id), merged.state.full_name(id), "name"))


# --- tables ----------------------------------------------------------------------------------------------------------


def merge_existence(
    id: int,
    bases: list[State],
    ours: State,
    theirs: State,
    merged: Merged,
    how: How,
    aliases: set[tuple[int, int]],
) -> None:
    """Row and column `drop` of the matrix; tables new on one side."""
    known = [base.tables[id] for base in bases if id in base.tables]
    our, their = ours.tables.get(id), theirs.tables.get(id)
    tables = merged.state.tables
    if their is None:
        if known:  # theirs dropped: dropped, whatever ours did
            merged.theirs_changed |= our is not None
        else:
            tables[id] = our.copy()
    elif our is None and not known:  # new on theirs: joins with the same id
        tables[id] = their.copy()
        merged.theirs_changed = True
    elif our is None:  # ours dropped: any change of theirs conflicts; A8: a rewrite is no change
        detect = how.detect or their.properties.get("merge.detect") or "file"
        disputed = len(known) < len(bases)
        if disputed or not unchanged(known, their, detect):
            if how.resolve == "THEIRS":  # revives the table
                tables[id] = their.copy()
                merged.theirs_changed = True
            elif how.resolve == "OURS":
                merged.theirs_changed = True
            else:
                done = operations_on_table(known, their, detect) | ({"create"} if disputed else set())
                merged.conflicts.append(Found(("table", id), theirs.full_name(id), "drop", theirs=done))
    else:
        name = ours.full_name(id)
        # Everything is read with the columns' identities as ours has them.
        ids, doubled = same_columns(aliases, our, their)
        known, our, their = [with_ids(base, ids) for base in known], with_ids(our, ids), with_ids(their, ids)
        found = TableMerge(name, known or [with_ids(our.created, ids)], our, their, how)
        found.disputed = 0 < len(known) < len(bases)
        found.unborn = not known
        try:
            tables[id] = found.run()
        except Undecided:
            if not doubled:
                raise
            tables[id] = our
        merged.theirs_changed |= found.theirs_changed
        told = [Found(("table", id), name, "alias")] if doubled else []
        # (Two columns that should be one have each other's names: the alias says what is wrong with them.)
        told += [one for one in found.conflicts if not doubled or one.rule != "name"]
        merged.conflicts += [replace(one, id=("table", id), object=name) for one in told]
        merged.aliases |= found.aliases


def operations_on_table(bases: list[Table], theirs: Table, detect: str) -> frozenset[str]:
    """What theirs did that meets a drop of ours."""
    done = set()
    for base in bases:
        done |= {"rename"} if (base.database, base.name) != (theirs.database, theirs.name) else set()
        done |= {"properties"} if base.properties != theirs.properties else set()
        as_was = replace(theirs, database=base.database, name=base.name, properties=base.properties)
        done |= set() if unchanged([base], as_was, detect) else {"rows or columns"}
    return frozenset(done)


def unchanged(bases: list[Table], head: Table, detect: str, dead: bool = False) -> bool:
    """Is the table what it was? Under `file` row versions are compared, else the values that they show.

    `dead`: rows that came and went since then are a difference too, and so is the order of flushes.
    """

    def look(table: Table) -> Any:
        rows = {row.origin: row.version if detect == "file" else row.shown(head.columns) for row in table.alive}
        rows |= {row.origin: None for row in table.rows.values() if dead and not row.alive}
        if table.key:
            flushes = keyed.ids(table.flushes)
            rows = (flushes, set(table.gone)) if dead else set(flushes)  # theirs' order alone is no change
        columns = {column.id: column for column in table.columns}
        return table.database, table.name, columns, table.properties, table.partitions, rows

    return all(look(base) == look(head) for base in bases)


# --- the identity of columns -----------------------------------------------------------------------------------------


def same_columns(aliases: set[tuple[int, int]], ours: Table, theirs: Table) -> tuple[dict[int, int], bool]:
    """For each column that a merge once unified with another: its id here (ours' where ours has one).

    True, where one side has both as two columns; these keep their ids.
    """
    groups: list[set[int]] = []
    for alias in aliases:
        joined = set(alias).union(*(group for group in groups if group & set(alias)))
        groups = [group for group in groups if not group & joined] + [joined]
    ids, doubled = {}, False
    for group in groups:
        here = [column.id for column in ours.columns if column.id in group]
        there = [column.id for column in theirs.columns if column.id in group]
        if len(here) > 1 or len(there) > 1:
            doubled = True
            continue
        ids |= dict.fromkeys(group, (here + there + sorted(group))[0])
    return ids, doubled


def with_ids(table: Table, ids: dict[int, int]) -> Table:
    """The same table, its columns known by other ids."""
    if not ids:
        return table.copy()
    done: dict[int, Row] = {}

    def column(old: Column | None) -> Column | None:
        return old and replace(old, id=ids.get(old.id, old.id))

    def write(old: Write) -> Write:
        where = tuple(Test(column(test.column), test.op, test.value) for test in old.where)
        sets = old.sets and tuple(Setting(column(part.column), part.value, column(part.source)) for part in old.sets)
        return replace(old, where=where, sets=sets)

    def row(old: Row | None) -> Row | None:
        if old is not None and id(old) not in done:
            values = {ids.get(key, key): value for key, value in old.values.items()}
            types = {ids.get(key, key): type_ for key, type_ in old.types.items()}
            left = tuple(map(row, old.left))
            done[id(old)] = replace(
                old, values=values, write=write(old.write), before=row(old.before), types=types, left=left
            )
        return old and done[id(old)]

    def flush(old: keyed.Flush) -> keyed.Flush:
        records = {
            key: (kind, {ids.get(id, id): value for id, value in values.items()})
            for key, (kind, values) in old.records.items()
        }
        return replace(old, records=records, types={ids.get(id, id): type_ for id, type_ in old.types.items()})

    rows = {origin: row(old) for origin, old in table.rows.items()}
    flushes = tuple(map(flush, table.flushes))
    return replace(table.copy(), columns=[column(old) for old in table.columns], rows=rows, flushes=flushes)


# --- one table that both sides have ----------------------------------------------------------------------------------


class TableMerge:
    disputed = False  # the bases disagree on whether the table exists
    unborn = False  # no base has it
    returning: frozenset[int] | set[int] = frozenset()  # merged columns that ours lacks
    left_behind: frozenset[int] | set[int] = frozenset()  # merged columns that theirs lacks

    def __init__(self, name: str, bases: list[Table], ours: Table, theirs: Table, how: How) -> None:
        self.name, self.bases, self.ours, self.theirs, self.how = name, bases, ours, theirs, how
        habit = ours.properties.get("merge.detect") or theirs.properties.get("merge.detect")
        self.detect = how.detect or habit or "file"
        self.conflicts: list[Found] = []
        self.aliases: set[tuple[int, int]] = set()
        self.theirs_changed = False
        self.undone: dict[tuple[int, int], Row] = {}  # ours' versions of rows that theirs took back

    def run(self) -> Table:
        if self.unborn and self.ours.key:
            raise Undecided("a keyed table that the base does not have")
        if self.bases and not self.disputed and unchanged(self.bases, self.ours, "file", dead=True):
            # A table that ours did not change takes theirs' state as it is (if there is a commit at all).
            self.theirs_changed = not unchanged(self.bases, self.theirs, self.detect) or self.order_shows()
            return self.without_passing(self.theirs)
        self.unify_columns()
        table = self.ours.copy()
        self.merge_name(table)
        self.merge_properties(table)
        self.merge_partitions(table)
        self.merge_columns(table)
        self.merge_rows(table)
        return table

    def without_passing(self, table: Table) -> Table:
        """Rows that came and went since the base are nothing, and so are versions of rows that are gone."""
        base = {origin: row for known in reversed(self.bases) for origin, row in known.rows.items()}
        rows = {origin: row for origin, row in self.ours.rows.items() if not row.alive}  # had, all the same
        for origin, row in table.rows.items():
            before = base.get(origin)
            if row.alive:
                rows[origin] = row
            elif before:
                same = before.version == row.version
                rows[origin] = self.ours.rows[origin] if same else before.killed(self.as_ours(row.write))
        stand = {scope.of for scope in self.newly_overwrote()} | {write.id for write in self.overwrites()}
        return replace(
            table,
            rows=rows,
            gone=self.gone(table.flushes),
            ever=self.ours.ever | table.ever,
            overwrites=self.overwrites_gone_back if self.how.backwards else self.ours.overwrites | stand,
        )

    def conflict(
        self, rule: str, of: Any = None, *, base: Any = None, ours: Any = None, theirs: Any = None, data: bool = False
    ) -> None:
        if self.how.resolve and not data:
            raise Undecided(f"RESOLVE USING {self.how.resolve} of {rule}")
        if not self.how.resolve:
            self.conflicts.append(Found(("", 0), "", rule, of, base, ours, theirs))

    def merge_name(self, table: Table) -> None:
        """Both renamed: theirs' name. A move to another database is another attribute."""
        for attribute in ("database", "name"):
            known = [getattr(base, attribute) for base in self.bases]
            ours, theirs = getattr(self.ours, attribute), getattr(self.theirs, attribute)
            setattr(table, attribute, pick(known, ours, theirs))
            self.theirs_changed |= theirs_counts(known, ours, theirs)

    def merge_properties(self, table: Table) -> None:
        """A0."""
        bases = [base.properties for base in self.bases]
        table.properties, twice = merge_properties(bases, self.ours.properties, self.theirs.properties)
        self.theirs_changed |= table.properties != self.ours.properties
        for of in [] if self.how.backwards else sorted(twice):
            self.conflict("A0", of[0], base=of[1], data=True)
            self.theirs_changed |= bool(self.how.resolve)

    def merge_partitions(self, table: Table) -> None:
        """A partition is there or not, so both sides can only change it alike; but what bases disagree on, both have
        changed, and A7 if they differ."""
        for value in self.ours.partitions | self.theirs.partitions:
            bases = [value in base.partitions for base in self.bases] or [False]
            ours, theirs = value in self.ours.partitions, value in self.theirs.partitions
            there = pick(bases, ours, theirs)
            if ours != theirs and len(set(bases)) > 1:
                there = ours if self.how.resolve == "OURS" else theirs
                if self.how.resolve is None:
                    self.conflict("A7", "NULL" if value is None else str(value))
            table.partitions = table.partitions - {value} | ({value} if there else set())
        self.theirs_changed |= table.partitions != self.ours.partitions

    # --- columns: A6 -------------------------------------------------------------------------------------------------

    def merge_columns(self, table: Table) -> None:
        ours = {column.id: column for column in self.ours.columns}
        theirs = {column.id: column for column in self.theirs.columns}
        table.columns = []
        for id in {**ours, **theirs}:
            known = [column for base in self.bases for column in base.columns if column.id == id]
            our, their = ours.get(id), theirs.get(id)
            if our and their:
                table.columns.append(self.merge_column(known, our, their))
            elif not known:  # added on one side
                table.columns.append(our or their)
                self.theirs_changed |= their is not None
            else:  # dropped on one side: dropped, even if the other renamed or widened it
                dropped_on_theirs = their is None
                self.theirs_changed |= dropped_on_theirs or any(column != their for column in known)
        labels = [column.label.lower() for column in table.columns]
        for label in sorted(set(labels)):
            for _ in range(labels.count(label) - 1):
                self.conflict("name", label)

    def unify_columns(self) -> None:
        """The same name added on both sides is one column; theirs' id becomes an alias of ours'."""
        known = {column.id for base in self.bases for column in base.columns}
        here, there = ({column.id for column in side.columns} for side in (self.ours, self.theirs))
        for theirs in self.theirs.columns:
            for ours in self.ours.columns:
                added = theirs.id not in known | here and ours.id not in known | there
                if added and theirs.label.lower() == ours.label.lower():
                    self.aliases.add((theirs.id, ours.id))
        ids = dict(self.aliases)
        if ids:
            self.theirs_changed = True
            self.theirs = with_ids(self.theirs, ids)
            # Dead rows of a base may hold them, and versions that ours picked without their column.
            self.ours = with_ids(self.ours, ids)
            self.bases = [with_ids(base, ids) for base in self.bases]

    def merge_column(self, known: list[Column], ours: Column, theirs: Column) -> Column:
        if self.how.backwards and not known and ours.id == theirs.id:
            return ours  # it never lost what a REVERT would bring back

        def three_way(attribute: str) -> Any:
            was = [getattr(column, attribute) for column in known]
            our, their = getattr(ours, attribute), getattr(theirs, attribute)
            self.theirs_changed |= theirs_counts(was, our, their)
            return pick(was, our, their)

        type_ = three_way("type")
        if type_ != ours.type and type_ not in WIDER[ours.type]:
            # Ours' type is wider than the one that theirs chose, or neither holds the other.
            self.conflict("A6.1", ours.label.lower())
        if any(ours.id == our for _, our in self.aliases):  # unified: ours' id and default stay
            return replace(ours, type=type_, nullable=ours.nullable and theirs.nullable)
        if not known and ours.label.lower() == theirs.label.lower():  # unified before, by a pick: likewise
            self.theirs_changed |= ours.nullable and not theirs.nullable
            return replace(ours, type=type_, nullable=ours.nullable and theirs.nullable)
        nullable = three_way("nullable")
        if len({column.nullable for column in known}) > 1:
            nullable = ours.nullable and theirs.nullable  # both sides changed it: a NOT NULL is not lost
        label, default, initial = three_way("label"), three_way("default"), three_way("initial")
        return replace(ours, label=label, type=type_, nullable=nullable, default=default, initial=initial)

    # --- rows --------------------------------------------------------------------------------------------------------

    def merge_keys(self, table: Table) -> None:
        """LAW.md, "Keyed tables". Partitions share no key, so each is merged for itself."""
        known = [keyed.ids(base.flushes) for base in self.bases]
        if all(flushes == keyed.ids(self.theirs.flushes) for flushes in known) and not self.returning_to(table):
            return
        bases = [self.with_alike(base.flushes) for base in self.bases]
        sides = [*bases, self.ours.flushes, self.theirs.flushes]
        scopes = self.overwrote(self.ours), self.newly_overwrote()
        number = next(self.how.numbers)
        labels = {column.id: column.label for column in table.columns}
        flushes: list[keyed.Flush] = []
        for partition in sorted({flush.partition for side in sides for flush in side}, key=repr):
            inside = [tuple(f for f in side if f.partition == partition) for side in sides]
            found = keyed.merge_flushes(
                table.rules,
                table.fields,
                (inside[:-2], *inside[-2:]),
                tuple(any(scope.covers(partition) for scope in side) for side in scopes),
                self.how.resolve,
                (number, partition),
                self.returning_to(table),
            )
            self.theirs_changed |= found.changed
            flushes += found.flushes
            for clash in found.clashes:
                key = dict(zip(table.key, clash.key, strict=True))
                base, ours, theirs = (told(labels, row and key | row) for row in (clash.bases[0], *clash.heads))
                rule = f"{did(base, theirs)}/{did(base, ours)}"
                if len(clash.bases) > 1:
                    base, rule = SEVERAL, "key"
                self.conflicts.append(Found(("", 0), "", rule, told(labels, key), base, ours, theirs))
        table.flushes = tuple(flushes)
        self.check_types(table, [flush.types for flush in flushes])
        table.gone = self.gone(table.flushes)
        if self.how.backwards:
            table.overwrites = self.overwrites_gone_back
        else:
            table.overwrites |= {scope.of for scope in scopes[1]}

    def returning_to(self, table: Table) -> dict[int, str]:
        """Columns that bases and one side have dropped, though flushes of the bases hold them: who has them."""
        ours, theirs, *bases = (
            {column.id for column in side.columns} for side in (self.ours, self.theirs, *self.bases)
        )
        held = {id for base in self.bases for flush in base.flushes for id in flush.types} - set().union(*bases)
        fields = {column.id for column in table.fields}
        return {id: "OURS" if id in ours else "THEIRS" for id in held & fields & (ours ^ theirs)}

    def order_shows(self) -> bool:
        """Whether theirs' order of flushes makes other rows than ours'."""
        here, there = ({row.origin: row.values for row in side.alive} for side in (self.ours, self.theirs))
        return bool(self.ours.key) and here != there

    def gone(self, flushes: tuple[keyed.Flush, ...]) -> dict[tuple[int, Any], Scope | None]:
        """What ours had and has no more, of all that it had; what theirs took back was never had."""
        there = {flush.id for flush in flushes}
        lost = [flush for flush in self.ours.flushes if flush.id not in there]
        taken = {f.id: self.theirs.gone[f.id] for f in lost if f.id in self.theirs.gone}
        scopes = self.newly_overwrote()
        taken |= {f.id: scope for f in lost for scope in scopes if f.id not in taken and scope.covers(f.partition)}
        return self.ours.gone | taken

    def newly_overwrote(self) -> set[Scope]:
        """Theirs' overwrites that neither ours nor a base has; going back is none."""
        scopes = set() if self.how.backwards else self.overwrote(self.theirs)
        return {scope for scope in scopes if scope.of not in self.known_overwrites}

    def with_alike(self, base: tuple[keyed.Flush, ...]) -> tuple[keyed.Flush, ...]:
        """What both got since, and one took away again, counts as if it had been there before; going back asks only
        what is there."""
        if self.how.backwards:
            return base
        known = {flush.id for base in self.bases for flush in base.flushes}
        known |= {id for base in self.bases for id in base.gone}
        base += tuple(f for f in self.theirs.flushes if f.id not in known and f.id in self.ours.gone)
        return base + tuple(f for f in self.ours.flushes if f.id not in known and f.id in self.theirs.gone)

    def overwrote(self, side: Table) -> set[Scope]:
        """Overwrites since the bases that stay: they took a flush of a base away, or wrote one that is there."""
        known = {flush.id for base in self.bases for flush in base.flushes}
        before = {id for base in self.bases for id in base.gone}
        there = {flush.id for flush in side.flushes}
        gone = {side.gone.get(id) for id in known - there - before}
        wrote = {flush.overwrites for flush in side.flushes if flush.id not in known}
        return {scope for scope in gone | wrote if scope is not None}

    def merge_rows(self, table: Table) -> None:
        if table.key:
            self.merge_keys(table)
            return
        heads = {**self.ours.rows, **self.theirs.rows}
        merged = {column.id for column in table.columns}
        self.returning = merged - {column.id for column in self.ours.columns}
        self.left_behind = merged - {column.id for column in self.theirs.columns}
        rows = list(map(self.change, heads))
        changes = [change for change in rows if change.theirs_class or change.ours_class]
        self.find_conflicts(changes, table.columns)
        write = Write(next(self.how.numbers), "merge")
        for change in changes:
            if change.theirs_class:
                self.theirs_changed = True
                self.settle(change, table, write)
        for change in rows:
            if change.idle:
                table.rows[change.origin] = change.theirs_record
            elif change.left_behind:
                table.rows[change.origin] = change.ours_against_theirs
            self.bring_back(change, table, write)
        self.apply_overwrites(table)
        if self.how.resolve == "THEIRS" and self.how.predicates:
            self.apply_to_inserts(changes, table)
        if self.how.backwards:
            table.overwrites = self.overwrites_gone_back
        else:
            table.overwrites |= {write.id for write in self.overwrites()}
        table.ever |= table.overwrites
        for column in [column for column in table.columns if not column.nullable]:  # A6.2, A6.3
            lacking = [row for row in table.alive if row.read(column) is None]
            if lacking and self.how.resolve:
                self.resolve_lack(table, column, lacking)
            elif lacking:
                self.find_lack(column, lacking)

        self.check_types(table, [row.types for row in table.alive])

    def find_lack(self, column: Column, lacking: list[Row]) -> None:
        """Once for ours' rows, once for theirs', and once for those that the merge makes, into which the side that
        allows it brought the NULL."""

        def whose_version(row: Row) -> str:
            for whose, side in (("ours", self.ours), ("theirs", self.theirs)):
                there = living(side.rows.get(row.origin))
                if there and there.version == row.version:
                    return whose
            return "both"

        whose = list(map(whose_version, lacking))
        for side in sorted(set(whose)):
            count = whose.count(side)
            brought = side if side != "both" else "theirs" if self.demanded(column) else "ours"
            sides = {brought: count}
            self.conflict("A6.3", column.label.lower(), **sides)

    def demanded(self, column: Column) -> bool:
        return any(our.id == column.id and not our.nullable for our in self.ours.columns)

    def check_types(self, table: Table, written: list[dict[int, str]]) -> None:
        """A RESTORE or REVERT undid a widening, or a cherry-pick left it out, and rows are there of the wider type."""
        for column in table.columns:
            if any(
                column.type not in {type_, *WIDER[type_]} for type_ in {t.get(column.id, column.type) for t in written}
            ):
                if self.how.resolve:
                    raise Undecided("rows wider than their column")
                told = any(one.rule == "A6.1" and one.of == column.label.lower() for one in self.conflicts)
                if not told:
                    self.conflict("A6.1", column.label.lower())

    def resolve_lack(self, table: Table, column: Column, lacking: list[Row]) -> None:
        """OURS keeps what ours demands against theirs' versions; any other demand gives way."""
        mine = [living(self.ours.rows.get(row.origin)) for row in lacking]
        own = any(our and our.version == row.version for our, row in zip(mine, lacking, strict=True))
        if self.how.resolve == "THEIRS" or own or not self.demanded(column):
            table.columns = [replace(old, nullable=True) if old.id == column.id else old for old in table.columns]
            return
        for our, row in zip(mine, lacking, strict=True):
            write = Write(next(self.how.numbers), "merge")
            table.rows[row.origin] = replace(our, write=write, before=our, left=(), run=0) if our else row.killed(write)

    def change(self, origin: tuple[int, int]) -> "Change":
        """What both sides did to one row, as the difference of base and heads."""
        ours, theirs = self.ours.rows.get(origin), self.theirs.rows.get(origin)
        known = [base.rows.get(origin) for base in self.bases]
        shared = last_shared(ours, theirs)
        # (What came and went before the base is nothing.)
        both = ours and theirs if self.is_new(origin) else living(ours) and living(theirs)
        if both and not any(map(living, known)):
            # Not in the base but in both heads (a cherry-pick): they parted at the last version that both had.
            known = [shared]
        elif shared and all(row and self.gave_way(row, shared, ours, theirs) for row in known):
            known = [shared]  # likewise a version that the base had not: what both have alike is no change
        bases = [living(row) for row in known]
        mine = self.with_missing(living(ours), bases, self.returning)
        other = self.with_missing(living(theirs), bases, self.left_behind)
        return Change(self, mine, other, bases, ours, theirs)

    @staticmethod
    def with_missing(row: Row | None, bases: list[Row | None], columns: Collection[int]) -> Row | None:
        """A side dropped a column, and rows that it has updated since lack it: there it left the column as it was."""
        base = bases[0]
        if not row or not base:
            return row
        lacking = {id: base.values[id] for id in columns if id in base.values and id not in row.values}
        return replace(row, values=row.values | lacking) if lacking else row

    def bring_back(self, change: "Change", table: Table, write: Write) -> None:
        """Such a row that comes of the merge is written anew, with what the other side shows in the column."""
        sides = (self.ours, change.ours, change.theirs), (self.theirs, change.theirs, change.ours)
        for side, seen, other in sides:
            stored, row = side.rows.get(change.origin), table.rows.get(change.origin)
            if not living(row) or not living(stored) or not other or row.version != stored.version:
                continue
            back = [column for column in table.columns if column.id in seen.values.keys() - stored.values.keys()]
            if back and other.version != stored.version:
                values = seen.values | {column.id: other.read(column) for column in back}
                types = {column.id: column.type for column in table.columns}
                before = stored if side is self.ours else row
                table.rows[change.origin] = replace(
                    before, write=write, values=values, before=before, types=types, left=(), run=0
                )

    def is_new(self, origin: tuple[int, int]) -> bool:
        """Born after the bases."""
        return origin not in self.how.ancient and not any(origin in base.rows for base in self.bases)

    @staticmethod
    def gave_way(base: Row, shared: Row, ours: Row, theirs: Row) -> bool:
        """Both sides have had another version than the base since, and neither shows the base's."""
        return shared.version not in base.had and base.version not in (ours.version, theirs.version)

    def find_conflicts(self, changes: "list[Change]", columns: list[Column]) -> None:
        if self.detect == "file":
            self.find_file_conflicts(changes)
        else:
            self.find_row_conflicts(changes, columns)

    def find_file_conflicts(self, changes: "list[Change]") -> None:
        """detect = 'file': the matrix. Sides are told as numbers of rows."""
        here = any(change.theirs and change.discarded for change in changes)
        there = any(change.ours and not change.theirs and change.theirs_class == "overwrite" for change in changes)
        if len(self.bases) > 1 and here and there:
            raise Undecided("each side overwrote what one of the bases has of the other")
        theirs = [change.theirs_class for change in changes if change.base_files]  # of rows that the base had
        inserted = sum(change.ours_class == "insert" for change in changes)
        for cell in ("delete", "update"):
            if cell in theirs and inserted:
                self.conflict(f"{cell}/insert", ours=inserted, theirs=theirs.count(cell), data=True)

        def files(who: str, what: str) -> Counter:
            """The files in which the base versions stand of the rows that this side changed so."""
            found = [c for c in changes if getattr(c, who) == what and not c.discarded]
            return Counter(file for change in found for file in change.base_files)

        updated = files("theirs_class", "update")
        for rule, cell in (("A1", "delete"), ("A3", "update")):
            here = files("ours_class", cell)
            for file in updated.keys() & here.keys():
                self.conflict(rule, ours=here[file], theirs=updated[file], data=True)

    def find_row_conflicts(self, changes: "list[Change]", columns: list[Column]) -> None:
        """detect = 'row' | 'cell': LAW.md, "Beyond"."""
        labels = {column.id: column.label for column in columns}
        if self.how.predicates:
            self.find_statements_that_meet_inserts(changes, columns)
        for change in changes:
            if change.clashes(columns) and not (change.theirs is None and self.taken_away(change)):
                base, ours, theirs = (
                    told(labels, row and {column.id: row.read(column) for column in columns})
                    for row in (change.base, change.ours, change.theirs)
                )
                deleted = "delete/update" if change.theirs is None else "update/delete"
                rule = "update/update" if change.ours and change.theirs else deleted
                of = None
                if rule == "update/update" and self.detect == "cell":
                    mine, other = change.changed_columns(columns)
                    of = frozenset(labels[id] for id in mine.keys() & other.keys() if mine[id] != other[id])
                self.conflict(
                    rule, of, base=base if len(self.bases) == 1 else SEVERAL, ours=ours, theirs=theirs, data=True
                )

    def find_statements_that_meet_inserts(self, changes: "list[Change]", columns: list[Column]) -> None:
        """Once for each row, with what all of the statements would make of it; once for each statement that a row
        meets where one of them is a MERGE INTO, which cannot be run on it."""
        labels = {column.id: column.label for column in columns}
        inserted = [change.ours for change in changes if change.ours_class == "insert" and not self.taken_away(change)]
        statements = self.statements(changes)
        met = {row.origin: [write for write in statements if write.matches(row)] for row in inserted}
        met = {origin: writes for origin, writes in met.items() if writes}
        left = {row.origin: self.after(row, statements, columns) for row in inserted if row.origin in met}
        for row in inserted:
            writes = met.get(row.origin, [])
            ours = told(labels, {column.id: row.read(column) for column in columns})
            if UNKNOWN in left.values():
                for kind in {(write.kind, write.where): write.kind for write in writes}.values():
                    self.conflict(f"{kind}/insert", ours=ours, data=True)
            elif writes:
                made = left[row.origin]
                theirs = made and told(labels, {column.id: made.read(column) for column in columns})
                self.conflict(f"{'update' if made else 'delete'}/insert", ours=ours, theirs=theirs, data=True)

    def after(self, row: Row, statements: list[Write], columns: list[Column]) -> Row | None:
        """What statements of theirs would make of a row of ours; UNKNOWN, where one of them cannot be run on it."""
        for write in statements:
            if write.matches(row):
                if write.sets is None:
                    return UNKNOWN
                if write.kind == "delete":
                    return None
                row = self.ran_on(row, write, columns)
        return row

    def statements(self, changes: "list[Change]") -> list[Write]:
        """Theirs' deletes and updates that changed a row of the base that stays changed; in their order. One that a
        base has, and that ran on rows which another one brought, is older than what ours inserted."""
        found = {write.id: write for change in changes for write in change.theirs_statements}
        old = {row.write.id for base in self.bases for last in base.rows.values() for row in last.versions}
        old |= self.how.ran
        return [found[id] for id in sorted(found.keys() - old)]

    def settle(self, change: "Change", table: Table, write: Write) -> None:
        """Replays theirs' change of one row on ours."""
        origin = change.origin
        chosen = self.how.resolve if change.conflicting(table.columns) else None
        if change.discarded:
            return  # A4, A5: what theirs did to rows that ours overwrote is discarded
        both_updated = change.ours_class == change.theirs_class == "update"
        if self.detect != "file" and change.ours_class and change.shows_nothing(table.columns):
            if change.ours:
                table.rows[origin] = change.ours_against_theirs
        elif chosen == "OURS":
            if change.ours:
                # (A DELETE leaves no version: it can be picked again, and conflicts again.)
                table.rows[origin] = change.ours_against_theirs
        elif self.detect == "cell" and both_updated and chosen is None:
            table.rows[origin] = change.combined(table, write)
        elif both_updated:
            table.rows[origin] = self.taken(change).against(change.ours_since)
        elif change.theirs_record is None:  # theirs went back to before it was inserted
            table.rows.pop(origin, None)
            if not change.ours_is_base:
                self.undone[origin] = change.ours
        elif change.theirs is None and change.ours is not None:  # its current version is dead
            table.rows[origin] = change.ours.killed(self.as_ours(change.theirs_record.write))
        elif change.ours and not change.ours_class:  # ours may have a version that shows what the base did
            table.rows[origin] = self.taken(change).against(change.ours_since)
        else:
            table.rows[origin] = self.taken(change)

    def taken(self, change: "Change") -> Row:
        """Theirs' row. A CHERRY PICK brings only the versions that its commit made: those before were not had."""
        row, base = change.theirs_record, change.base
        if self.how.predicates or self.how.backwards or not base or not change.ours_record:
            return row
        made = [version for version in row.versions if version.version not in base.had]
        found = change.ours_record
        for version in reversed(made):
            found = replace(version, before=found)
        return found if made else row

    def as_ours(self, write: Write) -> Write:
        """Going back to what an overwrite had taken deletes, unless ours has had that overwrite itself."""
        redone = write.kind != "overwrite" or write.id in self.ours.ever
        return write if redone or not self.how.backwards else Write(next(self.how.numbers), "delete")

    def apply_to_inserts(self, changes: "list[Change]", table: Table) -> None:
        """RESOLVE USING THEIRS: theirs' statements reach the rows that ours inserted."""
        for write in self.statements(changes):
            for change in changes:
                row = table.rows.get(change.origin)
                if change.ours_class == "insert" and row.alive and write.matches(row):
                    if write.sets is None:
                        raise Undecided("a MERGE INTO cannot be run on rows that it has not seen")
                    if write.kind == "delete":
                        table.rows[row.origin] = row.killed(write)
                    else:
                        table.rows[row.origin] = self.ran_on(row, write, table.columns)

    def ran_on(self, row: Row, write: Write, columns: list[Column]) -> Row:
        values = {column.id: row.read(column) for column in columns}
        values |= {part.column.id: part.of(row) for part in write.sets}
        partition = values.get(self.ours.partitioned_by)
        types = {column.id: column.type for column in columns}
        number = next(self.how.numbers)
        return replace(
            row, write=write, values=values, partition=partition, before=row, types=types, left=(), run=number
        )

    def apply_overwrites(self, table: Table) -> None:
        """Theirs overwrote: ours' rows now in that scope die, new inserts too, whatever else theirs did to them."""
        for write in self.overwrites():
            for origin, last in {**self.undone, **table.rows}.items():
                # A row that an earlier statement of theirs killed has the class of the last one, too.
                ours, theirs = living(self.ours.rows.get(origin)), living(self.theirs.rows.get(origin))
                row = last if last.alive else ours
                if row and write.scope.holds(ours or row) and not self.came_after(write, row, theirs):
                    self.theirs_changed |= last.alive
                    table.rows[origin] = row.killed(write)
                elif not row and last.write.kind != "overwrite" and write.scope.holds(last):
                    table.rows[origin] = last.killed(write)

    def taken_away(self, change: "Change") -> bool:
        """Theirs' overwrites take this row of ours, whatever else theirs did."""
        row, theirs = change.ours, living(change.theirs_record)
        return any(write.scope.holds(row) and not self.came_after(write, row, theirs) for write in self.overwrites())

    @staticmethod
    def came_after(write: Write, row: Row, theirs: Row | None) -> bool:
        """Theirs has this version, or has had it and still has the row where it overwrote: so it came afterwards."""
        if theirs is None:
            return False
        return row.version == theirs.version or (row.version in theirs.had and write.scope.holds(theirs))

    def overwrites(self) -> list[Write]:
        """Theirs' overwrites since the base that are not undone: a row that they killed or wrote is still so."""
        found = {}
        for origin, row in self.theirs.rows.items():
            known = [base.rows.get(origin) for base in self.bases]
            if self.is_new(origin):  # what both have had counts as if it had been there
                known = [last_shared(self.ours.rows.get(origin), row)]
            in_base = any(map(living, known))
            if row.alive and not in_base and row.born.id in self.theirs.overwrites:  # else a REVERT brought it
                found[row.born.id] = row.born
            if not row.alive and in_base:
                found[row.write.id] = row.write
        since = {} if self.how.backwards else found
        return [
            write
            for id, write in sorted(since.items())
            if write.kind == "overwrite" and id not in self.known_overwrites
        ]

    @property
    def ours_overwrote(self) -> list[Write]:
        """Ours' overwrites that no base has, and of which a row that they killed or wrote is still so."""
        known = frozenset().union(*(base.overwrites for base in self.bases))
        writes = [row.born if row.alive else row.write for row in self.ours.rows.values()]
        return [write for write in writes if write.kind == "overwrite" and write.id not in known]

    @property
    def overwrites_gone_back(self) -> frozenset[int]:
        """Of a REVERT: those that it undid are not had any more, and those that it redid are again."""
        before, after = self.theirs.overwrites, self.bases[0].overwrites
        return self.ours.overwrites - (after - before) | (before - after) & self.ours.ever

    @property
    def known_overwrites(self) -> frozenset[int]:
        return self.ours.overwrites.union(*(base.overwrites for base in self.bases))


def last_shared(ours: Row | None, theirs: Row | None) -> Row | None:
    """The last version of a row that both sides had; a version that a merge left behind was had, too."""
    if not ours or not theirs:
        return None
    if ours.version != theirs.version and ours.version in theirs.had and theirs.version in ours.had:
        return None  # each picked the other's: nobody knows which is newer
    mine = next((row for row in ours.versions if row.version in theirs.had), None)
    other = next((row for row in theirs.versions if row.version in ours.had), None)
    return mine if mine is ours else other


def told(labels: dict[int, str], values: dict[int, Any] | None) -> Any:
    """A row as people see it; GONE, where there is none."""
    if values is None:
        return GONE
    shown = [(labels[id], value) for id, value in values.items() if id in labels]
    return tuple(sorted(shown, key=lambda cell: cell[0]))


def did(before: Any, after: Any) -> str:
    return "delete" if after == GONE else "insert" if before == GONE else "update"


def living(row: Row | None) -> Row | None:
    return row if row and row.alive else None


@dataclass
class Change:
    """One row: what it was in the base, and what it is on both sides (None: not there)."""

    table: TableMerge
    ours: Row | None
    theirs: Row | None
    bases: list[Row | None]
    ours_record: Row | None  # the same, or who killed it
    theirs_record: Row | None

    @property
    def origin(self) -> tuple[int, int]:
        return (self.ours_record or self.theirs_record).origin

    @property
    def base(self) -> Row | None:
        return next((row for row in self.bases if row), None)

    @property
    def base_files(self) -> set[tuple[int, Any]]:
        """The same file: where the base version stands. Rows born after the base never count."""
        rows = [living(base.rows.get(self.origin)) for base in self.table.bases]
        return {row.file for row in rows if row}

    @property
    def alike(self) -> bool:
        return (self.ours and self.ours.version) == (self.theirs and self.theirs.version)

    @property
    def idle(self) -> bool:
        """Theirs alone has another version, which shows the same."""
        return self._shows_the_same and self.ours_is_base

    @property
    def left_behind(self) -> bool:
        """Likewise, and ours has one of its own, which stays: it has had theirs."""
        return self._shows_the_same and not self.ours_is_base

    @property
    def ours_against_theirs(self) -> Row:
        """Ours, which has had theirs' versions; their statements are not brought."""
        since = [row for row in self.theirs_since if row.alive]
        return self.ours.against([replace(row, write=Write(row.write.id, "rejected")) for row in since])

    @property
    def _shows_the_same(self) -> bool:
        return bool(self.ours and self.theirs) and not self.theirs_class and not self.alike

    @property
    def ours_is_base(self) -> bool:
        return self.ours is None or all(base and base.version == self.ours.version for base in self.bases)

    def _differs(self, head: Row | None, columns: list[Column]) -> bool:
        def look(row: Row | None) -> Any:
            if row is None or self.table.detect == "file":
                return row and row.version
            return row.shown(columns)

        return any(look(base) != look(head) for base in self.bases or [None])

    def _class(self, head: Row | None, record: Row | None, side: Table) -> str | None:
        """insert | delete | update | overwrite: from the difference; a kill has the class of the last statement."""
        if self.alike or not self._differs(head, side.columns):
            return None
        if head is None:
            return "overwrite" if record and record.write.kind == "overwrite" else "delete"
        if self.base is None:
            return "overwrite" if head.born.id in side.overwrites else "insert"
        return "update"

    @property
    def ours_class(self) -> str | None:
        found = self._class(self.ours, self.ours_record, self.table.ours)
        if found == "overwrite" and self.ours is None and not self.ours_record.write.scope.holds(self.base):
            return "delete"  # ours moved it into the overwritten scope first: A4 and A5 are not about this row
        if found == "delete" and self.ours_record is None and len(self.table.bases) > 1:
            # It came and went with an overwrite before that came to ours, which has no record of it.
            took = any(write.scope.holds(base) for write in self.table.ours_overwrote for base in self.bases if base)
            return "overwrite" if took else found
        return found

    @property
    def theirs_class(self) -> str | None:
        found = self._class(self.theirs, self.theirs_record, self.table.theirs)
        if found == "overwrite" and self.theirs is None:
            # Going back overwrites nothing; nor does, row by row, an overwrite that one of several bases has had.
            crossed = len(self.table.bases) > 1 and self.table.detect != "file"
            old = crossed and self.theirs_record.write.id in self.table.known_overwrites
            return "delete" if self.table.how.backwards or old else found
        return found

    @property
    def discarded(self) -> bool:
        """A4, A5: ours' overwrite took this row, which stood in the overwritten scope."""
        return self.ours is None and self.ours_class == "overwrite"

    @property
    def theirs_statements(self) -> list[Write]:
        """The deletes and updates with which theirs changed this row of the base."""
        found = self.theirs_class in ("delete", "update") and (self.base_files or self.table.detect != "file")
        rows = self.theirs_since or self.unknown_to_bases(self.theirs_record)
        return [row.write for row in rows if row.write.kind in ("delete", "update")] if found else []

    def unknown_to_bases(self, record: Row | None) -> list[Row]:
        """A side's versions that no base's row has been: it may have parted from an older one."""
        known = [base.had for base in self.bases if base]
        return [row for row in record.versions if not any(row.version in had for had in known)] if record else []

    @property
    def theirs_since(self) -> list[Row]:
        return self.since(self.theirs_record)

    @property
    def ours_since(self) -> list[Row]:
        return self.since(self.ours_record)

    def since(self, record: Row | None) -> list[Row]:
        """The versions that a side made of the base's, and those that merges left behind for them."""
        versions = record.versions if record else []
        known = [base.version for base in self.bases if base]
        places = [place for place, row in enumerate(versions) if row.version in known]
        return [row for version in versions[: places[0]] for row in (version, *version.left)] if places else []

    def conflicting(self, columns: list[Column]) -> bool:
        """Is this row itself one of those that a RESOLVE settles?"""
        if self.table.detect == "file":
            pair = self.theirs_class, self.ours_class
            return bool(self.base_files) and not self.discarded and pair in (("update", "delete"), ("update", "update"))
        return self.clashes(columns)

    def clashes(self, columns: list[Column]) -> bool:
        """detect = 'row' | 'cell': the same row, changed on both sides and not to the same value."""
        if not self.ours_class or not self.theirs_class or self.discarded:
            return False
        mine, other = self.changed_columns(columns)
        if self.ours and self.theirs:
            if self.table.detect == "row" or not all(self.bases):
                return bool(mine and other) and self.ours.shown(columns) != self.theirs.shown(columns)
            return any(mine[id] != other[id] for id in mine.keys() & other.keys())
        updated = self.theirs_class in ("update", "delete") and self.ours_class in ("update", "delete")
        return updated and bool(mine or other)

    def shows_nothing(self, columns: list[Column]) -> bool:
        """Theirs updated the row, and the merge has dropped every column in which it did."""
        return self.theirs_class == "update" and not self.changed_columns(columns)[1]

    def changed_columns(self, columns: list[Column]) -> tuple[dict[int, Any], dict[int, Any]]:
        """What each side changed in the row's cells, each seen with its own columns: what bases disagree on, both. A
        column that the merge drops takes its changes with it."""
        merged = {column.id for column in columns}

        def cells(head: Row | None, own: list[Column]) -> dict[int, Any]:
            return {
                column.id: head.read(column)
                for column in own
                if head
                and column.id in merged
                and any(not b or head.read(column) != b.read(column) for b in self.bases)
            }

        return cells(self.ours, self.table.ours.columns), cells(self.theirs, self.table.theirs.columns)

    def combined(self, table: Table, write: Write) -> Row:
        """detect = 'cell': ours' row with the cells that theirs changed."""
        _, cells = self.changed_columns(table.columns)
        values = {column.id: self.ours.read(column) for column in table.columns} | cells
        if all(self.theirs.read(column) == values[column.id] for column in table.columns):
            return self.theirs.against(self.ours_since)
        types = {column.id: column.type for column in table.columns}
        partition = values.get(table.partitioned_by)
        made = replace(
            self.ours, write=write, values=values, partition=partition, before=self.ours, types=types, left=(), run=0
        )
        return made.against(self.theirs_since)
