"""Which columns a query can need of each table: a superset by simple means, never less.

All words of the statement, unless something reads columns without naming them: a star, NATURAL JOIN, PIVOT, a list of
column aliases, IDENTIFIER(…), or a frame's column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from anabranch.sql.scopes import Source, chain, owner, qualifiers
from anabranch.sql.tokens import Kind, Token


def whole_tables(tree: exp.Expr, sources: Sequence[Source]) -> set[int]:
    """The `id` of every table node of which all columns may be needed."""
    whole: set[int] = set()
    for source in sources:
        alias = source.node.args.get("alias")
        renames = isinstance(alias, exp.TableAlias) and alias.columns
        if renames or source.node.args.get("pivots") or source.select is None:
            whole |= _all(sources, source.select) | {id(source.node)}
    for node in tree.find_all(exp.Star, exp.Join, exp.Anonymous):
        if isinstance(node, exp.Star):
            whole |= _covered(node, sources)
        elif isinstance(node, exp.Join):
            if node.args.get("method") == "NATURAL" or node.args.get("pivots"):
                whole |= _all(sources, owner(node))
        elif node.name.upper() == "IDENTIFIER":
            whole |= {id(source.node) for source in sources}
    return whole


def named(tokens: Iterable[Token]) -> frozenset[str]:
    """All words and names of a statement in lower case."""
    return frozenset(token.value.lower() for token in tokens if token.kind in (Kind.WORD, Kind.QUOTED))


def _all(sources: Sequence[Source], select: exp.Select | None) -> set[int]:
    return {id(source.node) for source in sources if source.select is select}


def _covered(star: exp.Star, sources: Sequence[Source]) -> set[int]:
    parent = star.parent
    if isinstance(parent, exp.Count):
        return set()
    if not isinstance(parent, exp.Column):
        return _all(sources, owner(star))
    qualifier = tuple(part.name.lower() for part in qualifiers(parent))
    for select in chain(parent):
        # If no source is meant, `s.*` spreads a struct column s, which is among the words of the statement anyway.
        hit = {id(source.node) for source in sources if source.select is select and _meant(source, qualifier)}
        if hit:
            return hit
    return {id(source.node) for source in sources}


def _meant(source: Source, qualifier: tuple[str, ...]) -> bool:
    return source.answers(qualifier) or source.answers(qualifier[:1])
