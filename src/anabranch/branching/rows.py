"""What one side did to the rows of an append table since the base, as sets of slots and positions.

A side's delta is the difference of two states, so what was done and undone is nothing. Only the *class* of what is gone
or new is read from the events in between: the last one that touched a row decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from pyroaring import BitMap

from anabranch.model.history import Position
from anabranch.model.part import POSITION_BITS, Part, new_rows, partition_values
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState
from anabranch.storage.row_ids import bitmap, by_slot, united, without

Positions = Mapping[int, BitMap]
"""Slot -> positions."""
Origins = Callable[[Part], np.ndarray]
"""The origin of every row of a part that has them; nothing else of a part is ever read here."""

Overwritten = Callable[[Part, BitMap], Mapping[str, BitMap]]
"""Some rows of a part -> by class, those that an overwrite took."""

_NONE = BitMap()  # never changed: every operation on bitmaps here makes another
_CLASS_OF_LOSS = {"restore": "delete", "insert": "delete", "compaction": "delete"}
_CLASS_OF_GAIN = {"restore": "insert", "delete": "insert"}


@dataclass(frozen=True)
class Scope:
    """What an overwrite replaced: the partitions that agree with `values`, or the `partitions` listed. `of`: the commit
    of the statement, by which two sides know it for one and the same. `at`: the version at which a side has it."""

    values: Mapping[str, Any] = field(default_factory=dict)
    partitions: frozenset[str] | None = None
    of: Position | None = None
    at: int = field(default=-1, compare=False)

    def covers(self, part: Part) -> bool:
        return self.holds(part.partition)

    def holds(self, partition: str | None) -> bool:
        if self.partitions is not None:
            return partition in self.partitions
        have = partition_values(partition)
        return all(have.get(name) == value for name, value in self.values.items())


@dataclass(frozen=True)
class Side:
    """`gone`: class -> base rows that are not visible any more. `placed`: slot -> class, of slots that the base lacks.

    `back`: rows of the base's slots that were dead there and are visible now. `scopes`: overwrites that still stand.
    `undone`: slots of the base that going back took away, here or where this side got the rest from, rather than a
    statement. `older`: slots that the base lacks and no statement since has written: their first versions may be of
    rows that the base shows in newer ones.
    """

    base: TableState
    head: TableState
    gone: Mapping[str, Positions]
    placed: Mapping[int, str]
    back: Positions
    causes: Mapping[int, Mapping[str, BitMap]]
    scopes: tuple[Scope, ...] = ()
    undone: frozenset[int] = frozenset()
    older: frozenset[int] = frozenset()

    @property
    def changed(self) -> bool:
        return bool(self.placed or self.back or self.scopes or any(self.gone.values()))

    def sparing(self, rows: Positions) -> Side:
        """The same, as if these rows of the base were still there."""
        return replace(self, gone={cause: without(slots, rows) for cause, slots in self.gone.items()}) if rows else self

    @cached_property
    def lost(self) -> Positions:
        """All base rows that are gone, whatever the class."""
        return united(self.gone.values())

    @cached_property
    def shows_unknown(self) -> bool:
        """Whether the side may show versions of rows that no update of the base's rows made: it does not where there is
        one for every row that was updated, and all are alive."""
        if self.older and any(self.base.parts[slot].has_origin for slot in self.lost):
            return True
        placed = [part for slot in self.placed if (part := self.head.parts[slot]).has_origin]
        if self.back or any(self.head.dead_in(part) for part in placed):
            return True
        return sum(part.rows - new_rows(part) for part in placed) != sum(map(len, self.gone.get("update", {}).values()))

    def inserted(self, origins: Origins) -> dict[int, BitMap]:
        """Rows that are new since the base, where they stood first: updated versions of such rows are still new rows.
        Among the new versions that a MERGE INTO wrote, new rows are told by their origins."""
        found = {}
        known: Positions | None = None  # rows of which updated versions are there
        for slot, cause in self.placed.items():
            if cause not in ("insert", "update"):
                continue
            updated = self.causes.get(slot, {}).get("update", BitMap())
            if updated:
                known = by_slot(np.unique(versions(self, origins).origin)) if known is None else known
                updated = updated & known.get(slot, _NONE)
            rows = visible(self.head, slot) | updated
            if cause == "update":
                rows &= born(self.head.parts[slot], origins)
            if rows:
                found[slot] = rows
        return found


def common_state(bases: Sequence[TableState]) -> TableState:
    """What all bases have: a row that one of them lacks counts as new."""
    if len(bases) == 1:
        return bases[0]
    slots = set.intersection(*(set(base.parts) for base in bases))
    parts = {slot: part for slot, part in bases[0].parts.items() if slot in slots}
    return TableState(bases[0].table_id, bases[0].position, parts, united(base.dead for base in bases))


def visible(state: TableState, slot: int) -> BitMap:
    part = state.parts.get(slot)
    if part is None:
        return BitMap()
    rows = BitMap(range(part.rows))
    dead = state.dead.get(slot)
    return rows - dead if dead else rows


def side_of(
    base: TableState,
    head: TableState,
    deltas: Iterable[TableDelta],
    overwritten: Overwritten | None = None,
    wrote: Set[int] | None = None,
) -> Side:
    """`deltas`: the head's events since a version that the base's history shares, oldest first. `overwritten`: by
    class, those of a base part's lost rows of which an overwrite took the last version; then of the others none did.
    `wrote`: the slots that statements have written since, if that is asked."""
    removed, placed, causes = _last_causes(deltas)
    gone: dict[str, dict[int, BitMap]] = {}
    back: dict[int, BitMap] = {}
    undone: set[int] = set()
    for slot in _differing(base, head):
        stays = slot in head.parts
        left = _lost(base, head, slot)
        if stays and (again := base.dead.get(slot, _NONE) - head.dead.get(slot, _NONE)):
            back[slot] = again
        for cause, rows in overwritten(base.parts[slot], left).items() if overwritten else ():
            _add(gone, cause, slot, rows)
            left = left - rows
        for cause, rows in causes.get(slot, {}).items() if stays else ():
            _add(gone, _CLASS_OF_LOSS.get(cause, cause), slot, left & rows)
            left = left - rows
        # Without a record it went where the side got the rest from: no statement takes a slot but an overwrite.
        if not stays and removed.get(slot, "restore" if left else "overwrite") == "restore":
            undone.add(slot)
        why = removed.get(slot, "delete")
        why = "delete" if overwritten and why == "overwrite" else why
        _add(gone, _CLASS_OF_LOSS.get(why, why), slot, left)
    new = {slot: placed.get(slot, "insert") for slot in head.parts if slot not in base.parts}
    new = {slot: _CLASS_OF_GAIN.get(cause, cause) for slot, cause in new.items()}
    older = frozenset[int]() if wrote is None else frozenset(new.keys() - wrote)
    return Side(base, head, gone, new, back, causes, (), frozenset(undone), older)


def lost_since(base: TableState, head: TableState) -> dict[int, BitMap]:
    """The base's rows that are not visible any more."""
    return {slot: rows for slot in _differing(base, head) if (rows := _lost(base, head, slot))}


