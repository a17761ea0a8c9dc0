"""Whether events change which rows a state shows. Parts of three rows in slots; `1: 02` are rows 0 and 2 of slot 1."""

import pytest
from pyroaring import BitMap

from anabranch.branching.rows import shows_others
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState


def part(slot):
    return Part(f"p{slot}", slot, 1, 3, 100)


def positions(text):
    pairs = (item.split(":") for item in text.split(",") if item)
    return {int(slot): BitMap(int(row) for row in rows.strip()) for slot, rows in pairs}


HEAD = TableState("t", Position(1, 1), {1: part(1), 2: part(2)}, positions("1: 0, 2: 012"))


@pytest.mark.parametrize(
    ("placed", "removed", "killed", "revived", "shows"),
    [
        ((), (), "", "", False),
        ((3,), (), "", "", True),
        ((3,), (), "3: 012", "", False),
        ((3,), (), "3: 01", "", True),
        ((), (1,), "", "", True),
        ((), (2,), "", "", False),
        ((1,), (1,), "", "", False),
        ((), (), "1: 0", "", False),
        ((), (), "1: 1", "", True),
        ((), (), "", "1: 0", True),
        ((), (), "", "1: 1", False),
        ((), (), "4: 0", "", False),
    ],
)
def test_shows_others(placed, removed, killed, revived, shows):
    delta = TableDelta("t", tuple(map(part, placed)), removed, positions(killed), positions(revived))
    assert shows_others(HEAD, [delta]) == shows
    assert not shows_others(HEAD, [])
