"""Do on the branch what one commit did elsewhere, as a new commit."""

from __future__ import annotations

import argparse
from functools import partial

from anabranch.cli import merging
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("commit", metavar="COMMIT", help="branch@version, or an id or its beginning (log --long)")
    merging.arguments(parser)


def run(settings: Settings, args: argparse.Namespace) -> int:
    with settings.open() as lake:
        pick = partial(lake.cherry_pick, args.commit)
        return merging.Meeting("cherry-pick", args.commit, lake.branch, pick).attempt(settings, args)
