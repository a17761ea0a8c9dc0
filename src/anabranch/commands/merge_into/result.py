"""What a MERGE INTO did, and how long each phase of it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anabranch.commands.merge_into.strategy import Strategy
from anabranch.commands.result import Result


class Clock:
    """Seconds of each phase, in the order in which they ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[tuple[str, float]] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._running.append((name, time.perf_counter()))
        try:
            yield
        finally:
            self.pause()
            self._running.pop()

    def pause(self) -> None:
        """The innermost phase is over, though what it opened stays open."""
        name, start = self._running[-1]
        self.seconds.setdefault(name, round(time.perf_counter() - start, 6))


@dataclass(frozen=True)
class Merged:
    """Rows are None where nothing was read that could tell inserts from updates: `affected` then counts both."""

    strategy: Strategy
    seconds: dict[str, float] = field(default_factory=dict)
    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    parts_read: int = 0
    parts_written: int = 0
    written: int | None = None

    @property
    def affected(self) -> int:
        return (
            self.written
            if self.written is not None
            else sum(n or 0 for n in (self.inserted, self.updated, self.deleted))
        )

    def result(self) -> Result:
        columns = ["rows_affected", "rows_inserted", "rows_updated", "rows_deleted", "parts_read", "parts_written"]
        values = [self.affected, self.inserted, self.updated, self.deleted, self.parts_read, self.parts_written]
        said = [self.strategy.way, self.strategy.reason, dict(self.seconds)]
        return Result([*columns, "strategy", "reason", "seconds"], [[*values, *said]])
