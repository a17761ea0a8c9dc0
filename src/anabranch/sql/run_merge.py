"""MERGE INTO as a statement: finds the target and the source that its text names, and hands them to the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from anabranch import expressions
from anabranch.commands import describe
from anabranch.commands.merge_into.merge import bound_for, merge_into, strategy_of
from anabranch.commands.merge_into.reach import target_plan
from anabranch.commands.merge_into.source import Source, of_arrow, of_frame
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Session
from anabranch.errors import NeedsSpark, SqlError
from anabranch.execution.incoming import arrow_table, is_spark_frame
from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import read_table
from anabranch.model.merge import MergeRequest
from anabranch.model.schema import Schema
from anabranch.sql import statements as s
from anabranch.sql.frames import open_use, run_query
from anabranch.sql.run_rows import writable

Frames = Mapping[str, Any]


def run_merge(session: Session, statement: s.MergeInto, args: Any, frames: Frames) -> Result:
    on, table = writable(session, statement.name)
    source = source_of(_reading(session, table), statement.source, table.schema, args, frames)
    return merge_into(on, table, request_of(statement), source).result()


def _reading(session: Session, table: OpenTable) -> Session:
    """The source is read as of the target's version, so that a table merged into itself is one state."""
    return session.at(table.position if table.position.branch_id == session.branch_id else session.head())


def request_of(statement: s.MergeInto) -> MergeRequest:
    target = (statement.alias,) if statement.alias else statement.name.parts
    return MergeRequest(statement.on, statement.clauses, target, statement.source.names, statement.evolves)


def source_of(session: Session, source: s.MergeSource, target: Schema, args: Any, frames: Frames) -> Source:
    """Rows of this process where they are here or a small table has them; else a Spark frame."""
    found: Source | None = None
    if source.frame is not None and source.frame in frames:
        data = frames[source.frame]
        found = of_frame(data) if is_spark_frame(data) else of_arrow(arrow_table(data, target))
    elif source.table is not None:
        found = _small_table(session, source)
    elif source.values is not None:
        with session.times():
            found = _constants(source.values)
    if found is None:
        return of_frame(run_query(session, f"SELECT * FROM {source.text}", args, frames))
    return found if source.labels is None else _relabelled(found, source.labels)


def _relabelled(source: Source, labels: tuple[str, ...]) -> Source:
    if len(labels) != len(source.columns):
        raise SqlError(f"the source has {len(source.columns)} columns, and {len(labels)} are listed after its alias")
    columns = [(label, type_) for label, (_, type_) in zip(labels, source.columns, strict=True)]
    return Source(columns, source.rows, source.frame)


def _small_table(session: Session, source: s.MergeSource) -> Source | None:
    assert source.table is not None
    plan = plan_scan(session.view(open_use(session, source.table)))
    return of_arrow(read_table(plan)) if plan.bytes <= session.shared.limits.local_work else None


def _constants(values: s.Values) -> Source | None:
    """VALUES of constants, each column of one type; None: Spark finds the common types."""
    width = len(values.rows[0])
    if any(len(row) != width for row in values.rows):
        raise SqlError("the rows of VALUES have different numbers of values")
    try:
        columns = [_column([str(row[place]) for row in values.rows]) for place in range(width)]
    except NeedsSpark:
        return None
    return of_arrow(pa.table(columns, names=[f"col{place + 1}" for place in range(width)]))


def _column(texts: list[str]) -> pa.Array:
    no_columns = pa.schema([])
    one = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["row"])
    compiled = [expressions.compile_expression(expressions.parse_expression(text), no_columns) for text in texts]
    known = {found.type for found in compiled if not pa.types.is_null(found.type)}
    if len(known) > 1:
        raise NeedsSpark("VALUES of several types")
    type_ = known.pop() if known else pa.null()
    return pa.array([found(one)[0].as_py() for found in compiled], type_)


def explain_merge(session: Session, statement: s.MergeInto, args: Any, frames: Frames) -> Result:
    """The strategy and why, and what would be read of the target."""
    on, table = writable(session, statement.name)
    source = source_of(_reading(session, table), statement.source, table.schema, args, frames)
    bound = bound_for(on, table, request_of(statement), source)
    strategy = strategy_of(table, bound)
    rows: list[Any] = [[table.name, strategy.way, None, None, None, None, strategy.reason]]
    count = None if source.rows is None else source.rows.num_rows
    size = None if source.rows is None else source.rows.nbytes
    note = "a Spark frame, evaluated once" if source.rows is None else "rows of this process"
    if count == 0 and not bound.of("not matched by source"):
        rows = [[table.name, "nothing", None, None, None, None, "the source is empty"]]
    rows.append(["source", "here" if source.rows is not None else "spark", None, count, None, size, note])
    if strategy.way in ("dead rows", "copy-on-write", "join") and count != 0:
        here = source.flat_rows() if source.rows is not None else None
        places = bound.on_columns | bound.read_columns
        old = frozenset(place for place in places if place < len(table.schema.columns))
        rows += list(describe.explain(on, [target_plan(on.view(table), bound, here, old)]))
    return Result(["table", "path", "parts", "rows", "dead_rows", "bytes", "note"], rows)
