"""What events change in the rows that a state shows. Parts have three rows; `1: 02` are rows 0 and 2 of slot 1."""

import pytest
from pyroaring import BitMap

from anabranch.branching.effects import Effect, effect
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState


def part(slot):
    return Part(f"p{slot}", slot, 1, 3, 100)


def positions(text):
    pairs = (item.split(":") for item in text.split(",") if item)
    return {int(slot): BitMap(int(row) for row in rows.strip()) for slot, rows in pairs}


def delta(cause="update", placed=(), removed=(), killed="", revived=""):
    return TableDelta("t", tuple(map(part, placed)), removed, positions(killed), positions(revived), cause)


HEAD = TableState("t", Position(1, 1), {1: part(1), 2: part(2)}, positions("1: 0, 2: 012"))


@pytest.mark.parametrize(
    ("placed", "removed", "killed", "revived", "come", "go"),
    [
        ((), (), "", "", 0, 0),
        ((3,), (), "", "", 3, 0),
        ((3,), (), "3: 012", "", 0, 0),
        ((3,), (), "3: 01", "", 1, 0),
        ((), (1,), "", "", 0, 2),
        ((), (2,), "", "", 0, 0),
        ((1,), (1,), "", "", 0, 0),
        ((), (1,), "1: 12", "", 0, 2),
        ((), (), "1: 0", "", 0, 0),
        ((), (), "1: 01", "", 0, 1),
        ((), (), "", "1: 0", 1, 0),
        ((), (), "", "1: 1", 0, 0),
        ((), (), "1: 0", "1: 0", 1, 0),
        ((), (), "4: 0", "", 0, 0),
        ((), (4,), "", "", 0, 0),
        ((3,), (), "1: 12, 3: 2", "", 2, 2),
    ],
)
def test_rows_that_come_and_go(placed, removed, killed, revived, come, go):
    found = effect(HEAD, [delta("update", placed, removed, killed, revived)])
    assert found == Effect(come, go, frozenset({"update"} if come or go else ()))


def test_only_causes_of_what_is_seen_are_named():
    made = [
        delta("delete", killed="1: 1"),
        delta("insert", placed=(3,), killed="3: 012"),
        delta("update", killed="1: 0"),
    ]
    assert effect(HEAD, made) == Effect(0, 1, frozenset({"delete"}))


def test_one_row_that_two_deltas_kill_goes_once():
    made = [delta("delete", killed="1: 1"), delta("overwrite", removed=(1,))]
    assert effect(HEAD, made) == Effect(0, 2, frozenset({"delete", "overwrite"}))


def test_rows_that_are_written_again_do_not_go():
    assert effect(HEAD, [delta(killed="1: 12")], positions("1: 2")) == Effect(0, 1, frozenset({"update"}))
    assert effect(HEAD, [delta(killed="1: 2")], positions("1: 2")) == Effect()
