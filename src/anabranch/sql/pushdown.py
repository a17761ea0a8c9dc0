"""Conjuncts that a scan of one table may use to skip parts; the query keeps its own filter, so fewer is always right.

A row that fails a pushed conjunct must have no effect on the result. So a conjunct is pushed only if it

- stands in the WHERE of the very SELECT that reads the table, or in the ON of an inner join before which no outer
  join made the table's columns NULL;
- compares one column of that table with literals: = <=> < <= > >= IN BETWEEN, LIKE, IS [NOT] NULL;
- names the column beyond doubt: with the table's name, or bare where this table is the only source and no query
  around it could own the column;

and only if the table is on no null-supplying side, unsampled, and nothing in its FROM reshapes rows (lateral views,
pivots, nested brackets). The text is made anew from the tree, with the bare column name in backquotes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.strings import literal
from anabranch.sql.scopes import Source, conjuncts, qualifiers

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TYPED = {
    exp.DataType.Type.DATE: "DATE",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP",
    exp.DataType.Type.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}
_READ_FROM: dict[type, tuple[str, ...]] = {
    exp.Select: ("from_", "joins", "with_"),
    exp.SetOperation: ("this", "expression", "with_"),
    exp.Subquery: ("this", "with_"),
    exp.From: ("this",),
    exp.Join: ("this",),
    exp.With: ("expressions",),
    exp.CTE: ("this",),
}
"""Where a query may stand in its parent without seeing columns from outside."""
_RESHAPING = ("laterals", "pivots", "match", "connect")


def predicates(select: exp.Select, sources: Sequence[Source]) -> dict[int, str]:
    """The pushed condition of each table of `select`, by the `id` of its node; `sources` are those of `select`."""
    joins = select.args.get("joins") or []
    from_ = select.args.get("from_")
    relations = [*([from_.this] if from_ is not None else []), *(join.this for join in joins)]
    if any(select.args.get(key) for key in _RESHAPING) or not all(map(_is_plain, relations)):
        return {}
    pushed: dict[int, list[str]] = {}
    null_supplied: set[int] = set()
    for count, join in enumerate(joins, 1):
        before, side, kind = relations[:count], join.side, join.kind
        if side in ("RIGHT", "FULL"):
            null_supplied.update(map(id, before))
        if side in ("LEFT", "FULL") or kind in ("SEMI", "ANTI"):
            null_supplied.add(id(join.this))
        if not side and kind in ("", "INNER"):
            _push(join.args.get("on"), sources, null_supplied, pushed)
    where = select.args.get("where")
    _push(where.this if where is not None else None, sources, null_supplied, pushed)
    return {node: " AND ".join(f"({text})" for text in dict.fromkeys(texts)) for node, texts in pushed.items()}


def _is_plain(relation: exp.Expr) -> bool:
    if isinstance(relation, exp.Subquery):
        return isinstance(relation.this, exp.Query) and not relation.args.get("pivots")
    reshaped = any(relation.args.get(key) for key in ("joins", "pivots", "laterals"))
    return isinstance(relation, exp.Table) and not reshaped


def _push(
    condition: exp.Expr | None,
    sources: Sequence[Source],
    null_supplied: set[int],
    pushed: dict[int, list[str]],
) -> None:
    for conjunct in conjuncts(condition):
        columns = list(conjunct.find_all(exp.Column))
        source = _owner(columns[0], sources) if len(columns) == 1 else None
        if source is None or id(source.node) in null_supplied or source.node.args.get("sample"):
            continue
        text = _text(conjunct)
        if text is not None:
            pushed.setdefault(id(source.node), []).append(text)


def _owner(column: exp.Column, sources: Sequence[Source]) -> Source | None:
    """The one real table that `column` must belong to, or None."""
    qualifier = tuple(part.name.lower() for part in qualifiers(column))
    if len(column.parts) > len(qualifier) + 1 or isinstance(column.parent, exp.Dot):
        return None
    if qualifier:
        owners = [source for source in sources if source.answers(qualifier)]
    elif len(sources) == 1 and _stands_alone(sources[0].select):
        owners = list(sources)
    else:
        return None
    source = owners[0] if len(owners) == 1 else None
    alias = source.node.args.get("alias") if source is not None else None
    if source is None or not source.real or (isinstance(alias, exp.TableAlias) and alias.columns):
        return None
    return source


def _stands_alone(select: exp.Select | None) -> bool:
    """Whether no query around this SELECT can lend it columns: the way up passes FROM, JOIN, UNION and WITH only.

    Derived tables and CTEs do not shield: inside a correlated subquery they see its outer columns too.
    """
    node: exp.Expr | None = select
    while node is not None and node.parent is not None:
        keys = next((keys for kind, keys in _READ_FROM.items() if isinstance(node.parent, kind)), ())
        if node.arg_key not in keys:
            return False
        node = node.parent
    return True


def _text(conjunct: exp.Expr) -> str | None:
    operator = _COMPARISONS.get(type(conjunct))
    if operator is not None:
        column, value = _column(conjunct.this), _literal(conjunct.expression)
        if column is None:
            column, value = _column(conjunct.expression), _literal(conjunct.this)
            operator = _MIRRORED.get(operator, operator)
        return None if column is None or value is None else f"{column} {operator} {value}"
    column = _column(conjunct.this)
    if isinstance(conjunct, exp.Not) and isinstance(conjunct.this, exp.Is):
        column = _column(conjunct.this.this)
        return f"{column} IS NOT NULL" if column and isinstance(conjunct.this.expression, exp.Null) else None
    if column is None:
        return None
    if isinstance(conjunct, exp.Is) and isinstance(conjunct.expression, exp.Null):
        return f"{column} IS NULL"
    if isinstance(conjunct, exp.In) and conjunct.expressions and not _has_other(conjunct, "this", "expressions"):
        values = [_literal(value) for value in conjunct.expressions]
        texts = [value for value in values if value is not None]
        return f"{column} IN ({', '.join(texts)})" if len(texts) == len(values) else None
    if isinstance(conjunct, exp.Between) and not _has_other(conjunct, "this", "low", "high"):
        low, high = _literal(conjunct.args["low"]), _literal(conjunct.args["high"])
        return None if low is None or high is None else f"{column} BETWEEN {low} AND {high}"
    if type(conjunct) is exp.Like and not _has_other(conjunct, "this", "expression"):
        pattern = conjunct.expression
        value = _literal(pattern) if isinstance(pattern, exp.Literal) and pattern.is_string else None
        return None if value is None else f"{column} LIKE {value}"
    return None


def _has_other(node: exp.Expr, *known: str) -> bool:
    return any(value for key, value in node.args.items() if key not in known)


def _column(node: object) -> str | None:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    return f"`{node.name.replace('`', '``')}`"


def _literal(node: exp.Expr) -> str | None:
    """A literal as both Spark and sqlglot read it; backslashes are left out, since the two differ over them."""
    if isinstance(node, exp.Literal):
        if node.is_string:
            return None if "\\" in node.this else literal(node.this)
        return str(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{node.this.this}"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.this.is_string:
        kind, value = _TYPED.get(node.to.this), _literal(node.this)
        return None if kind is None or value is None else f"{kind} {value}"
    return None
