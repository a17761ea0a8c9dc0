"""A predicate on the rows of one table, as text: it travels to tasks and is compiled where it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from anabranch import expressions
from anabranch.model.names import fold
from anabranch.model.schema import Schema
from anabranch.model.types import backticked
from anabranch.storage.arrow_types import arrow_schema

OPAQUE = "merge_into"
"""A function that nobody has: as a predicate it matches every row, and nobody can evaluate it. A MERGE INTO is told by
what matches its source, and so no predicate tells what it would do to another row."""


@dataclass(frozen=True)
class Scope:
    """What may stand before a column: `t.` and `d.t.`, or the alias alone."""

    names: tuple[str, ...] = ()
    alias: str | None = None

    def compiled(self, text: str, schema: Schema) -> expressions.Compiled:
        """Raises NeedsSpark if only Spark can evaluate it."""
        tree = expressions.parse_expression(text)
        return expressions.compile_expression(tree, arrow_schema(schema.columns), **self.qualifiers())

    def qualifiers(self) -> dict[str, Any]:
        if self.alias is not None:
            return {"aliases": frozenset({self.alias})}
        return {"table": ".".join(self.names) or None}

    def without(self, parts: list[str]) -> list[str]:
        """A column's dotted name without its qualifier."""
        prefixes = [[self.alias]] if self.alias is not None else [list(self.names), list(self.names[-1:])]
        for prefix in prefixes:
            if prefix and len(parts) > len(prefix) and [*map(fold, parts[: len(prefix)])] == [*map(fold, prefix)]:
                return parts[len(prefix) :]
        return parts


@dataclass(frozen=True)
class Predicate:
    text: str
    scope: Scope = Scope()

    @property
    def tree(self) -> exp.Expression:
        return expressions.parse_expression(self.text)

    def compiled(self, schema: Schema) -> expressions.Compiled:
        """Raises NeedsSpark if only Spark can evaluate it."""
        columns = arrow_schema(schema.columns)
        return expressions.compile_predicate(self.tree, columns, **self.scope.qualifiers())

    def bounds(self, schema: Schema) -> list[expressions.Bound]:
        return expressions.pushable(self.tree, arrow_schema(schema.columns), **self.scope.qualifiers())

    def physical(self, schema: Schema) -> str:
        """The text under physical names, as the catalog keeps it; around the names it stays as it was written. One with
        a subquery is kept as it is: its names may be another table's, and nobody evaluates it on a row alone."""
        tree = self.tree
        out, done = [], 0
        if tree.find(exp.Query, exp.Subquery):
            return self.text
        for column in sorted(tree.find_all(exp.Column), key=_start):
            head, *fields = self.scope.without([part.name for part in column.parts])
            if (found := schema.find(head)) is not None:
                out += [self.text[done : _start(column)], ".".join(map(backticked, [found.physical, *fields]))]
                done = column.parts[-1].meta["end"] + 1
        return "".join([*out, self.text[done:]])


def _start(column: exp.Column) -> int:
    """Where it stands in the text."""
    return int(column.parts[0].meta["start"])
