"""A Lake: one session on one branch of a data lake, for one thread."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anabranch import commands, given
from anabranch.commands.rerun import rerun
from anabranch.commands.result import Result
from anabranch.commands.session import Session, Shared, as_ref, at_version, checked_limit, names_nothing
from anabranch.errors import Conflicts, NotALake, Refused
from anabranch.execution.session import SparkHolder
from anabranch.model.history import Branch, Commit, Tag
from anabranch.model.names import fold, qualified
from anabranch.options import Limits
from anabranch.texts import is_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch.commands.graph import GraphLine
    from anabranch.commands.merge_branch import MergeReport
    from anabranch.table import Table

Name = TypeVar("Name", bound=str | int | None)


def connect(
    path_or_url: str | os.PathLike[str],
    catalog: str | None = None,
    spark: SparkSession | None = None,
    branch: str = "main",
    *,
    create: bool = True,
    author: str | None = None,
    durability: str = "disk",
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> Lake:
    """Opens the lake in a folder or under a URL, and makes one where there is none yet (unless `create` is False).

    The catalog is SQLite inside the folder, or what `catalog` says: `postgresql+psycopg://user@host/database`.
    `durability="process"` skips fsync: commits survive this process, not a power cut. `limits`: the sizes at which work
    goes from this process to Spark (`anabranch.Limits`).
    """
    from anabranch.catalog import Catalog
    from anabranch.storage.files import Files

    if not isinstance(path_or_url, (str, os.PathLike)):
        raise given.refused("path_or_url", "the path of a folder, or a URL", path_or_url)
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise given.refused("spark", "a SparkSession", spark)
    if limits is not None and not isinstance(limits, Limits):
        raise given.refused("limits", "an anabranch.Limits", limits)
    if storage_options is not None:
        given.mapping("storage_options", storage_options, "names to values", "{'name': …}")
    given.text_or_none("catalog", catalog, "the URL of a database, as text")
    given.text_or_none("author", author)
    given.text("branch", branch)
    url = os.fspath(path_or_url)
    create = create and fold(branch) == "main"  # the only branch of a new lake
    files = Files(url, storage_options, durable=durability == "disk")
    address = catalog or _embedded(files, create=create)
    try:
        opened = Catalog.open(address, create=create, blobs=files, durability=durability)  # type: ignore[arg-type]
    except OSError as error:
        raise NotALake(url, str(error), "Name a folder that can be written.") from error
    author = author or os.environ.get("ANABRANCH_AUTHOR") or getpass.getuser()
    shared = Shared(opened, files, SparkHolder(spark), author, limits or Limits())
    return Lake(Session(shared, opened.branch(branch).id))


def _embedded(files: Any, *, create: bool) -> str:
    """The SQLite catalog of a local folder."""
    from anabranch.catalog.embedded import embedded

    if not files.is_local:
        raise Refused(f"'{files.url}' is not a local folder: pass catalog='postgresql+psycopg://…' as well.")
    return embedded(Path(files.root), create=create)


class Lake:
    """Reads see the head of its branch at the moment they start."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"Lake({self._session.shared.files.url!r}, branch={self.branch!r})"

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the catalog's connections; a Spark session is left running."""
        self._session.shared.close()

    @property
    def branch(self) -> str:
        """The name of the branch that this lake is on."""
        return self._session.catalog.branch_by_id(self._session.branch_id).name

    @property
    def version(self) -> int:
        """The head of the branch."""
        return self._session.head().version

    @property
    def spark(self) -> SparkSession:
        """The Spark session; starts one if none runs."""
        return self._session.shared.spark()

    def sql(self, text: str, args: Any = None, **frames: Any) -> DataFrame | Result:
        """Runs one statement. A query gives a Spark DataFrame, all else a Result.

        `args` binds `:name` (a dict) or `?` (a list); `{name}` in the text reads the frame passed as `name=`.
        """
        from anabranch.execution.incoming import repeatable
        from anabranch.sql.run import run

        return run(self._session, text, args, {name: repeatable(frame) for name, frame in frames.items()})

    # --- options ------------------------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, str]:
        """The lake's options, set or by default. They hold on all branches, for tables that do not have them."""
        return commands.options.lake_options(self._session)

    def set_options(self, options: Mapping[str, str]) -> None:
        commands.options.set_options(self._session, options)

    def unset_options(self, names: given.Names) -> None:
        """Back to the defaults."""
        commands.options.unset_options(self._session, names)

    # --- branches and tags --------------------------------------------------------------------------------------------

    def on(self, branch: str) -> Lake:
        """A cheap Lake on another branch; connections and caches are shared."""
        return Lake(self._session.on(self._session.catalog.branch(branch).id))

    def use(self, branch: str) -> None:
        """Moves this lake to another branch."""
        self._session.branch_id = self._session.catalog.branch(branch).id

    def create_branch(
        self, name: str, from_: str | None = None, version: int | None = None, *, if_not_exists: bool = False
    ) -> Lake:
        """A new branch from this one's head, or from another ref; gives a Lake on it."""
        ref = as_ref(from_, version)
        branch = commands.branches.create_branch(self._session, name, ref, if_not_exists=if_not_exists)
        return Lake(self._session.on(branch.id))

    def drop_branch(self, name: str, *, if_exists: bool = False) -> None:
        commands.branches.drop_branch(self._session, name, if_exists=if_exists)

    def rename_branch(self, name: str, new_name: str) -> None:
        self._session.catalog.rename_branch(name, new_name)

    def branches(self, *, dropped: bool = False) -> list[Branch]:
        """Those that are there; and those that were dropped, if asked for."""
        return self._session.catalog.branches(dropped=dropped)

    def create_tag(
        self, name: str, ref: str | None = None, version: int | None = None, *, if_not_exists: bool = False
    ) -> Tag:
        at = as_ref(ref, version)
        return commands.branches.create_tag(self._session, name, at, if_not_exists=if_not_exists)

    def drop_tag(self, name: str, *, if_exists: bool = False) -> None:
        commands.branches.drop_tag(self._session, name, if_exists=if_exists)

    def rename_tag(self, name: str, new_name: str) -> None:
        self._session.catalog.rename_tag(name, new_name)

    def tags(self) -> list[Tag]:
        return self._session.catalog.tags()

    def log(self, ref: str | int | None = None, limit: int | None = None) -> list[Commit]:
        """Commits, newest first."""
        return self._session.catalog.log(self._session.resolve(ref), checked_limit(limit))

    def graph(self, ref: str | int | None = None, limit: int | None = None) -> list[GraphLine]:
        """The same with everything that was merged into it, drawn line by line."""
        from anabranch.commands.graph import log_graph

        return log_graph(self._session, self._session.resolve(ref), checked_limit(limit))

    def describe_branches(self) -> Result:
        """Parent, fork and head of every branch, how far it is from its parent, and the bytes that it pins."""
        from anabranch.commands.apart import branch_table

        return branch_table(self._session)

    # --- merging ------------------------------------------------------------------------------------------------------

    def merge(
        self,
        theirs: str | Lake,
        into: str | Lake | None = None,
        *,
        detect: str | None = None,
        resolve: str | None = None,
        resolve_tables: Mapping[str, str] | None = None,
        resolutions: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> MergeReport:
        """Merges a branch, a tag or `branch@version` into this branch, or `into` another, as one commit. A branch is
        given by its name, or as a Lake on it.

        Raises MergeConflict with `.conflicts` if the law does not allow it; `dry_run` reports them instead. `resolve`
        ('ours' or 'theirs') settles all conflicts, `resolve_tables` those of one table, and `resolutions` goes row by
        row: table -> rows (Arrow, pandas, dicts) with `_row_id`, as a conflict's `row` says, and all columns as they
        shall be after the merge, or with `_kind` = '-D' for a row that shall be gone. Tables with resolutions are
        compared by row.
        """
        from anabranch.commands import asked
        from anabranch.commands.merge_branch import merge_branch

        theirs, into = self._branch_of(theirs), self._branch_of(into)
        if not isinstance(theirs, str) or names_nothing(theirs):
            raise Refused(f"{theirs!r} names no branch or tag: write its name, or 'branch@version'.")
        session = (self if into is None else self.on(into))._session
        tables: dict[str, Any] = {}
        rows: dict[str, Any] = {}
        named_sides = asked.by_table("resolve_tables", resolve_tables, "'ours' or 'theirs'")
        named_rows = asked.by_table("resolutions", resolutions, "rows")
        if named_sides or named_rows:
            from anabranch.commands.resolutions import Given
            from anabranch.sql.declare import table_parts

            known = Lake(session).tables
            sides = {
                table_parts(name, known): asked.side_of(f"resolve of {name}", side)
                for name, side in named_sides.items()
            }
            data = {table_parts(name, known): Given.of(name, those) for name, those in named_rows.items()}
            tables, rows = asked.tables_of(session, theirs, sides), asked.tables_of(session, theirs, data)
        return merge_branch(session, theirs, asked.wishes(detect, resolve, tables, rows), dry_run=dry_run)

    def conflicts(self, theirs: str | Lake, into: str | Lake | None = None, *, detect: str | None = None) -> Conflicts:
        """Every conflict that a merge would meet, as records that print as a table; none if it would pass."""
        return self.merge(theirs, into, detect=detect, dry_run=True).conflicts

    def cherry_pick(
        self, commit: str | int, *, resolve: str | None = None, detect: str | None = None, dry_run: bool = False
    ) -> MergeReport:
        """Does on this branch what one commit (an id, a version, or `branch@version`) did."""
        from anabranch.commands.asked import wishes
        from anabranch.commands.merge_branch import cherry_pick

        return cherry_pick(self._session, self._commit(commit), wishes(detect, resolve), dry_run=dry_run)

    def revert(
        self, commit: str | int, *, resolve: str | None = None, detect: str | None = None, dry_run: bool = False
    ) -> MergeReport:
        """Undoes what one commit did, as a new commit."""
        from anabranch.commands.asked import wishes
        from anabranch.commands.merge_branch import revert

        return revert(self._session, self._commit(commit), wishes(detect, resolve), dry_run=dry_run)

    def _commit(self, ref: str | int) -> Commit:
        from anabranch.commands.asked import commit_of

        is_version = isinstance(ref, str) and is_number(ref) and str(int(ref)) == ref  # an id may begin with 0
        return commit_of(self._session, int(ref) if is_version else ref)

    def _branch_of(self, named: Name | Lake) -> Name | str:
        """The name of the branch that a Lake is on; a name as it is."""
        if not isinstance(named, Lake):
            return named
        if named._session.shared is not self._session.shared:
            raise Refused(
                f"{named!r} was opened apart from this lake: write the name of a branch, as {named.branch!r}."
            )
        return named.branch

    def diff(self, old: str | int | Lake, new: str | int | Lake | None = None, table: str | None = None) -> Result:
        """What turns one state into another (this branch's head, if none is given): a branch or a Lake on it, a tag,
        `branch@version` or a version. With a table, the rows that differ, marked by `_change`: '+I', '-D', and '-U'
        before '+U'."""
        from anabranch.commands.diff import diff, diff_table
        from anabranch.sql.declare import table_parts

        before, after = (self._session.resolve(self._branch_of(state)) for state in (old, new))
        if table is None:
            return diff(self._session, before, after)
        return diff_table(self._session, before, after, table_parts(table, self.tables))

    def sections(self, table: str, against: str | None = None) -> Result:
        """A table as its snapshot at the fork and what its branch added and took away since."""
        from anabranch.commands.sections import sections
        from anabranch.sql.declare import table_name
        from anabranch.sql.frames import open_use

        return sections(self._session, open_use(self._session, table_name(table, self.tables)), against).result()

    # --- databases and tables -----------------------------------------------------------------------------------------

    def databases(self) -> list[str]:
        return [record.name for record in self._session.catalog.databases(self._session.head())]

    @rerun
    def create_database(
        self,
        name: str,
        *,
        if_not_exists: bool = False,
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        commands.databases.create_database(
            self._session, name, if_not_exists=if_not_exists, comment=comment, properties=properties
        )

    @rerun
    def drop_database(self, name: str, *, if_exists: bool = False, cascade: bool = False) -> None:
        commands.databases.drop_database(self._session, name, if_exists=if_exists, cascade=cascade)

    @rerun
    def rename_database(self, name: str, new_name: str) -> None:
        commands.databases.rename_database(self._session, name, new_name)

    @rerun
    def set_database_properties(self, name: str, properties: Mapping[str, str]) -> None:
        commands.databases.set_database_properties(self._session, name, properties)

    @rerun
    def unset_database_properties(self, name: str, keys: given.Names, *, if_exists: bool = False) -> None:
        commands.databases.unset_database_properties(self._session, name, keys, if_exists=if_exists)

    def describe_database(self, name: str) -> Result:
        return commands.describe.describe_database(self._session, name)

    @rerun
    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: given.Names = (),
        partitioned_by: given.Names = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """`schema`: column declarations as in CREATE TABLE ("id BIGINT NOT NULL, v STRING DEFAULT 'x'"), an Arrow
        schema, or a mapping of names to types."""
        from anabranch.sql.declare import columns_of, table_parts

        parts = table_parts(name)
        declared, key = columns_of(schema)
        spec = commands.tables.TableSpec(
            declared,
            given.names_or_none("primary_key", primary_key) or key,
            given.names_or_none("partitioned_by", partitioned_by) or (),
            {} if properties is None else given.properties("properties", properties),
            given.text_or_none("comment", comment),
        )
        commands.tables.create_table(self._session, parts, spec, if_not_exists=if_not_exists)
        return self.table(name)

    def table(self, name: str, version: int | None = None) -> Table:
        """A table of this branch by its name `database.table`, at its head or at a version."""
        from anabranch.sql.declare import table_name
        from anabranch.sql.frames import position_ref
        from anabranch.table import Table

        written = table_name(name, self.tables)
        ref = at_version(position_ref(written.ref), version, name)
        return Table(self._session, written.parts, ref)

    def tables(self, database: str | None = None) -> list[str]:
        """Names as `database.table`."""
        return [qualified(row.database, row.table) for row in commands.describe.show_tables(self._session, database)]

    @rerun
    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        from anabranch.sql.declare import table_parts

        commands.tables.drop_table(self._session, table_parts(name, self.tables), if_exists=if_exists)

    @rerun
    def optimize(self, table: str) -> Result:
        """Rewrites small parts, and parts with dead rows, as larger ones. No row changes."""
        from anabranch.sql.declare import table_parts

        opened = self._session.table(table_parts(table, self.tables))
        return commands.optimize.optimize(self._session, opened).result()

    # --- going back ---------------------------------------------------------------------------------------------------

    @rerun
    def restore(self, version: int, *, table: str | None = None, database: str | None = None) -> Commit | None:
        """Makes a table, a database, or else the whole branch what it was; None if nothing differs."""
        from anabranch.sql.declare import table_parts

        if table is not None and database is not None:
            raise Refused("a table or a database is restored, not both: restore the database, it has the table.")
        if version is None:
            raise Refused("None names no version to go back to: give its number.")
        then = self._session.resolve(version)
        if table is not None:
            return commands.restore.restore_table(self._session, table_parts(table, self.tables), then)
        if database is not None:
            return commands.restore.restore_database(self._session, database, then)
        return commands.restore.restore_branch(self._session, then)
