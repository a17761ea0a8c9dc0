"""`table.merge(source, on)…execute()`: a MERGE INTO said in Python, clause by clause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch import given
from anabranch.commands.rerun import rerun
from anabranch.commands.result import Result
from anabranch.commands.session import Session
from anabranch.errors import Refused
from anabranch.model.merge import Clause, Kind
from anabranch.model.types import quote_identifier
from anabranch.sql import declare, run_merge
from anabranch.sql import statements as s
from anabranch.sql.refs import Name

_SOURCE = "source"


@dataclass(frozen=True)
class MergeBuilder:
    """A MERGE that is not run yet; every call gives a new one with another clause. `_source`: data that can be read
    more than once, or a function that gives it when the MERGE runs."""

    _session: Session
    _names: tuple[str, ...]
    _source: Any
    _on: str
    _aliases: tuple[str, str] = ("t", "s")
    _clauses: tuple[Clause, ...] = ()
    _evolves: bool = False

    def when_matched(self, condition: str | None = None) -> WhenClause:
        """For target rows that a source row matches."""
        return WhenClause(self, "matched", given.condition("condition", condition))

    def when_not_matched(self, condition: str | None = None) -> WhenClause:
        """For source rows that match no target row."""
        return WhenClause(self, "not matched", given.condition("condition", condition))

    def when_not_matched_by_source(self, condition: str | None = None) -> WhenClause:
        """For target rows that no source row matches."""
        return WhenClause(self, "not matched by source", given.condition("condition", condition))

    def with_schema_evolution(self) -> MergeBuilder:
        """Columns of the source that the target lacks are added to it."""
        return replace(self, _evolves=True)

    def execute(self) -> Result:
        """Runs it as one commit; the result tells what was done."""
        return _executed(self)

    def explain(self) -> Result:
        """The strategy and why, without running it."""
        return run_merge.explain_merge(self._session, self._statement(), None, self._frames())

    def _frames(self) -> dict[str, Any]:
        return {_SOURCE: self._source() if callable(self._source) else self._source}

    def _statement(self) -> s.MergeInto:
        target, source = self._aliases
        text = "{" + _SOURCE + "} AS " + quote_identifier(source)
        using = s.MergeSource(text, (source,), frame=_SOURCE)
        return s.MergeInto(Name(self._names), using, self._on, self._clauses, target, self._evolves)


@rerun
def _executed(builder: MergeBuilder) -> Result:
    if not builder._clauses:
        raise Refused("a merge needs a clause: when_matched(), when_not_matched() or when_not_matched_by_source().")
    return run_merge.run_merge(builder._session, builder._statement(), None, builder._frames())


@dataclass(frozen=True)
class WhenClause:
    """A WHEN that waits for what to do."""

    _merge: MergeBuilder
    _kind: Kind
    _condition: str | None

    def update(self, set: Mapping[str, Any] | str) -> MergeBuilder:
        """Column -> SQL expression (text), or a Python value that is not text; `"*"`: all columns by name."""
        self._refuse("not matched", "update")
        return self._with("update", set)

    def delete(self) -> MergeBuilder:
        self._refuse("not matched", "delete")
        return self._added(Clause(self._kind, "delete", self._condition))

    def insert(self, values: Mapping[str, Any] | str) -> MergeBuilder:
        """The same for a new row."""
        if self._kind != "not matched":
            raise Refused(f"WHEN {self._kind.upper()} cannot insert: use when_not_matched().insert(…).")
        return self._with("insert", values)

    def _refuse(self, kind: Kind, verb: str) -> None:
        if self._kind == kind:
            raise Refused(f"WHEN {kind.upper()} cannot {verb}: there is no target row. Use insert(…).")

    def _with(self, verb: Any, values: Mapping[str, Any] | str) -> MergeBuilder:
        if isinstance(values, str):
            if values.strip() != "*":
                raise Refused(f"{verb}() takes a mapping of columns to values, or '*' for all columns.")
            if self._kind == "not matched by source":
                raise Refused("update('*') has no source row here: give the columns to set.")
            return self._added(Clause(self._kind, verb, self._condition))
        if not given.mapping(f"what {verb}() takes", values, "columns to values", "{'column': …}, or '*'"):
            raise Refused(f"{verb}() needs at least one column.")
        columns = tuple(declare.column_path(label) for label in values)
        texts = tuple(_text(value) for value in values.values())
        return self._added(Clause(self._kind, verb, self._condition, columns, texts))

    def _added(self, clause: Clause) -> MergeBuilder:
        return replace(self._merge, _clauses=(*self._merge._clauses, clause))


def _text(value: Any) -> str | None:
    text = declare.sql_text(value)
    return None if text.strip().upper() == "DEFAULT" else text


def on_columns(on: given.Names, aliases: tuple[str, str]) -> str:
    """A condition as it is, or the equality of columns that both sides have."""
    if isinstance(on, str):
        return on
    columns = given.names("on", on)
    if not columns:
        raise Refused("a merge needs a condition, or the columns that both sides have in common.")
    target, source = map(quote_identifier, aliases)
    return " AND ".join(f"{target}.{quote_identifier(c)} = {source}.{quote_identifier(c)}" for c in columns)
