"""A lake with something in it, and its fingerprint: what must not change when something goes wrong."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch.lake import Lake
from tests.stories.telling import rows, told

BEGINNING = (
    "CREATE DATABASE d",
    "CREATE DATABASE other",
    "CREATE TABLE d.t (id INT NOT NULL, small TINYINT, name STRING DEFAULT 'x', price DECIMAL(5,2), s STRUCT<x: INT>)",
    "CREATE TABLE d.p (v INT, k STRING) PARTITIONED BY (k)",
    "CREATE TABLE d.one (only INT)",
    "INSERT INTO d.t VALUES (1, 1, 'a', 1.5, named_struct('x', 1)), (2, NULL, NULL, NULL, NULL)",
    "INSERT INTO d.p VALUES (1, 'a'), (2, NULL)",
    "CREATE BRANCH dev",
    "CREATE TAG v1",
)


@pytest.fixture(scope="session")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "lake"
    with anabranch.connect(folder, durability="process", author="ann") as lake:
        told(lake, *BEGINNING)
    return folder


@pytest.fixture
def folder(beginning: Path, tmp_path: Path) -> Path:
    """Where the lake of this test is; a closed lake is nothing but its folder."""
    return Path(shutil.copytree(beginning, tmp_path / "lake"))


@pytest.fixture
def lake(folder: Path) -> Iterator[Lake]:
    with anabranch.connect(folder, durability="process", author="ann", create=False) as opened:
        yield opened


@pytest.fixture
def second(folder: Path) -> Iterator[Lake]:
    """Another connection to the same lake, as another process would have it."""
    with anabranch.connect(folder, durability="process", author="bob", create=False) as opened:
        yield opened


@pytest.fixture
def print_of(folder: Path) -> Callable[[Lake], Any]:
    """All that a user can see of a lake, and the files under it."""

    def taken(lake: Lake) -> Any:
        return {
            "branch": lake.branch,
            "branches": {b.name: b.head for b in lake.branches()},
            "tags": [(t.name, t.version) for t in lake.tags()],
            "databases": [told(lake, f"DESCRIBE DATABASE `{name}`") for name in lake.databases()],
            "tables": {name: (told(lake, f"DESCRIBE EXTENDED {name}"), rows(lake, name)) for name in lake.tables()},
            "files": files(folder),
        }

    return taken


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in (folder / "data").rglob("*") if path.is_file())


def in_a_child(work: Callable[[], object]) -> None:
    """Runs it in a fork of this process, which must come to a good end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
