"""MERGE INTO: joins a source to a table and changes, adds and deletes rows by its clauses, as one commit.

1. Columns that WITH SCHEMA EVOLUTION adds; then the clauses are bound and checked, before anything is read.
2. The source is brought here if it is small (merge_source.py); an empty one does nothing.
3. An append table: rows that meet are found in this process, or by one broadcast join on Spark if the target is large;
   clauses are decided here. What is too large, or only Spark can evaluate, is one Spark job.
4. Old versions die, new versions and new rows become fresh parts. Copy-on-write also rewrites the parts with dead rows.
   Keyed tables: merge_keyed.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.versions import changed_by
from anabranch.commands.columns import ColumnSpec, define
from anabranch.commands.insert import or_discard
from anabranch.commands.merge_beside import Beside
from anabranch.commands.merge_clauses import BoundMerge, bind, new_columns
from anabranch.commands.merge_pruning import listed
from anabranch.commands.merge_reach import flat_target, target_plan
from anabranch.commands.merge_result import Clock, Merged
from anabranch.commands.merge_rewrite import rewritten
from anabranch.commands.merge_rows import Met, check_here, check_one_match, decide, meet
from anabranch.commands.merge_source import Source, brought
from anabranch.commands.merge_strategy import Strategy, pick
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.errors import NeedsSpark, SeveralMatches
from anabranch.execution.fetch import fetch
from anabranch.execution.plan import ScanPlan, TableView
from anabranch.execution.reader import read_table
from anabranch.execution.shape import by_place
from anabranch.execution.writer import write_parts
from anabranch.expressions import literal_sql
from anabranch.model import evolve
from anabranch.model.merge import MergeRequest
from anabranch.model.part import Part, with_changed
from anabranch.model.records import Change, TableDelta
from anabranch.model.rewrite import Rewrite
from anabranch.model.types import TIMESTAMP
from anabranch.model.words import counted
from anabranch.options import option
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.parquet import ORIGIN, ROW_ID
from anabranch.storage.row_ids import by_slot


def merge_into(session: Session, table: OpenTable, request: MergeRequest, source: Source) -> Merged:
    """What was done. The table is as it was if anything fails."""
    clock = Clock()
    table, evolved = _evolved(session, table, request, source)
    bound = bind(request, table.schema, source.columns)
    strategy = strategy_of(table, bound)
    with session.turn(table), clock.phase("source"), brought(source) as source:
        clock.pause()
        if source.rows is not None and not source.rows.num_rows and not bound.of("not matched by source"):
            return Merged(Strategy("nothing", "the source is empty"), clock.seconds)
        if table.schema.primary_key:
            from anabranch.commands.merge_keyed import merge_keyed

            return merge_keyed(session, table, bound, source, strategy, evolved, clock)
        return _merge_append(session, table, bound, source, strategy, evolved, clock)


def strategy_of(table: OpenTable, bound: BoundMerge) -> Strategy:
    spec = table.engine if table.schema.primary_key else None
    return pick(bound, spec, option(table.record.properties, "merge.mode"))


def bound_for(session: Session, table: OpenTable, request: MergeRequest, source: Source) -> BoundMerge:
    """The clauses as they would be bound; no name is reserved for new columns."""
    from anabranch.model.schema import Column

    schema = table.schema
    for label, type_ in new_columns(request, schema, source.columns):
        schema = evolve.add(schema, (label,), Column(label, type_, f"{label}?"), None)
    return bind(request, schema, source.columns)


def _evolved(
    session: Session, table: OpenTable, request: MergeRequest, source: Source
) -> tuple[OpenTable, OpenTable | None]:
    """The table with the columns that the MERGE adds, and again if there are any."""
    added = new_columns(request, table.schema, source.columns)
    if not added:
        return table, None
    schema = table.schema
    for column in define(session, table.id, [ColumnSpec((label,), type_) for label, type_ in added]):
        schema = evolve.add(schema, (column.label,), column, None)
    schema = replace(schema, id=session.catalog.reserve_schema_id(table.id))
    table = replace(table, schema=schema, record=replace(table.record, schema_id=schema.id))
    return table, table


# --- append tables ----------------------------------------------------------------------------------------------------


@dataclass
class _Delta:
    updates: list[Part]
    inserts: list[Part]
    updated: dict[int, BitMap]
    deleted: dict[int, BitMap]
    rewrites: Sequence[Rewrite] = ()

    @property
    def parts(self) -> list[Part]:
        return [*self.updates, *self.inserts, *(part for rewrite in self.rewrites for part in rewrite.parts)]


def _merge_append(
    session: Session,
    table: OpenTable,
    bound: BoundMerge,
    source: Source,
    strategy: Strategy,
    evolved: OpenTable | None,
    clock: Clock,
) -> Merged:
    view = session.view(table)
    rows = source.flat_rows() if source.rows is not None else None
    plan = target_plan(view, bound, rows, bound.on_columns | bound.read_columns)
    more = _read_later(bound, plan) if strategy.way == "copy-on-write" else frozenset()
    try:
        if rows is None or not decides_times(session, bound, source):
            raise NeedsSpark("this source")
        narrow = target_plan(view, bound, rows, bound.on_columns) if more else plan
        delta = _merged_here(session, table, view, bound, rows, narrow, more, clock)
    except NeedsSpark:
        delta = _merged_by_spark(session, table, bound, source, plan, clock)
    if delta.updates:
        sources = [view.state.parts[slot] for slot in delta.updated]
        since = changed_by(bound.assigned(), sources, view.written, table.schema)
        delta.updates = [with_changed(part, since) for part in delta.updates]
    if strategy.way == "copy-on-write":
        with clock.phase("rewrite"):
            delta.rewrites = rewritten(session, table, view, delta.updated, delta.deleted)
    with clock.phase("commit"):
        _commit(session, table, bound, rows, delta, evolved)
    return Merged(
        strategy,
        clock.seconds,
        inserted=sum(part.rows for part in delta.inserts),
        updated=sum(map(len, delta.updated.values())),
        deleted=sum(map(len, delta.deleted.values())),
        parts_read=len(plan.parts),
        parts_written=len(delta.parts),
    )


def decides_times(session: Session, bound: BoundMerge, source: Source) -> bool:
    """Whether expressions mean here what they mean to Spark: not so for times in a session of another zone."""
    if session.shared.spark.reads_times_as_utc:
        return True
    types = [column.type for column in bound.schema.columns] + [type_ for _, type_ in source.columns]
    return TIMESTAMP not in types


def _merged_here(
    session: Session,
    table: OpenTable,
    view: TableView,
    bound: BoundMerge,
    source: pa.Table,
    plan: ScanPlan,
    more: frozenset[int],
    clock: Clock,
) -> _Delta:
    """`more`: columns that only rows which meet are asked for, after the join."""
    target_schema = pa.schema(
        [pa.field(bound.names.target.flat(p), to_arrow(c.type)) for p, c in enumerate(bound.schema.columns)]
    )
    check_here(bound, target_schema, source.schema)
    with clock.phase("join"):
        target, met = _met(session, bound, source, plan)
        check_one_match(bound, table.name, target, met.target)
        if more:
            target, met = _with_columns(table, view, bound, target, met, more)
    shape = by_place(table.name, table.schema, len(table.schema.columns))
    with clock.phase("decide"):
        decided = decide(bound, lambda action: shape, target, source, met)
    ids, origins = target.column(ROW_ID).to_numpy(), target.column(ORIGIN)
    slots, to = (lambda: session.next_slot(table.id)), session.destination(table)
    with clock.phase("write"):
        updates: list[Part] = []
        if decided.updated:
            places = np.concatenate(decided.updated)
            versions = pa.concat_tables(decided.versions).append_column(ORIGIN, origins.take(pa.array(places)))
            updates = write_parts(to, [versions], slots, has_origin=True)
        try:
            inserts = write_parts(to, [pa.concat_tables(decided.inserted)] if decided.inserted else [], slots)
        except BaseException:
            for part in updates:
                to.files.discard(part.path)
            raise
    return _Delta(updates, inserts, _slots(ids, decided.updated), _slots(ids, decided.deleted))


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
    from anabranch.execution.spark_merge import SOURCE_ROW, matches
    from anabranch.execution.spark_scan import scan_frame

    spark = session.shared.spark()
    frame = scan_frame(spark, plan, session.shared.limits, ids=True)
    flat = dict(zip(bound.schema.labels, bound.names.target.columns, strict=True))
    frame = frame.toDF(*[flat.get(name, name) for name in frame.columns])
    used = [name for name in source.column_names if _names(bound.on, name)] or source.column_names[:1]
    found = matches(spark, frame, source.select(used), bound.on, outer=bool(bound.of("not matched by source")))
    ids = found.column(ROW_ID).to_numpy()
    _, first, row = np.unique(ids, return_index=True, return_inverse=True)
    matched = found.column(SOURCE_ROW).is_valid().to_numpy()
    rows = row[matched]
    order = np.argsort(rows, kind="stable")
    to = found.column(SOURCE_ROW).drop_null().to_numpy()
    return found.drop_columns([SOURCE_ROW]).take(pa.array(first)), Met(rows[order], to[order])


def _names(text: str, column: str) -> bool:
    from sqlglot import exp

    from anabranch.expressions import parse_expression

    return any(found.parts[0].name == column for found in parse_expression(text).find_all(exp.Column))


def _merged_by_spark(
    session: Session, table: OpenTable, bound: BoundMerge, source: Source, plan: ScanPlan, clock: Clock
) -> _Delta:
    from anabranch.execution.spark_merge import merge_frame
    from anabranch.execution.spark_scan import scan_frame

    spark = session.shared.spark()
    with clock.phase("job"):
        target = scan_frame(spark, plan, session.shared.limits, ids=True)
        flat = dict(zip(bound.schema.labels, bound.names.target.columns, strict=True))
        target = target.toDF(*[flat.get(name, name) for name in target.columns])
        shape = by_place(table.name, table.schema, len(table.schema.columns))
        with session.slots_for_jobs(table) as slots:
            to = session.destination(table)
            report = merge_frame(target, source.flat_frame(spark), bound.on, rules_of(bound), to, shape, slots.reserve)
            parts = [*report.updates, *report.inserts]
            if bound.one_match and report.matched_twice:
                for part in parts:
                    to.files.discard(part.path)
                raise SeveralMatches(table.name, report.matched_twice)
            slots.used = parts
    return _Delta(report.updates, report.inserts, report.updated, report.deleted)


def rules_of(bound: BoundMerge) -> list:  # type: ignore[type-arg]
    from anabranch.execution.spark_merge import Rule

    return [
        Rule(
            action.kind,
            action.verb,
            action.condition,
            ()
            if action.verb == "delete"
            else tuple(
                action.values.get(column.physical, bound.names.target.flat(place))
                for place, column in enumerate(bound.schema.columns)
            ),
        )
        for action in bound.actions
    ]


# --- the commit -------------------------------------------------------------------------------------------------------


def _commit(
    session: Session,
    table: OpenTable,
    bound: BoundMerge,
    source: pa.Table | None,
    delta: _Delta,
    evolved: OpenTable | None,
) -> None:
    updated, deleted = (sum(map(len, dead.values())) for dead in (delta.updated, delta.deleted))
    inserted = sum(part.rows for part in delta.inserts)
    changes: list[Change] = []
    deltas: list[TableDelta] = []
    if updated:
        changes.append(table_change(table, "update", rows=updated, predicate=_predicate(bound, source)))
        deltas.append(TableDelta(table.id, tuple(delta.updates), killed=delta.updated, cause="update"))
    if deleted:
        changes.append(table_change(table, "delete", rows=deleted, predicate=_deleted_by(bound, source)))
        deltas.append(TableDelta(table.id, killed=delta.deleted, cause="delete"))
    if inserted:
        changes.append(table_change(table, "insert", rows=inserted))
        deltas.append(TableDelta(table.id, tuple(delta.inserts), cause="insert"))
    beside = Beside(session, table, bound, source)
    commit_merge(session, table, changes, deltas, evolved, delta.parts, beside, tuple(delta.rewrites))


def commit_merge(
    session: Session,
    table: OpenTable,
    changes: Sequence[Change],
    deltas: Sequence[TableDelta],
    evolved: OpenTable | None,
    parts: Sequence[Part],
    beside: Beside | None,
    rewrites: tuple[Rewrite, ...] = (),
) -> None:
    """One commit of everything; nothing at all is none. `beside` None: it compares nothing with others' rows."""
    if not changes and evolved is None:
        return
    said = ", ".join(f"{counted(change.detail['rows'], 'row')} {_PAST[change.operation]}" for change in changes)
    schema: dict[str, Any] = {}
    if evolved is not None:
        schema = {"tables": (evolved.record,), "schemas": ((table.id, evolved.schema),)}
        changes = [*changes, table_change(table, "column")]
    message = f"{table.name}: {said or 'columns added'}"
    admit = beside.admit if beside is not None else None
    or_discard(
        session,
        table,
        parts,
        lambda: session.commit(
            table.position, "MERGE INTO", message, changes, admit, deltas=tuple(deltas), rewrites=rewrites, **schema
        ),
    )


_PAST = {"update": "updated", "delete": "deleted", "insert": "inserted"}


def _predicate(bound: BoundMerge, source: pa.Table | None) -> str:
    """Which rows the MERGE would have looked at, under physical names: a list of values, or something that nobody can
    evaluate on a row alone and that therefore matches every row."""
    names = {place: _quoted(column.physical) for place, column in enumerate(bound.schema.columns)}
    return listed(bound, source, names) or _opaque(bound)


def _deleted_by(bound: BoundMerge, source: pa.Table | None) -> str:
    """A delete may be run again on other rows, so its predicate must say exactly what dies."""
    matched = bound.of("matched")
    lone = len(matched) == 1 and matched[0].verb == "delete" and matched[0].condition is None
    return _predicate(bound, source) if lone else _opaque(bound)


def _opaque(bound: BoundMerge) -> str:
    return f"merge_into({literal_sql(pa.scalar(bound.on))})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
