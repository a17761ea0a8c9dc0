"""What a commit writes: records of databases and tables, deltas of rows, and the operations that the law reads.

A record is the whole of an object's attributes from its version on; the last record along the lineage decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from pyroaring import BitMap

from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Schema

Operation = Literal[
    "create", "drop", "rename", "properties", "column", "partition", "comment",
    "insert", "delete", "update", "overwrite", "compaction", "restore", "kept",
]  # fmt: skip
"""The rows and columns of the law's matrices (branching/law.py), and what stands outside them. `kept`: nothing was done
in a merge of several bases, and theirs may differ."""
ROW_CLASSES: Final[tuple[Operation, ...]] = ("insert", "delete", "update", "overwrite")


@dataclass(frozen=True)
class DatabaseRecord:
    id: str
    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    dropped: bool = False


@dataclass(frozen=True)
class TableRecord:
    id: str
    database_id: str
    name: str
    schema_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    dropped: bool = False


@dataclass(frozen=True)
class PartitionRecord:
    """A partition that was added or dropped by name; `values` is the JSON text of Part.partition."""

    table_id: str
    values: str
    dropped: bool = False


@dataclass(frozen=True)
class TableDelta:
    """The rows that a commit adds to and hides from one table. Slots and dead rows are independent of each other.

    `cause` is the class that the law knows these events by; a commit may hold several deltas of a table, one a cause.
    """

    table_id: str
    placed: tuple[Part, ...] = ()
    removed: tuple[int, ...] = ()
    killed: Mapping[int, BitMap] = field(default_factory=dict)
    revived: Mapping[int, BitMap] = field(default_factory=dict)
    cause: Operation = "insert"
    version: int | None = field(default=None, compare=False)
    """The commit's, where the delta was read back."""

    @property
    def is_empty(self) -> bool:
        return not (self.placed or self.removed or self.killed or self.revived)


@dataclass(frozen=True)
class Change:
    """One operation on one object. `detail` keeps what the law needs later: predicate, scope, touched slots."""

    kind: Literal["database", "table"]
    object_id: str
    operation: Operation
    detail: Mapping[str, Any] = field(default_factory=dict)


class Done(NamedTuple):
    """That some commit did something to an object."""

    kind: Literal["database", "table"]
    object_id: str
    operation: Operation


@dataclass(frozen=True)
class CommitRequest:
    """Everything that one commit writes, made against `base`; the writer chose its id, so that a retry finds it."""

    id: str
    base: Position
    operation: str
    author: str
    message: str = ""
    databases: tuple[DatabaseRecord, ...] = ()
    tables: tuple[TableRecord, ...] = ()
    schemas: tuple[tuple[str, Schema], ...] = ()
    partitions: tuple[PartitionRecord, ...] = ()
    deltas: tuple[TableDelta, ...] = ()
    changes: tuple[Change, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    hidden_schemas: tuple[tuple[str, int], ...] = ()
    merged: Position | None = None
    fresh: frozenset[str] | None = None
    """Ids of the placed parts that the catalog may not have; None: all of them. A merge places what others stored."""
    detail: Mapping[str, Any] = field(default_factory=dict)
