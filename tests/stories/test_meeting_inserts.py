"""Statements of theirs against rows that ours has inserted since: Arrow or Spark says which of them match."""

import datetime as dt
import re

import pytest

from anabranch.errors import MergeConflict
from anabranch.execution import spark_rows
from tests.stories.telling import rows, told


@pytest.fixture
def spark_names(spark_lake):
    told(spark_lake, "CREATE TABLE d.t (id INT, b STRING)", "INSERT INTO d.t VALUES (1, 'robert')", "CREATE BRANCH dev")
    return spark_lake


def refused(lake, **how):
    with pytest.raises(MergeConflict) as caught:
        lake.merge("dev", **how)
    return caught.value


def ours_of(conflicts):
    return [one.ours["id"] for one in conflicts]


# --- conditions that only Spark can evaluate --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        "soundex(b) = 'R163'",
        "levenshtein(b, 'robert') < 4",
        "split(b, 'b|p')[0] IN ('ro', 'ru')",
        "regexp_extract(b, '^r(.)', 1) <> ''",
        "initcap(b) IN ('Robert', 'Rupert')",
        "concat_ws('-', b, 'x') LIKE 'r_%'",
        "b rlike r'^r\\w+t$' AND round(id / 2) <> 2 -- names like his",
        "exists(array('e', 'q'), x -> instr(b, x) > 0)",
    ],
)
@pytest.mark.parametrize("detect", ["row", "cell"])
def test_spark_says_which_inserts_a_delete_is_about(spark_names, condition, detect):
    assert told(spark_names, f"DELETE FROM d.t@dev WHERE {condition}") == [(1,)]
    told(spark_names, "INSERT INTO d.t VALUES (5, 'zzz'), (6, 'rupert'), (7, NULL)")
    assert ours_of(spark_names.conflicts("dev", detect=detect)) == [6]
    spark_names.merge("dev", detect=detect, resolve="theirs")
    assert rows(spark_names, "d.t") == [(5, "zzz"), (7, None)]


def test_inserts_that_the_condition_does_not_match_merge(spark_names):
    told(spark_names, "UPDATE d.t@dev SET b = 'bob' WHERE soundex(b) = 'R163'", "INSERT INTO d.t VALUES (5, 'zzz')")
    spark_names.merge("dev", detect="row")
    assert rows(spark_names, "d.t") == [(1, "bob"), (5, "zzz")]


def test_theirs_sets_what_only_spark_can_compute(spark_lake):
    lake = spark_lake
    told(lake, "CREATE TABLE d.t (id INT, s STRUCT<x: INT, y: STRING>, n SMALLINT)")
    told(lake, "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'y', 'robert'), 1)", "CREATE BRANCH dev")
    told(lake, "UPDATE d.t@dev SET s = named_struct('x', s.x + 1, 'y', soundex(s.y)), n = length(s.y) WHERE id < 9")
    told(lake, "INSERT INTO d.t VALUES (5, named_struct('x', 5, 'y', 'ann'), 5), (6, NULL, 6), (9, NULL, 9)")
    after = [(5, {"x": 6, "y": "A500"}, 3), (6, {"x": None, "y": None}, None)]
    shown = lake.conflicts("dev", detect="row")
    assert [tuple(one.theirs.values()) for one in shown] == after
    lake.merge("dev", detect="row", resolve="theirs")
    assert rows(lake, "d.t") == [(1, {"x": 2, "y": "R163"}, 6), *after, (9, None, 9)]


def test_spark_gets_the_inserts_alone_and_few_at_a_time(spark_names, monkeypatch):
    seen = []

    def given(spark, data, frame=spark_rows.arrow_frame):
        seen.append((data.num_rows, data.column_names))
        return frame(spark, data)

    monkeypatch.setattr(spark_rows, "arrow_frame", given)
    monkeypatch.setattr(spark_rows, "AT_ONCE", 2)
    monkeypatch.setattr("anabranch.commands.meet_inserts.AT_ONCE", 3)
    told(spark_names, "UPDATE d.t@dev SET id = -id WHERE soundex(b) = 'R163'", "UPDATE d.t SET b = 'r' WHERE id = 1")
    told(
        spark_names,
        "INSERT INTO d.t VALUES (2, 'ann'), (3, 'rupert')",
        "INSERT INTO d.t VALUES (4, 'x'), (5, 'ruprecht')",
    )
    assert ours_of(one for one in spark_names.conflicts("dev", detect="row") if one.rule == "update/insert") == [3]
    assert [count for count, _ in seen[:3]] == [2, 1, 1]  # three are read and then the fourth
    assert {tuple(read) for _, read in seen} == {("b", "_row_id")}
    spark_names.merge("dev", detect="row", resolve="theirs")
    assert rows(spark_names, "d.t") == [(-3, "rupert"), (-1, "robert"), (2, "ann"), (4, "x"), (5, "ruprecht")]


