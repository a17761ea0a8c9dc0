"""MERGE INTO's clauses on rows of this process: which rows meet, which clause acts, what becomes of them. Arrow only.

Target and source are tables under flat names (names.py). `meet` joins them by ON; `decide` lets the first clause
whose condition is true act on each row. A condition or a value is evaluated only for the rows that it is meant for, so
one that would fail on others does not. Whatever Arrow cannot evaluate as Spark does raises NeedsSpark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import expressions
from anabranch.commands.merge_into.clauses import Action, BoundMerge, Pair
from anabranch.errors import DataError, ExpressionError, NeedsSpark, SeveralMatches, in_clause
from anabranch.execution.shape import Shape
from anabranch.expressions.types import is_numeric, tightest
from anabranch.keyed.key_columns import KeyColumns, key_columns
from anabranch.keyed.keys import search, sort_indices

MOST_PAIRS = 4 << 20
"""Without an equality in ON every row meets every other; above so many pairs that is Spark's work."""


@dataclass(frozen=True)
class Met:
    """Places of rows that meet by ON, pair by pair; `target` is sorted."""

    target: np.ndarray
    source: np.ndarray


@dataclass
class Decided:
    """What becomes of rows: `updated` and `deleted` are places of target rows, in the order of their new versions."""

    updated: list[np.ndarray] = field(default_factory=list)
    versions: list[pa.Table] = field(default_factory=list)
    deleted: list[np.ndarray] = field(default_factory=list)
    inserted: list[pa.Table] = field(default_factory=list)


# --- joining ----------------------------------------------------------------------------------------------------------


def meet(bound: BoundMerge, target: pa.Table, source: pa.Table) -> Met:
    """The pairs of rows that ON is true for."""
    rows = np.arange(target.num_rows)
    for text in bound.on_target:
        rows = rows[flags(text, target.take(pa.array(rows)))]
    if bound.pairs:
        at, to = _equal_keys(bound.pairs, bound, target.take(pa.array(rows)), source)
        at = rows[at]
    else:
        if len(rows) * source.num_rows > MOST_PAIRS:
            raise NeedsSpark("a MERGE whose ON has no equality")
        at, to = np.repeat(rows, source.num_rows), np.tile(np.arange(source.num_rows), len(rows))
    for text in bound.residual:
        if not len(at):
            break
        kept = flags(text, side_by_side(target, source, at, to))
        at, to = at[kept], to[kept]
    return Met(at, to)


def _equal_keys(
    pairs: Sequence[Pair], bound: BoundMerge, target: pa.Table, source: pa.Table
) -> tuple[np.ndarray, np.ndarray]:
    ours, theirs = [], []
    for pair in pairs:
        one = target.column(bound.names.target.flat(pair.target))
        one, other = _comparable(one, evaluated(pair.source, source))
        ours.append(one)
        theirs.append(other)
    safe = [pair.null_safe for pair in pairs]
    left, right = _present(ours, safe), _present(theirs, safe)
    keys, wanted = _keys(ours, left), _keys(theirs, right)
    order = sort_indices(wanted)
    ranked = wanted.take(order)
    low = search(ranked, keys, "left")
    counts = search(ranked, keys, "right") - low
    at = np.repeat(np.arange(len(keys)), counts)
    before = np.cumsum(counts) - counts
    within = np.arange(len(at)) - np.repeat(before, counts)
    return left[at], right[order[np.repeat(low, counts) + within]]


def _keys(columns: Sequence[pa.ChunkedArray], rows: np.ndarray) -> KeyColumns:
    return key_columns([column.take(pa.array(rows)) for column in columns], nullable=True)


def _present(columns: Sequence[pa.ChunkedArray], safe: Sequence[bool]) -> np.ndarray:
    """Rows that `=` can match at all: it never matches NULL."""
    there = np.ones(len(columns[0]), bool)
    for column, null_safe in zip(columns, safe, strict=True):
        if not null_safe and column.null_count:
            there &= column.is_valid().to_numpy()
    return np.flatnonzero(there)


