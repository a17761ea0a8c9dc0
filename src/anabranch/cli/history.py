"""Show the commits that changed a table, newest first."""

from __future__ import annotations

import argparse

from anabranch.cli.commits import print_commits
from anabranch.cli.refs import count
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="database.table, or database.table@ref")
    parser.add_argument("-n", "--limit", metavar="N", type=count, help="only the newest N; 0 for all (all)")
    parser.add_argument("--long", action="store_true", help="several lines a commit, with its id")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake:
        commits = lake.table(args.table).history(args.limit or None)
        print_commits(lake, commits, settings, long=args.long, made_on=True)