def test_no_spark_is_asked_about_a_statement_that_changed_nothing(spark_names, monkeypatch):
    told(
        spark_names, "UPDATE d.t@dev SET b = 'robert' WHERE soundex(b) = 'R163'", "INSERT INTO d.t VALUES (5, 'rupert')"
    )
    monkeypatch.setattr(spark_rows, "arrow_frame", lambda *_: pytest.fail("Spark was asked"))
    assert not spark_names.conflicts("dev", detect="row")


# --- conditions that a row alone does not decide ----------------------------------------------------------------------

BEYOND = {
    "DELETE FROM d.t@dev WHERE id IN (SELECT max(id) FROM d.t)": "a DELETE .* it has a subquery; resolve them",
    "DELETE FROM d.t@dev WHERE rand() < 2": r"a DELETE .* it has rand\(\), which gives another value every time; resol",
    "DELETE FROM d.t@dev WHERE chance(id) > 0": "a DELETE .* a function that gives another value every time; resolve",
    "UPDATE d.t@dev SET b = (SELECT min(b) FROM d.t) || '!'": "an UPDATE .* it has a subquery; resolve them",
    "UPDATE d.t@dev SET b = uuid()": r"an UPDATE .* it has uuid\(\), which",
    "MERGE INTO d.t@dev USING VALUES (1, 'x') AS s(id, b) ON t.id < s.id + 9 WHEN MATCHED THEN UPDATE SET b = s.b": (
        "a MERGE INTO .* comes from its source; resolve them one by one .resolutions=., or RESOLVE USING OURS and run "
        "it on this branch after the merge, ours 1 row"
    ),
    "MERGE INTO d.t@dev USING VALUES (1, 'x') AS s(id, b) ON t.id < s.id + 9 WHEN MATCHED THEN DELETE": (
        "a MERGE INTO .* comes from its source; resolve"
    ),
}


@pytest.mark.parametrize("statement", BEYOND)
def test_what_other_rows_or_chance_decide_is_about_every_insert_and_is_not_run(spark_names, statement):
    from pyspark.sql.functions import udf

    spark_names.spark.udf.register("chance", udf(lambda id: id, "int").asNondeterministic())
    assert told(spark_names, statement) == [(1,)] or statement.startswith("MERGE")
    told(spark_names, "INSERT INTO d.t VALUES (5, 'zzz')")
    before = rows(spark_names, "d.t")
    shown = spark_names.conflicts("dev", detect="row")
    assert ours_of(shown) == [5]
    assert re.match("(deleted|updated) (where|by a MERGE INTO|every row)", shown[0].theirs)
    assert refused(spark_names, detect="row", resolve="theirs").args[0].count("\n  d.t: ") == 1
    with pytest.raises(MergeConflict, match=BEYOND[statement]):
        spark_names.merge("dev", detect="row", resolve="theirs")
    assert rows(spark_names, "d.t") == before
    spark_names.merge("dev", detect="row", resolutions={"d.t": [{"_row_id": shown[0].row, "id": 5, "b": "kept"}]})
    assert rows(spark_names, "d.t")[-1] == (5, "kept")


def test_a_function_that_is_gone_is_about_every_insert(spark_names):
    spark_names.spark.udf.register("shout", lambda text: text.upper())
    told(spark_names, "DELETE FROM d.t@dev WHERE shout(b) = 'ROBERT'", "INSERT INTO d.t VALUES (5, 'zzz')")
    assert not spark_names.conflicts("dev", detect="row")
    spark_names.spark.sql("DROP TEMPORARY FUNCTION shout")
    assert ours_of(spark_names.conflicts("dev", detect="row")) == [5]
    assert "shout" in str(refused(spark_names, detect="row", resolve="theirs"))


