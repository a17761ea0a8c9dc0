"""MERGE INTO keyed tables on Spark: frames of change rows, which the keyed writer takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.errors import NullViolation
from anabranch.execution.failures import spark_failures
from anabranch.execution.shape import Shape
from anabranch.execution.spark_merge import NO_RULE, RULE, THERE, Given, Rule, in_merge, outcome, ruled
from anabranch.execution.spark_types import from_spark, label_schema
from anabranch.model.schema import Column
from anabranch.model.types import backticked, widens
from anabranch.storage.parquet import ROW_ID

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Change:
    """The change rows of a keyed table: its columns, then `_kind`. `pairs` has a row for every match by ON."""

    frame: DataFrame
    decided: DataFrame
    key: tuple[str, ...]
    verbs: tuple[str, ...]

    def matched_twice(self) -> int:
        from pyspark.sql import functions as F

        matched = self.decided.where(F.col(ROW_ID).isNotNull() & F.col(THERE).isNotNull())
        with spark_failures():
            return matched.groupBy(*self.key).count().where("count > 1").count()

    def counts(self) -> dict[str, int]:
        """Rows by verb; a row that several source rows delete is one."""
        from pyspark.sql import functions as F

        with spark_failures():
            found = {row[0]: row[1] for row in self.decided.groupBy(RULE).count().collect()}
        counts = {"update": 0, "delete": 0, "insert": 0}
        for number, verb in enumerate(self.verbs):
            counts[verb] += found.get(number, 0)
        if counts["delete"]:
            numbers = [number for number, verb in enumerate(self.verbs) if verb == "delete"]
            with spark_failures():
                rows = self.decided.where(F.col(RULE).isin(numbers)).select(*self.key).distinct()
                counts["delete"] = rows.count()
        return counts


@contextmanager
def change_frame(
    target: DataFrame,
    source: Given,
    on: str,
    rules: Sequence[Rule],
    shape: Shape,
    keep: Sequence[bool],
    silent: Sequence[Sequence[int]],
) -> Iterator[Change]:
    """`keep`: the columns that a delete's record has; `silent`: for each column, the rules whose records say nothing of
    it, so that they may hold NULL where none is allowed. What is joined is kept by Spark until the block ends."""
    from pyspark.sql import functions as F

    with spark_failures():
        present = target.withColumn(ROW_ID, F.lit(1).cast("long"))
        decided = ruled(present, source, on, rules).persist()
        deletes = [number for number, rule in enumerate(rules) if rule.verb == "delete"]
        dying = F.col(RULE).isin(deletes) if deletes else F.lit(False)
        columns = []
        made = outcome(decided, rules, shape.schema.columns)
        for place, (column, value) in enumerate(zip(shape.schema.columns, made, strict=True)):
            if deletes:
                value = F.when(dying, F.col(f"_t{place}") if keep[place] else F.lit(None)).otherwise(value)
            if not column.nullable:
                lacking = dying | F.col(RULE).isin(list(silent[place])) if silent[place] else dying
                value = _required(value, lacking, column, shape.table, [rule.place for rule in rules])
            columns.append(value.alias(f"_c{place}"))
        kind = F.when(dying, F.lit("-D")).otherwise(F.lit("+I")).alias("_kind")
        frame = decided.where(F.col(RULE) != NO_RULE).select(*columns, kind)
        key = tuple(f"_t{p}" for p, c in enumerate(shape.schema.columns) if c.physical in shape.schema.primary_key)
    try:
        yield Change(frame, decided, key, tuple(rule.verb for rule in rules))
    finally:
        decided.unpersist()


def made_frame(source: DataFrame, rule: Rule, columns: Sequence[Column]) -> DataFrame:
    """The rows that one clause makes of every source row."""
    from pyspark.sql import functions as F

    with spark_failures():
        frame = source.withColumn(RULE, F.lit(0))
        return frame.select(*outcome(frame, [rule], columns))


def typed_keys(source: DataFrame, texts: Sequence[str], columns: Sequence[Column]) -> DataFrame | None:
    """The source's side of ON as the key's columns, by label; None: a value might not be one of the key's type."""
    from pyspark.sql import functions as F

    with spark_failures():
        types = [type_ for _, type_ in from_spark(source.select(*map(F.expr, texts)).schema, lenient=True)]
        keys = []
        for text, type_, column in zip(texts, types, columns, strict=True):
            if type_ is None or not widens(type_, column.type):
                return None
            keys.append(F.expr(text).cast(label_schema((column,)).fields[0].dataType).alias(column.label))
        return source.select(*keys)


def duplicates(keys: DataFrame) -> pa.Table:
    """The keys that come more than once."""
    with spark_failures():
        names = [backticked(name) for name in keys.columns]
        return keys.dropna().groupBy(*names).count().where("count > 1").select(*names).toArrow()


def _required(
    value: SparkColumn, lacking: SparkColumn, column: Column, table: str, places: Sequence[str]
) -> SparkColumn:
    from pyspark.sql import functions as F

    place = F.element_at(F.array(*[F.lit(in_merge(place)) for place in places]), F.col(RULE) + 1)
    message = F.concat(F.lit("anabranch.errors.NullViolation: "), place, F.lit(str(NullViolation(column.label, table))))
    target = label_schema((column,)).fields[0].dataType
    return F.when(~lacking & value.isNull(), F.raise_error(message).cast(target)).otherwise(value)
