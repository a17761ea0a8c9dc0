"""Conflicts of a keyed table for people, the rows that they give for them, and engines that do not go together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.keyed_contest import Contest
from anabranch.branching.keyed_law import Given, Verdict
from anabranch.branching.keyed_rows import Records, Standing
from anabranch.commands.resolutions import incomplete
from anabranch.engines import KIND, check_change, engine_spec, is_engine_option
from anabranch.engines.codes import whole
from anabranch.engines.feed import Mask, Picks
from anabranch.errors import AnabranchError, KindRefused, Refused
from anabranch.execution.keyed_writer import by_physical, keys_in
from anabranch.execution.shape import by_name
from anabranch.keyed.keys import match, segment_starts, sort_indices
from anabranch.keyed.sequences import later, sequences
from anabranch.model import types
from anabranch.model.conflict import ConflictRecord
from anabranch.model.names import fold
from anabranch.model.records import TableRecord
from anabranch.model.schema import Column, Schema
from anabranch.model.words import counted
from anabranch.storage.arrow_types import to_arrow
from anabranch.storage.projection import convert
from anabranch.texts import named_values

_STAYS, _GOES = "+U", "-D"

GivenRows = Callable[[Records, Contest, Mask], Given]
"""What a user gave for the keys in conflict."""


def conflicts_of(
    table: str, schema: Schema, records: Records, contest: Contest, verdict: Verdict
) -> list[ConflictRecord]:
    """One for each key in conflict, with its row on every side."""
    places = np.flatnonzero(verdict.clash)
    if not len(places):
        return []
    keys = shown_keys(schema, records, places)
    sides = [_rows_shown(schema, records, side, places) for side in (contest.bases[0], contest.ours, contest.theirs)]
    clashing = {column.label: verdict.clashing.get(column.physical) for column in schema.columns}
    found = []
    for place, key, base, ours, theirs in zip(places.tolist(), keys, *sides, strict=True):
        named = [label for label, mask in clashing.items() if mask is not None and mask[place]]
        rule = f"{_did(base, theirs)}/{_did(base, ours)}"
        sides_shown = ("deleted" if ours is None else ours, "deleted" if theirs is None else theirs)
        found.append(ConflictRecord(table, "key", rule, *sides_shown, base, key, ", ".join(named) or None))
    return found


def shown_keys(schema: Schema, records: Records, places: Picks) -> list[dict[str, Any]]:
    columns = [column for column in schema.columns if column.physical in records.spec.key]
    return _shown(records.keys.take(pa.array(places)), columns)


def _did(before: object, after: object) -> str:
    return "delete" if after is None else "insert" if before is None else "update"


def _rows_shown(schema: Schema, records: Records, side: Standing, places: Picks) -> list[dict[str, Any] | None]:
    at = pa.array(places)
    rows = records.keys.take(at)
    for name in records.spec.fields:
        rows = rows.append_column(name, side.column(name).take(at))
    present = side.present[places].tolist()
    return [row if there else None for row, there in zip(_shown(rows, schema.columns), present, strict=True)]


def _shown(rows: pa.Table, columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Rows by labels, for people."""
    columns = list(columns)
    arrays = [convert(rows.column(c.physical), types.physical_type(c.type), c.type) for c in columns]
    shown: list[dict[str, Any]] = pa.table(arrays, names=[column.label for column in columns]).to_pylist()
    return shown


# --- rows that the user gives -----------------------------------------------------------------------------------------


