"""partial-update: non-null fields overwrite; fields of a sequence group follow the group's sequence.

A record is *newer* for a group if its sequence is at least what is stored when it comes, that is, if it equals the
running maximum of its segment. The last newer record has the group's sequence and plain fields; an aggregated
field takes newer records behind what is there, others in front of it. A -D that removes the row ends what came before,
and the stored sequence with it: such rows are found round by round, the first of every segment at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anabranch.engines.codes import ranks
from anabranch.engines.feed import FieldRule, Mask, Picks, both
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.kinds import (
    DELETE,
    INSERT,
    UPDATE_BEFORE,
    check_retracts,
    ordered_by,
)
from anabranch.engines.picking import last_non_null_value, last_value
from anabranch.engines.spec import SequenceGroup
from anabranch.engines.window import Merged, Window

_OVERWRITE = FieldRule("last_non_null_value")
_REPLACE = FieldRule("last_value")


def partial_update(window: Window) -> Merged:
    spec = window.spec
    if window.retracts is not None and not spec.groups:
        check_retracts(window.rows, window.kinds, spec)
    cuts = _removals(window)
    after = None if cuts is None else np.asarray(window.place > cuts[window.owner])
    added = None if window.retracts is None else ~window.retracts
    fields: dict[str, Picks | pa.Array] = {}
    grouped = {name for group in spec.groups for name in (*group.sequence, *group.fields)}
    for name in spec.fields:
        if name not in grouped:
            live = both(both(window.live(name), after), added)
            fields[name] = last_non_null_value(window.feed(name, _OVERWRITE, live))
    kinds = _kinds(window, cuts, after)
    for group in spec.groups:
        fields |= _group_fields(window, _standing(window, group, after), after, kinds == INSERT)
    return Merged(kinds, fields, None if cuts is None else cuts == window.ends)


def _kinds(window: Window, cuts: Picks | None, after: Mask | None) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """An add, if there was one since the row was removed; else the row is gone, or its records only took back."""
    if window.retracts is None:
        return np.full(window.count, INSERT, dtype=np.int8)
    added = both(both(~window.retracts, window.current), after)
    assert added is not None
    removing = window.any(window.kinds == DELETE)
    if window.spec.remove_on_groups:  # else a -D that removed nothing would remove what others' sequences let it
        removing = np.zeros(window.count, dtype=bool) if cuts is None else cuts >= 0
    without = np.where(removing, DELETE, UPDATE_BEFORE)
    return np.where(window.any(added), INSERT, without).astype(np.int8)


@dataclass(frozen=True)
class _Standing:
    """Where the rows stand in one group: `live` rows have a sequence, `newer` ones advance it."""

    group: SequenceGroup
    live: Mask
    newer: Mask


def _standing(window: Window, group: SequenceGroup, after: Mask | None) -> _Standing:
    live = both(both(ordered_by(window.rows, group.sequence), window.current), after)
    assert live is not None
    fixing = np.zeros(len(live), dtype=bool)
    if window.set_rows is not None:
        for name in group.sequence:
            fixing |= _setting(window, name, after)
        live &= fixing | ~window.set_rows
    rank = ranks([window.column(name) for name in group.sequence])
    rank = np.where(live, rank - rank.min(initial=0) + 1, 0)
    # A set row starts the sequence anew, so each begins an epoch; epochs ascend as segments do.
    epoch = window.owner + np.cumsum(fixing)
    if int(rank.max(initial=0) + 1) * (int(epoch.max(initial=0)) + 1) > 1 << 62:
        rank = np.unique(rank, return_inverse=True)[1].astype(np.int64)
    level = epoch * (int(rank.max(initial=0)) + 1) + rank
    newer = np.asarray(level == np.maximum.accumulate(level)) & live
    return _Standing(group, live | fixing, newer | fixing)


def _group_fields(window: Window, standing: _Standing, after: Mask | None, added: Mask) -> dict[str, Picks | pa.Array]:
    """`added` says which segments have an add; where all records take back, the result takes back all of it at once."""
    fields: dict[str, Picks | pa.Array] = {}
    for name in standing.group.sequence:
        newer = both(standing.newer, window.live(name))
        fields[name] = last_value(window.feed(name, _REPLACE, newer))
    for name in standing.group.fields:
        setting = _setting(window, name, after)
        newer = standing.newer | setting
        live = both(standing.live | setting, window.live(name))
        rule = window.spec.rules.get(name)
        if rule is None:
            retract = None if window.retracts is None else window.retracts & newer
            fields[name] = last_value(window.feed(name, _REPLACE, both(newer, live), retract=retract))
            continue
        live, retract = window.checked_retracts(name, rule, live)
        if retract is not None:
            retract = retract & added[window.owner]
        front = None if live is None else live & ~newer
        feed = window.feed(name, rule, live, retract=retract, front=front)
        fields[name] = FUNCTIONS[rule.function].reduce(feed)
    return fields


def _setting(window: Window, name: str, after: Mask | None) -> Mask:
    """Set rows at which this field starts, and that count."""
    setting = window.starting(name)
    if setting is None:
        return np.zeros(len(window.rows), dtype=bool)
    return setting if after is None else setting & after


def _removals(window: Window) -> Picks | None:
    """The last row of each segment on which -D of a sequence group removes the row; None without any."""
    spec = window.spec
    groups = [group for group in spec.groups if spec.remove_on_groups & set(group.sequence)]
    deletes = window.kinds == DELETE
    if not groups or not deletes.any():
        return None
    cuts = np.full(window.count, -1, dtype=np.int64)
    while True:
        after = np.asarray(window.place > cuts[window.owner])
        removing = np.zeros(len(deletes), dtype=bool)
        for group in groups:
            removing |= _standing(window, group, after).newer & deletes
        first = np.flatnonzero(removing)[::-1]
        if not len(first):
            return cuts if np.any(cuts >= 0) else None
        cuts[window.owner[first]] = first
