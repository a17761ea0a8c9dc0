"""What versions of a row have alike, as tables: what a part says that it changed, and what two parts have alike."""

import numpy as np
import pytest
from pyroaring import BitMap

from anabranch.branching.rows import side_of
from anabranch.branching.versions import alike, changed_by, surely_differs
from anabranch.model.history import Position
from anabranch.model.part import Part, all_differ, changed_columns, saying_all_differ, with_changed
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState, advance
from tests.branching.schemas import schema

WRITTEN = {
    1: schema("id:int, a:int, s:struct<x:int, y:int>", 1),
    2: schema("id:int, s:struct<x:int, y:int>", 2),
    3: schema("id:int, a:bigint, s:struct<x:int>", 3),
    4: schema("id:int, a+b:int, s:struct<x:int, y:int>", 4),
}


def part(slot, changed, schema_id=1):
    """`changed` as text: '-' for a part of first versions, '?' for one that does not say."""
    made = Part(f"p{slot}", slot, schema_id, 10, 100, has_origin=changed != "-")
    return made if changed in "-?" and changed else with_changed(made, frozenset(changed.split()))


def ids(*slots):
    return np.array([slot << 32 if slot >= 0 else -1 for slot in slots], np.int64)


@pytest.mark.parametrize(
    ("assigned", "sources", "under", "changed"),
    [
        ("a", [("-", 1)], 1, "a"),
        ("a", [("id", 1)], 1, "a id"),
        ("a", [("-", 1), ("s", 1)], 1, "a s"),
        ("a", [("?", 1)], 1, None),
        ("id", [("-", 2)], 1, "id"),  # the first version lacks `a`, and no other version can have it alike
        ("id", [("", 2)], 1, "a id"),  # a later one lacks it: what is written now is the default
        ("id", [("", 3)], 1, "a id s"),  # other types in between
        ("id", [("", 1)], 3, "a id s"),
        ("id", [("", 1)], 4, None),  # a merge has unified columns
        ("", [("a", 1), ("s", 1)], 1, "a s"),  # a cell merge assigns nothing itself
    ],
)
def test_what_new_versions_have_changed(assigned, sources, under, changed):
    parts = [part(slot, text, id) for slot, (text, id) in enumerate(sources)]
    found = changed_by(assigned.split(), parts, WRITTEN, WRITTEN[under])
    assert found == (None if changed is None else frozenset(changed.split()))


@pytest.mark.parametrize(
    ("one", "other", "columns", "same"),
    [
        (("-", 1), ("a", 1), 1, "id s"),
        (("a", 1), ("s", 1), 1, "id"),
        (("-", 1), ("?", 1), 1, ""),
        (("?", 1), ("a", 1), 1, ""),
        (("-", 1), ("", 2), 1, "id s"),
        (("-", 1), ("", 3), 3, "id"),
        (("-", 1), ("", 1), 4, "id s"),
        (("-", 1), ("", 1), 2, "id s"),
    ],
)
def test_what_two_parts_have_alike(one, other, columns, same):
    parts = {1: part(1, *one), 2: part(2, *other)}
    for here, there in ((1, 2), (2, 1)):
        found = alike(WRITTEN[columns].columns, ids(here), ids(there), parts, WRITTEN)
        assert found == {here: frozenset(same.split())}


def test_a_slot_has_alike_what_all_its_rows_have():
    parts = {1: part(1, "-"), 2: part(2, "a"), 3: part(3, "id"), 4: part(4, "-")}
    columns = WRITTEN[1].columns
    assert alike(columns, ids(1, 1, 4, -1), ids(2, 3, 3, 2), parts, WRITTEN) == {1: {"s"}, 4: {"a", "s"}}
    assert alike(columns, ids(1, 1), ids(2, -1), parts, WRITTEN) == {1: frozenset()}
    assert alike(columns, ids(), ids(), parts, WRITTEN) == {}


