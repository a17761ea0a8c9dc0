"""One table as a merge sees it: its bases, both heads, and what each side did since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from anabranch.branching.rows import (
    Scope,
    Side,
    Versions,
    common_state,
    ids_of,
    origins_of,
    placed_since,
    side_of,
    versions,
    without_undone,
)
from anabranch.branching.scopes import scopes_of
from anabranch.branching.shared import NOTHING_SHARED, Shared, with_shared
from anabranch.branching.versions import alike
from anabranch.commands.merge_reads import Batch
from anabranch.commands.session import Session
from anabranch.execution.fetch import Alike, fetch, read_origins
from anabranch.model.history import Commit, Position, Segment
from anabranch.model.names import qualified
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import Change, TableDelta, TableRecord
from anabranch.model.schema import Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import united

BROUGHT = "statements"
"""In what a merge or pick did to rows: where the deletes and updates are that it brought."""


class TableSides:
    """Reads what a merge needs to know of one table, once, and only if it is needed: what stands at the bases and at
    both heads, what each side did since, and the rows that are asked for."""

    def __init__(self, session: Session, table_id: str, reads: Batch) -> None:
        self.session, self.id, self.reads = session, table_id, reads
        self.catalog, self.at, self.here = session.catalog, reads.at, reads.here(table_id)
        self.ours_moved = table_id in reads.moved
        self.bases = [reads.records(base).get(table_id) for base in self.at.bases]
        self.ours, self.theirs = (reads.records(at).get(table_id) for at in (self.here, self.at.theirs))
        if not any(self.bases) and all(side and not side.dropped for side in (self.ours, self.theirs)):
            self.bases = [self._as_born()]  # both have it, after a cherry-pick say: so they have its birth in common
        self._origins: dict[int, np.ndarray] = {}

    @cached_property
    def name(self) -> str:
        known = [record for record in (self.ours, self.theirs, *self.bases) if record is not None]
        record = next((record for record in known if not record.dropped), known[0])
        for position in (self.at.ours, self.at.theirs):
            database = self.reads.databases(position).get(record.database_id)
            if database is not None:
                return qualified(database.name, record.name)
        return record.name

    def schema(self, record: TableRecord) -> Schema:
        return self.reads.schema(self.id, record.schema_id)

    def state(self, at: Position) -> TableState:
        return self.reads.states(at)[self.id]

    def _deltas(self, head: Position) -> list[TableDelta]:
        return self.reads.deltas(head)[self.id]

    def _partitions(self, at: Position) -> frozenset[str]:
        return frozenset(self.reads.partitions(at)[self.id])

    def _changes(self, head: Position) -> Sequence[tuple[Commit, Change]]:
        return self.reads.history.changes(head).get(self.id, ())

    def _as_born(self) -> TableRecord | None:
        """The table as it was created, or else as it came to theirs."""
        for head in (self.at.theirs, self.at.ours):
            for commit, change in self.catalog.changes(head, -1, self.id):
                if change.operation == "create" and commit.operation not in ("MERGE BRANCH", "CHERRY PICK", "REVERT"):
                    return self.catalog.table_by_id(Position(head.branch_id, commit.version), self.id)
        return None

    # --- base and sides -----------------------------------------------------------------------------------------------

    @cached_property
    def _true_base(self) -> TableState:
        return common_state([self.state(base) for base in self.at.bases])

    @cached_property
    def born(self) -> dict[int, Part]:
        """Slots that both sides placed since the base, after a cherry-pick say: alike, whatever came of their rows."""
        if self.ours is None or self.ours.dropped or not self.ours_moved:
            return {}
        ours, theirs = placed_since(self._deltas(self.at.ours)), placed_since(self._deltas(self.at.theirs))
        return {slot: part for slot, part in ours.items() if slot in theirs and slot not in self._true_base.parts}

    @cached_property
    def _with_born(self) -> tuple[TableState, Shared]:
        if not self.born:
            return self._true_base, NOTHING_SHARED
        bases = [self.state(base) for base in self.at.bases]
        heads = self.state(self.at.ours), self.state(self.at.theirs)
        return with_shared(bases, self._true_base, self.born, heads, self.origins)

    @property
    def base_state(self) -> TableState:
        return self._with_born[0]

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
        deltas = without_undone(self._deltas(head), self._restores(head))
        return side_of(self.base_state, self.state(head), deltas, self._scopes(head, self._changes(head)))

    def _restores(self, head: Position) -> list[tuple[int, int]]:
        """(the version that a RESTORE made, the one that it went back to); a REVERT names none."""
        went_back = [(c.version, x) for c, x in self._changes(head) if x.operation == "restore"]
        return [(version, change.detail["version"]) for version, change in went_back if "version" in change.detail]

    def _scopes(self, head: Position, changes: Iterable[tuple[Commit, Change]]) -> list[Scope]:
        """The overwrites since the base that nothing has undone."""
        found: list[tuple[int, Scope]] = []
        for commit, change in changes:
            scope = change.detail.get("scope")
            if change.operation == "overwrite" and scope is not None:
                deltas = [delta for delta in self._deltas(head) if delta.version == commit.version]
                found += [(commit.version, one) for one in scopes_of(scope, deltas)]
            elif change.operation == "restore" and "version" in change.detail:
                found = [(version, one) for version, one in found if version <= change.detail["version"]]
        newest = max(self.reads.history.reached(head), default=-1) if found else -1
        return [scope for version, scope in found if version > newest]

    def standing(self, *, with_young: bool) -> list[tuple[Change, np.ndarray]]:
        """Theirs' deletes and updates, each with the base rows that it changed, or later versions of which, and that
        stay changed. `with_young`: rows count that both sides have got since the base, too."""
        lost = ids_of(self.other.lost())
        if not with_young:
            lost = lost[~self.shared.young(lost)]
        origins = origins_of(lost, self.base_state.parts, self.origins)
        parts = {part.slot: part for delta in self._deltas(self.at.theirs) for part in delta.placed}
        parts |= self.base_state.parts
        found = []
        for change, deltas in self._statements():
            killed = united([delta.killed for delta in deltas])
            # What is dead in the base was killed on both sides alike.
            before = self.base_state.dead
            ids = ids_of({s: rows - before[s] if s in before else rows for s, rows in killed.items() if s in parts})
            rows = lost[np.isin(origins, origins_of(ids, parts, self.origins))]
            if len(rows):
                found.append((change, rows))
        return found

    def _statements(self) -> Iterator[tuple[Change, list[TableDelta]]]:
        """Theirs' deletes and updates and what each did to rows; those that a merge or pick brought, as they were."""
        seen: set[Position] = set()  # a merge may have brought what a pick brought before
        for segment in self.statements_since():
            at = Position(segment.branch_id, segment.upto)
            deltas: dict[int | None, list[TableDelta]] = {}
            for delta in self.catalog.deltas(at, self.id, segment.after):
                deltas.setdefault(delta.version, []).append(delta)
            changes = self.catalog.changes(at, segment.after, self.id)
            for commit, change in changes:
                known = Position(commit.branch_id, commit.version) in seen
                if change.operation in ("delete", "update") and not known:
                    yield change, deltas.get(commit.version, [])
            seen |= {Position(commit.branch_id, commit.version) for commit, _ in changes}

    def statements_since(self) -> list[Segment]:
        """Where the deletes and updates are that theirs has had since the base, in their order: those that merges and
        picks brought included, and without what a RESTORE undid."""
        restores = self._restores(self.at.theirs)
        found: list[Segment] = []
        may_go_on = False  # the last segment is of theirs' own commits, with nothing in between that is left out
        for commit, change in self._changes(self.at.theirs):
            if change.operation not in ("delete", "update"):
                continue
            if any(back < commit.version < version for version, back in restores):
                may_go_on = False
            elif (brought := change.detail.get(BROUGHT)) is not None:
                found += [Segment(*each) for each in brought]
                may_go_on = False
            else:
                joined = may_go_on and found[-1].branch_id == commit.branch_id
                after = found.pop().after if joined else commit.version - 1
                found.append(Segment(commit.branch_id, after, commit.version))
                may_go_on = True
        return list(dict.fromkeys(found))

    @cached_property
    def _their_versions(self) -> Versions:
        return versions(self.other, self.origins)

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
        parts = self._holding(state, ids)
        for head, others, _ in versions:
            parts |= self._holding(head, others)
        written = self.written(parts)
        known = [Alike(rows, alike(schema.columns, ids, others, parts, written)) for _, others, rows in versions]
        return fetch(self.session.folder(self.id), self.name, parts, written, schema.columns, ids, known)

    def _holding(self, state: TableState, ids: np.ndarray) -> dict[int, Part]:
        slots = np.unique(ids[ids >= 0] >> POSITION_BITS).tolist()
        parts = self._all_parts(state)
        return {slot: parts[slot] for slot in slots}

    def _all_parts(self, state: TableState) -> dict[int, Part]:
        return {**self.base_state.parts, **state.parts}

    def written(self, parts: Mapping[int, Part]) -> dict[int, Schema]:
        return {part.schema_id: self.reads.schema(self.id, part.schema_id) for part in parts.values()}

    @cached_property
    def physical(self) -> Schema:
        """The columns of both sides, by their physical names: what stored conditions speak of."""
        assert self.ours is not None
        assert self.theirs is not None
        columns = {c.physical: c for record in (self.ours, self.theirs) for c in self.schema(record).columns}
        return Schema(0, tuple(replace(column, label=column.physical) for column in columns.values()))
