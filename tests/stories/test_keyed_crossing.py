"""Branches that have the same writes of a key, each in its own order: they never part without a word."""

from __future__ import annotations

import pytest

from anabranch.errors import MergeConflict
from tests.stories.telling import rows, told

BOTH = ["main", "dev"]
CROSSING = {
    "merges": "MERGE BRANCH {} RESOLVE USING THEIRS",
    "merges that each keep their own": "MERGE BRANCH {} RESOLVE USING OURS",
    "picks": "CHERRY PICK {} RESOLVE USING THEIRS",
}


def begun(lake, options=""):
    properties = f" TBLPROPERTIES ({options})" if options else ""
    told(lake, f"CREATE TABLE d.t (id INT, a INT, b INT, PRIMARY KEY (id)){properties}")
    told(lake, "INSERT INTO d.t VALUES (0, 1, 1)", "CREATE BRANCH dev")
    return lake


def both_took_the_other(lake, ours, theirs, how="merges"):
    """Each side writes, and then takes the other as it was before."""
    dev = lake.on("dev")
    told(lake, ours, theirs)
    mine, other = f"main@{lake.version}", f"dev@{dev.version}"
    told(lake, CROSSING[how].format(other))
    told(dev, CROSSING[how].format(mine))


def status(lake, theirs, ours):
    return {row.status for row in lake.sql(f"MERGE BRANCH {theirs} TO {ours}")}


def shown(lake):
    return [rows(lake, f"d.t@{branch}") for branch in BOTH]


@pytest.mark.parametrize("how", CROSSING)
@pytest.mark.parametrize("side", ["OURS", "THEIRS"])
@pytest.mark.parametrize(("ours", "theirs"), [("main", "dev"), ("dev", "main")])
def test_a_key_that_the_branches_show_otherwise_conflicts_until_somebody_decides(lake, how, side, ours, theirs):
    begun(lake)
    both_took_the_other(lake, "UPDATE d.t SET b = 3", "UPDATE d.t@dev SET b = 2", how)
    before = dict(zip(BOTH, shown(lake), strict=True))
    assert before["main"] != before["dev"]
    with pytest.raises(MergeConflict) as refused:
        told(lake, f"MERGE BRANCH {theirs} TO {ours}")
    assert [(c.kind, c.row, c.rule) for c in refused.value.conflicts] == [("key", {"id": 0}, "update/update")]
    told(lake, f"MERGE BRANCH {theirs} TO {ours} RESOLVE USING {side}", f"MERGE BRANCH {ours} TO {theirs}")
    assert shown(lake) == [before[ours if side == "OURS" else theirs]] * 2
    assert [status(lake, "dev", "main"), status(lake, "main", "dev")] == [{"up to date"}] * 2


@pytest.mark.parametrize("how", CROSSING)
def test_news_elsewhere_do_not_hide_it(lake, how):
    begun(lake)
    both_took_the_other(lake, "UPDATE d.t SET b = 3", "UPDATE d.t@dev SET b = 2", how)
    told(lake, "ALTER TABLE d.t@dev RENAME COLUMN a TO c", "INSERT INTO d.t@dev VALUES (9, 9, 9)")
    with pytest.raises(MergeConflict):
        told(lake, "MERGE BRANCH dev")


def test_by_way_of_a_third_branch(lake):
    begun(lake)
    both_took_the_other(lake, "UPDATE d.t SET b = 3", "UPDATE d.t@dev SET b = 2")
    told(lake, "CREATE BRANCH exp FROM dev")
    with pytest.raises(MergeConflict):
        told(lake, "MERGE BRANCH exp")
    told(lake, "MERGE BRANCH exp RESOLVE USING THEIRS", "MERGE BRANCH main TO dev")
    assert shown(lake) == [[(0, 1, 3)]] * 2


@pytest.mark.parametrize("how", CROSSING)
def test_twice(lake, how):
    """Each side decides, and takes the other as it was before that: the bases have all writes, each in its order."""
    begun(lake)
    both_took_the_other(lake, "UPDATE d.t SET b = 3", "UPDATE d.t@dev SET b = 2", how)
    told(lake, "CREATE TAG m2", "CREATE TAG d2 FROM dev")
    told(lake, "MERGE BRANCH d2 RESOLVE USING OURS", "MERGE BRANCH m2 TO dev RESOLVE USING OURS")
    with pytest.raises(MergeConflict):
        told(lake, "MERGE BRANCH dev")


@pytest.mark.parametrize("how", CROSSING)
@pytest.mark.parametrize(
    ("options", "ours", "theirs"),
    [
        ("", "INSERT INTO d.t VALUES (1, 1, 1)", "INSERT INTO d.t@dev VALUES (2, 2, 2)"),
        ("", "UPDATE d.t SET b = 3", "UPDATE d.t@dev SET b = 3"),
        ("'merge-engine' = 'partial-update'", "UPDATE d.t SET a = 3", "UPDATE d.t@dev SET b = 3"),
        ("'sequence.field' = 'a'", "INSERT INTO d.t VALUES (0, 5, 5)", "INSERT INTO d.t@dev VALUES (0, 6, 6)"),
        (
            "'merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum'",
            "INSERT INTO d.t VALUES (0, 5, 5)",
            "INSERT INTO d.t@dev VALUES (0, 6, 6)",
        ),
    ],
    ids=["other keys", "the same row", "other columns", "sequences", "sums"],
)
def test_an_order_that_does_not_show_is_no_news(lake, how, options, ours, theirs):
    begun(lake, options)
    both_took_the_other(lake, ours, theirs, how)
    assert shown(lake)[0] == shown(lake)[1]
    assert [status(lake, "dev", "main"), status(lake, "main", "dev")] == [{"up to date"}] * 2


def test_a_first_row_stays_and_the_other_branch_takes_it(lake):
    begun(lake, "'merge-engine' = 'first-row'")
    both_took_the_other(lake, "INSERT INTO d.t VALUES (5, 1, 1)", "INSERT INTO d.t@dev VALUES (5, 2, 2)")
    assert shown(lake) == [[(0, 1, 1), (5, 1, 1)], [(0, 1, 1), (5, 2, 2)]]
    told(lake, "MERGE BRANCH dev", "MERGE BRANCH main TO dev")
    assert shown(lake) == [[(0, 1, 1), (5, 1, 1)]] * 2


def test_fields_are_compared_one_by_one(lake):
    """Of a the order shows; b came alike, and ours has changed it since."""
    begun(lake, "'merge-engine' = 'partial-update'")
    both_took_the_other(lake, "UPDATE d.t SET a = 3", "INSERT INTO d.t@dev VALUES (0, 2, 4)", "picks")
    told(lake, "UPDATE d.t SET b = 9")
    assert [c.column for c in lake.conflicts("dev")] == ["a"]
    told(lake, "MERGE BRANCH dev RESOLVE USING THEIRS")
    assert rows(lake, "d.t") == [(0, 3, 9)]
