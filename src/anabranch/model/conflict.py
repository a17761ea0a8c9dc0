"""A conflict as a record: what it is about, which rule found it, and the values on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConflictRecord:
    """`ours` is what stands on the branch, `theirs` what wanted to join it; `row` names a key or row id, if any."""

    object: str
    kind: str
    rule: str
    ours: Any
    theirs: Any
    base: Any = None
    row: Any = None

    def __str__(self) -> str:
        where = f" row {self.row}" if self.row is not None else ""
        return f"{self.object}{where}: {self.theirs} against {self.ours} ({self.rule})"
