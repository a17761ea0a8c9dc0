"""Every statement as a frozen dataclass: what was asked for, nothing looked up.

Fields that end in `_sql`, and `query` and `where`, are slices of the original text: expressions and queries that the
layers above read. `text` is the statement itself; like `Name.position` it takes no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.model.conflict import Choice
from anabranch.model.evolve import Place
from anabranch.model.merge import Clause
from anabranch.sql.refs import Name

Path = tuple[str, ...]
"""A column, or a field in it: `a.b.c`."""
"""The side that a conflict goes to."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Default:
    """The word DEFAULT in the place of a value."""


DEFAULT = Default()


# The lake


@dataclass(frozen=True)
class SetLakeOptions(Statement):
    options: Mapping[str, str]


@dataclass(frozen=True)
class UnsetLakeOptions(Statement):
    names: tuple[str, ...]


@dataclass(frozen=True)
class ShowLakeOptions(Statement):
    pass


# Databases


@dataclass(frozen=True)
class CreateDatabase(Statement):
    name: Name
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RenameDatabase(Statement):
    name: Name
    new_name: Name


@dataclass(frozen=True)
class SetDatabaseProperties(Statement):
    name: Name
    properties: Mapping[str, str]


@dataclass(frozen=True)
class UnsetDatabaseProperties(Statement):
    name: Name
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class DropDatabase(Statement):
    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class ShowDatabases(Statement):
    like: str | None = None


@dataclass(frozen=True)
class DescribeDatabase(Statement):
    name: Name
    extended: bool = False


# Tables


@dataclass(frozen=True)
class ColumnDef:
    """A column as declared; `type_text` is not checked here."""

    path: Path
    type_text: str
    nullable: bool = True
    default_sql: str | None = None
    comment: str | None = None
    position: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        return self.path[-1]


@dataclass(frozen=True)
class CreateTable(Statement):
    """`query` is the text after AS; `like` the table whose columns are taken; at most one of columns and like."""

    name: Name
    if_not_exists: bool = False
    columns: tuple[ColumnDef, ...] = ()
    primary_key: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    query: str | None = None
    like: Name | None = None


@dataclass(frozen=True)
class DropTable(Statement):
    name: Name
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True)
class TruncateTable(Statement):
    name: Name
    partition: Mapping[str, str] | None = None


@dataclass(frozen=True)
class OptimizeTable(Statement):
    name: Name


@dataclass(frozen=True)
class AddColumns(Statement):
    name: Name
    columns: tuple[tuple[ColumnDef, Place | None], ...]


