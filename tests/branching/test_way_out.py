"""What a refused merge tells people to do."""

import pytest

from anabranch.branching.way_out import way_out
from anabranch.model.conflict import ConflictRecord

BOTH = ("ours", "theirs")


def row(rule="update/update"):
    return ConflictRecord("d.t", "row", rule, {"a": 1}, {"a": 2}, row=1)


def types(ours, theirs):
    return ConflictRecord("d.t", "column", "incompatible", ours, theirs, column="a")


def added(ours, theirs, column="s.c"):
    return ConflictRecord("d.t", "column", "added", ours, theirs, column=column)


def narrow(ours, theirs):
    return ConflictRecord("d.t", "column", "narrow", ours, theirs, column="a")


def wider():
    return ConflictRecord("d.t", "column", "A6.1", "bigint", "int", column="a")


def lacking(side):
    words = ("NOT NULL", "1 row without 'a'")
    return ConflictRecord("d.t", "column", "A6.3", *(words if side == "theirs" else words[::-1]), column="a")


def names():
    return ConflictRecord("d.t", "column", "names", "c int, stored as a", "c int, stored as b", column="c")


@pytest.mark.parametrize(
    ("conflicts", "settling", "tried", "said"),
    [
        ([row()], BOTH, None, "RESOLVE USING OURS or THEIRS takes one side"),
        ([row("update/insert"), row("delete/insert")], BOTH, None, "RESOLVE USING OURS spares the rows"),
        ([row("insert/insert")], BOTH, None, "RESOLVE USING OURS or THEIRS takes one side"),
        ([lacking("theirs")], BOTH, None, "OURS leaves out the rows of theirs that lack a value; THEIRS takes them"),
        ([lacking("ours")], BOTH, None, "RESOLVE USING OURS or THEIRS merges without the NOT NULL of theirs."),
        ([lacking("ours"), lacking("theirs")], BOTH, None, "THEIRS takes all rows and drops the NOT NULL"),
        ([lacking("theirs"), row()], BOTH, None, "RESOLVE USING OURS or THEIRS takes one side"),
        ([names(), row()], (), None, "rename one first (ALTER TABLE d.t RENAME COLUMN c TO …)."),
        ([types("bigint", "double")], ("ours",), None, "Only RESOLVE USING OURS settles this."),
        ([types("bigint", "double")], ("ours",), "theirs", "THEIRS does not settle this: USING OURS would."),
        ([types("bigint", "double")], (), None, "No RESOLVE settles this: rows of both types are there, and no type"),
        ([row(), types("bigint", "decimal(12,2)")], (), None, "(ALTER TABLE d.t ALTER COLUMN a TYPE decimal(22,2))"),
        ([types("bigint", "decimal(12,2)")], (), "ours", "RESOLVE USING OURS does not settle this: rows of both"),
        ([types("int, and rows of bigint", "double")], (), None, "RESTORE the table on one branch"),
        ([added("bigint", "double")], (), None, "Rename one of them first (ALTER TABLE d.t RENAME COLUMN s.c TO …)"),
        ([added("bigint", "decimal(12,2)")], (), None, "(ALTER TABLE d.t ALTER COLUMN s.c TYPE decimal(22,2))"),
        ([added("struct<a:int>", "struct<a:bigint>")], (), "ours", "OURS does not settle this: rows of both columns"),
        ([narrow("int", "bigint")], (), None, "(ALTER TABLE d.t ALTER COLUMN a TYPE bigint), and run this again."),
        ([narrow("int", "int, and rows of bigint")], (), "ours", "(ALTER TABLE d.t ALTER COLUMN a TYPE bigint)"),
        ([narrow("int, and rows of bigint", "int")], (), None, "(ALTER TABLE d.t ALTER COLUMN a TYPE bigint)"),
        ([row()], (), "ours", "RESOLVE USING OURS does not settle this: change one of the branches first."),
    ],
)  # fmt: skip
def test_way_out(conflicts, settling, tried, said):
    assert said in way_out(conflicts, settling, tried)


@pytest.mark.parametrize(
    ("conflicts", "settling", "tried", "said"),
    [
        ([wider()], ("theirs",), None, "Only RESOLVE USING THEIRS settles this."),
        ([wider()], (), None, "No RESOLVE settles this: the widening cannot be undone while rows that were written as"),
        ([wider(), row()], (), "theirs", "THEIRS does not settle this: the widening cannot be undone while rows"),
        ([wider()], ("ours",), None, "Only RESOLVE USING OURS settles this: the widening cannot be undone while rows"),
        ([wider()], ("ours",), "theirs", "RESOLVE USING THEIRS does not settle this: USING OURS would."),
        ([wider(), types("bigint", "double")], (), None, "rows of both types are there, and no type holds both"),
        ([row()], BOTH, None, "RESOLVE USING OURS or THEIRS takes one side"),
    ],
)
def test_way_out_of_a_revert(conflicts, settling, tried, said):
    assert said in way_out(conflicts, settling, tried, backwards=True)
