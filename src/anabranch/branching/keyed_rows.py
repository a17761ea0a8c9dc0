"""Contested keys of a keyed table: all their records, and what a list of flushes makes of them.

Everything is aligned by key: place `i` of every mask and table here is the key of number `i`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.equality import unequal
from anabranch.engines import KIND, SETS, EngineSpec, Reach, reduce, segment_starts, sort_order
from anabranch.engines.codes import whole
from anabranch.engines.feed import Mask, Picks
from anabranch.engines.kinds import DELETE, SET, TOMBSTONE, retracting
from anabranch.keyed.sequences import Sequences, sequences

_OWNER = "_row_id"
"""Reserved, so no column of a user has this name."""


@dataclass(frozen=True)
class Standing:
    """What one list of flushes makes of the keys: `present` keys have a row, and `rows` is NULL where there is none.

    `recorded` keys have a record, even if it is one that takes the row away. `last` has the sequence fields of the
    record that came last in their order, deletes too.
    """

    present: Mask
    recorded: Mask
    rows: pa.Table
    last: pa.Table
    descending: bool = False

    def column(self, name: str) -> pa.Array:
        return whole(self.rows[name])

    @cached_property
    def sequence(self) -> Sequences:
        return sequences(self.last.columns, descending=self.descending)

    def replaced(self, masks: Mapping[str, Mask], keys: Mask, other: Standing) -> Standing:
        """With the other's values where the mask of their field holds; `keys` are there if the other has them."""
        columns = {name: where(mask, other.column(name), self.column(name)) for name, mask in masks.items()}
        return replace(self, present=np.where(keys, other.present, self.present), rows=pa.table(columns))

    def differs(self, other: Standing, names: Sequence[str]) -> Mask:
        """Keys that have a row in one of the two only, or another one."""
        found = self.present != other.present
        for name in names:
            found = found | unequal(self.column(name), other.column(name))
        return np.asarray(found)


@dataclass(frozen=True)
class Records:
    """All records of `count` keys: `owner` is the number of each one's key, `slot` the flush that it stands in.

    `rows` are by physical names, with `_kind` and `_sets` where some record has one.
    """

    count: int
    rows: pa.Table
    owner: Picks
    slot: Picks
    spec: EngineSpec

    def standing(self, order: Sequence[int], without: Mask | None = None) -> Standing:
        """`order`: the flushes that count, oldest first. `without`: records that do not."""
        spec = self.spec
        place = self._places(order)
        chosen = np.flatnonzero((place >= 0) if without is None else (place >= 0) & ~without)
        rows = self.rows.take(pa.array(chosen)).append_column(_OWNER, pa.array(self.owner[chosen]))
        rows = rows.take(pa.array(sort_order(rows, spec, age=place[chosen])))
        starts = segment_starts(rows, spec.key)
        found = reduce(rows, starts, spec, Reach.ALL).rows if len(rows) else rows
        ends = np.append(starts[1:], len(rows))[: len(starts)] - 1
        last = self._aligned(rows.take(pa.array(ends, pa.int64())), spec.sequence)
        aligned = self._aligned(found, spec.fields)
        present, recorded = (np.zeros(self.count, dtype=bool) for _ in range(2))
        present[found[_OWNER].to_numpy()] = True
        recorded[self.owner[chosen]] = True
        return Standing(present, recorded, aligned, last, spec.descending)

    def _places(self, order: Sequence[int]) -> Picks:
        """Where each record's flush stands in a list; -1: nowhere."""
        flushes = np.asarray(order, dtype=np.int64)
        by_slot = np.argsort(flushes)
        place = np.searchsorted(flushes, self.slot, sorter=by_slot)
        inside = place < len(flushes)
        inside[inside] = flushes[by_slot[place[inside]]] == self.slot[inside]
        found = np.full(len(place), -1, np.int64)
        found[inside] = by_slot[place[inside]]
        return found

    def crossed(self, ours: Sequence[int], theirs: Sequence[int]) -> Mask:
        """Records that the lists have in another order than one of the same key."""
        here, there = self._places(ours), self._places(theirs)
        both = np.flatnonzero((here >= 0) & (there >= 0))
        both = both[np.lexsort((here[both], self.owner[both]))]
        place = self.owner[both] * (len(theirs) + 1) + there[both]  # ascends from key to key
        behind = np.maximum.accumulate(place) > place
        ahead = np.minimum.accumulate(place[::-1])[::-1] < place
        found = np.zeros(len(here), dtype=bool)
        found[both[behind | ahead]] = True
        return found

    def _aligned(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        place = np.full(self.count, -1, np.int64)
        place[rows[_OWNER].to_numpy()] = np.arange(len(rows))
        return rows.select(list(names)).take(pa.array(place, mask=place < 0))

    @cached_property
    def keys(self) -> pa.Table:
        """The keys themselves, one row each."""
        first = np.full(self.count, -1, np.int64)
        first[self.owner[::-1]] = np.arange(len(self.owner))[::-1]
        return self.rows.select(list(self.spec.key)).take(pa.array(first))

    # --- what some flushes do to keys ---------------------------------------------------------------------------------

    def held_by(self, slots: Collection[int]) -> Mask:
        """Keys that have a record in one of these flushes."""
        return self._owners(np.isin(self.slot, list(slots)))

    def removed_by(self, slots: Collection[int]) -> Mask:
        """Keys that a record of these flushes removes, whatever was there."""
        if KIND not in self.rows.column_names:
            return np.zeros(self.count, dtype=bool)
        kinds = self.rows[KIND].to_numpy()
        removing = kinds == TOMBSTONE
        if self.spec.engine == "deduplicate":
            removing = removing | retracting(kinds)
        elif self.spec.remove_on_delete or self.spec.remove_on_groups:
            removing = removing | (kinds == DELETE)
        return self._owners(removing & np.isin(self.slot, list(slots)))

    def set_by(self, slots: Collection[int]) -> Mapping[str, Mask]:
        """Field -> keys of which a record of these flushes sets it, whatever was there."""
        if SETS not in self.rows.column_names:
            return {}
        here = (self.rows[KIND].to_numpy() == SET) & np.isin(self.slot, list(slots))
        if not here.any():
            return {}
        lists = whole(self.rows[SETS])
        names, parents = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
        found = {}
        for name in self.spec.fields:
            setting = np.zeros(len(here), dtype=bool)
            setting[parents[pc.equal(names, name).to_numpy(zero_copy_only=False)]] = True
            found[name] = self._owners(setting & here)
        return found

    def _owners(self, chosen: Mask) -> Mask:
        found = np.zeros(self.count, dtype=bool)
        found[self.owner[chosen]] = True
        return found


def where(mask: Mask, yes: pa.Array, no: pa.Array) -> pa.Array:
    """Of any type: nested values, too."""
    if not mask.any():
        return no
    if mask.all():
        return yes
    at = np.arange(len(mask))
    return pa.concat_arrays([yes, no]).take(pa.array(np.where(mask, at, at + len(mask))))
