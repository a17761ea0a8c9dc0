"""Conflicts settled row by row: `lake.merge("dev", resolutions={"d.t": rows})`."""

import pandas as pd
import pyarrow as pa
import pytest

from anabranch.errors import AnabranchError, ColumnMismatch, DataError, InvalidOption, MergeConflict, NotFound, Refused

from anabranch.errors import NullViolation, TypeMismatch, ValueOutOfRange  # isort: skip
from tests.stories.telling import rows, told


@pytest.fixture
def at_odds(lake):
    """1 and 2 are updated on both sides; 3 is deleted on ours, 4 on theirs, both updated on the other; 5 on theirs."""
    told(lake, "CREATE TABLE d.t (id INT NOT NULL, name STRING, age SMALLINT)")
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5)")
    told(lake, "CREATE BRANCH dev", "DELETE FROM d.t WHERE id = 3", "DELETE FROM d.t@dev WHERE id = 4")
    told(lake, "UPDATE d.t SET name = 'ours' WHERE id IN (1, 2, 4)")
    told(lake, "UPDATE d.t@dev SET name = 'theirs' WHERE id IN (1, 2, 3)", "UPDATE d.t@dev SET age = 50 WHERE id = 5")
    return lake


@pytest.fixture
def ids(at_odds):
    """The id of the row -> the row id that its conflict shows."""
    return {one.base["id"]: one.row for one in at_odds.conflicts("dev", detect="row")}


def settled(ids):
    return [
        {"_row_id": ids[1], "id": 1, "name": "both", "age": 11},
        {"_row_id": ids[2], "_kind": "-D"},
        {"_row_id": ids[3], "id": 3, "name": "back", "age": 33},
        {"_row_id": ids[4], "_kind": "+U", "id": 4, "name": "stays", "age": None},
    ]


AS_RESOLVED = [(1, "both", 11), (3, "back", 33), (4, "stays", None), (5, "e", 50)]


def frame(data):
    return pd.DataFrame(data).astype({"age": "Int16", "id": "Int32"})


def columns(data):
    names = ["_row_id", "_kind", "id", "name", "age"]
    return {name: [row.get(name) for row in data] for name in names}


