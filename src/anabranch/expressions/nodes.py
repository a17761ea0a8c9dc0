"""What an expression compiles to: a tree of nodes, each a typed function from a record batch to a column.

A node that reads no column gives a scalar, and Arrow's kernels broadcast it. Spark evaluates lazily:
`a <> 0 AND 1 / a > 2` never divides by zero. So a node says whether it may fail, and one that may is run only over the
rows that Spark would evaluate it for (`run_where`), its values scattered back among NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions.repeated import repeated

Datum: TypeAlias = pa.Array | pa.Scalar

# A batch without columns: what constants are evaluated over.
NO_ROWS = pa.RecordBatch.from_arrays([], names=[])


@dataclass(frozen=True)
class Node:
    """A compiled expression; `run` gives an array of the batch's length, or a scalar if `columns` is empty."""

    type: pa.DataType
    run: Callable[[pa.RecordBatch], Datum]
    columns: frozenset[str] = frozenset()
    fallible: bool = False
    deterministic: bool = True
    literal: bool = False
    # sqlglot reads `1L` as a cast of `1`; next to a decimal the two differ in Spark, and the tree does not tell.
    suffixed: bool = False

    @property
    def constant(self) -> bool:
        return not self.columns

    def value(self) -> object:
        """The value of a constant, as Python has it."""
        return self.run(NO_ROWS).as_py()


def literal(value: object, type: pa.DataType) -> Node:
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, type)
    return Node(type, lambda rows: scalar, literal=True)


def typed_null(type: pa.DataType) -> Node:
    return literal(None, type)


def derived(
    type: pa.DataType, inputs: Sequence[Node], run: Callable[[pa.RecordBatch], Datum], *, fallible: bool = False
) -> Node:
    """A node over others: it reads what they read, and may fail if one of them may."""
    return Node(
        type,
        run,
        frozenset().union(*(node.columns for node in inputs)),
        fallible or any(node.fallible for node in inputs),
        all(node.deterministic for node in inputs),
    )


def strict(type: pa.DataType, inputs: Sequence[Node], kernel: Callable[..., Datum], *, fallible: bool = False) -> Node:
    """A function that is NULL where an input is; like Spark, it evaluates an input only where those before are not."""

    def run(rows: pa.RecordBatch) -> Datum:
        values: list[Datum] = []
        for node in inputs:
            if node.fallible and values:
                present = pc.is_valid(values[0])
                for value in values[1:]:
                    present = pc.and_(present, pc.is_valid(value))
                values.append(run_where(node, rows, present))
            else:
                values.append(node.run(rows))
        with failing():
            return kernel(*values)

    return derived(type, inputs, run, fallible=fallible)


def run_where(node: Node, rows: pa.RecordBatch, mask: Datum) -> Datum:
    """The node's values where the mask is true, and anything (NULL, mostly) elsewhere; the mask holds no NULL."""
    nothing = pa.scalar(None, node.type)
    if isinstance(mask, pa.Scalar):
        return node.run(rows) if mask.as_py() else nothing
    wanted = mask.true_count
    if wanted == 0:
        return nothing
    if wanted == len(mask) or not node.fallible:
        return node.run(rows)
    found = node.run(rows if node.constant else rows.filter(mask))
    if isinstance(found, pa.Scalar):
        return found
    positions = pc.subtract(pc.cumulative_sum(pc.cast(mask, pa.int64())), pa.scalar(1, pa.int64()))
    return found.take(pc.if_else(mask, positions, pa.scalar(None, pa.int64())))


def as_arrays(*values: Datum) -> tuple[list[pa.Array], bool]:
    """The values as arrays of one length, and whether all were scalars (for kernels that only know arrays)."""
    length = next((len(value) for value in values if not isinstance(value, pa.Scalar)), None)
    rows = 1 if length is None else length
    return [repeated(value, rows) if isinstance(value, pa.Scalar) else value for value in values], length is None


def any_true(mask: Datum) -> bool:
    """Whether the mask is true anywhere; NULL is not true."""
    return bool(mask.as_py()) if isinstance(mask, pa.Scalar) else mask.true_count > 0


@contextmanager
def failing() -> Iterator[None]:
    """Arrow's errors as ours: overflow and division by zero fail, a missing kernel is left to Spark."""
    try:
        yield
    except pa.ArrowNotImplementedError as error:
        raise NeedsSpark(f"an expression that Arrow has no kernel for ({error})") from error
    except pa.ArrowInvalid as error:
        raise ExpressionError(f"the expression failed on a row: {str(error).lower()}.") from error
