"""Which parts can hold a row that a predicate accepts, by each part's smallest and largest values.

`pushable` takes the conjuncts that compare one column with constants, in the column's own order. `may_match` asks
whether a part's statistics leave room for such a row; unknown statistics always do. `select_parts` makes one closure of
each bound and asks all parts.

Spark's order: NaN is above every number and equal to itself, -0.0 equals 0.0; text and bytes compare by bytes, as
Python's str and bytes do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from sqlglot import exp

from anabranch.errors import AnabranchError
from anabranch.expressions import patterns
from anabranch.expressions.casts import cast
from anabranch.expressions.columns import Names
from anabranch.expressions.nodes import Node
from anabranch.expressions.rules import Scope
from anabranch.expressions.types import DOUBLE, FLOAT, NULL, STRING, common, is_decimal, is_integral


class ColumnStats(Protocol):
    """What is known of a column in one part; None is unknown. `max` is NaN if the part holds NaN."""

    @property
    def min(self) -> Any: ...
    @property
    def max(self) -> Any: ...
    @property
    def nulls(self) -> int | None: ...
    @property
    def rows(self) -> int: ...


@dataclass(frozen=True)
class Bound:
    """A condition on one column that every accepted row meets.

    `op` is one of = < <= > >= in, prefix (LIKE 'text%'), null, not null, never, and or, whose values are bounds.
    """

    column: str
    op: str
    values: tuple[Any, ...] = ()


Test: TypeAlias = Callable[[ColumnStats], bool]

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def conjuncts(tree: exp.Expression) -> list[exp.Expression]:
    """The conditions that AND joins, without the brackets around them."""
    bare: exp.Expression = tree.unnest()  # type: ignore[assignment]  # sqlglot says Expr, the base of Expression
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.this), *conjuncts(bare.expression)]
    return [bare]


def pushable(
    tree: exp.Expression, schema: pa.Schema, *, table: str | None = None, aliases: frozenset[str] = frozenset()
) -> list[Bound]:
    """The bounds that the predicate implies; conjuncts that imply none are left out."""
    scope = Scope(Names(schema, table, aliases))
    return [bound for conjunct in conjuncts(tree) for bound in _bounds(conjunct, scope)]


def _bounds(tree: exp.Expression, scope: Scope) -> list[Bound]:
    try:
        # The whole conjunct compiles, so its coercions are known and its meaning is Spark's.
        if not scope.compile(tree).deterministic:
            return []
        return _of(tree, scope)
    except AnabranchError:
        return []


def _of(tree: exp.Expression, scope: Scope) -> list[Bound]:
    if type(tree) in _COMPARISONS:
        return _comparison(_COMPARISONS[type(tree)], tree.this, tree.expression, scope)
    if isinstance(tree, exp.NullSafeEQ):
        return _null_safe(tree, scope)
    if isinstance(tree, exp.Between):
        return _comparison(">=", tree.this, tree.args["low"], scope) + _comparison(
            "<=", tree.this, tree.args["high"], scope
        )
    if isinstance(tree, exp.In):
        return _in(tree, scope)
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        return _nullness(tree.this, "null", scope)
    if isinstance(tree, exp.Not) and isinstance(tree.this.unnest(), exp.Is):
        inner = tree.this.unnest()
        return _nullness(inner.this, "not null", scope) if isinstance(inner.expression, exp.Null) else []
    if isinstance(tree, exp.Like) and not tree.args.get("negate"):
        return _like(tree, scope)
    if isinstance(tree, exp.Or):
        return _or(tree, scope)
    return []


def _column(tree: exp.Expression, scope: Scope) -> tuple[str, Node] | None:
    """The label of a top-level column, and its node."""
    bare = tree.unnest()
    if not isinstance(bare, exp.Column):
        return None
    node = scope.compile(bare)
    (label,) = node.columns
    # A struct's field is a column of the tree, but not one of the part's.
    return (label, node) if scope.names.schema.field(label).type == node.type else None


def _comparison(op: str, left: exp.Expression, right: exp.Expression, scope: Scope) -> list[Bound]:
    for one, other, seen in ((left, right, op), (right, left, _MIRRORED[op])):
        found = _column(one, scope)
        constant = scope.compile(other)
        if found is not None and constant.constant:
            value = _comparable(found[1].type, [constant], "a comparison")
            return [] if value is None else [_bound(found[0], seen, value[0])]
    return []


def _bound(column: str, op: str, value: Any) -> Bound:
    return Bound(column, "never") if value is None else Bound(column, op, (value,))


def _comparable(type: pa.DataType, constants: Sequence[Node], what: str) -> list[Any] | None:
    """The constants in the type they are compared in, if the column's values go there exactly and in order."""
    shared = type
    for node in constants:
        shared = common(shared, node.type, what)
    exact = (
        shared == type
        or (is_integral(type) and (is_integral(shared) or is_decimal(shared)))
        or (is_decimal(type) and is_decimal(shared))
        or (type, shared) == (FLOAT, DOUBLE)
    )
    return [cast(node, shared).value() for node in constants] if exact else None


