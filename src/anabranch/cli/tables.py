"""List the tables of a branch, or of one database of it."""

from __future__ import annotations

import argparse

from anabranch.cli.output import print_json
from anabranch.cli.refs import given
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("database", nargs="?", metavar="DATABASE", type=given)


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake:
        names = lake.tables(args.database)
    if settings.json:
        print_json(names)
        return
    for name in names:
        print(name)