def test_a_part_keeps_its_bounds_when_it_says_what_it_changed():
    made = with_changed(Part("p", 1, 1, 10, 100, '{"row_groups":[4,6]}', has_origin=True), frozenset({"b", "a"}))
    assert made.stats == '{"row_groups":[4,6],"changed":["a","b"]}'
    assert changed_columns(made) == {"a", "b"}


# --- what is known to differ ------------------------------------------------------------------------------------------


def update(slot, killed, *, differ=True, schema_id=1):
    """An UPDATE: slot -> killed positions, and the part of the new versions."""
    new = Part(f"p{slot}", slot, schema_id, sum(map(len, killed.values())), 100, has_origin=True)
    new = saying_all_differ(new) if differ else new
    return TableDelta("t", (new,), killed={old: BitMap(rows) for old, rows in killed.items()}, cause="update")


def delete(killed):
    return TableDelta("t", killed={slot: BitMap(rows) for slot, rows in killed.items()}, cause="delete")


@pytest.mark.parametrize(
    ("done", "asked", "known"),
    [
        ([update(2, {1: [0, 1]})], {1: [1, 5]}, True),
        ([update(2, {1: [0, 1]})], {1: [5]}, False),
        ([update(2, {1: [0, 1]}, differ=False)], {1: [1]}, False),
        ([update(2, {1: [0, 1]}, schema_id=2)], {1: [1]}, False),  # the column that it set may be gone since
        ([update(2, {1: [0, 1]}), update(3, {2: [0, 1]})], {1: [1]}, False),  # it may have been set back
        ([update(2, {1: [0, 1]}), update(3, {2: [0]})], {1: [1]}, False),  # nobody read which row was set back
        ([update(2, {1: [0, 1]}), delete({2: [1]})], {1: [1]}, False),
        ([update(2, {1: [0, 1]}, differ=False), update(3, {1: [7]})], {1: [1, 7]}, True),
        ([update(2, {1: [0]}), TableDelta("t", removed=(2,), cause="restore")], {1: [0]}, False),
        ([], {1: [0]}, False),
    ],
)
def test_what_is_known_to_differ(done, asked, known):
    base = TableState("t", Position(1, 1), {1: Part("p1", 1, 1, 10, 100)})
    side = side_of(base, advance(base, Position(1, 2), done), done)
    updates = [delta for delta in done if delta.cause == "update"]
    rows = {slot: BitMap(positions) for slot, positions in asked.items()}
    assert surely_differs(side, rows, updates, 1) == known


def test_a_part_says_that_all_its_rows_differ():
    made = Part("p", 1, 1, 10, 100, '{"row_groups":[4,6]}', has_origin=True)
    assert (all_differ(made), all_differ(saying_all_differ(made))) == (False, True)
    assert changed_columns(saying_all_differ(with_changed(made, frozenset({"a"})))) == {"a"}


@pytest.mark.parametrize("cause", ["insert", "update"])
def test_new_rows_that_were_updated_are_new_and_those_deleted_since_are_not(cause):
    """However often it is asked; a part of MERGE INTO holds new rows beside new versions."""
    first, second = Part("p1", 1, 1, 3, 100), Part("p2", 2, 1, 2, 100, has_origin=True)
    events = [
        TableDelta("t", (first,), cause=cause),
        TableDelta("t", (second,), killed={1: BitMap([0, 1])}, cause="update"),
        TableDelta("t", killed={2: BitMap([1])}, cause="delete"),
    ]
    base = TableState("t", Position(1, 0), {}, {})
    head = base
    for version, event in enumerate(events, 1):
        head = advance(head, Position(1, version), [event])
    side = side_of(base, head, events)
    origins = {1: ids(1, 1, 1) + np.arange(3), 2: ids(1, 1) + np.arange(2)}
    for _ in range(2):
        assert side.inserted(lambda part: origins[part.slot])[1] == BitMap([0, 2])
    assert side.causes[1] == {"update": BitMap([0, 1])}
