"""Table states, folded from events along the lineage.

The nearest state at hand is advanced by the events since; a child branch starts from its parent's at or below the fork.
So a state costs what changed since it was last asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyroaring import BitMap
from sqlalchemy import BindParameter, and_, bindparam, func, not_, select

from anabranch.catalog.along import Along, On, in_batches
from anabranch.catalog.bitmaps import decode
from anabranch.catalog.made import made_along
from anabranch.catalog.objects import Objects
from anabranch.catalog.tables import branch, dead_rows, part, placement
from anabranch.model.history import Lineage, Position, since
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState, advance

_PART = (
    part.c.id, part.c.slot, part.c.schema_id, part.c.rows, part.c.bytes, part.c.stats, part.c.partition,
    part.c.has_origin,
)  # fmt: skip
_tables: BindParameter[Any] = bindparam("tables", expanding=True)
_slots: BindParameter[Any] = bindparam("slots", expanding=True)


def _placements(on: On) -> Any:
    # Parts are fetched for placements only: most slots of an old table are placed once and removed once.
    its_part = and_(part.c.table_id == placement.c.table_id, part.c.slot == placement.c.slot, placement.c.placed)
    return (
        select(*(placement.c[name] for name in ("table_id", "version", "slot", "placed", "cause")), *_PART)
        .select_from(on(placement).outerjoin(part, its_part))
        .where(placement.c.table_id.in_(_tables))
        .order_by(placement.c.version, placement.c.seq, placement.c.slot)
    )


def _placed(on: On) -> Any:
    return (
        select(placement.c.version, placement.c.slot)
        .select_from(on(placement))
        .where(placement.c.table_id == bindparam("table"), placement.c.placed, placement.c.slot.in_(_slots))
        .order_by(placement.c.version)
    )


def _dead_rows(on: On) -> Any:
    return (
        select(*(dead_rows.c[name] for name in ("table_id", "version", "slot", "kill", "cause", "bitmap", "blob")))
        .select_from(on(dead_rows))
        .where(dead_rows.c.table_id.in_(_tables))
        .order_by(dead_rows.c.version, dead_rows.c.kill.desc())  # in one commit kills come first
    )


_PLACEMENTS, _PLACED, _DEAD_ROWS = Along(_placements), Along(_placed), Along(_dead_rows)

_PARTS = select(*_PART).where(part.c.table_id == bindparam("table"), part.c.slot.in_(_slots))
_child, _parent = branch.alias("child"), branch.alias("parent")
# Whose a branch's placements are, up to which version: its own, or of those that came from it, once it was dropped.
_live = (
    select(branch.c.id, branch.c.head.label("upto"), branch.c.id.label("owner"))
    .where(not_(branch.c.dropped))
    .cte("owners", recursive=True)
)
_owners = _live.union_all(
    select(_parent.c.id, _child.c.fork, _live.c.owner)
    .join(_child, _child.c.id == _live.c.id)
    .join(_parent, and_(_parent.c.id == _child.c.parent_id, _parent.c.dropped))
)
_owned_by_one = (
    select(placement.c.table_id, placement.c.slot, func.min(_owners.c.owner).label("owner"))
    .join(_owners, and_(_owners.c.id == placement.c.branch_id, placement.c.version <= _owners.c.upto))
    .where(placement.c.placed)
    .group_by(placement.c.table_id, placement.c.slot)
    .having(func.min(_owners.c.owner) == func.max(_owners.c.owner))
    .subquery("owned_by_one")
)
_BYTES_PINNED = (
    select(_owned_by_one.c.owner, func.sum(part.c.bytes).label("bytes"))
    .join(part, and_(part.c.table_id == _owned_by_one.c.table_id, part.c.slot == _owned_by_one.c.slot))
    .group_by(_owned_by_one.c.owner)
)


@dataclass
class _Events:
    """What one commit did for one cause."""

    placed: list[Part] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    killed: dict[int, BitMap] = field(default_factory=dict)
    revived: dict[int, BitMap] = field(default_factory=dict)

    def delta(self, table_id: str, cause: Any, version: int) -> TableDelta:
        placed, removed = tuple(self.placed), tuple(self.removed)
        return TableDelta(table_id, placed, removed, self.killed, self.revived, cause, version)


_ByTable = Mapping[str, Sequence[Any]]


class States(Objects):
    """The rows of tables."""

    def state(self, position: Position, table_id: str) -> TableState:
        """The visible parts and dead rows of a table at a position; empty for a table that is not there."""
        return self.states(position, [table_id])[table_id]

    def states(self, position: Position, table_ids: Iterable[str]) -> dict[str, TableState]:
        """The same of many tables. Those whose states at hand are about equally old are read together."""
        segments = self.lineage(position)
        alike: dict[int | None, list[tuple[TableState, int]]] = {}
        for table_id in table_ids:
            at_hand = self._memory.states.nearest(table_id, segments)
            age = None if at_hand is None else _age(position.version - at_hand[1])
            alike.setdefault(age, []).append(at_hand or (TableState(table_id, position), -1))
        found: dict[str, TableState] = {}
        for starts in alike.values():
            newer = since(segments, min(version for _, version in starts))
            if not newer:
                found.update({start.table_id: _moved(start, position, []) for start, _ in starts})
                continue
            placements, kills = self._events([start.table_id for start, _ in starts], newer)
            for start, version in starts:
                table_id = start.table_id
                state = self._folded(start, version, position, placements.get(table_id, ()), kills.get(table_id, ()))
                found[table_id] = state
                self._memory.states.keep(state, segments[0].branch_id, position.version)
        return found

    def _events(self, table_ids: Sequence[str], segments: Lineage) -> tuple[_ByTable, _ByTable]:
        """What happened to tables' slots, and to their rows, oldest first."""

        def read(along: Along) -> _ByTable:
            by_table: dict[str, list[Any]] = {}
            for row in in_batches(table_ids, lambda batch: along.rows(self._db.rows, segments, {"tables": batch})):
                by_table.setdefault(row[0], []).append(row)
            return by_table

        return read(_PLACEMENTS), read(_DEAD_ROWS)

    def _folded(
        self, start: TableState, version: int, position: Position, placements: Sequence[Any], kills: Sequence[Any]
    ) -> TableState:
        """`start`, which is of this version, after these events; older ones among them are in it already."""
        placements = [row for row in placements if row[1] > version]
        kills = [row for row in kills if row[1] > version]
        if not (placements or kills):
            return _moved(start, position, [])
        parts, dead = dict(start.parts), dict(start.dead)
        for _, _, slot, is_placed, _, *fields in placements:
            parts.pop(slot, None)  # what is placed again stands last
            if is_placed:
                parts[slot] = Part(*fields)
        for _, _, slot, kill, _, bitmap, blob in kills:
            rows, had = decode(bitmap, blob, self._blobs), dead.get(slot, BitMap())
            left = had | rows if kill else had - rows
            if left:
                dead[slot] = left
            else:
                dead.pop(slot, None)
        return TableState(start.table_id, position, parts, dead)

    def deltas(self, position: Position, table_id: str, after: int) -> list[TableDelta]:
        """What commits newer than version `after` did to a table's rows: one delta a commit and cause, oldest first."""
        return self.deltas_of(position, [table_id], after)[table_id]

    def deltas_of(self, position: Position, table_ids: Iterable[str], after: int) -> dict[str, list[TableDelta]]:
        """The same of many tables."""
        wanted = list(table_ids)
        segments = since(self.lineage(position), after)
        known = made_along(segments, self._memory.made)
        if known is not None:
            return {id: [delta for one in known for delta in one.deltas if delta.table_id == id] for id in wanted}
        placements, kills = self._events(wanted, segments)
        return {id: self._deltas(id, placements.get(id, ()), kills.get(id, ())) for id in wanted}

    def parts(self, table_id: str, slots: Sequence[int]) -> dict[int, Part]:
        """Parts that no state may show any more, by their slots."""
        found = in_batches(slots, lambda batch: self._db.rows(_PARTS, {"table": table_id, "slots": batch}))
        return {row.slot: Part(*row) for row in found}

    def placed(self, position: Position, table_id: str, slots: Sequence[int]) -> set[int]:
        """Those of these slots that a table has ever had up to here."""
        segments = self.lineage(position)

        def read(batch: list[int]) -> Sequence[Any]:
            return _PLACED.rows(self._db.rows, segments, {"table": table_id, "slots": batch})

        return {row.slot for row in in_batches(slots, read)}

    def bytes_pinned(self) -> dict[int, int]:
        """Branch -> the bytes of the parts that its commits placed and no other's; a dropped branch left what it had
        to those that came from it. Parts that a rewrite made are no branch's."""
        return {row.owner: int(row.bytes) for row in self._db.rows(_BYTES_PINNED, {})}

    def _deltas(self, table_id: str, placements: Sequence[Any], kills: Sequence[Any]) -> list[TableDelta]:
        found: dict[tuple[int, str], _Events] = {}
        for _, version, slot, is_placed, cause, *fields in placements:
            events = found.setdefault((version, cause), _Events())
            if is_placed:
                events.placed.append(Part(*fields))
            else:
                events.removed.append(slot)
        for _, version, slot, kill, cause, bitmap, blob in kills:
            events = found.setdefault((version, cause), _Events())
            (events.killed if kill else events.revived)[slot] = decode(bitmap, blob, self._blobs)
        ordered = sorted(found.items(), key=lambda item: item[0])
        return [events.delta(table_id, cause, version) for (version, cause), events in ordered]

    def _advance_states(self, before: Position, after: Position, deltas: Iterable[TableDelta]) -> None:
        """Carries the states at hand over a commit that this process made, without reading it back."""
        segments = self.lineage(before)
        owner = segments[0]
        by_table: dict[str, list[TableDelta]] = {}
        for delta in deltas:
            by_table.setdefault(delta.table_id, []).append(delta)
        for table_id, made in by_table.items():
            found = self._memory.states.nearest(table_id, segments)
            if found is not None and found[1] == owner.upto:
                self._memory.states.keep(_moved(found[0], after, made), after.branch_id, after.version)


def _age(versions: int) -> int:
    """States of one age are this many versions old, up to a factor of two; up to a thousand makes no difference."""
    return max(versions.bit_length(), 10) if versions else 0


def _moved(state: TableState, position: Position, deltas: list[TableDelta]) -> TableState:
    """`advance`, sharing everything where nothing happened."""
    if deltas:
        return advance(state, position, deltas)
    return state if state.position == position else replace(state, position=position)
