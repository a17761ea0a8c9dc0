"""What a merge is asked to do, between which points, and what comes of it for one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.branching.effects import Effect
from anabranch.branching.row_merge import Detect
from anabranch.branching.schema_merge import LeftOut, Pairs
from anabranch.commands.resolutions import Given
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.history import Position
from anabranch.model.records import ROW_CLASSES, Change, Operation, PartitionRecord, TableDelta, TableRecord
from anabranch.model.schema import Schema


@dataclass(frozen=True)
class Points:
    """The three points of a merge; several bases after a criss-cross."""

    bases: tuple[Position, ...]
    ours: Position
    theirs: Position
    replays: bool = False
    """A CHERRY PICK or REVERT: the base is no ancestor of ours, which may never have had what is there."""

    @property
    def backwards(self) -> bool:
        """A REVERT: theirs is what the base was made of."""
        return self.theirs.branch_id == self.bases[0].branch_id and self.theirs.version < self.bases[0].version


@dataclass(frozen=True)
class Wishes:
    """How the user wants a merge: what to compare, and who wins what conflicts."""

    detect: Detect | None = None
    resolve: Choice | None = None
    tables: Mapping[str, Choice] = field(default_factory=dict)
    """By table id."""
    rows: Mapping[str, Given] = field(default_factory=dict)
    """By table id: rows that the user settles one by one."""
    lake: Mapping[str, str] = field(default_factory=dict)
    """The lake's options, for tables without their own."""
    brief: bool = False
    """Only whether there are conflicts is asked: of a table's rows one is told."""
    predicates: bool = True
    """Whether theirs' predicates are held against ours' new rows; a pick or revert does not."""


@dataclass
class TableMerge:
    """What a merge does to one table; empty if nothing."""

    name: str
    record: TableRecord | None = None
    before: TableRecord | None = None
    """As ours has it; None: it has not."""
    schema: Schema | None = None
    """With conflicts of columns only a preview, under which rows are compared: ours' column where types conflict."""
    apart: Pairs = field(default_factory=dict)
    """Columns whose types conflict."""
    left_out: tuple[LeftOut, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    """Columns that both sides added and that cannot be one: the physical path of theirs -> that of ours."""
    new_schema: bool = False
    deltas: list[TableDelta] = field(default_factory=list)
    partitions: list[PartitionRecord] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    operations: list[tuple[Operation, dict[str, Any]]] = field(default_factory=list)
    conflicts: list[ConflictRecord] = field(default_factory=list)
    counting: Callable[[], Effect] = Effect
    """Asked only if somebody wants to know the `effect`."""
    resolved: bool = False
    """Rows were settled one by one."""
    news: bool = False
    """Theirs has something that ours has not, even if nothing comes of it: the merge is worth an edge."""
    shows: bool = True
    """Its rows are not the very versions that ours has, as far as that was asked."""
    shows_columns: bool = True
    """A change of columns is more than other names for them in files."""
    combined: pa.Table | None = None
    origins: np.ndarray | None = None
    changed: frozenset[str] | None = frozenset()
    """Columns in which `combined` may differ from the rows' first versions; None: unknown."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    decided: pa.Table | None = None
    """Rows of a keyed table that are placed after all others, by physical names and with their kinds."""
    repeated: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """Ours' versions that are among `combined` as they are, so that they are the latest ones."""
    undoes: bool = False
    """It is a REVERT's: whatever it does to rows brings an earlier state back."""

    @cached_property
    def effect(self) -> Effect:
        """Of its events, on rows that ours shows; of a keyed table, on records."""
        return self.counting()

    @property
    def columns_conflict(self) -> bool:
        """Whether rows are only shown, under a preview of the merged schema, and not settled."""
        return any(conflict.kind == "column" for conflict in self.conflicts)

    @property
    def is_empty(self) -> bool:
        return not (self.operations or self.conflicts or self.news)

    @property
    def is_idle(self) -> bool:
        """Nobody sees it: other versions of rows that show the same, or columns by other names in files. It comes along
        where a merge has news elsewhere, so that branches converge."""
        seen = (operation for operation, _ in self.operations if operation not in (*ROW_CLASSES, "restore", "column"))
        return not (self.conflicts or self.news or any(seen))

    @property
    def changes_something(self) -> bool:
        """Whether ours is another table after it, or would be without conflicts."""
        done = {operation for operation, _ in self.operations} - (set() if self.shows_columns else {"column"})
        return bool(done.difference(ROW_CLASSES, {"restore"}) or self.conflicts or (done and self.shows))

    @property
    def moves_in(self) -> bool:
        """Whether ours did not show the table in this database before, so that the database may be missing there."""
        if self.record is None or self.record.dropped:
            return False
        before = self.before
        return before is None or before.dropped or before.database_id != self.record.database_id

    def relax(self, schema: Schema, *sides: Schema) -> None:
        """The merged schema without the NOT NULL of columns that merged rows lack; it may be that of a side."""
        assert self.record is not None
        same = next((side for side in sides if replace(schema, id=side.id) == side), None)
        self.schema, self.new_schema = same or schema, same is None
        self.record = replace(self.record, schema_id=self.schema.id)
        self.name_column_change()
        self.news = True

    def name_column_change(self) -> None:
        """Whoever reads what this merge did must know that it changed the table's record."""
        if not any(operation == "column" for operation, _ in self.operations):
            self.operations.append(("column", {}))

    def add(self, rows: pa.Table, origins: np.ndarray, changed: frozenset[str] | None = None) -> None:
        """Rows that the merge makes, as versions of rows with these origins; `changed`: see branching/versions.py."""
        self.changed = None if self.changed is None or changed is None else self.changed | changed
        if self.combined is None or self.origins is None:
            self.combined, self.origins = rows, origins
        else:
            self.combined = pa.concat_tables([self.combined, rows])
            self.origins = np.concatenate([self.origins, origins])

    def repeat(self, rows: pa.Table, origins: np.ndarray, ids: np.ndarray) -> None:
        """Adds versions that ours shows, by their ids."""
        self.add(rows, origins)
        self.repeated = np.concatenate([self.repeated, ids])

    @property
    def _written(self) -> int:
        """Rows that the merge makes, and that ours does not show."""
        made = sum(rows.num_rows for rows in (self.combined, self.decided) if rows is not None)
        return made - len(self.repeated)

    def counts(self) -> tuple[int, int]:
        """Rows that come and rows that go; a new version of a row is one of each."""
        return self.effect.come + self._written, self.effect.go

    def words(self) -> list[Operation]:
        """What a person is told that it does: of operations on rows those that show."""
        objects = [operation for operation, _ in self.operations if operation not in ROW_CLASSES]
        if not self.revives:
            objects = [operation for operation in objects if operation != "restore"]
        if self.before and self.record and self.before.schema_id == self.record.schema_id and not self.new_schema:
            objects = [operation for operation in objects if operation != "column"]
        rows = set(self.effect.causes)
        if (self.combined is not None and self._written) or (self.decided is not None and not rows):
            rows.add("update")
        if self.undoes and rows:
            rows = {"restore"}
        return list(dict.fromkeys([*objects, *sorted(rows)]))

    @property
    def revives(self) -> bool:
        """Whether ours has dropped the table; a `restore` is otherwise one of rows."""
        return self.before is not None and self.before.dropped

    def changes(self, table_id: str, database_id: str) -> list[Change]:
        detail = {"name": self.name, "database": database_id}
        return [Change("table", table_id, operation, {**detail, **more}) for operation, more in self.operations]
