"""Catalog: one class, one contract, on SQLite and on PostgreSQL.

Its methods come in layers, each a module: branches and tags, the log, databases and tables, states, reservations,
commits. Positions go in and frozen records come out; nothing of the database shows.
"""

from __future__ import annotations

from shlex import quote

from anabranch.catalog.bitmaps import Blobs
from anabranch.catalog.commits import Commits
from anabranch.catalog.engine import Durability
from anabranch.catalog.migrations import is_current, migrate, properties
from anabranch.errors import InvalidOption, NotALake


class Catalog(Commits):
    """A lake's catalog. Safe to use from several threads; a forked process connects anew."""

    @classmethod
    def open(cls, url: str, *, create: bool, blobs: Blobs | None = None, durability: Durability = "disk") -> Catalog:
        """Opens a catalog, bringing an older one up to date; `create` makes it if there is none.

        Raises NotALake without one, CatalogUnreachable without connection, CatalogVersionError if it is newer.
        `durability='process'`: a commit survives the process, not the machine's power.
        """
        if durability not in ("disk", "process"):
            raise InvalidOption("durability", durability, "'disk' or 'process'")
        catalog = cls(url, durability, blobs)
        try:
            catalog._prepare(create=create)
        except BaseException:
            catalog.close()
            raise
        return catalog

    def _prepare(self, *, create: bool) -> None:
        database = self._db
        if database.is_sqlite and not database.path.exists():
            if not create:
                raise _no_lake(database.url)
            database.path.parent.mkdir(parents=True, exist_ok=True)
        with database.inspecting() as connection:
            found = properties(connection)
        if not found and not create:
            raise _no_lake(database.url)
        if not is_current(found):
            with database.migrating() as connection:
                found = migrate(connection)
        self.lake_id = found["lake_id"]


def _no_lake(url: str) -> NotALake:
    return NotALake(url, hint=f"Create one with `anabranch init PATH --catalog {quote(url)}`.")
