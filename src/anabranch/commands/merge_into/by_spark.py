"""MERGE INTO as one Spark job: for sources and targets that are not this process's work, and for what only Spark can
evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.commit import Delta
from anabranch.commands.merge_into.reach import decides_times, target_plan
from anabranch.commands.merge_into.result import Clock
from anabranch.commands.merge_into.source import Source
from anabranch.commands.session import OpenTable, Session
from anabranch.errors import SeveralMatches
from anabranch.execution.plan import ScanPlan
from anabranch.execution.shape import assignments
from anabranch.execution.spark_merge import Given, Rule, matched_rows, merge_frame, ranges
from anabranch.execution.spark_scan import scan_frame
from anabranch.execution.spark_types import arrow_frame
from anabranch.expressions import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def job_plan(session: Session, table: OpenTable, bound: BoundMerge, source: Source, places: frozenset[int]) -> ScanPlan:
    """What a job reads of the target. The range of a source that Spark keeps is asked of it, if that can skip parts."""
    view = session.view(table)
    if not decides_times(session, bound, source):
        return target_plan(view, bound, None, places, unmatched=True)
    rows = source.flat_rows() if source.rows is not None else None
    plan = target_plan(view, bound, rows, places)
    if rows is not None or len(plan.parts) < 2 or not bound.pairs or bound.of("not matched by source"):
        return plan
    frame = source.flat_frame(session.shared.spark())
    return target_plan(view, bound, None, places, ends=ranges(frame, [pair.source for pair in bound.pairs]))


def target_frame(session: Session, bound: BoundMerge, plan: ScanPlan, *, ids: bool) -> DataFrame:
    """The target's rows under flat names."""
    frame = scan_frame(session.shared.spark(), plan, session.shared.limits, ids=ids)
    flat = dict(zip(bound.schema.labels, bound.names.target.columns, strict=True))
    return frame.toDF(*[flat.get(name, name) for name in frame.columns])


def given_source(session: Session, table: OpenTable, bound: BoundMerge, source: Source) -> Given:
    """The source for a job. Of a small one it is found out before which rows meet nothing, from the columns of ON."""
    spark = session.shared.spark()
    frame = source.flat_frame(spark)
    if source.rows is None or not bound.pairs:
        return Given(frame)
    if not bound.of("not matched"):
        return Given(frame, small=True)
    rows = source.flat_rows()
    plan = job_plan(session, table, bound, source, bound.on_columns)
    named = {column.parts[0].name for column in parse_expression(bound.on).find_all(exp.Column)}
    small = rows.select([name for name in rows.column_names if name in named])
    matched = matched_rows(spark, target_frame(session, bound, plan, ids=False), small, bound.on)
    alone = np.ones(rows.num_rows, bool)
    alone[matched] = False
    return Given(frame, small=True, alone=arrow_frame(spark, rows.filter(pa.array(alone))))


def merged_by_spark(
    session: Session, table: OpenTable, bound: BoundMerge, source: Source, clock: Clock
) -> tuple[Delta, int]:
    """What became of an append table, and how many parts were read."""
    with clock.phase("job"):
        plan = job_plan(session, table, bound, source, bound.on_columns | bound.read_columns)
        target = target_frame(session, bound, plan, ids=True)
        shape = assignments(table.name, table.schema)
        with session.slots_for_jobs(table) as slots:
            to = session.destination(table)
            given = given_source(session, table, bound, source)
            report = merge_frame(target, given, bound.on, rules_of(bound), to, shape, slots.reserve)
            if bound.one_match and report.matched_twice:
                for part in report.parts:
                    to.files.discard(part.path)
                raise SeveralMatches(table.name, report.matched_twice)
            slots.used = report.parts
    return Delta(report.parts, report.updated, report.deleted), len(plan.parts)


def rules_of(bound: BoundMerge) -> list[Rule]:
    return [
        Rule(
            action.place,
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
