"""Show the commits of a branch, newest first.

One line a commit: version, time (UTC), author, operation, what it was about, and the branches and tags there.
"""

from __future__ import annotations

import argparse

from anabranch.cli.commits import print_commits, print_graph
from anabranch.cli.refs import count, ref
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", metavar="REF", type=ref, help="branch, tag, version or branch@version")
    parser.add_argument("-n", "--limit", metavar="N", type=count, help="only the newest N; 0 for all (all)")
    look = parser.add_mutually_exclusive_group()
    look.add_argument("--long", action="store_true", help="several lines a commit, with its id")
    look.add_argument("--graph", action="store_true", help="draw the history, with what was merged")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake:
        if args.graph:
            print_graph(lake, lake.graph(args.ref, args.limit or None), settings)
            return
        print_commits(lake, lake.log(args.ref, args.limit or None), settings, long=args.long)
