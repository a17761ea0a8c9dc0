"""What to compact: universal compaction over runs, newest first. Pure: sizes in, a plan with its reason out.

Three rules, tried in order, none below the trigger: too much of the table is in runs that may only repeat the oldest
one (all is merged); the newest runs are about as large as the next one (they and it are merged, and so on); there are
just too many runs (as many of the newest as it takes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from anabranch.errors import InvalidOption


class Rule(Enum):
    SIZE_AMPLIFICATION = "size amplification"
    SIZE_RATIO = "size ratio"
    RUN_COUNT = "run count"


@dataclass(frozen=True, slots=True)
class PickerOptions:
    """How many runs a table may have, and when merging them pays."""

    compaction_trigger: int = 5
    """`num-sorted-run.compaction-trigger`"""
    stop_trigger: int | None = None
    """`num-sorted-run.stop-trigger`; None: the compaction trigger and three more"""
    max_size_amplification_percent: int = 200
    """`compaction.max-size-amplification-percent`"""
    size_ratio: int = 1
    """`compaction.size-ratio`, in percent"""

    def __post_init__(self) -> None:
        if self.compaction_trigger < 2:
            raise InvalidOption("num-sorted-run.compaction-trigger", self.compaction_trigger, "2 or more")
        if self.stop < self.compaction_trigger:
            raise InvalidOption("num-sorted-run.stop-trigger", self.stop, "the compaction trigger or more")
        if self.max_size_amplification_percent < 0:
            name = "compaction.max-size-amplification-percent"
            raise InvalidOption(name, self.max_size_amplification_percent, "0 or more")
        if self.size_ratio < 0:
            raise InvalidOption("compaction.size-ratio", self.size_ratio, "0 or more")

    @property
    def stop(self) -> int:
        return self.compaction_trigger + 3 if self.stop_trigger is None else self.stop_trigger


@dataclass(frozen=True, slots=True)
class Pick:
    """The `runs` newest runs are to become one; at least two of them."""

    runs: int
    rule: Rule
    reason: str


def pick(sizes: Sequence[int], options: PickerOptions | None = None) -> Pick | None:
    """What to compact of runs of these sizes, newest first; None: nothing."""
    options = options or PickerOptions()
    if len(sizes) < options.compaction_trigger:
        return None
    return _by_amplification(sizes, options) or _by_ratio(sizes, options) or _by_count(sizes, options)


def _by_amplification(sizes: Sequence[int], options: PickerOptions) -> Pick | None:
    *newer, oldest = sizes
    limit = options.max_size_amplification_percent
    if sum(newer) * 100 <= limit * oldest:
        return None
    reason = f"{sum(newer)} bytes in {len(newer)} newer runs exceed {limit} % of the oldest run's {oldest}"
    return Pick(len(sizes), Rule.SIZE_AMPLIFICATION, reason)


def _by_ratio(sizes: Sequence[int], options: PickerOptions) -> Pick | None:
    count = _extended(sizes, 1, options)
    if count == 1:
        return None
    return Pick(count, Rule.SIZE_RATIO, f"each of the {count} newest runs is at most as large as those before it")


def _by_count(sizes: Sequence[int], options: PickerOptions) -> Pick | None:
    surplus = len(sizes) - options.compaction_trigger
    if not surplus:
        return None
    reason = f"{len(sizes)} runs are {surplus} more than the {options.compaction_trigger} that a table may have"
    return Pick(_extended(sizes, surplus + 1, options), Rule.RUN_COUNT, reason)


def _extended(sizes: Sequence[int], count: int, options: PickerOptions) -> int:
    """How many runs from the newest on are taken, when those so far are not much smaller than the next."""
    size = sum(sizes[:count])
    while count < len(sizes) and size * (100 + options.size_ratio) >= sizes[count] * 100:
        size += sizes[count]
        count += 1
    return count
