"""The statements that the oracle speaks: a small part of the SQL, as records with their text.

`parse(text)` reads what `statement.sql` wrote, so that cases and shrunk histories are plain SQL.
Values are small integers or NULL, and in a column `_kind` the kinds of records. A predicate is a conjunction of
comparisons of a column with a literal.
"""

import re
from dataclasses import dataclass, fields

Value = int | None
KIND = "_kind"


def literal(value: Value | str) -> str:
    return f"'{value}'" if isinstance(value, str) else "NULL" if value is None else str(value)


def value_of(text: str) -> Value | str:
    text = text.strip()
    return text.strip("'") if text.startswith("'") else None if text.upper() == "NULL" else int(text)


@dataclass(frozen=True)
class Comparison:
    """`column op value`; op is one of =, <>, <, <=, >, >=, IS (with NULL)."""

    column: str
    op: str
    value: Value

    @property
    def sql(self) -> str:
        return f"{self.column} {self.op} {literal(self.value)}"


@dataclass(frozen=True)
class Assign:
    """`column = literal`, or `column = source + plus`."""

    column: str
    value: Value = None
    source: str | None = None

    @property
    def sql(self) -> str:
        return f"{self.column} = {literal(self.value) if self.source is None else f'{self.source} + {self.value}'}"


@dataclass(frozen=True)
class ColumnSpec:
    label: str
    type: str
    not_null: bool = False
    default: Value = None

    @property
    def sql(self) -> str:
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f"{self.label} {self.type}{' NOT NULL' if self.not_null else ''}{default}"


class Statement:
    """`FORM` is the text with the fields' places; `pattern` reads it back."""

    FORM = ""

    @property
    def sql(self) -> str:
        texts = {field.name: written(field.name, getattr(self, field.name)) for field in fields(self)}
        return " ".join(self.FORM.format(**texts).split())

    def __repr__(self) -> str:
        return self.sql


Where = tuple[Comparison, ...]


@dataclass(frozen=True, repr=False)
class CreateDatabase(Statement):
    name: str
    FORM = "CREATE DATABASE {name}"


@dataclass(frozen=True, repr=False)
class DropDatabase(Statement):
    name: str
    cascade: bool = False
    FORM = "DROP DATABASE {name} {cascade}"


@dataclass(frozen=True, repr=False)
class RenameDatabase(Statement):
    name: str
    new: str
    FORM = "ALTER DATABASE {name} RENAME TO {new}"


@dataclass(frozen=True, repr=False)
class SetDatabaseProperty(Statement):
    name: str
    key: str
    word: str
    FORM = "ALTER DATABASE {name} SET DBPROPERTIES ('{key}' = '{word}')"


@dataclass(frozen=True, repr=False)
class UnsetDatabaseProperty(Statement):
    name: str
    key: str
    FORM = "ALTER DATABASE {name} UNSET DBPROPERTIES ('{key}')"


