"""List, create, rename or drop branches.

Without arguments: the list, with a star at the branch that --branch names.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anabranch.cli import naming
from anabranch.cli.output import aligned, print_json
from anabranch.cli.screen import styled
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake


def arguments(parser: argparse.ArgumentParser) -> None:
    naming.arguments(parser, "branch")


def run(settings: Settings, args: argparse.Namespace) -> None:
    naming.run("branch", _list, settings, args)


def _list(lake: Lake, settings: Settings) -> None:
    branches = lake.describe_branches()
    if settings.json:
        names = ("branch", "current", "parent", "fork", "head", "ahead", "behind", "bytes_pinned")
        print_json([{name: row[name] for name in names} | {"current": bool(row.current)} for row in branches])
        return
    rows = []
    for row in branches:
        parent = "" if row.parent is None else f"from {row.parent}@{row.fork}"
        away = [f"{count} {word}" for word, count in (("ahead", row.ahead), ("behind", row.behind)) if count]
        rows.append([row.current or " ", row.branch, f"version {row.head}", parent, ", ".join(away)])
    for line in aligned(rows):
        print(styled(line, "green") if line.startswith("*") else line)
