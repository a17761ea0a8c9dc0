"""Cases restated from the tests of Delta Lake, Apache Paimon and Apache Iceberg (tests/vectors), on real tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anabranch.commands.merge_into import source as merge_source
from anabranch.errors import AnabranchError
from anabranch.execution.session import SparkHolder
from anabranch.lake import Lake
from anabranch.options import Limits
from anabranch.storage.arrow_types import arrow_schema

FILE = Path(__file__).parent.parent / "vectors" / "merge_into_vectors.json"
VECTORS = json.loads(FILE.read_text())["vectors"]
MODES = ("merge-on-read", "copy-on-write")
ERRORS = {
    "cardinality": "more than one source row",
    "non_last_clause_without_condition": "only the last .* may omit its condition",
    "ambiguous_reference": "ambiguous",
    "unresolved_column": "no column|does not exist",
    "non_deterministic_condition": "nondeterministic",
    "duplicate_assignment": "assigned twice",
}


def create(lake: Lake, name: str, case: dict[str, Any], **how: Any) -> None:
    columns = ", ".join(f"`{label}` {type_}" for label, type_ in case["columns"])
    table = lake.create_table(f"d.{name}", columns, **how)
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(table._open().schema.columns)])
    arrays = [pa.array([row[at] for row in case["rows"]], field.type) for at, field in enumerate(schema)]
    table.write(pa.table(arrays, schema=schema))


def statement(case: dict[str, Any]) -> str:
    return re.sub(r"\b(INTO|USING|FROM) (target|source)\b", r"\1 d.\2", case["sql"])


def in_order(rows: Any) -> list[str]:
    return sorted(json.dumps(list(row)) for row in rows)


def read(lake: Lake) -> tuple[list[str], list[str]]:
    found = lake.table("d.target").to_arrow()
    return found.column_names, in_order(zip(*(column.to_pylist() for column in found.columns), strict=True))


def run(lake: Lake, case: dict[str, Any], **how: Any) -> None:
    partition = case["target"].get("partition_by") or ()
    create(lake, "target", case["target"], partitioned_by=partition, **how)
    if case["source"]["columns"]:
        create(lake, "source", case["source"])
    before, expected = read(lake), case["expect"]
    if "error" in expected:
        with pytest.raises(AnabranchError, match=ERRORS[expected["error"]["category"]]):
            lake.sql(statement(case))
        assert read(lake) == before
        return
    version = lake.version
    lake.sql(statement(case))
    assert lake.version <= version + 1, "one commit"
    assert read(lake) == (expected["columns"], in_order(expected["rows"]))


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases])


@named(VECTORS)
@pytest.mark.parametrize("mode", MODES)
def test_append(lake: Lake, case: dict[str, Any], mode: str, request: pytest.FixtureRequest) -> None:
    if "source_query" in case or case.get("needs_nested"):
        lake._session.shared.spark = SparkHolder(request.getfixturevalue("spark"))
    run(lake, case, properties={"merge.mode": mode})


@named([case for case in VECTORS if case["source"]["columns"]])
@pytest.mark.parametrize("way", ["joined by Spark", "all by Spark"])
@pytest.mark.spark
def test_append_by_spark(spark_lake: Lake, case: dict[str, Any], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_lake._session.shared.limits = Limits(local_work=0)
    if way == "all by Spark":
        monkeypatch.setattr(merge_source, "MOST_ROWS", -1)
    run(spark_lake, case)


KEYED = [case for case in VECTORS if case["target"].get("primary_key")]


@named(KEYED)
def test_keyed(lake: Lake, case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    if "source_query" in case or case.get("needs_nested"):
        lake._session.shared.spark = SparkHolder(request.getfixturevalue("spark"))
    run(lake, case, primary_key=case["target"]["primary_key"])


@named(KEYED)
@pytest.mark.spark
def test_keyed_by_spark(spark_lake: Lake, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    spark_lake._session.shared.limits = Limits(local_work=0)
    monkeypatch.setattr(merge_source, "MOST_ROWS", -1)
    run(spark_lake, case, primary_key=case["target"]["primary_key"])