def resolutions(table: str, schema: Schema, rows: pa.Table) -> GivenRows:
    """Rows for keys in conflict, by labels: the key's columns and all others, or '-D' in `_kind` for a key that goes.

    A key that is given twice or is not in conflict is refused, and so is a row that could not stand: one whose sequence
    is behind that of a record which the key has.
    """
    gone = _deleting(rows)
    shaped = _shaped(table, schema, rows, gone)

    def given(records: Records, contest: Contest, clash: Mask) -> Given:
        spec = records.spec
        asked = keys_in(shaped, spec)
        order = sort_indices(asked)
        every = np.arange(len(asked))
        twice = np.setdiff1d(every, segment_starts(asked.take(order)))
        if len(twice):
            raise Refused(f"{_key_of(schema, shaped, order[twice[0]])} of table '{table}' is resolved twice.")
        there, at = match(asked.take(order), keys_in(records.keys, spec))
        idle = np.setdiff1d(every, at[clash[there]])
        if len(idle):
            others = len(idle) - 1
            more = f", nor {'is' if others == 1 else 'are'} {counted(others, 'other')}" if others else ""
            raise Refused(
                f"{_key_of(schema, shaped, order[idle[0]])} of table '{table}' is not in conflict{more}: resolutions "
                "are for the keys that SHOW CONFLICTS lists. Nothing was changed."
            )
        place = np.full(records.count, -1, np.int64)
        place[there] = order[at]
        known = place >= 0
        aligned = shaped.take(pa.array(place, mask=~known))
        deleted = np.zeros(records.count, dtype=bool)
        deleted[known] = gone[place[known]]
        if spec.sequence and spec.engine == "deduplicate":
            wanted = sequences([aligned[name] for name in spec.sequence], descending=spec.descending)
            if (later(contest.merged.sequence, wanted) & known & ~deleted).any():
                raise Refused(
                    f"a resolution of table '{table}' has a smaller sequence than its key has already, and would not "
                    "be seen."
                )
        return Given(known, deleted, {name: whole(aligned[name]) for name in spec.fields})

    return given


def _key_of(schema: Schema, rows: pa.Table, place: int) -> str:
    """`key id = 1`."""
    columns = [column for column in schema.columns if column.physical in schema.primary_key]
    return f"key {named_values(_shown(rows.slice(place, 1), columns)[0])}"


def _deleting(rows: pa.Table) -> Mask:
    """Rows that say no more than that their key goes."""
    if KIND not in rows.column_names:
        return np.zeros(len(rows), dtype=bool)
    kinds = rows[KIND].cast(pa.string()).fill_null(_STAYS)
    unknown = kinds.filter(pc.invert(pc.is_in(kinds, value_set=pa.array(["+I", _STAYS, _GOES]))))
    if len(unknown):
        raise KindRefused(unknown[0].as_py(), "resolutions take '+I', '+U' and '-D'")
    gone: Mask = pc.equal(kinds, _GOES).to_numpy()
    return gone


def _shaped(table: str, schema: Schema, rows: pa.Table, gone: Mask) -> pa.Table:
    """The rows by physical names, all columns in place; a key that goes needs no more than itself, and no rows need
    nothing."""
    rows = rows.drop_columns([KIND]) if KIND in rows.column_names else rows
    named = {fold(name) for name in rows.column_names}
    missing = [column for column in schema.columns if fold(column.label) not in named]
    if missing and len(rows) and (not gone.all() or any(column.physical in schema.primary_key for column in missing)):
        raise incomplete(table, [column.label for column in missing])
    for column in missing:
        rows = rows.append_column(column.label, pa.nulls(len(rows), to_arrow(column.type)))
    by_name(table, schema, rows.column_names).apply(rows.filter(pa.array(~gone)))  # NOT NULL is for rows that stay
    loose = Schema(schema.id, tuple(_nullable(c, schema) for c in schema.columns), schema.primary_key)
    return by_physical(by_name(table, loose, rows.column_names).apply(rows), schema).combine_chunks()


def _nullable(column: Column, schema: Schema) -> Column:
    return column if column.physical in schema.primary_key else replace(column, nullable=True)


# --- engines ----------------------------------------------------------------------------------------------------------


def engine_conflicts(
    table: str, schema: Schema, record: TableRecord, sides: Iterable[tuple[Schema, TableRecord, bool]]
) -> list[ConflictRecord]:
    """Whether the merged options would change what stored records mean. `sides`: ours and theirs, and whether each has
    parts."""
    ours, theirs = sides
    found = []
    for (written, was, has_parts), side in ((ours, "ours"), (theirs, "theirs")):
        try:
            check_change(
                engine_spec(written, was.properties), engine_spec(schema, record.properties), has_parts=has_parts
            )
        except AnabranchError as error:
            words = (str(error), "the options of its own") if side == "ours" else ("the options of its own", str(error))
            found.append(ConflictRecord(table, "properties", "engine", *words))
    return found[:1]


def with_engine_of(side: TableRecord, merged: TableRecord) -> TableRecord:
    """The merged record with one side's options of keyed tables."""
    others = {name: value for name, value in merged.properties.items() if not is_engine_option(name)}
    taken = {name: value for name, value in side.properties.items() if is_engine_option(name)}
    return replace(merged, properties={**others, **taken})
