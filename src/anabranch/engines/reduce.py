"""One row for each key: on write, on read, in compaction and in branch merges.

1. Keys with one record are left as they are, in bulk: no function sees them.
2. The others make a window. Keys whose records cannot be combined yet are left too, in order; keys whose last record
   removes them have that record.
3. The engine says for each field of the rest where its value comes from. Positions become one filter over the whole
   column, so a field that picks costs the same for any number of keys; computed values replace what stands at a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.aggregation import aggregation
from anabranch.engines.codes import whole
from anabranch.engines.deduplicate import deduplicate, first_row
from anabranch.engines.feed import Mask, Picks, gather, validity
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.kinds import (
    DELETE,
    INSERT,
    KIND,
    SET,
    SETS,
    TOMBSTONE,
    Kinds,
    adding,
    check_retracts,
    forgotten,
    gone,
    kinds_of,
    ordered_by,
)
from anabranch.engines.partial_update import partial_update
from anabranch.engines.spec import EngineSpec
from anabranch.engines.window import Merged, Window

ENGINES: dict[str, Callable[[Window], Merged]] = {
    "deduplicate": deduplicate,
    "first-row": first_row,
    "partial-update": partial_update,
    "aggregation": aggregation,
}
_WHOLE_ROWS = ("deduplicate", "first-row")


class Reach(Enum):
    """How much of a key's history the rows hold, and so what may become of them."""

    WRITE = "the rows of one write: retracts are combined as they come, and what removes a key is kept"
    SOME = "some parts, but not the oldest that can hold the key: what only the whole history can settle stays"
    OLDEST = "the oldest parts that can hold the key: removed keys are dropped if nothing that comes later can tell"
    ALL = "all records of the keys: removed keys are dropped, and every row left is an add"


_OLDER_SHOWS = (Reach.WRITE, Reach.SOME)


@dataclass(frozen=True)
class Reduced:
    """Rows sorted by key. Each key has one, unless `open`: then some keep several records, in the order they meet."""

    rows: pa.Table
    open: bool = False


def reduce(rows: pa.Table, starts: Picks, spec: EngineSpec, reach: Reach) -> Reduced:
    """Reduces rows that are sorted as `sort_order` says; `starts` is where each key begins (`segment_starts`)."""
    kinds = kinds_of(rows)
    several = np.diff(np.append(starts, len(rows))) > 1
    if not several.any():
        return Reduced(_finished(rows, spec, reach))
    ours = kinds is not None and bool(np.any(kinds >= SET))
    if spec.engine in _WHOLE_ROWS and not ours:
        if kinds is not None and spec.engine == "first-row":
            check_retracts(rows, kinds, spec)
        chosen = np.zeros(len(rows), dtype=bool)
        chosen[starts if spec.engine == "first-row" else np.append(starts[1:], len(rows)) - 1] = True
        return Reduced(_finished(rows.filter(pa.array(chosen)), spec, reach))
    return reduce_all(rows, starts, spec, reach, several)


def reduce_all(rows: pa.Table, starts: Picks, spec: EngineSpec, reach: Reach, several: Mask | None = None) -> Reduced:
    """As `reduce`, for the keys in `several`; without it the engine sees keys with one record too."""
    lengths = np.diff(np.append(starts, len(rows)))
    if several is None:
        several = np.ones(len(starts), dtype=bool)
    window, places = _cut(rows, lengths, several, spec)
    last_removes = window.restarts == window.ends
    complete = _complete(window)
    partly = _only_set(window) & ~complete
    stays = _stays(window, complete, partly, reach)
    combined = ~last_removes & ~stays
    keep = np.ones(len(rows), dtype=bool)
    keep[places] = False
    keep[places[np.repeat(stays, window.lengths)]] = True
    keep[places[window.ends[last_removes]]] = True
    if not combined.all():
        complete, partly, length = complete[combined], partly[combined], window.lengths
        inside = np.flatnonzero(np.repeat(combined, length))
        window, _ = _cut(window.rows, length, combined, spec)
        places = places[inside]
    merged = ENGINES[spec.engine](window) if window.count else Merged(np.zeros(0, dtype=np.int8))
    kinds = merged.kinds.copy()
    if reach in _OLDER_SHOWS:
        kinds[complete & gone(kinds)] = TOMBSTONE
        kinds[partly] = SET
    if spec.engine != "deduplicate" and (reach in _OLDER_SHOWS or (reach is Reach.OLDEST and spec.sequence)):
        kinds[complete & (kinds == INSERT)] = SET
    if reach is Reach.OLDEST and spec.groups and window.set_rows is not None:
        kinds[window.any(window.set_rows) & (kinds == INSERT)] = SET  # until `_finished` knows their sequences
    result = _assembled(rows, keep, window, places, merged)
    result = _with_kinds(result, rows, keep, window, places, kinds, partly)
    return Reduced(_finished(result, spec, reach), bool(stays.any()))


