"""How each node of a sqlglot tree compiles.

`RULES` lists what is understood: for each node of the tree, the arguments that may be set and how it compiles. A node
that is not listed, or that has another argument set, needs Spark; so a rewrite of sqlglot that is not known here is
never taken for something else. sqlglot's precedence differs from Spark's in places (`a || b + c`, `a < b IN (c)`):
trees where that can matter are refused too, since brackets stay in the tree.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow.compute as pc
from sqlglot import exp

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions import arithmetic, comparison, dates, literals, logic, strings
from anabranch.expressions.casts import BOUNDS, cast
from anabranch.expressions.columns import Names, field
from anabranch.expressions.nodes import NO_ROWS, Node, derived, literal, typed_null
from anabranch.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    SQL_TYPES,
    STRING,
    TIMESTAMP,
    from_sql,
    is_integral,
    is_numeric,
    spark_name,
)
from anabranch.expressions.zones import need_utc


@dataclass(frozen=True)
class Scope:
    """One compilation: what names mean, and what time it is (the same wherever the expression asks)."""

    names: Names

    @cached_property
    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.timezone.utc)

    def compile(self, tree: exp.Expression) -> Node:
        rule = RULES.get(type(tree))
        if rule is None:
            raise NeedsSpark(_described(tree))
        for name, value in tree.args.items():
            if value not in (None, False, []) and name not in rule.arguments:
                raise NeedsSpark(f"{_described(tree)} with {name}")
        node = rule.compile(self, tree)
        if node.constant and node.fallible:
            _surface(node)
        return node

    def operand(self, tree: exp.Expression) -> Node:
        """An operand of an operator that binds tighter than predicates do in Spark."""
        if isinstance(tree, LOOSE):
            raise NeedsSpark(f"'{tree.sql('spark')}' without brackets inside another operator")
        return self.compile(tree)

    def optional(self, tree: exp.Expression | None) -> Node | None:
        return None if tree is None else self.compile(tree)


@dataclass(frozen=True)
class Rule:
    """How a tree node compiles, and the arguments of it that this understands."""

    compile: Callable[[Scope, exp.Expression], Node]
    arguments: frozenset[str]


def _surface(node: Node) -> None:
    """Has a constant that only Spark can evaluate say so now; one that fails is left to fail where it is evaluated."""
    try:
        node.run(NO_ROWS)
    except NeedsSpark:
        raise
    except ExpressionError:
        return


def _described(tree: exp.Expression) -> str:
    if isinstance(tree, exp.Anonymous):
        return f"the function {tree.name}"
    if isinstance(tree, exp.Func):
        return f"the function {tree.sql_name().lower()}"
    return f"'{tree.sql('spark')}'"


def _rule(compile: Callable[[Scope, exp.Expression], Node], *arguments: str) -> Rule:
    return Rule(compile, frozenset(arguments or ("this",)))


def _one(build: Callable[[Node], Node]) -> Rule:
    return _rule(lambda scope, tree: build(scope.compile(tree.this)), "this")


def _two(build: Callable[[Node, Node], Node], *also: str) -> Rule:
    def compile(scope: Scope, tree: exp.Expression) -> Node:
        return build(scope.compile(tree.this), scope.compile(tree.expression))

    return _rule(compile, "this", "expression", *also)


def _operator(build: Callable[[Node, Node], Node], *also: str) -> Rule:
    def compile(scope: Scope, tree: exp.Expression) -> Node:
        return build(scope.operand(tree.this), scope.operand(tree.expression))

    return _rule(compile, "this", "expression", *also)


def _compare(op: str) -> Rule:
    return _operator(lambda left, right: comparison.compare(op, left, right))


def _arithmetic(op: str, *also: str) -> Rule:
    return _operator(lambda left, right: arithmetic.binary(op, left, right), *also)


def _column(scope: Scope, tree: exp.Expression) -> Node:
    parts = [tree.args[name] for name in ("catalog", "db", "table", "this") if tree.args.get(name)]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        raise NeedsSpark(f"'{tree.sql('spark')}'")
    return scope.names.resolve([part.name for part in parts])


def _dot(scope: Scope, tree: exp.Expression) -> Node:
    if not isinstance(tree.expression, exp.Identifier):
        raise NeedsSpark(f"'{tree.sql('spark')}'")
    return field(scope.compile(tree.this), tree.expression.name)


def _literal(scope: Scope, tree: exp.Expression) -> Node:
    return literal(tree.this, STRING) if tree.is_string else literals.number(tree.this)


def _negative(scope: Scope, tree: exp.Expression) -> Node:
    inner = tree.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return literals.number(inner.this, negative=True)
    node = scope.operand(inner)
    if isinstance(inner, exp.TryCast) and isinstance(inner.this, exp.Literal) and not inner.this.is_string:
        # `-1::string` binds the sign first, and `-128Y` is one literal: their tree is that of `-CAST(128 ...)`.
        fits = is_numeric(node.type) and not (
            is_integral(node.type) and inner.this.is_int and int(inner.this.this) > BOUNDS[node.type][1]
        )
        if not fits:
            raise NeedsSpark(f"'{tree.sql('spark')}'")
        return replace(arithmetic.negated(node), suffixed=node.suffixed)
    return arithmetic.negated(node)


def _concat(scope: Scope, tree: exp.Expression) -> Node:
    if "safe" not in tree.args:
        # `'it''s'` and `'it' 's'` give this same tree and differ in Spark; `parse_expression` joins the first kind.
        raise NeedsSpark("text of adjacent literals")
    return strings.concat([scope.compile(piece) for piece in tree.expressions])


def _pipe(scope: Scope, tree: exp.Expression) -> Node:
    if isinstance(tree.expression, exp.Add | exp.Sub):
        # In Spark || and + bind alike, from the left.
        raise NeedsSpark(f"'{tree.sql('spark')}' without brackets")
    return strings.concat([scope.operand(tree.this), scope.operand(tree.expression)])


def _in(scope: Scope, tree: exp.Expression) -> Node:
    return comparison.is_in(scope.operand(tree.this), [scope.compile(option) for option in tree.expressions])


def _between(scope: Scope, tree: exp.Expression) -> Node:
    value, low, high = (scope.operand(tree.args[name]) for name in ("this", "low", "high"))
    return logic.conjunction(comparison.compare(">=", value, low), comparison.compare("<=", value, high))


def _is(scope: Scope, tree: exp.Expression) -> Node:
    node = scope.operand(tree.this)
    if isinstance(tree.expression, exp.Null):
        return logic.is_null(node)
    if isinstance(tree.expression, exp.Boolean):
        return logic.is_truth(node, wanted=tree.expression.this)
    raise NeedsSpark(f"'{tree.sql('spark')}'")


def _like(scope: Scope, tree: exp.Expression, escape: exp.Expression | None = None) -> Node:
    lowered = isinstance(tree, exp.ILike)
    found = strings.like(
        scope.operand(tree.this), scope.operand(tree.expression), scope.optional(escape), lowered=lowered
    )
    return logic.negation(found) if tree.args.get("negate") else found


def _escape(scope: Scope, tree: exp.Expression) -> Node:
    if not isinstance(tree.this, exp.Like | exp.ILike):
        raise NeedsSpark(f"'{tree.sql('spark')}'")
    return _like(scope, tree.this, tree.expression)


def _case(scope: Scope, tree: exp.Expression) -> Node:
    subject = scope.optional(tree.this)
    branches = []
    for branch in tree.args["ifs"]:
        condition = scope.compile(branch.this)
        if subject is None and condition.type == NULL:
            raise NeedsSpark("WHEN NULL")
        if subject is not None:
            condition = comparison.compare("=", subject, condition)
        branches.append((condition, scope.compile(branch.args["true"])))
    return logic.case(branches, scope.optional(tree.args.get("default")) or typed_null(NULL))


def _if(scope: Scope, tree: exp.Expression) -> Node:
    otherwise = tree.args.get("false")
    if otherwise is None:
        raise NeedsSpark("IF without a third argument")
    return logic.case([(scope.compile(tree.this), scope.compile(tree.args["true"]))], scope.compile(otherwise))


def _nvl2(scope: Scope, tree: exp.Expression) -> Node:
    chosen, otherwise = scope.compile(tree.args["true"]), scope.compile(tree.args["false"])
    return logic.case([(logic.is_not_null(scope.compile(tree.this)), chosen)], otherwise)


def _list(build: Callable[[list[Node]], Node]) -> Rule:
    def compile(scope: Scope, tree: exp.Expression) -> Node:
        return build([scope.compile(item) for item in (tree.this, *tree.expressions)])

    return _rule(compile, "this", "expressions", "ignore_nulls")


def _cast(scope: Scope, tree: exp.Expression) -> Node:
    node = scope.compile(tree.this)
    found = cast(node, from_sql(tree.args["to"]), attempt=bool(tree.args.get("safe")))
    suffixed = isinstance(tree.this, exp.Literal) and is_integral(found.type)
    return replace(found, literal=found.literal and not suffixed, suffixed=suffixed)


def _substring(scope: Scope, tree: exp.Expression) -> Node:
    start = scope.compile(tree.args["start"])
    return strings.sliced(scope.compile(tree.this), start, scope.optional(tree.args.get("length")))


def _trim(scope: Scope, tree: exp.Expression) -> Node:
    side = str(tree.args.get("position") or "BOTH").upper()
    return strings.trimmed(scope.compile(tree.this), scope.optional(tree.expression or None), side)


def _tested(kernel: Callable, name: str) -> Rule:
    return _two(lambda node, part: strings.tested(node, part, kernel, name))


def _piece(name: str) -> Rule:
    return _one(lambda node: dates.piece(name, node))


def _extract(scope: Scope, tree: exp.Expression) -> Node:
    name = tree.this.name.lower()
    if name not in dates.PIECES:
        raise NeedsSpark(f"EXTRACT({name})")
    return dates.piece(name, scope.compile(tree.expression))


def _moved(scope: Scope, tree: exp.Expression) -> Node:
    if tree.args["unit"].name.upper() != "DAY":
        raise NeedsSpark(f"'{tree.sql('spark')}'")
    date, distance = dates.date(scope.compile(tree.this), "date_add"), tree.expression
    if isinstance(distance, exp.Mul) and distance.expression == exp.Neg(this=exp.Literal.number(1)):
        # How sqlglot writes date_sub.
        return arithmetic.shifted(date, scope.compile(distance.this), backwards=True)
    return arithmetic.shifted(date, scope.compile(distance), backwards=False)


def _current_date(scope: Scope, tree: exp.Expression) -> Node:
    need_utc("current_date")
    return replace(literal(scope.now.date(), DATE), deterministic=False)


def _current_timestamp(scope: Scope, tree: exp.Expression) -> Node:
    return replace(literal(scope.now, TIMESTAMP), deterministic=False)


def _whole(scope: Scope, tree: exp.Expression) -> Node:
    return arithmetic.whole(scope.compile(tree.this))


def _is_nan(node: Node) -> Node:
    if not (is_numeric(node.type) or node.type == NULL):
        raise NeedsSpark(f"isnan of {spark_name(node.type)}")
    inner = cast(node, DOUBLE)
    return derived(BOOLEAN, [inner], lambda rows: pc.fill_null(pc.is_nan(inner.run(rows)), False))


def _array(scope: Scope, tree: exp.Expression) -> Node:
    return literals.array([scope.compile(item) for item in tree.expressions])


def _map(scope: Scope, tree: exp.Expression) -> Node:
    keys, values = tree.args["keys"], tree.args["values"]
    return literals.mapping(*([scope.compile(item) for item in side.expressions] for side in (keys, values)))


def _struct(scope: Scope, tree: exp.Expression) -> Node:
    if not all(isinstance(item, exp.PropertyEQ) for item in tree.expressions):
        raise NeedsSpark("a struct without names")
    return literals.struct(
        [item.this.name for item in tree.expressions], [scope.compile(item.expression) for item in tree.expressions]
    )


def _function(scope: Scope, tree: exp.Expression) -> Node:
    """A function that sqlglot does not know by name."""
    build = FUNCTIONS.get((tree.name.lower(), len(tree.expressions)))
    if build is None:
        raise NeedsSpark(_described(tree))
    return build(*(scope.compile(item) for item in tree.expressions))


# What Spark's grammar puts outside comparisons and arithmetic; sqlglot may nest it inside, without brackets.
LOOSE = (exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Is)

RULES: dict[type[exp.Expression], Rule] = {
    # names and constants
    exp.Column: _rule(_column, "this", "table", "db", "catalog"),
    exp.Dot: _rule(_dot, "this", "expression"),
    exp.Paren: _rule(lambda scope, tree: scope.compile(tree.this)),
    exp.Literal: _rule(_literal, "this", "is_string"),
    exp.RawString: _rule(lambda scope, tree: literal(tree.this, STRING)),
    exp.HexString: _rule(lambda scope, tree: literals.hexadecimal(tree.this)),
    exp.Null: _rule(lambda scope, tree: typed_null(NULL)),
    exp.Boolean: _rule(lambda scope, tree: literal(tree.this, BOOLEAN)),
    exp.Array: _rule(_array, "expressions"),
    exp.VarMap: _rule(_map, "keys", "values"),
    exp.Struct: _rule(_struct, "expressions"),
    exp.CurrentDate: Rule(_current_date, frozenset()),
    exp.CurrentTimestamp: Rule(_current_timestamp, frozenset()),
    # comparisons
    exp.EQ: _compare("="),
    exp.NEQ: _compare("<>"),
    exp.LT: _compare("<"),
    exp.LTE: _compare("<="),
    exp.GT: _compare(">"),
    exp.GTE: _compare(">="),
    exp.NullSafeEQ: _operator(comparison.null_safe),
    exp.NullSafeNEQ: _operator(lambda left, right: logic.negation(comparison.null_safe(left, right))),
    exp.EqualNull: _two(comparison.null_safe),
    exp.In: _rule(_in, "this", "expressions"),
    exp.Between: _rule(_between, "this", "low", "high"),
    exp.Greatest: _list(lambda nodes: comparison.extreme(nodes, largest=True)),
    exp.Least: _list(lambda nodes: comparison.extreme(nodes, largest=False)),
    # logic
    exp.And: _two(logic.conjunction),
    exp.Or: _two(logic.disjunction),
    exp.Not: _one(logic.negation),
    exp.Is: _rule(_is, "this", "expression"),
    exp.Case: _rule(_case, "this", "ifs", "default"),
    exp.If: _rule(_if, "this", "true", "false"),
    exp.Coalesce: _list(logic.coalesce),
    exp.Nullif: _two(logic.null_if),
    exp.Nvl2: _rule(_nvl2, "this", "true", "false"),
    exp.IsNan: _one(_is_nan),
    # arithmetic
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/", "typed", "safe"),
    exp.Mod: _arithmetic("%"),
    exp.IntDiv: _arithmetic("div"),
    exp.Neg: _rule(_negative),
    exp.Abs: _one(arithmetic.absolute),
    exp.Floor: _rule(_whole),
    exp.Ceil: _rule(_whole),
    # casts; sqlglot reads CAST as TryCast, and marks TRY_CAST as safe
    exp.Cast: _rule(_cast, "this", "to", "_type"),
    exp.TryCast: _rule(_cast, "this", "to", "safe", "_type"),
    # strings
    exp.Concat: _rule(_concat, "expressions", "safe"),
    exp.DPipe: _rule(_pipe, "this", "expression", "safe"),
    exp.Upper: _one(lambda node: strings.cased(node, pc.utf8_upper, "upper")),
    exp.Lower: _one(lambda node: strings.cased(node, pc.utf8_lower, "lower")),
    exp.Length: _one(strings.length),
    exp.Substring: _rule(_substring, "this", "start", "length"),
    exp.Left: _two(strings.left),
    exp.Right: _two(strings.right),
    exp.Trim: _rule(_trim, "this", "expression", "position"),
    exp.StartsWith: _tested(pc.starts_with, "startswith"),
    exp.EndsWith: _tested(pc.ends_with, "endswith"),
    exp.Contains: _tested(pc.match_substring, "contains"),
    exp.Like: _rule(_like, "this", "expression", "negate"),
    exp.ILike: _rule(_like, "this", "expression", "negate"),
    exp.Escape: _rule(_escape, "this", "expression"),
    exp.RegexpLike: _operator(strings.rlike),
    # dates
    exp.TsOrDsToDate: _one(lambda node: dates.date(node, "a date function")),
    exp.Year: _piece("year"),
    exp.Month: _piece("month"),
    exp.Day: _piece("day"),
    exp.DayOfMonth: _piece("day"),
    exp.Quarter: _piece("quarter"),
    exp.Extract: _rule(_extract, "this", "expression"),
    exp.TsOrDsAdd: _rule(_moved, "this", "expression", "unit"),
    exp.DateDiff: _two(dates.difference),
    exp.Anonymous: _rule(_function, "this", "expressions"),
}

# Functions that sqlglot passes on by name, with the number of their arguments.
FUNCTIONS: dict[tuple[str, int], Callable[..., Node]] = {
    ("isnull", 1): logic.is_null,
    ("isnotnull", 1): logic.is_not_null,
    ("btrim", 1): lambda node: strings.trimmed(node, None, "BOTH"),
    ("btrim", 2): lambda node, characters: strings.trimmed(node, characters, "BOTH"),
    ("tinyint", 1): lambda node: cast(node, SQL_TYPES[exp.DType.TINYINT]),
    ("smallint", 1): lambda node: cast(node, SQL_TYPES[exp.DType.SMALLINT]),
    ("bigint", 1): lambda node: cast(node, SQL_TYPES[exp.DType.BIGINT]),
}