# --- what Arrow evaluates ---------------------------------------------------------------------------------------------


def forked(lake, columns, first, *statements):
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES {first}", "CREATE BRANCH dev", *statements)


def test_a_condition_that_fails_on_an_insert_is_about_it(lake):
    forked(lake, "id INT, b STRING", "(1, '1')", "DELETE FROM d.t@dev WHERE CAST(b AS INT) = 1")
    told(lake, "INSERT INTO d.t VALUES (5, 'zzz')")
    assert ours_of(lake.conflicts("dev", detect="row")) == [5]
    assert "'zzz' cannot be cast to int. Use TRY_CAST to have NULL instead; resolve them" in str(
        refused(lake, detect="row", resolve="theirs")
    )
    lake.merge("dev", detect="row", resolve="ours")
    assert rows(lake, "d.t") == [(5, "zzz")]


def test_a_condition_that_fails_on_a_row_that_is_not_new(lake):
    forked(lake, "id INT, b STRING", "(1, '1'), (2, '2')", "DELETE FROM d.t@dev WHERE CAST(b AS INT) = 1")
    told(lake, "UPDATE d.t SET b = 'zzz' WHERE id = 2", "INSERT INTO d.t VALUES (5, '1'), (6, '6')")
    assert ours_of(lake.conflicts("dev", detect="row")) == [5]


def test_values_are_asked_for_only_where_the_condition_is_true(lake):
    forked(lake, "id INT, a DOUBLE", "(1, 2)", "UPDATE d.t@dev SET a = 10 / a WHERE a <> 0")
    told(lake, "INSERT INTO d.t VALUES (5, 0), (6, 5)")
    lake.merge("dev", detect="row", resolve="theirs")
    assert rows(lake, "d.t") == [(1, 5.0), (5, 0.0), (6, 2.0)]


def test_a_deleted_row_is_asked_nothing_more(lake):
    forked(lake, "id INT, a INT", "(1, 2), (2, 0)", "DELETE FROM d.t@dev WHERE a = 0")
    told(lake, "UPDATE d.t@dev SET a = 5 WHERE 10 / a >= 5", "INSERT INTO d.t VALUES (5, 0), (6, 1)")
    lake.merge("dev", detect="row", resolve="theirs")
    assert rows(lake, "d.t") == [(1, 5), (6, 5)]


def test_the_time_of_the_merge_is_not_that_of_the_statement(lake):
    forked(lake, "id INT, day DATE", "(1, DATE '2020-01-01')", "UPDATE d.t@dev SET id = -id WHERE day < current_date()")
    told(lake, "INSERT INTO d.t VALUES (5, DATE '9999-01-01'), (6, DATE '2020-01-01')")
    assert ours_of(lake.conflicts("dev", detect="row")) == [5, 6]
    lake.merge("dev", detect="row", resolve="theirs")
    assert rows(lake, "d.t") == [(-6, dt.date(2020, 1, 1)), (-1, dt.date(2020, 1, 1)), (5, dt.date(9999, 1, 1))]


def test_a_condition_on_a_field_that_has_another_name_by_now(lake):
    forked(lake, "id INT, s STRUCT<x: INT>", "(1, named_struct('x', 1))", "UPDATE d.t@dev SET id = 9 WHERE s.x = 1")
    told(lake, "ALTER TABLE d.t@dev RENAME COLUMN s.x TO y", "INSERT INTO d.t VALUES (5, named_struct('x', 1))")
    assert ours_of(lake.conflicts("dev", detect="row")) == [5]


# --- what is shown is what THEIRS writes ------------------------------------------------------------------------------

