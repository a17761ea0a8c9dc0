"""Keyed tables in the naive lake: a table is a list of flushes, a row is what the records of its key become.

Merges follow LAW.md, "Keyed tables", for every key that any side has, touched or not: base, ours and theirs are
compared row by row, and what the merged list would not say by itself is one more flush. Engines: deduplicate,
first-row, and partial-update that removes records on delete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Key = tuple[int | None, ...]
Values = dict[int, Any]  # by column id
CONFLICT = object()


@dataclass(frozen=True, eq=False)
class Flush:
    """One write: key -> kind and values. Kinds: + a row, - a delete, = fields that are set whatever was there."""

    id: int
    records: dict[Key, tuple[str, Values]] = field(default_factory=dict)
    overwrites: bool = False


def row_of(engine: str, columns: Sequence[Any], flushes: Sequence[Flush], key: Key) -> Values | None:
    """`columns`: those that are no part of the key."""
    row: Values | None = None
    for flush in flushes:
        if key not in flush.records:
            continue
        kind, values = flush.records[key]
        nothing = {column.id: None for column in columns}
        if kind == "-":
            row = None
        elif kind == "=":
            row = (row or nothing) | {id: value for id, value in values.items() if id in nothing}
        else:
            row = met(engine, row, {column.id: values.get(column.id, column.initial) for column in columns})
    return row


def met(engine: str, row: Values | None, new: Values) -> Values:
    if engine == "first-row":
        return new if row is None else row
    if engine == "partial-update" and row is not None:
        return row | {id: value for id, value in new.items() if value is not None}
    return new


def all_keys(*lists: Sequence[Flush]) -> list[Key]:
    return sorted({key for flushes in lists for flush in flushes for key in flush.records}, key=repr)


# --- the law ----------------------------------------------------------------------------------------------------------


@dataclass
class FlushMerge:
    """`flushes`: the merged list, what was decided at its end."""

    flushes: tuple[Flush, ...]
    changed: bool
    conflict: bool = False


def merge_flushes(
    engine: str,
    columns: Sequence[Any],
    sides: tuple[Sequence[Flush], Sequence[Flush], Sequence[Flush]],
    overwrote: tuple[bool, bool],
    resolve: str | None,
    number: int,
) -> FlushMerge:
    """`sides`: base, ours, theirs. `overwrote`: whether ours, and theirs, replaced the whole table since the base."""
    base, ours, theirs = sides
    merged = merged_list(base, ours, theirs, theirs_overwrote=overwrote[1])
    if [f.id for f in merged] == [f.id for f in ours]:
        return FlushMerge(tuple(ours), changed=False)
    known = {f.id for f in base}
    mine, other = ({f.id for f in side} for side in (ours, theirs))
    both = [f for f in base if f.id in mine | other] + [f for f in theirs if f.id in mine - known]
    new = [f for f in (*ours, *theirs) if f.id not in {g.id for g in both}]
    touched = [f for f in theirs if f.id not in {g.id for g in both}]
    decided: dict[Key, tuple[str, Values]] = {}
    conflict = False
    for key in all_keys(base, ours, theirs):
        was, here, there, all_say = (row_of(engine, columns, side, key) for side in (both, ours, theirs, merged))
        removed = any(f.records.get(key, ("",))[0] == "-" for f in new)
        if overwrote[1]:
            found = there
        elif overwrote[0] and was is not None and any(key in f.records for f in touched):
            found = here  # A4, A5: what theirs did to a row that ours overwrote
        else:
            found = decide(engine, was, here, there, all_say, removed=removed, resolve=resolve)
        if found is CONFLICT:
            conflict = True
        elif found != all_say:
            decided[key] = record(engine, found, all_say)
    extra = (Flush(number, decided),) if decided else ()
    return FlushMerge((*merged, *extra), changed=True, conflict=conflict)


def merged_list(
    base: Sequence[Flush], ours: Sequence[Flush], theirs: Sequence[Flush], *, theirs_overwrote: bool
) -> list[Flush]:
    """What theirs added comes after ours', what it removed goes; where ours did not move, theirs' list as it is."""
    if [f.id for f in base] == [f.id for f in ours]:
        return list(theirs)
    known, here, there = ({f.id for f in side} for side in (base, ours, theirs))
    kept = [f for f in ours if f.id in there or (f.id not in known and not theirs_overwrote)]
    return kept + [f for f in theirs if f.id not in here and f.id not in known]


def record(engine: str, found: Values | None, said: Values | None) -> tuple[str, Values]:
    if found is None:
        return "-", {}
    if engine == "deduplicate":
        return "+", found
    return "=", {id: value for id, value in found.items() if said is None or said[id] != value}


def decide(
    engine: str,
    base: Values | None,
    ours: Values | None,
    theirs: Values | None,
    merged: Values | None,
    *,
    removed: bool,
    resolve: str | None,
) -> Any:
    if engine == "first-row":
        return theirs if ours == base else ours
    if engine == "deduplicate" or (base is not None and (ours is None) != (theirs is None)):
        return net(base, ours, theirs, resolve)
    if ours is None and theirs is None:
        return None if removed else merged
    ids = (ours or theirs or {}).keys()
    fields = {id: net((base or {}).get(id), (ours or {}).get(id), (theirs or {}).get(id), resolve) for id in ids}
    return CONFLICT if CONFLICT in fields.values() else fields


def net(base: Any, ours: Any, theirs: Any, resolve: str | None) -> Any:
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    return {None: CONFLICT, "OURS": ours, "THEIRS": theirs}[resolve]
