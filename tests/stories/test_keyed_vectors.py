"""Cases restated from Apache Paimon's tests (tests/vectors) on real tables: written, read, compacted and read again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anabranch.errors import AnabranchError
from anabranch.lake import Lake
from anabranch.storage.arrow_types import arrow_schema
from tests.engines.test_vectors import by_row, only_adds

FILE = Path(__file__).parent.parent / "vectors" / "merge_engine_vectors.json"
VECTORS = json.loads(FILE.read_text())["vectors"]
TABLES = [case for case in VECTORS if case["kind"] == "table"]


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases])


def create(lake: Lake, case: dict[str, Any]) -> Any:
    columns = {name: re.sub(" NOT NULL", "", type_) for name, type_ in case["schema"]}
    return lake.create_table("d.t", columns, primary_key=case["primary_key"], properties=case["options"])


def write(table: Any, case: dict[str, Any], rows: list[Any]) -> None:
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(table._open().schema.columns)])
    columns = [pa.array([values[at] for _, values in rows], field.type) for at, field in enumerate(schema)]
    data = pa.table(columns, schema=schema)
    if "rowkind.field" not in case["options"]:
        data = data.append_column("_kind", pa.array([kind for kind, _ in rows]))
    table.write(data)


def read(table: Any) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_arrow().to_pylist()]


@named(TABLES)
@pytest.mark.parametrize("compacting", [False, True], ids=["as written", "compacted"])
def test_commit_by_commit(lake: Lake, case: dict[str, Any], compacting: bool) -> None:
    table = create(lake, case)
    for step in case["steps"]:
        if "commit" in step:
            if "expect_error" in step:
                before = read(table)
                with pytest.raises(AnabranchError):
                    write(table, case, step["commit"])
                assert read(table) == before
                continue
            write(table, case, step["commit"])
        elif "expect_rows" in step:
            assert by_row(read(table), case) == by_row(step["expect_rows"], case)
            if compacting:
                lake.optimize("d.t")
                assert by_row(read(table), case) == by_row(step["expect_rows"], case)
                assert table.count() == len(step["expect_rows"])


@named([case for case in TABLES if only_adds(case)])
@pytest.mark.parametrize("at_once", [1, 2, 100], ids=["one by one", "in pairs", "together"])
def test_without_retracts_in_other_commits(lake: Lake, case: dict[str, Any], at_once: int) -> None:
    table = create(lake, case)
    rows = [row for step in case["steps"] for row in step.get("commit", ())]
    for start in range(0, len(rows), at_once):
        write(table, case, rows[start : start + at_once])
    expected = by_row(case["steps"][-1]["expect_rows"], case)
    assert by_row(read(table), case) == expected
    lake.optimize("d.t")
    assert by_row(read(table), case) == expected


@named([case for case in VECTORS if case["kind"] == "config_error"])
def test_options_that_are_refused(lake: Lake, case: dict[str, Any]) -> None:
    with pytest.raises(AnabranchError):
        create(lake, case)
    assert lake.tables() == []
