"""Arguments that several commands take."""

from __future__ import annotations

import argparse

from anabranch.cli.exits import Usage
from anabranch.texts import is_number


def ref(text: str) -> str | int:
    """A number alone is a version of the branch that the command is on."""
    return int(text) if is_number(text) else text


def given(text: str) -> str:
    """A name or a path. An empty one is a variable that somebody forgot to set: it must not mean something else."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"'{text}' names nothing: say which one, or leave it out")
    return text


def count(text: str) -> int:
    if not is_number(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 0 or more")
    return int(text)


def naming(parser: argparse.ArgumentParser, kind: str) -> None:
    """What `branch` and `tag` take: nothing, NAME [START], -d NAME, or -m OLD NEW."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"create this {kind}")
    start = "at a branch, tag, version or branch@version; else at the head of --branch"
    parser.add_argument("start", nargs="?", metavar="START", type=ref, help=start)
    parser.add_argument("--from", dest="source", metavar="REF", help="the same, as an option")
    parser.add_argument("--at", metavar="VERSION", type=count, help="at a version of it; else at its head")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("-d", "--delete", metavar="NAME", help=f"drop a {kind}")
    instead.add_argument("-m", "--move", nargs=2, metavar=("OLD", "NEW"), help=f"rename a {kind}")


def check_naming(args: argparse.Namespace) -> None:
    if args.name is not None and (args.delete is not None or args.move is not None):
        raise Usage("one thing at a time: NAME, -d or -m.")
    if args.start is not None and (args.source is not None or args.at is not None):
        raise Usage("START says it already: leave out --from and --at.")
    if args.name is None and (args.source is not None or args.at is not None):
        raise Usage("--from and --at go with a NAME to create.")


def start_of(args: argparse.Namespace) -> tuple[str | None, int | None]:
    """The ref and the version at which to create."""
    if isinstance(args.start, int):
        return None, args.start
    return args.source if args.start is None else args.start, args.at