def _cut(rows: pa.Table, lengths: Picks, chosen: Mask, spec: EngineSpec) -> tuple[Window, Picks]:
    """The rows of the chosen segments, and their positions."""
    if chosen.all():
        return Window(rows, np.cumsum(lengths) - lengths, spec), np.arange(len(rows))
    mask = np.repeat(chosen, lengths)
    inside = lengths[chosen]
    return Window(rows.filter(pa.array(mask)), np.cumsum(inside) - inside, spec), np.flatnonzero(mask)


def _complete(window: Window) -> Mask:
    """Segments that nothing older can show through: the key was removed in them, or all fields are set.

    A field of a sequence group counts as set only where its sequence was known by then; and a -D that removes rows by
    sequence may have removed what was set.
    """
    found = np.asarray(window.restarts >= 0)
    if window.set_rows is None:
        return found
    settings = {name: window.setting(name) for name in window.spec.fields}
    last = {name: window.last(mask) for name, mask in settings.items() if mask is not None}
    every = np.all([places >= 0 for places in last.values()], axis=0)
    for group in window.spec.groups:
        for sequence in group.sequence:
            mask = settings[sequence]
            assert mask is not None
            known = window.first(mask)
            for name in group.fields:
                every &= known <= last[name]
    if window.spec.remove_on_groups:
        every &= ~window.any(window.kinds == DELETE)
    return np.asarray(found | every)


def _only_set(window: Window) -> Mask:
    """Segments of set rows alone."""
    if window.set_rows is None:
        return np.zeros(window.count, dtype=bool)
    return ~window.any(~window.set_rows)


def _stays(window: Window, complete: Mask, partly: Mask, reach: Reach) -> Mask:
    """Segments whose records cannot be combined without what is older."""
    spec = window.spec
    stays = np.zeros(window.count, dtype=bool)
    if reach not in _OLDER_SHOWS or spec.engine == "deduplicate":
        return stays
    if window.set_rows is not None:
        stays |= window.any(window.set_rows)
    if reach is Reach.SOME and window.retracts is not None and (spec.groups or spec.engine == "aggregation"):
        rules = spec.rules.values()
        if not all(rule.ignore_retract or FUNCTIONS[rule.function].additive for rule in rules):
            stays |= window.any(window.retracts)
        elif spec.remove_on_groups:
            stays |= window.any(window.kinds == DELETE)
    stays &= ~complete & ~partly
    if spec.groups and window.retracts is not None and window.current is not None:
        # Removed, and then gone again, or never added: retracts advanced sequences, which a tombstone cannot hold.
        removed = (window.restarts >= 0) & (window.restarts < window.ends)
        stays |= removed & ~window.any(window.current & ~window.retracts)
        if spec.remove_on_groups:
            stays |= removed & window.any(window.current & (window.kinds == DELETE))
    return stays


def _assembled(rows: pa.Table, keep: Mask, window: Window, places: Picks, merged: Merged) -> pa.Table:
    """The kept rows, and one row for each segment of the window in its place."""
    ends = places[window.ends]
    every = keep.copy()
    every[ends] = True
    standard = pa.array(every)
    computing = ~merged.raw if merged.raw is not None else np.ones(window.count, dtype=bool)
    at: Picks | None = None
    columns = []
    for name in rows.column_names:
        outcome = merged.fields.get(name)
        if isinstance(outcome, np.ndarray):
            picks = _settled_picks(window, name, outcome, merged.raw)
            if np.array_equal(picks, window.ends):
                columns.append(rows[name].filter(standard))
                continue
            if (picks >= 0).all():
                mask = keep.copy()
                mask[places[picks]] = True
                columns.append(rows[name].filter(pa.array(mask)))
                continue
            outcome = gather(window.column(name), picks)
        column = rows[name].filter(standard)
        if outcome is not None:
            at = _places_in(every, ends[computing]) if at is None else at
            column = _replaced(whole(column), at, outcome.filter(pa.array(computing)))
        columns.append(column)
    return pa.table(columns, schema=rows.schema)


