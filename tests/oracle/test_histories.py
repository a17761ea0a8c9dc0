"""Model and lake live through the same random histories and agree after every step.

A short run belongs to the suite; `make fuzz` runs as many examples as ANABRANCH_FUZZ_EXAMPLES says. A failure prints
the history as a script of SQL; give it to `agree` in a test of its own.
"""

import os

from hypothesis import HealthCheck, given, settings

from .histories import histories, histories_of_rows, histories_of_stories
from .law import Undecided
from .pair import Pair, Step

EXAMPLES = int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "60"))
EVERY_BRANCH = "ANABRANCH_FUZZ_EXAMPLES" in os.environ  # look at all branches after each step, not only at the end
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not EVERY_BRANCH,
    print_blob=EVERY_BRANCH,
    suppress_health_check=list(HealthCheck),
)


@settings(FUZZ)
@given(histories)
def test_model_and_lake_agree(history: list[Step]) -> None:
    live_through(history)


@settings(FUZZ, max_examples=max(EXAMPLES // 3, 1))
@given(histories_of_rows)
def test_model_and_lake_agree_on_rows(history: list[Step]) -> None:
    live_through(history)


@settings(FUZZ)
@given(histories_of_stories)
def test_model_and_lake_agree_on_stories(history: list[Step]) -> None:
    live_through(history)


def live_through(history: list[Step]) -> None:
    with Pair() as pair:
        for branch, statement in history:
            try:
                pair.run(branch, statement)
            except Undecided:
                pair.script.pop()
                continue
            if EVERY_BRANCH:
                for each in pair.model.branches:
                    pair.compare(each)
        pair.compare_all()
