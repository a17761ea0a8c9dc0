"""Show the columns of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from anabranch.cli.output import print_json, print_json_rows, print_table
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.commands.result import Result


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="database.table, or database.table@ref")
    parser.add_argument("-x", "--extended", action="store_true", help="its properties, parts, rows and bytes as well")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake:
        result = lake.table(args.table).describe(extended=args.extended)
    if not settings.json:
        print_table(result.columns, result)
    elif args.extended:
        print_json(_as_object(result))
    else:
        print_json_rows(result.columns, result)


def _as_object(result: Result) -> dict[str, Any]:
    """The table's own attributes, and its columns as a list."""
    rows = [row.asDict() for row in result]
    own = {row["column"].removeprefix("# ").replace(" ", "_"): row["type"] for row in rows if row["column"][:2] == "# "}
    return own | {"columns": [row for row in rows if row["column"] and row["column"][:2] != "# "]}
