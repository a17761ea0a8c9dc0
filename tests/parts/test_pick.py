"""What is worth rewriting, in a notation: `a10` is a part of ten bytes in partition a, `!` has a dead row."""

import pytest
from pyroaring import BitMap

from anabranch.model.part import Part
from anabranch.parts.carriers import Carried, Unit
from anabranch.parts.pick import pick


def parts(text: str) -> Carried:
    units, dead = [], {}
    for slot, word in enumerate(text.split(), 1):
        size = int(word.strip("!")[1:])
        units.append(Unit((slot,), (Part(str(slot), slot, 1, 5, size, partition=word[0]),)))
        if word.endswith("!"):
            dead[slot] = BitMap([1])
    return Carried(tuple(units), dead)


CASES = {
    "": [],
    "a10": [],
    "a10 a10": [(1, 2)],
    "a10 b10 a10": [(1, 3)],
    "a10!": [(1,)],
    "a90": [],
    "a90!": [(1,)],
    "a10 a90 a10": [(1, 3)],
    "a40 a40 a40": [(1, 2)],
    "a40 a40 a40 a40": [(1, 2), (3, 4)],
    "a90! a40": [(1,)],
    "a10 a10 b5 b5!": [(1, 2), (3, 4)],
}


@pytest.mark.parametrize("text", CASES)
def test_what_is_picked(text: str) -> None:
    picked = pick(parts(text), full=100)
    assert [tuple(unit.slots[0] for unit in group.units) for group in picked] == CASES[text]
    assert all(group.reason for group in picked)