IN_TURN = {
    "both change it": (["SET a = a + 1 WHERE a < 10", "SET a = a * 10 WHERE a < 10"], {"id": 5, "a": 60}),
    "the second meets what the first made": (
        ["SET a = a + 1 WHERE a < 10", "SET a = 0 WHERE a = 6"],
        {"id": 5, "a": 0},
    ),
    "the second meets it no more": (["SET a = a + 5 WHERE a < 10", "SET a = 0 WHERE a = 5"], {"id": 5, "a": 10}),
    "changed, then deleted": (["SET a = a + 1 WHERE a < 10", "WHERE a = 6"], "deleted where `a` = 6"),
    "changed, and so not deleted": (["SET a = a + 1 WHERE a < 10", "WHERE a = 5"], {"id": 5, "a": 6}),
    "deleted, and so not changed": (["WHERE a = 5", "SET a = 0 WHERE a < 10"], "deleted where `a` = 5"),
}


@pytest.mark.parametrize("case", IN_TURN)
def test_conflicts_show_what_theirs_would_write(lake, case):
    texts, expected = IN_TURN[case]
    forked(lake, "id INT, a INT", "(1, 5), (2, 4), (3, 0), (4, 6)")
    for text in texts:
        told(lake, f"UPDATE d.t@dev {text}" if text.startswith("SET") else f"DELETE FROM d.t@dev {text}")
    told(lake, "INSERT INTO d.t VALUES (5, 5)")
    shown = lake.conflicts("dev", detect="row")
    assert shown
    assert all((one.ours, one.theirs) == ({"id": 5, "a": 5}, expected) for one in shown)
    lake.merge("dev", detect="row", resolve="theirs")
    left = [row for row in rows(lake, "d.t") if row[0] == 5]
    assert left == ([] if isinstance(expected, str) else [tuple(expected.values())])


def test_a_statement_is_told_by_the_columns_as_they_are_called_now(lake):
    forked(
        lake, "id INT, a INT", "(1, 5)", "ALTER TABLE d.t@dev RENAME COLUMN a TO b", "DELETE FROM d.t@dev WHERE b = 5"
    )
    told(lake, "INSERT INTO d.t VALUES (5, 5)")
    assert [one.theirs for one in lake.conflicts("dev", detect="row")] == ["deleted where `b` = 5"]


def test_what_a_statement_of_the_moment_would_leave_today_is_not_shown_as_changed(lake):
    forked(lake, "id INT, a INT", "(1, 5)", "DELETE FROM d.t@dev WHERE a = 5 AND current_date() > DATE '2020-01-01'")
    told(lake, "INSERT INTO d.t VALUES (5, 6)")
    (shown,) = lake.conflicts("dev", detect="row")
    assert shown.rule == "delete/insert"
    assert shown.theirs.startswith("deleted where ")


def test_inserts_are_counted_by_rows_that_are_there(lake):
    forked(lake, "id INT, a INT", "(1, 5), (2, 6)", "UPDATE d.t@dev SET a = 0 WHERE id = 1")
    told(lake, "INSERT INTO d.t VALUES (5, 5), (6, 6), (7, 7)", "DELETE FROM d.t WHERE id = 6")
    told(lake, "UPDATE d.t SET a = 8 WHERE id = 7")
    assert [one.ours for one in lake.conflicts("dev")] == ["2 rows inserted"]


@pytest.mark.parametrize("detect", ["file", "row"])
def test_only_ours_is_offered_where_theirs_cannot_be_run_on_new_rows(spark_lake, detect):
    forked(spark_lake, "id INT, a INT", "(1, 5)", "DELETE FROM d.t@dev WHERE a = (SELECT max(a) FROM d.t)")
    told(spark_lake, "INSERT INTO d.t VALUES (5, 6)")
    error = refused(spark_lake, detect=detect)
    assert error.settling == ("ours",)
    assert "Only RESOLVE USING OURS settles this" in str(error)


def test_a_merge_into_that_cannot_run_on_new_rows_is_not_offered_for_them(lake):
    told(lake, "CREATE TABLE d.t (k INT, a INT)", "INSERT INTO d.t VALUES (1, 1)", "CREATE BRANCH dev")
    told(
        lake.on("dev"),
        "MERGE INTO d.t AS t USING (VALUES (1, 2)) AS s(k, a) ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a",
    )
    told(lake, "INSERT INTO d.t VALUES (1, 5)")
    with pytest.raises(MergeConflict, match="Only RESOLVE USING OURS settles this"):
        lake.merge("dev", detect="row")
    lake.merge("dev", detect="row", resolve="ours")
    assert rows(lake, "d.t") == [(1, 2), (1, 5)]
