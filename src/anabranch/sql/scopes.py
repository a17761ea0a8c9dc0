"""Who is who in a query's tree: real tables, CTE references, and the name by which each SELECT knows its sources.

A WITH makes its names known to the later parts of its own query and everything inside of them; a name of two pieces
never means a CTE. Walks keep their own stack: long UNION and AND chains are deeper than Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, eq=False)
class Source:
    """Something that a SELECT reads from: `name` is the alias or last piece in lower case, "" if it has neither."""

    node: exp.Expr
    select: exp.Select | None
    name: str
    real: bool

    @property
    def has_alias(self) -> bool:
        return bool(self.node.alias)

    @property
    def identifiers(self) -> tuple[exp.Identifier, ...]:
        if not isinstance(self.node, exp.Table):
            return ()
        return tuple(part for part in self.node.parts if isinstance(part, exp.Identifier))

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces of a table's name, as written."""
        return tuple(part.name for part in self.identifiers)

    @property
    def parts(self) -> tuple[str, ...]:
        """The pieces of a table's name, in lower case."""
        return tuple(piece.lower() for piece in self.pieces)

    @property
    def start(self) -> int:
        """Where a table's name begins in the text, -1 if that is not known."""
        return self.identifiers[0].meta.get("start", -1) if self.identifiers else -1

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """Whether columns of this source may be written with `qualifier`: its name, or d.t if it has no alias."""
        if len(qualifier) == 1:
            return self.name == qualifier[0]
        return self.real and not self.has_alias and self.parts == qualifier


def sources(tree: exp.Expr) -> list[Source]:
    """All sources of all selects; real tables are those that are neither CTE references nor functions."""
    found: list[Source] = []
    stack: list[tuple[exp.Expr, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, known = stack.pop()
        if isinstance(node, exp.Hint):
            continue
        if isinstance(node, exp.Table):
            found.append(_table(node, known))
        elif isinstance(node, exp.Subquery | exp.Lateral | exp.Values | exp.Unnest) and _is_read(node):
            found.append(Source(node, owner(node), node.alias.lower(), real=False))
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            known = _enter(with_, known, stack)
        stack.extend((child, known) for child in node.iter_expressions() if child is not with_)
    return sorted(found, key=lambda source: source.start)


def _enter(with_: exp.With, known: frozenset[str], stack: list[tuple[exp.Expr, frozenset[str]]]) -> frozenset[str]:
    """Put the bodies of a WITH on the stack, each with the names it sees, and give the names known after it."""
    for cte in with_.expressions:
        after = known | {cte.alias.lower()}
        stack.append((cte, after if with_.args.get("recursive") else known))
        known = after
    return known


def _table(node: exp.Table, known: frozenset[str]) -> Source:
    named = isinstance(node.this, exp.Identifier)
    real = named and not (not node.args.get("db") and node.name.lower() in known)
    name = node.alias or (node.name if named else node.this.sql_name() if isinstance(node.this, exp.Func) else "")
    return Source(node, owner(node), name.lower(), real)


def _is_read(node: exp.Expr) -> bool:
    return isinstance(node, exp.Lateral) or isinstance(node.parent, exp.From | exp.Join)


def owner(node: exp.Expr) -> exp.Select | None:
    """The SELECT that a node belongs to."""
    return node.find_ancestor(exp.Select)


def chain(node: exp.Expr) -> Iterator[exp.Select]:
    """The SELECT of a node and those around it, from the inside."""
    select = owner(node)
    while select is not None:
        yield select
        select = owner(select)


def qualifiers(column: exp.Column) -> list[exp.Identifier]:
    """The pieces before the column itself, as far as a qualifier can reach: one or two."""
    return [part for part in column.parts[:-1] if isinstance(part, exp.Identifier)][:2]


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The parts of a condition that are joined by AND."""
    stack = [condition] if condition is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, exp.And):
            stack.extend((node.expression, node.this))
        elif isinstance(node, exp.Paren):
            stack.append(node.this)
        else:
            yield node
