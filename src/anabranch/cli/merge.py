"""Merge a branch, a tag or branch@version into the branch, as one commit.

With conflicts nothing changes and the exit code is 3; they are shown with what to type next.

A file of resolutions is a JSON object of tables, each with its rows: {"d.t": [{"_row_id": 4294967296, "id": 1}, …]}.
A row has the id that its conflict shows and every column as it shall be, or "_kind": "-D" if it shall be gone. Rows of
keyed tables go by their key, without a "_row_id".
"""

from __future__ import annotations

import argparse
from functools import partial

from anabranch.cli import merging, resolutions
from anabranch.cli.exits import Usage
from anabranch.cli.refs import given
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("theirs", metavar="THEIRS", help="branch, tag or branch@version")
    parser.add_argument("--into", metavar="BRANCH", help="the branch to merge into; else --branch, else main")
    merging.arguments(parser, merging.AS_SET)
    parser.add_argument(
        "--resolve-table", metavar="DATABASE.TABLE=SIDE", action="append", default=[], help="who wins in one table"
    )
    parser.add_argument(
        "--resolutions", metavar="FILE", type=given, help="row by row, as JSON; - reads it from the input"
    )


def run(settings: Settings, args: argparse.Namespace) -> int:
    tables: dict[str, str] = {}
    for table, side in map(_one, args.resolve_table):
        if tables.setdefault(table, side) != side:
            raise Usage(f"'{table}' can take one side, not both: say --resolve-table {table}=… once.")
    given = [word for text in args.resolve_table for word in ("--resolve-table", text)]
    given += ["--resolutions", args.resolutions] if args.resolutions else []
    with settings.open() as lake:
        on = lake if args.into is None else lake.on(args.into)
        into = on.branch
        rows = resolutions.read(args.resolutions, on, args.theirs) if args.resolutions else None
        merge = partial(lake.merge, args.theirs, args.into, resolve_tables=tables, resolutions=rows)
        return merging.Meeting("merge", args.theirs, into, merge, given).attempt(settings, args)


def _one(text: str) -> tuple[str, str]:
    table, equals, side = text.rpartition("=")
    if not equals or side not in ("ours", "theirs"):
        raise Usage(f"'{text}' does not say which side a table takes: write --resolve-table d.t=ours, or =theirs.")
    return table, side