def _places_in(chosen: Mask, rows: Picks) -> Picks:
    """Where these rows stand among the chosen ones."""
    return np.asarray((np.cumsum(chosen) - 1)[rows])


def _settled_picks(window: Window, name: str, picks: Picks, raw: Mask | None) -> Picks:
    """NULL as a position where the segment's last row is NULL, so that the column needs no new values."""
    if raw is not None:
        picks = np.where(raw, window.ends, picks)
    missing = np.flatnonzero(picks < 0)
    if len(missing):
        column = window.column(name)
        if column.null_count:
            empty = missing[~validity(column)[window.ends[missing]]]
            picks = picks.copy()
            picks[empty] = window.ends[empty]
    return picks


def _replaced(column: pa.Array, at: Picks, values: pa.Array) -> pa.Array:
    if not pa.types.is_nested(column.type):
        mask = np.zeros(len(column), dtype=bool)
        mask[at] = True
        return pc.replace_with_mask(column, pa.array(mask), values)
    source = np.arange(len(column))
    source[at] = len(column) + np.arange(len(at))
    return pa.concat_arrays([column, values]).take(pa.array(source))


def _with_kinds(
    result: pa.Table, rows: pa.Table, keep: Mask, window: Window, places: Picks, kinds: Kinds, partly: Mask
) -> pa.Table:
    """The rows with their kinds, and what set rows set; both columns only where a row needs them."""
    before = kinds_of(rows)
    if before is None:
        return result
    every = keep.copy()
    every[places[window.ends]] = True
    at = _places_in(every, places[window.ends])
    after = before[every]
    after[at] = kinds
    bare = result.drop_columns([name for name in (KIND, SETS) if name in result.column_names])
    if adding(after).all():
        return bare
    bare = bare.append_column(KIND, pa.array(after))
    if not np.any(after == SET):
        return bare
    none = pa.nulls(len(rows), pa.list_(pa.string()))
    before_sets = rows[SETS] if SETS in rows.column_names else none
    lists = _replaced(whole(before_sets.filter(pa.array(every))), at, _set_lists(window, kinds, partly))
    return bare.append_column(SETS, lists)


def _set_lists(window: Window, kinds: Kinds, partly: Mask) -> pa.Array:
    """The fields that each segment's result sets: all of them, or in segments of set rows alone what these set."""
    names = window.spec.fields
    chosen = np.zeros((window.count, len(names)), dtype=bool)
    chosen[kinds == SET] = True
    if partly.any():
        for number, name in enumerate(names):
            setting = window.setting(name)
            if setting is not None:
                chosen[partly, number] = window.any(setting)[partly]
    offsets = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
    values = pa.array(names, pa.string()).take(pa.array(np.nonzero(chosen)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(kinds != SET))


def _unordered(rows: pa.Table, spec: EngineSpec, reach: Reach) -> Mask:
    """Rows without the sequence of a group, which would skip the group's fields once they meet others: what was set in
    them must stay set."""
    found = np.zeros(len(rows), dtype=bool)
    if reach is not Reach.ALL:
        for group in spec.groups:
            found |= ~ordered_by(rows, group.sequence)
    return found


def _finished(rows: pa.Table, spec: EngineSpec, reach: Reach) -> pa.Table:
    """Without what the reach lets go, and without kinds where all rows are adds."""
    kinds = kinds_of(rows)
    if kinds is None:
        return rows
    if reach not in _OLDER_SHOWS:
        kept = ~(gone(kinds) if reach is Reach.ALL else forgotten(kinds, spec))
        if not kept.all():
            rows, kinds = rows.filter(pa.array(kept)), kinds[kept]
        if reach is Reach.ALL or not spec.sequence:  # nothing is older, and nothing that comes later comes before it
            kinds = np.where((kinds == SET) & ~_unordered(rows, spec, reach), INSERT, kinds)
    if adding(kinds).all():
        return rows.drop_columns([name for name in (KIND, SETS) if name in rows.column_names])
    return rows.set_column(rows.column_names.index(KIND), KIND, pa.array(kinds))
