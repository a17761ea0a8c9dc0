"""MERGE INTO keyed tables on Spark: for what is too large for this process, or what only Spark can evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.commands.insert import write_by_spark
from anabranch.commands.keyed import delete_labels, delete_shape
from anabranch.commands.merge_into.by_spark import given_source, job_plan, rules_of, target_frame
from anabranch.commands.merge_into.clauses import Pair
from anabranch.commands.merge_into.result import Merged
from anabranch.commands.merge_into.source import Source
from anabranch.engines import KIND
from anabranch.engines.kinds import DELETE
from anabranch.errors import SeveralMatches
from anabranch.execution.shape import assigned, by_place
from anabranch.execution.spark_keyed import Mark
from anabranch.execution.spark_merge_keyed import change_frame, duplicates, made_frame, typed_keys
from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.lookup import wanted
from anabranch.model.part import Part
from anabranch.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.commands.merge_into.keyed import KeyedMerge


def blind(merge: KeyedMerge, pairs: Sequence[Pair], source: Source) -> Merged:
    """A source too large for this process: its rows become records on Spark, and nothing of the target is read."""
    upsert = merge.strategy.way == "blind upsert"
    frame = source.flat_frame(merge.session.shared.spark())
    columns = [merge.table.schema.columns[pair.target] for pair in pairs]
    keys = typed_keys(frame, [pair.source for pair in pairs], columns)
    if keys is None:
        return joined(merge, source)
    with merge.clock.phase("job"):
        if upsert:
            (rule,) = (rule for rule in rules_of(merge.bound) if rule.verb == "insert")
            rows = made_frame(frame, rule, merge.table.schema.columns)
            report = write_by_spark(merge.session, merge.table, rows, merge.shape())
        else:
            shape = delete_shape(merge.table)
            given = [column.label for column in columns]
            order = [given.index(label) for label in delete_labels(merge.table)]
            rows = keys.dropna().select(*[keys.columns[place] for place in order])
            report = write_by_spark(merge.session, merge.table, rows, shape, Mark(DELETE))
        if upsert and sum(part.rows for part in report.parts) != report.rows:
            _refuse_present(merge, duplicates(keys), report.parts)
    counts = {"insert" if upsert else "delete": report.rows}
    with merge.clock.phase("commit"):
        merge.commit(report.parts, counts, blind=True)
    seconds, unknown = merge.clock.seconds, None if upsert else 0
    parts = len(report.parts)
    return Merged(merge.strategy, seconds, unknown, unknown, 0 if upsert else None, 0, parts, report.rows)


def _refuse_present(merge: KeyedMerge, keys: pa.Table, parts: Sequence[Part]) -> None:
    """Keys that came more than once must not be in the table."""
    names = [merge.table.schema.physical(name).label for name in merge.table.schema.primary_key]  # type: ignore[union-attr]
    arrays = [assigned(keys.column(label), merge.table.schema.column(label)) for label in names]
    found = merge.rows(wanted(key_columns(arrays, nullable=merge.table.engine.nullable_key)).keys)
    if found.num_rows:
        for part in parts:
            merge.session.folder(merge.table.id).discard(part.path)
        raise SeveralMatches(merge.table.name, found.num_rows)


def joined(merge: KeyedMerge, source: Source) -> Merged:
    """One Spark job joins, decides and writes the change rows."""
    everything = frozenset(range(len(merge.table.schema.columns)))
    with merge.clock.phase("job"):
        plan = job_plan(merge.session, merge.table, merge.bound, source, everything)
        target = target_frame(merge.session, merge.bound, plan, ids=False)
        given = given_source(merge.session, merge.table, merge.bound, source)
        keep = [column.label in delete_labels(merge.table) for column in merge.table.schema.columns]
        rules, shape = rules_of(merge.bound), merge.shape()
        with change_frame(target, given, merge.bound.on, rules, shape, keep, _silent(merge)) as change:
            if merge.bound.one_match and (twice := change.matched_twice()):
                raise SeveralMatches(merge.table.name, twice)
            counts = change.counts()
            parts = _written(merge, change.frame) if sum(counts.values()) else []
    with merge.clock.phase("commit"):
        merge.commit(parts, counts, blind=False)
    found = (counts["insert"], counts["update"], counts["delete"])
    return Merged(merge.strategy, merge.clock.seconds, *found, len(plan.parts), len(parts))


def _silent(merge: KeyedMerge) -> list[list[int]]:
    """For each column the clauses whose records are partial updates without it."""
    partial = merge.table.engine.engine == "partial-update"
    return [
        [
            number
            for number, action in enumerate(merge.bound.actions)
            if partial and action.verb == "update" and column.physical not in action.given
        ]
        for column in merge.table.schema.columns
    ]


def _relaxed(merge: KeyedMerge) -> Schema:
    schema = merge.table.schema
    return replace(schema, columns=tuple(replace(column, nullable=True) for column in schema.columns))


def _written(merge: KeyedMerge, frame: DataFrame) -> list[Part]:
    schema = _relaxed(merge)
    shape = by_place(merge.table.name, schema, len(schema.columns) + 1, [*schema.labels, KIND])
    return write_by_spark(merge.session, merge.table, frame, shape).parts
