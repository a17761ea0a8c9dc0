"""The rows of a mask's table, whole and in chunks, hide exactly the dead positions."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.execution import masks
from anabranch.model.part import Part


@st.composite
def dead_parts(draw):
    found = []
    for slot in range(draw(st.integers(1, 3))):
        rows = draw(st.integers(1, 700))
        dead = draw(st.one_of(st.sets(st.integers(0, rows - 1), min_size=1, max_size=20), st.just(set(range(rows)))))
        found.append((Part(f"p{slot}", slot * 7, 1, rows, 1), BitMap(dead)))
    return found


def hidden(words):
    return {p for p in range(len(words) * 64) if (words[p >> 6] & 0xFFFF_FFFF_FFFF_FFFF) >> (p & 63) & 1}


def expected(dead):
    return {(part.slot, position) for part, positions in dead for position in positions}


@given(dead_parts())
def test_whole_masks(dead):
    table = masks.whole_table(dead)
    slots, words = (table.column(place).to_pylist() for place in range(2))
    assert {(slot, p) for slot, mine in zip(slots, words, strict=True) for p in hidden(mine)} == expected(dead)
    assert slots == [part.slot for part, _ in dead]
    for (part, _), mine in zip(dead, words, strict=True):
        assert len(mine) * 64 >= part.rows  # every row's word is there: one that is not would be NULL


@pytest.mark.parametrize("bits", [6, 7, 9, 16])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(dead=dead_parts())
def test_chunked_masks(monkeypatch, bits, dead):
    monkeypatch.setattr(masks, "CHUNK_BITS", bits)
    table = masks.chunk_table(dead)
    slots, chunks, words = (table.column(place).to_pylist() for place in range(3))
    found = {
        (slot, (chunk << bits) + p)
        for slot, chunk, mine in zip(slots, chunks, words, strict=True)
        for p in hidden(mine)
    }
    assert found == expected(dead)
    assert all(len(mine) == (1 << bits) // 64 and any(mine) for mine in words)  # chunks without dead rows are left out
    assert len(set(zip(slots, chunks, strict=True))) == len(slots)
