"""MERGE INTO on Spark, over frames with flat column names.

`matches` is one broadcast join that brings the ids of the target rows that meet a small source, and nothing else
happens on Spark. `merge_frame` is for what this process should not do: one join brings both sides together, the first
clause whose condition is true chooses what becomes of a row, and tasks write new versions, new rows and the ids of
dead ones. Both evaluate the source once.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.errors import DataError, NeedsSpark, in_clause
from anabranch.execution.assignable import meeting
from anabranch.execution.failures import spark_failures
from anabranch.execution.file_columns import checked_cast
from anabranch.execution.shape import Shape, assigned
from anabranch.execution.slots import Reserve, Slots, SlotsUsedUp
from anabranch.execution.spark_labels import by_label, rebuilt
from anabranch.execution.spark_types import arrow_frame, label_schema, nullable, spark_type, type_of
from anabranch.execution.spark_writer import MAX_TASKS, run_tasks, task_slots
from anabranch.execution.spread import shuffled_tasks
from anabranch.execution.writer import PartsWriter
from anabranch.model.part import Part
from anabranch.model.schema import Column
from anabranch.model.types import DataType, backticked
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.parquet import ORIGIN, ROW_ID, Destination
from anabranch.storage.row_ids import by_slot, united

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SOURCE_ROW = "_source_row"
THERE, RULE = "_there", "_rule"
NO_RULE = -1


@dataclass(frozen=True)
class Rule:
    """A clause over flat columns; `values` has a text for every column of the table, none for a delete. Errors name
    its `place`."""

    place: str
    kind: str
    verb: str
    condition: str | None
    values: tuple[str, ...] = ()


@dataclass
class MergeReport:
    """What a task, or the whole job, did. `matched`: target rows that met a source row; `pairs`: how often."""

    parts: list[Part] = field(default_factory=list)
    updated: dict[int, BitMap] = field(default_factory=dict)
    deleted: dict[int, BitMap] = field(default_factory=dict)
    matched: dict[int, BitMap] = field(default_factory=dict)
    pairs: int = 0
    too_few_slots: bool = False

    @property
    def matched_twice(self) -> int:
        return self.pairs - sum(map(len, self.matched.values()))


def matches(spark: SparkSession, target: DataFrame, source: pa.Table, on: str, *, outer: bool) -> pa.Table:
    """The target's rows that meet a source row, with its number; `outer`: also those that meet none, with NULL."""
    from pyspark.sql import functions as F

    with spark_failures():
        small = F.broadcast(_numbered(spark, source))
        joined = target.join(small, F.expr(on), "left" if outer else "inner")
        return joined.select(*[backticked(name) for name in target.columns], SOURCE_ROW).toArrow()


def matched_rows(spark: SparkSession, target: DataFrame, source: pa.Table, on: str) -> np.ndarray:
    """The numbers of the source's rows that meet a target row, each once."""
    from pyspark.sql import functions as F

    with spark_failures():
        joined = target.join(F.broadcast(_numbered(spark, source)), F.expr(on))
        found: np.ndarray = joined.select(SOURCE_ROW).distinct().toArrow().column(0).to_numpy()
    return found


def _numbered(spark: SparkSession, source: pa.Table) -> DataFrame:
    return arrow_frame(spark, source.append_column(SOURCE_ROW, pa.array(np.arange(source.num_rows))))


@dataclass(frozen=True)
class Given:
    """A source. `small`: it is broadcast. `alone`: of a small one, the rows that meet no target row, where known:
    a join that keeps unmatched rows of its broadcast side would bring the whole target together instead."""

    frame: DataFrame
    small: bool = False
    alone: DataFrame | None = None


def ruled(target: DataFrame, source: Given, on: str, rules: Sequence[Rule]) -> DataFrame:
    """Both sides joined as far as the rules need it, and which rule acts on each row.

    Rows that matched and on which none acts are kept: whether a target row matched twice is asked of all matches.
    """
    from pyspark.sql import functions as F

    kinds = {rule.kind for rule in rules}
    joined = _shorter(target, source, on, rules)
    if joined is None:
        joined = _joined(target, source, on, kinds)
    return joined.withColumn(RULE, _chosen(rules)).where(F.col(RULE).isNotNull())


def _shorter(target: DataFrame, source: Given, on: str, rules: Sequence[Rule]) -> DataFrame | None:
    """Only inserts: the source rows that meet nothing. A lone DELETE: the target rows that meet something."""
    from pyspark.sql import functions as F

    condition = F.expr(on)
    if all(rule.kind == "not matched" for rule in rules):
        alone = source.frame.join(target, condition, "left_anti") if source.alone is None else source.alone
        nothing = F.lit(None).cast("long")
        return alone.withColumn(THERE, F.lit(True)).withColumn(ROW_ID, nothing).withColumn(ORIGIN, nothing)
    if len(rules) == 1 and (rules[0].kind, rules[0].verb, rules[0].condition) == ("matched", "delete", None):
        frame = F.broadcast(source.frame) if source.small else source.frame
        return target.join(frame, condition, "left_semi").withColumn(THERE, F.lit(True))
    return None


