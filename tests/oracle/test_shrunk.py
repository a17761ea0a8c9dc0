"""Histories on which model and lake once disagreed."""

import pytest

from .pair import agree
from .shrunk import KEYED, SHRUNK, SHRUNK_BY_WAYS, SHRUNK_KEYED
from .test_by_ways import BEGINNING


@pytest.mark.parametrize("name", SHRUNK)
def test_shrunk(name: str) -> None:
    agree(f"CREATE DATABASE d; {SHRUNK[name]}")


@pytest.mark.parametrize("name", SHRUNK_KEYED)
def test_shrunk_keyed(name: str) -> None:
    agree(f"CREATE DATABASE d; {KEYED}; {SHRUNK_KEYED[name]}")


@pytest.mark.parametrize("name", SHRUNK_BY_WAYS)
def test_shrunk_by_ways(name: str) -> None:
    agree(f"{BEGINNING}; {SHRUNK_BY_WAYS[name]}")
