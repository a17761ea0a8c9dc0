"""Whether a MERGE INTO fits beside what others committed meanwhile: LAW.md, "Concurrent commits".

Rows that both wrote are compared as for any statement. Besides, no fresh part of the others may hold a row that ON
would match: the MERGE has not seen it, and would have changed it, or not have inserted. What does not fit runs again.
This is asked while the branch's head is locked, so little is read: parts that their statistics do not exclude, and of
these the columns of ON. Blind writes of keyed tables compare nothing: the order of commits is their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from anabranch.branching.admit import Moved
from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.reach import flat_target, target_plan
from anabranch.commands.merge_into.rows import meet
from anabranch.commands.session import OpenTable, Session
from anabranch.errors import CommitConflict, NeedsSpark
from anabranch.execution.plan import TableView
from anabranch.execution.reader import read_table
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import CommitRequest
from anabranch.model.state import TableState
from anabranch.model.words import counted

MOST_BYTES = 8 << 20
"""Others' parts of more than this are not read while the head is locked: the MERGE runs again instead."""


@dataclass(frozen=True)
class Beside:
    """`source`: its rows under flat names, if they are here. `by_key`: ON is the table's primary key."""

    session: Session
    table: OpenTable
    bound: BoundMerge
    source: pa.Table | None
    by_key: bool = False

    def admit(self, request: CommitRequest, moved: Moved) -> None:
        self.session.admit(request, moved)
        if not any(change.object_id == self.table.id for _, change in moved):
            return
        head = Position(self.table.position.branch_id, moved[-1][0].version)
        since = self.session.catalog.deltas(head, self.table.id, request.base.version)
        fresh = {part.slot: part for delta in since for part in delta.placed}
        rows = self._matching(fresh, head) if fresh else 0
        if rows:
            said = "rows were written meanwhile" if rows < 0 else f"{counted(rows, 'row')} written meanwhile"
            found = ConflictRecord(f"table {self.table.name}", "table", "ON would match", said, "MERGE INTO")
            raise CommitConflict(
                f"the branch moved while 'MERGE INTO' ran, and the two do not fit together: {found}. "
                "Nothing was written; run the statement again.",
                [found],
                [self.table.id],
            )

    def _matching(self, fresh: dict[int, Part], head: Position) -> int:
        """How many rows of these parts ON matches; -1: perhaps some."""
        if self.source is None or (self.table.schema.primary_key and not self.by_key):
            return -1
        written = {id: self.session.catalog.schema(self.table.id, id) for id in {p.schema_id for p in fresh.values()}}
        state = TableState(self.table.id, head, fresh, {})
        view = TableView(self.table.name, self.table.schema, state, written, self.session.folder(self.table.id))
        plan = target_plan(view, self.bound, self.source, self.bound.on_columns, unmatched=False)
        if not plan.parts:
            return 0
        if plan.bytes > MOST_BYTES:
            return -1
        try:
            return len(meet(self.bound, flat_target(read_table(plan), self.bound), self.source).target)
        except NeedsSpark:
            return -1
