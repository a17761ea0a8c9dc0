"""Show the columns of a table."""

from __future__ import annotations

import argparse

from anabranch.cli.output import print_json_rows, print_table
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="database.table, or database.table@ref")
    parser.add_argument("-x", "--extended", action="store_true", help="its properties, parts, rows and bytes as well")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake:
        result = lake.table(args.table).describe(extended=args.extended)
    (print_json_rows if settings.json else print_table)(result.columns, result)
