"""Which parts of an append table are worth rewriting. Pure: `pick` says what and why.

Neighbours of one partition that are small, or have dead rows, go together until they fill a part. One that would stay
alone is rewritten only for its dead rows. Order is kept, so rows stay where a scan expects them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.model.words import counted
from anabranch.parts.carriers import Carried, Unit

FULL = 128 << 20
"""Bytes of a part that is large enough."""


@dataclass(frozen=True)
class Pick:
    units: tuple[Unit, ...]
    reason: str


def pick(carried: Carried, full: int = FULL) -> list[Pick]:
    """Groups of units, no unit twice."""
    groups: dict[str | None, list[Unit]] = {}
    for unit in carried.units:
        if unit.parts and (_bytes(unit) < full // 2 or _dead(carried, unit)):
            groups.setdefault(unit.parts[0].partition, []).append(unit)
    return [
        Pick(tuple(group), _reason(carried, group))
        for units in groups.values()
        for group in _filled(units, full)
        if len(group) > 1 or _dead(carried, group[0])
    ]


def _filled(units: list[Unit], full: int) -> Iterator[list[Unit]]:
    group: list[Unit] = []
    size = 0
    for unit in units:
        if group and size + _bytes(unit) > full:
            yield group
            group, size = [], 0
        group.append(unit)
        size += _bytes(unit)
    yield group


def _reason(carried: Carried, group: list[Unit]) -> str:
    dead = sum(_dead(carried, unit) for unit in group)
    parts = counted(sum(len(unit.parts) for unit in group), "part")
    return f"{parts} with {counted(dead, 'dead row')}" if dead else f"{parts} under {FULL >> 21} MB"


def _bytes(unit: Unit) -> int:
    return sum(part.bytes for part in unit.parts)


def _dead(carried: Carried, unit: Unit) -> int:
    return sum(len(carried.dead.get(part.slot, ())) for part in unit.parts)
