"""Decided rows: what a merge writes for contested keys, so that reading the merged flushes gives what was decided.

A key that must not be there gets a tombstone; a field that must have another value than the flushes reduce to is set by
a row `=`. Engines that keep whole rows get whole rows. Where nothing differs nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.equality import unequal
from anabranch.branching.keyed_law import Verdict
from anabranch.branching.keyed_rows import Standing
from anabranch.engines import KIND, SETS, EngineSpec
from anabranch.engines.codes import whole
from anabranch.engines.feed import Mask
from anabranch.engines.kinds import SET, TOMBSTONE, UPDATE_AFTER


def decided_rows(keys: pa.Table, verdict: Verdict, merged: Standing, spec: EngineSpec) -> pa.Table:
    """By physical names, with `_kind` and `_sets`; in the order of `keys`."""
    setting = {}
    differs = verdict.present & ~merged.present
    for name in spec.fields:
        other = unequal(verdict.fields[name], merged.column(name)) & verdict.present
        setting[name] = other | (verdict.present & ~merged.present)
        differs = differs | other
    removed = merged.present & ~verdict.present
    places = np.flatnonzero(differs | removed)
    at = pa.array(places, pa.int64())
    columns = {name: keys[name].take(at) for name in spec.key}
    for name in spec.fields:
        values = verdict.fields[name]
        if name in spec.sequence and (spec.engine != "deduplicate" or removed.any()):
            # What decides comes last, so it has the sequence of what would be last without it.
            values = _last(merged, name, values, removed if spec.engine == "deduplicate" else None)
        columns[name] = values.take(at)
        if spec.engine != "deduplicate" and name not in spec.sequence:  # a row `=` holds what it sets and nothing else
            columns[name] = pc.if_else(pa.array(setting[name][places]), columns[name], pa.scalar(None, values.type))
    kind = np.full(len(places), UPDATE_AFTER if spec.engine == "deduplicate" else SET, np.int8)
    kind[removed[places]] = TOMBSTONE
    sets = _lists(spec.fields, [setting[name][places] for name in spec.fields], kind == SET)
    return pa.table({**columns, KIND: pa.array(kind), SETS: sets})


def _last(merged: Standing, name: str, values: pa.Array, where: Mask | None) -> pa.Array:
    last = whole(merged.last[name])
    chosen = last.is_valid() if where is None else pa.array(where)
    taken: Mask = chosen.to_numpy(zero_copy_only=False)
    at = np.arange(len(taken))
    return pa.concat_arrays([last, values]).take(pa.array(np.where(taken, at, at + len(taken))))


def _lists(names: Sequence[str], chosen: Sequence[Mask], holds: Mask) -> pa.Array:
    """The names that each row has, of those rows that hold a list."""
    table = np.stack(chosen, axis=1) & holds[:, None] if chosen else np.zeros((len(holds), 0), dtype=bool)
    offsets = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int32)
    values = pa.array(names, pa.string()).take(pa.array(np.nonzero(table)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~holds))
