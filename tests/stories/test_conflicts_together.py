"""A merge reports everything at once: rows are compared, whatever stands between the columns of their table.

Every way of asking gives the same records: a dry run, SHOW CONFLICTS, the merge itself.
"""

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import told

TABLE = ("CREATE TABLE d.t (id INT, a INT, b INT)", "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev")
NESTED = (
    "CREATE TABLE d.t (id INT, s STRUCT<a:INT,b:INT>)",
    "INSERT INTO d.t VALUES (1, named_struct('a', 1, 'b', 1))",
    "CREATE BRANCH dev",
)
KEYED = ("CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev")
RENAMED = ("ALTER TABLE d.t@dev RENAME COLUMN a TO c", "ALTER TABLE d.t RENAME COLUMN b TO c")
ADDED = ("ALTER TABLE d.t@dev ADD COLUMN c INT", "ALTER TABLE d.t RENAME COLUMN b TO c")
FIELDS = ("ALTER TABLE d.t@dev RENAME COLUMN s.a TO c", "ALTER TABLE d.t RENAME COLUMN s.b TO c")
UNLIKE = ("ALTER TABLE d.t@dev ADD COLUMN z INT", "ALTER TABLE d.t ADD COLUMN z STRING DEFAULT 's'")
GREW = ("ALTER TABLE d.t@dev ALTER COLUMN a TYPE BIGINT", "ALTER TABLE d.t ALTER COLUMN a TYPE DOUBLE")
BOTH = ("UPDATE d.t@dev SET id = 2", "UPDATE d.t SET id = 3")
BIG = 9007199254740993  # no double is

