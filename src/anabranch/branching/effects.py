"""What events change in the rows that a state shows, told from the slots and bitmaps that they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap

from anabranch.branching.rows import Positions, visible
from anabranch.model.records import Operation, TableDelta
from anabranch.model.state import TableState
from anabranch.storage.row_ids import united

_NONE = BitMap()
NOTHING: Positions = {}


@dataclass(frozen=True)
class Effect:
    """What events change in the rows that a state shows: how many come and how many go, and by which causes. A new
    version of a row is one of each."""

    come: int = 0
    go: int = 0
    causes: frozenset[Operation] = frozenset()


def effect(head: TableState, deltas: Iterable[TableDelta], repeated: Positions = NOTHING) -> Effect:
    """Of one commit's events. `repeated`: rows of the state that the commit writes again as they are, so that they do
    not go."""
    deltas = list(deltas)
    come, go = coming_and_going(head, deltas, repeated)
    causes = {delta.cause for delta in deltas if _is_seen(delta, come, go)}
    return Effect(sum(map(len, come.values())), sum(map(len, go.values())), frozenset(causes))


def coming_and_going(
    head: TableState, deltas: Sequence[TableDelta], repeated: Positions = NOTHING
) -> tuple[dict[int, BitMap], dict[int, BitMap]]:
    """The rows that a state shows after the events and not before, and the other way round. (Revivals come after
    kills.)"""
    placed = {part.slot: part for delta in deltas for part in delta.placed}
    removed = {slot for delta in deltas for slot in delta.removed}
    killed, revived = united(delta.killed for delta in deltas), united(delta.revived for delta in deltas)
    touched = {*placed, *removed, *killed, *revived}
    stays = {slot: head.parts[slot] for slot in touched - removed if slot in head.parts}
    dead = {slot: (head.dead.get(slot, _NONE) | killed.get(slot, _NONE)) - revived.get(slot, _NONE) for slot in touched}
    after = replace(head, parts={**stays, **placed}, dead=dead)
    come, go = {}, {}
    for slot in touched:
        before, now = visible(head, slot), visible(after, slot)
        come[slot], go[slot] = now - before, before - now - repeated.get(slot, _NONE)
    return come, go


def _is_seen(delta: TableDelta, come: Positions, go: Positions) -> bool:
    """Whether something that comes or goes does so by this delta."""
    shown = any(come[part.slot] for part in delta.placed) or any(rows & come[s] for s, rows in delta.revived.items())
    return shown or any(go[slot] for slot in delta.removed) or any(rows & go[s] for s, rows in delta.killed.items())