def _joined(target: DataFrame, source: Given, on: str, kinds: Collection[str]) -> DataFrame:
    from pyspark.sql import functions as F

    left, right = "not matched by source" in kinds, "not matched" in kinds
    how = "full" if left and right else "left" if left else "right" if right else "inner"
    marked = source.frame.withColumn(THERE, F.lit(True))
    if source.alone is None or not right:
        return target.join(F.broadcast(marked) if source.small and not right else marked, F.expr(on), how)
    met = target.join(F.broadcast(marked), F.expr(on), "left" if left else "inner")
    return met.unionByName(source.alone.withColumn(THERE, F.lit(True)), allowMissingColumns=True)


def _chosen(rules: Sequence[Rule]) -> SparkColumn:
    """The number of the first rule that acts on a row; NULL: none, and it did not match."""
    from pyspark.sql import functions as F

    has_target, has_source = F.col(ROW_ID).isNotNull(), F.col(THERE).isNotNull()
    of_kind = {
        "matched": has_target & has_source,
        "not matched": ~has_target,
        "not matched by source": ~has_source,
    }
    chosen = F.lit(None).cast("int")
    for number, rule in reversed([*enumerate(rules)]):
        condition = of_kind[rule.kind]
        if rule.condition is not None:
            condition = condition & F.coalesce(F.expr(rule.condition).cast("boolean"), F.lit(False))
        chosen = F.when(condition, F.lit(number)).otherwise(chosen)
    return F.when(chosen.isNull() & of_kind["matched"], F.lit(NO_RULE)).otherwise(chosen)


def outcome(frame: DataFrame, rules: Sequence[Rule], columns: Sequence[Column]) -> list[SparkColumn]:
    """The new rows' columns, of the table's types; NULL where nothing is written."""
    from pyspark.sql import functions as F

    texts = list(dict.fromkeys(text for rule in rules for text in rule.values))
    fields = frame.select(*map(F.expr, texts)).schema.jsonValue()["fields"] if texts else []
    known = {text: field["type"] for text, field in zip(texts, fields, strict=True)}
    made = []
    for place, column in enumerate(columns):
        target = label_schema((column,)).fields[0].dataType
        value = F.lit(None).cast(target)
        for number, rule in enumerate(rules):
            if rule.values:
                text = rule.values[place]
                value = F.when(F.col(RULE) == number, _stored(rule, text, known[text], column, target)).otherwise(value)
        made.append(value.alias(f"_c{place}"))
    return made


def _stored(rule: Rule, text: str, given: Any, column: Column, target: Any) -> SparkColumn:
    """By Spark's rules of store assignment, refused before a job starts where types do not go together."""
    from pyspark.sql import functions as F

    try:
        value, given = by_label(F.expr(text), given, column)
        met = None if isinstance(given, str) else meeting(given, column.type)
        if met is not None:  # (what a value is made of again may be NULL, whatever it was before)
            given, value = met, value.cast(spark_type(nullable(met)))
        type_ = to_arrow(type_of(given, column.label))
        assigned(pa.chunked_array([pa.array([], type_)]), column)
    except NeedsSpark:
        return checked_cast(value, column, target, in_merge(rule.place))
    except DataError as error:
        raise in_clause(error, rule.place) from error
    if type_ == to_arrow(column.type) or pa.types.is_null(type_):
        return value.cast(target)
    return _checked(value, given, column, in_merge(rule.place)).cast(target)


def _checked(value: SparkColumn, given: Any, column: Column, place: str) -> SparkColumn:
    """The value with every type in it the column's; what does not fit is refused, however deep, in whatever mode the
    session is."""

    def inside(value: SparkColumn, given: Any, target: DataType) -> SparkColumn:
        return _checked(value, given, replace(column, type=target), place)

    if isinstance(given, str):
        return checked_cast(value, column, str(column.type), place)
    return rebuilt(value, given, column.type, inside)


def in_merge(place: str) -> str:
    return f"MERGE INTO, {place}: "