def _null_safe(tree: exp.Expression, scope: Scope) -> list[Bound]:
    if isinstance(tree.expression.unnest(), exp.Null):
        return _nullness(tree.this, "null", scope)
    if isinstance(tree.this.unnest(), exp.Null):
        return _nullness(tree.expression, "null", scope)
    # A constant that turns out to be NULL would make this "never", and it is not.
    return [bound for bound in _comparison("=", tree.this, tree.expression, scope) if bound.op != "never"]


def _in(tree: exp.Expression, scope: Scope) -> list[Bound]:
    found = _column(tree.this, scope)
    options = [scope.compile(option) for option in tree.expressions]
    if found is None or not options or not all(node.constant for node in options):
        return []
    values = _comparable(found[1].type, options, "the list")
    if values is None:
        return []
    known = tuple(value for value in values if value is not None)
    return [Bound(found[0], "in", known) if known else Bound(found[0], "never")]


def _nullness(tree: exp.Expression, op: str, scope: Scope) -> list[Bound]:
    found = _column(tree, scope)
    return [] if found is None else [Bound(found[0], op)]


def _like(tree: exp.Expression, scope: Scope) -> list[Bound]:
    found = _column(tree.this, scope)
    pattern = scope.compile(tree.expression)
    if found is None or found[1].type != STRING or not pattern.constant or pattern.type not in (STRING, NULL):
        return []
    if pattern.value() is None:
        return [Bound(found[0], "never")]
    pieces = patterns.like_pieces(str(pattern.value()))
    if not pieces or not isinstance(pieces[0], str):
        return [Bound(found[0], "=", ("",))] if not pieces else []
    return [Bound(found[0], "=" if len(pieces) == 1 else "prefix", (pieces[0],))]


def _or(tree: exp.Expression, scope: Scope) -> list[Bound]:
    """Alternatives on one column: each side must imply a bound of it."""
    sides = []
    for side in (tree.this, tree.expression):
        bounds = [bound for conjunct in conjuncts(side) for bound in _bounds(conjunct, scope)]
        if not bounds:
            return []
        sides.append(bounds)
    for one in sides[0]:
        for other in sides[1]:
            if one.column == other.column:
                return [Bound(one.column, "or", (one, other))]
    return []


def below(left: Any, right: Any) -> bool:
    """Spark's less-than: every number is below NaN."""
    return bool(left < right) or (right != right and left == left)


def _equal(value: Any) -> Test:
    return lambda stats: not (below(value, stats.min) or below(stats.max, value))


def _in_range(values: tuple[Any, ...]) -> Test:
    tests = [_equal(value) for value in values]
    return lambda stats: any(test(stats) for test in tests)


def _prefix(text: str) -> Test:
    return lambda stats: stats.max >= text and stats.min[: len(text)] <= text


# Tests that look at min and max, which are known and of at least one value.
_RANGE_TESTS: dict[str, Callable[..., Test]] = {
    "=": _equal,
    "<": lambda value: lambda stats: below(stats.min, value),
    "<=": lambda value: lambda stats: not below(value, stats.min),
    ">": lambda value: lambda stats: below(value, stats.max),
    ">=": lambda value: lambda stats: not below(stats.max, value),
    "in": lambda *values: _in_range(values),
    "prefix": _prefix,
}

_NULL_TESTS: dict[str, Test] = {
    "null": lambda stats: stats.nulls is None or stats.nulls > 0,
    "not null": lambda stats: stats.nulls is None or stats.nulls < stats.rows,
    "never": lambda stats: False,
}


def _test(bound: Bound) -> Test:
    """The closure that asks one column's statistics."""
    if bound.op in _NULL_TESTS:
        return _NULL_TESTS[bound.op]
    if bound.op == "or":
        one, other = map(_test, bound.values)
        return lambda stats: one(stats) or other(stats)
    within = _RANGE_TESTS[bound.op](*bound.values)

    def test(stats: ColumnStats) -> bool:
        if stats.nulls is not None and stats.nulls >= stats.rows:
            return False
        if stats.min is None or stats.max is None:
            return True
        try:
            return within(stats)
        except TypeError:
            # Statistics of another type than the literal (a naive and an aware timestamp) say nothing.
            return True

    return test


def may_match(bounds: Iterable[Bound], stats: Mapping[str, ColumnStats]) -> bool:
    """Whether a part with these statistics may hold a row that meets every bound."""
    return select_parts(bounds, [stats])[0]


def select_parts(bounds: Iterable[Bound], stats: Sequence[Mapping[str, ColumnStats]]) -> list[bool]:
    """`may_match` for many parts."""
    tests = [(bound.column, _test(bound)) for bound in bounds]
    return [
        all(known is None or test(known) for known, test in ((part.get(column), test) for column, test in tests))
        for part in stats
    ]
