"""What merge, cherry-pick and revert have in common: their options, and how their outcome is told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.cli.conflict_view import called, conflict_lines, next_steps, record
from anabranch.cli.exits import CONFLICT, OK
from anabranch.cli.output import plain, print_json, print_table
from anabranch.cli.progress import working
from anabranch.cli.settings import Settings
from anabranch.errors import MergeConflict

if TYPE_CHECKING:
    from anabranch.commands.merge_branch import MergeReport

_REFUSED = {
    "merge": "'{theirs}' and '{into}' do not fit together",
    "cherry-pick": "'{theirs}' cannot be picked onto '{into}'",
    "revert": "'{theirs}' cannot be undone on '{into}'",
}
_NOTHING = {
    "merge": "{into} is up to date with {theirs}",
    "cherry-pick": "nothing of {theirs} is new to {into}",
    "revert": "nothing of {theirs} is left to undo on {into}",
}
AS_SET = "as the table or the lake says"
Run = Callable[..., "MergeReport"]
"""Merges with `detect`, `resolve` and `dry_run`."""


def arguments(parser: argparse.ArgumentParser, otherwise: str = "row") -> None:
    """`otherwise`: what is compared where nothing is said; a pick or a revert compares rows."""
    detect(parser, otherwise)
    parser.add_argument("--resolve", choices=("ours", "theirs"), help="who wins where both changed the same")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")


def detect(parser: argparse.ArgumentParser, otherwise: str = AS_SET) -> None:
    parser.add_argument("--detect", choices=("file", "row", "cell"), help=f"what conflicts; else {otherwise}")


@dataclass(frozen=True)
class Meeting:
    """One attempt to bring `theirs` to the branch `into`."""

    verb: str
    theirs: str
    into: str
    run: Run

    def attempt(self, settings: Settings, args: argparse.Namespace) -> int:
        """Merges, prints what came of it, and gives the exit code."""
        try:
            with working(f"{self.verb}…"):
                report = self.run(detect=args.detect, resolve=args.resolve, dry_run=args.dry_run)
        except MergeConflict as conflict:
            if settings.json:
                raise
            count = len(conflict.conflicts)
            said = _REFUSED[self.verb].format(theirs=self.theirs, into=self.into)
            said += f": {count:,} conflict{'s' * (count != 1)}."
            lines = [f"anabranch: error: {said}", "", *conflict_lines(conflict.conflicts)]
            lines += ["", *self._next(settings, conflict, args.detect)]
            print("\n".join(lines), file=sys.stderr, flush=True)
            return CONFLICT
        self._print(report, settings, dry_run=args.dry_run)
        return CONFLICT if report.conflicts else OK

    def _next(self, settings: Settings, conflict: MergeConflict, detect: str | None) -> list[str]:
        typed = settings.typed(self.into)
        found = conflict.conflicts, conflict.passing
        way_out = conflict.settling, conflict.way_out
        return next_steps(typed, self.verb, self.theirs, *found, self.into, detect, *way_out)

    def _print(self, report: MergeReport, settings: Settings, *, dry_run: bool) -> None:
        changes = [] if report.up_to_date else [row.asDict() for row in report.result()]
        if settings.json:
            version = report.commit.version if report.commit else None
            told = {"branch": self.into, "version": version, "up_to_date": report.up_to_date, "dry_run": dry_run}
            changes = [{name: plain(value) for name, value in row.items() if name != "status"} for row in changes]
            print_json(told | {"changes": changes, "conflicts": [record(one) for one in report.conflicts]})
        elif report.up_to_date:
            print(_NOTHING[self.verb].format(theirs=called(self.theirs), into=self.into))
        elif report.conflicts:
            print("\n".join(conflict_lines(report.conflicts)))
        else:
            columns = ["object", "change", "rows_added", "rows_removed"]
            print_table(columns, [[row[name] for name in columns] for row in changes])
            done = f"{self.into} is at version {report.commit.version}" if report.commit else "nothing was changed"
            print(done)
