"""Overwrites in a merge: those that a side has, which rows they took, and which of them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from anabranch.branching.overwritten import Taken, stands, taken_by_overwrites, with_origin
from anabranch.branching.restores import restored
from anabranch.branching.row_merge import NO_ROWS
from anabranch.branching.rows import Scope, Side, ids_of, side_of
from anabranch.branching.scopes import REDONE, TELLING, UNDONE, had, scopes_of
from anabranch.catalog import Catalog
from anabranch.model.history import Commit, Position
from anabranch.model.part import Part
from anabranch.model.records import Change, TableDelta
from anabranch.storage.row_ids import by_slot, meet

if TYPE_CHECKING:
    from anabranch.commands.table_sides import TableSides


def overwrites_had(catalog: Catalog, at: Position, table_id: str) -> dict[Position, int]:
    """Those that a table has had there and that nothing has undone -> the version at which it got them."""
    return had(_telling(catalog, at, table_id))


def _telling(catalog: Catalog, at: Position, table_id: str) -> Sequence[tuple[Commit, Change]]:
    return catalog.changes_of(at, [table_id], *TELLING).get(table_id, ())


def undone_by_revert(catalog: Catalog, commit: Position, table_id: str) -> dict[str, Any]:
    """What a REVERT of this commit says of a table: the overwrites that it undoes, and those that it brings back."""
    before, after = (overwrites_had(catalog, Position(commit.branch_id, commit.version - n), table_id) for n in (1, 0))
    told = {UNDONE: after.keys() - before.keys(), REDONE: before.keys() - after.keys()}
    return {what: sorted(map(list, overwrites)) for what, overwrites in told.items() if overwrites}


class Overwrites:
    """Those of both sides of one table since the bases; read only where a side has any."""

    def __init__(self, sides: TableSides) -> None:
        self.sides, self.at, self.catalog = sides, sides.at, sides.catalog
        self._of: dict[Position, list[Scope]] = {}
        self._took: dict[Position, Taken] = {}
        self._told: dict[Position, Sequence[tuple[Commit, Change]]] = {}

    def of(self, head: Position) -> list[Scope]:
        """The overwrites since the base that nothing has undone."""
        if head not in self._of:
            self._of[head] = self._read(head)
        return self._of[head]

    def _read(self, head: Position) -> list[Scope]:
        changes = self.sides.changes(head)
        if any(change.operation == "restore" for _, change in changes):
            changes = self._telling(head)  # going back may have redone older ones
        overwrites = [
            (c, x.detail["scope"]) for c, x in changes if x.operation == "overwrite" and x.detail.get("scope")
        ]
        if not overwrites:
            return []
        reached, shared = self.sides.reads.history.reached(head), self.sides.reads.history.shared(head)
        old = min(reached) if len(reached) == len(self.at.bases) else shared
        left = self._had(head)
        found: list[Scope] = []
        for commit, scope in overwrites:
            if commit.version in left.values():
                deltas = [delta for delta in self._deltas(head, commit.version) if delta.version == commit.version]
                scopes = scopes_of(scope, deltas, Position(commit.branch_id, commit.version))
                found += [scope for scope in scopes if scope.of and left.get(scope.of) == commit.version]
        return [scope for scope in found if scope.at > old or not all(self._known_to_bases(scope))]

    def _deltas(self, head: Position, version: int) -> list[TableDelta]:
        """What a head's commits did from a version on; more is read only where it is older than what is known."""
        if version > self.sides.reads.history.shared(head):
            return self.sides.deltas(head)
        return self.catalog.deltas(head, self.sides.id, version - 1)

    def _telling(self, at: Position) -> Sequence[tuple[Commit, Change]]:
        if at not in self._told:
            self._told[at] = _telling(self.catalog, at, self.sides.id)
        return self._told[at]

    def _had(self, at: Position) -> Mapping[Position, int]:
        return had(self._telling(at))

    def standing(self, head: Position, side: Side) -> tuple[Scope, ...]:
        """The overwrites that changed something against one of the bases; of theirs, those that are news to ours."""
        states = [self.sides.state(base) for base in self.sides.bases_at[1:] and self.sides.bases_at]
        sides = [side, *(side_of(state, side.head, []) for state in states)]
        taken = self._taken(head)
        stand = [s for s in self.of(head) if any(stands(s, taken, one, self.sides.origins) for one in sides)]
        if head == self.at.theirs and stand and self.sides.ours_moved:
            stand = [scope for scope in stand if scope.of not in self._had(self.at.ours)]  # by a merge or pick
        old = any if head == self.at.theirs else all  # what bases disagree on, ours has done
        return tuple(scope for scope in stand if not old(self._known_to_bases(scope)))

    def _known_to_bases(self, scope: Scope) -> list[bool]:
        """Whether each base has the overwrite; theirs may have it again by a merge."""
        return [scope.of in self._had(base) for base in self.at.bases]

    # --- rows that they took ------------------------------------------------------------------------------------------

    def took(self, head: Position, part: Part, rows: BitMap) -> dict[str, BitMap]:
        """Of a part's lost rows, those that an overwrite took. Rows that ours had moved into its scope first are only
        deleted: A4 and A5 are not about them."""
        taken, scopes = self._taken(head), self.of(head)
        all_taken = with_origin(part, rows, taken.rows, self.sides.origins)
        if head == self.at.theirs or not all_taken:
            return {"overwrite": all_taken}
        here = with_origin(part, rows, taken.of(scope for scope in scopes if scope.covers(part)), self.sides.origins)
        return {"overwrite": here, "delete": all_taken - here}

    def _taken(self, head: Position) -> Taken:
        """What overwrites took from a head's rows, since the version that it shares with the bases, or the first of
        them."""
        if head not in self._took:
            first = min([self.sides.reads.history.shared(head) + 1, *(scope.at for scope in self.of(head))])
            start = self.catalog.state(Position(head.branch_id, first - 1), self.sides.id)
            restores = restored(self._telling(head))
            taken = taken_by_overwrites(start, self._deltas(head, first), self.sides.origins, restores)
            self._took[head] = taken.only(self.of(head))
        return self._took[head]

    def took_before(self, head: Position, born: Mapping[int, Part]) -> np.ndarray:
        """Versions that both sides placed of rows that are older than the base, and that a head has not because of an
        overwrite which a base has, too: it has what the base has."""
        old = [scope for scope in self.of(head) if any(self._known_to_bases(scope))]
        if not old:
            return NO_ROWS
        taken = self._taken(head).of(old)
        older = {slot: rows for slot, rows in taken.items() if slot not in born}
        each = {slot: BitMap(range(part.rows)) for slot, part in born.items()}
        return ids_of({slot: with_origin(born[slot], rows, older, self.sides.origins) for slot, rows in each.items()})

    def taken_from_ours(self, origins: np.ndarray) -> np.ndarray:
        """Which of these rows ours has not because of an overwrite of its own."""
        taken = ids_of(meet(by_slot(origins), self._taken(self.at.ours).rows)) if self.sides.mine.scopes else NO_ROWS
        found: np.ndarray = np.isin(origins, taken)
        return found

    @property
    def unknown(self) -> list[Scope]:
        """Ours' overwrites that no base has."""
        return [scope for scope in self.sides.mine.scopes if not any(self._known_to_bases(scope))]
