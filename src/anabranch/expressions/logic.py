"""Three-valued logic and the conditionals, lazily: a branch that may fail runs only over the rows that choose it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import NeedsSpark
from anabranch.expressions.casts import cast
from anabranch.expressions.comparison import compare
from anabranch.expressions.nodes import Datum, Node, any_true, derived, run_where, typed_null
from anabranch.expressions.types import BOOLEAN, NULL, STRING, spark_name, widest


def truth(node: Node, what: str) -> Node:
    """The node as a boolean operand; Spark reads text there as a boolean."""
    if node.type in (BOOLEAN, NULL, STRING):
        return cast(node, BOOLEAN)
    raise NeedsSpark(f"{what} of {spark_name(node.type)}")


def conjunction(left: Node, right: Node) -> Node:
    left, right = truth(left, "AND"), truth(right, "AND")

    def run(rows: pa.RecordBatch) -> Datum:
        first = left.run(rows)
        return pc.and_kleene(first, run_where(right, rows, pc.fill_null(first, True)))

    return derived(BOOLEAN, [left, right], run)


def disjunction(left: Node, right: Node) -> Node:
    left, right = truth(left, "OR"), truth(right, "OR")

    def run(rows: pa.RecordBatch) -> Datum:
        first = left.run(rows)
        return pc.or_kleene(first, run_where(right, rows, pc.invert(pc.fill_null(first, False))))

    return derived(BOOLEAN, [left, right], run)


def negation(node: Node) -> Node:
    node = truth(node, "NOT")
    return derived(BOOLEAN, [node], lambda rows: pc.invert(node.run(rows)))


def is_null(node: Node) -> Node:
    return derived(BOOLEAN, [node], lambda rows: pc.is_null(node.run(rows)))


def is_not_null(node: Node) -> Node:
    return derived(BOOLEAN, [node], lambda rows: pc.is_valid(node.run(rows)))


def is_truth(node: Node, *, wanted: bool) -> Node:
    """IS TRUE and IS FALSE: never NULL."""
    if node.type not in (BOOLEAN, NULL):
        raise NeedsSpark(f"IS {str(wanted).upper()} of {spark_name(node.type)}")
    node = cast(node, BOOLEAN)

    def run(rows: pa.RecordBatch) -> Datum:
        return pc.fill_null(pc.equal(node.run(rows), pa.scalar(wanted)), False)

    return derived(BOOLEAN, [node], run)


def case(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    """CASE WHEN: each condition is asked only of the rows that none before it took."""
    type = widest([*(value.type for _, value in branches), default.type], "CASE")
    picks = [(truth(condition, "WHEN"), cast(value, type)) for condition, value in branches]
    last = cast(default, type)

    def run(rows: pa.RecordBatch) -> Datum:
        remaining: Datum = pa.scalar(True)
        taken: list[tuple[Datum, Datum]] = []
        for condition, value in picks:
            hit = pc.and_(remaining, pc.fill_null(run_where(condition, rows, remaining), False))
            taken.append((hit, run_where(value, rows, hit)))
            remaining = pc.and_(remaining, pc.invert(hit))
        found = run_where(last, rows, remaining)
        for hit, values in reversed(taken):
            found = pc.if_else(hit, values, found)
        return found

    return derived(type, [node for pick in picks for node in pick] + [last], run)


def coalesce(nodes: Sequence[Node]) -> Node:
    type = widest([node.type for node in nodes], "COALESCE")
    choices = [cast(node, type) for node in nodes]

    def run(rows: pa.RecordBatch) -> Datum:
        found = choices[0].run(rows)
        for node in choices[1:]:
            missing = pc.is_null(found)
            if any_true(missing):
                found = pc.if_else(missing, run_where(node, rows, missing), found)
        return found

    return derived(type, choices, run)


def null_if(node: Node, other: Node) -> Node:
    return case([(compare("=", node, other), typed_null(node.type))], node)
