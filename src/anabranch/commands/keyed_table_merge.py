"""A keyed table in a merge: what `table_merge` does for append tables, by the keyed law.

Keys are compared, whatever `detect` says. What the records of a table mean must not change under them, so engines and
keys that do not go together conflict before rows are looked at; beside any other conflict of columns keys are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from anabranch.branching.effects import Effect
from anabranch.branching.law import REQUIRED
from anabranch.branching.readable import newly_required
from anabranch.branching.row_merge import NO_ROWS, Replay
from anabranch.commands.keyed_conflicts import engine_conflicts, resolutions, with_engine_of
from anabranch.commands.keyed_merge import Decided, KeyedMerge, Required, as_replay
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.not_null import rows_without, rule_of
from anabranch.commands.own_types import in_one_column, in_one_type, theirs_beside
from anabranch.commands.resolutions import rows_of
from anabranch.engines import engine_spec
from anabranch.errors import AnabranchError
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.part import Part, bounds_of
from anabranch.model.records import ROW_CLASSES, TableDelta
from anabranch.model.schema import Column, Schema

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


NOTHING_ALONE: Mapping[str, Choice] = MappingProxyType({})
_MEANING = ("engine", "A7")
"""Rules of conflicts in which it is open what a record means."""


def check_engine(merger: TableMerger, made: TableMerge) -> None:
    assert merger.ours is not None
    assert merger.theirs is not None
    assert made.record is not None
    schema = made.schema or merger.schema(merger.ours)
    if schema.primary_key:
        sides = [
            (merger.schema(record), record, bool(side.head.parts))
            for record, side in ((merger.ours, merger.mine), (merger.theirs, merger.other))
        ]
        found = engine_conflicts(merger.name, schema, made.record, sides)
        if found and merger.choice is not None:
            chosen = with_engine_of(merger.ours if merger.choice == "ours" else merger.theirs, made.record)
            if not engine_conflicts(merger.name, schema, chosen, sides):
                made.record, found = chosen, []
        made.conflicts += found


def merge_keyed(merger: TableMerger, made: TableMerge) -> None:
    assert made.schema is not None
    assert made.record is not None
    assert merger.ours is not None
    bases = [merger.state(base) for base in merger.bases_at]
    merge = KeyedMerge(merger.session, merger.id, merger.name, bases, merger.mine, merger.other)
    made.news |= merge.news or bool(made.conflicts)
    # Without theirs' flushes only a schema that ours' own rows may not fit is a question.
    fits = not merger.ours_moved or made.schema is merger.schema(merger.ours)
    if (fits and not merge.news and not merge.is_open) or any(conflict.rule in _MEANING for conflict in made.conflicts):
        return
    made.deltas = merge.deltas()
    replay = as_replay(made.deltas)
    merger.name_aliases(made, replay)
    made.conflicts += merger.unreadable(made, replay)
    shows = False
    if made.columns_conflict:
        _report(merger, made, merge)
    else:
        given = merger.wishes.rows.get(merger.id)
        rows = None if given is None else resolutions(merger.name, made.schema, rows_of(given, made.schema))
        required = _required(merger, made, replay)
        spec = engine_spec(made.schema, made.record.properties)
        done = merge.decide(made.schema, spec, merger.choice, rows, required, _returning(merger, made, merge))
        made.decided, made.resolved = done.rows, done.resolved
        shows = done.news
        made.news |= shows
        made.conflicts += done.conflicts
        _settle_lacking(merger, made, done, required)
    made.counting = partial(_effect, merger, made.deltas, shows=shows)
    merger.hide_schemas(made)
    merger.name_operations(made, {}, NO_ROWS)


def _effect(merger: TableMerger, deltas: Sequence[TableDelta], *, shows: bool) -> Effect:
    """The records that come and go; what is placed again, for the order alone, does neither. They come by what theirs'
    commits said that they did. `shows`: keys have other rows for it."""
    head = merger.mine.head.parts
    come = {part.slot: part.rows for delta in deltas for part in delta.placed if part.slot not in head}
    go = [head[slot].rows for delta in deltas for slot in delta.removed if slot in head]
    versions = {d.version for d in merger.deltas(merger.at.theirs) if any(part.slot in come for part in d.placed)}
    said = {change.operation for c, change in merger.changes(merger.at.theirs) if c.version in versions}
    causes = said.intersection(ROW_CLASSES) or {delta.cause for delta in deltas if delta.placed and come}
    causes |= {delta.cause for delta in deltas if delta.removed}
    if shows and deltas and not causes:
        causes = {"update"}
    return Effect(sum(come.values()), sum(go), frozenset(causes))


def _report(merger: TableMerger, made: TableMerge, merge: KeyedMerge) -> None:
    """Columns are in conflict already: the keys that are, too, without the columns that cannot be read in one type."""
    assert made.schema is not None
    assert made.record is not None
    states = (merger.mine.head, merger.other.head, *merge.bases)
    written = merger.written({slot: part for state in states for slot, part in state.parts.items()})
    beside = theirs_beside(made)
    found = (in_one_type(column, merger.held_as(column), written.values()) for column in made.schema.columns)
    columns = [_own(column, beside, merger) for column in found if column is not None]
    schema = replace(made.schema, columns=(*columns, *beside.values()))
    if any(schema.physical(name) is None for name in schema.primary_key):
        return
    try:
        spec = engine_spec(schema, made.record.properties)
    except AnabranchError:
        return  # an option speaks of a column that cannot be read
    only: dict[str, Choice] = {column.physical: "theirs" for column in beside.values()}
    only |= {column.physical: "ours" for column in columns if column.label in beside}
    required = _required(merger, replace(made, schema=schema), as_replay(made.deltas), only)
    done = merge.decide(schema, spec, merger.choice, None, required)
    made.conflicts += [in_one_column(conflict, beside) for conflict in done.conflicts]
    if merger.choice is None:
        names = {column.physical: made.schema.column(label).physical for label, column in beside.items()}
        lacking = {names.get(name, name): lack for name, lack in done.lacking.items()}
        suspects = {names.get(name, name): parts for name, parts in required.suspects.items()}
        _settle_lacking(merger, made, replace(done, lacking=lacking), replace(required, suspects=suspects))


def _own(column: Column, beside: Mapping[str, Column], merger: TableMerger) -> Column:
    """Beside theirs' column of its label it is asked of ours' rows alone, which may break theirs' NOT NULL."""
    if column.label not in beside:
        return column
    mine, _ = merger.held_as(column)
    return replace(column, nullable=column.nullable or not mine.nullable)


