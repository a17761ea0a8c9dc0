"""Two branches that each pick what the other did, and so change places, and then merge: what they now show counts.

Each has what the other had, and still the three differ: base, ours and theirs. So it is a conflict, or a combination of
cells, as if no one had picked anything; the file, row or cell that both have had is no excuse to take a side.
"""

from dataclasses import dataclass

import pytest

from .pair import Pair, steps

BEGINNING = (
    "CREATE DATABASE d; CREATE TABLE d.t (k INT, a INT, b INT); INSERT INTO d.t (k, a, b) VALUES (1, 0, 0), (2, 0, 0);"
    "CREATE BRANCH dev FROM main"
)
Rows = str  # as k a b, `|` between them
CONFLICT = "conflict"


@dataclass(frozen=True)
class Swap:
    """What each does, before it picks the other's. `outcomes`: what the merge of dev into main gives, by detect;
    `back`: of main into dev, where it is not the same."""

    main: str
    dev: str
    outcomes: dict[str, Rows]
    back: dict[str, Rows] | None = None


NEVER = {"file": CONFLICT, "row": CONFLICT, "cell": CONFLICT}
SWAPS = {
    "one cell of a row": Swap("UPDATE d.t SET a = 1 WHERE k = 1", "UPDATE d.t SET a = 2 WHERE k = 1", NEVER),
    "one cell of all rows": Swap("UPDATE d.t SET a = 1 WHERE k > 0", "UPDATE d.t SET a = 2 WHERE k > 0", NEVER),
    "all rows and one of them": Swap("UPDATE d.t SET a = 1 WHERE k > 0", "UPDATE d.t SET a = 2 WHERE k = 1", NEVER),
    "a cell, to NULL and to a value": Swap(
        "UPDATE d.t SET a = NULL WHERE k = 1", "UPDATE d.t SET a = 2 WHERE k = 1", NEVER
    ),
    "two cells of a row": Swap(
        "UPDATE d.t SET a = 1 WHERE k = 1",
        "UPDATE d.t SET b = 2 WHERE k = 1",
        {**NEVER, "cell": "1 1 2 | 2 0 0"},
    ),
    "one cell of both and one of each": Swap(
        "UPDATE d.t SET a = 1, b = 3 WHERE k = 1", "UPDATE d.t SET a = 2 WHERE k = 1", NEVER
    ),
    "an update and a delete": Swap(  # main has the update then, and dev has no row
        "DELETE FROM d.t WHERE k = 1",
        "UPDATE d.t SET a = 2 WHERE k = 1",
        {**NEVER, "file": "2 0 0"},
        back=NEVER,
    ),
}
DIRECTIONS = {"dev into main": ("main", "dev"), "main into dev": ("dev", "main")}


def run(pair: Pair, script: str) -> list[bool]:
    return [pair.run(branch, statement) for branch, statement in steps(script)]


def swapped(pair: Pair, swap: Swap) -> None:
    """Both do their own; then each picks the other's."""
    assert all(run(pair, f"USE BRANCH main; {swap.main}; USE BRANCH dev; {swap.dev}"))
    own = {name: f"{name}@{pair.model.version(name)}" for name in ("main", "dev")}
    picks = [f"USE BRANCH {on}; CHERRY PICK {own[of]} RESOLVE USING THEIRS" for on, of in DIRECTIONS.values()]
    assert all(run(pair, "; ".join(picks)))


def shown(pair: Pair, branch: str) -> Rows:
    rows = pair.lake.on(branch).table("d.t").to_arrow().sort_by("k").to_pylist()
    return " | ".join(" ".join("-" if value is None else str(value) for value in row.values()) for row in rows)


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("swap", SWAPS)
def test_what_was_picked_both_ways_is_still_at_odds(swap: str, direction: str, detect: str) -> None:
    ours, theirs = DIRECTIONS[direction]
    told = SWAPS[swap]
    expected = (told.back if ours == "dev" and told.back else told.outcomes)[detect]
    merge = f"USE BRANCH {ours}; MERGE BRANCH {theirs} {{}} WITH (detect = '{detect}')"
    with Pair(BEGINNING) as pair:
        swapped(pair, told)
        had = {name: shown(pair, name) for name in DIRECTIONS[direction]}
        assert run(pair, merge.format("")) == [expected != CONFLICT]
        assert shown(pair, ours) == (had[ours] if expected == CONFLICT else expected)
        if expected == CONFLICT:
            assert run(pair, merge.format("RESOLVE USING THEIRS")) == [True]
            assert shown(pair, ours) == had[theirs]
        version = pair.lake.on(ours).version
        assert run(pair, merge.format("")) == [True]
        assert pair.lake.on(ours).version == version  # up to date
        assert run(pair, f"USE BRANCH {theirs}; MERGE BRANCH {ours} WITH (detect = '{detect}')") == [True]
        assert shown(pair, theirs) == shown(pair, ours)
        pair.compare_all()


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
@pytest.mark.parametrize("side", ["OURS", "THEIRS"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_and_once_more(direction: str, side: str, detect: str) -> None:
    """After the merge the branches do it again, with other values."""
    ours, theirs = DIRECTIONS[direction]
    merge = f"USE BRANCH {ours}; MERGE BRANCH {theirs} {{}} WITH (detect = '{detect}')"
    with Pair(BEGINNING) as pair:
        for value in (1, 11):
            update = "UPDATE d.t SET a = {} WHERE k = 1"
            swapped(pair, Swap(update.format(value), update.format(value + 1), NEVER))
            had = {name: shown(pair, name) for name in DIRECTIONS[direction]}
            assert had["main"] != had["dev"]
            assert run(pair, merge.format("")) == [False]
            assert run(pair, merge.format(f"RESOLVE USING {side}")) == [True]
            assert shown(pair, ours) == had[ours if side == "OURS" else theirs]
            assert run(pair, f"USE BRANCH {theirs}; MERGE BRANCH {ours} WITH (detect = '{detect}')") == [True]
            assert shown(pair, theirs) == shown(pair, ours)
        pair.compare_all()
