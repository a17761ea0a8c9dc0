"""List, create, rename or drop tags: names of a version that do not move."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anabranch.cli.output import aligned, print_json
from anabranch.cli.refs import check_naming, naming, start_of
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake


def arguments(parser: argparse.ArgumentParser) -> None:
    naming(parser, "tag")


def run(settings: Settings, args: argparse.Namespace) -> None:
    check_naming(args)
    with settings.open() as lake:
        if args.delete is not None:
            lake.drop_tag(args.delete)
            said, record = f"tag {args.delete} dropped", {"tag": args.delete, "dropped": True}
        elif args.move is not None:
            old, new = args.move
            lake.rename_tag(old, new)
            said, record = f"tag {old} is now {new}", {"tag": new, "renamed_from": old}
        elif args.name is not None:
            made = lake.create_tag(args.name, *start_of(args))
            said, record = f"tag {made.name} at version {made.version}", {"tag": made.name, "version": made.version}
        else:
            _list(lake, settings)
            return
    print_json(record) if settings.json else print(said)


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
