"""Every engine against its oracle on random records: read at once, compacted in part, written in several steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines import KIND, SETS, Reach, reduce, segment_starts
from anabranch.engines.kinds import NAMES
from tests.engines import oracle
from tests.engines.oracle import Rec
from tests.engines.tables import Records

COLUMNS = [(name, "int") for name in ("k", "a", "b", "c", "g", "h", "s")]
FIELDS = [name for name, _ in COLUMNS[1:]]
PARTIAL = {"merge-engine": "partial-update"}
GROUPED = PARTIAL | {"fields.g.sequence-group": "a,b"}
TWO_GROUPS = GROUPED | {"fields.h.sequence-group": "c"}
AGGREGATION = {"merge-engine": "aggregation"}
SUMS = AGGREGATION | {"fields.default-aggregate-function": "sum"}


@dataclass(frozen=True)
class Case:
    """What may occur: retracts, rows of our own kinds (`sets`), parts reduced apart from each other (`splits`).

    Parts whose rows come out of order cannot be reduced apart where a field's result depends on that order: a reduced
    record has one sequence, its greatest.
    """

    options: dict[str, str]
    retracts: bool = False
    sets: bool = True
    splits: bool = True
    additive: bool = False


CASES = {
    "deduplicate": Case({}, retracts=True),
    "deduplicate by sequence": Case({"sequence.field": "s"}, retracts=True, sets=False),
    "deduplicate by two fields": Case({"sequence.field": "s,g"}, retracts=True, sets=False),
    "deduplicate, descending": Case(
        {"sequence.field": "s,g", "sequence.field.sort-order": "descending"}, retracts=True, sets=False
    ),
    "first-row": Case({"merge-engine": "first-row"}),
    "partial-update": Case(PARTIAL),
    "partial-update by sequence": Case(PARTIAL | {"sequence.field": "s"}, sets=False, splits=False),
    "remove on delete": Case(PARTIAL | {"partial-update.remove-record-on-delete": "true"}, retracts=True),
    "one group": Case(GROUPED, retracts=True, additive=True),
    "two groups": Case(TWO_GROUPS, retracts=True, additive=True),
    "a group of two fields": Case(PARTIAL | {"fields.g,h.sequence-group": "a,c"}, retracts=True, sets=False),
    "sum in a group": Case(TWO_GROUPS | {"fields.a.aggregate-function": "sum"}, retracts=True, additive=True),
    # Without set rows: one that sets a sequence alone leaves open whether NULL is the last value.
    "last_value in a group": Case(
        TWO_GROUPS | {"fields.a.aggregate-function": "last_value"}, retracts=True, sets=False
    ),
    "last_non_null_value in a group": Case(
        TWO_GROUPS | {"fields.default-aggregate-function": "last_non_null_value"}, retracts=True, splits=False
    ),
    "first values in a group": Case(
        TWO_GROUPS
        | {"fields.a.aggregate-function": "first_value", "fields.a.ignore-retract": "true"}
        | {"fields.b.aggregate-function": "first_non_null_value", "fields.b.ignore-retract": "true"},
        retracts=True,
        splits=False,
    ),
    "remove on a group": Case(TWO_GROUPS | {"partial-update.remove-record-on-sequence-group": "g"}, retracts=True),
    "remove on two groups": Case(
        TWO_GROUPS | {"partial-update.remove-record-on-sequence-group": "g,h", "fields.a.aggregate-function": "sum"},
        retracts=True,
    ),
    "aggregation by default": Case(AGGREGATION, retracts=True),
    "sums": Case(SUMS, retracts=True, additive=True),
    "sums by sequence": Case(SUMS | {"sequence.field": "s"}, retracts=True, sets=False, splits=False),
    "mixed functions": Case(
        AGGREGATION
        | {"fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true"}
        | {"fields.b.aggregate-function": "product"}
        | {"fields.c.aggregate-function": "last_value", "fields.s.aggregate-function": "sum"},
        retracts=True,
    ),
    "aggregation, remove on delete": Case(SUMS | {"aggregation.remove-record-on-delete": "true"}, retracts=True),
}
every = pytest.mark.parametrize("name", CASES)
splitting = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.splits])


@st.composite
def records(draw: Any, case: Case, *, kinds: tuple[str, ...]) -> list[Rec]:
    found = []
    for _ in range(draw(st.integers(0, 14))):
        # 1 to 3 and no 0: a retract divides a product.
        values = {n: draw(st.one_of(st.none(), st.integers(1, 3))) for n in FIELDS}
        kind = draw(st.sampled_from(kinds))
        sets = frozenset(draw(st.sets(st.sampled_from(FIELDS), min_size=1))) if kind == "=" else frozenset()
        old = {"c"} if draw(st.booleans()) else set()  # of a part that is older than the column, which has a default
        values = {n: v if kind != "=" or n in sets | old else None for n, v in values.items()}
        found.append(Rec(kind, {"k": draw(st.integers(0, 2)), **values}, sets))
    return found


def kinds_for(case: Case, *, own: bool) -> tuple[str, ...]:
    return ("+I", "+I", "+U", *(("-U", "-D") if case.retracts else ()), *(("=", "=", "tombstone") if own else ()))


def table(found: list[Rec]) -> pa.Table:
    """The records as rows of parts."""
    columns = {name: pa.array([r.values[name] for r in found], pa.int32()) for name, _ in COLUMNS}
    columns[KIND] = pa.array([NAMES.index(r.kind) for r in found], pa.int8())
    columns[SETS] = pa.array([sorted(r.sets) if r.kind == "=" else None for r in found], pa.list_(pa.string()))
    return pa.table(columns)


def by_key(rows: pa.Table) -> dict[Any, dict[str, Any]]:
    assert rows.column_names == [name for name, _ in COLUMNS]
    found = {(row["k"],): {n: row[n] for n in FIELDS} for row in rows.to_pylist()}
    assert len(found) == len(rows)
    return found


def agree(tables: Records, parts: list[pa.Table], expected: dict[Any, Any]) -> None:
    assert by_key(tables.reduced(parts, Reach.ALL)) == expected


@every
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_read(name: str, data: Any) -> None:
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    found = data.draw(records(case, kinds=kinds_for(case, own=case.sets)))
    agree(tables, [table(found)], oracle.read(found, tables.spec))


@splitting
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_newer_parts_compacted(name: str, data: Any) -> None:
    """Reducing some neighbours changes nothing that is read, whatever is older or newer."""
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    found = data.draw(records(case, kinds=kinds_for(case, own=case.sets)))
    start = data.draw(st.integers(0, len(found)))
    end = data.draw(st.integers(start, len(found)))
    middle = tables.sorted(table(found[start:end]))
    reduced = reduce(middle, segment_starts(middle, ["k"]), tables.spec, Reach.SOME)
    keys = reduced.rows["k"].to_pylist()
    assert reduced.open or len(set(keys)) == len(keys)
    assert keys == sorted(keys)
    agree(tables, [table(found[:start]), reduced.rows, table(found[end:])], oracle.read(found, tables.spec))


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.splits and AGGREGATION.items() - c.options.items()])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_oldest_parts_compacted(name: str, data: Any) -> None:
    """Reducing the oldest records changes nothing that is read, whatever comes later. A set row is never the oldest,
    and a group skips a record without sequence only beside others: there it shows whether a tombstone was."""
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    removing = ("tombstone",) if case.sets and not tables.spec.groups else ()
    found = data.draw(records(case, kinds=(*kinds_for(case, own=False), *removing)))
    end = data.draw(st.integers(0, len(found)))
    oldest = tables.reduced([table(found[:end])], Reach.OLDEST)
    agree(tables, [oldest, table(found[end:])], oracle.read(found, tables.spec))


def written(tables: Records, found: list[Rec], cuts: list[int]) -> list[pa.Table]:
    """The parts of several writes, with cuts between them; each has one row a key."""
    bounds = sorted({0, *(min(cut, len(found)) for cut in cuts), len(found)})
    parts = []
    for start, end in pairwise(bounds):
        rows = [(r.kind, [r.values[n] for n, _ in COLUMNS]) for r in found[start:end]]
        parts.append(tables.write(rows))
        assert len(set(parts[-1]["k"].to_pylist())) == len(parts[-1])
    return parts or [table([])]


@splitting
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_writes(name: str, data: Any) -> None:
    """Adds may come in any number of writes; retracts too, where every function is additive."""
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    found = data.draw(records(case, kinds=kinds_for(case, own=False) if case.additive else ("+I", "+U")))
    cuts = data.draw(st.lists(st.integers(0, 14), max_size=6))
    parts = written(tables, found, cuts)
    agree(tables, parts, oracle.read(found, tables.spec))
    agree(tables, [tables.reduced(parts, Reach.SOME)], oracle.read(found, tables.spec))


REMOVING = ["deduplicate", "remove on delete", "aggregation, remove on delete"]


@pytest.mark.parametrize("name", REMOVING)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_writes_that_remove(name: str, data: Any) -> None:
    """A delete is never lost, even if the same write adds the key again."""
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    found = data.draw(records(case, kinds=("+I", "-D")))
    parts = written(tables, found, data.draw(st.lists(st.integers(0, 14), max_size=6)))
    agree(tables, parts, oracle.read(found, tables.spec))


def test_a_delete_that_removed_nothing_removes_nothing_later() -> None:
    """It has no sequence; combined with a record that has one, it takes back no more than before."""
    tables = Records(COLUMNS, ["k"], CASES["remove on two groups"].options)
    nothing = {"k": 0, **dict.fromkeys(FIELDS)}
    found = [Rec("-U", nothing | {"h": 1}), Rec("-D", nothing), Rec("+I", nothing)]
    oldest = tables.reduced([table(found[:2])], Reach.OLDEST)
    agree(tables, [oldest, table(found[2:])], oracle.read(found, tables.spec))


@pytest.mark.parametrize("end", [1, 2, 3])
def test_what_was_set_without_a_sequence_stays_set(end: int) -> None:
    """Compacted or not, a record without sequence leaves the group alone, and what was set in it."""
    tables = Records(COLUMNS, ["k"], CASES["two groups"].options)
    nothing = {"k": 0, **dict.fromkeys(FIELDS)}
    found = [Rec("+I", nothing | {"a": 1}), Rec("=", nothing | {"a": 2}, frozenset("a")), Rec("+I", nothing | {"a": 3})]
    for history in (found, found[1:]):
        oldest = tables.reduced([table(history[:end])], Reach.OLDEST)
        agree(tables, [oldest, table(history[end:])], oracle.read(history, tables.spec))


def test_nothing_to_reduce_leaves_the_rows_alone() -> None:
    tables = Records(COLUMNS, ["k"], PARTIAL)
    rows = table([Rec("+I", {"k": k, **dict.fromkeys(FIELDS, 1)}) for k in range(3)]).drop_columns([KIND, SETS])
    assert reduce(rows, np.arange(3), tables.spec, Reach.WRITE).rows is rows
