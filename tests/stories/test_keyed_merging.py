"""Keyed tables that meet again: every row of the keyed law told in SQL, on real lakes."""

from __future__ import annotations

import pytest

from anabranch.errors import DataError, MergeConflict, Refused
from tests.stories.telling import rows, told


def keyed(lake, options="", columns="id INT, v STRING, n INT", key="id", name="d.t"):
    properties = f" TBLPROPERTIES ({options})" if options else ""
    told(lake, f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key})){properties}")
    return lake


@pytest.fixture
def people(lake):
    """d.t, deduplicate, with three keys, and the branch `dev`."""
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "CREATE BRANCH dev")
    return lake


def status(lake, statement):
    return {row.status for row in lake.sql(statement)}


def conflicts(lake, theirs="dev"):
    return [(c.row, c.rule, c.column, c.base, c.ours, c.theirs) for c in lake.conflicts(theirs)]


# --- deduplicate ------------------------------------------------------------------------------------------------------


def test_keys_that_one_side_changed(any_lake):
    keyed(any_lake)
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "CREATE BRANCH dev")
    told(any_lake, "INSERT INTO d.t@dev VALUES (1, 'x', 1), (4, 'd', 4)", "DELETE FROM d.t@dev WHERE id = 3")
    told(any_lake, "UPDATE d.t SET v = 'y' WHERE id = 2", "INSERT INTO d.t VALUES (5, 'e', 5)")
    told(any_lake, "MERGE BRANCH dev")
    assert rows(any_lake, "d.t") == [(1, "x", 1), (2, "y", 2), (4, "d", 4), (5, "e", 5)]
    assert rows(any_lake, "d.t@dev") == [(1, "x", 1), (2, "b", 2), (4, "d", 4)]
    assert status(any_lake, "MERGE BRANCH dev") == {"up to date"}
    told(any_lake, "MERGE BRANCH main TO dev")
    assert rows(any_lake, "d.t") == rows(any_lake, "d.t@dev")


def test_the_same_row_on_both_sides_is_fine(people):
    told(people, "INSERT INTO d.t VALUES (1, 'x', 1)", "DELETE FROM d.t WHERE id = 2")
    told(people, "INSERT INTO d.t@dev VALUES (1, 'x', 1)", "DELETE FROM d.t@dev WHERE id = 2", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "x", 1), (3, "c", 3)]


def test_a_conflict_shows_base_ours_and_theirs(people):
    told(
        people, "INSERT INTO d.t VALUES (1, 'o', 1), (9, 'o', 9)", "INSERT INTO d.t@dev VALUES (1, 't', 1), (9, 't', 9)"
    )
    told(people, "DELETE FROM d.t WHERE id = 2", "UPDATE d.t@dev SET n = 20 WHERE id = 2")
    assert conflicts(people) == [
        ({"id": 1}, "update/update", None, row(1, "a", 1), row(1, "o", 1), row(1, "t", 1)),
        ({"id": 2}, "update/delete", None, row(2, "b", 2), "deleted", row(2, "b", 20)),
        ({"id": 9}, "insert/insert", None, None, row(9, "o", 9), row(9, "t", 9)),
    ]
    before, version = rows(people, "d.t"), people.version
    with pytest.raises(MergeConflict, match="key id = 1: theirs v = t, ours v = o"):
        told(people, "MERGE BRANCH dev")
    assert (rows(people, "d.t"), people.version) == (before, version)
    shown = people.sql("SHOW CONFLICTS FROM dev")
    assert [r.kind for r in shown] == ["key"] * 3
    assert len(people.merge("dev", dry_run=True).conflicts) == 3


def row(id, v, n):
    return {"id": id, "v": v, "n": n}


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("OURS", [(1, "o", 1), (3, "c", 3), (4, "t", 4)]),
        ("THEIRS", [(1, "t", 1), (2, "b", 20), (3, "c", 3), (4, "t", 4)]),
    ],
)
def test_resolving_takes_a_side_where_both_changed(people, side, expected):
    told(people, "INSERT INTO d.t VALUES (1, 'o', 1)", "INSERT INTO d.t@dev VALUES (1, 't', 1), (4, 't', 4)")
    told(people, "DELETE FROM d.t WHERE id = 2", "UPDATE d.t@dev SET n = 20 WHERE id = 2")
    told(people, f"MERGE BRANCH dev RESOLVE USING {side}")
    assert rows(people, "d.t") == expected
    assert status(people, "MERGE BRANCH dev") == {"up to date"}
    told(people, "MERGE BRANCH main TO dev")
    assert rows(people, "d.t@dev") == expected


