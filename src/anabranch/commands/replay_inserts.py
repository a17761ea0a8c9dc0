"""Theirs' statements on rows that they never saw: RESOLVE USING THEIRS applies them to ours' new rows.

A text is evaluated here where Arrow suffices, else by Spark, on these rows alone. Neither does where other rows decide
too, or chance: such a statement is not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from anabranch import expressions
from anabranch.commands.session import Session
from anabranch.commands.spoken import Spoken
from anabranch.commands.zones import ZONE, ZoneThen
from anabranch.errors import DataError, ExpressionError, NeedsSpark, NotFound, SqlError
from anabranch.execution.predicate import OPAQUE, Predicate, Scope
from anabranch.execution.shape import assigned
from anabranch.execution.spark_rows import true_by_spark, values_by_spark
from anabranch.expressions.repeated import repeated
from anabranch.model.records import Change
from anabranch.model.schema import Schema
from anabranch.storage.projection import initial_value

UNANSWERED = (DataError, ExpressionError, NotFound, SqlError)
"""What may come of a text on rows for which it was not written."""


@dataclass(frozen=True)
class Replayed:
    """What became of the rows. `gone`: the place of the statement that deleted a row, -1 if none did. `left`: the other
    rows' places; `changed`: which of these have new values; `rows`: the values of all these."""

    gone: np.ndarray
    left: np.ndarray
    changed: np.ndarray
    rows: pa.Table


