"""Which overwrites a table has had, by its op log."""

from typing import Any

import pytest

from anabranch.branching.scopes import HAD, REDONE, UNDONE, had
from anabranch.model.history import Commit, Position
from anabranch.model.records import Change

OVERWRITE = ("overwrite", {"scope": {"values": {}}})


def brought(*of: int) -> tuple[str, dict[str, Any]]:
    return "overwrite", {"scope": {"each": [{"values": {}, "of": [2, n]} for n in of]}}


def restore(to: int) -> tuple[str, dict[str, Any]]:
    return "restore", {"version": to}


def revert(**told: list[int]) -> tuple[str, dict[str, Any]]:
    return "restore", {what: [[1, n] for n in versions] for what, versions in told.items()}


CASES = {
    "nothing": ([], {}),
    "two of its own": ([OVERWRITE, OVERWRITE], {(1, 1): 1, (1, 2): 2}),
    "by a merge, named by the commit that ran it": ([OVERWRITE, brought(7)], {(1, 1): 1, (2, 7): 2}),
    "undone by RESTORE": ([OVERWRITE, restore(0)], {}),
    "RESTORE to where it was": ([OVERWRITE, OVERWRITE, restore(1)], {(1, 1): 1}),
    "a RESTORE that undoes another": ([OVERWRITE, restore(0), restore(1)], {(1, 1): 1}),
    "undone by REVERT": ([OVERWRITE, OVERWRITE, revert(**{UNDONE: [1]})], {(1, 2): 2}),
    "redone by a REVERT of that": ([OVERWRITE, revert(**{UNDONE: [1]}), revert(**{REDONE: [1]})], {(1, 1): 1}),
    "never had, so not redone": ([revert(**{REDONE: [4]})], {}),
    "dropped with the table": ([OVERWRITE, ("drop", {})], {}),
    "come again with the table": ([OVERWRITE, ("drop", {}), ("restore", {HAD: [[1, 1]]})], {(1, 1): 3}),
    "dropped and restored": ([OVERWRITE, ("drop", {}), restore(1)], {(1, 1): 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_had(name: str) -> None:
    changes, expected = CASES[name]
    log = [
        (Commit(1, version, str(version), version, "", "", "", None, {}), Change("table", "t", operation, detail))  # type: ignore[arg-type]
        for version, (operation, detail) in enumerate(changes, 1)
    ]
    assert had(log) == {Position(*of): at for of, at in expected.items()}
