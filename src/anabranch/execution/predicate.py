"""A predicate on the rows of one table, as text: it travels to tasks and is compiled where it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from anabranch import expressions
from anabranch.model.names import fold
from anabranch.model.schema import Schema
from anabranch.storage.arrow_types import arrow_schema


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

    def physical(self, schema: Schema) -> str | None:
        """The text under physical names, as the catalog keeps it; None if rows alone do not decide it."""
        if self.tree.find(exp.Query, exp.Subquery):
            return None

        def renamed(node: exp.Expression) -> exp.Expression:
            if not isinstance(node, exp.Column):
                return node
            head, *fields = self.scope.without([part.name for part in node.parts])
            found = schema.find(head)
            column = exp.column(exp.to_identifier(found.physical if found else head, quoted=True))
            names = [exp.to_identifier(name, quoted=True) for name in fields]
            return exp.Dot.build([column, *names]) if names else column

        return self.tree.transform(renamed).sql(dialect="spark")
