"""What theirs' deletes and updates speak of, in a merge whose columns have moved on since they ran.

Their texts name columns physically. Names that merges unified are one, and columns that are gone by now are as they
were when the statement ran. Fields inside columns go by the labels that they had then: a statement sees every row as
its table would have held it, and what it sets is read back by physical names. A field that it did not know stays as it
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from anabranch.branching.fields import mend, seen_as
from anabranch.commands.statements import Statement
from anabranch.execution.predicate import Predicate
from anabranch.model.history import Position
from anabranch.model.records import Change
from anabranch.model.schema import Column, Schema
from anabranch.model.types import structs_in
from anabranch.storage.projection import convert


@dataclass(frozen=True)
class Spoken:
    """A statement, and the columns that it can speak of, labelled by physical names. `columns`: those of them, by name,
    whose fields it knows otherwise than the merge does, as the merge has them."""

    change: Change
    schema: Schema
    columns: Mapping[str, Column]

    def seen(self, rows: pa.Table) -> pa.Table:
        """Rows by physical names, as the statement sees them."""
        for name, column in self.columns.items():
            at = rows.schema.get_field_index(name)
            if at >= 0:
                rows = rows.set_column(at, name, convert(rows.column(at), column.type, self.schema.column(name).type))
        return rows

    def as_merged(self, name: str, values: pa.ChunkedArray, before: pa.ChunkedArray) -> pa.ChunkedArray:
        """What the statement sets in a column, and what it knew nothing of as it was before."""
        column = self.columns.get(name)
        if column is None:
            return values
        known = self.schema.column(name).type
        mine = convert(values, known, column.type).combine_chunks()
        return pa.chunked_array([mend(mine, before.combine_chunks(), column.type, known)])


def spoken(
    statements: Sequence[Statement], merged: Schema, schema_at: Callable[[Position], Schema]
) -> tuple[Schema, list[Spoken]]:
    """The statements, and all columns that one of them can speak of, labelled by physical names."""
    columns = {column.physical: column for column in merged.columns}
    unified = Schema(0, tuple(replace(column, label=name) for column in merged.columns for name in column.aliases))
    nested = {column.physical for column in merged.columns if any(structs_in(column.type))}
    found, moved = [], []
    for statement in statements:
        change = _renamed(statement.change, unified)
        names = _names(change)
        if not names <= columns.keys():
            for column in schema_at(statement.at).columns:
                if unified.find(column.physical) is None:
                    columns.setdefault(column.physical, column)
        found.append(change)
        moved.append(_moved([columns[name] for name in names & nested], schema_at, statement.at))
    schema = _by_physical(columns.values())
    pairs = zip(found, moved, strict=True)
    return schema, [
        Spoken(change, _by_physical((columns | seen).values()), {name: columns[name] for name in seen})
        for change, seen in pairs
    ]


def _moved(columns: Sequence[Column], schema_at: Callable[[Position], Schema], at: Position) -> dict[str, Column]:
    """Those of the columns whose fields were others at a commit, as a statement saw them there."""
    found = {}
    for column in columns:
        then = schema_at(at).stored_as(column)
        type_ = column.type if then is None else seen_as(column.type, then.type)
        if type_ != column.type:
            found[column.physical] = replace(column, type=type_)
    return found


def _by_physical(columns: Iterable[Column]) -> Schema:
    return Schema(0, tuple(replace(column, label=column.physical) for column in columns))


def _renamed(change: Change, unified: Schema) -> Change:
    """With other physical names in its texts; `unified` has the old ones as labels."""
    if not unified.columns:
        return change
    detail = dict(change.detail)
    if detail.get("predicate") is not None:
        detail["predicate"] = Predicate(detail["predicate"]).physical(unified)
    if detail.get("values"):
        detail["values"] = {
            column.physical if (column := unified.find(name)) else name: text and Predicate(text).physical(unified)
            for name, text in detail["values"].items()
        }
    return replace(change, detail=detail)


def _names(change: Change) -> set[str]:
    """The columns that a statement speaks of."""
    values = change.detail.get("values") or {}
    texts = [change.detail.get("predicate"), *values.values()]
    trees = [Predicate(text).tree for text in texts if text]
    return {*values, *(column.parts[0].name for tree in trees for column in tree.find_all(exp.Column))}
