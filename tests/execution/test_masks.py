"""The rows of a mask's table, flat and in chunks, hide exactly the dead positions."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.execution import masks
from anabranch.model.part import Part


@st.composite
def dead_parts(draw):
    found = []
    for slot in draw(st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True)):
        rows = draw(st.one_of(st.integers(1, 700), st.sampled_from([63, 64, 65, 128, 640])))
        dead = draw(st.one_of(st.sets(st.integers(0, rows - 1), min_size=1, max_size=20), st.just(set(range(rows)))))
        found.append((Part(f"p{slot}", slot * 7, 1, rows, 1), BitMap(dead)))
    return found


def hidden(words):
    return {p for p in range(len(words) * 64) if (words[p >> 6] & 0xFFFF_FFFF_FFFF_FFFF) >> (p & 63) & 1}


def expected(dead):
    return {(part.slot, position) for part, positions in dead for position in positions}


@settings(deadline=None)
@given(dead_parts())
def test_flat_masks(dead):
    table = masks.flat_table(dead)
    assert table.num_rows == 1
    starts, words = (table.column(place).to_pylist()[0] for place in range(2))
    first = min(part.slot for part, _ in dead)
    ends = {}
    for part, positions in dead:
        start = starts[part.slot - first]
        ends[start] = end = start + part.rows // 64 + 1  # every row's word is there
        assert {p for p in hidden(words[start:end]) if p < part.rows} == set(positions)
    assert sorted(ends) == sorted([0, *ends.values()])[:-1]  # the parts' words lie side by side
    assert max(ends.values()) == len(words)


FEW, MANY = 1000, masks.FLAT_LIMIT * 8


@pytest.mark.parametrize(
    ("parts", "flat"),
    [
        ([(1, FEW)], True),
        ([(1, MANY)], True),
        ([(1, MANY), (2, 8)], False),
        ([(masks.SLOT_SPAN, FEW), (1, FEW)], True),
        ([(masks.SLOT_SPAN + 1, FEW), (1, FEW)], False),
        ([(masks.SLOT_SPAN + 1, FEW)], True),
    ],
)
def test_large_masks_and_slots_far_apart_are_chunked(parts, flat):
    assert masks.is_flat([Part(f"p{slot}", slot, 1, rows, 1) for slot, rows in parts]) == flat


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
