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

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from anabranch.branching.keyed_contest import Contest
from anabranch.branching.keyed_fields import Sides, settled_fields
from anabranch.branching.keyed_rows import where
from anabranch.engines.feed import Mask, validity
from anabranch.keyed.sequences import later
from anabranch.model.conflict import Choice


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
    verdict = _ENGINES[contest.spec.engine](contest, choice)
    return _replaced(contest, verdict) if contest.replaced.any() else verdict


def _replaced(contest: Contest, verdict: Verdict) -> Verdict:
    """Theirs overwrote: what is there is theirs'."""
    mask, kept = contest.replaced, contest.kept
    fields = {name: where(mask, kept.column(name), values) for name, values in verdict.fields.items()}
    clashing = {name: found & ~mask for name, found in verdict.clashing.items()}
    return Verdict(np.where(mask, kept.present, verdict.present), fields, verdict.clash & ~mask, clashing)


@dataclass(frozen=True)
class Given:
    """Rows that the user gave for some keys: `known` keys have one, or are `deleted`."""

    known: Mask
    deleted: Mask
    fields: Mapping[str, pa.Array]


def with_given(verdict: Verdict, given: Given) -> Verdict:
    """What conflicts has the rows that were given for it."""
    takes = verdict.clash & given.known
    fields = {name: where(takes, given.fields[name], values) for name, values in verdict.fields.items()}
    present = np.where(takes, ~given.deleted, verdict.present)
    return Verdict(present, fields, verdict.clash & ~takes, verdict.clashing)


@dataclass(frozen=True)
class Lack:
    """Keys whose rows lack a field, and the side that it comes from."""

    side: Choice
    keys: Mask


def with_required(
    contest: Contest,
    verdict: Verdict,
    names: Iterable[str],
    firm: Collection[str],
    only: Mapping[str, Choice] = MappingProxyType({}),
) -> tuple[Verdict, dict[str, Lack]]:
    """What stands where these fields must not be NULL, and the fields that rows lack all the same. Of a `firm` field
    ours' rows stand instead, unless ours itself lacks it. `only`: fields that the rows of one side alone have."""
    lacking: dict[str, Lack] = {}
    for name in names:
        null = verdict.present & ~validity(verdict.fields[name])
        mine = null & contest.ours.present & ~validity(contest.ours.column(name))
        if name in only:
            null = _standing_null(contest, name, only[name]) & null
            mine = null if only[name] == "ours" else np.zeros_like(null)
        if name in firm and not mine.any():
            fields = {n: where(null, contest.ours.column(n), values) for n, values in verdict.fields.items()}
            present = np.where(null, contest.ours.present, verdict.present)
            verdict = Verdict(present, fields, verdict.clash, verdict.clashing)
        elif null.any():
            lacking[name] = Lack("ours" if mine.any() else "theirs", null)
    return verdict, lacking


def _standing_null(contest: Contest, name: str, whose: Choice) -> Mask:
    """Keys of which this side's row stands, and lacks the field."""
    side = contest.ours if whose == "ours" else contest.theirs
    null: Mask = side.present & ~validity(side.column(name))
    return null & ~_Changes.of(contest).theirs if whose == "ours" else null


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


def news(contest: Contest) -> Mask:
    """Keys that theirs changed, and shows otherwise than ours."""
    changes = _Changes.of(contest)
    return changes.theirs & changes.differ & ~contest.discarded


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
        name: where(merged, contest.merged.column(name), _picked(contest, takes, name)) for name in contest.spec.fields
    }
    return Verdict(present, fields, clash & (choice == "") & ~merged)


def _first_row(contest: Contest, choice: Sides) -> Verdict:
    changes = _Changes.of(contest)
    takes = changes.theirs & ~changes.ours & ~contest.discarded
    present = np.where(takes, contest.theirs.present, contest.ours.present)
    fields = {name: _picked(contest, takes, name) for name in contest.spec.fields}
    return Verdict(present, fields, np.zeros(len(contest), dtype=bool))


def _picked(contest: Contest, takes: Mask, name: str) -> pa.Array:
    return where(takes, contest.theirs.column(name), contest.ours.column(name))


# --- engines that combine ---------------------------------------------------------------------------------------------


def _by_field(contest: Contest, choice: Sides) -> Verdict:
    """A key that one side deleted is settled as a whole, every other one field by field."""
    changes = _Changes.of(contest)
    here, there, was = contest.ours.present, contest.theirs.present, contest.bases[0].present
    lacking = was & (here != there)
    settled = settled_fields(contest, choice)
    # Where nothing is ever deleted, a side without the row never had its flushes, or took them back: these say all,
    # unless they set fields of a row that is not there, or change what the other side took back.
    united = lacking & ~contest.removed & ~contest.discarded & (not _deletes(contest))
    for name, found in settled.items():
        united &= ~(contest.fixed[name] | found.clash)
    lacking &= ~united
    clash = (lacking & np.where(here, changes.ours, changes.theirs)) | (changes.apart & (here != there))
    clash &= ~contest.discarded & ~united
    takes = (lacking & ~clash & here & ~contest.discarded) | (clash & (choice == "theirs"))
    nobody = ~here & ~there
    whole = clash | lacking | contest.discarded | (nobody & (contest.removed | _deletes(contest)))
    combined = np.where(nobody | united, contest.merged.present, True)
    present = np.where(whole, np.where(takes, there, here), combined)
    fields: dict[str, pa.Array] = {}
    clashing: dict[str, Mask] = {}
    empty = ~whole & ~contest.merged.recorded
    for name, found in settled.items():
        decided = where(united, contest.merged.column(name), found.values)
        fields[name] = where(whole, _picked(contest, takes, name), decided)
        clashing[name] = found.clash & ~whole & ~united & (choice == "")
        empty = empty & ~validity(fields[name])
    conflicts = clash & (choice == "")
    for mask in clashing.values():
        conflicts = conflicts | mask
    named = {name: mask for name, mask in clashing.items() if mask.any()}
    return Verdict(present & ~empty, fields, conflicts, named)


def _deletes(contest: Contest) -> bool:
    """Whether a key that is not there any more counts as deleted."""
    return contest.spec.engine != "aggregation" or contest.spec.remove_on_delete


_ENGINES: dict[str, Callable[[Contest, Sides], Verdict]] = {
    "deduplicate": _deduplicate,
    "first-row": _first_row,
    "partial-update": _by_field,
    "aggregation": _by_field,
}
