"""A keyed table in a merge: what `table_merge` does for append tables, by the keyed law.

Keys are compared, whatever `detect` says. What the records of a table mean must not change under them, so engines that
do not go together conflict before rows are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.branching.row_merge import Replay
from anabranch.branching.schema_merge import newly_required
from anabranch.commands.keyed_conflicts import engine_conflicts, resolutions, with_engine_of
from anabranch.commands.keyed_merge import KeyedMerge, as_replay
from anabranch.commands.merge_plan import TableMerge
from anabranch.engines import engine_spec
from anabranch.execution.incoming import arrow_table
from anabranch.execution.records import gives_null
from anabranch.model.conflict import ConflictRecord
from anabranch.model.part import bounds_of

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


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
    bases = [merger.state(base) for base in merger.at.bases]
    merge = KeyedMerge(merger.session, merger.id, merger.name, bases, merger.mine, merger.other)
    made.news |= merge.news or bool(made.conflicts)
    if not merge.news or made.conflicts:
        return
    made.deltas = merge.deltas()
    made.again = frozenset(merger.mine.head.parts)
    replay = as_replay(made.deltas)
    merger.name_aliases(made, replay)
    made.conflicts += _missing_values(merger, made, replay)
    made.conflicts += merger.unreadable(made, replay)
    if not made.conflicts:
        given = merger.wishes.rows.get(merger.id)
        rows = None if given is None else resolutions(merger.name, made.schema, arrow_table(given.data, made.schema))
        done = merge.decide(made.schema, engine_spec(made.schema, made.record.properties), merger.choice, rows)
        made.decided, made.resolved = done.rows, done.resolved
        made.conflicts += done.conflicts
    made.removed_rows = sum(merger.mine.head.parts[slot].rows for delta in made.deltas for slot in delta.removed)
    merger.hide_schemas(made)
    merger.name_operations(made)


def _missing_values(merger: TableMerger, made: TableMerge, replay: Replay) -> list[ConflictRecord]:
    """A6.2 and A6.3: flushes whose records give NULL to a NOT NULL column of the merged schema. A column is read only
    if the catalog's statistics do not rule that out."""
    assert made.schema is not None
    assert merger.ours is not None
    checked = [(part, "theirs") for parts in replay.placed.values() for part in parts]
    if made.schema != merger.schema(merger.ours):
        removed = {slot for slots in replay.removed.values() for slot in slots}
        checked += [(part, "ours") for slot, part in merger.mine.head.parts.items() if slot not in removed]
    files = merger.session.folder(merger.id)
    found: dict[tuple[str, str], ConflictRecord] = {}
    for part, side in checked:
        written = merger.written({part.slot: part})[part.schema_id]
        for column in newly_required(made.schema, written):
            stored = written.stored_as(column)
            if stored is not None and (stats := bounds_of(part, stored.physical)) and stats.nulls == 0:
                continue
            if stored is not None and not gives_null(files, merger.name, part, stored.physical):
                continue
            rule = "A6.2" if stored is None else "A6.3"
            words = ("NOT NULL", f"rows without '{column.label}'")
            ours, theirs = words if side == "theirs" else words[::-1]
            record = ConflictRecord(merger.name, "column", rule, ours, theirs, column=column.label)
            found.setdefault((side, column.physical), record)
    return list(found.values())