# name: what happened, the rule that columns break, and the rows in conflict: rule, ours, theirs
CASES = {
    "two columns renamed to one": (
        (*TABLE, *RENAMED, *BOTH),
        "names",
        [("update/update", {"id": 3, "c (theirs)": 1, "c": 1}, {"id": 2, "c (theirs)": 1, "c": 1})],
    ),
    "a column added under the other's new name": (
        (*TABLE, *ADDED, *BOTH),
        "names",
        [("update/update", {"id": 3, "a": 1, "c": 1, "c (theirs)": None},
          {"id": 2, "a": 1, "c": 1, "c (theirs)": None})],
    ),
    "names, and ours deleted": (
        (*TABLE, *RENAMED, BOTH[0], "DELETE FROM d.t"),
        "names",
        [("update/delete", "deleted", {"id": 2, "c (theirs)": 1, "c": 1})],
    ),
    "fields renamed to one": (
        (*NESTED, *FIELDS, *BOTH),
        "names",
        [("update/update", {"id": 3, "s": {"c (theirs)": 1, "c": 1}}, {"id": 2, "s": {"c (theirs)": 1, "c": 1}})],
    ),
    "names, and a row that a statement of theirs matches": (
        (*TABLE, *RENAMED, "UPDATE d.t@dev SET c = 9 WHERE id >= 1", "INSERT INTO d.t VALUES (5, 5, 5)"),
        "names",
        [("update/insert", {"id": 5, "c (theirs)": 5, "c": 5}, {"id": 5, "c (theirs)": 9, "c": 5})],
    ),
    "types of a column that both added": (
        (*TABLE, *UNLIKE, "UPDATE d.t@dev SET z = 3, a = 4", "UPDATE d.t SET a = 5"),
        "added",
        [("update/update", {"id": 1, "a": 5, "b": 1, "z": "s"}, {"id": 1, "a": 4, "b": 1, "z": 3})],
    ),
    "types of a column that both added, and nothing else": (
        (*TABLE, *UNLIKE, "UPDATE d.t@dev SET z = 3", "UPDATE d.t SET z = 'k'"),
        "added",
        [("update/update", {"id": 1, "a": 1, "b": 1, "z": "k"}, {"id": 1, "a": 1, "b": 1, "z": 3})],
    ),
    "types, and a row that a statement of theirs matches": (
        (*TABLE, *UNLIKE, "UPDATE d.t@dev SET z = 3", "INSERT INTO d.t VALUES (5, 5, 5, 'q')"),
        "added",
        [("update/insert", {"id": 5, "a": 5, "b": 5, "z": "q"}, {"id": 5, "a": 5, "b": 5, "z": 3})],
    ),
    "types that grew apart, and values that no type holds": (
        (*TABLE, *GREW, f"UPDATE d.t@dev SET a = {BIG}, b = 3", "UPDATE d.t SET a = 5.5"),
        "incompatible",
        [("update/update", {"id": 1, "b": 1, "a": 5.5}, {"id": 1, "b": 3, "a": BIG})],
    ),
    "types that grew apart, and other columns": (
        (*TABLE, *GREW, "UPDATE d.t@dev SET b = 3", "UPDATE d.t SET b = 4"),
        "incompatible",
        [("update/update", {"id": 1, "b": 4, "a": 1.0}, {"id": 1, "b": 3, "a": 1})],
    ),
    "nothing but a column whose types grew apart": (
        ("CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)", "CREATE BRANCH dev", *GREW,
         f"UPDATE d.t@dev SET a = {BIG}", "UPDATE d.t SET a = 5.5"),
        "incompatible",
        [("update/update", {"a": 5.5}, {"a": BIG})],
    ),
    "a key, and types": (
        (*KEYED, *UNLIKE, "UPDATE d.t@dev SET z = 3, a = 4", "UPDATE d.t SET a = 5"),
        "added",
        [("update/update", {"id": 1, "a": 5, "b": 1, "z": "s"}, {"id": 1, "a": 4, "b": 1, "z": 3})],
    ),
    "a key, and names": (
        (*KEYED, *RENAMED, "UPDATE d.t@dev SET c = 2", "UPDATE d.t SET c = 3"),
        "names",
        [("update/update", {"id": 1, "c (theirs)": 1, "c": 3}, {"id": 1, "c (theirs)": 2, "c": 1})],
    ),
    "a key, and types that grew apart": (
        (*KEYED, *GREW, f"UPDATE d.t@dev SET a = {BIG}, b = 3", "UPDATE d.t SET a = 5.5, b = 4"),
        "incompatible",
        [("update/update", {"id": 1, "b": 4}, {"id": 1, "b": 3})],
    ),
    "a key, and types of which one holds all rows": (
        (*KEYED, "DELETE FROM d.t", *GREW, f"UPDATE d.t@dev SET a = {BIG}"),
        "incompatible",
        [("update/delete", "deleted", {"id": 1, "a": BIG, "b": 1})],
    ),
}  # fmt: skip


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-").replace(",", ""))
def case(request, lake):
    happened, rule, expected = CASES[request.param]
    told(lake, *happened)
    return lake, rule, expected


@pytest.mark.parametrize("detect", ["row", "cell"])
def test_rows_are_reported_beside_columns(case, detect):
    lake, rule, expected = case
    before = lake.version
    shown = lake.conflicts("dev", detect=detect)
    columns = [found for found in shown if found.kind == "column"]
    assert [found.rule for found in columns] == [rule]
    found = [(one.rule.partition(" of ")[0], one.ours, one.theirs) for one in shown if one.kind != "column"]
    assert found == expected
    assert lake.sql(f"SHOW CONFLICTS IN dev WITH (detect = '{detect}')").collect()[0]["rule"] == rule
    assert len(lake.sql(f"SHOW CONFLICTS IN dev WITH (detect = '{detect}')").collect()) == len(shown)
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect=detect)
    assert list(refused.value.conflicts) == shown
    assert lake.version == before


def test_files_are_reported_too_and_no_looser_way_is_found(case):
    """Looking for another `detect` that passes reads rows."""
    lake, rule, _ = case
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect="file")
    assert refused.value.conflicts[0].rule == rule
    assert len(refused.value.conflicts) > 1
    assert refused.value.passing is None


