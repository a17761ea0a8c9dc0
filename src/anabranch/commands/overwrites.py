"""Overwrites in a merge: those that a side has, which rows they took, and which of them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from anabranch.branching.base import reached, reaches
from anabranch.branching.overwritten import Taken, stands, taken_by_overwrites, with_origin
from anabranch.branching.restores import is_left, is_reverted, lasting, restored
from anabranch.branching.row_merge import NO_ROWS
from anabranch.branching.rows import Scope, Side, ids_of, side_of
from anabranch.branching.scopes import scopes_of
from anabranch.catalog import Catalog
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.storage.row_ids import by_slot, meet

if TYPE_CHECKING:
    from anabranch.commands.table_sides import TableSides


UNDONE = "overwrites"
"""In what a REVERT did to rows: the overwrites that it undid, each by the commit that first ran it."""


def undone_by_revert(catalog: Catalog, commit: Position, table_id: str) -> dict[str, Any]:
    """What a REVERT of this commit says of a table."""
    changes = catalog.changes(commit, commit.version - 1, table_id)
    bodies = [x.detail["scope"] for _, x in changes if x.operation == "overwrite" and x.detail.get("scope")]
    undone = [list(scope.of) for body in bodies for scope in scopes_of(body, (), commit) if scope.of is not None]
    return {UNDONE: undone} if undone else {}


class Overwrites:
    """Those of both sides of one table since the bases; read only where a side has any."""

    def __init__(self, sides: TableSides) -> None:
        self.sides, self.at, self.catalog = sides, sides.at, sides.catalog
        self._of: dict[Position, list[Scope]] = {}
        self._took: dict[Position, Taken] = {}

    def of(self, head: Position) -> list[Scope]:
        """The overwrites since the base that nothing has undone."""
        if head not in self._of:
            self._of[head] = self._read(head)
        return self._of[head]

    def _read(self, head: Position) -> list[Scope]:
        changes = self.sides.changes(head)
        overwrites = [
            (c, x.detail["scope"]) for c, x in changes if x.operation == "overwrite" and x.detail.get("scope")
        ]
        if not overwrites:
            return []
        reached, restores = self.sides.reads.history.reached(head), restored(changes)
        old = min(reached) if len(reached) == len(self.at.bases) else -1
        found: list[Scope] = []
        for commit, scope in overwrites:
            deltas = [delta for delta in self.sides.deltas(head) if delta.version == commit.version]
            left = is_left(commit.version, head, restores) or (not lasting(changes) and self._is_so(deltas, head))
            later = [delta for delta in self.sides.deltas(head) if (delta.version or 0) > commit.version]
            if commit.version > old and left and not is_reverted(deltas, later):
                found += scopes_of(scope, deltas, Position(commit.branch_id, commit.version))
        return found

    def _reverted(self) -> set[Position | None]:
        """Overwrites that a REVERT on ours has named, and that did not come again since."""
        found: set[Position | None] = set()
        for commit, change in self.sides.changes(self.at.ours):
            if change.operation == "overwrite" and change.detail.get("scope"):
                by = Position(commit.branch_id, commit.version)
                found -= {scope.of for scope in scopes_of(change.detail["scope"], (), by)}
            found |= {Position(*of) for of in change.detail.get(UNDONE, ())}
        return found

    def _is_so(self, deltas: Sequence[TableDelta], head: Position) -> bool:
        """Whether slots are as a commit left them: a REVERT may have undone a RESTORE."""
        placed = {part.slot for delta in deltas for part in delta.placed}
        removed = {slot for delta in deltas for slot in delta.removed}
        there = self.sides.state(head).parts.keys()
        return placed <= there and there.isdisjoint(removed - placed)

    def standing(self, head: Position, side: Side) -> tuple[Scope, ...]:
        """The overwrites that changed something against one of the bases; of theirs, those that are news to ours."""
        states = [self.sides.state(base) for base in self.at.bases[1:] and self.at.bases]
        sides = [side, *(side_of(state, side.head, []) for state in states)]
        taken = self._taken(head)
        stand = [s for s in self.of(head) if any(stands(s, taken, one, self.sides.origins) for one in sides)]
        if head == self.at.theirs and stand and self.sides.ours_moved:
            known = {scope.of for scope in self.of(self.at.ours)} - self._reverted()  # had, by a merge or pick
            stand = [scope for scope in stand if scope.of not in known]
        old = any if head == self.at.theirs else all  # what bases disagree on, ours has done
        return tuple(scope for scope in stand if not old(self._known_to_bases(scope)))

    def _known_to_bases(self, scope: Scope) -> list[bool]:
        """Whether each base has the overwrite; theirs may have it again by a merge."""
        merges = self.catalog.merges()
        reach = (reached(base, self.catalog.origin, merges) for base in self.at.bases)
        return [scope.of is not None and reaches(scope.of, one, self.catalog.origin) for one in reach]

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
        """What overwrites took from a head's rows, since the version that it shares with the bases."""
        if head not in self._took:
            start = self.catalog.state(Position(head.branch_id, self.sides.reads.history.shared(head)), self.sides.id)
            taken = taken_by_overwrites(
                start, self.sides.deltas(head), self.sides.origins, restored(self.sides.changes(head))
            )
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