def _comparable(one: pa.ChunkedArray, other: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Both as the type in which Spark compares them."""
    if one.type == other.type and not pa.types.is_nested(one.type):
        return one, other
    if pa.types.is_null(other.type):
        return one, pa.chunked_array([pa.nulls(len(other), one.type)])
    shared = tightest(one.type, other.type) if is_numeric(one.type) and is_numeric(other.type) else None
    if shared is None:
        raise NeedsSpark(f"comparing {expressions.spark_name(one.type)} with {expressions.spark_name(other.type)}")
    return one.cast(shared, safe=False), other.cast(shared, safe=False)


def side_by_side(target: pa.Table, source: pa.Table, at: np.ndarray, to: np.ndarray) -> pa.Table:
    """Pairs as rows with the columns of both."""
    left, right = target.take(pa.array(at)), source.take(pa.array(to))
    return pa.table([*left.columns, *right.columns], names=[*left.column_names, *right.column_names])


# --- expressions ------------------------------------------------------------------------------------------------------


def evaluated(text: str, rows: pa.Table) -> pa.ChunkedArray:
    found = expressions.compile_expression(expressions.parse_expression(text), rows.schema)(rows)
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def flags(text: str, rows: pa.Table) -> np.ndarray:
    """Where a condition is true; NULL is not."""
    found = expressions.compile_predicate(expressions.parse_expression(text), rows.schema)(rows)
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=bool)


def check_here(bound: BoundMerge, target: pa.Schema, source: pa.Schema) -> None:
    """Raises NeedsSpark if a text of the MERGE needs it, before anything is read."""
    both = pa.schema([*target, *source])
    texts = [pair.source for pair in bound.pairs] + [*bound.on_target, *bound.residual]
    texts += [text for action in bound.actions for text in action.texts]
    for text in dict.fromkeys(texts):
        expressions.compile_expression(expressions.parse_expression(text), both)


# --- deciding ---------------------------------------------------------------------------------------------------------


ShapeOf = Callable[[Action], Shape]
"""What the rows that a clause makes must fit."""


def decide(bound: BoundMerge, shape: ShapeOf, target: pa.Table, source: pa.Table, met: Met) -> Decided:
    """Every row of target and source by its clauses; several matches have been refused."""
    decided = Decided()
    if bound.of("matched"):
        pairs = side_by_side(target, source, met.target, met.source)
        _act(bound, bound.of("matched"), shape, pairs, met.target, decided)
    if bound.of("not matched"):
        alone = np.ones(source.num_rows, bool)
        alone[met.source] = False
        rows = source.filter(pa.array(alone))
        _act(bound, bound.of("not matched"), shape, rows, np.flatnonzero(alone), decided)
    if bound.of("not matched by source"):
        alone = np.ones(target.num_rows, bool)
        alone[met.target] = False
        rows = target.filter(pa.array(alone))
        _act(bound, bound.of("not matched by source"), shape, rows, np.flatnonzero(alone), decided)
    return decided


def check_one_match(bound: BoundMerge, table: str, target: pa.Table, matched: np.ndarray) -> None:
    """`matched` is sorted."""
    if not bound.one_match or not len(matched):
        return
    again = np.unique(matched[1:][matched[1:] == matched[:-1]])
    if len(again):
        row = target.slice(int(again[0]), 1)
        shown = [
            f"{bound.schema.columns[place].label} = {row.column(name)[0].as_py()!r}"
            for place in sorted(bound.on_columns)
            if (name := bound.names.target.flat(place)) in row.column_names
        ]
        raise SeveralMatches(table, len(again), ", ".join(shown))


def _act(
    bound: BoundMerge, actions: Sequence[Action], shape: ShapeOf, rows: pa.Table, places: np.ndarray, into: Decided
) -> None:
    left = np.arange(rows.num_rows)
    for action in actions:
        if not len(left):
            return
        here = left
        if action.condition is not None:
            hit = flags(action.condition, rows.take(pa.array(left)))
            here, left = left[hit], left[~hit]
        else:
            left = left[:0]
        if not len(here):
            continue
        if action.verb == "delete":
            into.deleted.append(places[here])
            continue
        made = made_by(bound, action, shape(action), rows.take(pa.array(here)))
        if action.verb == "update":
            into.updated.append(places[here])
            into.versions.append(made)
        else:
            into.inserted.append(made)


def made_by(bound: BoundMerge, action: Action, shape: Shape, rows: pa.Table) -> pa.Table:
    """The rows that a clause makes; what they do not fit is an error that names the clause."""
    try:
        return shape.apply(new_rows(bound, action, rows))
    except NeedsSpark:
        raise
    except (DataError, ExpressionError) as error:
        raise in_clause(error, action.place) from error


def new_rows(bound: BoundMerge, action: Action, rows: pa.Table) -> pa.Table:
    """The rows that a clause makes, by label and not yet of the columns' types."""
    columns = [
        evaluated(action.values[column.physical], rows)
        if column.physical in action.values
        else rows.column(bound.names.target.flat(place))
        for place, column in enumerate(bound.schema.columns)
    ]
    return pa.table(columns, names=list(bound.schema.labels))