def test_a_resolution_of_a_type_takes_what_was_reported(lake):
    told(lake, *TABLE, *UNLIKE, "UPDATE d.t@dev SET z = 3, a = 4", "UPDATE d.t SET a = 5")
    told(lake, "MERGE BRANCH dev WITH (detect = 'row') RESOLVE USING THEIRS")
    assert lake.table("d.t").to_arrow().to_pylist() == [{"id": 1, "a": 4, "b": 1, "z": 3}]


def test_engines_that_do_not_go_together_conflict_before_keys_are_compared(lake):
    told(lake, "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev SET TBLPROPERTIES ('merge-engine' = 'first-row')")
    told(lake, "INSERT INTO d.t@dev VALUES (1, 1)", "INSERT INTO d.t VALUES (1, 2)")
    assert [found.rule for found in lake.conflicts("dev")] == ["engine"]


def test_a_statement_of_theirs_that_fails_on_new_rows_is_a_conflict_under_theirs(lake):
    told(lake, "CREATE TABLE d.t (id INT, b STRING)", "INSERT INTO d.t VALUES (1, '1')", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t VALUES (2, 'two')", "UPDATE d.t@dev SET id = CAST(b AS INT) + 5")
    assert [found.rule for found in lake.conflicts("dev", detect="row")] == ["update/insert"]
    with pytest.raises(MergeConflict, match="RESOLVE USING THEIRS does not settle this: USING OURS would") as refused:
        lake.merge("dev", detect="row", resolve="theirs")
    assert [(found.kind, found.rule) for found in refused.value.conflicts] == [("rows", "insert")]


EVERY_KIND = {
    # what happened to one object, on theirs and on ours: the records that it gives
    "a name of two databases": (
        ["CREATE DATABASE n"], ["CREATE DATABASE n"], [("n", "names")],
    ),
    "a name of two tables": (
        ["CREATE TABLE d.twice (a INT)"], ["CREATE TABLE d.twice (b INT)"], [("d.twice", "names")],
    ),
    "a property of a database": (
        ["ALTER DATABASE d UNSET DBPROPERTIES (x)"], ["ALTER DATABASE d UNSET DBPROPERTIES (x)"],
        [("d", "same property")],
    ),
    "a table dropped and changed": (
        ["INSERT INTO d.gone VALUES (2, 2)"], ["DROP TABLE d.gone"], [("d.gone", "drop")],
    ),
    "types": (
        ["ALTER TABLE d.types ALTER COLUMN a TYPE SMALLINT"], ["ALTER TABLE d.types ALTER COLUMN a TYPE BIGINT"],
        [("d.types", "A6.1")],
    ),
    "a constraint": (
        ["ALTER TABLE d.nulls ALTER COLUMN a SET NOT NULL"], ["INSERT INTO d.nulls VALUES (2, NULL)"],
        [("d.nulls", "A6.3")],
    ),
    "rows": (
        ["UPDATE d.rows SET a = 2 WHERE id = 1", "DELETE FROM d.rows WHERE id = 2"],
        ["UPDATE d.rows SET a = 3 WHERE id = 1", "UPDATE d.rows SET a = 3 WHERE id = 2"],
        [("d.rows", "delete/update"), ("d.rows", "update/update")],
    ),
}  # fmt: skip


def test_conflicts_of_every_kind_are_reported_at_once(lake):
    told(lake, "ALTER DATABASE d SET DBPROPERTIES (x = '1')")
    for table in ("gone", "types", "nulls", "rows"):
        told(lake, f"CREATE TABLE d.{table} (id INT, a TINYINT)", f"INSERT INTO d.{table} VALUES (1, 1), (2, 1)")
    dev = lake.create_branch("dev")
    for theirs, ours, _ in EVERY_KIND.values():
        told(dev, *theirs)
        told(lake, *ours)
    before = lake.version
    shown = lake.conflicts("dev", detect="row")
    expected = [record for _, _, records in EVERY_KIND.values() for record in records]
    assert sorted((record.object, record.rule) for record in shown) == sorted(expected)
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect="row")
    assert list(refused.value.conflicts) == shown == list(lake.merge("dev", detect="row", dry_run=True).conflicts)
    asked = [
        told(lake, f"{how} WITH (detect = 'row')") for how in ("SHOW CONFLICTS IN dev", "MERGE BRANCH dev DRY RUN")
    ]
    assert asked[0] == asked[1]
    assert [row[2] for row in asked[0]] == [record.rule for record in shown]
    assert lake.version == before


