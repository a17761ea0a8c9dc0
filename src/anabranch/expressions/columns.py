"""Names to columns, as Spark resolves them: without regard to case, a qualifier before a struct field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from anabranch.errors import ExpressionError, NeedsSpark, NotFound, columns_are
from anabranch.expressions.nodes import Datum, Node
from anabranch.expressions.types import canonical, is_known, spark_name


@dataclass(frozen=True)
class Names:
    """The columns that an expression may name, and the qualifiers that it may put before them."""

    schema: pa.Schema
    table: str | None = None
    aliases: frozenset[str] = frozenset()

    def resolve(self, parts: Sequence[str]) -> Node:
        """The column, or the field of a struct column, that a dotted name means."""
        for skipped in (2, 1, 0):
            if len(parts) > skipped and self._qualifies(parts[:skipped]):
                label = self._label(parts[skipped])
                if label is not None:
                    return _field(self._column(label), parts[skipped + 1 :])
        raise NotFound("column", ".".join(parts), self.schema.names, columns_are(self.schema.names))

    def _qualifies(self, parts: Sequence[str]) -> bool:
        if not parts:
            return True
        name = ".".join(parts).lower()
        table = (self.table or "").lower()
        if len(parts) > 1:
            return name == table
        return name in (table, table.rpartition(".")[2]) or name in {alias.lower() for alias in self.aliases}

    def _label(self, name: str) -> str | None:
        found = [label for label in self.schema.names if label.lower() == name.lower()]
        if len(found) > 1:
            raise ExpressionError(f"the column '{name}' is ambiguous: it may be {' or '.join(map(repr, found))}.")
        return found[0] if found else None

    def _column(self, label: str) -> Node:
        stored = self.schema.field(label).type
        type = canonical(stored)
        if not is_known(type):
            raise NeedsSpark(f"the column '{label}' of type {stored}")

        def run(rows: pa.RecordBatch) -> Datum:
            values = rows.column(label)
            return values if values.type == type else pc.cast(values, type)

        return Node(type, run, frozenset([label]))


def _field(node: Node, path: Sequence[str]) -> Node:
    for name in path:
        node = field(node, name)
    return node


def field(node: Node, name: str) -> Node:
    """A field of a struct; NULL where the struct is."""
    if not pat.is_struct(node.type):
        raise NeedsSpark(f"the field '{name}' of {spark_name(node.type)}")
    found = [index for index, child in enumerate(node.type) if child.name.lower() == name.lower()]
    if len(found) != 1:
        raise NotFound("field", name, [child.name for child in node.type])
    position = found[0]
    return Node(
        node.type[position].type,
        lambda rows: pc.struct_field(node.run(rows), [position]),
        node.columns,
        node.fallible,
        node.deterministic,
    )