def test_a_table_of_its_own_and_a_habit(people):
    keyed(people, "'merge.on-conflict' = 'theirs'", name="d.u")
    told(people, "INSERT INTO d.u VALUES (1, 'a', 1)", "MERGE BRANCH main TO dev")
    for name in ("t", "u"):
        told(people, f"INSERT INTO d.{name} VALUES (1, 'o', 1)", f"INSERT INTO d.{name}@dev VALUES (1, 't', 1)")
    assert {c.object for c in people.conflicts("dev")} == {"d.t"}
    told(people, "MERGE BRANCH dev RESOLVE TABLE d.t USING OURS")
    assert rows(people, "d.t")[0] == (1, "o", 1)
    assert rows(people, "d.u") == [(1, "t", 1)]


def test_resolutions_by_key(people):
    told(people, "ALTER TABLE d.t ALTER COLUMN n SET NOT NULL")
    told(
        people, "INSERT INTO d.t VALUES (1, 'o', 1), (2, 'o', 2)", "INSERT INTO d.t@dev VALUES (1, 't', 1), (2, 't', 2)"
    )
    given = [{"id": 1, "v": "both", "n": 7}, {"id": 2, "v": None, "n": None, "_kind": "-D"}]
    with pytest.raises(Refused, match=r"key id = 3 of table 'd.t' is not in conflict"):
        people.merge("dev", resolutions={"d.t": [*given, {"id": 3, "v": "x", "n": 3}]})
    with pytest.raises(MergeConflict, match="id = 2"):
        people.merge("dev", resolutions={"d.t": given[:1]})
    for nothing in ([], people.table("d.t").to_arrow().slice(0, 0)):
        with pytest.raises(MergeConflict, match="id = 1"):
            people.merge("dev", resolutions={"d.t": nothing})
    people.merge("dev", resolutions={"d.t": given})
    assert rows(people, "d.t") == [(1, "both", 7), (3, "c", 3)]
    told(people, "INSERT INTO d.t@dev VALUES (3, 't', 3)")
    with pytest.raises(Refused, match="not conflict"):
        people.merge("dev", resolutions={"d.t": [{"id": 3, "v": "x", "n": 3}]})


def test_detect_changes_nothing(people):
    told(people, "INSERT INTO d.t VALUES (1, 'o', 1)", "INSERT INTO d.t@dev VALUES (1, 'a', 10)")
    for detect in ("file", "row", "cell"):
        with pytest.raises(MergeConflict):
            told(people, f"MERGE BRANCH dev WITH (detect = '{detect}')")


def test_the_larger_sequence_wins_and_a_tie_conflicts(lake):
    keyed(lake, "'sequence.field' = 'n'")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 1)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (1, 'o', 5), (2, 'o', 3)", "INSERT INTO d.t@dev VALUES (1, 't', 4), (2, 't', 9)")
    told(lake, "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [(1, "o", 5), (2, "t", 9), (3, "c", 1)]
    told(lake, "INSERT INTO d.t VALUES (3, 'o', 7)", "INSERT INTO d.t@dev VALUES (3, 't', 7)")
    assert [c.row for c in lake.conflicts("dev")] == [{"id": 3}]
    told(lake, "MERGE BRANCH dev RESOLVE USING OURS")
    assert rows(lake, "d.t")[2] == (3, "o", 7)


# --- partial-update ---------------------------------------------------------------------------------------------------

PARTIAL = "'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true'"


@pytest.fixture
def partial(lake):
    keyed(lake, PARTIAL, "id INT, x INT, y INT, z INT")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1, 1), (2, 2, 2, 2)", "CREATE BRANCH dev")
    return lake


def test_columns_that_one_side_set_combine(partial):
    told(partial, "INSERT INTO d.t (id, x) VALUES (1, 10), (2, 20)", "INSERT INTO d.t@dev (id, y) VALUES (1, 11)")
    told(partial, "UPDATE d.t@dev SET z = NULL WHERE id = 1", "INSERT INTO d.t@dev (id, x) VALUES (2, 20)")
    told(partial, "MERGE BRANCH dev")
    assert rows(partial, "d.t") == [(1, 10, 11, None), (2, 20, 2, 2)]


