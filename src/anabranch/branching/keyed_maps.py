"""Maps that both sides changed, merged entry by entry: an entry that both changed, and not alike, conflicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.equality import unequal
from anabranch.engines.codes import identities
from anabranch.engines.feed import Mask, Picks, gather


@dataclass(frozen=True)
class MergedMaps:
    """`values`: what each side alone changed, and theirs' value where both did. `clash`: rows where they disagree."""

    values: pa.Array
    clash: Mask


def merge_maps(base: pa.Array, ours: pa.Array, theirs: pa.Array) -> MergedMaps:
    """Row by row."""
    sides = [_entries(side) for side in (base, ours, theirs)]
    keys = pa.concat_arrays([side.keys for side in sides])
    names = identities(keys)
    width = int(names.max(initial=0)) + 2
    owner = np.concatenate([side.owner for side in sides])
    entries, first, number = np.unique(owner * width + names + 1, return_index=True, return_inverse=True)
    cuts = np.cumsum([len(side.keys) for side in sides])[:-1]
    before, mine, other = (
        _Side.of(side.items, at, len(entries)) for side, at in zip(sides, np.split(number, cuts), strict=True)
    )
    moved_here, moved_there, apart = before.unlike(mine), before.unlike(other), mine.unlike(other)
    row = owner[first]
    clash = np.zeros(len(base), dtype=bool)
    clash[row[moved_here & moved_there & apart]] = True
    place = np.where(moved_there, np.where(other.place >= 0, other.place + cuts[1], -1), mine.place + cuts[0])
    stays = np.where(moved_there, other.place >= 0, mine.place >= 0)
    items = pa.concat_arrays([side.items for side in sides])
    counts = np.bincount(row[stays], minlength=len(base))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    empty = (counts == 0) & ~(_valid(ours) & _valid(theirs))
    chosen = pa.array(place[stays])
    merged = pa.MapArray.from_arrays(
        pa.array(offsets), keys.take(pa.array(first[stays])), items.take(chosen), type=ours.type, mask=pa.array(empty)
    )
    return MergedMaps(merged, clash)


@dataclass(frozen=True)
class _Entries:
    owner: Picks
    keys: pa.Array
    items: pa.Array


def _entries(maps: pa.Array) -> _Entries:
    type_ = maps.type
    pairs = maps.cast(pa.list_(pa.struct([("key", type_.key_type), ("value", type_.item_type)])))
    flat = pairs.flatten()
    return _Entries(pc.list_parent_indices(pairs).to_numpy(), flat.field(0), flat.field(1))


@dataclass(frozen=True)
class _Side:
    """Where a side has each entry, -1 where it lacks it."""

    items: pa.Array
    place: Picks

    @staticmethod
    def of(items: pa.Array, number: Picks, count: int) -> _Side:
        place = np.full(count, -1, np.int64)
        place[number] = np.arange(len(number))
        return _Side(items, place)

    def unlike(self, other: _Side) -> Mask:
        values = unequal(gather(self.items, self.place), gather(other.items, other.place))
        return np.asarray(values | ((self.place < 0) != (other.place < 0)))


def _valid(array: pa.Array) -> Mask:
    found: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return found
