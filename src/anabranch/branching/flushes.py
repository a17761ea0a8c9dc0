"""Flush lists of a keyed table, merged three ways: pure, by slots alone.

A state is an ordered list of flushes, and of two records of one key the later flush's is newer. What theirs added
since the base and ours lacks is placed after ours', in theirs' order; what theirs removed is removed. Where ours did
not move, theirs' list is taken as it is, its order included.

A side *touched* the flushes that it added, removed or brought into another order. Only keys in flushes that both sides
touched can be contested; everything else follows from the lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

Slots = tuple[int, ...]


@dataclass(frozen=True)
class FlushMerge:
    """`order`: the merged list. `bases`: each base's with what both heads have alike.

    `ours`, `theirs`: the flushes that each side touched; `added_…`: of these, what it added. `displaced`: flushes of
    theirs that come after some which they precede there; `reordered`: these, and what a side has in another order than
    the base. `disputed`: flushes on which bases disagree, and heads too.
    """

    order: Slots
    bases: tuple[Slots, ...]
    ours: frozenset[int]
    theirs: frozenset[int]
    added_ours: frozenset[int]
    added_theirs: frozenset[int]
    displaced: frozenset[int] = frozenset()
    reordered: frozenset[int] = frozenset()
    disputed: frozenset[int] = frozenset()


def merge_flushes(
    bases: Sequence[Sequence[int]], ours: Sequence[int], theirs: Sequence[int], overwritten: Collection[int] = ()
) -> FlushMerge:
    """`overwritten`: flushes that lie in a scope which theirs overwrote; what ours did to them does not count."""
    mine, other = set(ours), set(theirs)
    common = set.intersection(*map(set, bases))
    alike = tuple(_with_alike(base, mine, other, theirs) for base in bases)
    added_theirs = [slot for slot in theirs if slot not in mine and slot not in common]
    added_ours = mine - other - common - set(overwritten)
    removed = (common & mine) - other
    moved_here, moved_there = (_out_of_order(alike, head) for head in (ours, theirs))
    their_touch = {*added_theirs, *removed, *moved_there}
    our_touch = {*added_ours, *((common & other) - mine), *moved_here} - set(overwritten)
    if len(bases) == 1 and tuple(ours) == tuple(bases[0]):
        order = tuple(theirs)
    else:
        kept = [slot for slot in ours if slot not in removed and (slot in other or slot not in overwritten)]
        order = (*kept, *added_theirs)
    disputed = {slot for base in bases for slot in base if slot not in common and (slot in mine) != (slot in other)}
    elsewhere = displaced(order, theirs)
    return FlushMerge(
        order,
        alike,
        frozenset(our_touch),
        frozenset(their_touch),
        frozenset(added_ours),
        frozenset(added_theirs),
        frozenset(elsewhere),
        frozenset(elsewhere | moved_here | moved_there),
        frozenset(disputed - set(overwritten)),
    )


def _with_alike(base: Sequence[int], mine: set[int], other: set[int], theirs: Sequence[int]) -> Slots:
    """The base as if what both heads have done alike had been done before."""
    had = set(base)
    kept = (slot for slot in base if slot in mine or slot in other)
    return (*kept, *(slot for slot in theirs if slot in mine and slot not in had))


def _out_of_order(bases: Iterable[Sequence[int]], head: Sequence[int]) -> set[int]:
    return set().union(*(displaced(base, head) for base in bases))


def displaced(reference: Sequence[int], order: Sequence[int]) -> set[int]:
    """Slots that `reference` has after one which follows them in `order`. Every pair that the two order differently has
    one of them."""
    place = {slot: at for at, slot in enumerate(reference)}
    found = set()
    first = len(place)
    for slot in reversed(order):
        at = place.get(slot)
        if at is not None:
            if at > first:
                found.add(slot)
            first = min(first, at)
    return found