def test_one_column_on_both_sides_conflicts_by_name(partial):
    told(partial, "INSERT INTO d.t (id, x, y) VALUES (1, 10, 7)", "INSERT INTO d.t@dev (id, x, z) VALUES (1, 11, 8)")
    assert [(c.row, c.column) for c in partial.conflicts("dev")] == [({"id": 1}, "x")]
    told(partial, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(partial, "d.t")[0] == (1, 11, 7, 8)


def test_a_delete_against_any_change(partial):
    told(partial, "DELETE FROM d.t WHERE id = 1", "INSERT INTO d.t@dev (id, y) VALUES (1, 11)")
    assert [(c.rule, c.ours) for c in partial.conflicts("dev")] == [("update/delete", "deleted")]
    told(partial, "CREATE BRANCH other", "MERGE BRANCH dev RESOLVE USING OURS")
    assert rows(partial, "d.t") == [(2, 2, 2, 2)]
    told(partial, "MERGE BRANCH dev TO other RESOLVE USING THEIRS")
    assert rows(partial, "d.t@other") == [(1, 1, 11, 1), (2, 2, 2, 2)]


def test_sequence_groups_decide_for_their_fields(lake):
    options = (
        "'merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'x,s', 'fields.s.aggregate-function' = 'sum'"
    )
    keyed(lake, options, "id INT, g INT, x INT, s INT, y INT")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1, 1, 1), (2, 1, 1, 1, 1)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (1, 5, 50, 10, NULL), (2, 4, 7, 10, NULL)")
    told(lake, "INSERT INTO d.t@dev VALUES (1, 3, 30, 100, 9)")
    told(lake, "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [(1, 5, 50, 111, 9), (2, 4, 7, 11, 1)]
    told(lake, "INSERT INTO d.t@dev VALUES (2, 4, 8, 100, NULL)")
    assert [c.column for c in lake.conflicts("dev")] == ["x"]


# --- aggregation ------------------------------------------------------------------------------------------------------

SUMS = (
    "'merge-engine' = 'aggregation', 'fields.s.aggregate-function' = 'sum', 'fields.m.aggregate-function' = 'max', "
    "'fields.l.aggregate-function' = 'last_value'"
)


@pytest.fixture
def sums(lake):
    keyed(lake, SUMS, "id INT, s INT, m INT, l STRING")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b')", "CREATE BRANCH dev")
    return lake


def test_both_sides_count_once_each(sums):
    told(sums, "INSERT INTO d.t VALUES (1, 10, 3, 'a'), (3, 5, 5, 'n')", "INSERT INTO d.t@dev VALUES (1, 100, 9, 'a')")
    told(sums, "INSERT INTO d.t@dev VALUES (3, 6, 6, 'n'), (2, 1, 1, 't')", "MERGE BRANCH dev")
    assert rows(sums, "d.t") == [(1, 111, 9, "a"), (2, 3, 2, "t"), (3, 11, 6, "n")]
    told(sums, "MERGE BRANCH main TO dev", "INSERT INTO d.t VALUES (1, 1000, 0, 'a')", "MERGE BRANCH main TO dev")
    assert rows(sums, "d.t@dev") == [(1, 1111, 9, "a"), (2, 3, 2, "t"), (3, 11, 6, "n")]
    assert rows(sums, "d.t@dev") == rows(sums, "d.t")


def test_what_does_not_commute_conflicts_and_the_rest_still_counts(sums):
    told(sums, "INSERT INTO d.t VALUES (1, 10, 3, 'o')", "INSERT INTO d.t@dev VALUES (1, 100, 9, 't')")
    assert [c.column for c in sums.conflicts("dev")] == ["l"]
    told(sums, "MERGE BRANCH dev RESOLVE USING OURS")
    assert rows(sums, "d.t")[0] == (1, 111, 9, "o")


def test_a_sum_that_a_user_set_conflicts_with_a_change(sums):
    told(sums, "UPDATE d.t SET s = 50 WHERE id = 1", "INSERT INTO d.t@dev VALUES (1, 100, 9, 'a')")
    assert [c.column for c in sums.conflicts("dev")] == ["s"]
    told(sums, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(sums, "d.t")[0] == (1, 101, 9, "a")


@pytest.mark.parametrize("update", ["SET l = 'z'", "SET s = 5"])
def test_a_row_that_ours_took_back_and_theirs_updated(sums, update):
    """Its update alone would be a row that neither side had."""
    inserted = sums.version
    told(sums, f"UPDATE d.t@dev {update} WHERE id = 1", f"REVERT {inserted}")
    assert rows(sums, "d.t") == []
    assert [(c.rule, c.ours) for c in sums.conflicts("dev")] == [("update/delete", "deleted")]
    told(sums, "CREATE BRANCH other", "MERGE BRANCH dev RESOLVE USING THEIRS")
    told(sums, "MERGE BRANCH dev TO other RESOLVE USING OURS")
    assert rows(sums, "d.t") == rows(sums, "d.t@dev")[:1]
    assert rows(sums, "d.t@other") == []


def test_a_picked_flush_counts_once(sums):
    told(sums, "INSERT INTO d.t@dev VALUES (1, 100, 9, 'a')")
    picked = sums.on("dev").version
    told(sums, "INSERT INTO d.t@dev VALUES (1, 1000, 0, 'a')", f"CHERRY PICK dev@{picked}")
    assert rows(sums, "d.t")[0] == (1, 101, 9, "a")
    assert status(sums, f"CHERRY PICK dev@{picked}") == {"up to date"}
    told(sums, "INSERT INTO d.t VALUES (1, 10, 0, 'a')", "MERGE BRANCH dev")
    assert rows(sums, "d.t")[0] == (1, 1111, 9, "a")


# --- first-row --------------------------------------------------------------------------------------------------------


def test_ours_stays_first(lake):
    keyed(lake, "'merge-engine' = 'first-row'")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (2, 'o', 2), (3, 'o', 3)", "INSERT INTO d.t@dev VALUES (1, 't', 1), (2, 't', 2)")
    told(lake, "INSERT INTO d.t@dev VALUES (4, 't', 4)", "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [(1, "a", 1), (2, "o", 2), (3, "o", 3), (4, "t", 4)]


def test_a_first_row_that_was_undone_does_not_let_a_later_one_in(lake):
    keyed(lake, "'merge-engine' = 'first-row'")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'a', 2)")
    first = lake.version
    told(lake, "INSERT INTO d.t VALUES (1, 'b', 1), (3, 'b', 3)", f"REVERT {first}")
    assert rows(lake, "d.t") == [(3, "b", 3)]
    told(lake, "INSERT INTO d.t VALUES (1, 'c', 1)")
    assert rows(lake, "d.t") == [(1, "c", 1), (3, "b", 3)]
    told(lake, "OPTIMIZE d.t")
    assert rows(lake, "d.t") == [(1, "c", 1), (3, "b", 3)]


# --- histories --------------------------------------------------------------------------------------------------------


def test_there_and_back_and_again(people):
    told(people, "INSERT INTO d.t VALUES (1, 'm', 0)", "INSERT INTO d.t@dev VALUES (2, 'd', 0)")
    told(people, "MERGE BRANCH main TO dev", "INSERT INTO d.t@dev VALUES (1, 'd', 1)", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "d", 1), (2, "d", 0), (3, "c", 3)]
    assert rows(people, "d.t") == rows(people, "d.t@dev")
    told(people, "INSERT INTO d.t VALUES (2, 'm', 2)", "MERGE BRANCH main TO dev")
    assert status(people, "MERGE BRANCH dev") != {"up to date"} or rows(people, "d.t") == rows(people, "d.t@dev")
    assert rows(people, "d.t") == rows(people, "d.t@dev") == [(1, "d", 1), (2, "m", 2), (3, "c", 3)]


def test_criss_cross(sums):
    told(sums, "INSERT INTO d.t VALUES (1, 10, 0, 'a')", "CREATE TAG m1")
    told(sums, "INSERT INTO d.t@dev VALUES (1, 100, 0, 'a')", "CREATE TAG d1 FROM dev")
    told(sums, "MERGE BRANCH d1", "MERGE BRANCH m1 TO dev")
    told(sums, "INSERT INTO d.t VALUES (1, 1000, 0, 'a')", "INSERT INTO d.t@dev VALUES (1, 10000, 0, 'a')")
    told(sums, "MERGE BRANCH dev", "MERGE BRANCH main TO dev")
    assert rows(sums, "d.t")[0] == (1, 11111, 1, "a")
    assert rows(sums, "d.t") == rows(sums, "d.t@dev")


def test_criss_cross_with_decisions_of_its_own(people):
    told(people, "INSERT INTO d.t VALUES (1, 'm', 1)", "CREATE TAG m1")
    told(people, "INSERT INTO d.t@dev VALUES (1, 'd', 1)", "CREATE TAG d1 FROM dev")
    told(people, "MERGE BRANCH d1 RESOLVE USING OURS", "MERGE BRANCH m1 TO dev RESOLVE USING OURS")
    assert [c.row for c in people.conflicts("dev")] == [{"id": 1}]
    told(people, "MERGE BRANCH dev RESOLVE USING THEIRS", "MERGE BRANCH main TO dev")
    assert rows(people, "d.t")[0] == (1, "d", 1)
    assert rows(people, "d.t") == rows(people, "d.t@dev")


def test_compaction_on_either_side_changes_nothing(people):
    told(people, "INSERT INTO d.t VALUES (1, 'o', 1), (4, 'o', 4)", "DELETE FROM d.t WHERE id = 3")
    told(people, "INSERT INTO d.t@dev VALUES (2, 't', 2), (4, 't', 4)", "DELETE FROM d.t@dev WHERE id = 1")
    expected = conflicts(people)
    assert [key["id"] for key, *_ in expected] == [1, 4]
    told(people, "OPTIMIZE d.t", "OPTIMIZE d.t@dev")
    assert conflicts(people) == expected
    told(people, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(people, "d.t") == [(2, "t", 2), (4, "t", 4)]
    told(people, "OPTIMIZE d.t")
    assert rows(people, "d.t") == [(2, "t", 2), (4, "t", 4)]


def test_a_branch_that_only_compacted_is_up_to_date(people):
    told(people, "INSERT INTO d.t@dev VALUES (1, 'x', 1)", "MERGE BRANCH dev", "OPTIMIZE d.t@dev")
    assert status(people, "MERGE BRANCH dev") == {"up to date"}


def test_a_table_that_is_new_comes_with_its_order(lake):
    told(lake, "CREATE BRANCH dev")
    keyed(lake.on("dev"))
    told(lake, "INSERT INTO d.t@dev VALUES (1, 'a', 1)", "INSERT INTO d.t@dev VALUES (1, 'b', 1)")
    told(lake, "UPDATE d.t@dev SET v = 'c'", "INSERT INTO d.t@dev VALUES (1, 'd', 1)", "DELETE FROM d.t@dev")
    told(lake, "INSERT INTO d.t@dev VALUES (1, 'e', 1)", "UPDATE d.t@dev SET n = 2", "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [(1, "e", 2)]


# --- overwrites -------------------------------------------------------------------------------------------------------


def test_an_overwrite_of_theirs_takes_ours_along(people):
    told(people, "INSERT INTO d.t VALUES (1, 'o', 1), (4, 'o', 4)", "INSERT OVERWRITE d.t@dev VALUES (9, 't', 9)")
    told(people, "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(9, "t", 9)]


def test_changes_of_keys_that_ours_overwrote_are_discarded(people):
    told(people, "INSERT OVERWRITE d.t VALUES (1, 'o', 1), (8, 'o', 8)")
    told(people, "INSERT INTO d.t@dev VALUES (1, 't', 1), (2, 't', 2), (9, 't', 9)", "DELETE FROM d.t@dev WHERE id = 3")
    told(people, "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "o", 1), (8, "o", 8), (9, "t", 9)]


def test_a_key_new_on_both_sides_of_an_overwrite_is_compared(people):
    told(people, "INSERT OVERWRITE d.t VALUES (8, 'o', 8)", "INSERT INTO d.t@dev VALUES (8, 't', 8)")
    assert [c.row for c in people.conflicts("dev")] == [{"id": 8}]


def test_partitions_are_scopes(lake):
    told(lake, "CREATE TABLE d.t (p STRING, id INT, v INT, PRIMARY KEY (p, id)) PARTITIONED BY (p)")
    told(lake, "INSERT INTO d.t VALUES ('a', 1, 1), ('b', 1, 1)", "CREATE BRANCH dev")
    told(lake, "INSERT OVERWRITE d.t PARTITION (p = 'a') VALUES (2, 2)")
    told(lake, "INSERT INTO d.t@dev VALUES ('a', 1, 9), ('b', 1, 9), ('a', 3, 3)", "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [("a", 2, 2), ("a", 3, 3), ("b", 1, 9)]
    told(lake, "INSERT INTO d.t VALUES ('a', 2, 7), ('b', 1, 7)", "ALTER TABLE d.t@dev DROP PARTITION (p = 'a')")
    told(lake, "MERGE BRANCH dev")
    assert rows(lake, "d.t") == [("b", 1, 7)]


def test_truncated_on_both_sides(people):
    told(people, "TRUNCATE TABLE d.t", "INSERT INTO d.t VALUES (1, 'o', 1)", "TRUNCATE TABLE d.t@dev")
    told(people, "INSERT INTO d.t@dev VALUES (2, 't', 2)", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(2, "t", 2)]


# --- going back -------------------------------------------------------------------------------------------------------


def test_reverting_an_upsert_in_the_middle(partial):
    told(partial, "INSERT INTO d.t (id, x) VALUES (1, 10), (2, 20)")
    middle = partial.version
    told(partial, "INSERT INTO d.t (id, x, y) VALUES (1, 10, 30)", f"REVERT {middle}")
    assert rows(partial, "d.t") == [(1, 1, 30, 1), (2, 2, 2, 2)]
    told(partial, f"REVERT {partial.version}")
    assert rows(partial, "d.t") == [(1, 10, 30, 1), (2, 20, 2, 2)]


def test_reverting_what_was_changed_since_conflicts(people):
    told(people, "INSERT INTO d.t VALUES (1, 'x', 1), (2, 'x', 2)")
    version = people.version
    told(people, "INSERT INTO d.t VALUES (1, 'y', 1)")
    with pytest.raises(MergeConflict, match="key id = 1"):
        told(people, f"REVERT {version}")
    told(people, f"REVERT {version} RESOLVE USING OURS")
    assert rows(people, "d.t") == [(1, "y", 1), (2, "b", 2), (3, "c", 3)]


def test_reverting_a_delete_and_a_truncate(people):
    told(people, "DELETE FROM d.t WHERE id = 1", f"REVERT {people.version + 1}")
    assert rows(people, "d.t")[0] == (1, "a", 1)
    told(people, "TRUNCATE TABLE d.t", "INSERT INTO d.t VALUES (7, 'g', 7)", f"REVERT {people.version + 1}")
    assert [r[0] for r in rows(people, "d.t")] == [1, 2, 3, 7]


def test_picking_a_commit_whose_keys_were_changed(people):
    told(people, "INSERT INTO d.t@dev VALUES (1, 't', 1)", "INSERT INTO d.t@dev VALUES (2, 't', 2)")
    picked = people.on("dev").version
    told(people, "INSERT INTO d.t VALUES (2, 'o', 2)")
    with pytest.raises(MergeConflict):
        told(people, f"CHERRY PICK dev@{picked}")
    told(people, f"CHERRY PICK dev@{picked} RESOLVE USING THEIRS")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "t", 2), (3, "c", 3)]
    told(people, "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "t", 1), (2, "t", 2), (3, "c", 3)]


def test_reverting_a_merge_and_merging_again(people):
    told(people, "INSERT INTO d.t VALUES (9, 'o', 9)", "INSERT INTO d.t@dev VALUES (1, 't', 1)", "MERGE BRANCH dev")
    merge = people.version
    told(people, f"REVERT {merge}")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (9, "o", 9)]
    told(people, "INSERT INTO d.t@dev VALUES (2, 't', 2)", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "t", 2), (3, "c", 3), (9, "o", 9)]
    told(people, f"REVERT {merge + 1}")
    assert rows(people, "d.t") == [(1, "t", 1), (2, "t", 2), (3, "c", 3), (9, "o", 9)]


def test_restore_gives_back_the_order_of_flushes(people):
    for value in "xyz":
        told(people, f"INSERT INTO d.t VALUES (1, '{value}', 1)")
    version = people.version
    told(people, f"REVERT {version - 1} RESOLVE USING OURS", "TRUNCATE TABLE d.t", "INSERT INTO d.t VALUES (1, 'q', 1)")
    told(people, f"RESTORE TABLE d.t TO VERSION {version}")
    assert rows(people, "d.t") == rows(people, "d.t", version)
    told(people, f"RESTORE TABLE d.t TO VERSION {version - 1}")
    assert rows(people, "d.t")[0] == (1, "y", 1)
    told(people, f"RESTORE TABLE d.t TO VERSION {version}")
    assert rows(people, "d.t")[0] == (1, "z", 1)
    told(people, "OPTIMIZE d.t")
    assert rows(people, "d.t")[0] == (1, "z", 1)


def test_a_branch_that_was_restored_has_nothing_to_merge(people):
    fork = people.on("dev").version
    told(people, "INSERT INTO d.t@dev VALUES (1, 't', 1)", "DELETE FROM d.t@dev WHERE id = 2")
    told(people.on("dev"), f"RESTORE TABLE d.t TO VERSION {fork}")
    assert status(people, "MERGE BRANCH dev") == {"up to date"}
    told(people, "INSERT INTO d.t@dev VALUES (2, 't', 2)", "INSERT INTO d.t VALUES (1, 'o', 1)", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "o", 1), (2, "t", 2), (3, "c", 3)]


# --- schemas and engines ----------------------------------------------------------------------------------------------


def test_columns_of_both_sides_and_one_key(partial):
    told(partial, "ALTER TABLE d.t ADD COLUMN o INT", "INSERT INTO d.t (id, o) VALUES (1, 5)")
    told(partial, "ALTER TABLE d.t@dev ADD COLUMN t STRING DEFAULT 'n'", "ALTER TABLE d.t@dev RENAME COLUMN x TO w")
    told(partial, "INSERT INTO d.t@dev (id, w, t) VALUES (1, 7, 'u')", "MERGE BRANCH dev")
    assert partial.table("d.t").schema.names == ["id", "w", "y", "z", "t", "o"]
    assert rows(partial, "d.t") == [(1, 7, 1, 1, "u", 5), (2, 2, 2, 2, "n", None)]


def test_a_column_that_one_side_widened(people):
    told(people, "ALTER TABLE d.t@dev ALTER COLUMN n TYPE BIGINT", "INSERT INTO d.t@dev VALUES (1, 't', 5000000000)")
    told(people, "INSERT INTO d.t VALUES (1, 'o', 1), (2, 'o', 2)", "INSERT INTO d.t@dev VALUES (2, 'o', 2)")
    assert [c.row for c in people.conflicts("dev")] == [{"id": 1}]
    told(people, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(people, "d.t") == [(1, "t", 5000000000), (2, "o", 2), (3, "c", 3)]


def test_engines_that_do_not_go_together(lake):
    keyed(lake)
    told(lake, "CREATE BRANCH dev", "ALTER TABLE d.t@dev SET TBLPROPERTIES ('merge-engine' = 'partial-update')")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1)")
    assert [(c.kind, c.rule) for c in lake.conflicts("dev")] == [("properties", "engine")]
    with pytest.raises(MergeConflict, match="merge-engine"):
        told(lake, "MERGE BRANCH dev RESOLVE USING THEIRS")
    told(lake, "CREATE BRANCH other", "MERGE BRANCH dev TO other RESOLVE USING OURS")
    told(lake, "INSERT INTO d.t@other VALUES (1, NULL, 2)")
    assert rows(lake, "d.t@other") == [(1, None, 2)]
    told(lake, "INSERT INTO d.t@dev VALUES (1, 'a', 1)")
    for side in ("OURS", "THEIRS"):
        with pytest.raises(MergeConflict, match="merge-engine"):
            told(lake, f"MERGE BRANCH dev RESOLVE USING {side}")


def test_not_null_beside_deletes(people):
    told(people, "ALTER TABLE d.t ALTER COLUMN v SET NOT NULL", "DELETE FROM d.t WHERE id = 3")
    told(people, "DELETE FROM d.t@dev WHERE id = 1", "INSERT INTO d.t@dev VALUES (4, 'd', 4)", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(2, "b", 2), (4, "d", 4)]
    told(people, "INSERT INTO d.t@dev VALUES (5, NULL, 5)")
    assert [(c.rule, c.column) for c in people.conflicts("dev")] == [("A6.3", "v")]


def test_a_null_that_theirs_wrote_over_breaks_nothing(people):
    told(people, "ALTER TABLE d.t ALTER COLUMN v SET NOT NULL")
    told(people, "INSERT INTO d.t@dev VALUES (2, NULL, 5), (4, NULL, 4)", "INSERT INTO d.t@dev VALUES (2, 'B', 5)")
    told(people, "DELETE FROM d.t@dev WHERE id = 4", "MERGE BRANCH dev")
    assert rows(people, "d.t") == [(1, "a", 1), (2, "B", 5), (3, "c", 3)]


@pytest.mark.parametrize(
    ("side", "nullable", "expected"),
    [
        ("OURS", False, [(1, "a", 1), (2, "b", 2), (3, "C", 3)]),
        ("THEIRS", True, [(1, "a", 1), (2, None, 2), (3, "C", 3), (5, None, 5)]),
    ],
)
def test_rows_that_break_a_not_null_of_ours_resolve(people, side, nullable, expected):
    told(people, "ALTER TABLE d.t ALTER COLUMN v SET NOT NULL")
    told(people, "INSERT INTO d.t@dev VALUES (2, NULL, 2), (5, NULL, 5), (3, 'C', 3)")
    with pytest.raises(MergeConflict):
        told(people, "MERGE BRANCH dev")
    told(people, f"MERGE BRANCH dev RESOLVE USING {side}")
    assert people.table("d.t").schema.field("v").nullable is nullable
    assert rows(people, "d.t") == expected
    told(people, "OPTIMIZE d.t")
    assert rows(people, "d.t") == expected


@pytest.mark.parametrize("side", ["OURS", "THEIRS"])
def test_a_not_null_of_theirs_gives_way_to_rows_of_ours(people, side):
    told(people, "ALTER TABLE d.t@dev ALTER COLUMN v SET NOT NULL", "INSERT INTO d.t@dev VALUES (4, 'd', 4)")
    told(people, "INSERT INTO d.t VALUES (5, NULL, 5)")
    found = [(c.rule, c.column, c.ours) for c in people.conflicts("dev")]
    assert found == [("A6.3", "v", "1 row without 'v' (id = 5)")]
    told(people, f"MERGE BRANCH dev RESOLVE USING {side}")
    assert people.table("d.t").schema.field("v").nullable
    assert rows(people, "d.t") == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "d", 4), (5, None, 5)]


