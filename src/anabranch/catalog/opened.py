"""What every part of the catalog stands on: the database, and what this process remembers of it.

Only what never changes is remembered: a branch's origin, a lineage, a schema, a record or state at a version, a commit,
what a version merged, a head as a lower bound. A process that was forked from one with an open catalog has
connections and memory of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from anabranch.catalog.bitmaps import Blobs
from anabranch.catalog.engine import Database, Durability
from anabranch.catalog.made import Made
from anabranch.catalog.merged import Merged
from anabranch.catalog.state_cache import StateCache
from anabranch.forks import abandon, renew_after_fork
from anabranch.model.history import Branch, Lineage, Position
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Schema

Key = TypeVar("Key")
Value = TypeVar("Value")


class Bounded(OrderedDict[Key, Value], Generic[Key, Value]):
    """A dict that forgets its oldest entries; what it holds can be read again."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            self.popitem(last=False)


class Names(NamedTuple):
    """What names meant on a branch at a version; where only rows changed since, they mean it still."""

    version: int
    found: dict[tuple[str, ...], Any]


class Memory:
    """What this process remembers; everything in it can be read again."""

    def __init__(self) -> None:
        self.branches: Bounded[int, Branch] = Bounded(10_000)
        self.heads: Bounded[int, int] = Bounded(10_000)
        self.lineages: Bounded[Position, Lineage] = Bounded(4_096)
        self.schemas: Bounded[tuple[str, int], Schema] = Bounded(10_000)
        self.names: Bounded[int, Names] = Bounded(256)
        self.states = StateCache()
        self.records: Bounded[tuple[Position, str], Any] = Bounded(10_000)
        self.merges: Bounded[int, Merged] = Bounded(10_000)
        self.reaches: Bounded[int, tuple[int, Mapping[int, int]]] = Bounded(256)
        self.made: Bounded[tuple[int, int], Made] = Bounded(256)
        self.rewrites: dict[tuple[str, str], Rewrite] = {}
        self.rewrites_at: Bounded[tuple[str, Position], tuple[float, tuple[Rewrite, ...]]] = Bounded(1_024)


class Opened:
    """An open catalog, without anything to ask it."""

    lake_id: str

    def __init__(self, url: str, durability: Durability, blobs: Blobs | None) -> None:
        self._url, self._durability, self._blobs = url, durability, blobs
        self._memory = Memory()
        self._db = Database(url, durability)
        renew_after_fork(self)

    def close(self) -> None:
        self._db.close()

    def start_anew(self) -> None:
        """The parent's connections are its own: neither used nor closed here."""
        abandon(self._db)
        self._memory, self._db = Memory(), Database(self._url, self._durability)
