"""What a branch is at one version: databases, tables, columns and rows, as plain dicts.

Databases, tables, columns and rows have an identity of their own; names and values are what they show. A row remembers
all its versions (`before`) and the statement that wrote each, so a "file" is that statement and the row's partition.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from .keyed import Flush, Rules, all_keys, row_of

Value = int | None

# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    id: int
    label: str
    type: str
    nullable: bool = True
    default: Value = None  # what a new row gets where nothing is said
    initial: Value = None  # what rows that are older than the column read


@dataclass(frozen=True)
class Scope:
    """What an overwrite replaces: one partition, or (`partition` is None) the whole table."""

    partition: int | None = None  # the id of the partition column
    value: Value = None
    of: int = 0  # the statement

    def holds(self, row: "Row") -> bool:
        return self.covers(row.values.get(self.partition))

    def covers(self, partition: Value) -> bool:
        return self.partition is None or partition == self.value


@dataclass(frozen=True)
class Test:
    """One comparison of a predicate, on the column itself rather than on its label."""

    __test__ = False  # not for pytest

    column: Column
    op: str
    value: Any

    def matches(self, row: "Row") -> bool:
        found = row.read(self.column)
        if self.op == "IS":
            return found is None
        if self.op == "IN":
            return found in self.value
        if found is None or self.value is None:
            return False  # SQL: unknown
        return {
            "=": found == self.value,
            "<>": found != self.value,
            "<": found < self.value,
            "<=": found <= self.value,
            ">": found > self.value,
            ">=": found >= self.value,
        }[self.op]


@dataclass(frozen=True)
class Setting:
    """`column = value`, or `column = source + value`."""

    column: Column
    value: Value
    source: Column | None = None

    def of(self, row: "Row") -> Value:
        if self.source is None:
            return self.value
        found = row.read(self.source)
        return None if found is None or self.value is None else found + self.value


@dataclass(frozen=True)
class Write:
    """A statement that changed rows: its class in the law, and what it said."""

    id: int
    kind: str  # insert | update | delete | overwrite | merge
    scope: Scope | None = None
    where: tuple[Test, ...] = ()
    sets: tuple[Setting, ...] | None = ()  # None: of a MERGE INTO, which cannot be run on other rows

    def matches(self, row: "Row") -> bool:
        return all(test.matches(row) for test in self.where)


@dataclass(frozen=True, eq=False)
class Row:
    """One version of a row. A dead row is a version too: the statement that killed it wrote it."""

    origin: tuple[int, int]  # the statement that inserted it, and its place there
    write: Write
    values: dict[int, Value]  # by column id
    partition: Value = None
    alive: bool = True
    before: "Row | None" = None
    types: dict[int, str] = field(default_factory=dict)  # of the columns when it was written
    left: "tuple[Row, ...]" = ()  # the other side's versions, where a merge chose this one or made it of both
    run: int = 0  # a statement may run on a row once more, in a merge

    def read(self, column: Column) -> Value:
        return self.values.get(column.id, column.initial)

    def shown(self, columns: list[Column]) -> tuple[Value, ...]:
        return tuple(self.read(column) for column in columns)

    @property
    def file(self) -> tuple[int, Value]:
        return self.write.id, self.partition

    @property
    def version(self) -> tuple[int, bool, int]:
        """Which version of its row this is; all that a merge under detect = 'file' compares."""
        return self.write.id, self.alive, self.run

    @property
    def versions(self) -> "list[Row]":
        """All versions, newest first."""
        return [self, *(self.before.versions if self.before else [])]

    @property
    def had(self) -> set[tuple[int, bool, int]]:
        """All versions that it has been, or that were left behind for it."""
        return {version.version for row in self.versions for version in (row, *row.left)}

    @property
    def born(self) -> Write:
        return self.versions[-1].write

    def against(self, others: "list[Row]") -> "Row":
        """The same version, for which a merge left these behind."""
        return replace(self, left=(*self.left, *others))

    def killed(self, write: Write) -> "Row":
        return replace(self, write=write, alive=False, before=self, left=(), run=0)


# --- tables, databases, the whole ------------------------------------------------------------------------------------


@dataclass
class Table:
    database: int
    name: str
    columns: list[Column]
    partitioned_by: int | None = None
    properties: dict[str, str] = field(default_factory=dict)
    partitions: set[Value] = field(default_factory=set)  # those of ADD PARTITION
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)  # by origin, dead ones too
    created: "Table | None" = None  # as it was born, without rows
    overwrites: frozenset[int] = frozenset()  # all that it has had, and that no RESTORE undid
    ever: frozenset[int] = frozenset()  # all that it has had, undone or not
    key: tuple[int, ...] = ()  # ids of columns; a table with a key has flushes and no rows of its own
    flushes: tuple[Flush, ...] = ()
    gone: dict[tuple[int, Value], Scope | None] = field(default_factory=dict)  # flush -> what took it away, if known

    @property
    def rules(self) -> Rules:
        """How its records meet. (Columns that options speak of are never renamed.)"""
        ids = {column.label: column.id for column in self.columns}
        functions, group = {}, None
        for option, value in self.properties.items():
            words = option.split(".")
            if words[-1] == "aggregate-function":
                functions[ids[words[1]]] = value
            elif words[-1] == "sequence-group":
                group = ids[words[1]], ids[value]
        engine, sequence = self.properties.get("merge-engine", "deduplicate"), self.properties.get("sequence.field")
        return Rules(engine, ids.get(sequence), functions, group, "ignore-delete" in self.properties)

    def partition_of(self, key: tuple[Value, ...]) -> Value:
        """Partition columns are part of the key."""
        return None if self.partitioned_by is None else key[self.key.index(self.partitioned_by)]

    @property
    def fields(self) -> list[Column]:
        return [column for column in self.columns if column.id not in self.key]

    @property
    def alive(self) -> list[Row]:
        if self.key:
            found = ((key, row_of(self.rules, self.fields, self.flushes, key)) for key in all_keys(self.flushes))
            return [
                Row(key, Write(0, "insert"), dict(zip(self.key, key, strict=True)) | values)
                for key, values in found
                if values is not None
            ]
        return [row for row in self.rows.values() if row.alive]

    @property
    def all_partitions(self) -> set[Value]:
        """Those added by name, and those that hold rows. (Records of keys that are gone count, too.)"""
        held = {flush.partition for flush in self.flushes} if self.key else {row.partition for row in self.alive}
        return self.partitions | held

    def copy(self) -> "Table":
        return replace(
            self,
            columns=list(self.columns),
            properties=dict(self.properties),
            partitions=set(self.partitions),
            rows=dict(self.rows),
            gone=dict(self.gone),
        )


@dataclass
class Database:
    name: str
    properties: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "Database":
        return Database(self.name, dict(self.properties))


@dataclass
class State:
    databases: dict[int, Database] = field(default_factory=dict)
    tables: dict[int, Table] = field(default_factory=dict)
    dropped: dict[int, bool] = field(default_factory=dict)  # databases: was it CASCADE?

    def copy(self) -> "State":
        return State(
            {id: database.copy() for id, database in self.databases.items()},
            {id: table.copy() for id, table in self.tables.items()},
            dict(self.dropped),
        )

    def database_id(self, name: str) -> int | None:
        return next((id for id, d in self.databases.items() if d.name.lower() == name.lower()), None)

    def table_id(self, name: str) -> int | None:
        database, table = name.split(".")
        parent = self.database_id(database)
        found = (id for id, t in self.tables.items() if t.database == parent and t.name.lower() == table.lower())
        return next(found, None)

    def full_name(self, id: int) -> str:
        table = self.tables[id]
        parent = self.databases.get(table.database)
        return f"{parent.name if parent else '?'}.{table.name}"


def same(one: Any, other: Any, *, by_value: bool = False) -> bool:
    """Are these two states (or tables) alike in all that a user can see? `by_value`: whatever versions show it."""
    return picture(one, by_value=by_value) == picture(other, by_value=by_value)


def picture(thing: State | Table | Database, *, by_value: bool = False) -> Any:
    if isinstance(thing, Table):
        rows: Any = [f.id for f in thing.flushes] if thing.key else {row.origin: row.version for row in thing.alive}
        if by_value and not thing.key:
            rows = {row.origin: [row.read(column) for column in thing.columns] for row in thing.alive}
        columns = {column.id: column for column in thing.columns}  # statements here never move one
        return thing.database, thing.name, columns, thing.properties, thing.partitions, rows
    if isinstance(thing, Database):
        return thing.name, thing.properties
    databases = {id: picture(database) for id, database in thing.databases.items()}
    return databases, {id: picture(table, by_value=by_value) for id, table in thing.tables.items()}
