"""A naive lake: every version of every branch is a full copy of its state. What merges do is in `law.py`.

`Model().run("dev", statement)` runs one statement on a branch. It raises `Refusal` where the lake must refuse, and then
nothing changed. Versions continue from the fork; a statement that changes nothing makes no version.
"""

import itertools
from dataclasses import dataclass, field, replace

from . import law
from . import statements as s
from .keyed import KINDS, Flush, reduced
from .state import Column, Database, Row, Scope, Setting, State, Table, Test, Write, same

WIDER = {"SMALLINT": ["INT", "BIGINT", "DOUBLE"], "INT": ["BIGINT", "DOUBLE"], "BIGINT": [], "DOUBLE": []}


class Refusal(Exception):
    """The lake must refuse this statement."""


@dataclass(eq=False)
class Commit:
    """A node of the commit graph, with the state that it made."""

    state: State
    parents: "tuple[Commit, ...]" = ()
    aliases: frozenset[tuple[int, int]] = frozenset()  # columns that this merge unified

    @property
    def ancestors(self) -> "set[Commit]":
        """Itself and all that it can reach, merges included."""
        found, waiting = set(), [self]
        while waiting:
            commit = waiting.pop()
            if commit not in found:
                found.add(commit)
                waiting += commit.parents
        return found


@dataclass
class Branch:
    versions: list[Commit] = field(default_factory=list)  # by version, those of its parents before the fork too

    @property
    def head(self) -> Commit:
        return self.versions[-1]


def best_common_ancestors(one: Commit, other: Commit) -> list[Commit]:
    common = one.ancestors & other.ancestors
    return [c for c in common if not any(c in other.ancestors for other in common if other is not c)]


