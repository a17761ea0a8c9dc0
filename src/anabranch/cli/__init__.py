"""The command line: `anabranch`, or `python -m anabranch.cli`."""

from anabranch.cli.entry import main

__all__ = ["main"]
