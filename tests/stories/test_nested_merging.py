"""Fields of structs in merges: what holds for columns holds for them."""

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told

TYPES = {
    "a struct": ("STRUCT<a: INT, b: INT>", "named_struct('a', {}, 'b', {})", "s.b", lambda a, b: {"a": a, "b": b}),
    "a struct in a struct": (
        "STRUCT<n: STRUCT<a: INT, b: INT>>",
        "named_struct('n', named_struct('a', {}, 'b', {}))",
        "s.n.b",
        lambda a, b: {"n": {"a": a, "b": b}},
    ),
    "an array of structs": (
        "ARRAY<STRUCT<a: INT, b: INT>>",
        "array(named_struct('a', {}, 'b', {}))",
        "s.element.b",
        lambda a, b: [{"a": a, "b": b}],
    ),
    "a map of structs": (
        "MAP<STRING, STRUCT<a: INT, b: INT>>",
        "map('k', named_struct('a', {}, 'b', {}))",
        "s.value.b",
        lambda a, b: [("k", {"a": a, "b": b})],
    ),
}


@pytest.fixture(params=TYPES.values(), ids=TYPES.keys())
def typed(request, lake):
    """`d.t (id, v, s)` on main and dev, with the path of a field `b`, and what a value of `s` reads as."""
    type_, value, path, reads = request.param
    told(
        lake,
        f"CREATE TABLE d.t (id INT, v INT, s {type_})",
        f"INSERT INTO d.t VALUES (1, 0, {value.format(1, 10)}), (2, 0, {value.format(2, 20)}), (3, 0, NULL)",
        "CREATE BRANCH dev",
    )
    return lake, path, reads


@pytest.fixture
def structs(lake):
    """`d.t (id, s)` with a struct of `a` and `b`, on main and dev."""
    told(
        lake,
        "CREATE TABLE d.t (id INT, s STRUCT<a: INT, b: INT>)",
        "INSERT INTO d.t VALUES (1, named_struct('a', 1, 'b', 10)), (2, named_struct('a', 2, 'b', 20))",
        "CREATE BRANCH dev",
    )
    return lake


def test_a_pick_from_a_branch_without_the_field_keeps_what_ours_has_in_it(typed):
    lake, path, reads = typed
    told(lake.on("dev"), f"ALTER TABLE d.t DROP COLUMN {path}", "UPDATE d.t SET v = 7 WHERE id <> 2")
    lake.cherry_pick(f"dev@{lake.on('dev').version}")
    assert rows(lake, "d.t") == [(1, 7, reads(1, 10)), (2, 0, reads(2, 20)), (3, 7, None)]


def test_a_field_that_a_revert_brings_back_has_its_values_in_rows_updated_meanwhile(typed):
    lake, path, reads = typed
    told(lake, f"ALTER TABLE d.t DROP COLUMN {path}")
    dropped = lake.version
    told(lake, "UPDATE d.t SET v = 7 WHERE id <> 2")
    lake.revert(f"main@{dropped}")
    assert rows(lake, "d.t") == [(1, 7, reads(1, 10)), (2, 0, reads(2, 20)), (3, 7, None)]


def test_an_optimized_table_too(typed):
    lake, path, reads = typed
    told(lake, f"ALTER TABLE d.t DROP COLUMN {path}")
    dropped = lake.version
    told(lake, "UPDATE d.t SET v = 7 WHERE id <> 2", "OPTIMIZE d.t")
    lake.revert(f"main@{dropped}")
    told(lake, "OPTIMIZE d.t")
    assert rows(lake, "d.t") == [(1, 7, reads(1, 10)), (2, 0, reads(2, 20)), (3, 7, None)]


def test_new_values_beside_the_field_are_taken_and_the_field_stays(structs):
    told(structs.on("dev"), "ALTER TABLE d.t DROP COLUMN s.b", "UPDATE d.t SET s = named_struct('a', 5) WHERE id = 1")
    structs.cherry_pick(f"dev@{structs.on('dev').version}")
    assert rows(structs, "d.t") == [(1, {"a": 5, "b": 10}), (2, {"a": 2, "b": 20})]


def test_a_struct_that_was_set_to_null_is_null(structs):
    told(structs.on("dev"), "ALTER TABLE d.t DROP COLUMN s.b", "UPDATE d.t SET s = NULL WHERE id = 1")
    structs.cherry_pick(f"dev@{structs.on('dev').version}")
    assert rows(structs, "d.t") == [(1, None), (2, {"a": 2, "b": 20})]


