"""Rows that a user gives for keys in conflict."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anabranch.branching.decided import decided_rows
from anabranch.branching.flushes import merge_flushes
from anabranch.branching.keyed_contest import contest_of
from anabranch.branching.keyed_law import decide, with_given
from anabranch.commands.keyed_conflicts import resolutions
from anabranch.engines import KIND
from anabranch.engines.kinds import NAMES
from anabranch.errors import DataError, KindRefused, Refused
from anabranch.model import types
from anabranch.model.schema import Column, Schema
from tests.branching.keyed_oracle import ENGINES
from tests.branching.keyed_tables import KEYS, History

SCHEMA = Schema(1, tuple(Column(n, types.INT, n, nullable=n != "k") for n in "ksxy"), ("k",))
FLUSHES = {
    name: {key: ("+I", {"s": s, "x": x, "y": x}) for key in KEYS}
    for name, s, x in (("a", 1, 1), ("o", 2, 2), ("t", 2, 3))
}


def resolved(engine, given):
    """Key -> the row that is written for it, or its kind."""
    history = History(ENGINES[engine], FLUSHES)
    flushes = merge_flushes([(0,)], (0, 1), (0, 2))
    records = history.records({history.slots[name]: flush for name, flush in FLUSHES.items()})
    contest = contest_of(records, flushes, (0, 1), (0, 2))
    verdict = decide(contest, np.full(records.count, ""))
    verdict = with_given(verdict, resolutions("d.t", SCHEMA, given)(records, contest, verdict.clash))
    rows = decided_rows(records.keys, verdict, contest.merged, history.spec).to_pylist()
    open_ = np.flatnonzero(verdict.clash).tolist()
    made = {row["k"]: (NAMES[row[KIND]], (row["s"], row["x"], row["y"])) for row in rows if row["k"] not in open_}
    return {key: kind if kind == "tombstone" else values for key, (kind, values) in made.items()}, open_


@pytest.mark.parametrize("engine", ["deduplicate", "sequence", "partial-update"])
def test_rows_by_key(engine):
    given = pa.table({"X": [7, 8], "k": [2, 0], "s": [5, 5], "y": [7, 8]})
    assert resolved(engine, given) == ({0: (5, 8, 8), 2: (5, 7, 7)}, [1])


def test_a_key_that_goes_needs_no_more_than_itself():
    assert resolved("deduplicate", pa.table({"k": [1], KIND: ["-D"]})) == ({1: "tombstone"}, [0, 2])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"k": [1, 1], "s": [1, 1], "x": [1, 1], "y": [1, 1]}, Refused, "^key k = 1 of table .* is resolved twice"),
        ({"k": [9], "s": [1], "x": [1], "y": [1]}, Refused, "^key k = 9 of table .* is not in conflict: resol"),
        (
            {"k": [9, 1, 8], "s": [1] * 3, "x": [1] * 3, "y": [1] * 3},
            Refused,
            "^key k = 8 .* conflict, nor is 1 other:",
        ),
        ({"k": [1], "s": [1], "x": [1]}, DataError, "must say every column: 'y' is missing"),
        ({"s": [1], "x": [1], "y": [1]}, DataError, "must say every column: 'k' is missing"),
        ({"k": [1], "s": [1], "x": [1], "y": [1], KIND: ["?"]}, KindRefused, "'-D'"),
    ],
)
def test_what_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        resolved("deduplicate", pa.table(given))


def test_a_row_that_its_sequence_would_hide_is_refused():
    with pytest.raises(Refused, match="smaller sequence"):
        resolved("sequence", pa.table({"k": [1], "s": [1], "x": [1], "y": [1]}))
