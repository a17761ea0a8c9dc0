"""The time zone that a statement ran in, for those who run it again on other rows: a merge, in another session.

It is kept with the statement where its texts may depend on it, and nowhere else, since to know it means to ask the JVM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from anabranch.commands.session import Session
from anabranch.errors import ExpressionError
from anabranch.execution.session import UTC
from anabranch.expressions import may_ask_zone, parse_expression, zone_of
from anabranch.model.schema import Schema
from anabranch.model.types import TIMESTAMP, DataType, inner_types

ZONE = "zone"
"""Where a change keeps it."""


def zone_told(session: Session, schema: Schema, texts: Iterable[str | None], sets: Collection[str] = ()) -> str | None:
    """The session's, for a statement of these texts, which go by physical names; None: they do not depend on it.
    `sets`: the columns that it assigns to."""
    times = {column.physical for column in schema.columns if _has_times(column.type)}
    asks = not times.isdisjoint(sets) or any(may_ask_zone(parse_expression(text), times) for text in texts if text)
    return session.shared.spark.zone if asks else None


def _has_times(type_: DataType) -> bool:
    return type_ == TIMESTAMP or any(_has_times(inner) for _, inner in inner_types(type_))


@dataclass(frozen=True)
class ZoneThen:
    """The zone that a statement ran in; None: it does not depend on it, or nobody knows."""

    session: Session
    zone: str | None

    def times(self) -> AbstractContextManager[None]:
        """Around what is evaluated here: what depends on a zone that is not UTC raises NeedsSpark."""
        return self.session.times() if self.zone is None else zone_of(lambda: self.zone == UTC)

    def decides(self, schema: Schema, labels: Iterable[str]) -> bool:
        """Whether an expression over these columns means here what it meant then."""
        return self.session.decides(schema, labels) if self.zone is None else self.zone == UTC

    def check_spark(self) -> None:
        """Before Spark evaluates it: its session may have another zone, and that is for its owner to change."""
        now = self.session.shared.spark.zone
        if self.zone not in (None, now):
            raise ExpressionError(f"it depends on the time zone and ran in {self.zone}, but this session is in {now}")
