"""What merge, cherry-pick and revert have in common: their options, and how their outcome is told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from anabranch.cli.conflict_view import SHOWN, called, conflict_lines, first, next_steps, record
from anabranch.cli.exits import CONFLICT, OK
from anabranch.cli.output import plain, print_json, print_table
from anabranch.cli.progress import working
from anabranch.cli.refs import count
from anabranch.cli.settings import Settings
from anabranch.errors import Conflicts, MergeConflict
from anabranch.model.words import counted

if TYPE_CHECKING:
    from anabranch.commands.merge_branch import MergeReport
    from anabranch.model.conflict import Choice

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
SIDES: tuple[Choice, ...] = ("ours", "theirs")
DETECTS = ("file", "row", "cell")
AS_SET = "as the table or the lake says"
Run = Callable[..., "MergeReport"]
"""Merges with `detect`, `resolve` and `dry_run`."""


def arguments(parser: argparse.ArgumentParser, otherwise: str = "row") -> None:
    """`otherwise`: what is compared where nothing is said; a pick or a revert compares rows."""
    detect(parser, otherwise)
    parser.add_argument("--resolve", choices=SIDES, help="who wins where both changed the same")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")
    limit(parser)


def limit(parser: argparse.ArgumentParser) -> None:
    told = f"only the first N conflicts; 0 for all ({SHOWN}, or all with --json)"
    parser.add_argument("-n", "--limit", metavar="N", type=count, help=told)


def detect(parser: argparse.ArgumentParser, otherwise: str = AS_SET) -> None:
    parser.add_argument("--detect", choices=DETECTS, help=f"what conflicts; else {otherwise}")


@dataclass(frozen=True)
class Meeting:
    """One attempt to bring `theirs` to the branch `into`."""

    verb: str
    theirs: str
    into: str
    run: Run
    given: Sequence[str] = ()
    """The options that settle some of the conflicts, to be typed again with those that settle the others."""

    def attempt(self, settings: Settings, args: argparse.Namespace) -> int:
        """Merges, prints what came of it, and gives the exit code."""
        try:
            with working(f"{self.verb}…"):
                report = self.run(detect=args.detect, resolve=args.resolve, dry_run=args.dry_run)
        except MergeConflict as conflict:
            if settings.json:
                conflict.conflicts = Conflicts(first(conflict.conflicts, args.limit))
                raise
            said = _REFUSED[self.verb].format(theirs=self.theirs, into=self.into)
            said += f": {counted(len(conflict.conflicts), 'conflict')}."
            lines = [f"anabranch: error: {said}", "", *self._told(conflict, settings, args, sys.stderr)]
            print("\n".join(lines), file=sys.stderr, flush=True)
            return CONFLICT
        if report.refusal is not None and not settings.json:
            with working("looking for ways out…"):
                refused = report.refusal()
            print("\n".join(self._told(refused, settings, args, sys.stdout)))
        else:
            self._print(report, settings, args)
        return CONFLICT if report.conflicts else OK

    def _told(self, conflict: MergeConflict, settings: Settings, args: argparse.Namespace, stream: TextIO) -> list[str]:
        shown = conflict_lines(conflict.conflicts, args.limit, stream=stream)
        return [*shown, "", *self._next(settings, conflict, args)]

    def _next(self, settings: Settings, conflict: MergeConflict, args: argparse.Namespace) -> list[str]:
        found = conflict.conflicts, conflict.passing
        way_out = conflict.settling, conflict.way_out
        asked = settings.typed(self.into), self.verb, self.theirs
        return next_steps(*asked, *found, self.into, args.detect, *way_out, given=self.given)

    def _print(self, report: MergeReport, settings: Settings, args: argparse.Namespace) -> None:
        changes = [] if report.up_to_date or report.conflicts else [row.asDict() for row in report.result()]
        if settings.json:
            version = report.commit.version if report.commit else None
            told = {"branch": self.into, "version": version, "up_to_date": report.up_to_date, "dry_run": args.dry_run}
            changes = [{name: plain(value) for name, value in row.items() if name != "status"} for row in changes]
            conflicts = [record(one) for one in first(report.conflicts, args.limit)]
            print_json(told | {"changes": changes, "conflicts": conflicts})
        elif report.up_to_date:
            print(_NOTHING[self.verb].format(theirs=called(self.theirs), into=self.into))
        else:
            columns = ["object", "change", "rows_added", "rows_removed"]
            print_table(columns, [[row[name] for name in columns] for row in changes])
            done = f"{self.into} is at version {report.commit.version}" if report.commit else "nothing was changed"
            print(done)
