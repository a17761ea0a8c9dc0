"""Slots for the parts of one job, reserved in one block before its parts have places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class SlotsUsedUp(Exception):
    """A task has more parts to write than slots were reserved for."""


@dataclass(frozen=True)
class Slots:
    """A block of slots for one job: `layers` for each of `tasks` tasks."""

    first: int
    tasks: int
    layers: int

    @property
    def end(self) -> int:
        return self.first + self.tasks * self.layers

    def of(self, task: int, layer: int) -> int:
        if task >= self.tasks or layer >= self.layers:
            raise SlotsUsedUp
        return self.first + task * self.layers + layer


Reserve = Callable[[int, int], Slots]
"""Takes numbers of tasks and layers, and reserves so many slots."""
