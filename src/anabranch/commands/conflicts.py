"""Conflicts as a table: one line each, in the order in which the merge met them."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.commands.merge_branch import MergeReport
from anabranch.commands.result import Result
from anabranch.model.conflict import ConflictRecord

COLUMNS = ("object", "kind", "rule", "row", "column", "base", "ours", "theirs")


def conflict_table(conflicts: Sequence[ConflictRecord]) -> Result:
    return Result(COLUMNS, [[getattr(conflict, name) for name in COLUMNS] for conflict in conflicts])


def report_table(report: MergeReport) -> Result:
    """What stands against the merge, or else what it does."""
    return conflict_table(report.conflicts) if report.conflicts else report.result()
