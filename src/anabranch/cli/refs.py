"""Arguments that several commands take."""

from __future__ import annotations

import argparse

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
