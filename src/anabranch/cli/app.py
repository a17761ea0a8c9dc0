"""Arguments in, an exit code out.

argparse, not a library on top of it: `anabranch log` has to be quick (typer alone takes a tenth of a second to import),
and `parents=` lets an option stand on either side of the command. A command imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

from anabranch import __version__
from anabranch.cli import (
    branch,
    cherry_pick,
    config,
    conflicts,
    describe,
    diff,
    history,
    init,
    log,
    merge,
    restore,
    revert,
    sql,
    tables,
    tag,
)
from anabranch.cli.ctrl import Ctrl
from anabranch.cli.exits import EXIT_CODES, Usage, report
from anabranch.cli.progress import unheard
from anabranch.cli.refs import given
from anabranch.cli.screen import replace_closed
from anabranch.cli.settings import Settings
from anabranch.errors import nearest

COMMAND = "COMMAND"


class Command(Protocol):
    """A module: the first line of its docstring is the command's help."""

    __name__: str
    __doc__: str | None

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, settings: Settings, args: argparse.Namespace) -> int | None: ...


COMMANDS: tuple[Command, ...] = (
    init, sql, log, branch, tag, diff, merge, conflicts, cherry_pick, revert, tables, describe, history, restore,
    config,
)  # fmt: skip

INSTEAD = {
    "sql": "statements come with -c",
    "merge": "the branch to merge into comes with --into",
    "conflicts": "the branch to merge into comes with --into",
}
"""How to say what a word too many was meant for."""


class Parser(argparse.ArgumentParser):
    """Reports a mistake by raising it."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message} (see `{self.prog} --help`)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """argparse would print the names of all commands."""
        known = action.choices or ()
        if action.metavar == COMMAND and value not in known:
            guess = nearest(value, known)
            hint = f". Did you mean '{guess}'?" if guess else ""
            self.error(f"'{value}' is no command{hint}")
        super()._check_value(action, value)


def run(argv: Sequence[str] | None, ctrl: Ctrl) -> int:
    """Runs one command and gives its exit code; no exception leaves."""
    replace_closed()
    words = list(sys.argv[1:] if argv is None else argv)
    # For errors in the arguments themselves, before they are parsed.
    settings = Settings(json="--json" in words, debug="--debug" in words)
    try:
        args, surplus = parser().parse_known_args(words)
        if surplus:
            raise _unrecognized(args.command, surplus)
        settings = Settings.of(args)
        with unheard(unless=settings.debug):
            code = args.run(settings, args) or 0
        sys.stdout.flush()  # a reader that went away shows here, not at the interpreter's exit
        return code
    except SystemExit as asked:  # --help and --version
        return int(asked.code or 0)
    except BaseException as error:
        return report(KeyboardInterrupt() if ctrl.pressed else error, settings)


def parser() -> argparse.ArgumentParser:
    shared = _shared()
    epilog = "exit codes:\n" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
    top = Parser(
        prog="anabranch",
        description="A data lake on Spark with branches that merge, and time travel.",
        epilog=f"{epilog}\n\n`anabranch COMMAND --help` says more about a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"anabranch {__version__}")
    commands = top.add_subparsers(title="commands", metavar=COMMAND, required=True)
    for command in COMMANDS:
        told = (command.__doc__ or "").strip()
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        sub = commands.add_parser(
            name,
            help=told.splitlines()[0].rstrip("."),
            description=told,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[shared],
            allow_abbrev=False,
        )
        command.arguments(sub)
        sub.set_defaults(run=command.run, command=name)
    return top


def _unrecognized(command: str, surplus: Sequence[str]) -> Usage:
    """By the command's own help; a word, unlike an option, was meant for something."""
    instead = "" if surplus[0].startswith("-") else INSTEAD.get(command)
    said = f"unrecognized arguments: {' '.join(surplus)}{f': {instead}' if instead else ''}"
    return Usage(f"{said} (see `anabranch {command} --help`)")


def _shared() -> Parser:
    """Options on either side of the command. Without a default: what stands on one side outlives the other."""
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("options of every command")
    group.add_argument(
        "-l", "--lake", metavar="PATH", type=given, help="the lake; else $ANABRANCH_LAKE, else the current folder"
    )
    group.add_argument(
        "--catalog", metavar="URL", type=given, help="its catalog, if that is PostgreSQL; else $ANABRANCH_CATALOG"
    )
    group.add_argument("-b", "--branch", metavar="NAME", help="the branch to work on; else main", dest="on_branch")
    group.add_argument("--json", action="store_true", help="print JSON, errors too")
    group.add_argument("--debug", action="store_true", help="show tracebacks and logs")
    return shared
