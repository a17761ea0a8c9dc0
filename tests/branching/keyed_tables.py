"""Histories of flushes in plain Python, merged as a command would: without files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.branching.decided import decided_rows
from anabranch.branching.flushes import FlushMerge, merge_flushes
from anabranch.branching.keyed_contest import contest_of, with_returning
from anabranch.branching.keyed_law import decide
from anabranch.branching.keyed_rows import Records
from anabranch.engines import KIND, SETS, EngineSpec, engine_spec
from anabranch.engines.kinds import NAMES
from anabranch.model import types
from anabranch.model.conflict import Choice
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import to_arrow

KEYS = range(3)
Flush = Mapping[int, tuple[Any, ...]]
"""Key -> kind, values and, of a set row that has more values than it sets, the fields that it sets."""


def spec_of(options: Mapping[str, str], **kinds: Any) -> EngineSpec:
    columns = [Column(name, kinds.get(name, types.INT), name) for name in ("k", "s", "x", "y")]
    return engine_spec(Schema(1, tuple(columns), ("k",)), options)


class History:
    """Flushes by name, and the lists that name them."""

    def __init__(self, options: Mapping[str, str], flushes: Mapping[str, Flush], **kinds: Any) -> None:
        self.spec = spec_of(options, **kinds)
        self.kinds = {name: to_arrow(kinds.get(name, types.INT)) for name in self.spec.fields}
        self.flushes = flushes
        self.slots = {name: slot for slot, name in enumerate(flushes)}

    def records(self, flushes: Mapping[int, Flush]) -> Records:
        found = [(slot, key, *record) for slot, flush in flushes.items() for key, record in flush.items()]
        columns: dict[str, Any] = {"k": pa.array([key for _, key, *_ in found], pa.int32())}
        for name in self.spec.fields:
            columns[name] = pa.array([values.get(name) for _, _, _, values, *_ in found], self.kinds[name])
        columns[KIND] = pa.array([NAMES.index(kind) for _, _, kind, *_ in found], pa.int8())
        sets = [list(rest[-1]) if kind == "=" else None for _, _, kind, *rest in found]
        columns[SETS] = pa.array(sets, pa.list_(pa.string()))
        slots = np.array([slot for slot, *_ in found], np.int64)
        owner = np.array([key for _, key, *_ in found], np.int64)
        return Records(len(KEYS), pa.table(columns), owner, slots, self.spec)

    def merge(
        self,
        bases: Sequence[str],
        ours: str,
        theirs: str,
        choice: str = "",
        overwritten: str = "",
        returning: Mapping[str, Choice] | None = None,
    ) -> Mapping[int, Any]:
        """Key -> its row after the merge, None, or 'conflict'. With columns that return all keys are looked at."""
        lists = [self._list(text) for text in (ours, theirs)]
        flushes = merge_flushes([self._list(base) for base in bases], *lists)
        every = {self.slots[name]: flush for name, flush in self.flushes.items()}
        records = self.records(every)
        contest = with_returning(contest_of(records, flushes, *lists, self._list(overwritten)), returning or {})
        verdict = decide(contest, np.full(len(KEYS), choice))
        clash = verdict.clash.copy()
        contested = set(KEYS) if returning else self.contested(flushes)
        rows = decided_rows(pa.table({"k": pa.array(KEYS, pa.int32())}), verdict, contest.merged, self.spec)
        placed = {row["k"]: _record(row, self.spec) for row in rows.to_pylist() if row["k"] in contested}
        last = len(every)
        after = self.records({**every, last: placed}).standing((*flushes.order, last))
        shown = after.rows.to_pylist()
        return {
            key: "conflict" if clash[key] and key in contested else shown[key] if after.present[key] else None
            for key in KEYS
        }

    def contested(self, flushes: FlushMerge) -> set[int]:
        def keys(slots: frozenset[int]) -> set[int]:
            return {key for name, flush in self.flushes.items() if self.slots[name] in slots for key in flush}

        return (keys(flushes.ours) & keys(flushes.theirs)) | keys(flushes.displaced) | keys(flushes.disputed)

    def _list(self, text: str) -> tuple[int, ...]:
        return tuple(self.slots[name] for name in text)


def _record(row: Mapping[str, Any], spec: EngineSpec) -> tuple[Any, ...]:
    """A decided row has all values, since its sequence counts even where it is not set."""
    return NAMES[row[KIND]], {name: row[name] for name in spec.fields}, row[SETS]