@pytest.mark.parametrize("detect", ["row", "cell"])
def test_a_condition_on_a_field_that_was_renamed_since_is_still_about_it(structs, detect):
    told(structs.on("dev"), "DELETE FROM d.t WHERE s.a = 1", "ALTER TABLE d.t RENAME COLUMN s.a TO z")
    told(structs, "INSERT INTO d.t VALUES (3, named_struct('a', 3, 'b', 30))")
    structs.merge("dev", detect=detect)
    assert rows(structs, "d.t") == [(2, {"z": 2, "b": 20}), (3, {"z": 3, "b": 30})]
    told(structs.on("dev"), "DELETE FROM d.t WHERE s.z = 2")
    told(structs, "INSERT INTO d.t VALUES (4, named_struct('z', 2, 'b', 40))")
    with pytest.raises(MergeConflict, match="delete/insert"):
        structs.merge("dev", detect=detect)


@pytest.mark.parametrize(
    ("change", "merged"),
    [
        ("RENAME COLUMN s.b TO z", [(1, {"a": 7, "z": 10}), (2, {"a": 7, "z": 20}), (3, {"a": 7, "z": 30})]),
        ("ALTER COLUMN s.b FIRST", [(1, {"b": 10, "a": 7}), (2, {"b": 20, "a": 7}), (3, {"b": 30, "a": 7})]),
        ("ALTER COLUMN s.b TYPE BIGINT", [(1, {"a": 7, "b": 10}), (2, {"a": 7, "b": 20}), (3, {"a": 7, "b": 30})]),
        ("DROP COLUMN s.b", [(1, {"a": 7}), (2, {"a": 7}), (3, {"a": 7})]),
    ],
)
@pytest.mark.parametrize(
    "set_", ["s = named_struct('a', 7, 'b', s.b)", "s = named_struct('b', s.b, 'a', 7)", "s.a = 7"]
)
def test_theirs_update_of_a_struct_reaches_new_rows_whatever_became_of_its_fields(structs, change, merged, set_):
    told(structs.on("dev"), f"UPDATE d.t SET {set_}", f"ALTER TABLE d.t {change}")
    told(structs, "INSERT INTO d.t VALUES (3, named_struct('a', 3, 'b', 30))")
    structs.merge("dev", detect="row", resolve="theirs")
    assert rows(structs, "d.t") == merged
    assert [list(value) for _, value in rows(structs, "d.t")] == [list(value) for _, value in merged]


def test_theirs_update_of_a_struct_leaves_a_field_that_it_did_not_know(structs):
    told(structs.on("dev"), "UPDATE d.t SET s = named_struct('a', 7, 'b', s.b)")
    told(
        structs,
        "ALTER TABLE d.t ADD COLUMN s.c INT",
        "INSERT INTO d.t VALUES (3, named_struct('a', 3, 'b', 30, 'c', 300))",
    )
    structs.merge("dev", detect="row", resolve="theirs")
    assert rows(structs, "d.t") == [
        (1, {"a": 7, "b": 10, "c": None}),
        (2, {"a": 7, "b": 20, "c": None}),
        (3, {"a": 7, "b": 30, "c": 300}),
    ]


@pytest.mark.parametrize("dropped", ["s.b", "v"])
def test_what_was_changed_in_a_dropped_column_or_field_is_dropped_with_it(lake, dropped):
    told(
        lake,
        "CREATE TABLE d.t (id INT, v INT, s STRUCT<a: INT, b: INT>)",
        "INSERT INTO d.t VALUES (1, 0, named_struct('a', 1, 'b', 10))",
        "CREATE BRANCH dev",
        f"ALTER TABLE d.t DROP COLUMN {dropped}",
        "UPDATE d.t SET id = 9",
    )
    change = "v = 5" if dropped == "v" else "s = named_struct('a', s.a, 'b', 5)"
    told(lake.on("dev"), f"UPDATE d.t SET {change}")
    assert not lake.merge("dev", detect="row").up_to_date, "theirs did change something"
    expected = [(9, {"a": 1, "b": 10})] if dropped == "v" else [(9, 0, {"a": 1})]
    assert rows(lake, "d.t") == expected
    assert lake.merge("dev", detect="row").up_to_date


def test_a_field_that_both_added_is_one_and_nothing_is_left_to_merge(structs):
    told(structs, "ALTER TABLE d.t ADD COLUMN s.c INT")
    told(structs.on("dev"), "ALTER TABLE d.t ADD COLUMN s.c INT", "INSERT INTO d.t VALUES (3, NULL)")
    structs.on("dev").merge("main")
    structs.merge("dev")
    assert structs.on("dev").merge("main").up_to_date


