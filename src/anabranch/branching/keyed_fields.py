"""The keyed law field by field, for engines that combine: who changed a field, and what becomes of two changes.

A field follows the first of these that holds: it orders records, it commutes, its maps merge by entry, its sequence
group or the table's sequence decides; else two changes conflict unless they are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.branching.equality import unequal
from anabranch.branching.keyed_contest import Contest
from anabranch.branching.keyed_maps import merge_maps
from anabranch.branching.keyed_rows import where
from anabranch.engines.codes import ranks
from anabranch.engines.feed import Mask
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.spec import SequenceGroup
from anabranch.keyed.sequences import later

Sides = npt.NDArray[np.str_]
"""For each key the side that takes what conflicts, or ''."""


@dataclass(frozen=True)
class Settled:
    values: pa.Array
    clash: Mask


@dataclass(frozen=True)
class _Field:
    """One field on all sides, and who changed it."""

    base: pa.Array
    ours: pa.Array
    theirs: pa.Array
    merged: pa.Array
    here: Mask
    there: Mask
    both: Mask

    @staticmethod
    def of(contest: Contest, name: str) -> _Field:
        sides = (contest.bases[0], contest.ours, contest.theirs, contest.merged)
        base, ours, theirs, merged = (side.column(name) for side in sides)
        here, there = unequal(base, ours), unequal(base, theirs)
        for other in contest.bases[1:]:
            disagree = unequal(base, other.column(name))
            here, there = here | disagree, there | disagree
        return _Field(base, ours, theirs, merged, here, there, here & there & unequal(ours, theirs))

    def compared(self, choice: Sides) -> Settled:
        """Theirs' value if theirs changed it; two changes conflict unless they are equal."""
        takes = (self.there & ~self.here) | (self.both & (choice == "theirs"))
        return Settled(where(takes, self.theirs, self.ours), self.both)

    def governed(self, tied: Mask, choice: Sides) -> Settled:
        """Two changes are what the records reduce to, if not by arrival: where they are `tied`, they conflict."""
        settled = self.compared(choice)
        ordered = self.both & ~tied
        return Settled(where(ordered, self.merged, settled.values), self.both & tied)


def settled_fields(contest: Contest, choice: Sides) -> dict[str, Settled]:
    spec = contest.spec
    found: dict[str, Settled] = {}
    grouped: dict[str, Mask] = {}
    for group in spec.groups:
        tied = _tied(contest, group)
        found |= _group(contest, group, tied, choice)
        grouped |= dict.fromkeys(group.fields, ~(tied.ours | tied.theirs))
    if spec.sequence:
        mine, other = contest.ours.sequence, contest.theirs.sequence
        even = ~(later(mine, other) | later(other, mine))
    for name in spec.fields:
        if name in found:
            continue
        values = _Field.of(contest, name)
        rule = spec.rules.get(name)
        if name in spec.sequence:
            found[name] = Settled(values.merged, np.zeros(len(contest), dtype=bool))
        elif rule is not None and FUNCTIONS[rule.function].commutes:
            found[name] = _commuting(contest, name, values, choice)
        elif rule is not None and rule.function == "merge_map":
            found[name] = _maps(values, choice)
        elif name in grouped:
            found[name] = values.governed(grouped[name] | contest.fixed[name], choice)
        elif spec.sequence:
            found[name] = values.governed(even | contest.fixed[name], choice)
        else:
            found[name] = values.compared(choice)
    return found


def _commuting(contest: Contest, name: str, values: _Field, choice: Sides) -> Settled:
    fixed = contest.fixed[name]
    if not fixed.any():
        return Settled(values.merged, fixed)
    compared = values.compared(choice)
    return Settled(where(fixed, compared.values, values.merged), compared.clash & fixed)


def _maps(values: _Field, choice: Sides) -> Settled:
    settled = values.compared(choice)
    places = np.flatnonzero(values.both)
    if not len(places):
        return settled
    some = pa.array(places)
    merged = merge_maps(values.base.take(some), values.ours.take(some), values.theirs.take(some))
    clash = np.zeros(len(values.both), dtype=bool)
    clash[places[merged.clash]] = True
    joined = np.full(len(clash), -1, np.int64)
    joined[places[~merged.clash]] = np.flatnonzero(~merged.clash)
    source = np.where(joined >= 0, joined + len(clash), np.arange(len(clash)))
    return Settled(pa.concat_arrays([settled.values, merged.values]).take(pa.array(source)), clash)


@dataclass(frozen=True)
class _Order:
    """Where the sequences of a group are larger."""

    ours: Mask
    theirs: Mask


def _tied(contest: Contest, group: SequenceGroup) -> _Order:
    count = len(contest)
    columns = [pa.concat_arrays([contest.ours.column(n), contest.theirs.column(n)]) for n in group.sequence]
    rank = ranks(columns)
    return _Order(rank[:count] > rank[count:], rank[:count] < rank[count:])


def _group(contest: Contest, group: SequenceGroup, order: _Order, choice: Sides) -> dict[str, Settled]:
    """The group's sequence and plain fields go together: two changes to the larger sequence, a tie conflicts."""
    plain = [name for name in (*group.sequence, *group.fields) if name not in contest.spec.rules]
    values = {name: _Field.of(contest, name) for name in plain}
    here, there, differ = (np.zeros(len(contest), dtype=bool) for _ in range(3))
    for value in values.values():
        here, there = here | value.here, there | value.there
        differ = differ | unequal(value.ours, value.theirs)
    both = here & there & differ
    clash = both & ~(order.ours | order.theirs)
    takes = (there & ~here) | (both & order.theirs) | (clash & (choice == "theirs"))
    return {
        name: Settled(where(takes, value.theirs, value.ours), clash & unequal(value.ours, value.theirs))
        for name, value in values.items()
    }
