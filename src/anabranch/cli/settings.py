"""What the options of every command say."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.lake import Lake

MAIN = "main"


@dataclass(frozen=True)
class Settings:
    """Which lake, which branch, and how to talk."""

    lake: str = "."
    catalog: str | None = None
    branch: str = MAIN
    json: bool = False
    debug: bool = False

    @staticmethod
    def of(args: argparse.Namespace) -> Settings:
        return Settings(
            lake=getattr(args, "lake", None) or os.environ.get("ANABRANCH_LAKE") or ".",
            catalog=getattr(args, "catalog", None) or os.environ.get("ANABRANCH_CATALOG") or None,
            branch=getattr(args, "on_branch", MAIN),
            json=getattr(args, "json", False),
            debug=getattr(args, "debug", False),
        )

    def typed(self, branch: str) -> str:
        """How the next command on this lake and a branch begins, where the surroundings do not say it."""
        from anabranch.catalog.engine import without_passwords

        words = ["anabranch"]
        if self.lake != (os.environ.get("ANABRANCH_LAKE") or "."):
            words += ["-l", shlex.quote(self.lake)]
        if self.catalog is not None and self.catalog != os.environ.get("ANABRANCH_CATALOG"):
            words += ["--catalog", shlex.quote(without_passwords(self.catalog))]
        return " ".join(words + (["-b", shlex.quote(branch)] if branch != MAIN else []))

    def open(self) -> Lake:
        """The lake on its branch; it must exist."""
        from anabranch.lake import connect  # brings the catalog, which --help does not need

        return connect(self.lake, self.catalog, branch=self.branch, create=False)
