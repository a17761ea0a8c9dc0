"""Histories on which model and lake once disagreed."""

import pytest

from .pair import agree
from .shrunk import SHRUNK


@pytest.mark.parametrize("name", SHRUNK)
def test_shrunk(name: str) -> None:
    agree(f"CREATE DATABASE d; {SHRUNK[name]}")