ONE_OBJECT = {
    # what theirs and ours did to d.t besides removing one and the same property, and the records that this gives
    "types and rows": (
        ["ALTER TABLE d.t ALTER COLUMN b TYPE INT", "UPDATE d.t SET a = 5 WHERE id = 1"],
        ["ALTER TABLE d.t ALTER COLUMN b TYPE BIGINT", "UPDATE d.t SET a = 6 WHERE id = 1"],
        [("d.t", "A6.1"), ("d.t", "update/update")],
    ),
    "a name": (
        ["ALTER TABLE d.t RENAME TO d.n"], ["CREATE TABLE d.n (a INT)"], [("d.n", "names")],
    ),
    "a name and rows": (
        ["UPDATE d.t SET a = 5", "ALTER TABLE d.t RENAME TO d.n"],
        ["UPDATE d.t SET a = 6 WHERE id = 2", "CREATE TABLE d.n (a INT)"],
        [("d.n", "names"), ("d.t", "update/update")],
    ),
    "a constraint and rows": (
        ["ALTER TABLE d.t ALTER COLUMN a SET NOT NULL", "DELETE FROM d.t WHERE id = 2"],
        ["UPDATE d.t SET a = NULL WHERE id = 1", "UPDATE d.t SET b = 3 WHERE id = 2"],
        [("d.t", "A6.3"), ("d.t", "delete/update")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "more"), ONE_OBJECT.values(), ids=ONE_OBJECT.keys())
@pytest.mark.parametrize("key", ["", " PRIMARY KEY"], ids=["append", "keyed"])
def test_a_property_hides_no_other_conflict_of_its_table(lake, theirs, ours, more, key):
    told(lake, f"CREATE TABLE d.t (id INT{key}, a INT, b SMALLINT) TBLPROPERTIES (x = '1')")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2)")
    unset = "ALTER TABLE d.t UNSET TBLPROPERTIES (x)"
    told(lake.create_branch("dev"), unset, *theirs)
    told(lake, unset, *ours)
    found = sorted((one.object, one.rule) for one in lake.conflicts("dev", detect="row"))
    assert found == sorted([("d.t", "A0"), *more])


def test_a_property_hides_no_other_conflict_of_its_database(lake):
    told(lake, "CREATE DATABASE e", "ALTER DATABASE e SET DBPROPERTIES (x = '1')")
    unset = "ALTER DATABASE e UNSET DBPROPERTIES (x)"
    told(lake.create_branch("dev"), unset, "ALTER DATABASE e RENAME TO n")
    told(lake, unset, "CREATE DATABASE n")
    assert sorted((one.object, one.rule) for one in lake.conflicts("dev")) == [("e", "same property"), ("n", "names")]


@pytest.mark.parametrize("key", ["", " PRIMARY KEY"], ids=["append", "keyed"])
def test_rows_are_settled_one_by_one_beside_a_property(lake, key):
    told(lake, f"CREATE TABLE d.t (id INT{key}, a INT) TBLPROPERTIES (x = '1')", "INSERT INTO d.t VALUES (1, 1)")
    unset = "ALTER TABLE d.t UNSET TBLPROPERTIES (x)"
    told(lake.create_branch("dev"), unset, "UPDATE d.t SET a = 5")
    told(lake, unset, "UPDATE d.t SET a = 6")
    row = next(one.row for one in lake.conflicts("dev", detect="row") if one.kind != "table")
    given = {"d.t": [{**(row if key else {"_row_id": row, "id": 1}), "a": 7}]}
    assert [one.rule for one in lake.merge("dev", resolutions=given, dry_run=True).conflicts] == ["A0"]
    lake.merge("dev", resolve="ours", resolutions=given)
    assert lake.table("d.t").to_arrow().to_pylist() == [{"id": 1, "a": 7}]
