"""A contest: the keys that both sides touched, as the bases, the heads and the merged flushes have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anabranch.branching.equality import unequal
from anabranch.branching.flushes import FlushMerge
from anabranch.branching.keyed_rows import Records, Standing, where
from anabranch.engines import EngineSpec
from anabranch.engines.feed import Mask
from anabranch.model.conflict import Choice


@dataclass(frozen=True)
class Contest:
    """Place by place the same keys.

    `fixed`: field -> keys of which one side's new flushes set the field or removed the key, so that what the merged
    flushes reduce to depends on their order. `removed`: keys that one of them removed. `discarded`: keys of the base
    that ours overwrote, so that theirs' changes do not count. `replaced`: keys in a scope that theirs overwrote, so
    that ours' do not.
    """

    spec: EngineSpec
    bases: tuple[Standing, ...]
    ours: Standing
    theirs: Standing
    merged: Standing
    fixed: Mapping[str, Mask]
    removed: Mask
    discarded: Mask
    replaced: Mask
    kept: Standing
    """As theirs has them, without flushes that ours took away and theirs left as they were."""

    def __len__(self) -> int:
        return len(self.merged.present)


def contest_of(
    records: Records,
    flushes: FlushMerge,
    ours: Sequence[int],
    theirs: Sequence[int],
    overwritten: Collection[int] = (),
    replaced: Collection[int] = (),
) -> Contest:
    """`ours`, `theirs`: the heads' lists. `overwritten`: flushes of theirs in a scope that ours overwrote; `replaced`:
    all flushes in a scope that theirs did."""
    bases = _bases(records, flushes, ours, theirs)
    taken = {slot for base in flushes.bases for slot in base}.difference(ours)
    new, every = flushes.added_ours | flushes.added_theirs, set(flushes.order)
    elsewhere = np.zeros(records.count, dtype=bool)
    if flushes.reordered:  # by other keys' records, perhaps
        pairs = [(flushes.order, theirs), *((base, head) for base in flushes.bases for head in (ours, theirs))]
        elsewhere[records.owner[np.logical_or.reduce([records.crossed(*pair) for pair in pairs])]] = True
    removed = records.removed_by(new) | (records.removed_by(every) & elsewhere)
    unordered = removed | records.held_by(flushes.disputed)
    setting, ever = records.set_by(new), records.set_by(every) if elsewhere.any() else {}
    fixed = {}
    for name in records.spec.fields:
        fixed[name] = unordered | setting[name] if name in setting else unordered
        if name in ever:
            fixed[name] = fixed[name] | (ever[name] & elsewhere)
    return Contest(
        records.spec,
        bases,
        records.standing(ours),
        records.standing(theirs),
        records.standing(flushes.order),
        fixed,
        removed,
        records.held_by(overwritten) & records.held_by(taken) & np.logical_or.reduce([base.present for base in bases]),
        records.held_by(replaced),
        records.standing([slot for slot in theirs if slot in every]),
    )


def with_returning(contest: Contest, columns: Mapping[str, Choice]) -> Contest:
    """`columns`: those that one side has, and the other and the bases have dropped. These did not change what they did
    not have, so they have the values of the side that has it, where it shows the key."""
    for name, side in columns.items():
        having = contest.ours if side == "ours" else contest.theirs

        def also(other: Standing, name: str = name, having: Standing = having) -> Standing:
            values = where(having.present & other.present, having.column(name), other.column(name))
            place = other.rows.column_names.index(name)
            return replace(other, rows=other.rows.set_column(place, name, values))

        contest = replace(
            contest,
            bases=tuple(map(also, contest.bases)),
            ours=also(contest.ours),
            theirs=also(contest.theirs),
            kept=also(contest.kept),
            fixed={**contest.fixed, name: contest.fixed[name] | having.present},
        )
    return contest


def _bases(records: Records, flushes: FlushMerge, ours: Sequence[int], theirs: Sequence[int]) -> tuple[Standing, ...]:
    """As the bases have the keys, with what both heads have alike; but without records that the heads have in another
    order where that order shows."""
    found = [records.standing(base) for base in flushes.bases]
    if flushes.mirrored == flushes.bases:
        return tuple(found)
    out_of_order = records.crossed(ours, theirs)
    for number, (base, mirrored) in enumerate(zip(flushes.bases, flushes.mirrored, strict=True)):
        here, there = records.standing(mirrored), found[number]
        before = records.standing(base, out_of_order & np.isin(records.slot, list(flushes.brought[number])))
        found[number] = there.replaced(*_shown_apart(here, there, records.spec), before)
    return tuple(found)


def _shown_apart(one: Standing, other: Standing, spec: EngineSpec) -> tuple[dict[str, Mask], Mask]:
    """The fields of keys that the two show otherwise, and the keys of which one shows none; where rows are whole, all
    fields of a key."""
    keys = one.present != other.present
    if spec.engine in ("deduplicate", "first-row"):
        keys = one.differs(other, spec.fields)
        return dict.fromkeys(spec.fields, keys), keys
    return {name: keys | unequal(one.column(name), other.column(name)) for name in spec.fields}, keys