KINDS = {
    "dicts": list,
    "a generator": iter,
    "columns": columns,
    "Arrow": lambda data: pa.table(columns(data)),
    "a batch": lambda data: pa.table(columns(data)).to_batches()[0],
    "a reader": lambda data: pa.table(columns(data)).to_reader(),
    "pandas": frame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_conflict_has_its_row(at_odds, ids, kind):
    report = at_odds.merge("dev", resolutions={"d.t": KINDS[kind](settled(ids))})
    assert report.commit is not None
    assert rows(at_odds, "d.t") == AS_RESOLVED
    assert at_odds.merge("dev").up_to_date
    assert rows(at_odds, "d.t@dev") == [(1, "theirs", 1), (2, "theirs", 2), (3, "theirs", 3), (5, "e", 50)]


def test_the_other_branch_takes_the_resolution_without_a_conflict(at_odds, ids):
    at_odds.merge("dev", resolutions={"d.t": settled(ids)})
    at_odds.merge("main", into="dev")
    assert rows(at_odds, "d.t@dev") == AS_RESOLVED
    told(at_odds, "UPDATE d.t@dev SET age = 12 WHERE id = 1", "MERGE BRANCH dev")
    assert rows(at_odds, "d.t")[0] == (1, "both", 12)
    told(at_odds, f"REVERT {at_odds.version}")
    assert rows(at_odds, "d.t") == AS_RESOLVED


def test_a_resolution_that_is_one_sides_row_takes_that_version(at_odds, ids):
    wanted = [
        {"_row_id": ids[1], "id": 1, "name": "ours", "age": 1},
        {"_row_id": ids[2], "id": 2, "name": "theirs", "age": 2},
        {"_row_id": ids[3], "_kind": "-D"},
        {"_row_id": ids[4], "_kind": "-D"},
    ]
    report = at_odds.merge("dev", resolutions={"d.t": wanted})
    assert rows(at_odds, "d.t") == [(1, "ours", 1), (2, "theirs", 2), (5, "e", 50)]
    assert all(made.combined is None for made in report.plan.tables.values())  # nothing was written


def test_what_is_left_still_refuses_the_merge(at_odds, ids):
    before = at_odds.version
    with pytest.raises(MergeConflict) as caught:
        at_odds.merge("dev", resolutions={"d.t": settled(ids)[1:]})
    assert [one.row for one in caught.value.conflicts] == [ids[1]]
    left = at_odds.merge("dev", resolutions={"d.t": settled(ids)[1:]}, dry_run=True)
    assert [one.row for one in left.conflicts] == [ids[1]]
    assert at_odds.version == before


@pytest.mark.parametrize(
    ("how", "second"),
    [({"resolve": "ours"}, "ours"), ({"resolve": "theirs"}, "theirs"), ({"resolve_tables": {"d.t": "ours"}}, "ours")],
)
def test_the_others_go_to_a_side(at_odds, ids, how, second):
    at_odds.merge("dev", resolutions={"d.t": settled(ids)[:1]}, **how)
    assert rows(at_odds, "d.t")[:2] == [(1, "both", 11), (2, second, 2)]


def test_cells_that_fit_are_still_combined(at_odds):
    told(at_odds, "UPDATE d.t SET name = 'x' WHERE id = 5")
    cell = {one.base["id"]: one.row for one in at_odds.conflicts("dev", detect="cell")}
    assert sorted(cell) == [1, 2, 3, 4]
    at_odds.merge("dev", detect="cell", resolutions={"d.t": settled(cell)})
    assert rows(at_odds, "d.t") == [*AS_RESOLVED[:3], (5, "x", 50)]


def test_values_are_of_the_merged_columns(at_odds, ids):
    told(at_odds, "ALTER TABLE d.t@dev ADD COLUMN city STRING", "ALTER TABLE d.t ALTER COLUMN age TYPE INT")
    told(at_odds, "ALTER TABLE d.t RENAME COLUMN name TO label")
    given = [
        {"_row_id": row["_row_id"], "_kind": row.get("_kind"), "id": row.get("id", 0), "label": "l", "age": 70_000}
        for row in settled(ids)
    ]
    with pytest.raises(DataError, match="'city' is missing"):
        at_odds.merge("dev", resolutions={"d.t": given})
    at_odds.merge("dev", resolutions={"d.t": [{**row, "city": "C"} for row in given]})
    assert rows(at_odds, "d.t")[0] == (1, "l", 70_000, "C")


def test_a_table_by_the_name_that_either_side_has(at_odds, ids):
    told(at_odds, "ALTER TABLE d.t@dev RENAME TO d.people")
    at_odds.merge("dev", resolutions={"d.people": settled(ids)})
    assert rows(at_odds, "d.people") == AS_RESOLVED


# --- against ours' inserts --------------------------------------------------------------------------------------------


@pytest.fixture
def reached(lake):
    """Theirs' statements match three rows that ours inserted; one of them ours has updated since."""
    told(lake, "CREATE TABLE d.t (id INT, age INT)", "INSERT INTO d.t VALUES (1, 1), (2, 20)", "CREATE BRANCH dev")
    told(lake, "DELETE FROM d.t@dev WHERE age > 10", "UPDATE d.t@dev SET age = age + 1 WHERE id = 1 OR age = 5")
    told(lake, "INSERT INTO d.t VALUES (3, 5), (4, 40), (5, 40), (6, 6)", "UPDATE d.t SET age = 50 WHERE id = 5")
    return lake


def test_inserts_that_theirs_would_change_are_shown_row_by_row(reached):
    shown = {one.ours["id"]: one for one in reached.conflicts("dev", detect="row")}
    assert sorted(shown) == [3, 4, 5]
    assert (shown[3].rule, shown[3].theirs) == ("update/insert", {"id": 3, "age": 6})
    assert (shown[4].rule, shown[4].kind, shown[4].base) == ("delete/insert", "row", None)
    assert shown[4].theirs == "deleted where `age` > 10"
    assert shown[5].ours == {"id": 5, "age": 50}


def test_an_insert_that_several_statements_reach_is_shown_once(reached):
    """With what all of them together would make of it."""
    told(reached, "UPDATE d.t@dev SET age = age * 10 WHERE id < 4", "UPDATE d.t@dev SET age = 0 WHERE age > 99")
    told(reached, "INSERT INTO d.t VALUES (2, 11)")
    shown = {one.ours["id"]: one for one in reached.conflicts("dev", detect="row")}
    assert len(shown) == len(reached.conflicts("dev", detect="row")) == 4
    assert (shown[3].rule, shown[3].theirs) == ("update/insert", {"id": 3, "age": 60})
    assert (shown[2].rule, shown[2].theirs) == ("delete/insert", "deleted where `age` > 10")


@pytest.mark.parametrize(
    ("resolve", "expected"),
    [
        (None, [(1, 2), (3, 30), (6, 6)]),
        ("ours", [(1, 2), (3, 30), (6, 6)]),
        ("theirs", [(1, 2), (3, 30), (6, 6)]),
    ],
)
def test_each_insert_gets_what_it_shall_have(reached, resolve, expected):
    ids = {one.ours["id"]: one.row for one in reached.conflicts("dev", detect="row")}
    given = [{"_row_id": ids[3], "id": 3, "age": 30}, {"_row_id": ids[4], "_kind": "-D"}]
    given += [{"_row_id": ids[5], "_kind": "-D"}]
    reached.merge("dev", resolve=resolve, resolutions={"d.t": given})
    assert rows(reached, "d.t") == expected


def test_inserts_without_a_resolution_go_to_the_side(reached):
    ids = {one.ours["id"]: one.row for one in reached.conflicts("dev", detect="row")}
    given = [{"_row_id": ids[4], "id": 4, "age": 40}]  # as it is: spared
    with pytest.raises(MergeConflict) as caught:
        reached.merge("dev", resolutions={"d.t": given})
    assert {one.ours["id"] for one in caught.value.conflicts} == {3, 5}
    reached.merge("dev", resolve="theirs", resolutions={"d.t": given})
    assert rows(reached, "d.t") == [(1, 2), (3, 6), (4, 40), (6, 6)]


def test_very_many_inserts_are_counted(lake):
    told(lake, "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (1)", "CREATE BRANCH dev", "DELETE FROM d.t@dev")
    lake.table("d.t").write(pa.table({"id": pa.array(range(3000), pa.int32())}))
    shown = lake.conflicts("dev", detect="row")
    assert len(shown) == 1001
    assert (shown[-1].kind, shown[-1].ours) == ("rows", "2,000 more rows inserted that it matches")
    gone = [{"_row_id": one.row, "_kind": "-D"} for one in shown[:-1]]
    assert len(lake.merge("dev", resolutions={"d.t": gone}, dry_run=True).conflicts) == 1001
    lake.merge("dev", resolve="ours", resolutions={"d.t": gone})
    assert lake.table("d.t").count() == 2000


# --- bad input --------------------------------------------------------------------------------------------------------


def one(ids, **changes):
    row = {"_row_id": ids[1], "id": 1, "name": "x", "age": 1} | changes
    return {"d.t": [{name: value for name, value in row.items() if value != "left out"}]}


BAD = {
    "a row that does not conflict": (lambda ids: one(ids, _row_id=ids[1] + 4), Refused, "does not conflict"),
    "no such row": (lambda ids: one(ids, _row_id=7), Refused, "row 7 of table 'd.t' does not conflict"),
    "a table that does not conflict": (
        lambda ids: {"d.quiet": [{"_row_id": 1, "x": 1}]},
        Refused,
        "rows of table 'd.quiet' do not",
    ),
    "no such table": (lambda ids: {"d.tt": []}, NotFound, "Did you mean 'd.t'"),
    "no such database": (lambda ids: {"e.t": []}, NotFound, "table 'e.t' does not exist"),
    "an unknown column": (lambda ids: one(ids, agge=1), ColumnMismatch, "did you mean 'age'"),
    "a missing column": (lambda ids: one(ids, age="left out"), DataError, "'age' is missing"),
    "no row id": (lambda ids: one(ids, _row_id="left out"), DataError, "need _row_id"),
    "a NULL row id": (lambda ids: one(ids, _row_id=None), DataError, "has no _row_id: SHOW CONFLICTS"),
    "one NULL row id": (
        lambda ids: {"d.t": one(ids)["d.t"] + one(ids, _row_id=None)["d.t"]},
        DataError,
        "has no _row_id: SHOW CONFLICTS",
    ),
    "a row id that is text": (lambda ids: one(ids, _row_id="1"), TypeMismatch, "'_row_id' is bigint"),
    "a wrong type": (lambda ids: one(ids, age="old"), TypeMismatch, "'age'"),
    "too large": (lambda ids: one(ids, age=70_000), ValueOutOfRange, "'age'"),
    "NULL where there may be none": (lambda ids: one(ids, id=None), NullViolation, "'id' of 'd.t' is NOT NULL"),
    "a row twice": (lambda ids: {"d.t": one(ids)["d.t"] * 2}, DataError, "is resolved twice"),
    "an odd kind": (lambda ids: one(ids, _kind="-U"), DataError, "_kind of a resolution"),
    "no rows at all": (lambda ids: {"d.t": 5}, DataError, "int cannot be written"),
    "rows that are no dicts": (lambda ids: {"d.t": [1, 2]}, DataError, "list cannot be written"),
    "a column twice": (
        lambda ids: {"d.t": pa.table([[ids[1]], [1], [1]], names=["_row_id", "id", "ID"])},
        DataError,
        "twice",
    ),
    "two names of one table": (lambda ids: {"d.t": [], "D.T": []}, Refused, "resolved twice"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("dry_run", [False, True])
def test_bad_resolutions_are_refused_and_change_nothing(at_odds, ids, case, dry_run):
    told(at_odds, "CREATE TABLE d.quiet (x INT)")
    made, error, said = BAD[case]
    before = (at_odds.version, at_odds.on("dev").version, rows(at_odds, "d.t"))
    with pytest.raises(error) as caught:
        at_odds.merge("dev", resolve="ours", resolutions=made(ids), dry_run=dry_run)
    assert said in str(caught.value)
    assert (at_odds.version, at_odds.on("dev").version, rows(at_odds, "d.t")) == before


def test_resolutions_do_not_go_with_files(at_odds, ids):
    with pytest.raises(InvalidOption, match="'row' or 'cell'"):
        at_odds.merge("dev", detect="file", resolutions={"d.t": settled(ids)})


def test_resolutions_of_what_is_merged_already(at_odds, ids):
    at_odds.merge("dev", resolutions={"d.t": settled(ids)})
    with pytest.raises(Refused, match="do not conflict"):
        at_odds.merge("dev", resolutions={"d.t": settled(ids)})
    with pytest.raises(AnabranchError):
        at_odds.merge("main", into="dev", resolutions={"d.t": settled(ids)})


def test_a_row_that_theirs_has_a_newer_version_of_is_not_asked_about(lake):
    told(lake, "CREATE TABLE d.t (id INT, p STRING)", "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')")
    before, dev = lake.version, lake.create_branch("dev")
    told(lake, "DELETE FROM d.t WHERE id = 2")
    dev.merge("main")
    dev.revert(f"main@{lake.version}")
    told(dev, "UPDATE d.t SET p = 'dev'")
    lake.restore(before, table="d.t")
    lake.merge("dev", detect="row")
    assert rows(lake, "d.t") == [(1, "dev"), (2, "dev")]


def test_a_row_that_one_of_several_bases_lacks_has_no_base(lake):
    told(lake, "CREATE TABLE d.t (id INT NOT NULL, p STRING)", "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')")
    dev = lake.create_branch("dev")
    told(dev, "DELETE FROM d.t WHERE id = 1")
    told(lake, "UPDATE d.t SET p = 'z' WHERE id = 2")
    before = lake.version
    lake.merge("dev", detect="row")
    dev.merge(f"main@{before}", detect="row")
    told(lake, f"RESTORE TABLE d.t TO VERSION {before}", "UPDATE d.t SET p = 'mm' WHERE id = 1")
    (conflict,) = lake.conflicts("dev", detect="row")
    assert (conflict.base, conflict.ours, conflict.theirs) == (None, {"id": 1, "p": "mm"}, "deleted")


def test_a_resolution_says_every_field(lake):
    struct = "STRUCT<a: INT, l: ARRAY<STRUCT<x: INT, y: INT>>, m: MAP<STRING, STRUCT<z: INT>>>"
    told(lake, f"CREATE TABLE d.t (k INT, s {struct})")
    told(lake, "INSERT INTO d.t VALUES (1, NULL)", "CREATE BRANCH dev")
    told(lake, "UPDATE d.t SET k = 2", "UPDATE d.t@dev SET k = 3")
    row = lake.conflicts("dev", detect="row")[0].row

    def resolved(s):
        return [{"_row_id": row, "k": 1, "s": s}]

    for s, error, message in (
        ({"a": 9}, DataError, f"row {row} .*'s.l', 's.m' are missing"),
        ({"a": 1, "l": [{"x": 1, "y": 2}, {"x": 1}], "m": None}, DataError, "'s.l.element.y' is missing"),
        ({"a": 1, "l": [], "m": [("k", {})]}, DataError, "'s.m.value.z' is missing"),
        ({"aa": 1, "l": [], "m": []}, ColumnMismatch, r"unknown 's.aa' \(did you mean 's.a'\?\)"),
    ):
        for data in (resolved(s), {name: [value] for name, value in resolved(s)[0].items()}):
            with pytest.raises(error, match=message):
                lake.merge("dev", resolutions={"d.t": data})
    with pytest.raises(DataError, match="lacks the field 'l'"):
        lake.merge("dev", resolutions={"d.t": pa.table({"_row_id": [row], "k": [1], "s": [{"a": 9}]})})
    whole = {"a": 1, "l": [{"x": 1, "y": None}], "m": [("k", {"z": 2})]}
    lake.merge("dev", resolutions={"d.t": resolved(whole)})
    assert rows(lake, "d.t") == [(1, whole)]


def test_a_resolution_of_a_key_says_every_field(lake):
    told(lake, "CREATE TABLE d.t (k INT, s STRUCT<a: INT, b: INT>, PRIMARY KEY (k))")
    told(lake, "INSERT INTO d.t VALUES (1, NULL)", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (1, named_struct('a', 1, 'b', 1))")
    told(lake, "INSERT INTO d.t@dev VALUES (1, named_struct('a', 2, 'b', 2))")
    with pytest.raises(DataError, match=r"'s\.b' is missing"):
        lake.merge("dev", resolutions={"d.t": [{"k": 1, "s": {"a": 9}}]})
    lake.merge("dev", resolutions={"d.t": [{"k": 1, "s": {"a": 9, "b": None}}]})
    assert rows(lake, "d.t") == [(1, {"a": 9, "b": None})]
