"""Show what turns one state into another: databases, tables, columns, properties, rows.

With A alone: from A to the branch. Without both: what the branch did since its fork. A and B are branches, tags,
versions or branch@version.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from anabranch.cli.exits import Usage
from anabranch.cli.output import cell, print_json_rows, print_table
from anabranch.cli.progress import working
from anabranch.cli.refs import count, given, ref
from anabranch.cli.screen import styled
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake

_SIGNS = {"added": "+", "set": "+", "dropped": "-", "unset": "-"}
_STYLES = {"+": "green", "-": "red"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", nargs="?", metavar="A", type=ref, help="from here")
    parser.add_argument("b", nargs="?", metavar="B", type=ref, help="to here; else the branch")
    parser.add_argument("--table", metavar="DATABASE.TABLE", type=given, help="the rows of one table")
    parser.add_argument("-n", "--limit", metavar="ROWS", type=count, default=100, help="rows of it; 0 for all (100)")


def run(settings: Settings, args: argparse.Namespace) -> None:
    with settings.open() as lake, working("comparing…"):
        found = lake.diff(_fork(lake) if args.a is None else args.a, args.b, args.table)
    if settings.json:
        print_json_rows(found.columns, found)
    elif args.table is None:
        for line in _told(found):
            print(line)
    elif len(found):
        shown = list(found)[: args.limit or None]
        print_table(found.columns, [[cell(value) for value in row] for row in shown])
        if len(shown) < len(found):
            print(f"({len(shown)} of {len(found):,} lines: --limit 0 shows all)")


def _fork(lake: Lake) -> str:
    branches = {branch.name: branch for branch in lake.branches()}
    names = {branch.id: branch.name for branch in branches.values()}
    branch = branches[lake.branch]
    if branch.parent_id is None:
        raise Usage(f"{branch.name} has no fork to compare with: name what to compare, `anabranch diff A [B]`.")
    # Up to its fork, the branch's own history is its parent's, which may be dropped.
    return f"{names.get(branch.parent_id, branch.name)}@{branch.fork}"


def _told(lines: Iterable[Any]) -> Iterable[str]:
    """One line a difference, under the table that it is about."""
    told = None
    for line in lines:
        alone = line.kind in ("database", "table") and line.change != "renamed"
        if not alone and line.object != told:
            yield styled(line.object, "bold")
        told = line.object
        sign = _SIGNS.get(line.change, "~")
        text = f"{sign} {line.kind} {line.object}{_rows(line)}" if alone else f"    {sign} {_change(line)}"
        yield styled(text, _STYLES[sign]) if sign in _STYLES else text


def _change(line: Any) -> str:
    if line.kind == "rows":
        return f"rows: {line.inserted:,} inserted, {line.deleted:,} deleted, {line.updated:,} updated"
    if line.change in _SIGNS:
        return f"{line.kind} {line.after if line.after is not None else line.before}"
    before, after = ("(none)" if value is None else value for value in (line.before, line.after))
    return f"{line.kind} {line.change}: {before} -> {after}"


def _rows(line: Any) -> str:
    rows = (line.inserted or 0) + (line.deleted or 0)
    return f" ({rows:,} {'row' if rows == 1 else 'rows'})" if line.kind == "table" else ""
