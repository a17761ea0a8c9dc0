"""A table's state at a version: the visible slots and the dead rows of every slot, folded from events.

Placing and removing never touch dead rows; kills of absent slots are kept; the last event along the lineage decides.
A state is never changed: advancing it gives a new one that shares what did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyroaring import BitMap

from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta


@dataclass(frozen=True)
class TableState:
    """`parts`: slot -> visible part, in the order of placing. `dead`: slot -> positions that are hidden, of absent
    slots too."""

    table_id: str
    position: Position
    parts: Mapping[int, Part] = field(default_factory=dict)
    dead: Mapping[int, BitMap] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(part.rows - self.dead_in(part) for part in self.parts.values())

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts.values())

    def dead_in(self, part: Part) -> int:
        found = self.dead.get(part.slot)
        return len(found) if found else 0


def advance(state: TableState, position: Position, deltas: Iterable[TableDelta]) -> TableState:
    """The state after these deltas, oldest first; without any, the same sets at another position."""
    deltas = list(deltas)
    if not deltas:
        return replace(state, position=position)
    parts, dead = dict(state.parts), dict(state.dead)
    for delta in deltas:
        for slot in delta.removed:
            parts.pop(slot, None)
        for part in delta.placed:
            parts.pop(part.slot, None)  # what is placed again stands last
            parts[part.slot] = part
        for slot, positions in delta.killed.items():
            dead[slot] = dead[slot] | positions if slot in dead else positions
        for slot, positions in delta.revived.items():
            left = dead[slot] - positions if slot in dead else BitMap()
            if left:
                dead[slot] = left
            else:
                dead.pop(slot, None)
    return TableState(state.table_id, position, parts, dead)


def difference(old: TableState, new: TableState, *, ordered: bool = False) -> TableDelta:
    """The delta that turns `old` into `new`; RESTORE commits it.

    `ordered`: the order of parts counts, as it does in keyed tables. What is out of place is placed again.
    """
    killed, revived = {}, {}
    for slot in old.dead.keys() | new.dead.keys():
        before, after = old.dead.get(slot, BitMap()), new.dead.get(slot, BitMap())
        if before is after:
            continue
        if after - before:
            killed[slot] = after - before
        if before - after:
            revived[slot] = before - after
    stays = _in_place(old, new) if ordered else old.parts.keys()
    placed = tuple(part for slot, part in new.parts.items() if slot not in stays)
    removed = tuple(slot for slot in old.parts if slot not in new.parts)
    return TableDelta(new.table_id, placed, removed, killed, revived)


def _in_place(old: TableState, new: TableState) -> set[int]:
    """The parts that stand in `new` before the first one that `old` lacks or has elsewhere: all others come after."""
    places = {slot: at for at, slot in enumerate(old.parts)}
    found: set[int] = set()
    last = -1
    for slot in new.parts:
        at = places.get(slot, -1)
        if at < last or slot not in places:
            break
        found.add(slot)
        last = at
    return found