def test_set_rows_know_a_column_that_the_merge_unified(partial):
    told(partial, "ALTER TABLE d.t ADD COLUMN c INT", "INSERT INTO d.t (id, c) VALUES (2, 5)")
    told(partial, "ALTER TABLE d.t@dev ADD COLUMN q INT", "ALTER TABLE d.t@dev ADD COLUMN c INT")
    told(partial, "UPDATE d.t@dev SET c = 7, q = 1 WHERE id = 1", "INSERT INTO d.t@dev (id, x) VALUES (1, 3)")
    told(partial, "MERGE BRANCH dev")
    told(partial, "INSERT INTO d.t (id, y) VALUES (1, 4)")
    found = partial.table("d.t").to_arrow().sort_by("id").select(["id", "x", "y", "z", "c", "q"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 3, 4, 1, 7, 1), (2, 2, 2, 2, 5, None)]
    told(partial, "OPTIMIZE d.t")
    assert partial.table("d.t").to_arrow().sort_by("id").column("c").to_pylist() == [7, 5]


@pytest.mark.parametrize("given", [[{"id": 1, "n": 1}], [{"id": 1, "n": 1}, {"id": 2, "v": "x", "n": 1}]])
def test_a_resolution_says_every_column(people, given):
    """Else what a row does not say would be NULL."""
    told(people, "UPDATE d.t SET n = 10", "UPDATE d.t@dev SET n = 20")
    with pytest.raises(DataError) as raised:
        people.merge("dev", resolve="ours", resolutions={"d.t": given})
    assert "must say every column: 'v' is missing" in str(raised.value)
    people.merge("dev", resolve="ours", resolutions={"d.t": [{"id": 1, "v": None, "n": 1}, {"id": 2, "_kind": "-D"}]})
    assert rows(people, "d.t") == [(1, None, 1), (3, "c", 10)]