class Model:
    def __init__(self) -> None:
        self.branches = {"main": Branch([Commit(State())])}
        self.numbers = itertools.count(1)  # identities: databases, tables, columns, statements
        self.conflicts: list[law.Found] = []  # of the last merge
        self.idle = State()

    def state(self, branch: str, version: int | None = None) -> State:
        versions = self.branches[branch].versions
        return (versions[-1] if version is None else versions[version]).state

    def version(self, branch: str) -> int:
        return len(self.branches[branch].versions) - 1

    def rows(self, branch: str, table: str, version: int | None = None) -> list[dict[str, int | None]]:
        state = self.state(branch, version)
        found = state.tables[state.table_id(table)]
        return [{column.label: row.read(column) for column in found.columns} for row in found.alive]

    def run(self, branch: str, statement: s.Statement) -> None:
        self.conflicts = []
        if branch not in self.branches:
            raise Refusal(f"no branch {branch}")
        match statement:
            case s.CreateBranch():
                self.create_branch(statement)
            case s.DropBranch(name):
                self.refuse_if(name not in self.branches or name in ("main", branch), "cannot drop that branch")
                del self.branches[name]
            case s.Merge():
                self.merge(branch, statement)
            case s.CherryPick(ref, resolve):
                commit = self.commit_of(ref)
                self.refuse_if(not commit.parents, "the first commit has no parent")
                self.replay(branch, base=commit.parents[0], theirs=commit, resolve=resolve)
            case s.Revert(ref, resolve):
                commit = self.commit_of(ref)
                self.refuse_if(not commit.parents, "the first commit has no parent")
                self.replay(branch, base=commit, theirs=commit.parents[0], resolve=resolve, backwards=True)
            case _:
                before = self.state(branch)
                after = before.copy()
                always = Statements(after, self.branches[branch], self.numbers).run(statement)
                self.idle = after  # for whoever counts a statement that changed nothing as a version
                if always or not same(before, after):
                    self.commit(branch, after)

    @staticmethod
    def refuse_if(wrong: bool, why: str) -> None:
        if wrong:
            raise Refusal(why)

    def commit(self, branch: str, state: State, *merged: Commit, aliases: frozenset[tuple[int, int]] = frozenset()):
        versions = self.branches[branch].versions
        versions.append(Commit(state, (versions[-1], *merged), aliases))

    # --- branches ----------------------------------------------------------------------------------------------------

    def commit_of(self, ref: str) -> Commit:
        """`branch`, or `branch@version`."""
        name, _, version = ref.partition("@")
        self.refuse_if(name not in self.branches, f"no branch {name}")
        versions = self.branches[name].versions
        self.refuse_if(bool(version) and int(version) >= len(versions), f"no version {ref}")
        return versions[int(version)] if version else versions[-1]

    def create_branch(self, statement: s.CreateBranch) -> None:
        self.refuse_if(statement.name in self.branches, "the name is taken")
        self.refuse_if(statement.source not in self.branches, "no such branch")
        versions = self.branches[statement.source].versions
        fork = len(versions) - 1 if statement.version is None else statement.version
        self.refuse_if(fork >= len(versions), "no such version")
        self.branches[statement.name] = Branch(versions[: fork + 1])

    def merge(self, branch: str, statement: s.Merge) -> None:
        """LAW.md, "Base and deltas": the best common ancestors of the commit graph, one commit with both parents."""
        theirs, ours = self.commit_of(statement.theirs), self.branches[branch].head
        self.refuse_if(statement.theirs == branch, "a branch does not merge into itself")
        bases = best_common_ancestors(ours, theirs)
        merged = law.merge(
            [base.state for base in bases],
            ours.state,
            theirs.state,
            detect=statement.detect,
            resolve=statement.resolve,
            aliases=self.aliases(ours, theirs),
            ancient=self.rows_known(*bases),
            ran=frozenset.intersection(*map(self.statements_known, bases)),
            numbers=self.numbers,
        )
        self.settle(branch, merged, theirs)

    def replay(
        self, branch: str, base: Commit, theirs: Commit, *, resolve: str | None = None, backwards: bool = False
    ) -> None:
        """LAW.md, "Going back": detect = row, no predicate checks, no merge edge."""
        ours = self.branches[branch].head
        merged = law.merge(
            [base.state],
            ours.state,
            theirs.state,
            detect="row",
            resolve=resolve,
            predicates=False,
            backwards=backwards,
            aliases=self.aliases(ours, theirs),
            ancient=self.rows_known(base),
            numbers=self.numbers,
        )
        if backwards and same(merged.state, ours.state, by_value=True):
            merged.theirs_changed = False  # nothing is left to undo
        self.settle(branch, merged)

    def settle(self, branch: str, merged: "law.Merged", *edge: Commit) -> None:
        self.conflicts = merged.conflicts
        self.refuse_if(bool(merged.conflicts), f"conflicts: {merged.conflicts}")
        if merged.theirs_changed:  # else it is up to date: no commit, no edge
            self.commit(branch, merged.state, *edge, aliases=frozenset(merged.aliases))

    @staticmethod
    def rows_known(*bases: Commit) -> frozenset[tuple[int, int]]:
        """All rows that a state in the bases' histories has."""
        states = {commit: commit.state for base in bases for commit in base.ancestors}
        return frozenset(
            origin for state in states.values() for table in state.tables.values() for origin in table.rows
        )

    @staticmethod
    def statements_known(base: Commit) -> frozenset[int]:
        """All that a row in the base's history was written by."""
        tables = [table for commit in base.ancestors for table in commit.state.tables.values()]
        return frozenset(row.write.id for table in tables for last in table.rows.values() for row in last.versions)

    @staticmethod
    def aliases(ours: Commit, theirs: Commit) -> set[tuple[int, int]]:
        """Recorded anywhere in either side's history, undone or not."""
        return {alias for commit in ours.ancestors | theirs.ancestors for alias in commit.aliases}


