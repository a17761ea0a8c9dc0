"""The line that says what takes so long."""

import io
import logging

import pytest

from anabranch.cli.progress import quiet, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_someone_who_watches_sees_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with working("running…"):
        logging.getLogger("anabranch.execution.session").info("starting Spark…")
    assert "starting Spark…" in terminal.getvalue()
    assert logging.getLogger("anabranch").handlers == []


def test_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    with working("running…"), quiet():
        pass
    assert written.getvalue() == ""
