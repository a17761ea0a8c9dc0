"""A Lake: one session on one branch of a data lake, for one thread."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anabranch import commands
from anabranch.commands.result import Result
from anabranch.commands.session import Ref, Session, Shared, as_ref
from anabranch.errors import InvalidOption, NotALake, Refused
from anabranch.execution.session import SparkHolder
from anabranch.model.history import Branch, Commit, Tag
from anabranch.options import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch.commands.merge_branch import MergeReport
    from anabranch.commands.table_merge import Wishes
    from anabranch.model.conflict import ConflictRecord
    from anabranch.table import Table

CATALOG_FILE = "catalog.db"


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
    `durability="process"` skips fsync: commits survive this process, not a power cut.
    """
    from anabranch.catalog import Catalog
    from anabranch.storage.files import Files

    url = os.fspath(path_or_url)
    files = Files(url, storage_options, durable=durability == "disk")
    address = catalog or _embedded(files, create=create)
    try:
        opened = Catalog.open(address, create=create, blobs=files, durability=durability)  # type: ignore[arg-type]
    except OSError as error:
        raise NotALake(url, str(error)) from error
    author = author or os.environ.get("ANABRANCH_AUTHOR") or getpass.getuser()
    shared = Shared(opened, files, SparkHolder(spark), author, limits or Limits())
    return Lake(Session(shared, opened.branch(branch).id))


def _embedded(files: Any, *, create: bool) -> str:
    """The SQLite catalog of a local folder; a folder that holds something else is not taken over."""
    if not files.is_local:
        raise Refused(f"'{files.url}' is not a local folder: pass catalog='postgresql+psycopg://…' as well.")
    root = Path(files.root)
    if root.exists() and not root.is_dir():
        raise NotALake(str(root), "it is a file")
    if not (root / CATALOG_FILE).exists():
        if not create:
            raise NotALake(str(root), "it holds no catalog" if root.exists() else "it does not exist")
        if root.exists() and any(root.iterdir()):
            raise NotALake(str(root), "the folder holds other things; choose an empty or new one")
    return f"sqlite:///{quote(str(root / CATALOG_FILE), safe='/')}"


