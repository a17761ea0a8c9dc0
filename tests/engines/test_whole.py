"""Whole records: what null counts tell, and that the engine agrees."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines import Reach
from anabranch.engines.whole import is_whole
from tests.engines.oracle import Rec
from tests.engines.tables import Records
from tests.engines.test_engines import CASES, COLUMNS, FIELDS, GROUPED, PARTIAL, by_key, kinds_for, records, table

NONE = dict.fromkeys(FIELDS, 0)


@pytest.mark.parametrize(
    ("options", "nulls", "kinds", "whole"),
    [
        (PARTIAL, NONE, False, True),
        (PARTIAL | {"partial-update.remove-record-on-delete": "true"}, NONE, False, True),
        (PARTIAL, NONE, True, False),
        (PARTIAL, NONE | {"b": 1}, False, False),
        (PARTIAL, NONE | {"b": None}, False, False),
        (PARTIAL, {"a": 0}, False, False),
        (PARTIAL | {"sequence.field": "s"}, NONE, False, False),
        (GROUPED, NONE, False, False),
        ({"merge-engine": "aggregation"}, NONE, False, False),
        ({}, NONE, False, False),
    ],
)
def test_null_counts_tell(options, nulls, kinds, whole):
    assert is_whole(Records(COLUMNS, ["k"], options).spec, nulls, kinds=kinds) is whole


@pytest.mark.parametrize("name", ["partial-update", "remove on delete"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whole_records_are_rows(name, data):
    """Whatever came before, also of our own kinds."""
    case = CASES[name]
    tables = Records(COLUMNS, ["k"], case.options)
    assert is_whole(tables.spec, NONE, kinds=False)
    older = data.draw(records(case, kinds=kinds_for(case, own=True)))
    newest = {}
    for record in older:
        values = {field: data.draw(st.integers(0, 3)) for field in FIELDS}
        newest[record.values["k"]] = Rec("+I", {"k": record.values["k"], **values})
    found = by_key(tables.reduced([table(older), table(list(newest.values()))], Reach.ALL))
    assert found == {(k,): {field: record.values[field] for field in FIELDS} for k, record in newest.items()}
