"""A predicate on the rows of one table, as text: it travels to tasks and is compiled where it is used."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from anabranch import expressions
from anabranch.model.schema import Schema
from anabranch.storage.arrow_types import arrow_schema


@dataclass(frozen=True)
class Predicate:
    """`qualifiers` are the names that may stand before a column: the table's own and its alias."""

    text: str
    qualifiers: frozenset[str] = frozenset()

    @property
    def tree(self) -> exp.Expression:
        return expressions.parse_expression(self.text)

    def compiled(self, schema: Schema) -> expressions.Compiled:
        """Raises NeedsSpark if only Spark can evaluate it."""
        return expressions.compile_predicate(self.tree, arrow_schema(schema.columns), aliases=self.qualifiers)

    def bounds(self, schema: Schema) -> list[expressions.Bound]:
        return expressions.pushable(self._unqualified(schema), arrow_schema(schema.columns))

    def physical(self, schema: Schema) -> str | None:
        """The text under physical names, as the catalog keeps it; None if rows alone do not decide it."""
        if self.tree.find(exp.Query, exp.Subquery):
            return None
        return self._unqualified(schema, physical=True).sql(dialect="spark")

    def _unqualified(self, schema: Schema, *, physical: bool = False) -> exp.Expression:
        def renamed(node: exp.Expression) -> exp.Expression:
            if not isinstance(node, exp.Column):
                return node
            parts = [part.name for part in node.parts]
            while len(parts) > 1 and parts[0].lower() in {name.lower() for name in self.qualifiers}:
                parts = parts[1:]
            column = schema.find(parts[0])
            if column is not None:
                parts[0] = column.physical if physical else column.label
            head = exp.column(exp.to_identifier(parts[0], quoted=True))
            return exp.Dot.build([head, *[exp.to_identifier(p, quoted=True) for p in parts[1:]]]) if parts[1:] else head

        return self.tree.transform(renamed)


def on_table(text: str, names: tuple[str, str], alias: str | None = None) -> Predicate:
    """A predicate as a statement on a table writes it."""
    qualifiers = {alias} if alias else set(names)
    return Predicate(text, frozenset(qualifiers))
