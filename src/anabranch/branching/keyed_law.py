r"""The keyed law: what becomes of a key that both sides touched. Pure and vectorised over keys.

| engine | a key changed on both sides |
|---|---|
| deduplicate | same resulting row, or both deleted: fine. Else conflict |
| deduplicate with `sequence.field` | the larger sequence wins; equal sequence and different rows: conflict |
| partial-update | by column; a group by its sequence; delete against any change: conflict |
| aggregation | functions that commute combine; maps by entry; others conflict if both changed them |
| first-row | ours stays |

A side whose row, or field, equals the base's did not change it, and then the other side's stands. A field that
commutes has the value that the merged flushes reduce to, unless one side fixed it (a set row, a removed key): then it
is compared like any other. What is decided is written only where the merged flushes would say something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.branching.keyed_contest import Contest
from anabranch.branching.keyed_maps import merge_maps
from anabranch.branching.settle import unequal
from anabranch.engines.codes import ranks
from anabranch.engines.feed import Mask
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.spec import SequenceGroup
from anabranch.keyed.sequences import later

Sides = npt.NDArray[np.str_]
"""For each key the side that takes what conflicts, or ''."""


@dataclass(frozen=True)
class Verdict:
    """What stands after the merge: `present` keys with these `fields`. `clash`: keys in conflict that nothing settled;
    `clashing`: the columns of which that is so, none for a key whose whole row is in conflict."""

    present: Mask
    fields: Mapping[str, pa.Array]
    clash: Mask
    clashing: Mapping[str, Mask] = field(default_factory=dict)


def decide(contest: Contest, choice: Sides) -> Verdict:
    """By the table's engine; what conflicts goes to the side that was chosen for the key."""
    return _ENGINES[contest.spec.engine](contest, choice)


@dataclass(frozen=True)
class Given:
    """Rows that the user gave for some keys: `known` keys have one, or are `deleted`."""

    known: Mask
    deleted: Mask
    fields: Mapping[str, pa.Array]


def with_given(verdict: Verdict, given: Given) -> Verdict:
    """What conflicts has the rows that were given for it."""
    takes = verdict.clash & given.known
    fields = {name: _where(takes, given.fields[name], values) for name, values in verdict.fields.items()}
    present = np.where(takes, ~given.deleted, verdict.present)
    return Verdict(present, fields, verdict.clash & ~takes, verdict.clashing)


@dataclass(frozen=True)
class _Changes:
    """Which keys each side changed as a whole; where bases disagree, both did. `apart`: of which they disagree whether
    the key is there at all."""

    ours: Mask
    theirs: Mask
    differ: Mask
    apart: Mask

    @staticmethod
    def of(contest: Contest) -> _Changes:
        names, first = contest.spec.fields, contest.bases[0]
        disagree, apart = (np.zeros(len(contest), dtype=bool) for _ in range(2))
        for other in contest.bases[1:]:
            disagree |= first.differs(other, names)
            apart |= first.present != other.present
        ours, theirs = (first.differs(side, names) | disagree for side in (contest.ours, contest.theirs))
        return _Changes(ours, theirs, contest.ours.differs(contest.theirs, names), apart)


# --- engines that keep whole rows -------------------------------------------------------------------------------------


def _deduplicate(contest: Contest, choice: Sides) -> Verdict:
    changes = _Changes.of(contest)
    takes = changes.differ & changes.theirs & ~changes.ours
    clash = changes.differ & changes.theirs & changes.ours
    if contest.spec.sequence:
        mine, other = contest.ours.sequence, contest.theirs.sequence
        ahead, behind = later(other, mine), later(mine, other)
        takes |= clash & ahead
        clash &= ~(ahead | behind)
    takes, clash = takes & ~contest.discarded, clash & ~contest.discarded
    takes |= clash & (choice == "theirs")
    present = np.where(takes, contest.theirs.present, contest.ours.present)
    merged = np.zeros(len(contest), dtype=bool)
    if contest.spec.sequence:
        # A row stands where its sequence puts it: one that is behind what is there cannot be decided for.
        above = [later(contest.merged.sequence, side.sequence) for side in (contest.ours, contest.theirs)]
        merged = np.where(takes, above[1], above[0]) & present
        present = np.where(merged, contest.merged.present, present)
    fields = {
        name: _where(merged, contest.merged.column(name), _picked(contest, takes, name)) for name in contest.spec.fields
    }
    return Verdict(present, fields, clash & (choice == "") & ~merged)