@dataclass(frozen=True)
class DropColumns(Statement):
    name: Name
    columns: tuple[Path, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn(Statement):
    name: Name
    column: Path
    new_name: str


@dataclass(frozen=True)
class AlterColumn(Statement):
    """What changes of one column: None means left as it is. A new name comes from CHANGE COLUMN old new type."""

    name: Name
    column: Path
    new_name: str | None = None
    type_text: str | None = None
    nullable: bool | None = None
    default_sql: str | None = None
    drop_default: bool = False
    comment: str | None = None
    place: Place | None = None


@dataclass(frozen=True)
class RenameTable(Statement):
    name: Name
    new_name: Name


@dataclass(frozen=True)
class SetProperties(Statement):
    name: Name
    properties: Mapping[str, str]


@dataclass(frozen=True)
class CommentOnTable(Statement):
    """None takes the comment away."""

    name: Name
    comment: str | None


@dataclass(frozen=True)
class UnsetProperties(Statement):
    name: Name
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class AddPartition(Statement):
    name: Name
    partitions: tuple[Mapping[str, str], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartition(Statement):
    name: Name
    partitions: tuple[Mapping[str, str], ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ShowTables(Statement):
    database: Name | None = None
    like: str | None = None


@dataclass(frozen=True)
class ShowColumns(Statement):
    name: Name


@dataclass(frozen=True)
class ShowPartitions(Statement):
    name: Name
    partition: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ShowCreateTable(Statement):
    name: Name


@dataclass(frozen=True)
class ShowTblProperties(Statement):
    name: Name
    key: str | None = None


@dataclass(frozen=True)
class DescribeTable(Statement):
    name: Name
    extended: bool = False


@dataclass(frozen=True)
class DescribeHistory(Statement):
    name: Name


# Rows


@dataclass(frozen=True)
class Query(Statement):
    """SELECT, WITH, VALUES, TABLE, FROM or one of them in brackets; `text` goes to `prepare`."""


@dataclass(frozen=True)
class Values:
    """Rows of expressions, as text."""

    rows: tuple[tuple[str | Default, ...], ...]


@dataclass(frozen=True)
class Insert(Statement):
    """`source` is rows or the text of a query. `partition` maps a column to a value, or to None if it is dynamic."""

    name: Name
    source: Values | str
    columns: tuple[str, ...] | None = None
    overwrite: bool = False
    partition: Mapping[str, str | None] | None = None
    by_name: bool = False


@dataclass(frozen=True)
class Delete(Statement):
    name: Name
    alias: str | None = None
    where: str | None = None


@dataclass(frozen=True)
class Update(Statement):
    name: Name
    assignments: tuple[tuple[Path, str | Default], ...]
    alias: str | None = None
    where: str | None = None


@dataclass(frozen=True)
class MergeSource:
    """What follows USING: `text` with its alias. `names` is what expressions may call it; `labels` its listed columns.

    At most one of `table`, `frame` (the name in braces) and `values` is given; none of them is a query or a function.
    """

    text: str
    names: tuple[str, ...] = ()
    table: Name | None = None
    frame: str | None = None
    values: Values | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MergeInto(Statement):
    name: Name
    source: MergeSource
    on: str
    clauses: tuple[Clause, ...]
    alias: str | None = None
    evolves: bool = False


# Branches, tags, history


@dataclass(frozen=True)
class CreateBranch(Statement):
    """`from_ref` None: from the current branch. `at_version` None: from its head."""

    name: str
    from_ref: str | None = None
    at_version: int | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropBranch(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameBranch(Statement):
    name: str
    new_name: str


@dataclass(frozen=True)
class UseBranch(Statement):
    name: str


@dataclass(frozen=True)
class ShowBranches(Statement):
    like: str | None = None


@dataclass(frozen=True)
class ShowCurrentBranch(Statement):
    pass


@dataclass(frozen=True)
class CreateTag(Statement):
    """`ref` None: the current branch. `at_version` None: its head."""

    name: str
    ref: str | None = None
    at_version: int | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropTag(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameTag(Statement):
    name: str
    new_name: str


@dataclass(frozen=True)
class ShowTags(Statement):
    like: str | None = None


@dataclass(frozen=True)
class ShowLog(Statement):
    ref: str | None = None
    limit: int | None = None
    graph: bool = False
    version: int | None = None


@dataclass(frozen=True)
class RestoreTable(Statement):
    """Exactly one of `version` and `timestamp` is given, here and in the two below."""

    name: Name
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class RestoreDatabase(Statement):
    name: Name
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class RestoreBranch(Statement):
    """`name` None is the current branch."""

    name: str | None = None
    version: int | None = None
    timestamp: str | None = None


# Branches that meet. A ref is `name` or `name@version`, a number is a version of the session's branch.


@dataclass(frozen=True)
class MergeBranch(Statement):
    """`ours` None is the session's branch; `tables` are resolved apart from the rest."""

    theirs: str
    ours: str | None = None
    dry_run: bool = False
    resolve: Choice | None = None
    tables: Mapping[Name, Choice] = field(default_factory=dict)
    detect: str | None = None


@dataclass(frozen=True)
class ShowConflicts(Statement):
    theirs: str
    ours: str | None = None
    detect: str | None = None


@dataclass(frozen=True)
class CherryPick(Statement):
    """`commit`: the beginning of an id, `branch@version`, or a version."""

    commit: str | int
    dry_run: bool = False
    resolve: Choice | None = None
    detect: str | None = None


@dataclass(frozen=True)
class Revert(Statement):
    commit: str | int
    dry_run: bool = False
    resolve: Choice | None = None
    detect: str | None = None


@dataclass(frozen=True)
class Diff(Statement):
    old: str | int
    new: str | int
    table: Name | None = None


@dataclass(frozen=True)
class DescribeSections(Statement):
    """`against` None: since the branch's fork."""

    name: Name
    against: str | None = None


@dataclass(frozen=True)
class Explain(Statement):
    statement: Statement
    extended: bool = False
