"""Criss-crosses whose bases disagree on rows: model and lake agree, none is there twice, none is lost."""

import itertools

import pytest

from .cases import BASE, CRISS_CROSS, DEV, MAIN, delete, new, update
from .law import Undecided
from .pair import Pair, steps

ROW = "WITH (detect = 'row')"
OURS = f"RESOLVE USING OURS {ROW}"
CROSSED = {
    "both inserted": CRISS_CROSS,
    "deleted and updated": (
        f"{DEV}; {delete(1)}; {MAIN}; {update(2, 'a = 21')}; MERGE BRANCH dev@11 {ROW};"
        f"{DEV}; MERGE BRANCH main@11 {ROW}"
    ),
    "each kept its own": (
        f"{DEV}; {update(1, 'a = 11')}; {MAIN}; {update(1, 'a = 12')}; MERGE BRANCH dev@11 {OURS};"
        f"{DEV}; MERGE BRANCH main@11 {OURS}"
    ),
    "each set the same": (
        f"{DEV}; {update(1, 'a = 11')}; {MAIN}; {update(1, 'a = 11')}; MERGE BRANCH dev@11 {OURS};"
        f"{DEV}; MERGE BRANCH main@11 {OURS}"
    ),
    "one gave way": (
        f"{DEV}; {update(1, 'a = 11')}; {MAIN}; {update(1, 'a = 12')}; MERGE BRANCH dev@11 {OURS};"
        f"{DEV}; MERGE BRANCH main@11 RESOLVE USING THEIRS {ROW}"
    ),
}
AFTER = [
    (update(5, "a = 51"), delete(7)),
    (update(1, "a = 51"), update(1, "a = 52")),
    (delete(7), update(7, "a = 71")),
    (delete(5), new(9)),
]


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
@pytest.mark.parametrize("crossed", CROSSED)
def test_criss_cross(crossed: str, detect: str) -> None:
    for (theirs, ours), side in itertools.product(AFTER, ("", "RESOLVE USING OURS", "RESOLVE USING THEIRS")):
        script = f"{CROSSED[crossed]}; {theirs}; {MAIN}; {ours}; MERGE BRANCH dev {side} WITH (detect = '{detect}')"
        lives_through(script)


ONE_SIDE = [
    ("UPDATE d.t SET b = 7 WHERE k < 9", new(8)),
    ("DELETE FROM d.t WHERE k < 9", new(8)),
    (update(1, "b = 5"), new(9)),
    (delete(1), new(9)),
    (new(9), update(1, "b = 5")),
    (new(9), delete(1)),
    (update(1, "b = 5"), update(1, "a = 11")),
]


@pytest.mark.parametrize("detect", ["row", "cell"])
@pytest.mark.parametrize("crossed", ["each set the same", "one gave way"])
def test_what_the_bases_agree_on_is_no_change(crossed: str, detect: str) -> None:
    for theirs, ours in ONE_SIDE:
        lives_through(f"{CROSSED[crossed]}; {theirs}; {MAIN}; {ours}; MERGE BRANCH dev WITH (detect = '{detect}')")


OVERWRITES = [
    "TRUNCATE TABLE d.t",
    "INSERT OVERWRITE d.t PARTITION (p = 0) (k, a) VALUES (9, 9)",
    "INSERT OVERWRITE d.t PARTITION (p = 1) (k, a) VALUES (9, 9)",
]


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
@pytest.mark.parametrize(("crossed", "row"), [("each kept its own", 1), ("both inserted", 5)])
def test_what_ours_overwrote_is_discarded(crossed: str, row: int, detect: str) -> None:
    for theirs, ours in itertools.product([update(row, "a = 51"), delete(row)], OVERWRITES):
        lives_through(f"{CROSSED[crossed]}; {theirs}; {MAIN}; {ours}; MERGE BRANCH dev WITH (detect = '{detect}')")


def lives_through(script: str) -> None:
    with Pair(BASE) as pair:
        for branch, statement in steps(f"{BASE}; {script}")[len(pair.script) :]:
            try:
                pair.run(branch, statement, compare=False)
            except Undecided:
                break
        pair.compare_all()
