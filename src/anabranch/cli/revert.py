"""Undo what one commit did, as a new commit; a merge too."""

from __future__ import annotations

import argparse
from functools import partial

from anabranch.cli import merging
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("commit", metavar="COMMIT", help="a version, branch@version, or an id or its beginning")
    merging.arguments(parser)


def run(settings: Settings, args: argparse.Namespace) -> int:
    with settings.open() as lake:
        undo = partial(lake.revert, args.commit)
        return merging.Meeting("revert", args.commit, lake.branch, undo).attempt(settings, args)
