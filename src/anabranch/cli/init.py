"""Create a lake.

A folder that holds other things is not taken over. Where there is a lake already, nothing changes.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from anabranch.cli.exits import Usage
from anabranch.cli.output import print_json
from anabranch.cli.refs import given
from anabranch.cli.settings import MAIN, Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", metavar="PATH", type=given, help="where; else --lake, else the current folder"
    )


def run(settings: Settings, args: argparse.Namespace) -> None:
    from anabranch.errors import NotALake
    from anabranch.lake import connect

    if settings.branch != MAIN:
        raise Usage(
            f"a new lake has the branch {MAIN} alone: leave out --branch, and create '{settings.branch}' in it."
        )
    settings = replace(settings, lake=args.path or settings.lake)
    try:
        lake, created = settings.open(), False
    except NotALake:
        lake, created = connect(settings.lake, settings.catalog), True
    with lake:
        if settings.json:
            print_json({"lake": settings.lake, "created": created, "branch": lake.branch, "version": lake.version})
            return
        where = "the current folder" if os.path.abspath(settings.lake) == os.getcwd() else f"'{settings.lake}'"
        print(f"A new lake in {where}, on branch {lake.branch}." if created else f"There is a lake in {where} already.")
    if created:
        print(f'Next:  {settings.typed(MAIN)} sql -c "CREATE DATABASE db; CREATE TABLE db.t (id BIGINT, name STRING)"')
