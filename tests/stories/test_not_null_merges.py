"""NOT NULL on one side, rows without a value on the other: A6.2 and A6.3, and what RESOLVE makes of them."""

import pytest

from anabranch.errors import MergeConflict, NullViolation
from tests.stories.telling import rows, told

OURS_REQUIRES = "ALTER TABLE d.t ALTER COLUMN v SET NOT NULL"
THEIRS_REQUIRES = "ALTER TABLE d.t@dev ALTER COLUMN v SET NOT NULL"


@pytest.fixture
def people(lake):
    told(lake, "CREATE TABLE d.t (id INT, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)", "CREATE BRANCH dev")
    return lake


def nullable(lake, column):
    return lake.table("d.t").schema.field(column).nullable


CASES = {
    "theirs inserted": (
        [OURS_REQUIRES, "INSERT INTO d.t@dev VALUES (3, NULL), (4, 4)"],
        "A6.3",
        ([(1, 1), (2, 2), (4, 4)], False),
        ([(1, 1), (2, 2), (3, None), (4, 4)], True),
    ),
    "theirs updated": (
        [OURS_REQUIRES, "UPDATE d.t@dev SET v = NULL WHERE id = 1", "UPDATE d.t@dev SET v = 20 WHERE id = 2"],
        "A6.3",
        ([(1, 1), (2, 20)], False),
        ([(1, None), (2, 20)], True),
    ),
    "theirs updated a row that ours updated too": (
        [OURS_REQUIRES, "UPDATE d.t@dev SET v = NULL WHERE id = 1", "UPDATE d.t SET v = 10 WHERE id = 1"],
        "update/update",
        ([(1, 10), (2, 2)], False),
        ([(1, None), (2, 2)], True),
    ),
    "cells that come together": (
        [OURS_REQUIRES, "UPDATE d.t@dev SET v = NULL WHERE id = 1", "UPDATE d.t SET id = 10 WHERE id = 1"],
        "A6.3",
        ([(2, 2), (10, 1)], False),
        ([(2, 2), (10, None)], True),
    ),
    "cells that come together, the NULL from ours": (
        [THEIRS_REQUIRES, "UPDATE d.t@dev SET id = 10 WHERE id = 1", "UPDATE d.t SET v = NULL WHERE id = 1"],
        "A6.3",
        ([(2, 2), (10, None)], True),
        ([(2, 2), (10, None)], True),
    ),
    "ours inserted": (
        [THEIRS_REQUIRES, "INSERT INTO d.t VALUES (3, NULL), (4, 4)", "INSERT INTO d.t@dev VALUES (5, 5)"],
        "A6.3",
        ([(1, 1), (2, 2), (3, None), (4, 4), (5, 5)], True),
        ([(1, 1), (2, 2), (3, None), (4, 4), (5, 5)], True),
    ),
    "ours updated": (
        [THEIRS_REQUIRES, "UPDATE d.t SET v = NULL WHERE id = 1"],
        "A6.3",
        ([(1, None), (2, 2)], True),
        ([(1, None), (2, 2)], True),
    ),
    "each side has what the other must not": (
        [
            "ALTER TABLE d.t ALTER COLUMN id SET NOT NULL",
            "INSERT INTO d.t VALUES (3, NULL)",
            THEIRS_REQUIRES,
            "INSERT INTO d.t@dev VALUES (NULL, 4)",
        ],
        "A6.3",
        ([(1, 1), (2, 2), (3, None)], True),
        ([(None, 4), (1, 1), (2, 2), (3, None)], True),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("side", ["OURS", "THEIRS"])
def test_a_side_is_chosen(people, case, side):
    script, rule, ours, theirs = CASES[case]
    told(people, *script)
    before = rows(people, "d.t"), people.version
    with pytest.raises(MergeConflict) as caught:
        told(people, "MERGE BRANCH dev WITH (detect = 'cell')")
    assert rule in {conflict.rule.split(" ")[0] for conflict in caught.value.conflicts}
    assert (rows(people, "d.t"), people.version) == before
    told(people, f"MERGE BRANCH dev RESOLVE USING {side} WITH (detect = 'cell')")
    assert (rows(people, "d.t"), nullable(people, "v")) == (ours if side == "OURS" else theirs)
    assert people.merge("dev").up_to_date
    told(people, "MERGE BRANCH main TO dev")
    assert rows(people, "d.t@dev") == rows(people, "d.t")
    told(people, f"REVERT {people.version}")
    assert rows(people, "d.t") == before[0]


@pytest.mark.parametrize(
    ("side", "expected", "lax"),
    [("OURS", [(1, 1, "x"), (2, 2, "x")], False), ("THEIRS", [(1, 1, "x"), (2, 2, "x"), (3, 3, None)], True)],
)
def test_a_column_that_theirs_rows_never_had(people, side, expected, lax):
    told(people, "ALTER TABLE d.t ADD COLUMN w STRING DEFAULT 'x'", "UPDATE d.t SET w = 'x'")
    told(people, "ALTER TABLE d.t DROP COLUMN w", "ALTER TABLE d.t ADD COLUMN w STRING", "UPDATE d.t SET w = 'x'")
    told(people, "ALTER TABLE d.t ALTER COLUMN w SET NOT NULL", "INSERT INTO d.t@dev VALUES (3, 3)")
    (conflict,) = people.conflicts("dev")
    assert (conflict.rule, conflict.column, conflict.ours) == ("A6.2", "w", "NOT NULL")
    assert conflict.theirs == "1 row without 'w' (id = 3, v = 3)"
    told(people, f"MERGE BRANCH dev RESOLVE USING {side}")
    assert (rows(people, "d.t"), nullable(people, "w")) == (expected, lax)


@pytest.mark.parametrize(
    ("requires", "lacks", "said"),
    [
        (OURS_REQUIRES, ("UPDATE d.t@dev SET v = NULL WHERE id = 1", "UPDATE d.t SET id = 10 WHERE id = 1"),
         ("NOT NULL", "1 row without 'v' (id = 10)", "RESOLVE USING OURS leaves out the rows of theirs")),
        (THEIRS_REQUIRES, ("UPDATE d.t SET v = NULL WHERE id = 1", "UPDATE d.t@dev SET id = 10 WHERE id = 1"),
         ("1 row without 'v' (id = 10)", "NOT NULL", "Rows of this branch lack a value")),
    ],
    ids=["theirs", "ours"],
)  # fmt: skip
def test_cells_that_come_together_say_who_brought_the_null(people, requires, lacks, said):
    told(people, requires, *lacks)
    with pytest.raises(MergeConflict, match=said[2]) as refused:
        told(people, "MERGE BRANCH dev WITH (detect = 'cell')")
    (conflict,) = refused.value.conflicts
    assert (conflict.ours, conflict.theirs) == said[:2]


FOUND = {
    "in one part": (["INSERT INTO d.t@dev VALUES (3, NULL), (4, 4)"], "1 row without 'v' (id = 3)"),
    "in several": (
        ["INSERT INTO d.t@dev VALUES (4, 4), (5, NULL), (6, NULL)", "INSERT INTO d.t@dev VALUES (7, NULL)"],
        "3 rows without 'v' (such as id = 5)",
    ),
    "beside dead ones": (
        ["INSERT INTO d.t@dev VALUES (3, NULL), (4, NULL), (5, NULL)", "DELETE FROM d.t@dev WHERE id = 3"],
        "2 rows without 'v' (such as id = 4)",
    ),
    "made by the merge": (
        ["UPDATE d.t@dev SET v = NULL WHERE id = 1", "UPDATE d.t SET id = 10 WHERE id = 1"],
        "1 row without 'v' (id = 10)",
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_conflict_says_how_many_rows_and_which(people, case):
    script, words = FOUND[case]
    told(people, OURS_REQUIRES, *script)
    (conflict,) = people.conflicts("dev", detect="cell")
    assert (conflict.rule, conflict.ours, conflict.theirs) == ("A6.3", "NOT NULL", words)


def test_rows_that_are_gone_ask_for_nothing(people):
    told(people, "INSERT INTO d.t@dev VALUES (3, NULL), (4, 4)", "DELETE FROM d.t@dev WHERE v IS NULL", OURS_REQUIRES)
    assert people.conflicts("dev") == []
    told(people, "MERGE BRANCH dev")
    assert (rows(people, "d.t"), nullable(people, "v")) == ([(1, 1), (2, 2), (4, 4)], False)


PLACES = {
    "a struct": ("{}", "p", lambda struct: struct),
    "an array": ("ARRAY<{}>", "p.element", lambda struct: [None, {"x": 0, "y": None}, struct]),
    "a map": ("MAP<STRING, {}>", "p.value", lambda struct: [("k", struct), ("n", None)]),
    "a struct in arrays": ("ARRAY<ARRAY<STRUCT<q: {}>>>", "p.element.element.q", lambda one: [[], None, [{"q": one}]]),
}


@pytest.mark.parametrize(("type_", "path", "made"), PLACES.values(), ids=PLACES)
def test_fields_inside_structs(lake, type_, path, made):
    told(lake, f"CREATE TABLE d.s (id INT, p {type_.format('STRUCT<x: INT, y: INT>')})")
    lake.table("d.s").write([{"id": 1, "p": made({"x": 1, "y": 1})}, {"id": 2, "p": None}])
    told(lake, "CREATE BRANCH dev", f"ALTER TABLE d.s ALTER COLUMN {path}.x SET NOT NULL")
    lake.on("dev").table("d.s").write([{"id": 3, "p": made({"x": None, "y": 3})}, {"id": 4, "p": None}])
    (conflict,) = lake.conflicts("dev")
    said = f"1 row without '{path}.x' (id = 3)"
    assert (conflict.rule, conflict.column, conflict.theirs) == ("A6.3", f"{path}.x", said)
    lake.create_branch("other").merge("dev", resolve="theirs")
    assert [row[0] for row in rows(lake, "d.s@other")] == [1, 2, 3, 4]
    lake.on("other").table("d.s").write([{"id": 5, "p": made({"x": None, "y": 5})}])  # the NOT NULL is gone there
    told(lake, "MERGE BRANCH dev RESOLVE USING OURS")
    assert [row[0] for row in rows(lake, "d.s")] == [1, 2, 4]
    with pytest.raises(NullViolation):
        lake.table("d.s").write([{"id": 5, "p": made({"x": None, "y": 5})}])


def test_one_table_is_resolved_and_another_is_not(people):
    told(people, "CREATE TABLE d.u (v INT)", "MERGE BRANCH main TO dev", "INSERT INTO d.u@dev VALUES (NULL)")
    told(people, "ALTER TABLE d.u ALTER COLUMN v SET NOT NULL", OURS_REQUIRES, "INSERT INTO d.t@dev VALUES (3, NULL)")
    with pytest.raises(MergeConflict) as caught:
        told(people, "MERGE BRANCH dev RESOLVE TABLE d.t USING OURS")
    assert [conflict.object for conflict in caught.value.conflicts] == ["d.u"]
    told(people, "MERGE BRANCH dev RESOLVE TABLE d.t USING OURS RESOLVE TABLE d.u USING THEIRS")
    assert (rows(people, "d.t"), rows(people, "d.u")) == ([(1, 1), (2, 2)], [(None,)])


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_rows_of_a_keyed_table_are_held_against_a_constraint_of_theirs_that_wrote_none(lake, side):
    told(lake, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, THEIRS_REQUIRES, "INSERT INTO d.t VALUES (2, NULL)")
    (found,) = lake.conflicts("dev")
    assert (found.rule, found.ours, found.theirs) == ("A6.3", "1 row without 'v' (id = 2)", "NOT NULL")
    lake.merge("dev", resolve=side)
    assert (rows(lake, "d.t"), nullable(lake, "v")) == ([(1, 1), (2, None)], True)


@pytest.mark.parametrize(
    ("side", "left", "relaxed"), [("OURS", [(1, 1)], False), ("THEIRS", [(1, 1), (2, None)], True)]
)
def test_rows_that_a_revert_brings_back_are_held_against_a_constraint(lake, side, left, relaxed):
    told(lake, "CREATE TABLE d.t (id INT, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, NULL)")
    told(lake, "DELETE FROM d.t WHERE id = 2", OURS_REQUIRES)
    with pytest.raises(MergeConflict, match="RESOLVE USING OURS leaves out the rows"):
        lake.sql("REVERT 4")
    told(lake, f"REVERT 4 RESOLVE USING {side}")
    assert (rows(lake, "d.t"), nullable(lake, "v")) == (left, relaxed)


def test_a_column_with_a_default_by_now(people):
    told(people, "ALTER TABLE d.t ADD COLUMN w INT", "UPDATE d.t SET w = 0", "INSERT INTO d.t@dev VALUES (3, 3)")
    told(people, "ALTER TABLE d.t ALTER COLUMN w SET NOT NULL", "ALTER TABLE d.t ALTER COLUMN w SET DEFAULT 7")
    with pytest.raises(MergeConflict, match="THEIRS takes them and drops the NOT NULL") as refused:
        told(people, "MERGE BRANCH dev")
    assert "without a default" not in str(refused.value)
    assert [(one.rule, one.ours) for one in refused.value.conflicts] == [("A6.3", "NOT NULL")]


def test_a_revert_that_asks_ours_rows_for_a_value(people):
    told(people, "ALTER TABLE d.t ADD COLUMN w INT", "UPDATE d.t SET w = 0")
    told(people, "ALTER TABLE d.t ALTER COLUMN w SET NOT NULL", "ALTER TABLE d.t DROP COLUMN w")
    dropped = people.version
    told(people, "INSERT INTO d.t VALUES (3, 3)")
    with pytest.raises(MergeConflict, match="merges without the NOT NULL of theirs") as refused:
        told(people, f"REVERT {dropped}")
    (conflict,) = refused.value.conflicts
    assert (conflict.rule, conflict.theirs) == ("A6.3", "NOT NULL")
    assert conflict.ours.startswith("1 row without 'w'")
    told(people, f"REVERT {dropped} RESOLVE USING OURS")
    assert rows(people, "d.t") == [(1, 1, 0), (2, 2, 0), (3, 3, None)]
    assert nullable(people, "w")
