"""Runs the statements of branches that meet."""

from __future__ import annotations

from anabranch.commands import diff, merge_branch, sections
from anabranch.commands.asked import commit_of, tables_of, wishes
from anabranch.commands.conflicts import conflict_table, report_table
from anabranch.commands.result import Result
from anabranch.commands.session import Session
from anabranch.sql import statements as s
from anabranch.sql.frames import open_use


def run_merge(session: Session, x: s.MergeBranch) -> Result:
    ours = _on(session, x.ours)
    tables = tables_of(ours, x.theirs, {name.parts: side for name, side in x.tables.items()})
    asked = wishes(x.detect, x.resolve, tables)
    return report_table(merge_branch.merge_branch(ours, x.theirs, asked, dry_run=x.dry_run))


def run_conflicts(session: Session, x: s.ShowConflicts) -> Result:
    asked = wishes(x.detect, None)
    return conflict_table(merge_branch.merge_branch(_on(session, x.ours), x.theirs, asked, dry_run=True).conflicts)


def run_cherry_pick(session: Session, x: s.CherryPick) -> Result:
    asked = wishes(x.detect, x.resolve)
    return report_table(merge_branch.cherry_pick(session, commit_of(session, x.commit), asked, dry_run=x.dry_run))


def run_revert(session: Session, x: s.Revert) -> Result:
    asked = wishes(x.detect, x.resolve)
    return report_table(merge_branch.revert(session, commit_of(session, x.commit), asked, dry_run=x.dry_run))


def run_diff(session: Session, x: s.Diff) -> Result:
    old, new = session.resolve(x.old), session.resolve(x.new)
    if x.table is None:
        return diff.diff(session, old, new)
    return diff.diff_table(session, old, new, x.table.parts)


def run_sections(session: Session, x: s.DescribeSections) -> Result:
    return sections.sections(session, open_use(session, x.name), x.against).result()


def _on(session: Session, branch: str | None) -> Session:
    return session if branch is None else session.on(session.catalog.branch(branch).id)
