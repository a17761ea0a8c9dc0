"""Contests in the merge of one table: rows that both sides changed.

Files alone need no values: the user's choice takes a side. Under row and cell the rows are read, and settled by their
values, by the user's choice, or by the rows that the user gave. What comes of it that no part has is kept for the
commit. After a criss-cross the rows that its bases disagree on are contests of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch.branching.criss_cross import Dispute, disputed, left_standing, overwritten
from anabranch.branching.fields import lacking
from anabranch.branching.row_merge import NO_ROWS, Changed, Contest, Replay
from anabranch.branching.rows import Positions, ids_of, origins_of, visible
from anabranch.branching.settle import Bases, Settled, chosen, same_rows, settle
from anabranch.branching.versions import changed_by
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.own_types import Versions, pairs_apart, read_apart, without
from anabranch.commands.resolutions import Resolution
from anabranch.commands.returning import filled, left_behind, returning
from anabranch.model.conflict import ConflictRecord
from anabranch.model.part import POSITION_BITS
from anabranch.model.schema import Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger


@dataclass(frozen=True)
class Crossed:
    """Rows that the bases disagree on and the heads have in different versions: what theirs did to those that ours
    overwrote (`over`) does not count, and those that theirs overwrote die (`dies`)."""

    dispute: Dispute
    over: np.ndarray
    dies: np.ndarray

    @property
    def left(self) -> Dispute:
        return self.dispute.where(~self.over & ~self.dies)

    def deleted(self, base: TableState) -> Positions:
        """Rows that one of the bases has and theirs has deleted, and that ours shows; without those of the common
        `base`, of which that is known."""
        contest = self.left.contest
        rows = by_slot(contest.base[(contest.theirs < 0) & (contest.ours >= 0)])
        return {slot: left for slot in rows if (left := rows[slot] - visible(base, slot))}


def crossed_by(merger: TableMerger) -> Crossed:
    bases = [merger.state(base) for base in merger.bases_at]
    dispute = disputed(bases, merger.mine.head, merger.other.head, merger.origins)
    # Of an overwrite that a base has it must be known what it took; to one that none has, no base row is younger.
    over = overwritten(dispute.contest, dispute.contest.ours, bases, merger.mine.scopes)
    over &= merger.overwrites.taken_from_ours(dispute.origins) | overwritten(
        dispute.contest, dispute.contest.ours, bases, merger.overwrites.unknown
    )
    dies = overwritten(dispute.contest, dispute.contest.theirs, bases, merger.other.scopes) & ~over
    return Crossed(dispute, over, dies)


class Contests:
    """`rejected`: base rows that both sides have other versions of, and of which ours stays."""

    def __init__(self, merger: TableMerger, made: TableMerge, replay: Replay, resolution: Resolution | None) -> None:
        self.merger, self.made, self.replay, self.resolution = merger, made, replay, resolution
        self.rejected = NO_ROWS

    def settle(self, contest: Contest) -> None:
        if not len(contest):
            return
        if self.merger.detect != "file":
            done = self._by_values(contest, self._origins(contest.base))
            gone = (contest.theirs < 0) | done.given & self._wanted_gone(contest.base)
            deleted = np.isin(done.ours_dies, contest.ours[gone])
            self.replay.kill_ids("delete", done.ours_dies[deleted])
            self.replay.kill_ids("update", done.ours_dies[~deleted])
            self.replay.kill_ids("update", done.theirs_dies)
            return
        self.made.news = True
        choice = self.merger.choice
        if choice is not None:
            for dies in chosen(contest, choice):
                self.replay.kill_ids("update", dies)
            self._reject(contest.base[np.full(len(contest), choice == "ours")])

    def _wanted_gone(self, rows: np.ndarray) -> np.ndarray:
        """Those of the rows of which the user said that they shall not be there."""
        return np.zeros(len(rows), bool) if self.resolution is None else self.resolution.ends(rows)

    # --- criss-crosses ------------------------------------------------------------------------------------------------

    def cross(self, crossed: Crossed, contest: Contest, changed: Changed) -> tuple[Contest, Changed]:
        """Settles what the bases disagree on; gives what is left of a contest, and of the rows that theirs changed."""
        dispute, over, dies = crossed.dispute, crossed.over, crossed.dies
        if over.any() or dies.any():  # A4, A5; and theirs' overwrite
            self.made.news = True
            self.replay.kill_ids("update", dispute.contest.theirs[over])
            self.replay.kill_ids("overwrite", dispute.contest.ours[dies])
        same = self._crossed(crossed.left)
        left = contest.where(~np.isin(self._origins(contest.base), dispute.origins))
        if not len(same):
            return left, changed
        ids = {cause: ids_of(rows) for cause, rows in changed.items()}
        return left, {cause: by_slot(rows[~np.isin(self._origins(rows), same)]) for cause, rows in ids.items()}

    def _crossed(self, dispute: Dispute) -> np.ndarray:
        """Both heads have these rows, in different versions, which are held against each other. The one that stays is
        written anew where the replay does not leave it standing. Gives the origins of rows that theirs has as all bases
        do."""
        merger, contest, schema = self.merger, dispute.contest, self.made.schema
        assert schema is not None
        if not len(dispute):
            return NO_ROWS
        same = NO_ROWS
        if merger.detect == "file":
            self.made.news = True
            lost = contest.theirs < 0  # theirs deleted: whatever ours did, the row is gone
            if merger.choice is None and not lost.all():
                words = (f"{int((~lost).sum()):,} rows differ",) * 2
                self.made.conflicts.append(ConflictRecord(merger.name, "rows", "criss-cross", *words))
                return same
            ours_dies, theirs_dies = chosen(contest, merger.choice or "theirs")
            ours_dies = np.unique(np.concatenate([ours_dies, contest.ours[lost]]))
        else:
            versions = tuple(zip(map(merger.state, merger.bases_at), dispute.versions, strict=True))
            done = self._by_values(contest, dispute.origins, versions)
            ours_dies, theirs_dies = done.ours_dies, done.theirs_dies
            same = dispute.origins[~done.changed_there]
        heads = [(merger.mine.head, contest.ours, ours_dies), (merger.other.head, contest.theirs, theirs_dies)]
        slots = contest.base >> POSITION_BITS
        undone = contest.ours[(contest.theirs < 0) & ~np.isin(slots, list(merger.other.head.parts))]
        for head, ids, dies in heads:
            taken_back = np.isin(dies, undone)
            self.replay.kill_ids("restore", dies[taken_back])
            self.replay.kill_ids("update", dies[~taken_back])
            stays = (ids >= 0) & ~np.isin(ids, dies)
            lost = stays & ~left_standing(merger.mine.head, self.replay, ids)
            if lost.any() and not self.made.conflicts:
                rows = merger.rows_of(schema, head, ids[lost])
                if head is merger.mine.head:
                    self.made.repeat(rows, dispute.origins[lost], ids[lost])
                else:
                    self.made.add(rows, dispute.origins[lost])
        return same

    def _origins(self, ids: np.ndarray) -> np.ndarray:
        merger = self.merger
        return origins_of(ids, merger.holding(merger.base_state, ids), merger.origins)

    # --- values -------------------------------------------------------------------------------------------------------

    def _by_values(self, contest: Contest, origins: np.ndarray, bases: Versions = ()) -> Settled:
        """The rows that come of it are kept for the commit, as versions of their origins. Without `bases`: the
        contest's own base rows."""
        merger, made, schema = self.merger, self.made, self.made.schema
        assert schema is not None
        heads = (merger.mine.head, contest.ours), (merger.other.head, contest.theirs)
        befores = bases or ((merger.base_state, contest.base),)
        pairs = pairs_apart(merger, made, (*heads, *befores))
        apart = read_apart(merger, schema, pairs, contest, befores)
        schema = without(schema, pairs)
        ours = merger.rows_of(schema, merger.mine.head, contest.ours)
        theirs = merger.rows_of(schema, merger.other.head, contest.theirs)
        others = self._with_theirs_defaults(schema)
        to_theirs = tuple(merger.rows_of(others, *before) for before in befores if others.columns)
        if bases:
            lacking = np.any([ids < 0 for _, ids in bases], axis=0)
            known = Bases(tuple(merger.rows_of(schema, *before) for before in bases), lacking, to_theirs)
        else:
            versions = (*heads[0], ours), (*heads[1], theirs)
            known = Bases((merger.rows_of(schema, *befores[0], versions),), to_theirs=to_theirs)
        ours = filled(merger, merger.mine.head, ours, contest.ours, known.rows[0], returning(merger, made))
        theirs = filled(merger, merger.other.head, theirs, contest.theirs, known.rows[0], left_behind(merger, made))
        choice = np.full(len(contest), merger.choice or "")
        if self.resolution is not None:
            choice = self.resolution.choices(contest, ours, theirs, merger.choice or "")
        beyond = np.zeros(len(contest), bool) if bases else self._changed_what_is_gone(contest)
        unknown = self._unknown_to_theirs(schema)
        most = 1 if merger.wishes.brief else None
        done = settle(merger.name, contest, known, ours, theirs, merger.detect, choice, apart, beyond, unknown, most)
        made.news |= done.news
        made.conflicts += done.conflicts
        # (What theirs wrote anew and left as it was goes with it: no change of theirs is taken there.)
        self._reject(contest.base[(done.conflicting & (choice == "ours")) | ~done.changed_there])
        self._combine(schema, contest, done, origins)
        if self.resolution is not None:
            self.resolution.use(contest.base[done.conflicting])
            given = contest.base[done.given]
            rows, ids = self.resolution.values(given)
            if len(ids):
                made.add(rows, origins[done.given][np.isin(given, ids)])
        return done

    def _with_theirs_defaults(self, schema: Schema) -> Schema:
        """Columns that both sides added, and theirs with another default, which rows of the base have there."""
        assert self.merger.theirs is not None
        theirs = self.merger.schema(self.merger.theirs)
        pairs = [(column, theirs.stored_as(column)) for column in schema.columns]
        columns = [
            replace(column, initial_default=its.initial_default)
            for column, its in pairs
            if its is not None and its.initial_default != column.initial_default
        ]
        return Schema(0, tuple(columns))

    def _unknown_to_theirs(self, schema: Schema) -> frozenset[str]:
        """Columns that theirs had dropped before the bases, so that it cannot have changed them since."""
        merger = self.merger
        theirs = [merger.schema(record) for record in (merger.theirs, *merger.bases) if record is not None]
        return frozenset(c.label for c in schema.columns if all(known.stored_as(c) is None for known in theirs))

    def _changed_what_is_gone(self, contest: Contest) -> np.ndarray:
        """Which of the rows theirs changed, if only in columns or fields that the merge drops."""
        merger = self.merger
        assert merger.theirs is not None
        assert self.made.schema is not None
        schema = merger.schema(merger.theirs)
        if not lacking(schema.columns, self.made.schema):
            return np.zeros(len(contest), bool)
        after = merger.rows_of(schema, merger.other.head, contest.theirs)
        before = merger.rows_of(schema, merger.base_state, contest.base)
        return (contest.theirs >= 0) & ~same_rows(before, after)

    def _combine(self, schema: Schema, contest: Contest, done: Settled, origins: np.ndarray) -> None:
        """Keeps combined rows, but those of which ours' version stands in what theirs overwrote: they die with it."""
        overwritten = sorted(self.replay.removed.get("overwrite", ()))
        stays = ~np.isin(contest.ours[done.places] >> POSITION_BITS, overwritten)
        places = done.places[stays]
        if len(places):
            rows = done.combined.filter(pa.array(stays))
            self.made.add(rows, origins[places], self._changed_since(schema, contest, places))

    def _reject(self, rows: np.ndarray) -> None:
        self.rejected = np.union1d(self.rejected, rows)

    def _changed_since(self, schema: Schema, contest: Contest, places: np.ndarray) -> frozenset[str] | None:
        """The columns in which combined rows may differ from their first versions."""
        merger = self.merger
        parts = {
            **merger.holding(merger.mine.head, contest.ours[places]),
            **merger.holding(merger.other.head, contest.theirs[places]),
        }
        return changed_by((), parts.values(), merger.written(parts), schema)
