"""A lake in a folder, and `anabranch` called in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Cli = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANABRANCH_LAKE", "ANABRANCH_CATALOG", "ANABRANCH_AUTHOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lake with d.t: version 2 made it, 3 and 4 filled it with ids 1, 2 and 3."""
    folder = tmp_path / "lake"
    with anabranch.connect(folder, author="ada", durability="process") as lake:
        lake.sql("CREATE DATABASE d")
        lake.sql("CREATE TABLE d.t (id BIGINT NOT NULL, v STRING DEFAULT 'x' COMMENT 'a word')")
        lake.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
        lake.sql("INSERT INTO d.t VALUES (3, 'c')")
    return folder


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command on that lake."""
    monkeypatch.setenv("ANABRANCH_LAKE", str(folder))
    monkeypatch.setenv("ANABRANCH_AUTHOR", "bob")

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def ids(folder: Path) -> Callable[..., list[int]]:
    def read(branch: str = "main") -> list[int]:
        with anabranch.connect(folder, branch=branch, create=False) as lake:
            return sorted(lake.table("d.t").to_arrow()["id"].to_pylist())

    return read
