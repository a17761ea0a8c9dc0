"""Make a table, a database or the whole branch what it was at a version.

This is a new commit: nothing is lost, and it can be undone the same way.
"""

from __future__ import annotations

import argparse

from anabranch.cli.output import print_json
from anabranch.cli.progress import working
from anabranch.cli.refs import count, given
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="VERSION", type=count, required=True, help="the version to go back to")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", metavar="DATABASE.TABLE", type=given)
    what.add_argument("--database", metavar="DATABASE", type=given)
    what.add_argument("--all", action="store_true", help="everything on the branch")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake, working("restoring…"):
        commit = lake.restore(args.to, table=args.table, database=args.database)
    if settings.json:
        print_json({"restored": commit is not None, "version": commit.version if commit else None})
    elif commit:
        print(f"restored as version {commit.version}")
    else:
        print(f"nothing differs from version {args.to}")