def _lost(base: TableState, head: TableState, slot: int) -> BitMap:
    if slot not in head.parts:
        return visible(base, slot)
    return head.dead.get(slot, _NONE) - base.dead.get(slot, _NONE)


def _differing(base: TableState, head: TableState) -> list[int]:
    """The base's slots that are not as they were, ascending; bitmaps that are the same object are not looked at."""
    found = base.parts.keys() - head.parts.keys()
    for slot in base.dead.keys() | head.dead.keys():
        before, after = base.dead.get(slot), head.dead.get(slot)
        if before is not after and before != after and slot in base.parts:
            found.add(slot)
    return sorted(found)


def _add(gone: dict[str, dict[int, BitMap]], cause: str, slot: int, rows: BitMap) -> None:
    if rows:
        slots = gone.setdefault(cause, {})
        slots[slot] = slots[slot] | rows if slot in slots else rows


def placed_since(deltas: Iterable[TableDelta]) -> tuple[dict[int, Part], dict[int, BitMap]]:
    """The slots that these events placed, also those that a statement took away again; and the rows of them that going
    back took away, unless a statement had killed them before: these are as if they had never been there."""
    placed: dict[int, Part] = {}
    killed: dict[int, BitMap] = {}
    undone: dict[int, BitMap] = {}
    for delta in deltas:
        if delta.cause == "restore":
            taken = {slot: BitMap(range(placed[slot].rows)) for slot in delta.removed if slot in placed}
            for slot, rows in (*taken.items(), *delta.killed.items()):
                undone[slot] = undone.get(slot, _NONE) | (rows - killed.get(slot, _NONE))
        elif delta.cause != "update":  # whose rows go on as other versions
            for slot, rows in delta.killed.items():
                killed[slot] = killed.get(slot, _NONE) | rows
        for slot, rows in delta.revived.items():
            killed[slot], undone[slot] = killed.get(slot, _NONE) - rows, undone.get(slot, _NONE) - rows
        for part in delta.placed:
            placed[part.slot] = part
            undone.pop(part.slot, None)
    undone = {slot: rows for slot, rows in undone.items() if rows and slot in placed}
    for slot, rows in list(undone.items()):
        if len(rows) == placed[slot].rows:
            del placed[slot], undone[slot]
    return placed, undone


def _last_causes(
    deltas: Iterable[TableDelta],
) -> tuple[dict[int, str], dict[int, str], dict[int, dict[str, BitMap]]]:
    """The cause of the last removal and placement of every slot, and of the last kill of every row."""
    removed: dict[int, str] = {}
    placed: dict[int, str] = {}
    causes: dict[int, dict[str, BitMap]] = {}
    for delta in deltas:
        for slot in delta.removed:
            removed[slot] = delta.cause
        for part in delta.placed:
            removed.pop(part.slot, None)
            placed.setdefault(part.slot, delta.cause)
        for slot, rows in (*delta.killed.items(), *delta.revived.items()):
            of_slot = causes.setdefault(slot, {})
            for cause in of_slot:
                of_slot[cause] = of_slot[cause] - rows
        for slot, rows in delta.killed.items():
            of_slot = causes[slot]
            of_slot[delta.cause] = of_slot.get(delta.cause, BitMap()) | rows
    return removed, placed, causes


