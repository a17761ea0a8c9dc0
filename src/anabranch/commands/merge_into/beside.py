"""Whether a MERGE INTO fits beside what others committed meanwhile: LAW.md, "Concurrent commits".

Rows that both wrote are compared as for any statement. Besides, no row that others brought meanwhile may be one that ON
would match: the MERGE has not seen it, and would have changed it, or not have inserted. Under `serializable` a row that
NOT MATCHED BY SOURCE would act on counts as well. What does not fit runs again. Blind writes of keyed tables compare
nothing: the order of commits is their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from anabranch.branching.admit import Moved
from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.reach import flat_target, target_plan
from anabranch.commands.merge_into.rows import meet
from anabranch.commands.session import OpenTable, Session
from anabranch.commands.unseen import MOST_BYTES, unseen_rows, view_of
from anabranch.errors import CommitConflict, NeedsSpark
from anabranch.execution.reader import read_table
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position
from anabranch.model.records import CommitRequest
from anabranch.model.state import TableState
from anabranch.model.words import counted


@dataclass(frozen=True)
class Beside:
    """`source`: its rows under flat names, if they are here. `by_key`: ON is the table's primary key."""

    session: Session
    table: OpenTable
    bound: BoundMerge
    source: pa.Table | None
    by_key: bool = False

    def admit(self, request: CommitRequest, moved: Moved) -> None:
        self.session.admit(request, moved, reads_rows=False)  # which rows ON and the clauses mean is asked here
        if not any(change.object_id == self.table.id for _, change in moved):
            return
        head = Position(self.table.position.branch_id, moved[-1][0].version)
        since = self.session.catalog.deltas(head, self.table.id, request.base.version)
        unseen = unseen_rows(self.session, self.table.id, head, since, keyed=bool(self.table.schema.primary_key))
        rows = self._matching(unseen, request) if unseen.parts else 0
        if rows:
            said = "rows were written meanwhile" if rows < 0 else f"{counted(rows, 'row')} written meanwhile"
            found = ConflictRecord(f"table {self.table.name}", "table", "ON would match", said, "MERGE INTO")
            raise CommitConflict(
                f"the branch moved while 'MERGE INTO' ran, and the two do not fit together: {found}. "
                "Nothing was written; run the statement again.",
                [found],
                [self.table.id],
            )

    def _matching(self, unseen: TableState, request: CommitRequest) -> int:
        """How many of these rows ON matches; -1: perhaps some."""
        if self.source is None or (self.table.schema.primary_key and not self.by_key):
            return -1
        if self.bound.of("not matched by source") and any(c.detail.get("serializable") for c in request.changes):
            return -1
        view = view_of(self.session, self.table.name, self.table.schema, unseen)
        plan = target_plan(view, self.bound, self.source, self.bound.on_columns, unmatched=False)
        if not plan.parts:
            return 0
        if plan.bytes > MOST_BYTES:
            return -1
        try:
            return len(meet(self.bound, flat_target(read_table(plan), self.bound), self.source).target)
        except NeedsSpark:
            return -1
