"""The ground that a merge was planned on: what others may do to ours meanwhile, so that the plan holds as it is.

Tables are merged by themselves, so what happens to one that theirs left alone asks for no other plan, unless it comes,
goes or is renamed while the merge gives names or changes databases. Rows that were inserted meanwhile stand beside rows
that theirs inserted, in every `detect`; only statements of theirs, or a key, would ask for them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anabranch.branching.admit import Moved
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.merge_reads import History
from anabranch.model.records import Change

_INSIDE = frozenset({"insert", "delete", "update", "overwrite", "compaction", "properties", "comment", "column",
                     "partition"})  # fmt: skip
"""What can be done to a table without anybody's name being given or given up."""
_GIVES_NAMES = frozenset({"create", "restore", "rename", "drop"})


@dataclass(frozen=True)
class Ground:
    """`touched` are the tables that theirs touched, also where nothing comes of it; `tables` are those of the plan."""

    history: History
    touched: Collection[str]
    tables: Mapping[str, TableMerge]
    changes_databases: bool
    """Or may: theirs did, or a table needs one that ours lacks."""

    def lost_to(self, moved: Moved) -> Moved:
        """What happened to ours that asks for another plan."""
        theirs = {*self.touched, *self.tables}
        names = self.changes_databases or any(
            operation in _GIVES_NAMES for made in self.tables.values() for operation, _ in made.operations
        )
        inside = {id: self._only_grows(id) for id in {change.object_id for _, change in moved} & theirs}
        return [
            (commit, change)
            for commit, change in moved
            if not (
                inside[change.object_id] and (commit.operation, change.operation) == ("INSERT", "insert")
                if change.object_id in inside
                else _is_apart(change, names=names)
            )
        ]

    def _only_grows(self, table_id: str) -> bool:
        """Whether theirs has only inserted into an append table, and the merge only adds these rows."""
        made = self.tables.get(table_id)
        return (
            made is not None
            and made.record is not None
            and made.record == made.before
            and made.schema is not None
            and not made.schema.primary_key
            and not (made.new_schema or made.hidden or made.partitions or made.resolved)
            and made.combined is None
            and {operation for operation, _ in made.operations} == {"insert"}
            and all(delta.cause == "insert" for delta in made.deltas)
            and not any(delta.removed or delta.killed or delta.revived for delta in made.deltas)
            and self.history.inserted_only(table_id)
        )


def _is_apart(change: Change, *, names: bool) -> bool:
    """Of an object that the merge leaves alone. `names`: the merge gives some."""
    return change.kind == "table" and (not names or change.operation in _INSIDE)
