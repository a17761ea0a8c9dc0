"""What a MERGE INTO reads of its target: the parts that can hold a row which ON matches. Pure: nothing is opened."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.pruning import Ends, reach
from anabranch.commands.merge_into.source import Source
from anabranch.commands.session import Session
from anabranch.errors import NeedsSpark
from anabranch.execution.plan import ScanPlan, TableView, plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.model.types import TIMESTAMP, quote_identifier


def target_plan(
    view: TableView,
    bound: BoundMerge,
    source: pa.Table | None,
    places: frozenset[int],
    *,
    unmatched: bool | None = None,
    ends: Sequence[Ends] = (),
) -> ScanPlan:
    """The target's parts that can hold a row which ON matches; `unmatched`: rows that it does not match count,
    too, which they do if a clause looks at them."""
    labels = [bound.schema.columns[place].label for place in sorted(places)]
    where = None
    if unmatched is None:
        unmatched = bool(bound.of("not matched by source"))
    if not unmatched:
        names = {place: quote_identifier(label) for place, label in enumerate(bound.schema.labels)}
        text = reach(bound, source, names, ends)
        where = None if text is None else Predicate(text)
    plan = plan_scan(view, labels, where)
    try:
        if where is not None:
            where.compiled(view.schema)
        return plan.as_hint()
    except NeedsSpark:
        return plan.unfiltered()


def flat_target(rows: pa.Table, bound: BoundMerge) -> pa.Table:
    """Rows of a scan under flat names."""
    flat = dict(zip(bound.schema.labels, bound.names.target.columns, strict=True))
    return rows.rename_columns([flat.get(name, name) for name in rows.column_names])


def decides_times(session: Session, bound: BoundMerge, source: Source) -> bool:
    """Whether expressions mean here what they mean to Spark: not so for times in a session of another zone."""
    if session.shared.spark.reads_times_as_utc:
        return True
    types = [column.type for column in bound.schema.columns] + [type_ for _, type_ in source.columns]
    return TIMESTAMP not in types