class Statements:
    """Everything but branches and merges: changes one state in place. `history` is the branch, for RESTORE."""

    def __init__(self, state: State, history: Branch, numbers) -> None:
        self.state, self.history, self.numbers = state, history, numbers

    def run(self, statement: s.Statement) -> bool:
        """True if it makes a version even where it changes nothing."""
        name = type(statement).__name__
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
        return bool(getattr(self, snake)(statement))

    # --- names -------------------------------------------------------------------------------------------------------

    def database_id(self, name: str) -> int:
        found = self.state.database_id(name)
        if found is None:
            raise Refusal(f"no database {name}")
        return found

    def free_database(self, name: str, but: int | None = None) -> None:
        if self.state.database_id(name) not in (None, but):
            raise Refusal(f"{name} exists")

    def table(self, name: str) -> Table:
        found = self.state.table_id(name)
        if found is None:
            raise Refusal(f"no table {name}")
        return self.state.tables[found]

    def free_table(self, name: str, but: int | None = None) -> None:
        self.database_id(name.split(".")[0])
        if self.state.table_id(name) not in (None, but):
            raise Refusal(f"{name} exists")

    @staticmethod
    def column(table: Table, label: str) -> Column:
        for column in table.columns:
            if column.label.lower() == label.lower():
                return column
        raise Refusal(f"no column {label}")

    def free_column(self, table: Table, label: str, but: Column | None = None) -> None:
        if any(column.label.lower() == label.lower() and column is not but for column in table.columns):
            raise Refusal(f"{label} exists")

    @staticmethod
    def put(table: Table, column: Column) -> None:
        table.columns = [column if column.id == old.id else old for old in table.columns]

    # --- databases ---------------------------------------------------------------------------------------------------

    def create_database(self, statement: s.CreateDatabase) -> None:
        self.free_database(statement.name)
        self.state.databases[next(self.numbers)] = Database(statement.name)

    def drop_database(self, statement: s.DropDatabase) -> None:
        id = self.database_id(statement.name)
        inside = [table_id for table_id, table in self.state.tables.items() if table.database == id]
        if inside and not statement.cascade:
            raise Refusal("not empty")
        for table_id in inside:
            del self.state.tables[table_id]
        del self.state.databases[id]
        self.state.dropped[id] = statement.cascade

    def rename_database(self, statement: s.RenameDatabase) -> bool:
        id = self.database_id(statement.name)
        self.free_database(statement.new, but=id)
        self.state.databases[id].name = statement.new
        return True

    def set_database_property(self, statement: s.SetDatabaseProperty) -> bool:
        self.state.databases[self.database_id(statement.name)].properties[statement.key] = statement.word
        return True

    def unset_database_property(self, statement: s.UnsetDatabaseProperty) -> None:
        properties = self.state.databases[self.database_id(statement.name)].properties
        if statement.key not in properties:
            raise Refusal("no such property")
        del properties[statement.key]

    # --- tables ------------------------------------------------------------------------------------------------------

    def create_table(self, statement: s.CreateTable) -> None:
        self.free_table(statement.table)
        database, name = statement.table.split(".")
        columns = [self.new_column(spec) for spec in statement.columns]
        table = Table(self.database_id(database), name, columns)
        if statement.partitioned_by:
            table.partitioned_by = self.column(table, statement.partitioned_by).id
        table.created = table.copy()
        self.state.tables[next(self.numbers)] = table

    def create_keyed(self, statement: s.CreateKeyed) -> None:
        self.create_table(s.CreateTable(statement.table, statement.columns, statement.partitioned_by))
        table = self.table(statement.table)
        table.key = tuple(self.column(table, label).id for label in statement.primary)
        table.properties = dict(s.ENGINES[statement.engine])
        table.created = table.copy()

    def new_column(self, spec: s.ColumnSpec) -> Column:
        return Column(next(self.numbers), spec.label, spec.type, not spec.not_null, spec.default, spec.default)

    def drop_table(self, statement: s.DropTable) -> None:
        self.table(statement.table)
        del self.state.tables[self.state.table_id(statement.table)]

    def rename_table(self, statement: s.RenameTable) -> bool:
        table = self.table(statement.table)
        self.free_table(statement.new, but=self.state.table_id(statement.table))
        database, table.name = statement.new.split(".")
        table.database = self.database_id(database)
        return True

    def set_property(self, statement: s.SetProperty) -> bool:
        self.table(statement.table).properties[statement.key] = statement.word
        return True

    def unset_property(self, statement: s.UnsetProperty) -> None:
        properties = self.table(statement.table).properties
        if statement.key not in properties:
            raise Refusal("no such property")
        del properties[statement.key]

    # --- columns -----------------------------------------------------------------------------------------------------

    def add_column(self, statement: s.AddColumn) -> None:
        table, spec = self.table(statement.table), statement.column
        self.free_column(table, spec.label)
        if spec.not_null and spec.default is None and table.alive:
            raise Refusal("NOT NULL without a default, and there are rows")
        table.columns.append(self.new_column(spec))

    def drop_column(self, statement: s.DropColumn) -> None:
        table = self.table(statement.table)
        column = self.column(table, statement.label)
        if len(table.columns) == 1 or column.id == table.partitioned_by or column.id in table.key:
            raise Refusal("the last column, a partition column, or part of the key")
        self.refuse_sequence(table, column)
        table.columns.remove(column)

    def rename_column(self, statement: s.RenameColumn) -> None:
        table = self.table(statement.table)
        column = self.column(table, statement.label)
        self.free_column(table, statement.new, but=column)
        if statement.new != column.label:
            self.refuse_sequence(table, column)
        self.put(table, replace(column, label=statement.new))

    @staticmethod
    def refuse_sequence(table: Table, column: Column) -> None:
        if column.id in table.rules.named:
            raise Refusal("an option names it")

    def widen(self, statement: s.Widen) -> None:
        table = self.table(statement.table)
        column = self.column(table, statement.label)
        if statement.type != column.type:
            if statement.type not in WIDER[column.type] or column.id == table.partitioned_by:
                raise Refusal("a type only widens, and a partition column not at all")
            self.put(table, replace(column, type=statement.type))

    def set_not_null(self, statement: s.SetNotNull) -> None:
        table = self.table(statement.table)
        column = self.column(table, statement.label)
        if any(row.read(column) is None for row in table.alive):
            raise Refusal("there are NULLs")
        self.put(table, replace(column, nullable=False))

    def drop_not_null(self, statement: s.DropNotNull) -> None:
        table = self.table(statement.table)
        self.put(table, replace(self.column(table, statement.label), nullable=True))

    def set_default(self, statement: s.SetDefault) -> None:
        table = self.table(statement.table)
        self.put(table, replace(self.column(table, statement.label), default=statement.value))

    def drop_default(self, statement: s.DropDefault) -> None:
        table = self.table(statement.table)
        self.put(table, replace(self.column(table, statement.label), default=None))

    # --- rows --------------------------------------------------------------------------------------------------------

    def insert(self, statement: s.Insert) -> None:
        table = self.table(statement.table)
        self.write_rows(table, Write(next(self.numbers), "insert"), statement.labels, statement.rows)

    def write_rows(self, table: Table, write: Write, labels, rows, given: dict[int, int | None] | None = None) -> None:
        """`given` are the values of a static PARTITION clause."""
        kinds = ["+I"] * len(rows)
        if table.key and s.KIND in labels:
            at = labels.index(s.KIND)
            kinds = [row[at] for row in rows]
            labels, rows = (*labels[:at], *labels[at + 1 :]), [(*row[:at], *row[at + 1 :]) for row in rows]
        named = [self.column(table, label) for label in labels]
        made: list[Row] = []
        if len(set(named)) < len(named) or any(column.id in (given or {}) for column in named):
            raise Refusal("a column twice")
        for place, row in enumerate(rows):
            if len(row) != len(named):
                raise Refusal("wrong number of values")
            values = {column.id: column.default for column in table.columns} | (given or {})
            values |= {column.id: value for column, value in zip(named, row, strict=True)}
            row = Row((write.id, place), write, values)
            made.append(row)
            if table.key:
                self.check_nulls(table, row)
            else:
                self.place(table, row)
        if table.key:
            self.flush(table, write, made, kinds)

    def flush(self, table: Table, write: Write, rows: list[Row], kinds: list[str]) -> None:
        """One more flush a partition; rows of one key meet in it first."""
        records: dict[tuple, list] = {}
        for row, kind in zip(rows, kinds, strict=True):
            if kind not in KINDS or kind in table.rules.refuses:
                raise Refusal(f"kind {kind}")
            if kind in ("-U", "-D") and table.rules.ignores_deletes:
                continue
            key = tuple(row.values[id] for id in table.key)
            values = {column.id: row.values[column.id] for column in table.fields}
            records.setdefault(key, []).append((KINDS[kind], values))
        self.mark(table, write, {key: reduced(table.rules, found) for key, found in records.items()})

    @staticmethod
    def check_nulls(table: Table, row: Row) -> None:
        for column in table.columns:
            if not column.nullable and row.read(column) is None:
                raise Refusal(f"NULL into {column.label}")

    @staticmethod
    def place(table: Table, row: Row) -> None:
        Statements.check_nulls(table, row)
        types = {column.id: column.type for column in table.columns}
        table.rows[row.origin] = replace(row, partition=row.values.get(table.partitioned_by), types=types)

    def scope(self, table: Table, partition: tuple[str, int | None] | None) -> Scope:
        if partition is None:
            return Scope()
        column = self.column(table, partition[0])
        if column.id != table.partitioned_by:
            raise Refusal("not a partition column")
        return Scope(column.id, partition[1])

    def overwriting(self, scope: Scope) -> Write:
        number = next(self.numbers)
        return Write(number, "overwrite", replace(scope, of=number))

    def clear(self, table: Table, write: Write) -> bool:
        """Kills what is in the scope, and what a DELETE killed once more: the last statement gives the class."""
        table.overwrites |= {write.id}
        table.ever |= {write.id}
        if table.key:
            inside = [flush for flush in table.flushes if write.scope.covers(flush.partition)]
            table.gone |= {flush.id: write.scope for flush in inside}
            table.flushes = tuple(flush for flush in table.flushes if flush not in inside)
            return bool(inside)
        inside = [row for row in table.rows.values() if write.scope.holds(row)]
        killed = [row for row in inside if row.alive or row.write.kind != "overwrite"]
        table.rows |= {row.origin: row.killed(write) for row in killed}
        return bool(killed)

    def overwrite(self, statement: s.Overwrite) -> None:
        table = self.table(statement.table)
        scope = self.scope(table, statement.partition)
        write = self.overwriting(scope)
        self.clear(table, write)
        given = {} if scope.partition is None else {scope.partition: scope.value}
        self.write_rows(table, write, statement.labels, statement.rows, given)

    def truncate(self, statement: s.Truncate) -> bool:
        table = self.table(statement.table)
        return self.clear(table, self.overwriting(self.scope(table, statement.partition)))

    def tests(self, table: Table, where: s.Where) -> tuple[Test, ...]:
        return tuple(Test(self.column(table, part.column), part.op, part.value) for part in where)

    def delete(self, statement: s.Delete) -> None:
        table = self.table(statement.table)
        write = Write(next(self.numbers), "delete", where=self.tests(table, statement.where))
        if table.key:
            if "-D" in table.rules.refuses or table.rules.ignores_deletes:
                raise Refusal("the engine keeps what it has")
            self.mark(table, write, {row.origin: ("-", row.values) for row in table.alive if write.matches(row)})
            return
        for row in table.alive:
            if write.matches(row):
                table.rows[row.origin] = row.killed(write)

    def update(self, statement: s.Update) -> None:
        table = self.table(statement.table)
        settings = tuple(
            Setting(self.column(table, part.column), part.value, part.source and self.column(table, part.source))
            for part in statement.sets
        )
        if len({setting.column for setting in settings}) < len(settings):
            raise Refusal("a column twice")
        write = Write(next(self.numbers), "update", where=self.tests(table, statement.where), sets=settings)
        if table.key:
            self.update_keys(table, write)
            return
        for row in table.alive:
            if write.matches(row):
                self.place(table, updated(row, write, table.columns))

    def upsert(self, statement: s.Upsert) -> None:
        """MERGE INTO: new versions and new rows stand in one file, so the two writes have one number."""
        table = self.table(statement.table)
        k, a = (self.column(table, label) for label in "ka")
        if any(not c.nullable and c.default is None and c not in (k, a) for c in table.columns):
            raise Refusal("INSERT leaves out a column that is NOT NULL")
        given = dict(statement.rows)
        number = next(self.numbers)
        # What it looked for is listed where the key is an integer; else it may have looked for any row.
        where = (Test(k, "IN", frozenset(given)),) if k.type != "DOUBLE" else ()
        write, found = Write(number, "update", where=where, sets=None), set()
        for row in table.alive:
            if (key := row.read(k)) in given:
                found.add(key)
                values = {column.id: row.read(column) for column in table.columns} | {a.id: given[key]}
                self.place(table, replace(row, write=write, values=values, before=row, left=(), run=0))
        rows = [row for row in statement.rows if row[0] not in found]
        self.write_rows(table, Write(number, "insert"), ("k", "a"), rows)

    def update_keys(self, table: Table, write: Write) -> None:
        if table.rules.engine == "first-row" or any(setting.column.id in table.key for setting in write.sets):
            raise Refusal("a key, or first-row")
        found = {}
        for row in table.alive:
            if write.matches(row):
                sets = {setting.column.id: setting.of(row) for setting in write.sets}
                self.check_nulls(table, replace(row, values=row.values | sets))
                whole = {column.id: row.read(column) for column in table.fields} | sets
                found[row.origin] = ("+", whole) if table.rules.engine == "deduplicate" else ("=", sets)
        self.mark(table, write, found)

    @staticmethod
    def mark(table: Table, write: Write, records: dict) -> None:
        overwrites = write.scope if write.kind == "overwrite" else None
        types = {column.id: column.type for column in table.columns}
        for partition in sorted({table.partition_of(key) for key in records}, key=repr):
            inside = {key: record for key, record in records.items() if table.partition_of(key) == partition}
            table.flushes += (Flush((write.id, partition), inside, partition, overwrites, types),)

    def rewrite(self, statement: s.Rewrite) -> bool:
        self.table(statement.table)
        return True

    # --- partitions --------------------------------------------------------------------------------------------------

    def has_partition(self, table: Table, scope: Scope) -> bool:
        """Records of keys that are gone count, too."""
        inside = [flush for flush in table.flushes if scope.covers(flush.partition)]
        return scope.value in table.partitions or bool(inside) or any(scope.holds(row) for row in table.alive)

    def add_partition(self, statement: s.AddPartition) -> None:
        table = self.table(statement.table)
        if self.has_partition(table, self.scope(table, statement.partition)):
            raise Refusal("exists")
        table.partitions.add(statement.partition[1])

    def drop_partition(self, statement: s.DropPartition) -> None:
        table = self.table(statement.table)
        scope = self.scope(table, statement.partition)
        if not self.has_partition(table, scope):
            raise Refusal("no such partition")
        table.partitions.discard(scope.value)
        self.clear(table, self.overwriting(scope))

    # --- going back --------------------------------------------------------------------------------------------------

    def then(self, version: int) -> State:
        if version >= len(self.history.versions):
            raise Refusal("no such version")
        return self.history.versions[version].state

    def restore_table(self, statement: s.RestoreTable) -> None:
        then = self.then(statement.to)
        id = then.table_id(statement.table)
        if id is None:
            raise Refusal("was not there")
        table = then.tables[id].copy()
        if table.database not in self.state.databases:
            raise Refusal("its database is gone")
        self.put_table_back(id, table)

    def put_table_back(self, id: int, table: Table) -> None:
        for other_id, other in self.state.tables.items():
            taken = other.database == table.database and other.name.lower() == table.name.lower()
            if taken and other_id != id:
                raise Refusal("another table has the name now")
        self.state.tables[id] = self.with_ever(id, table)

    def with_ever(self, id: int, table: Table) -> Table:
        now = self.state.tables.get(id)
        return replace(table, ever=table.ever | now.ever) if now else table

    def restore_database(self, statement: s.RestoreDatabase) -> None:
        """The database and the tables that it had, as they were; tables that came later go."""
        then = self.then(statement.to)
        id = then.database_id(statement.name)
        if id is None:
            raise Refusal("was not there")
        database = then.databases[id].copy()
        self.free_database(database.name, but=id)
        self.state.databases[id] = database
        for table_id, table in list(self.state.tables.items()):
            if table.database == id and then.tables.get(table_id, table).database == id:
                del self.state.tables[table_id]
        for table_id, table in then.tables.items():
            if table.database == id:
                self.put_table_back(table_id, table.copy())

    def restore_branch(self, statement: s.RestoreBranch) -> None:
        then = self.then(statement.to).copy()
        tables = {id: self.with_ever(id, table) for id, table in then.tables.items()}
        self.state.databases, self.state.tables = then.databases, tables


def updated(row: Row, write: Write, columns: list[Column]) -> Row:
    """The next version of a row: all columns of the table are written, with what the row shows in them."""
    values = {column.id: row.read(column) for column in columns}
    values |= {setting.column.id: setting.of(row) for setting in write.sets}
    return replace(row, write=write, values=values, before=row, left=(), run=0)