ENGINES = {
    "deduplicate": {"merge-engine": "deduplicate"},
    "sequence": {"merge-engine": "deduplicate", "sequence.field": "b"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "group": {"merge-engine": "partial-update", "ignore-delete": "true", "fields.b.sequence-group": "a"},
    "aggregation": {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "max",
    },
}


@dataclass(frozen=True, repr=False)
class CreateKeyed(Statement):
    table: str
    columns: tuple[ColumnSpec, ...]
    primary: tuple[str, ...]
    engine: str
    partitioned_by: str | None = None
    FORM = "CREATE TABLE {table} ({columns}, PRIMARY KEY ({primary})) {partitioned_by} TBLPROPERTIES ({engine})"


@dataclass(frozen=True, repr=False)
class CreateTable(Statement):
    table: str
    columns: tuple[ColumnSpec, ...]
    partitioned_by: str | None = None
    FORM = "CREATE TABLE {table} ({columns}) {partitioned_by}"


@dataclass(frozen=True, repr=False)
class DropTable(Statement):
    table: str
    FORM = "DROP TABLE {table}"


@dataclass(frozen=True, repr=False)
class RenameTable(Statement):
    table: str
    new: str
    FORM = "ALTER TABLE {table} RENAME TO {new}"


@dataclass(frozen=True, repr=False)
class SetProperty(Statement):
    table: str
    key: str
    word: str
    FORM = "ALTER TABLE {table} SET TBLPROPERTIES ('{key}' = '{word}')"


@dataclass(frozen=True, repr=False)
class UnsetProperty(Statement):
    table: str
    key: str
    FORM = "ALTER TABLE {table} UNSET TBLPROPERTIES ('{key}')"


@dataclass(frozen=True, repr=False)
class AddColumn(Statement):
    table: str
    column: ColumnSpec
    FORM = "ALTER TABLE {table} ADD COLUMN {column}"


@dataclass(frozen=True, repr=False)
class DropColumn(Statement):
    table: str
    label: str
    FORM = "ALTER TABLE {table} DROP COLUMN {label}"


@dataclass(frozen=True, repr=False)
class RenameColumn(Statement):
    table: str
    label: str
    new: str
    FORM = "ALTER TABLE {table} RENAME COLUMN {label} TO {new}"


@dataclass(frozen=True, repr=False)
class Widen(Statement):
    table: str
    label: str
    type: str
    FORM = "ALTER TABLE {table} ALTER COLUMN {label} TYPE {type}"


@dataclass(frozen=True, repr=False)
class SetNotNull(Statement):
    table: str
    label: str
    FORM = "ALTER TABLE {table} ALTER COLUMN {label} SET NOT NULL"


@dataclass(frozen=True, repr=False)
class DropNotNull(Statement):
    table: str
    label: str
    FORM = "ALTER TABLE {table} ALTER COLUMN {label} DROP NOT NULL"


@dataclass(frozen=True, repr=False)
class SetDefault(Statement):
    table: str
    label: str
    value: Value
    FORM = "ALTER TABLE {table} ALTER COLUMN {label} SET DEFAULT {value}"


@dataclass(frozen=True, repr=False)
class DropDefault(Statement):
    table: str
    label: str
    FORM = "ALTER TABLE {table} ALTER COLUMN {label} DROP DEFAULT"


@dataclass(frozen=True, repr=False)
class AddPartition(Statement):
    table: str
    partition: tuple[str, Value]
    FORM = "ALTER TABLE {table} ADD {partition}"


@dataclass(frozen=True, repr=False)
class DropPartition(Statement):
    table: str
    partition: tuple[str, Value]
    FORM = "ALTER TABLE {table} DROP {partition}"


@dataclass(frozen=True, repr=False)
class Insert(Statement):
    table: str
    labels: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    FORM = "INSERT INTO {table} ({labels}) VALUES {rows}"


@dataclass(frozen=True, repr=False)
class Overwrite(Statement):
    table: str
    partition: tuple[str, Value] | None
    labels: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    FORM = "INSERT OVERWRITE {table} {partition} ({labels}) VALUES {rows}"


@dataclass(frozen=True, repr=False)
class Truncate(Statement):
    table: str
    partition: tuple[str, Value] | None = None
    FORM = "TRUNCATE TABLE {table} {partition}"


@dataclass(frozen=True, repr=False)
class Delete(Statement):
    table: str
    where: Where = ()
    FORM = "DELETE FROM {table} {where}"


@dataclass(frozen=True, repr=False)
class Update(Statement):
    table: str
    sets: tuple[Assign, ...]
    where: Where = ()
    FORM = "UPDATE {table} SET {sets} {where}"


@dataclass(frozen=True, repr=False)
class Upsert(Statement):
    """New values of `a` by `k`, of rows that are there and of new ones; no key comes twice."""

    table: str
    rows: tuple[tuple[Value, ...], ...]
    FORM = (
        "MERGE INTO {table} AS t USING (VALUES {rows}) AS s(k, a) ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a)"
    )


@dataclass(frozen=True, repr=False)
class Rewrite(Statement):
    """Compaction of one table: another way to store the same rows."""

    table: str
    FORM = "OPTIMIZE {table}"


@dataclass(frozen=True, repr=False)
class CreateBranch(Statement):
    name: str
    source: str
    version: int | None = None
    FORM = "CREATE BRANCH {name} FROM {source} {version}"


@dataclass(frozen=True, repr=False)
class DropBranch(Statement):
    name: str
    FORM = "DROP BRANCH {name}"


@dataclass(frozen=True, repr=False)
class RestoreTable(Statement):
    table: str
    to: int
    FORM = "RESTORE TABLE {table} TO VERSION {to}"


@dataclass(frozen=True, repr=False)
class RestoreDatabase(Statement):
    name: str
    to: int
    FORM = "RESTORE DATABASE {name} TO VERSION {to}"


@dataclass(frozen=True, repr=False)
class RestoreBranch(Statement):
    to: int
    FORM = "RESTORE BRANCH TO VERSION {to}"


@dataclass(frozen=True, repr=False)
class Merge(Statement):
    """Into the branch that the statement runs on. `theirs` may be `b@version`."""

    theirs: str
    resolve: str | None = None
    detect: str | None = None
    FORM = "MERGE BRANCH {theirs} {resolve} {detect}"


@dataclass(frozen=True, repr=False)
class CherryPick(Statement):
    ref: str
    resolve: str | None = None
    FORM = "CHERRY PICK {ref} {resolve}"


@dataclass(frozen=True, repr=False)
class Revert(Statement):
    ref: str
    resolve: str | None = None
    FORM = "REVERT {ref} {resolve}"


# --- texts of fields, and back ---------------------------------------------------------------------------------------


def written(name: str, value: object) -> str:
    match name, value:
        case "value", _:
            return literal(value)
        case _, None | () | False:
            return ""
        case "cascade", _:
            return "CASCADE"
        case "engine", _:
            return properties(value)
        case "column", _:
            return value.sql
        case "columns" | "sets", _:
            return ", ".join(part.sql for part in value)
        case "labels" | "primary", _:
            return ", ".join(value)
        case "rows", _:
            return ", ".join(f"({', '.join(map(literal, row))})" for row in value)
        case "where", _:
            return "WHERE " + " AND ".join(part.sql for part in value)
        case "partition", _:
            return f"PARTITION ({value[0]} = {literal(value[1])})"
        case "partitioned_by", _:
            return f"PARTITIONED BY ({value})"
        case "version", _:
            return f"AT VERSION {value}"
        case "resolve", _:
            return f"RESOLVE USING {value}"
        case "detect", _:
            return f"WITH (detect = '{value}')"
    return str(value)


def properties(engine: str) -> str:
    return ", ".join(f"'{key}' = '{word}'" for key, word in ENGINES[engine].items())


def _engine(text: str) -> str:
    return next(engine for engine in ENGINES if properties(engine) == text)


def _word(text: str) -> str:
    return text


def _where(text: str) -> Where:
    found = re.findall(r"(\w+) (=|<>|<=|>=|<|>|IS) (NULL|-?\d+)", text)
    return tuple(Comparison(column, op, value_of(value)) for column, op, value in found)


def _sets(text: str) -> tuple[Assign, ...]:
    def one(part: str) -> Assign:
        column, right = part.split(" = ")
        if " + " in right:
            source, plus = right.split(" + ")
            return Assign(column.strip(), int(plus), source)
        return Assign(column.strip(), value_of(right))

    return tuple(map(one, text.split(", ")))


def _column(text: str) -> ColumnSpec:
    label, type_, *rest = text.split()
    default = value_of(rest[-1]) if "DEFAULT" in rest else None
    return ColumnSpec(label, type_, "NOT" in rest, default)


def _rows(text: str) -> tuple[tuple[Value, ...], ...]:
    return tuple(tuple(map(value_of, row.split(","))) for row in re.findall(r"\(([^()]*)\)", text))


def _partition(text: str) -> tuple[str, Value]:
    label, value = re.fullmatch(r"(\w+) = (NULL|-?\d+)", text).groups()
    return label, value_of(value)


# How each field looks in the text, and how it is read.
FIELDS = {
    "cascade": (r"(?P<cascade>CASCADE)?", bool),
    "columns": (r"(?P<columns>.*?)", lambda text: tuple(map(_column, text.split(", ")))),
    "column": (r"(?P<column>.*)", _column),
    "engine": (r"(?P<engine>'merge-engine'.*)", _engine),
    "primary": (r"(?P<primary>[^)]*)", lambda text: tuple(text.split(", "))),
    "partitioned_by": (r"(?:PARTITIONED BY \((?P<partitioned_by>\w+)\))?", _word),
    "partition": (r"(?:PARTITION \((?P<partition>[^)]*)\))?", _partition),
    "labels": (r"(?P<labels>[^)]*)", lambda text: tuple(text.split(", "))),
    "rows": (r"(?P<rows>.*)", _rows),
    "where": (r"(?:WHERE (?P<where>.*))?", _where),
    "sets": (r"(?P<sets>.*?)", _sets),
    "value": (r"(?P<value>NULL|-?\d+)", value_of),
    "version": (r"(?:AT VERSION (?P<version>\d+))?", int),
    "to": (r"(?P<to>\d+)", int),
    "resolve": (r"(?:RESOLVE USING (?P<resolve>OURS|THEIRS))?", _word),
    "detect": (r"(?:WITH \(detect = '(?P<detect>\w+)'\))?", _word),
    "table": (r"(?P<table>[\w.]+)", _word),
}
EMPTY = {"where": (), "cascade": False}


def _pattern(form: str) -> re.Pattern[str]:
    pattern = re.escape(form).replace(r"\ ", " ").replace(r"\{", "{").replace(r"\}", "}")
    for name in re.findall(r"{(\w+)}", pattern):
        place = FIELDS[name][0] if name in FIELDS else rf"(?P<{name}>[\w.@]+)"
        pattern = pattern.replace(f"{{{name}}}", place)
    return re.compile(re.sub(r" (?=\(\?)", " ?", pattern) + r"\s*", re.DOTALL)


KINDS = [(_pattern(kind.FORM), kind) for kind in Statement.__subclasses__()]


def parse(text: str) -> Statement:
    for pattern, kind in KINDS:
        found = pattern.fullmatch(" ".join(text.split()))
        if found:
            given = {
                name: EMPTY.get(name) if part is None else FIELDS.get(name, ("", _word))[1](part)
                for name, part in found.groupdict().items()
            }
            return kind(**given)
    raise ValueError(f"the oracle does not speak: {text}")
