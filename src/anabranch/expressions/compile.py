"""A sqlglot tree to a function over tables: the rules make a node of it, and this runs the node batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from anabranch.errors import ExpressionError
from anabranch.expressions.columns import Names
from anabranch.expressions.nodes import NO_ROWS, Node, failing, typed_null
from anabranch.expressions.repeated import repeated
from anabranch.expressions.rules import Scope
from anabranch.expressions.types import BOOLEAN, NULL, spark_name

# Below this many rows a chunk, chunks are joined first: the cost of a kernel call would outweigh its work.
SMALL_CHUNK = 16_384


@dataclass(frozen=True)
class Compiled:
    """An expression over tables of one schema: calling it with a table gives a column of that length and `type`."""

    type: pa.DataType
    columns: frozenset[str]
    deterministic: bool
    node: Node
    sql: str

    def __call__(self, table: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
        if isinstance(table, pa.RecordBatch):
            return self._over(table)
        if not self.columns:
            return pa.chunked_array([self._broadcast(table.num_rows)], self.type)
        read = table.select(sorted(self.columns))
        if read.num_rows < SMALL_CHUNK * max(column.num_chunks for column in read.columns):
            read = read.combine_chunks()
        return pa.chunked_array([self._over(batch) for batch in read.to_batches()], self.type)

    def _over(self, batch: pa.RecordBatch) -> pa.Array:
        if not self.columns:
            return self._broadcast(batch.num_rows)
        with failing():
            found = self.node.run(batch.select(sorted(self.columns)))
        return repeated(found, batch.num_rows) if isinstance(found, pa.Scalar) else found

    def _broadcast(self, length: int) -> pa.Array:
        with failing():
            return repeated(self.node.run(NO_ROWS), length)


def compile_expression(
    tree: exp.Expression, schema: pa.Schema, *, table: str | None = None, aliases: frozenset[str] = frozenset()
) -> Compiled:
    """The tree over a schema of labels; NeedsSpark if any part of it is not exactly Spark's here.

    What cannot be known before the values are seen (text in a column in an unusual date format, letters with unusual
    case rules) raises NeedsSpark when the expression is called: a caller with a session catches it around both.
    """
    node = Scope(Names(schema, table, aliases)).compile(tree)
    return Compiled(node.type, node.columns, node.deterministic, node, tree.sql("spark"))


def compile_predicate(
    tree: exp.Expression, schema: pa.Schema, *, table: str | None = None, aliases: frozenset[str] = frozenset()
) -> Compiled:
    """The same for a condition; a bare NULL is one that no row meets."""
    found = compile_expression(tree, schema, table=table, aliases=aliases)
    if found.type == NULL:
        return replace(found, type=BOOLEAN, node=typed_null(BOOLEAN))
    if found.type != BOOLEAN:
        raise ExpressionError(
            f"the predicate '{found.sql}' is {spark_name(found.type)}, not boolean: compare it with a value."
        )
    return found
