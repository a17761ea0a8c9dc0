"""The command line: `anabranch`, or `python -m anabranch.cli`."""

from anabranch.cli.app import main

__all__ = ["main"]
