"""What `branch` and `tag` have in common: they list, create, rename or drop."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from anabranch.cli.exits import Usage
from anabranch.cli.output import print_json
from anabranch.cli.refs import count, ref
from anabranch.cli.settings import Settings

if TYPE_CHECKING:
    from anabranch.lake import Lake

Kind = Literal["branch", "tag"]
Show = Callable[["Lake", Settings], None]


def arguments(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """Nothing, NAME [START], -d NAME, or -m OLD NEW."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"create this {kind}")
    start = "at a branch, tag, version or branch@version; else at the head of --branch"
    parser.add_argument("start", nargs="?", metavar="START", type=ref, help=start)
    parser.add_argument("--from", dest="source", metavar="REF", help="the same, as an option")
    parser.add_argument("--at", metavar="VERSION", type=count, help="at a version of it; else at its head")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("-d", "--delete", metavar="NAME", help=f"drop a {kind}")
    instead.add_argument("-m", "--move", nargs=2, metavar=("OLD", "NEW"), help=f"rename a {kind}")


def run(kind: Kind, show: Show, settings: Settings, args: argparse.Namespace) -> None:
    """`show`: prints what there is, where nothing is asked for."""
    _check(args)
    with settings.open() as lake:
        if args.delete is not None:
            drop = lake.drop_branch if kind == "branch" else lake.drop_tag
            drop(args.delete)
            said, record = f"{kind} {args.delete} dropped", {kind: args.delete, "dropped": True}
        elif args.move is not None:
            old, new = args.move
            rename = lake.rename_branch if kind == "branch" else lake.rename_tag
            rename(old, new)
            said, record = f"{kind} {old} is now {new}", {kind: new, "renamed_from": old}
        elif args.name is not None:
            make = lake.create_branch if kind == "branch" else lake.create_tag
            version = make(args.name, *_start(args)).version
            said, record = f"{kind} {args.name} at version {version}", {kind: args.name, "version": version}
        else:
            show(lake, settings)
            return
    print_json(record) if settings.json else print(said)


def _check(args: argparse.Namespace) -> None:
    if args.name is not None and (args.delete is not None or args.move is not None):
        raise Usage("one thing at a time: NAME, -d or -m.")
    if args.start is not None and (args.source is not None or args.at is not None):
        raise Usage("START says it already: leave out --from and --at.")
    if args.name is None and (args.source is not None or args.at is not None):
        raise Usage("--from and --at go with a NAME to create.")


def _start(args: argparse.Namespace) -> tuple[str | None, int | None]:
    """The ref and the version at which to create."""
    if isinstance(args.start, int):
        return None, args.start
    return args.source if args.start is None else args.start, args.at