def _wishes(detect: str | None, resolve: str | None, tables: Mapping[str, str] | None) -> Wishes:
    from anabranch.commands.table_merge import Wishes

    sides = {"resolve": resolve, **{f"resolve of {name}": side for name, side in (tables or {}).items()}}
    for name, side in sides.items():
        if side is not None and side.lower() not in ("ours", "theirs"):
            raise InvalidOption(name, side, "'ours' or 'theirs'")
    if detect is not None and detect.lower() not in ("file", "row", "cell"):
        raise InvalidOption("detect", detect, "'file', 'row' or 'cell'")
    lowered = {name.lower(): side.lower() for name, side in (tables or {}).items()}
    return Wishes(detect and detect.lower(), resolve and resolve.lower(), lowered)  # type: ignore[arg-type]


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
        self._session.catalog.close()

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
        from anabranch.sql.run import run

        return run(self._session, text, args, frames)

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
        ref = as_ref(from_)
        ref = Ref(ref.name, version if version is not None else ref.version)
        branch = commands.branches.create_branch(self._session, name, ref, if_not_exists=if_not_exists)
        return Lake(self._session.on(branch.id))

    def drop_branch(self, name: str, *, if_exists: bool = False) -> None:
        commands.branches.drop_branch(self._session, name, if_exists=if_exists)

    def rename_branch(self, name: str, new_name: str) -> None:
        self._session.catalog.rename_branch(name, new_name)

    def branches(self) -> list[Branch]:
        return self._session.catalog.branches()

    def create_tag(
        self, name: str, ref: str | None = None, version: int | None = None, *, if_not_exists: bool = False
    ) -> Tag:
        at = as_ref(ref)
        at = Ref(at.name, version if version is not None else at.version)
        return commands.branches.create_tag(self._session, name, at, if_not_exists=if_not_exists)

    def drop_tag(self, name: str, *, if_exists: bool = False) -> None:
        commands.branches.drop_tag(self._session, name, if_exists=if_exists)

    def rename_tag(self, name: str, new_name: str) -> None:
        self._session.catalog.rename_tag(name, new_name)

    def tags(self) -> list[Tag]:
        return self._session.catalog.tags()

    def log(self, ref: str | int | None = None, limit: int | None = None) -> list[Commit]:
        """Commits, newest first."""
        return self._session.catalog.log(self._session.resolve(ref), limit)

    # --- merging ------------------------------------------------------------------------------------------------------

    def merge(
        self,
        theirs: str,
        into: str | None = None,
        *,
        detect: str | None = None,
        resolve: str | None = None,
        resolve_tables: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> MergeReport:
        """Merges a branch, a tag or `branch@version` into this branch, or `into` another, as one commit.

        Raises MergeConflict with `.conflicts` if the law does not allow it; `dry_run` reports them instead.
        """
        from anabranch.commands.merge_branch import merge_branch

        on = self if into is None else self.on(into)
        return merge_branch(on._session, theirs, _wishes(detect, resolve, resolve_tables), dry_run=dry_run)

    def conflicts(self, theirs: str, into: str | None = None, *, detect: str | None = None) -> list[ConflictRecord]:
        """Every conflict that a merge would meet; none if it would pass."""
        return list(self.merge(theirs, into, detect=detect, dry_run=True).conflicts)

    def cherry_pick(
        self, commit: str | int, *, resolve: str | None = None, detect: str | None = None, dry_run: bool = False
    ) -> MergeReport:
        """Does on this branch what one commit (an id, a version, or `branch@version`) did."""
        from anabranch.commands.merge_branch import cherry_pick

        wishes = _wishes(detect, resolve, None)
        return cherry_pick(self._session, self._commit(commit), wishes, dry_run=dry_run)

    def revert(
        self, commit: str | int, *, resolve: str | None = None, detect: str | None = None, dry_run: bool = False
    ) -> MergeReport:
        """Undoes what one commit did, as a new commit."""
        from anabranch.commands.merge_branch import revert

        wishes = _wishes(detect, resolve, None)
        return revert(self._session, self._commit(commit), wishes, dry_run=dry_run)

    def _commit(self, ref: str | int) -> Commit:
        if isinstance(ref, int) or "@" in ref or ref.isdigit():
            at = self._session.resolve(int(ref) if isinstance(ref, str) and ref.isdigit() else ref)
            return self._session.catalog.commit_at(at)
        return self._session.catalog.commit_by_id(ref)

    # --- databases and tables -----------------------------------------------------------------------------------------

    def databases(self) -> list[str]:
        return [record.name for record in self._session.catalog.databases(self._session.head())]

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

    def drop_database(self, name: str, *, if_exists: bool = False, cascade: bool = False) -> None:
        commands.databases.drop_database(self._session, name, if_exists=if_exists, cascade=cascade)

    def rename_database(self, name: str, new_name: str) -> None:
        commands.databases.rename_database(self._session, name, new_name)

    def set_database_properties(self, name: str, properties: Mapping[str, str]) -> None:
        commands.databases.set_database_properties(self._session, name, properties)

    def unset_database_properties(self, name: str, keys: Sequence[str], *, if_exists: bool = False) -> None:
        commands.databases.unset_database_properties(self._session, name, keys, if_exists=if_exists)

    def describe_database(self, name: str) -> Result:
        return commands.describe.describe_database(self._session, name)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: Sequence[str] = (),
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """`schema`: column declarations as in CREATE TABLE ("id BIGINT NOT NULL, v STRING DEFAULT 'x'"), an Arrow
        schema, or a mapping of names to types."""
        from anabranch.sql.declare import columns_of, table_parts

        parts = table_parts(name)
        declared, key = columns_of(schema)
        spec = commands.tables.TableSpec(declared, primary_key or key, partitioned_by, properties or {}, comment)
        commands.tables.create_table(self._session, parts, spec, if_not_exists=if_not_exists)
        return self.table(name)

    def table(self, name: str, version: int | None = None) -> Table:
        """A table of this branch by its name `database.table`, at its head or at a version."""
        from anabranch.sql.declare import table_name
        from anabranch.sql.frames import position_ref
        from anabranch.table import Table

        written = table_name(name)
        ref = position_ref(written.ref)
        if version is not None:
            ref = Ref(ref.name, version)
        return Table(self._session, written.parts, ref)

    def tables(self, database: str | None = None) -> list[str]:
        """Names as `database.table`."""
        from anabranch.model.names import qualified

        return [qualified(row.database, row.table) for row in commands.describe.show_tables(self._session, database)]

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        from anabranch.sql.declare import table_parts

        commands.tables.drop_table(self._session, table_parts(name), if_exists=if_exists)

    # --- going back ---------------------------------------------------------------------------------------------------

    def restore(self, version: int, *, table: str | None = None, database: str | None = None) -> Commit | None:
        """Makes a table, a database, or else the whole branch what it was; None if nothing differs."""
        from anabranch.sql.declare import table_parts

        then = self._session.resolve(version)
        if table is not None:
            return commands.restore.restore_table(self._session, table_parts(table), then)
        if database is not None:
            return commands.restore.restore_database(self._session, database, then)
        return commands.restore.restore_branch(self._session, then)
