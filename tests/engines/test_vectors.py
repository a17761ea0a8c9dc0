"""Cases restated from Apache Paimon's tests (tests/vectors), run directly against the reductions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.engines import Reach, check_unkeyed
from anabranch.errors import AnabranchError, DataError, OptionConflict
from tests.engines.tables import Records, listed

FILE = Path(__file__).parent.parent / "vectors" / "merge_engine_vectors.json"
VECTORS = json.loads(FILE.read_text())["vectors"]
FOREIGN = ("changelog-producer", "primary-key.nullable")
"""Options of other layers that some cases set; the reductions do not know them."""


def cases(kind: str, only: Callable[[dict[str, Any]], bool] = lambda case: True) -> Any:
    chosen = [pytest.param(v, id=v["id"]) for v in VECTORS if v["kind"] == kind and only(v)]
    return pytest.mark.parametrize("case", chosen)


def only_adds(case: dict[str, Any]) -> bool:
    """Cases that end with their rows, and take nothing back."""
    kinds = {kind for step in case["steps"] for kind, _ in step.get("commit", ())}
    return "expect_rows" in case["steps"][-1] and kinds <= {"+I", "+U"} and "rowkind.field" not in case["options"]


def records_of(case: dict[str, Any]) -> Records:
    options = {k: v for k, v in case["options"].items() if not k.startswith(FOREIGN)}
    return Records(case["schema"], case["primary_key"], options)


def plain(value: Any, *, unordered: bool = False) -> Any:
    """Lists and tuples alike; arrays and maps as multisets where order means nothing."""
    if isinstance(value, (list, tuple)):
        found = [plain(item) for item in value]
        return sorted(found, key=repr) if unordered else found
    return value


@cases("merge_function")
def test_merge_function(case: dict[str, Any]) -> None:
    records = records_of(case)
    fed: list[Any] = []
    for place, step in enumerate(case["steps"]):
        if "reset" in step:
            fed = []
        elif "row" in step:
            fed.append(tuple(step["row"]))
            if "expect_error" in (case["steps"] + [{}])[place + 1]:
                with pytest.raises(DataError):
                    records.merged(fed)
        elif "expect" in step:
            [(kind, values)] = records.merged(fed)
            assert values == step["expect"]
            assert kind == step.get("expect_kind", kind)


@cases("aggregator")
def test_aggregator(case: dict[str, Any]) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": case["function"]}
    options |= {f"fields.v.{name}": value for name, value in case["options"].items()}
    records = Records([("k", "INT"), ("v", case["type"])], ["k"], options)
    for op in case["ops"]:
        if op["op"] == "fold":
            fed = [("+I", [1, value]) for value in op["inputs"]]
        else:
            fed = [("+I", [1, op["acc"]]), ("+I" if op["op"] == "agg" else "-U", [1, op["in"]])]
        if "expect_error" in op:
            with pytest.raises(DataError):
                records.merged(fed)
            continue
        [(_, [_, value])] = records.merged(fed)
        unordered = case.get("unordered", False)
        assert plain(value, unordered=unordered) == plain(op["expect"], unordered=unordered), op


def by_row(rows: list[list[Any]], case: dict[str, Any]) -> list[Any]:
    names = [name for name, _ in case["schema"]]
    loose = {names.index(name) for name in case.get("unordered_fields", ())}
    return sorted(([plain(v, unordered=n in loose) for n, v in enumerate(row)] for row in rows), key=repr)


@cases("table")
@pytest.mark.parametrize("compacting", [False, True], ids=["as written", "compacted"])
def test_table(case: dict[str, Any], compacting: bool) -> None:
    """Each commit is a part; compacted, all parts of before make one, and then the newer parts make one."""
    records = records_of(case)
    parts: list[Any] = []
    for step in case["steps"]:
        if "commit" in step:
            rows = [tuple(row) for row in step["commit"]]
            if "expect_error" in step:
                with pytest.raises(AnabranchError):
                    records.write(rows)
                continue
            parts.append(records.write(rows))
            if compacting and len(parts) > 2:
                parts = [parts[0], records.reduced(parts[1:], Reach.SOME)]
        elif "expect_rows" in step:
            assert by_row(records.read(parts), case) == by_row(step["expect_rows"], case)
            if compacting:
                parts = [records.reduced(parts, Reach.ALL)]


@cases("table", only_adds)
@pytest.mark.parametrize("at_once", [1, 2, 100], ids=["one by one", "in pairs", "together"])
def test_table_without_retracts_in_other_commits(case: dict[str, Any], at_once: int) -> None:
    """Adds are associative: it does not matter which commit, or how many, a record comes with."""
    rows = [tuple(row) for step in case["steps"] for row in step.get("commit", ())]
    expected = by_row(case["steps"][-1]["expect_rows"], case)
    records = records_of(case)
    parts = [records.write(rows[n : n + at_once]) for n in range(0, len(rows), at_once)]
    assert by_row(records.read(parts), case) == expected
    whole = records.reduced(parts, Reach.SOME)
    assert by_row(listed(whole), case) == expected


@cases("config_error")
def test_config_error(case: dict[str, Any]) -> None:
    key, options = case["primary_key"], case["options"]
    with pytest.raises(OptionConflict):
        Records(case["schema"], key, options) if key else check_unkeyed(options)


@pytest.mark.parametrize(
    ("engine", "options", "row"),
    [
        pytest.param(v["engine"], v["options"], case, id=f"{v['id']}-{n}")
        for v in VECTORS
        if v["kind"] in ("lookup_changelog", "full_changelog")
        for n, case in enumerate(v["cases"])
    ],
)
def test_changelog_results(engine: str, options: dict[str, str], row: dict[str, Any]) -> None:
    """The results of these cases; their changelogs are another layer's."""
    options = {k: v for k, v in options.items() if not k.startswith(FOREIGN)} | {"merge-engine": engine}
    records = Records([("k", "INT"), ("f0", "INT")], ["k"], options)
    known = [row["lookup"]] if row["lookup"] else []
    parts = [records.write([(r["kind"], [1, *r["value"]])]) for r in [*known, *row["records"]]]
    if engine == "first-row" and known:
        assert records.read(parts) == [[1, *row["lookup"]["value"]]]
    elif row["expect_result"] is None or row["expect_result"][0].startswith("-"):
        assert records.read(parts) == []
    else:
        assert records.read(parts) == [[1, *row["expect_result"][1]]]
