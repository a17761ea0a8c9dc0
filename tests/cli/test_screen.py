"""Colours and widths: each stream for itself."""

import fcntl
import os
import pty
import struct
import sys
import termios
from contextlib import nullcontext

import pytest

from anabranch.cli.screen import styled, width
from tests.cli.conftest import Cli

ESCAPE = "\x1b["


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def watched(monkeypatch: pytest.MonkeyPatch, *streams: str) -> None:
    for name in streams:
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)


@pytest.fixture
def at_odds(cli: Cli) -> Cli:
    """Both sides updated a row, whose conflict is shown on stderr by `merge` and on stdout by `conflicts`."""
    for statement in ("CREATE BRANCH dev", "UPDATE d.t SET v = 'ours'", "UPDATE d.t@dev SET v = 'theirs'"):
        assert cli("sql", "-c", statement).code == 0
    return cli


@pytest.mark.parametrize(
    ("name", "value", "coloured"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False), ("TERM", "xterm", True)],
)
def test_colours_are_for_those_who_want_them(
    at_odds: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str, coloured: bool
) -> None:
    monkeypatch.setenv(name, value)
    watched(monkeypatch, "stdout")
    for words in (["log"], ["log", "--long"], ["branch"], ["describe", "d.t"], ["conflicts", "dev"], ["diff", "3"]):
        assert (ESCAPE in at_odds(*words).out) == coloured, words
    assert styled("text", "bold") == ("\x1b[1mtext\x1b[0m" if coloured else "text")


@pytest.mark.parametrize(("stream", "coloured"), [("stdout", False), ("stderr", True)])
def test_a_stream_has_colours_if_it_is_a_terminal_itself(
    at_odds: Cli, monkeypatch: pytest.MonkeyPatch, stream: str, coloured: bool
) -> None:
    """`anabranch merge dev 2> FILE` writes no escape codes to the file."""
    watched(monkeypatch, stream)
    monkeypatch.setattr("anabranch.cli.merging.working", nullcontext)  # no spinner
    assert ("\x1b[1md.t" in at_odds("merge", "dev", "--detect", "row").err) == coloured


def test_a_terminal_says_how_wide_it_is_unless_someone_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w") as terminal, open(os.devnull, "w") as file:
        assert (width(terminal), width(file)) == (80, None)  # it does not know
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 132, 0, 0))
        assert width(terminal) == 132
        monkeypatch.setenv("COLUMNS", "40")
        assert (width(terminal), width(file)) == (40, None)
    os.close(ours)
