"""The records of keys that have several of them, as an engine sees them, and what an engine answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.codes import whole
from anabranch.engines.feed import Feed, FieldRule, Mask, Picks, both, validity
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.kinds import (
    DELETE,
    INSERT,
    NAMES,
    SET,
    SETS,
    TOMBSTONE,
    Kinds,
    kinds_of,
    refuse_retract,
    retracting,
)
from anabranch.engines.spec import EngineSpec


@dataclass(frozen=True)
class Window:
    """Rows sorted as they meet; `starts` are the first rows of each key's segment, and no segment is empty."""

    rows: pa.Table
    starts: Picks
    spec: EngineSpec

    @cached_property
    def count(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> Picks:
        return np.diff(np.append(self.starts, len(self.rows)))

    @cached_property
    def ends(self) -> Picks:
        """The last row of each segment."""
        return self.starts + self.lengths - 1

    @cached_property
    def owner(self) -> Picks:
        """Each row's segment."""
        return np.repeat(np.arange(self.count), self.lengths)

    @cached_property
    def place(self) -> Picks:
        return np.arange(len(self.rows))

    @cached_property
    def kinds(self) -> Kinds:
        found = kinds_of(self.rows)
        return np.full(len(self.rows), INSERT, dtype=np.int8) if found is None else found

    @cached_property
    def retracts(self) -> Mask | None:
        """Rows that take back; None without any."""
        found = retracting(self.kinds)
        return found if found.any() else None

    @cached_property
    def set_rows(self) -> Mask | None:
        found = self.kinds == SET
        return found if found.any() else None

    @cached_property
    def restarts(self) -> Picks:
        """The last row of each segment that removes its key, whatever was there; -1 without any."""
        kinds, spec = self.kinds, self.spec
        removing = kinds == TOMBSTONE
        if spec.engine == "deduplicate":
            removing = removing | retracting(kinds)
        elif spec.remove_on_delete:
            removing = removing | (kinds == DELETE)
        return self.last(removing)

    @cached_property
    def current(self) -> Mask | None:
        """Rows that came after their key was removed for the last time; None: all."""
        if not np.any(self.restarts >= 0):
            return None
        return np.asarray(self.place > self.restarts[self.owner])

    @cached_property
    def _setting(self) -> Mapping[str, Mask]:
        """For each field the set rows that set it."""
        found = {}
        lists = whole(self.rows[SETS])
        names, parents = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
        for name in self.spec.fields:
            mask = np.zeros(len(self.rows), dtype=bool)
            mask[parents[pc.equal(names, name).to_numpy(zero_copy_only=False)]] = True
            found[name] = mask & (self.kinds == SET)
        return found

    def setting(self, name: str) -> Mask | None:
        """Current set rows that set this field."""
        return None if self.set_rows is None else both(self._setting[name], self.current)

    @cached_property
    def _beginning(self) -> Mask:
        """Set rows before which there is nothing: the row begins with them, and with all that they hold."""
        ignored = self.spec.engine == "partial-update" and not self.spec.groups and self.retracts is not None
        counting = both(self.current, ~retracting(self.kinds) if ignored else None)
        first = self.starts if counting is None else self.first(counting)
        found = np.zeros(len(self.rows), dtype=bool)
        found[first[first >= 0]] = True
        return np.asarray(found & (self.kinds == SET))

    def starting(self, name: str) -> Mask | None:
        """Current set rows at which this field may start: those that set it, and those at which the row begins and that
        have a value of it. (They hold nothing but what they set; but where a part is older than the column they have
        its default, as a row would that has no other record.)"""
        setting = self.setting(name)
        if setting is None or not self._beginning.any():
            return setting
        return setting | (self._beginning & validity(self.column(name)))

    def column(self, name: str) -> pa.Array:
        return whole(self.rows[name])

    def live(self, name: str) -> Mask | None:
        """Rows that a field's reduction may use: current ones, from the newest at which it starts, and no set rows that
        leave it alone."""
        setting = self.starting(name)
        if setting is None or self.set_rows is None:
            return self.current
        since = np.asarray(self.place >= self.last(setting)[self.owner])
        return both(self.current, since & (setting | ~self.set_rows))

    def last(self, chosen: Mask) -> Picks:
        """The last chosen row of each segment, -1 without any."""
        found = np.full(self.count, -1, dtype=np.int64)
        places = np.flatnonzero(chosen)
        found[self.owner[places]] = places
        return found

    def first(self, chosen: Mask) -> Picks:
        found = np.full(self.count, -1, dtype=np.int64)
        places = np.flatnonzero(chosen)[::-1]
        found[self.owner[places]] = places
        return found

    def any(self, chosen: Mask) -> Mask:
        return np.asarray(np.add.reduceat(chosen, self.starts, dtype=np.int64) > 0)

    def feed(
        self,
        name: str,
        rule: FieldRule,
        live: Mask | None,
        *,
        retract: Mask | None = None,
        front: Mask | None = None,
    ) -> Feed:
        return Feed(name, self.column(name), self.owner, self.count, rule, live, retract, front)

    def checked_retracts(self, name: str, rule: FieldRule, live: Mask | None) -> tuple[Mask | None, Mask | None]:
        """The live rows without ignored retracts, and those that retract; refused if the function cannot."""
        if self.retracts is None:
            return live, None
        if rule.ignore_retract:
            return both(live, ~self.retracts), None
        retract = self.retracts if live is None else self.retracts & live
        if retract.any() and not FUNCTIONS[rule.function].retracts:
            refuse_retract(NAMES[self.kinds[retract][0]], rule.function, name)
        return live, retract if retract.any() else None


@dataclass(frozen=True)
class Merged:
    """One row for each segment: `fields` says where each field's value comes from, the rest is its last row's.

    `raw` segments keep their last row as it is; `kinds` are the results' kinds.
    """

    kinds: Kinds
    fields: Mapping[str, Picks | pa.Array] = field(default_factory=dict)
    raw: Mask | None = None