def _first_row(contest: Contest, choice: Sides) -> Verdict:
    changes = _Changes.of(contest)
    takes = changes.theirs & ~changes.ours & ~contest.discarded
    present = np.where(takes, contest.theirs.present, contest.ours.present)
    fields = {name: _picked(contest, takes, name) for name in contest.spec.fields}
    return Verdict(present, fields, np.zeros(len(contest), dtype=bool))


def _picked(contest: Contest, takes: Mask, name: str) -> pa.Array:
    return _where(takes, contest.theirs.column(name), contest.ours.column(name))


# --- engines that combine ---------------------------------------------------------------------------------------------


def _by_field(contest: Contest, choice: Sides) -> Verdict:
    """A key that one side deleted is settled as a whole, every other one field by field."""
    changes = _Changes.of(contest)
    here, there, was = contest.ours.present, contest.theirs.present, contest.bases[0].present
    deleted_here, deleted_there = was & ~here, was & ~there
    clash = (deleted_here & there & changes.theirs) | (deleted_there & here & changes.ours)
    clash = (clash | (changes.apart & (here != there))) & ~contest.discarded
    takes = deleted_there & here & ~changes.ours & ~contest.discarded
    takes |= clash & (choice == "theirs")
    nobody = ~here & ~there
    whole = clash | takes | (deleted_here & there) | contest.discarded | (nobody & contest.removed)
    present = np.where(whole, np.where(takes, there, here), np.where(nobody, contest.merged.present, True))
    fields: dict[str, pa.Array] = {}
    clashing: dict[str, Mask] = {}
    for name, settled in _settled(contest, choice).items():
        fields[name] = _where(whole, _picked(contest, takes, name), settled.values)
        clashing[name] = settled.clash & ~whole & (choice == "")
    conflicts = clash & (choice == "")
    for found in clashing.values():
        conflicts = conflicts | found
    return Verdict(present, fields, conflicts, {name: found for name, found in clashing.items() if found.any()})


@dataclass(frozen=True)
class _Settled:
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

    def compared(self, choice: Sides) -> _Settled:
        """Theirs' value if theirs changed it; two changes conflict unless they are equal."""
        takes = (self.there & ~self.here) | (self.both & (choice == "theirs"))
        return _Settled(_where(takes, self.theirs, self.ours), self.both)

    def governed(self, tied: Mask, choice: Sides) -> _Settled:
        """Two changes are what the records reduce to, in an order that is not of arrival; a tie conflicts."""
        settled = self.compared(choice)
        ordered = self.both & ~tied
        return _Settled(_where(ordered, self.merged, settled.values), self.both & tied)


def _settled(contest: Contest, choice: Sides) -> dict[str, _Settled]:
    spec = contest.spec
    found: dict[str, _Settled] = {}
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
            found[name] = _Settled(values.merged, np.zeros(len(contest), dtype=bool))
        elif rule is not None and FUNCTIONS[rule.function].commutes:
            found[name] = _commuting(contest, name, values, choice)
        elif rule is not None and rule.function == "merge_map":
            found[name] = _maps(values, choice)
        elif name in grouped:
            found[name] = values.governed(grouped[name], choice)
        elif spec.sequence:
            found[name] = values.governed(even, choice)
        else:
            found[name] = values.compared(choice)
    return found


def _commuting(contest: Contest, name: str, values: _Field, choice: Sides) -> _Settled:
    fixed = contest.fixed[name]
    if not fixed.any():
        return _Settled(values.merged, fixed)
    compared = values.compared(choice)
    return _Settled(_where(fixed, compared.values, values.merged), compared.clash & fixed)


def _maps(values: _Field, choice: Sides) -> _Settled:
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
    return _Settled(pa.concat_arrays([settled.values, merged.values]).take(pa.array(source)), clash)


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


def _group(contest: Contest, group: SequenceGroup, order: _Order, choice: Sides) -> dict[str, _Settled]:
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
        name: _Settled(_where(takes, value.theirs, value.ours), clash & unequal(value.ours, value.theirs))
        for name, value in values.items()
    }


def _where(mask: Mask, yes: pa.Array, no: pa.Array) -> pa.Array:
    """Of any type: nested values, too."""
    if not mask.any():
        return no
    if mask.all():
        return yes
    at = np.arange(len(mask))
    return pa.concat_arrays([yes, no]).take(pa.array(np.where(mask, at, at + len(mask))))


_ENGINES: dict[str, Callable[[Contest, Sides], Verdict]] = {
    "deduplicate": _deduplicate,
    "first-row": _first_row,
    "partial-update": _by_field,
    "aggregation": _by_field,
}
