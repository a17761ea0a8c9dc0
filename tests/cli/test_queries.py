"""Queries: their rows come from Spark."""

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _running(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds the session that runs already; one that it starts itself does not log its errors either."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        monkeypatch.setattr(PySparkLogger.getLogger(name), "disabled", True)


def test_a_query_is_a_table_with_a_count(cli: Cli) -> None:
    lines = cli("sql", "-c", "SELECT id, IF(id = 2, NULL, v) AS v FROM d.t ORDER BY id").lines
    assert [line.split() for line in lines[2:]] == [["1", "a"], ["2", "NULL"], ["3", "c"], ["(3", "rows)"]]
    assert cli("sql", "-c", "SELECT 1 AS a").lines[-1] == "(1 row)"


@pytest.mark.parametrize(
    ("limit", "counted"),
    [
        ([], "(100 rows, … more rows: --limit 0 shows all)"),
        (["--limit", "149"], "(149 rows, … more rows: --limit 0 shows all)"),
        (["--limit", "150"], "(150 rows)"),
        (["--limit", "0"], "(150 rows)"),
    ],
)
def test_limit(cli: Cli, limit: list[str], counted: str) -> None:
    assert cli("sql", *limit, "-c", "SELECT id FROM range(150)").lines[-1] == counted


def test_json_has_all_rows_and_every_kind_of_value(cli: Cli) -> None:
    query = """
        SELECT 1 AS a, 2 AS a, timestamp'2020-01-01 00:00:00' AS ts, timestamp_ntz'2020-01-01 00:00:00' AS ntz,
               map('k', 1.5BD) AS m, array(named_struct('x', 1)) AS s, double('NaN') AS nan, X'0A' AS b, NULL AS n
    """
    ran = cli("sql", "--json", "-c", query, "-c", "SELECT id FROM range(150)", "-c", "SELECT 1 WHERE false")
    first, second, third = map(json.loads, ran.lines)
    assert first == [
        {
            "a": 1, "a_2": 2, "ts": "2020-01-01T00:00:00+00:00", "ntz": "2020-01-01T00:00:00",
            "m": {"k": "1.5"}, "s": [{"x": 1}], "nan": "NaN", "b": "Cg==", "n": None,
        }
    ]  # fmt: skip
    assert [row["id"] for row in second] == list(range(150))
    assert third == []


@pytest.mark.parametrize("query", ["SELECT nope FROM d.t", "SELECT * FROM d.nope", "SELECT 1 / 0", "SELECT FROM WHERE"])
def test_errors_of_spark_are_ours(cli: Cli, query: str) -> None:
    ran = cli("sql", "-c", query)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("anabranch: error: ")
    assert "Traceback" not in ran.err
    assert "--debug" not in ran.err


def test_types_that_arrow_lacks(cli: Cli) -> None:
    query = "SELECT interval '3' month AS a, 1 AS a, parse_json('{\"k\": 1}') AS v, map(named_struct('x', 1), 2) AS m"
    ran = cli("sql", "--json", "-c", query)
    assert ran.json == [{"a": "INTERVAL '3' MONTH", "a_2": 1, "v": '{"k":1}', "m": [[{"x": 1}, 2]]}], ran.err
