"""MERGE INTO: joins a source to a table and changes, adds and deletes rows by its clauses, as one commit.

1. Columns that WITH SCHEMA EVOLUTION adds; then the clauses are bound and checked, before anything is read.
2. The source is brought here if it is small (source.py); an empty one does nothing.
3. Append tables: append.py. Keyed tables: keyed.py. Both commit by commit.py.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.commands.columns import ColumnSpec, added_column
from anabranch.commands.merge_into.append import merge_append
from anabranch.commands.merge_into.clauses import BoundMerge, bind, new_columns
from anabranch.commands.merge_into.keyed import merge_keyed
from anabranch.commands.merge_into.result import Clock, Merged
from anabranch.commands.merge_into.source import Source, brought
from anabranch.commands.merge_into.strategy import Strategy, pick
from anabranch.commands.session import OpenTable, Session
from anabranch.model import evolve
from anabranch.model.merge import MergeRequest
from anabranch.model.schema import Column, Schema
from anabranch.options import option


def merge_into(session: Session, table: OpenTable, request: MergeRequest, source: Source) -> Merged:
    """What was done. The table is as it was if anything fails."""
    clock = Clock()
    table, evolved = _evolved(session, table, request, source)
    bound = bind(request, _with_defaults(session, table.schema), source.columns)
    strategy = strategy_of(table, bound)
    with session.turn(table), clock.phase("source"), brought(source) as source:
        clock.pause()
        if source.rows is not None and not source.rows.num_rows and not bound.of("not matched by source"):
            return Merged(Strategy("nothing", "the source is empty"), clock.seconds)
        merge = merge_keyed if table.schema.primary_key else merge_append
        with session.times():
            return merge(session, table, bound, source, strategy, evolved, clock)


def strategy_of(table: OpenTable, bound: BoundMerge) -> Strategy:
    spec = table.engine if table.schema.primary_key else None
    return pick(bound, spec, option(table.record.properties, "merge.mode"))


def bound_for(session: Session, table: OpenTable, request: MergeRequest, source: Source) -> BoundMerge:
    """The clauses as they would be bound; no name is reserved for new columns."""
    schema = table.schema
    for path, type_ in new_columns(request, schema, source.columns):
        schema = evolve.add(schema, path, Column(path[-1], type_, f"{path[-1]}?"), None)
    return bind(request, _with_defaults(session, schema), source.columns)


def _with_defaults(session: Session, schema: Schema) -> Schema:
    """With the texts that stand for defaults in clauses."""
    columns = [c if c.write_default is None else replace(c, write_default=session.default(c)) for c in schema.columns]
    return replace(schema, columns=tuple(columns))


def _evolved(
    session: Session, table: OpenTable, request: MergeRequest, source: Source
) -> tuple[OpenTable, OpenTable | None]:
    """The table with the columns that the MERGE adds, and again if there are any."""
    added = new_columns(request, table.schema, source.columns)
    if not added:
        return table, None
    schema = table.schema
    for path, type_ in added:
        column = added_column(session, table, schema, ColumnSpec(path, type_))
        schema = evolve.add(schema, path, column, None)
    schema = replace(schema, id=session.catalog.reserve_schema_id(table.id))
    table = replace(table, schema=schema, record=replace(table.record, schema_id=schema.id))
    return table, table
