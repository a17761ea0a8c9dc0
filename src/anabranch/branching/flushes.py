"""Flush lists of a keyed table, merged three ways: pure, by slots alone.

A state is an ordered list of flushes, and of two records of one key the later flush's is newer. What theirs added
since the base and ours lacks is placed after ours', in theirs' order; what theirs removed is removed. Where ours did
not move, theirs' list is taken as it is, its order included.

A side *touched* the flushes that it added, removed or brought into another order. Only keys in flushes that both sides
touched can be contested; everything else follows from the lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Slots = tuple[int, ...]


@dataclass(frozen=True)
class FlushMerge:
    """`order`: the merged list. `bases`: each base's with what both heads have alike.

    `ours`, `theirs`: the flushes that each side touched; `added_…`: of these, what it added. `displaced`: flushes of
    theirs that come after some which they precede there; `reordered`: these, and what a side has in another order than
    the base. `disputed`: flushes on which bases disagree, and heads too. `crossed`: flushes that the heads have in
    another order, first those that ours has before others, then those that theirs has; none where theirs' order is
    every base's.

    `brought`: what each of `bases` has of the heads alone; `mirrored`: the bases with it in ours' order.
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
    crossed: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    brought: tuple[frozenset[int], ...] = ()
    mirrored: tuple[Slots, ...] = ()


def merge_flushes(
    bases: Sequence[Sequence[int]],
    ours: Sequence[int],
    theirs: Sequence[int],
    overwritten: Collection[int] = (),
    born: Collection[int] = (),
) -> FlushMerge:
    """`overwritten`: flushes that lie in a scope which theirs overwrote; what ours did to them does not count. `born`:
    those that both sides have had since the bases, and that count as if these had them."""
    mine, other, true = set(ours), set(theirs), bases
    later = dict.fromkeys([*(slot for slot in theirs if slot in born), *born])
    alike = tuple(_with_alike(base, later, ours, theirs) for base in bases)
    bases = [[*base, *later] for base in bases]
    common = set.intersection(*map(set, bases))
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
    brought = [frozenset(set(new).difference(base)) for new, base in zip(alike, true, strict=True)]
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
        crossed(true, ours, theirs),
        tuple(brought),
        tuple(_mirrored(base, new & other, ours) for base, new in zip(alike, brought, strict=True)),
    )


def crossed(
    bases: Sequence[Sequence[int]], ours: Sequence[int], theirs: Sequence[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Flushes that the heads have in another order, unless theirs has all of them as every base does."""
    found = frozenset(displaced(theirs, ours)), frozenset(displaced(ours, theirs))
    if all(found[0] | found[1] <= set(base) and not displaced(base, theirs) for base in bases):
        return frozenset(), frozenset()
    return found


def _with_alike(base: Sequence[int], born: Mapping[int, None], ours: Sequence[int], theirs: Sequence[int]) -> Slots:
    """The base as if what both heads have done alike had been done before, in theirs' order as far as it has it."""
    had, mine, other = set(base), set(ours), set(theirs)
    kept = (slot for slot in base if slot in mine or slot in other)
    later = (slot for slot in born if slot in mine and slot not in other)
    both = (slot for slot in theirs if slot in mine or slot in born)
    return (*kept, *(slot for slot in (*both, *later) if slot not in had))


def _mirrored(base: Slots, brought: Collection[int], ours: Sequence[int]) -> Slots:
    """The base with what it got of both heads in ours' order."""
    again = iter([slot for slot in ours if slot in brought])
    moved = set(ours).intersection(brought)
    return tuple(next(again) if slot in moved else slot for slot in base)


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
