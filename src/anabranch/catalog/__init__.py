"""The lake's catalog: the only mutable thing, in a SQL database, and the only home of SQLAlchemy."""

from anabranch.catalog.bitmaps import Blobs
from anabranch.catalog.catalog import Catalog
from anabranch.catalog.migrations import MIGRATIONS

__all__ = ["MIGRATIONS", "Blobs", "Catalog"]
