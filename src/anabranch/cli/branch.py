"""List, create, rename or drop branches.

Without arguments: the list, with a star at the branch that --branch names.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anabranch.cli.output import aligned, print_json, styled
from anabranch.cli.refs import check_naming, naming
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake


def arguments(parser: argparse.ArgumentParser) -> None:
    naming(parser, "branch")


def run(settings: Settings, args: argparse.Namespace) -> None:
    check_naming(args)
    with settings.open() as lake:
        if args.delete:
            lake.drop_branch(args.delete)
            said, record = f"branch {args.delete} dropped", {"branch": args.delete, "dropped": True}
        elif args.move:
            old, new = args.move
            lake.rename_branch(old, new)
            said, record = f"branch {old} is now {new}", {"branch": new, "renamed_from": old}
        elif args.name:
            made = lake.create_branch(args.name, args.source, args.at)
            name, version = made.branch, made.version
            said, record = f"branch {name} at version {version}", {"branch": name, "version": version}
        else:
            _list(lake, settings)
            return
    print_json(record) if settings.json else print(said)


def _list(lake: Lake, settings: Settings) -> None:
    current, branches = lake.branch, lake.branches()
    names: dict[int | None, str] = {branch.id: branch.name for branch in branches}
    if settings.json:
        records = []
        for branch in branches:
            fork = None if branch.parent_id is None else branch.fork
            known = {"branch": branch.name, "current": branch.name == current, "parent": names.get(branch.parent_id)}
            records.append(known | {"fork": fork, "head": branch.head})
        print_json(records)
        return
    rows = []
    for branch in branches:
        parent = "" if branch.parent_id is None else f"from {names.get(branch.parent_id, '(dropped)')}@{branch.fork}"
        rows.append(["*" if branch.name == current else " ", branch.name, f"version {branch.head}", parent])
    for line in aligned(rows):
        print(styled(line, "green") if line.startswith("*") else line)
