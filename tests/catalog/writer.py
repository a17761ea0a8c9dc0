"""A writer that tests speak through: it fills in what a commit needs and they do not care about."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from pyroaring import BitMap

from anabranch.catalog import Catalog
from anabranch.errors import CommitConflict
from anabranch.model import types
from anabranch.model.history import Commit, Position
from anabranch.model.part import Part
from anabranch.model.records import Change, CommitRequest, DatabaseRecord, TableDelta, TableRecord
from anabranch.model.schema import Column, Schema


def uid() -> str:
    return uuid.uuid4().hex


def admit_nothing(request: CommitRequest, changes: Sequence[tuple[Commit, Change]]) -> None:
    raise CommitConflict("the head moved")


def admit_all(request: CommitRequest, changes: Sequence[tuple[Commit, Change]]) -> None:
    pass


def request(base: Position, operation: str = "TEST", **fields: Any) -> CommitRequest:
    return CommitRequest(id=fields.pop("id", None) or uid(), base=base, operation=operation, author="ann", **fields)


def part(slot: int, *, rows: int = 10, id: str | None = None) -> Part:
    return Part(id or f"part-{slot}", slot, 1, rows, rows * 8, f'{{"row_groups":[{rows}]}}')


def schema(id: int = 1, *labels: str) -> Schema:
    return Schema(id, tuple(Column(label, types.BIGINT, label) for label in labels or ("id",)))


class Writer:
    """Commits at the head of a branch."""

    def __init__(self, catalog: Catalog, branch: str = "main") -> None:
        self.catalog, self.branch = catalog, branch

    def on(self, branch: str) -> "Writer":
        return Writer(self.catalog, branch)

    @property
    def head(self) -> Position:
        return self.catalog.resolve(self.branch)

    def fork(self, name: str, at: Position | None = None) -> "Writer":
        self.catalog.create_branch(name, at or self.head)
        return self.on(name)

    def commit(self, **fields: Any) -> Position:
        made = self.catalog.commit(request(self.head, **fields), admit_nothing)
        return Position(made.branch_id, made.version)

    def database(self, name: str, **fields: Any) -> DatabaseRecord:
        record = DatabaseRecord(fields.pop("id", None) or uid(), name, **fields)
        self.commit(databases=(record,), changes=(Change("database", record.id, "create"),))
        return record

    def table(self, database: DatabaseRecord, name: str, **fields: Any) -> TableRecord:
        record = TableRecord(fields.pop("id", None) or uid(), database.id, name, fields.pop("schema_id", 1), **fields)
        self.commit(tables=(record,), schemas=((record.id, schema()),), changes=(Change("table", record.id, "create"),))
        return record

    def rows(
        self,
        table_id: str,
        *,
        placed: Sequence[Part] = (),
        removed: Sequence[int] = (),
        killed: Mapping[int, Sequence[int]] | None = None,
        revived: Mapping[int, Sequence[int]] | None = None,
    ) -> Position:
        delta = TableDelta(
            table_id,
            tuple(placed),
            tuple(removed),
            {slot: BitMap(rows) for slot, rows in (killed or {}).items()},
            {slot: BitMap(rows) for slot, rows in (revived or {}).items()},
        )
        return self.commit(deltas=(delta,), changes=(Change("table", table_id, "insert"),))
