"""What is left after RESTOREs, against a history that is replayed version by version."""

from hypothesis import given
from hypothesis import strategies as st

from anabranch.branching.restores import is_left, lasting, restored
from anabranch.model.history import Commit, Position
from anabranch.model.records import Change


@given(st.lists(st.none() | st.integers(0, 100), max_size=12))
def test_what_is_left_is_what_a_replay_has(went_back):
    """One item a version: None for a statement, a number for a RESTORE of an earlier version."""
    restores: dict[int, int] = {}
    states: list[frozenset[int]] = [frozenset()]
    for version, back in enumerate(went_back, start=1):
        if back is None:
            states.append(states[-1] | {version})
        else:
            restores[version] = back % version
            states.append(states[back % version] | {version})
    head = Position(1, len(went_back))
    assert {version for version in range(1, len(states)) if is_left(version, head, restores)} == states[-1]


def test_a_revert_may_bring_back_what_a_restore_took():
    def change(number: int, operation: str, **detail: int) -> tuple[Commit, Change]:
        commit = Commit(1, number, str(number), number, "me", operation.upper(), "")
        return commit, Change("table", "t", operation, detail)  # type: ignore[arg-type]

    changes = [change(1, "delete"), change(2, "restore", version=0)]
    assert restored(changes) == lasting(changes) == {2: 0}
    changes.append(change(3, "restore"))
    assert restored(changes) == {2: 0}
    assert lasting(changes) == {}
