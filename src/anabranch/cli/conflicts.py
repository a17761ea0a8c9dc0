"""Show every conflict that a merge would meet; the exit code is 3 if there are any."""

from __future__ import annotations

import argparse
import sys

from anabranch.cli import merging
from anabranch.cli.conflict_view import conflict_lines, first, record
from anabranch.cli.exits import CONFLICT, OK
from anabranch.cli.output import print_json
from anabranch.cli.progress import working
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("theirs", metavar="THEIRS", help="branch, tag or branch@version")
    parser.add_argument("--into", metavar="BRANCH", help="the branch to merge into; else --branch, else main")
    merging.detect(parser)
    merging.limit(parser)


def run(settings: Settings, args: argparse.Namespace) -> int:
    with settings.open() as lake, working("comparing…"):
        into = lake.branch if args.into is None else lake.on(args.into).branch
        conflicts = lake.conflicts(args.theirs, args.into, detect=args.detect)
    if settings.json:
        print_json([record(conflict) for conflict in first(conflicts, args.limit)])
    elif conflicts:
        print("\n".join(conflict_lines(conflicts, args.limit, stream=sys.stdout)))
    else:
        print(f"{args.theirs} merges into {into} without conflicts")
    return CONFLICT if conflicts else OK
