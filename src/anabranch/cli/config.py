"""Show, set or unset an option of the lake.

Without arguments all options are shown; with a name its value. An option of the lake holds for every branch and for
every table that has no such option itself.
"""

from __future__ import annotations

import argparse

from anabranch.cli.exits import Usage
from anabranch.cli.output import print_json, print_table
from anabranch.cli.refs import given
from anabranch.cli.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="OPTION", type=given, help="such as merge.detect")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="its new value")
    parser.add_argument("--unset", metavar="OPTION", type=given, help="back to its default")


def run(settings: Settings, args: argparse.Namespace) -> None:
    from anabranch.options import checked_lake_option

    if args.unset and args.name:
        raise Usage("--unset takes the option alone.")
    with settings.open() as lake:
        if args.unset:
            lake.unset_options([args.unset])
        elif args.value is not None:
            lake.set_options({args.name: args.value})
        name = args.unset or args.name
        if name is not None:
            value = lake.options[checked_lake_option(name).name]
            print_json({name: value}) if settings.json else print(value)
        elif settings.json:
            print_json(lake.options)
        else:
            rows = [[name, value, checked_lake_option(name).sentence] for name, value in lake.options.items()]
            print_table(["option", "value", "meaning"], rows)