ADDED = {
    "a column": ("", "c", "{}", lambda row: row[1]),
    "a field": (", s STRUCT<a: INT>", "s.c", "named_struct('a', 1, 'c', {})", lambda row: row[1]["c"]),
    "a field of elements": (
        ", s ARRAY<STRUCT<a: INT>>",
        "s.element.c",
        "array(named_struct('a', 1, 'c', {}))",
        lambda row: row[1][0]["c"],
    ),
    "a field of values": (
        ", s MAP<STRING, STRUCT<a: INT>>",
        "s.value.c",
        "map('k', named_struct('a', 1, 'c', {}))",
        lambda row: dict(row[1])["k"]["c"],
    ),
}


@pytest.fixture(params=ADDED.values(), ids=ADDED.keys())
def added(request, lake):
    """`d.t` on main, dev and exp; all three add `c`, as a column or inside one. With a way to write a row, and to read
    `c` of all rows."""
    more, path, value, read = request.param
    told(lake, f"CREATE TABLE d.t (id INT{more})", "CREATE BRANCH dev", "CREATE BRANCH exp")
    for name in ("main", "dev", "exp"):
        told(lake.on(name), f"ALTER TABLE d.t ADD COLUMN {path} INT")

    def write(branch: str, id_: int) -> None:
        told(lake.on(branch), f"INSERT INTO d.t VALUES ({id_}, {value.format(id_ * 10)})")

    def seen(branch: str = "main") -> dict[int, int]:
        return {row[0]: read(row) for row in rows(lake.on(branch), "d.t")}

    return lake, write, seen


def test_an_undone_merge_that_made_two_one_is_remembered(added):
    lake, write, seen = added
    write("main", 1)
    write("dev", 2)
    lake.merge("dev")
    lake.revert(f"main@{lake.version}")
    write("dev", 3)
    lake.merge("dev")
    assert seen() == {1: 10, 3: 30}


def test_three_that_became_one_in_two_merges_stay_one(added):
    lake, write, seen = added
    write("dev", 2)
    lake.merge("dev")
    lake.on("exp").merge("dev")
    lake.revert(f"main@{lake.version}")
    write("exp", 3)
    lake.merge("exp")
    assert seen() == {3: 30}
    assert seen("exp") == {2: 20, 3: 30}


@pytest.mark.parametrize("undone", ["RESTORE TABLE d.t TO VERSION {before}", "REVERT dev@{after}"])
def test_what_another_branch_made_one_and_took_back_is_remembered(added, undone):
    lake, write, seen = added
    write("exp", 1)
    dev = lake.on("dev")
    before = dev.version
    dev.merge("exp")
    told(dev, undone.format(before=before, after=dev.version))
    write("main", 2)
    lake.merge("dev")
    write("exp", 3)
    lake.merge("exp")
    assert seen() == {2: 20, 3: 30}


STRUCTS = {
    "a struct": ("", "s STRUCT<a: INT>", "s.z", "named_struct('a', 1{})", lambda row: row[1]),
    "a struct in a struct": (
        ", r STRUCT<x: INT>",
        "r.s STRUCT<a: INT>",
        "r.s.z",
        "named_struct('x', 1, 's', named_struct('a', 1{}))",
        lambda row: row[1]["s"],
    ),
}


@pytest.mark.parametrize("first", ["dev", "main"])
@pytest.mark.parametrize(("more", "added", "field", "value", "read"), STRUCTS.values(), ids=STRUCTS.keys())
def test_a_dropped_field_of_a_struct_that_both_added_does_not_come_back_under_its_name(
    lake, more, added, field, value, read, first
):
    second = "main" if first == "dev" else "dev"
    told(lake, f"CREATE TABLE d.t (id INT{more})", "CREATE BRANCH dev")
    told(lake, f"ALTER TABLE d.t ADD COLUMN {added}", f"ALTER TABLE d.t@dev ADD COLUMN {added}")
    if first == "main":
        lake.merge("dev")
    told(
        lake.on(first),
        f"ALTER TABLE d.t ADD COLUMN {field} STRING",
        "INSERT INTO d.t VALUES (20, {})".format(value.format(", 'z', 'secret'")),
        f"ALTER TABLE d.t DROP COLUMN {field}",
    )
    if first == "dev":
        lake.merge("dev")
    told(lake.on(second), f"ALTER TABLE d.t ADD COLUMN {field} INT")
    lake.merge("dev")
    assert [read(row) for row in rows(lake, "d.t")] == [{"a": 1, "z": None}]
