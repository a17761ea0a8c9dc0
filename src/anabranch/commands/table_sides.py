"""One table as a merge sees it: its bases, both heads, and what each side did since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.criss_cross import disagreed
from anabranch.branching.restores import is_left, lasting, restored, without_undone
from anabranch.branching.row_merge import NO_ROWS
from anabranch.branching.rows import (
    Positions,
    Side,
    Versions,
    common_state,
    ids_of,
    origins_of,
    placed_since,
    risen,
    side_of,
    versions,
    visible,
)
from anabranch.branching.shared import NOTHING_SHARED, Shared, discarded, not_shown, with_shared
from anabranch.branching.versions import alike
from anabranch.commands.merge_reads import Batch
from anabranch.commands.overwrites import Overwrites
from anabranch.commands.session import Session
from anabranch.commands.statements import BROUGHT
from anabranch.execution.fetch import Alike, fetch, read_origins
from anabranch.model.history import Commit, Position, Segment
from anabranch.model.names import qualified
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import Change, TableDelta, TableRecord
from anabranch.model.schema import Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import by_slot, without

_BRINGING = ("MERGE BRANCH", "CHERRY PICK", "REVERT", "RESTORE")
"""Commits that place what others wrote."""


class TableSides:
    """Reads what a merge needs to know of one table, once, and only if it is needed: what stands at the bases and at
    both heads, what each side did since, and the rows that are asked for."""

    def __init__(self, session: Session, table_id: str, reads: Batch) -> None:
        self.session, self.id, self.reads = session, table_id, reads
        self.catalog, self.at, self.here = session.catalog, reads.at, reads.here(table_id)
        self.ours_moved = table_id in reads.moved
        self.bases = [reads.records(base).get(table_id) for base in self.at.bases]
        shown = [record is not None and not record.dropped for record in self.bases]
        self.bases_at = (
            tuple(at for at, is_shown in zip(self.at.bases, shown, strict=True) if is_shown) or self.at.bases
        )
        """Those that show the table, if any does: what the others lack is the table, not its rows."""
        self.ours, self.theirs = (reads.records(at).get(table_id) for at in (self.here, self.at.theirs))
        if self._unborn and all(side and not side.dropped for side in (self.ours, self.theirs)):
            self.bases = [self._as_born()]  # both have it, after a cherry-pick say: so they have its birth in common
        self._origins: dict[int, np.ndarray] = {}
        self.overwrites = Overwrites(self)

    @cached_property
    def name(self) -> str:
        known = [record for record in (self.ours, self.theirs, *self.bases) if record is not None]
        if not known:  # one that came and went elsewhere
            return self.id
        record = next((record for record in known if not record.dropped), known[0])
        for position in (self.at.ours, self.at.theirs):
            database = self.reads.databases(position).get(record.database_id)
            if database is not None:
                return qualified(database.name, record.name)
        return record.name

    def schema(self, record: TableRecord) -> Schema:
        return self.reads.schema(self.id, record.schema_id)

    def schema_at(self, at: Position) -> Schema:
        """The table's at any commit that has it."""
        record = self.catalog.table_by_id(at, self.id)
        assert record is not None
        return self.schema(record)

    def state(self, at: Position) -> TableState:
        return self.reads.states(at)[self.id]

    def deltas(self, head: Position) -> list[TableDelta]:
        return self.reads.deltas(head)[self.id]

    def _partitions(self, at: Position) -> frozenset[str]:
        return frozenset(self.reads.partitions(at)[self.id])

    def changes(self, head: Position) -> Sequence[tuple[Commit, Change]]:
        return self.reads.history.changes(head).get(self.id, ())

    def _as_born(self) -> TableRecord | None:
        """The table as it was created, or else as it came to theirs."""
        for head in (self.at.theirs, self.at.ours):
            for commit, change in self.catalog.changes(head, -1, self.id):
                if change.operation == "create" and commit.operation not in _BRINGING:
                    return self.catalog.table_by_id(Position(head.branch_id, commit.version), self.id)
        return None

    # --- base and sides -----------------------------------------------------------------------------------------------

    @cached_property
    def _true_base(self) -> TableState:
        common = common_state([self.state(base) for base in self.bases_at])
        # Of a dropped table its dead rows stay: whoever brings the table back has not deleted them.
        return replace(common, parts={}) if self._unborn else common

    @cached_property
    def _unborn(self) -> bool:
        """No base shows the table: a dropped one has no rows, whatever its slots."""
        records = [self.reads.records(base).get(self.id) for base in self.at.bases]
        return all(record is None or record.dropped for record in records)

    @cached_property
    def disagreed(self) -> Positions:
        """Rows that some bases of a criss-cross have and others have not."""
        return disagreed([self.state(base) for base in self.bases_at]) if len(self.bases_at) > 1 else {}

    @cached_property
    def disagreed_origins(self) -> np.ndarray:
        """Of those rows: no side has inserted them since the bases."""
        parts = {slot: part for base in self.bases_at for slot, part in self.state(base).parts.items()}
        return origins_of(ids_of(self.disagreed), parts, self.origins)

    @cached_property
    def born(self) -> dict[int, Part]:
        """Slots that both sides have had since the base, after a cherry-pick say, or have now: alike, whatever came of
        their rows."""
        if self.ours is None or self.ours.dropped or not self.ours_moved:
            return {}
        here, there = (self.state(head).parts for head in (self.at.ours, self.at.theirs))
        base = self._true_base.parts
        return self._had | {slot: here[slot] for slot in here if slot in there and slot not in base}

    @cached_property
    def _had(self) -> dict[int, Part]:
        """Slots that both sides placed since the base, but for older ones that came back. (Going back asks only what is
        there: what came and went is nothing.)"""
        if self.at.backwards:
            return {}
        ours, theirs = (placed for placed, _ in self._placed)
        if self._unborn:
            ours, theirs = {**self.state(self.at.ours).parts, **ours}, {**self.state(self.at.theirs).parts, **theirs}
        base = self._true_base.parts
        found = {slot: part for slot, part in ours.items() if slot in theirs and slot not in base}
        if self._unborn:
            return found
        shown = {slot for at in self.bases_at for slot in self.state(at).parts}
        new = [slot for slot in found if slot not in shown]
        older = {slot for at in self.at.bases for slot in self.catalog.placed(at, self.id, new)} if new else set()
        return {slot: part for slot, part in found.items() if slot not in older}

    @cached_property
    def _placed(self) -> list[tuple[dict[int, Part], dict[int, BitMap]]]:
        """What ours and theirs each placed since the base, and which rows of it they took back."""
        return [placed_since(self._left(head)) for head in (self.at.ours, self.at.theirs)]

    def _left(self, head: Position) -> list[TableDelta]:
        """What a head's commits did, without those that a RESTORE has undone."""
        deltas, restores = self.deltas(head), lasting(self.changes(head))
        if not restores:
            return deltas
        left = [delta for delta in deltas if is_left(delta.version or 0, head, restores)]
        return [
            replace(delta, removed=(), killed={}, revived={}) if delta.version in restores else delta for delta in left
        ]

    @cached_property
    def _with_born(self) -> tuple[TableState, Shared]:
        if not self.born:
            return self._true_base, NOTHING_SHARED
        bases = [self._true_base] if self._unborn else [self.state(base) for base in self.bases_at]
        heads = self.state(self.at.ours), self.state(self.at.theirs)
        sides = (self.at.ours, self.at.theirs)
        common = self._true_base
        older = {slot: part for slot, part in self.born.items() if slot not in self._had}
        never = [not_shown(older, common, heads, self.origins)]
        common = replace(common, dead={slot: dead for slot, dead in common.dead.items() if slot not in older})
        if not self.at.backwards:
            never += [ids_of(undone) for _, undone in self._placed]
            never += [discarded(self.deltas(at), head, self.origins) for at, head in zip(sides, heads, strict=True)]
            never += [self.overwrites.took_before(at, self.born) for at in sides]
            never += [self._deleted_before(here, there) for here, there in (sides, sides[::-1])]
        return with_shared(bases, common, self.born, heads, self.origins, np.concatenate(never))

    def _deleted_before(self, here: Position, there: Position) -> np.ndarray:
        """Versions of both that one head shows, though it had deleted the row before it got them, and that the other
        has killed by that very DELETE: each picked the other's, and nobody knows which is newer."""
        mine, other = self.state(here), self.state(there)
        both = [slot for slot, part in self.born.items() if part.has_origin and slot in mine.parts]
        rows = {slot: visible(mine, slot) & other.dead[slot] for slot in both if slot in other.dead}
        if not any(rows.values()):
            return NO_ROWS
        came = {part.slot: delta.version or 0 for delta in self.deltas(here) for part in delta.placed}
        own = self.catalog.lineage(here)
        brought: dict[int, list[Segment]] = {}
        for commit, change in self.changes(there):
            named = [Segment(*each) for each in change.detail.get(BROUGHT, ())]
            brought.setdefault(commit.version, []).extend(named)
        found: dict[int, BitMap] = {}
        for delta in self.deltas(there):
            named = brought.get(delta.version or 0, [])
            known = named and all(any(s.branch_id == o.branch_id and s.upto <= o.upto for o in own) for s in named)
            since = max((segment.upto for segment in named), default=0)
            for slot in delta.killed.keys() & rows.keys() if known and delta.cause == "delete" else ():
                if came.get(slot, 0) > since:
                    found[slot] = found.get(slot, BitMap()) | (delta.killed[slot] & rows[slot])
        return ids_of(found)

    @property
    def base_state(self) -> TableState:
        return self._with_born[0]

    @property
    def dead_alike(self) -> Positions:
        """Rows that both sides have killed since the base, or that one of several bases has killed: the statements that
        killed them are no news for them. (A row that the only base shows in a newer version was killed by others.)"""
        dead = self.base_state.dead
        return dead if len(self.bases_at) > 1 else without(dead, self._true_base.dead)

    @property
    def shared(self) -> Shared:
        return self._with_born[1]

    @cached_property
    def mine(self) -> Side:
        if not self.ours_moved:
            return side_of(self.base_state, self.base_state, [])
        return self._side(self.at.ours)

    @cached_property
    def other(self) -> Side:
        return self._side(self.at.theirs)

    def _side(self, head: Position) -> Side:
        deltas, changes = self.deltas(head), self.changes(head)
        if restored(changes):
            bases = self.reads.history.reached(head)
            after = max(bases) if len(bases) == len(self.at.bases) else head.version
            deltas = without_undone(deltas, changes, after, head)
        took = partial(self.overwrites.took, head) if self.overwrites.of(head) else None
        side = side_of(self.base_state, self.state(head), deltas, took, self._wrote(head))
        return replace(side, scopes=self.overwrites.standing(head, side)) if took else side

    def _wrote(self, head: Position) -> set[int]:
        """The slots that a head's own statements have written since the bases."""
        brought = {commit.version for commit, _ in self.changes(head) if commit.operation in _BRINGING}
        return {part.slot for delta in self.deltas(head) if delta.version not in brought for part in delta.placed}

    @cached_property
    def risen(self) -> np.ndarray:
        """Rows that ours has brought back since the base, and theirs has in no version: new ones, like those that it
        inserted."""
        ids = risen(self.mine, self.origins)
        if len(ids):
            ids = ids[~np.isin(ids, ids_of({slot: visible(self.other.head, slot) for slot in by_slot(ids)}))]
        if not len(ids):
            return ids
        its = origins_of(ids, self._all_parts(self.mine.head), self.origins)
        alone = self.versions_of_theirs(its) < 0
        ids, its = ids[alone], its[alone]
        deltas = self.catalog.deltas(self.at.ours, self.id, -1)
        overwrote = [part.slot for delta in deltas if delta.cause == "overwrite" for part in delta.placed]
        found: np.ndarray = ids[~np.isin(its >> POSITION_BITS, overwrote) & ~np.isin(its, self.disagreed_origins)]
        return found

    @cached_property
    def _their_versions(self) -> Versions:
        return versions(self.other, self.origins)

    def versions_of_theirs(self, origins: np.ndarray) -> np.ndarray:
        """The ids of theirs' versions of rows, -1 where it has none."""
        return self._their_versions.find(origins)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def origins(self, part: Part) -> np.ndarray:
        if part.slot not in self._origins:
            self._origins[part.slot] = read_origins(self.session.folder(self.id), part, self.name)
        return self._origins[part.slot]

    def rows_of(
        self,
        schema: Schema,
        state: TableState,
        ids: np.ndarray,
        versions: Sequence[tuple[TableState, np.ndarray, pa.Table]] = (),
    ) -> pa.Table:
        """`versions`: other versions of the same rows that are read already, place by place."""
        parts = self.holding(state, ids)
        for head, others, _ in versions:
            parts |= self.holding(head, others)
        written = self.written(parts)
        known = [Alike(rows, alike(schema.columns, ids, others, parts, written)) for _, others, rows in versions]
        return fetch(self.session.folder(self.id), self.name, parts, written, schema.columns, ids, known)

    def holding(self, state: TableState, ids: np.ndarray) -> dict[int, Part]:
        """The parts of these rows; first versions of rows may stand in some that only others show, or nobody."""
        slots = np.unique(ids[ids >= 0] >> POSITION_BITS).tolist()
        parts = self._all_parts(state)
        missing = [slot for slot in slots if slot not in parts]
        if missing:
            parts |= self.catalog.parts(self.id, missing)
        return {slot: parts[slot] for slot in slots}

    def _all_parts(self, state: TableState) -> dict[int, Part]:
        return {**self.base_state.parts, **state.parts}

    def written(self, parts: Mapping[int, Part]) -> dict[int, Schema]:
        return {part.schema_id: self.reads.schema(self.id, part.schema_id) for part in parts.values()}
