"""List, create, rename or drop tags: names of a version that do not move."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anabranch.cli import naming
from anabranch.cli.output import aligned, print_json
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake


def arguments(parser: argparse.ArgumentParser) -> None:
    naming.arguments(parser, "tag")


def run(settings: Settings, args: argparse.Namespace) -> None:
    naming.run("tag", _list, settings, args)


def _list(lake: Lake, settings: Settings) -> None:
    branches = {branch.id: branch for branch in lake.branches(dropped=True)}
    tags = [(tag.name, branches[tag.branch_id], tag.version) for tag in lake.tags()]
    if settings.json:
        named = [(name, None if branch.dropped else branch.name, version) for name, branch, version in tags]
        print_json([{"tag": name, "branch": branch, "version": version} for name, branch, version in named])
        return
    for line in aligned(
        [[name, f"{branch.name}@{version}{' (dropped)' * branch.dropped}"] for name, branch, version in tags]
    ):
        print(line)