def merge_frame(
    target: DataFrame,
    source: Given,
    on: str,
    rules: Sequence[Rule],
    to: Destination,
    shape: Shape,
    reserve: Reserve,
) -> MergeReport:
    """The whole MERGE of an append table. `target` has `_row_id` and `_origin`."""
    from pyspark.sql import functions as F

    with spark_failures():
        frame = ruled(target, source, on, rules)
        rows = frame.select(*outcome(frame, rules, shape.schema.columns), F.col(RULE), F.col(ROW_ID), F.col(ORIGIN))
        tasks, layers = MAX_TASKS, (1, 64)
        gathered = rows.coalesce(tasks)
        if shape.schema.partitioned_by:
            places = [shape.schema.columns.index(column) for column in shape.schema.partition_columns]
            keys = [f"_c{place}" for place in places]
            gathered, tasks = rows.repartition(*keys).sortWithinPartitions(*keys), shuffled_tasks(rows)
            layers = (128, 8192)
    kernel = lambda slots: _Task(to, shape, slots, tuple(rules)).__call__  # noqa: E731
    return run_tasks(gathered, to, reserve, tasks, layers, kernel, _received)


def ranges(source: DataFrame, texts: Sequence[str]) -> list[tuple[pa.Scalar, pa.Scalar]]:
    """The smallest and the largest value of each text over the source; it should be kept by Spark."""
    from pyspark.sql import functions as F

    with spark_failures():
        wanted = [of(F.expr(text)).alias(f"{name}{place}")
                  for place, text in enumerate(texts) for name, of in (("low", F.min), ("high", F.max))]  # fmt: skip
        found = source.agg(*wanted).toArrow()
    return [(found.column(2 * place)[0], found.column(2 * place + 1)[0]) for place in range(len(texts))]


def _received(table: pa.Table) -> MergeReport:
    reports: list[MergeReport] = [pickle.loads(data.as_py()) for data in table.column(0)]
    whole = MergeReport(
        updated=united(report.updated for report in reports),
        deleted=united(report.deleted for report in reports),
        matched=united(report.matched for report in reports),
        pairs=sum(report.pairs for report in reports),
        too_few_slots=any(report.too_few_slots for report in reports),
    )
    whole.parts = reduce(list.__add__, (report.parts for report in reports), [])
    return whole


@dataclass(frozen=True)
class _Task:
    """Writes new versions and new rows together: those with an origin are versions."""

    to: Destination
    shape: Shape
    slots: Slots
    rules: tuple[Rule, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        parts = PartsWriter(self.to, task_slots(self.slots), has_origin=self._updates)
        report, ids = MergeReport(), _Ids()
        try:
            for batch in batches:
                self._write(pa.Table.from_batches([batch]), parts, ids)
            report.parts = parts.close()
        except BaseException as error:
            parts.abort()
            if not isinstance(error, SlotsUsedUp):
                raise
            yield _sent(MergeReport(too_few_slots=True))
            return
        ids.into(report)
        yield _sent(report)

    @property
    def _updates(self) -> bool:
        return any(rule.verb == "update" for rule in self.rules)

    def _shaped(self, data: pa.Table, rule: np.ndarray) -> pa.Table:
        """Where rows do not fit, those of one clause after the other tell which it is."""
        try:
            return self.shape.apply(data)
        except DataError:
            for number in np.unique(rule).tolist():
                try:
                    self.shape.apply(data.filter(pa.array(rule == number)))
                except DataError as error:
                    raise in_clause(error, self.rules[number].place) from error
            raise

    def _write(self, data: pa.Table, parts: PartsWriter, ids: _Ids) -> None:
        *_, rules, row_ids, origins = data.columns
        rule = rules.to_numpy()
        made = np.isin(rule, [number for number, one in enumerate(self.rules) if one.verb != "delete"])
        if made.any():
            rows = self._shaped(data.filter(pa.array(made)), rule[made])
            if self._updates:  # a new row has no id to come from
                rows = rows.append_column(ORIGIN, origins.filter(pa.array(made)))
            parts.write(rows)
        for number, one in enumerate(self.rules):
            here = rule == number
            if one.verb == "insert" or not here.any():
                continue
            found = row_ids.filter(pa.array(here)).to_numpy()
            (ids.deleted if one.verb == "delete" else ids.updated).append(found)
            if one.kind == "matched":
                ids.matched.append(found)
        idle = rule == NO_RULE
        if idle.any():
            ids.matched.append(row_ids.filter(pa.array(idle)).to_numpy())


@dataclass
class _Ids:
    updated: list[np.ndarray] = field(default_factory=list)
    deleted: list[np.ndarray] = field(default_factory=list)
    matched: list[np.ndarray] = field(default_factory=list)

    def into(self, report: MergeReport) -> None:
        report.updated, report.deleted, report.matched = map(_slots, (self.updated, self.deleted, self.matched))
        report.pairs = sum(map(len, self.matched))


def _slots(ids: Sequence[np.ndarray]) -> dict[int, BitMap]:
    return by_slot(np.concatenate(ids)) if ids else {}


def _sent(report: MergeReport) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(report)], pa.binary())], names=["report"])