# --- row ids and origins ----------------------------------------------------------------------------------------------


def ids_of(rows: Positions) -> np.ndarray:
    """Row ids, in order."""
    pieces = [
        np.asarray(rows[slot].to_array(), dtype=np.int64) | np.int64(slot << POSITION_BITS)
        for slot in sorted(rows)
        if rows[slot]
    ]
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


def origins_of(ids: np.ndarray, parts: Mapping[int, Part], origins: Origins) -> np.ndarray:
    """The origin of every row: itself, unless its part says otherwise."""
    found: np.ndarray = ids.copy()
    order = np.argsort(ids, kind="stable")
    slots = ids[order] >> POSITION_BITS
    for here in np.split(order, np.flatnonzero(np.diff(slots)) + 1) if len(ids) else ():
        part = parts[int(ids[here[0]] >> POSITION_BITS)]
        if part.has_origin:
            found[here] = origins(part)[ids[here] & ((1 << POSITION_BITS) - 1)]
    return found


def born(part: Part, origins: Origins) -> BitMap:
    """The positions of rows that are their own first versions."""
    if not part.has_origin:
        return BitMap(range(part.rows))
    if not new_rows(part):
        return BitMap()
    return bitmap(np.flatnonzero(origins(part) >> POSITION_BITS == part.slot))


@dataclass(frozen=True)
class Versions:
    """The live rows of a side's updated parts: sorted origins, and the ids that they have now. `first`: the slots of
    first versions that the base lacks, as a state has them."""

    origin: np.ndarray
    id: np.ndarray
    state: TableState | None = None
    first: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        origins: np.ndarray,
        ids: np.ndarray,
        state: TableState | None = None,
        first: frozenset[int] = frozenset(),
    ) -> Versions:
        order = np.argsort(origins, kind="stable")
        return cls(origins[order], ids[order], state, first)

    def find(self, origins: np.ndarray) -> np.ndarray:
        """The current id of every origin; -1: none of these parts has it."""
        found = np.full(len(origins), -1, np.int64)
        if len(self.origin):
            at = np.minimum(np.searchsorted(self.origin, origins), len(self.origin) - 1)
            found = np.where(self.origin[at] == origins, self.id[at], -1)
        if self.first and self.state is not None:
            missing = origins[found < 0]
            for slot in self.first.intersection(np.unique(missing >> POSITION_BITS).tolist()):
                wanted = by_slot(missing[missing >> POSITION_BITS == slot])
                shown = ids_of({slot: wanted[slot] & visible(self.state, slot)})
                found = np.where(np.isin(origins, shown), origins, found)
        return found


def versions(side: Side, origins: Origins) -> Versions:
    """Reads the origins of the parts that updates placed since the base. A version that is back counts as well."""
    first = frozenset(slot for slot in side.placed if not side.head.parts[slot].has_origin)
    ids, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    if side.back:
        ids.append(ids_of(side.back))
        found.append(origins_of(ids[-1], side.head.parts, origins))
    for slot in side.placed:
        part = side.head.parts[slot]
        if part.has_origin:
            live = ids_of({slot: visible(side.head, slot)})
            ids.append(live)
            found.append(origins_of(live, side.head.parts, origins))
    return Versions.of(np.concatenate(found), np.concatenate(ids), side.head, first)


def settled_classes(side: Side, origins: Origins) -> Side:
    """A row that is gone is updated if another version of it is shown, an older one that is back included; else it has
    the class of the last loss, and one that was updated first is deleted. Nothing is read unless there is something to
    settle."""
    if not side.shows_unknown:
        return side
    ids = ids_of(side.lost)
    current = versions(side, origins).find(origins_of(ids, side.base.parts, origins))
    updated = by_slot(ids[current >= 0])
    gone: dict[str, dict[int, BitMap]] = {}
    for cause, slots in side.gone.items():
        for slot, rows in slots.items():
            settled = "delete" if cause == "update" else cause
            _add(gone, settled, slot, rows - updated[slot] if slot in updated else rows)
    for slot, rows in updated.items():
        _add(gone, "update", slot, rows)
    return replace(side, gone=gone)


def risen(side: Side, origins: Origins) -> np.ndarray:
    """Rows that the side shows and the base does not, though they are older: going back brought them back, say, or they
    were kept against a DELETE. New versions of them are among them."""
    if not side.shows_unknown:
        return np.empty(0, np.int64)
    shown = versions(side, origins)
    lost = origins_of(ids_of(side.lost), side.base.parts, origins)
    born = np.isin(shown.origin >> POSITION_BITS, list(side.placed))
    return np.sort(shown.id[~born & ~np.isin(shown.origin, lost)])
