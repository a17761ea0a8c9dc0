"""Rewrites stand for their inputs only where nobody could tell: checked against states as plain lists of rows."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from anabranch.model import types
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.parts.carriers import carried, fits, reads_alike

INT = Schema(1, (Column("a", types.INT, "a"),))
AT = Position(1, 1)


def part(slot: int, rows: int) -> Part:
    return Part(f"p{slot}", slot, 1, rows, 100)


def state(sizes: dict[int, int], dead: dict[int, set[int]]) -> TableState:
    killed = {slot: BitMap(rows) for slot, rows in dead.items() if rows}
    return TableState("t", AT, {slot: part(slot, rows) for slot, rows in sizes.items()}, killed)


def rewrite(of: TableState, slots: list[int], *sizes: int, first: int = 100) -> Rewrite:
    """A rewrite of a state's live rows, in parts of these sizes and one with the rest."""
    left_out = {slot: of.dead.get(slot, BitMap()) for slot in slots}
    rest = sum(of.parts[slot].rows - len(left_out[slot]) for slot in slots) - sum(sizes)
    parts = [part(first + place, rows) for place, rows in enumerate([*sizes, rest]) if rows]
    return Rewrite(f"r{first}", "t", left_out, tuple(parts))


def held(of: TableState, rewrites: list[Rewrite]) -> list[tuple[int, int]]:
    """The ids of live rows as a reader meets them, with a naive picture of what stands in rewritten parts."""
    standing: dict[int, list[tuple[int, int]]] = {
        slot: [(slot, place) for place in range(part.rows)] for slot, part in of.parts.items()
    }
    for made in rewrites:
        rows = iter(
            (slot, place)
            for slot, left_out in made.left_out.items()
            for place in range(of.parts[slot].rows if slot in of.parts else 0)
            if place not in left_out
        )
        for part_ in made.parts:
            standing[part_.slot] = list(itertools.islice(rows, part_.rows))
    seen = carried(of, INT, rewrites, {1: INT})
    return [
        row
        for part_ in seen.parts
        for place, row in enumerate(standing[part_.slot])
        if place not in seen.dead.get(part_.slot, ())
    ]


def live(of: TableState) -> list[tuple[int, int]]:
    return [(s, row) for s, part in of.parts.items() for row in range(part.rows) if row not in of.dead.get(s, ())]


@st.composite
def states(draw: st.DrawFn) -> TableState:
    sizes = draw(st.dictionaries(st.integers(1, 8), st.integers(1, 12), min_size=1))
    dead = {slot: draw(st.sets(st.integers(0, rows - 1))) for slot, rows in sizes.items()}
    return state(sizes, dead)


@st.composite
def rewritten(draw: st.DrawFn, of: TableState, first: int) -> Rewrite:
    slots = draw(st.permutations(list(of.parts)).flatmap(lambda s: st.integers(1, len(s)).map(lambda n: s[:n])))
    kept = sum(of.parts[slot].rows - len(of.dead.get(slot, BitMap())) for slot in slots)
    return rewrite(of, slots, draw(st.integers(0, kept)), first=first)


@given(st.data())
def test_the_same_rows_are_read_once_each_in_every_state(data: st.DataObject) -> None:
    """Rewrites made of several states, read in another one: where slots went, died further or came back to life."""
    now = data.draw(states())
    before = data.draw(states())
    made = [data.draw(rewritten(now, 100)), data.draw(rewritten(now, 200))]
    if before.parts.keys() <= now.parts.keys():
        sizes = {slot: now.parts[slot].rows for slot in before.parts}
        dead = {slot: {row for row in before.dead.get(slot, ()) if row < size} for slot, size in sizes.items()}
        made.append(data.draw(rewritten(state(sizes, dead), 300)))
    more = {slot: set(now.dead.get(slot, ())) | data.draw(st.sets(st.integers(0, 3))) for slot in now.parts}
    more = {slot: {row for row in rows if row < now.parts[slot].rows} for slot, rows in more.items()}
    gone = data.draw(st.sets(st.sampled_from(list(now.parts))))
    sizes = {slot: part.rows for slot, part in now.parts.items() if slot not in gone}
    for reader in (now, state(sizes, {slot: more[slot] for slot in sizes}), state(sizes, {})):
        assert sorted(held(reader, made)) == sorted(live(reader))


def test_a_rewrite_that_fits_is_read_instead_of_its_slots() -> None:
    of = state({1: 3, 2: 3}, {1: {0}})
    seen = carried(of, INT, [rewrite(of, [1, 2])], {1: INT})
    assert [part.slot for part in seen.parts] == [100]
    assert not seen.dead


def test_rows_that_died_since_are_hidden_where_they_stand() -> None:
    of = state({1: 3, 2: 3}, {1: {0}})
    made = rewrite(of, [1, 2], 3)
    seen = carried(state({1: 3, 2: 3}, {1: {0, 2}, 2: {1, 2}}), INT, [made], {1: INT})
    assert {slot: set(rows) for slot, rows in seen.dead.items()} == {100: {1}, 101: {0, 1}}


@pytest.mark.parametrize(
    ("reader", "why"),
    [
        (state({1: 3}, {1: {0}}), "a slot is gone"),
        (state({1: 3, 2: 3}, {}), "a row came back to life"),
    ],
)
def test_a_rewrite_that_does_not_fit_stands_for_nothing(reader: TableState, why: str) -> None:
    made = rewrite(state({1: 3, 2: 3}, {1: {0}}), [1, 2])
    assert not fits(made, reader), why
    assert carried(reader, INT, [made], {1: INT}).parts == tuple(reader.parts.values())


def column(physical: str = "a", type_: types.DataType = types.INT, **attributes: object) -> Column:
    return Column("x", type_, physical, **attributes)  # type: ignore[arg-type]


def of(*columns: Column) -> Schema:
    return Schema(1, columns)


F, G = (types.StructField(name, types.INT, name) for name in "fg")
ALIKE = {
    "the same column": (column(), [of(column())], of(column()), True),
    "dropped before the rewrite, asked for by an older version": (column(), [of(column())], of(), False),
    "widened before the rewrite, read as it was": (
        column(), [of(column())], of(column(type_=types.BIGINT)), False,
    ),
    "written narrow, read wide": (column(type_=types.BIGINT), [of(column())], of(column()), True),
    "nobody has it": (column(), [of()], of(), True),
    "a default of its own that now stands in the file": (
        column(initial_default="1"), [of(), of(column(initial_default="1"))], of(column(initial_default="1")), True,
    ),
    "another side's default stands in the file": (
        column(initial_default="1", aliases=("b",)), [of()], of(column("b", initial_default="2")), False,
    ),
    "held under an alias by all": (column(aliases=("b",)), [of(column("b"))], of(column("b")), True),
    "held under the name that unified it": (column("b"), [of(column("b"))], of(column("a", aliases=("b",))), False),
    "a field of a struct went": (
        column(type_=types.Struct((F, G))), [of(column(type_=types.Struct((F, G))))],
        of(column(type_=types.Struct((F,)))),
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALIKE)
def test_schemas_under_which_a_rewrite_reads_as_its_inputs(case: str) -> None:
    asked, inputs, output, expected = ALIKE[case]
    assert reads_alike(of(asked), inputs, [output]) is expected
