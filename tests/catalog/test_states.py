"""Table states: what is cached and advanced equals what is folded from the beginning."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.catalog import Catalog, bitmaps, state_cache
from anabranch.errors import CatalogError
from anabranch.model.history import Position
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState
from tests.catalog.conftest import Reopen
from tests.catalog.writer import Writer, admit_all, part, request


def seen(state: TableState) -> tuple[list[int], dict[int, list[int]]]:
    return sorted(state.parts), {slot: list(rows) for slot, rows in sorted(state.dead.items())}


def test_the_last_event_decides(writer: Writer, reopen: Reopen) -> None:
    writer.rows("t", placed=[part(1), part(2)])
    writer.rows("t", killed={1: [0, 3], 9: [1]})  # slot 9 is not there: its kills are kept
    writer.rows("t", removed=[1], killed={2: [5]})
    writer.rows("t", placed=[part(1)], revived={1: [3], 2: [5, 6]})
    expected = [
        ([], {}),
        ([1, 2], {}),
        ([1, 2], {1: [0, 3], 9: [1]}),
        ([2], {1: [0, 3], 2: [5], 9: [1]}),
        ([1, 2], {1: [0], 9: [1]}),
    ]
    for catalog in (writer.catalog, reopen()):
        for version in (4, 1, 3, 0, 2, 4):
            state = catalog.state(Position(1, version), "t")
            assert seen(state) == expected[version]
            assert state.position == Position(1, version)
    assert reopen().state(writer.head, "t").parts[2] == part(2)


def test_a_child_sees_its_parent_up_to_the_fork(writer: Writer) -> None:
    writer.rows("t", placed=[part(1)])
    child = writer.fork("child")
    writer.rows("t", placed=[part(2)], killed={1: [1]})
    child.rows("t", placed=[part(3)], killed={1: [2]})
    catalog = writer.catalog
    assert seen(catalog.state(writer.head, "t")) == ([1, 2], {1: [1]})
    assert seen(catalog.state(child.head, "t")) == ([1, 3], {1: [2]})
    assert catalog.state(child.head, "u") == TableState("u", child.head)


def test_a_part_is_stored_once(writer: Writer, reopen: Reopen) -> None:
    child = writer.fork("child")
    writer.rows("t", placed=[part(1)])
    child.rows("t", placed=[part(1), part(2)])
    writer.rows("t", removed=[1])
    writer.rows("t", placed=[part(1), part(2)])
    fresh = reopen()
    assert fresh.state(writer.head, "t").parts == fresh.state(child.head, "t").parts == {1: part(1), 2: part(2)}


def test_another_part_cannot_take_a_slot(writer: Writer) -> None:
    writer.rows("t", placed=[part(1)])
    with pytest.raises(CatalogError, match=r"slot 1 .* belongs to part 'part-1', not to 'other'"):
        writer.rows("t", placed=[part(2), part(1, id="other")])
    assert seen(writer.catalog.state(writer.head, "t")) == ([1], {})
    writer.rows("t", placed=[part(2)])


def test_removed_and_placed_in_one_commit_is_placed(writer: Writer, reopen: Reopen) -> None:
    writer.rows("t", placed=[part(1)], killed={1: [1, 2]})
    writer.rows("t", placed=[part(1)], removed=[1], killed={1: [3]}, revived={1: [3, 1]})
    for catalog in (writer.catalog, reopen()):
        assert seen(catalog.state(writer.head, "t")) == ([1], {1: [2]})


def test_own_commits_are_not_read_back(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = writer.catalog
    writer.rows("t", placed=[part(1)])
    catalog.state(writer.head, "t")
    child = writer.fork("child")
    head = child.rows("t", placed=[part(2)], killed={1: [4]})
    monkeypatch.setattr(catalog, "_events", lambda tables, new: pytest.fail("read back") if new else ({}, {}))
    assert seen(catalog.state(head, "t")) == ([1, 2], {1: [4]})


def test_only_what_is_new_is_read(writer: Writer, reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    for slot in range(1, 6):
        writer.rows("t", placed=[part(slot)])
    reader = reopen()
    old = reader.state(writer.head, "t")
    read = []
    events = reader._events
    monkeypatch.setattr(reader, "_events", lambda tables, new: read.extend(new) or events(tables, new))
    writer.commit()
    assert reader.state(writer.head, "t").parts is old.parts
    writer.rows("t", placed=[part(6)])
    assert len(reader.state(writer.head, "t").parts) == 6
    assert [(s.after, s.upto) for s in read] == [(5, 6), (6, 7)]


def test_deltas_are_given_commit_by_commit(writer: Writer) -> None:
    writer.rows("t", placed=[part(1)])
    writer.commit()
    writer.rows("t", removed=[1], killed={1: [2]})
    assert writer.catalog.deltas(writer.head, "t", 0) == [
        TableDelta("t", (part(1),)),
        TableDelta("t", (), (1,), {1: BitMap([2])}),
    ]
    assert len(writer.catalog.deltas(writer.head, "t", 1)) == 1


class Folder:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def write(self, name: str, data: bytes) -> None:
        assert name not in self.held
        self.held[name] = data

    def read(self, name: str) -> bytes:
        return self.held[name]


def test_large_bitmaps_go_to_blobs(url: str) -> None:
    folder = Folder()
    large, small = BitMap(range(0, 2_000_000, 3)), BitMap(range(1_000_000))  # the latter is one run
    catalog = Catalog.open(url, create=True, blobs=folder)
    delta = TableDelta("t", (part(1),), killed={1: large, 2: small})
    catalog.commit(request(Position(1, 0), deltas=(delta,)), admit_all)
    catalog.close()
    assert len(folder.held) == 1
    assert len(next(iter(folder.held.values()))) > bitmaps.INLINE_BYTES
    again = Catalog.open(url, create=False, blobs=folder)
    assert again.state(Position(1, 1), "t").dead == {1: large, 2: small}
    again.close()
    without = Catalog.open(url, create=False)
    with pytest.raises(CatalogError, match="without blobs"):
        without.state(Position(1, 1), "t")
    without.close()


def test_the_cache_is_bounded(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_cache, "STATES", 3)
    for number in range(8):
        writer.rows(f"t{number}", placed=[part(1)])
    for version in range(9):
        for number in range(8):
            expected = [1] if version > number else []
            assert seen(writer.catalog.state(Position(1, version), f"t{number}"))[0] == expected
    assert len(writer.catalog._memory.states._states) <= 3


# --- random histories -------------------------------------------------------------------------------------------------

slots = st.integers(1, 4)
rows = st.dictionaries(slots, st.sets(st.integers(0, 9), min_size=1), max_size=2)
step = st.one_of(
    st.tuples(st.just("rows"), st.integers(0, 9), st.sets(slots), st.sets(slots), rows, rows),
    st.tuples(st.just("fork"), st.integers(0, 9), st.integers(0, 99)),
    st.tuples(st.just("read"), st.integers(0, 9), st.integers(0, 99)),
)


@pytest.fixture
def fresh_urls(tmp_path: Path) -> Iterator[str]:
    return (f"sqlite:///{tmp_path}/{number}.db" for number in range(10**6))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(step, max_size=25))
def test_cached_states_equal_folded_ones(fresh_urls: Iterator[str], steps: list[tuple]) -> None:
    url = next(fresh_urls)
    catalog = Catalog.open(url, create=True, durability="process")
    writer = Writer(catalog)
    model: dict[int, list[tuple[set[int], dict[int, set[int]]]]] = {1: [(set(), {})]}  # branch -> state per version

    for kind, which, *rest in steps:
        branch_id = 1 + which % len(model)
        states = model[branch_id]
        name = catalog.branch_by_id(branch_id).name
        if kind == "rows":
            placed, removed, killed, revived = rest
            parts, dead = states[-1]
            dead = {slot: set(positions) for slot, positions in dead.items()}
            for slot, positions in killed.items():
                dead.setdefault(slot, set()).update(positions)
            for slot, positions in revived.items():
                dead.setdefault(slot, set()).difference_update(positions)
            states.append(((parts - removed) | placed, {slot: p for slot, p in dead.items() if p}))
            writer.on(name).rows(
                "t", placed=[part(s) for s in sorted(placed)], removed=sorted(removed), killed=killed, revived=revived
            )
        elif kind == "fork":
            version = rest[0] % len(states)
            made = catalog.create_branch(f"b{len(model)}", Position(branch_id, version))
            model[made.id] = states[: version + 1]
        else:
            version = rest[0] % len(states)
            _compare(catalog, branch_id, version, states[version])

    catalog.close()
    catalog = Catalog.open(url, create=False)
    for branch_id, states in model.items():
        for version in reversed(range(len(states))):
            _compare(catalog, branch_id, version, states[version])
    catalog.close()


def _compare(catalog: Catalog, branch_id: int, version: int, expected: tuple[set[int], dict[int, set[int]]]) -> None:
    parts, dead = seen(catalog.state(Position(branch_id, version), "t"))
    assert (set(parts), {slot: set(positions) for slot, positions in dead.items()}) == expected
