"""The log along a lineage."""

import pytest

from anabranch.catalog import Catalog
from anabranch.errors import NotFound
from anabranch.model.history import Position
from anabranch.model.records import Change
from tests.catalog.writer import Writer


@pytest.fixture
def deep(writer: Writer) -> Writer:
    """main 0..2, a 3..4, b (from a at 3) 4..6; table 't' changed at 1, 3 (a) and 5 (b)."""
    writer.commit(changes=(Change("table", "t", "create"), Change("database", "d", "create", {"x": [1, "é"]})))
    writer.commit(message="second")
    a = writer.fork("a")
    a.commit(changes=(Change("table", "t", "insert"), Change("table", "t", "delete")))
    a.commit(changes=(Change("table", "t", "drop"),))
    b = a.fork("b", Position(a.head.branch_id, 3))
    b.commit()
    b.commit(changes=(Change("table", "t", "update", {"slots": [1]}),))
    b.commit(detail={"note": "it's"}, merged=a.head)
    writer.commit(changes=(Change("table", "t", "rename"),))
    return b


def test_newest_first(deep: Writer) -> None:
    commits = deep.catalog.log(deep.head)
    assert [commit.version for commit in commits] == [6, 5, 4, 3, 2, 1, 0]
    assert [commit.branch_id for commit in commits] == [3, 3, 3, 2, 1, 1, 1]
    assert commits[0].detail == {"note": "it's"}
    assert commits[0].parents == (Position(3, 5), Position(2, 4))
    assert commits[4].message == "second"
    times = [commit.time_us for commit in commits]
    assert times == sorted(set(times), reverse=True)


@pytest.mark.parametrize(("limit", "expected"), [(0, []), (1, [6]), (4, [6, 5, 4, 3]), (99, [6, 5, 4, 3, 2, 1, 0])])
def test_limits(deep: Writer, limit: int, expected: list[int]) -> None:
    assert [commit.version for commit in deep.catalog.log(deep.head, limit)] == expected


def test_commit_at(deep: Writer) -> None:
    commits = deep.catalog.log(deep.head)
    assert [deep.catalog.commit_at(Position(3, version)) for version in range(6, -1, -1)] == commits


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(None, [5, 3, 1]), (0, []), (1, [5]), (2, [5, 3]), (3, [5, 3, 1]), (9, [5, 3, 1])],
)
def test_history_of_an_object(deep: Writer, limit: int | None, expected: list[int]) -> None:
    assert [commit.version for commit in deep.catalog.history(deep.head, "t", limit)] == expected


def test_history_of_nothing(deep: Writer) -> None:
    assert deep.catalog.history(deep.head, "no such") == []
    assert deep.catalog.history(deep.head, "no such", 3) == []


def test_changes_between_versions(deep: Writer) -> None:
    def seen(*arguments) -> list[tuple[int, str]]:
        return [(commit.version, change.operation) for commit, change in deep.catalog.changes(*arguments)]

    assert seen(deep.head, -1) == [(1, "create"), (1, "create"), (3, "insert"), (3, "delete"), (5, "update")]
    assert seen(deep.head, 1, "t") == [(3, "insert"), (3, "delete"), (5, "update")]
    assert seen(deep.head, 3) == [(5, "update")]
    assert seen(deep.head, 6) == []
    assert deep.catalog.changes(deep.head, -1, "d")[0][1] == Change("database", "d", "create", {"x": [1, "é"]})


def test_the_version_at_a_time(deep: Writer) -> None:
    catalog, head = deep.catalog, deep.head
    for commit in catalog.log(head):
        assert catalog.position_at(head, commit.time_us) == Position(3, commit.version)
        before = commit.time_us - 1
        if commit.version:
            assert catalog.position_at(head, before).version == commit.version - 1
    assert catalog.position_at(head, 10**18) == head
    assert catalog.position_at(Position(3, 4), 10**18) == Position(3, 4)
    for time_us in (0, before, -(10**18)):
        with pytest.raises(NotFound, match="The first one is of"):
            catalog.position_at(head, time_us)


def test_times_grow_even_if_the_clock_goes_back(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(catalog)
    writer.commit()
    child = writer.fork("child")
    monkeypatch.setattr("anabranch.catalog.commits.now_us", lambda: 5)
    parent = catalog.commit_at(writer.head).time_us
    child.commit()
    child.commit()
    assert [commit.time_us - parent for commit in catalog.log(child.head, 2)] == [2, 1]
