"""MERGE INTO append tables: rows that meet are found here or by one broadcast join, clauses are decided here.

Old versions die, new versions and new rows become one fresh part (one for each partition), in which rows with an
`_origin` are new versions. Copy-on-write first joins the columns of ON alone, then
reads what clauses need of the rows that met, and rewrites the parts with dead rows. What is too large for this process,
or only Spark can evaluate, is one Spark job (by_spark.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyroaring import BitMap
from sqlglot import exp

from anabranch.branching.versions import changed_by
from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.commit import Delta, commit_delta
from anabranch.commands.merge_into.reach import decides_times, flat_target, target_plan
from anabranch.commands.merge_into.result import Clock, Merged
from anabranch.commands.merge_into.rewrite import rewritten
from anabranch.commands.merge_into.rows import Met, check_here, check_one_match, decide, meet
from anabranch.commands.merge_into.source import Source
from anabranch.commands.merge_into.strategy import Strategy
from anabranch.commands.session import OpenTable, Session
from anabranch.errors import NeedsSpark
from anabranch.execution.fetch import fetch
from anabranch.execution.plan import ScanPlan, TableView
from anabranch.execution.reader import read_table
from anabranch.execution.shape import assignments
from anabranch.execution.writer import write_parts
from anabranch.expressions import parse_expression
from anabranch.model.part import Part, with_changed
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.parquet import ORIGIN, ROW_ID
from anabranch.storage.row_ids import by_slot


def merge_append(
    session: Session,
    table: OpenTable,
    bound: BoundMerge,
    source: Source,
    strategy: Strategy,
    evolved: OpenTable | None,
    clock: Clock,
) -> Merged:
    view = session.view(table)
    rows = source.flat_rows() if source.rows is not None and decides_times(session, bound, source) else None
    try:
        if rows is None:
            raise NeedsSpark("this source")
        delta, parts_read = _merged_here(session, table, view, bound, rows, strategy, clock)
    except NeedsSpark:
        from anabranch.commands.merge_into.by_spark import merged_by_spark

        delta, parts_read = merged_by_spark(session, table, bound, source, clock)
    if delta.updated:
        sources = [view.state.parts[slot] for slot in delta.updated]
        since = changed_by(bound.assigned(), sources, view.written, table.schema)
        delta.fresh = [with_changed(part, since) if part.has_origin else part for part in delta.fresh]
    if strategy.way == "copy-on-write":
        with clock.phase("rewrite"), discarded_on_error(session, table, delta.parts):
            delta.rewrites = rewritten(session, table, view, delta.updated, delta.deleted)
    with clock.phase("commit"):
        commit_delta(session, table, bound, rows, delta, evolved)
    return Merged(
        strategy,
        clock.seconds,
        inserted=delta.inserted,
        updated=sum(map(len, delta.updated.values())),
        deleted=sum(map(len, delta.deleted.values())),
        parts_read=parts_read,
        parts_written=len(delta.parts),
    )


def _merged_here(
    session: Session,
    table: OpenTable,
    view: TableView,
    bound: BoundMerge,
    source: pa.Table,
    strategy: Strategy,
    clock: Clock,
) -> tuple[Delta, int]:
    """What becomes of the table, and how many parts were read. Raises NeedsSpark before anything is written."""
    target_schema = pa.schema(
        [pa.field(bound.names.target.flat(p), to_arrow(c.type)) for p, c in enumerate(bound.schema.columns)]
    )
    check_here(bound, target_schema, source.schema)
    plan = target_plan(view, bound, source, bound.on_columns | bound.read_columns)
    more = _read_later(bound, plan) if strategy.way == "copy-on-write" else frozenset()
    if more:
        plan = target_plan(view, bound, source, bound.on_columns)
    with clock.phase("join"):
        target, met = _met(session, bound, source, plan)
        check_one_match(bound, table.name, target, met.target)
        if more:
            target, met = _with_columns(table, view, bound, target, met, more)
    shape = assignments(table.name, table.schema)
    with clock.phase("decide"):
        decided = decide(bound, lambda action: shape, target, source, met)
    ids, origins = target.column(ROW_ID).to_numpy(), target.column(ORIGIN)
    slots, to = (lambda: session.next_slot(table.id)), session.destination(table)
    with clock.phase("write"):
        rows = [*decided.versions, *decided.inserted]
        if decided.updated:
            places = np.concatenate(decided.updated)
            of_versions = origins.take(pa.array(places)).combine_chunks()
            none = pa.nulls(sum(made.num_rows for made in decided.inserted), pa.int64())
            rows = [pa.concat_tables(rows).append_column(ORIGIN, pa.chunked_array([of_versions, none]))]
        fresh = write_parts(to, [pa.concat_tables(rows)] if rows else [], slots, has_origin=bool(decided.updated))
    return Delta(fresh, _slots(ids, decided.updated), _slots(ids, decided.deleted)), len(plan.parts)


@contextmanager
def discarded_on_error(session: Session, table: OpenTable, parts: Sequence[Part]) -> Iterator[None]:
    """Parts that no commit will know go when what follows them fails."""
    try:
        yield
    except BaseException:
        for part in parts:
            session.folder(table.id).discard(part.path)
        raise


def _read_later(bound: BoundMerge, plan: ScanPlan) -> frozenset[int]:
    """The columns that ON does not read, if parts without a match need not be opened for them: clauses look at rows
    that match alone, and these can be fetched by where they stand."""
    if bound.of("not matched by source") or any(part.has_row_id for part in plan.parts):
        return frozenset()
    return bound.read_columns - bound.on_columns


def _with_columns(
    table: OpenTable, view: TableView, bound: BoundMerge, target: pa.Table, met: Met, places: frozenset[int]
) -> tuple[pa.Table, Met]:
    """The rows that meet, with more of their columns."""
    rows, again = np.unique(met.target, return_inverse=True)
    target = target.take(pa.array(rows))
    columns = [bound.schema.columns[place] for place in sorted(places)]
    ids = target.column(ROW_ID).to_numpy()
    found = fetch(view.files, table.name, view.state.parts, view.written, columns, ids)
    for column in columns:
        name = bound.names.target.flat(bound.schema.columns.index(column))
        target = target.append_column(name, found.column(column.label))
    return target, Met(again, met.source)


def _slots(ids: np.ndarray, places: Sequence[np.ndarray]) -> dict[int, BitMap]:
    return by_slot(ids[np.concatenate(places)]) if places else {}


def _met(session: Session, bound: BoundMerge, source: pa.Table, plan: ScanPlan) -> tuple[pa.Table, Met]:
    """The target's rows with their ids, and the pairs that ON is true for."""
    if plan.bytes <= session.shared.limits.local_work:
        target = flat_target(read_table(plan, ids=True), bound)
        try:
            return target, meet(bound, target, source)
        except NeedsSpark:
            pass
    if not bound.pairs:
        raise NeedsSpark("a join without an equality")
    from anabranch.commands.merge_into.by_spark import target_frame
    from anabranch.execution.spark_merge import SOURCE_ROW, matched_rows, matches

    spark, frame = session.shared.spark(), target_frame(session, bound, plan, ids=True)
    named = {column.parts[0].name for column in parse_expression(bound.on).find_all(exp.Column)}
    small = source.select([name for name in source.column_names if name in named])
    if all(action.kind == "not matched" for action in bound.actions):
        matched = matched_rows(spark, frame, small, bound.on)
        nothing = pa.table({name: pa.array([], pa.int64()) for name in (ROW_ID, ORIGIN)})
        return nothing, Met(np.zeros(0, np.int64), matched)
    found = matches(spark, frame, small, bound.on, outer=bool(bound.of("not matched by source")))
    ids = found.column(ROW_ID).to_numpy()
    _, first, row = np.unique(ids, return_index=True, return_inverse=True)
    matched = found.column(SOURCE_ROW).is_valid().to_numpy()
    rows = row[matched]
    order = np.argsort(rows, kind="stable")
    to = found.column(SOURCE_ROW).drop_null().to_numpy()
    return found.drop_columns([SOURCE_ROW]).take(pa.array(first)), Met(rows[order], to[order])
