"""Which target rows a MERGE INTO can match, by the values that its source has. Pure.

`reach` is a condition on target columns that every row which ON matches fulfils: the values, or the range of values,
of the source's side of each equality, and what ON says of the target alone. It skips parts before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from anabranch.commands.merge_into.clauses import BoundMerge, Pair
from anabranch.commands.merge_into.rows import evaluated
from anabranch.errors import AnabranchError
from anabranch.expressions import literal_sql, parse_expression
from anabranch.storage.arrow_types import to_arrow

LISTED = 256
"""So many values are listed one by one; of more, the range counts."""


Ends = tuple[pa.Scalar, pa.Scalar]
"""The smallest and the largest value."""


def reach(
    bound: BoundMerge, source: pa.Table | None, names: Mapping[int, str], ends: Sequence[Ends] = ()
) -> str | None:
    """`names`: what the target's columns are called in the condition. None: every row may be matched. `ends`: of each
    equality's values, where the source is not here."""
    found = [_renamed(text, bound, names) for text in bound.on_target]
    if source is not None:
        found += [text for pair in bound.pairs if (text := _values(bound, pair, source, names)) is not None]
    for pair, (low, high) in zip(bound.pairs, ends, strict=False):
        if _says(bound, pair, low.type) and not pair.null_safe:
            found.append(_between(names[pair.target], low, high) if low.is_valid else "FALSE")
    return " AND ".join(f"({text})" for text in found) or None


def _says(bound: BoundMerge, pair: Pair, type_: pa.DataType) -> bool:
    """Whether values say what a part can hold: not so for NaN and nested values, nor across types that Spark casts."""
    target = to_arrow(bound.schema.columns[pair.target].type)
    if pa.types.is_nested(type_) or pa.types.is_floating(type_):
        return False
    return type_ == target or (pa.types.is_integer(type_) and pa.types.is_integer(target))


def _between(name: str, low: pa.Scalar, high: pa.Scalar) -> str:
    return f"{name} >= {literal_sql(low)} AND {name} <= {literal_sql(high)}"


def listed(bound: BoundMerge, source: pa.Table | None, names: Mapping[int, str]) -> str | None:
    """The same where it is exact: ON is equalities alone, and their values can be listed."""
    if source is None or not bound.pairs or bound.on_target or bound.residual or bound.of("not matched by source"):
        return None
    found = [_values(bound, pair, source, names, exact=True) for pair in bound.pairs]
    return None if len(found) > 1 or found[0] is None else found[0]


def _values(
    bound: BoundMerge, pair: Pair, source: pa.Table, names: Mapping[int, str], *, exact: bool = False
) -> str | None:
    try:
        values = evaluated(pair.source, source)
        if not _says(bound, pair, values.type) or (pair.null_safe and values.null_count):
            return None
        name = names[pair.target]
        values = pc.unique(values.combine_chunks()).drop_null()
        if not len(values):
            return "FALSE"
        if len(values) <= LISTED:
            return f"{name} IN ({', '.join(literal_sql(value) for value in values)})"
        if exact:
            return None
        ends = pc.min_max(values)
        return _between(name, ends["min"], ends["max"])
    except AnabranchError:  # only Spark can evaluate it, or write it
        return None


def _renamed(text: str, bound: BoundMerge, names: Mapping[int, str]) -> str:
    flat = {bound.names.target.flat(place): name for place, name in names.items()}

    def renamed(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and node.parts[0].name in flat:
            return parse_expression(
                ".".join([flat[node.parts[0].name], *(part.sql("spark") for part in node.parts[1:])])
            )
        return node

    return parse_expression(text).transform(renamed).sql(dialect="spark")
