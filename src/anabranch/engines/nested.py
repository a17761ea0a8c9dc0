"""Functions over arrays and maps: collect, merge_map, nested_update, nested_partial_update.

The elements of all rows are laid end to end, each with its segment, and an *identity*: the element itself, its map key,
or its nested key. What stands in the end follows from the order of events of one identity in one segment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.codes import identities, ranks
from anabranch.engines.feed import Feed, FieldRule, Mask, Numbers, Picks, runs, validity


@dataclass(frozen=True)
class _Elements:
    """The elements of a feed's rows as they count; `taken` elements take back, and come when they came.

    `thing` numbers the pairs of segment and identity; `time` is when the element's row arrived.
    """

    values: pa.Array
    owner: Picks
    thing: Picks
    taken: Mask
    time: Picks

    @property
    def things(self) -> int:
        return int(self.thing.max(initial=-1)) + 1

    def latest(self, chosen: Mask) -> Picks:
        """For each thing the arrival of the last of these elements; -1 without any."""
        found = np.full(self.things, -1, dtype=np.int64)
        np.maximum.at(found, self.thing[chosen], self.time[chosen])
        return found

    def standing(self) -> Mask:
        """Adds that came after the last time their thing was taken back."""
        if not self.taken.any():
            return np.ones(len(self.thing), dtype=bool)
        return ~self.taken & (self.time > self.latest(self.taken)[self.thing])


def collect(feed: Feed) -> pa.Array:
    """All elements, or with `distinct` each once; a retract removes one occurrence of each of its elements."""
    elements = _elements(feed, identities)
    if feed.rule.distinct:
        kept = _firsts(elements, elements.standing())
    elif elements.taken.any():
        kept = _unreturned(elements)
    else:
        kept = np.ones(len(elements.thing), dtype=bool)
    return _lists(feed, elements.values, elements.owner, kept)


def merge_map(feed: Feed) -> pa.Array:
    """One map, later values over earlier ones; a retract removes its keys."""
    elements = _elements(feed, lambda entries: identities(pc.struct_field(entries, 0)))
    kept = _lasts(elements, elements.standing())
    return _lists(feed, elements.values, elements.owner, kept)


def nested_update(feed: Feed) -> pa.Array:
    """Rows of a nested table, replaced by key; without a key they are gathered, and a retract removes equal rows."""
    rule = feed.rule
    elements = _elements(feed, lambda structs: _nested_identity(structs, rule), nulls=False)
    kept = elements.standing()
    if rule.nested_key:
        first = _firsts(elements, kept)
        kept = _limited(feed, elements, first, rule)[elements.thing] & kept
        if rule.nested_sequence:
            kept = _greatest(elements, kept, rule.nested_sequence)
        kept = _lasts(elements, kept)
    elif rule.count_limit is not None:
        position = np.cumsum(kept)
        kept &= position - _before(position, kept, elements.owner) <= rule.count_limit
    return _lists(feed, elements.values, elements.owner, kept)


def nested_partial_update(feed: Feed) -> pa.Array:
    """Rows of a nested table by key, of which each field has its last non-null value."""
    elements = _elements(feed, lambda structs: _nested_identity(structs, feed.rule), nulls=False)
    kept = _firsts(elements, elements.standing())
    order = np.flatnonzero(kept)
    fields = []
    for child in elements.values.flatten():
        last = np.full(elements.things, -1, dtype=np.int64)
        filled = np.flatnonzero(validity(child))
        last[elements.thing[filled]] = filled
        found = last[elements.thing[order]]
        fields.append(child.take(pa.array(np.maximum(found, 0), mask=found < 0)))
    merged = pa.StructArray.from_arrays(fields, fields=list(elements.values.type))
    return _lists(feed, merged, elements.owner[order], np.ones(len(order), dtype=bool))


def _elements(feed: Feed, identity: Callable[[pa.Array], Picks], *, nulls: bool = True) -> _Elements:
    rows = feed.ordered(feed.rows(retracts=True))
    lists = feed.values.take(pa.array(rows))
    if pa.types.is_map(lists.type):
        inner = pa.list_(pa.struct([pa.field("key", lists.type.key_type, nullable=False), lists.type.item_field]))
        lists = lists.cast(inner)
    values = lists.flatten()
    source = rows[pc.list_parent_indices(lists).to_numpy()]
    if not nulls and values.null_count:
        present = validity(values)
        values, source = values.filter(pa.array(present)), source[present]
    owner = feed.owner[source]
    code = identity(values)
    code = code - code.min(initial=0)
    thing = np.unique(owner * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1].astype(np.int64)
    taken = np.zeros(len(source), dtype=bool) if feed.retract is None else feed.retract[source]
    return _Elements(values, owner, thing, taken, source)


def _nested_identity(structs: pa.Array, rule: FieldRule) -> Picks:
    if not rule.nested_key:
        return identities(structs)
    key = [pc.struct_field(structs, name) for name in rule.nested_key]
    return identities(pa.StructArray.from_arrays(key, names=list(rule.nested_key)))


def _firsts(elements: _Elements, chosen: Mask) -> Mask:
    """Of these elements the first of each thing."""
    return _ends(elements, np.flatnonzero(chosen)[::-1])


def _lasts(elements: _Elements, chosen: Mask) -> Mask:
    return _ends(elements, np.flatnonzero(chosen))


def _ends(elements: _Elements, places: Picks) -> Mask:
    end = np.full(elements.things, -1, dtype=np.int64)
    end[elements.thing[places]] = places
    kept = np.zeros(len(elements.thing), dtype=bool)
    kept[end[end >= 0]] = True
    return kept


def _unreturned(elements: _Elements) -> Mask:
    """Adds that no retract removed. A retract of what is not there removes nothing, so the balance of a thing never
    falls below 0; the earliest are removed first, so as many of the last adds stand as the balance is in the end."""
    order = np.lexsort((elements.time, elements.thing))
    thing, step = elements.thing[order], np.where(elements.taken[order], -1, 1)
    starts = runs(thing)
    sizes = np.diff(np.append(starts, len(thing)))
    walk = np.cumsum(step)
    walk -= np.repeat(walk[starts] - step[starts], sizes)
    depth = np.minimum(np.minimum.reduceat(walk, starts), 0) if len(starts) else walk
    left = walk[np.cumsum(sizes) - 1] - depth
    adds = np.flatnonzero(step > 0)
    behind = np.zeros(len(thing), dtype=np.int64)  # adds of the thing from here on
    behind[adds] = 1
    behind = np.cumsum(behind[::-1])[::-1]
    after = np.append(behind, 0)[np.cumsum(sizes)]
    stands = (step > 0) & (behind - np.repeat(after, sizes) <= np.repeat(left, sizes))
    kept = np.zeros(len(thing), dtype=bool)
    kept[order] = stands
    return kept


def _limited(feed: Feed, elements: _Elements, first: Mask, rule: FieldRule) -> Mask:
    """Things that were among the first `count-limit` of their segment."""
    allowed = np.ones(elements.things, dtype=bool)
    if rule.count_limit is not None:
        places = np.flatnonzero(first)
        owner = elements.owner[places]
        starts = runs(owner)
        number = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
        allowed[elements.thing[places[number >= rule.count_limit]]] = False
    return allowed


def _greatest(elements: _Elements, chosen: Mask, sequence: tuple[str, ...]) -> Mask:
    """Of these elements those with the greatest sequence of their thing."""
    rank = ranks([pc.struct_field(elements.values, name) for name in sequence])
    rank = rank - rank.min(initial=0)
    best = np.full(elements.things, -1, dtype=np.int64)
    np.maximum.at(best, elements.thing[chosen], rank[chosen])
    return np.asarray(chosen & (rank == best[elements.thing]))


def _before(position: Numbers, chosen: Mask, owner: Picks) -> Numbers:
    """How many chosen elements stand before each element's segment."""
    starts = runs(owner)
    ahead = position[starts] - chosen[starts]
    found: Numbers = np.repeat(ahead, np.diff(np.append(starts, len(owner))))
    return found


def _lists(feed: Feed, values: pa.Array, owner: Picks, kept: Mask) -> pa.Array:
    """The kept elements as one list, or map, a segment; NULL where no row added a list."""
    places = np.flatnonzero(kept)
    offsets = np.searchsorted(owner[places], np.arange(feed.count + 1)).astype(np.int32)
    silent = ~feed.any(feed.rows())
    inside, type_ = values.take(pa.array(places)), feed.values.type
    if pa.types.is_map(type_):
        keys, items = inside.flatten()
        maps = pa.MapArray.from_arrays(pa.array(offsets, mask=np.append(silent, False)), keys, items)
        return maps.cast(type_) if maps.type != type_ else maps
    lists = pa.ListArray.from_arrays(pa.array(offsets), inside, mask=pa.array(silent))
    return lists.cast(type_) if lists.type != type_ else lists