@dataclass(frozen=True)
class OnRows:
    """Evaluates texts on rows; both go by the schema's labels, which are physical names."""

    session: Session
    schema: Schema
    then: ZoneThen

    @staticmethod
    def of(session: Session, spoken: Spoken) -> OnRows:
        """For the texts of a statement."""
        return OnRows(session, spoken.schema, ZoneThen(session, spoken.change.detail.get(ZONE)))

    def compiled(self, text: str, *, condition: bool) -> expressions.Compiled:
        """Raises NeedsSpark if only Spark can evaluate it, or does it otherwise; call it and this within
        `then.times`."""
        found = Predicate(text).compiled(self.schema) if condition else Scope().compiled(text, self.schema)
        if not self.then.decides(self.schema, found.columns):
            raise NeedsSpark(f"'{text}' in another time zone than UTC")
        return found

    def true_for(self, rows: pa.Table, text: str) -> np.ndarray:
        try:
            with self.then.times():
                found = self.compiled(text, condition=True)(rows)
        except NeedsSpark:
            self.then.check_spark()
            return true_by_spark(self.session.shared.spark(), self._read_by([text], rows), text)
        return np.asarray(pc.fill_null(found, False).to_numpy(), dtype=bool)

    def values_for(self, rows: pa.Table, texts: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
        """By physical names, as the columns hold them."""
        columns = [self.schema.column(name) for name in texts]
        try:
            with self.then.times():
                found = [self.compiled(text, condition=False)(rows) for text in texts.values()]
                chunked = [one if isinstance(one, pa.ChunkedArray) else pa.chunked_array([one]) for one in found]
                pairs = zip(chunked, columns, strict=True)
                values = [assigned(one, column, by_label=True) for one, column in pairs]
                return dict(zip(texts, values, strict=True))
        except NeedsSpark:
            self.then.check_spark()
            read = self._read_by(list(texts.values()), rows)
            values = values_by_spark(self.session.shared.spark(), read, list(texts.values()), columns)
            return dict(zip(texts, values, strict=True))

    def _read_by(self, texts: Sequence[str], rows: pa.Table) -> pa.Table:
        return rows.select([column.label for column in self.columns_of(texts).columns])

    def columns_of(self, texts: Sequence[str]) -> Schema:
        """What the texts read, of the schema; at least one column, since tables of none have no rows."""
        trees = map(expressions.parse_expression, texts)
        named = {column.parts[0].name for tree in trees for column in tree.find_all(exp.Column)}
        found = tuple(column for column in self.schema.columns if column.label in named)
        return Schema(0, found or self.schema.columns[:1])


def replay_on(session: Session, rows: pa.Table, statements: Sequence[Spoken]) -> Replayed:
    """`rows` go by physical names, and so do the statements. Raises ExpressionError, with words for a conflict, where
    one cannot be run again."""
    gone = np.full(rows.num_rows, -1)
    changed = np.zeros(rows.num_rows, bool)
    left = np.arange(rows.num_rows)
    for place, spoken in enumerate(statements):
        if not len(left):
            break
        statement = spoken.change
        try:
            hit = _hits(OnRows.of(session, spoken), spoken.seen(rows), statement.detail.get("predicate"))
            if statement.operation == "delete":
                gone[left[hit]] = place
                left, rows = left[~hit], rows.filter(pa.array(~hit))
            elif hit.any():
                rows = _updated(session, rows, spoken, hit)
                changed[left[hit]] = True
        except UNANSWERED as error:
            why = str(error).rstrip(".")
            raise ExpressionError(f"{_called(statement)} that cannot be run on new rows: {why}; {_INSTEAD}") from error
    return Replayed(gone, left, changed[left], rows)


_INSTEAD = "resolve them one by one (resolutions=), or RESOLVE USING OURS and run it on this branch after the merge"


def _hits(on: OnRows, rows: pa.Table, predicate: str | None) -> np.ndarray:
    if predicate is None:
        return np.ones(rows.num_rows, bool)
    if is_opaque(predicate):
        raise ExpressionError(_FROM_SOURCE)
    _refuse_more(predicate)
    return on.true_for(rows, predicate)


def _updated(session: Session, rows: pa.Table, spoken: Spoken, hit: np.ndarray) -> pa.Table:
    """Values are evaluated for the rows that the statement is about: for others they may not be defined."""
    texts = spoken.change.detail.get("values")
    if texts is None:
        raise ExpressionError(_FROM_SOURCE)
    for text in texts.values():
        _refuse_more(text)
    about = rows.filter(pa.array(hit))
    set_ = OnRows.of(session, spoken).values_for(spoken.seen(about), texts)
    made = {name: spoken.as_merged(name, values, about.column(name)) for name, values in set_.items()}
    places = np.arange(len(hit))
    places[hit] = len(hit) + np.arange(hit.sum())
    for name, values in made.items():  # all at once: SET a = b, b = a
        old = rows.column(name)
        both = pa.chunked_array([*old.chunks, *values.cast(old.type).chunks], old.type)
        rows = rows.set_column(rows.column_names.index(name), name, both.take(pa.array(places)))
    return rows


_FROM_SOURCE = "what it does comes from its source"


def _refuse_more(text: str | None) -> None:
    more = "a subquery" if text is None else expressions.reads_more(expressions.parse_expression(text))
    if more is not None:
        raise ExpressionError(f"it has {more}")


def is_opaque(predicate: str) -> bool:
    """Whether it stands for a MERGE INTO's clauses."""
    return predicate.startswith(f"{OPAQUE}(")


def is_by_merge_into(statement: Change) -> bool:
    predicate = statement.detail.get("predicate")
    from_source = statement.operation == "update" and statement.detail.get("values") is None
    return from_source or (predicate is not None and is_opaque(predicate))


def _called(statement: Change) -> str:
    if is_by_merge_into(statement):
        return "a MERGE INTO"
    return {"delete": "a DELETE", "update": "an UPDATE"}[statement.operation]


def under(rows: pa.Table, schema: Schema) -> pa.Table:
    """Rows by physical names as rows of a schema, by its labels."""
    columns = []
    for column in schema.columns:
        held = next((name for name in (column.physical, *column.aliases) if name in rows.column_names), None)
        if held is None:
            columns.append(pa.chunked_array([repeated(initial_value(column), rows.num_rows)]))
        else:
            columns.append(assigned(rows.column(held), column))
    return pa.table(columns, names=list(schema.labels))
