"""INSERT INTO and INSERT OVERWRITE: rows become fresh parts; an overwrite also removes the parts of its scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.commands.session import OpenTable, Session, is_serializable, table_change
from anabranch.errors import AnabranchError, CatalogError, CommitConflict, StorageFull
from anabranch.execution.estimates import is_small
from anabranch.execution.failures import spark_failures
from anabranch.execution.shape import Shape
from anabranch.execution.writer import write_parts
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Commit, Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.model.words import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.execution.spark_keyed import Mark
    from anabranch.execution.spark_writer import Report


@dataclass(frozen=True)
class Overwrite:
    """What an INSERT OVERWRITE replaces: the partitions that agree with `values` (physical column -> encoded value),
    and where `dynamic`, of these only the ones that the new rows have. `reads`: these may come from the table."""

    values: Mapping[str, object]
    dynamic: bool = False
    reads: bool = False

    def covers(self, part: Part, placed: Iterable[Part]) -> bool:
        if self.dynamic and part.partition not in {new.partition for new in placed}:
            return False
        have = part.partition_values
        return all(have.get(name) == value for name, value in self.values.items())

    def taken(self, session: Session, table: OpenTable, placed: Sequence[Part], head: Position) -> tuple[int, ...]:
        """The slots that it takes away at a head. One that has read its table does not fit where its scope has changed
        since, or under `serializable` the table; nor does one whose rows were written for other columns than those of
        the rows it would take. All others stand after what came before them."""
        state = session.catalog.state(head, table.id)
        now = session.catalog.table_by_id(head, table.id)
        if head != table.position and (self.reads or (now and now.schema_id != table.schema.id)):
            states = (session.catalog.state(table.position, table.id), state)
            everywhere = self.reads and is_serializable(table)
            seen, found = (
                {slot: s.dead.get(slot) for slot, p in s.parts.items() if everywhere or self.covers(p, placed)}
                for s in states
            )
            if seen != found:
                conflict = ConflictRecord(f"table {table.name}", "table", "read", "rows changed meanwhile", "overwrite")
                raise CommitConflict(
                    f"the branch moved while 'INSERT OVERWRITE' ran, and the two do not fit together: {conflict}. "
                    "Nothing was written; run the statement again.",
                    [conflict],
                    [table.id],
                )
        return tuple(slot for slot, part in state.parts.items() if self.covers(part, placed))


EVERYTHING = Overwrite({})


def insert_arrow(
    session: Session, table: OpenTable, data: Sequence[pa.Table], shape: Shape, overwrite: Overwrite | None = None
) -> int:
    """Rows of this process: no Spark. The data is shaped before anything is written."""
    if table.schema.primary_key:
        from anabranch.commands.keyed import upsert_arrow

        return upsert_arrow(session, table, data, shape, overwrite)
    with session.times():
        shaped = [shape.apply(piece) for piece in data]
    parts = write_parts(session.destination(table), shaped, lambda: session.next_slot(table.id))
    return commit_rows(session, table, parts, overwrite)


def insert_frame(
    session: Session, table: OpenTable, frame: DataFrame, shape: Shape, overwrite: Overwrite | None = None
) -> int:
    """Rows of a Spark query. Few rows of a keyed table are sorted and written here: a job would shuffle them first."""
    if table.schema.primary_key and is_small(frame, session.shared.limits.local_insert):
        return insert_here(session, table, frame, shape, overwrite)
    report = write_by_spark(session, table, frame, shape)
    rows = commit_rows(session, table, report.parts, overwrite, report.rows)
    if table.schema.primary_key and report.parts:
        from anabranch.commands.keyed import flushed

        flushed(session, table)
    return rows


def insert_here(
    session: Session, table: OpenTable, frame: DataFrame, shape: Shape, overwrite: Overwrite | None = None
) -> int:
    """Rows of a Spark query, brought to this process."""
    from anabranch.execution.assignable import assignable
    from anabranch.execution.spark_types import brought

    with spark_failures():
        rows = brought(assignable(frame, shape))
    return insert_arrow(session, table, [rows], shape, overwrite)


def write_by_spark(
    session: Session, table: OpenTable, frame: DataFrame, shape: Shape, mark: Mark | None = None
) -> Report:
    """Fresh parts that no commit knows yet. `mark`: what all rows of a keyed table are."""
    from anabranch.execution.assignable import assignable
    from anabranch.execution.spark_keyed import upsert_frame
    from anabranch.execution.spark_writer import write_frame

    to, frame = session.destination(table), assignable(frame, shape)
    with session.slots_for_jobs(table) as slots:
        if table.schema.primary_key:
            next_slot = lambda: session.next_slot(table.id)  # noqa: E731
            report = upsert_frame(frame, to, shape, table.engine, slots.reserve, next_slot, mark)
        else:
            report = write_frame(frame, to, shape, slots.reserve)
        slots.used = report.parts
    return report


def commit_rows(
    session: Session, table: OpenTable, parts: Sequence[Part], overwrite: Overwrite | None, given: int | None = None
) -> int:
    """The number of rows written, or `given` if some of them became one. Nothing to say is no commit."""
    rows = sum(part.rows for part in parts) if given is None else given
    if not parts and overwrite is None:
        return 0
    message = f"{table.name}: {counted(rows, 'row')}"
    verb, change = "INSERT", table_change(table, "insert", rows=rows)
    if overwrite is not None:
        scope = {"values": dict(overwrite.values), "dynamic": overwrite.dynamic}
        verb, change = "INSERT OVERWRITE", table_change(table, "overwrite", rows=rows, scope=scope)

    def written(head: Position) -> dict[str, Any]:
        if overwrite is None:
            return {"deltas": (TableDelta(table.id, tuple(parts), cause="insert"),)}
        removed = overwrite.taken(session, table, parts, head)
        return {"deltas": (TableDelta(table.id, tuple(parts), removed, cause="overwrite"),)}

    def commit() -> Commit:
        replay = None if overwrite is None else written
        return session.commit(table.position, verb, message, [change], replay=replay, **written(table.position))

    # Upserts of keyed tables spoil statements that have read the table, so they let one that is alone finish.
    with session.turn(table) if table.schema.primary_key else nullcontext():
        or_discard(session, table, parts, commit)
    return rows


def or_discard(session: Session, table: OpenTable, parts: Iterable[Part], commit: Callable[[], Commit]) -> Commit:
    """Runs a commit; if it is refused, the parts written for it go. Where the catalog itself failed, nobody knows
    whether the commit is in, so they stay."""
    try:
        return commit()
    except (CatalogError, StorageFull):
        raise
    except AnabranchError:
        folder = session.folder(table.id)
        for part in parts:
            folder.discard(part.path)
        raise
