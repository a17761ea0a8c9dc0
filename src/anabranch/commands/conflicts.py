"""Conflicts as a table: one line each, in the order in which the merge met them."""

from __future__ import annotations

from anabranch.commands.merge_branch import MergeReport
from anabranch.commands.result import Result
from anabranch.errors import Conflicts


def conflict_table(conflicts: Conflicts) -> Result:
    return Result(conflicts.COLUMNS, conflicts.rows())


def report_table(report: MergeReport) -> Result:
    """What stands against the merge, or else what it does."""
    return conflict_table(report.conflicts) if report.conflicts else report.result()