def test_a_pick_of_a_key_that_is_not_here(people):
    told(people, "INSERT INTO d.t@dev VALUES (7, 'g', 7)", "UPDATE d.t@dev SET n = 8 WHERE id = 7")
    with pytest.raises(MergeConflict) as raised:
        people.cherry_pick(f"dev@{people.on('dev').version}")
    (conflict,) = raised.value.conflicts
    assert (conflict.rule, conflict.row, conflict.ours) == ("absent", {"id": 7}, "not there")
    assert "pick that one first" in str(raised.value)


def test_keys_of_several_columns_and_types(lake):
    told(lake, "CREATE TABLE d.t (a STRING, b DECIMAL(20, 2), c DATE, v INT, PRIMARY KEY (a, b, c))")
    told(lake, "INSERT INTO d.t VALUES ('x', 1.5, DATE '2024-01-01', 1), ('y', 2.5, DATE '2024-01-02', 2)")
    told(lake, "CREATE BRANCH dev", "INSERT INTO d.t VALUES ('x', 1.5, DATE '2024-01-01', 10)")
    told(lake, "INSERT INTO d.t@dev VALUES ('x', 1.5, DATE '2024-01-01', 20), ('x', 1.6, DATE '2024-01-01', 3)")
    (conflict,) = lake.conflicts("dev")
    assert list(conflict.row) == ["a", "b", "c"]
    told(lake, "MERGE BRANCH dev RESOLVE USING OURS")
    assert [r[3] for r in rows(lake, "d.t")] == [10, 3, 2]