def _required(
    merger: TableMerger, made: TableMerge, replay: Replay, only: Mapping[str, Choice] = NOTHING_ALONE
) -> Required:
    """What A6.2 and A6.3 ask of merged rows: only flushes that the catalog's statistics do not rule out are read. Under
    OURS a NOT NULL that ours has stays. `only`: columns that the rows of one side alone have."""
    assert made.schema is not None
    assert merger.ours is not None
    ours = merger.schema(merger.ours)
    checked = [part for parts in replay.placed.values() for part in parts]
    if made.schema != ours:
        removed = {slot for slots in replay.removed.values() for slot in slots}
        checked += [part for slot, part in merger.mine.head.parts.items() if slot not in removed]
    suspects: dict[str, list[Part]] = {}
    firm = set()
    for part in checked:
        written = merger.written({part.slot: part})[part.schema_id]
        for column in newly_required(made.schema, written):
            stored = written.stored_as(column)
            if stored is None and only.get(column.physical) == "theirs":
                continue
            if stored is None or not (stats := bounds_of(part, stored.physical)) or stats.nulls:
                suspects.setdefault(column.physical, []).append(part)
            mine = ours.stored_as(column)
            if merger.choice == "ours" and mine is not None and not mine.nullable:
                firm.add(column.physical)
    return Required(suspects, frozenset(firm), only)


def _returning(merger: TableMerger, made: TableMerge, merge: KeyedMerge) -> dict[str, Choice]:
    """Columns that the bases have dropped, though flushes of theirs hold them, and one side has: which one."""
    assert made.schema is not None
    assert merger.ours is not None
    assert merger.theirs is not None
    sides: dict[Choice, Schema] = {"ours": merger.schema(merger.ours), "theirs": merger.schema(merger.theirs)}
    bases = [merger.schema(base) for base in merger.bases if base is not None]
    written = merger.written({slot: part for base in merge.bases for slot, part in base.parts.items()}).values()
    found: dict[str, Choice] = {}
    for column in made.schema.columns:
        having = [side for side, schema in sides.items() if schema.stored_as(column) is not None]
        dropped = all(base.stored_as(column) is None for base in bases)
        if len(having) == 1 and dropped and any(schema.stored_as(column) is not None for schema in written):
            found[column.physical] = having[0]
    return found


def _settle_lacking(merger: TableMerger, made: TableMerge, done: Decided, required: Required) -> None:
    """Rows that break a NOT NULL conflict; if the user chose a side, the NOT NULL gives way."""
    assert made.schema is not None
    assert merger.ours is not None
    assert merger.theirs is not None
    lacking = [
        (column, done.lacking[column.physical]) for column in made.schema.columns if column.physical in done.lacking
    ]
    if lacking and merger.choice is not None:
        columns = tuple(replace(c, nullable=c.nullable or c.physical in done.lacking) for c in made.schema.columns)
        made.relax(replace(made.schema, columns=columns), merger.schema(merger.ours), merger.schema(merger.theirs))
        return
    for column, lack in lacking:
        parts = required.suspects[column.physical]
        held = [merger.written({part.slot: part})[part.schema_id].stored_as(column) for part in parts]
        words = (REQUIRED, rows_without(column.label, lack.count, lack.example))
        ours, theirs = words if lack.side == "theirs" else words[::-1]
        rule = rule_of(column, lack.side, is_stored=None not in held)
        made.conflicts.append(ConflictRecord(merger.name, "column", rule, ours, theirs, column=column.label))