def test_keys_that_are_null(lake):
    keyed(lake, "'primary-key.nullable' = 'true'")
    told(lake, "INSERT INTO d.t VALUES (NULL, 'a', 1), (1, 'a', 1)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (NULL, 'o', 1)", "INSERT INTO d.t@dev VALUES (NULL, 't', 1), (1, 't', 1)")
    assert [c.row for c in lake.conflicts("dev")] == [{"id": None}]
    told(lake, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(lake, "d.t") == [(None, "t", 1), (1, "t", 1)]


@pytest.mark.parametrize(
    ("clause", "left"),
    [
        ("WHEN MATCHED THEN UPDATE SET v = s.v", [(1, "s", 3)]),
        ("WHEN MATCHED AND d.t.n > 1 THEN DELETE", []),
    ],
)
def test_merge_into_reads_keys_that_a_merge_decided_and_that_came_back(people, clause, left):
    told(people, "DELETE FROM d.t", "UPDATE d.t@dev SET v = 'x' WHERE id = 1", "MERGE BRANCH dev RESOLVE USING OURS")
    told(people, "INSERT INTO d.t VALUES (1, 'again', 3)")
    told(people, f"MERGE INTO d.t USING (VALUES (1, 's')) AS s(id, v) ON d.t.id = s.id {clause}")
    assert rows(people, "d.t") == left
