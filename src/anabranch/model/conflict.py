"""A conflict as a record: what it is about, which rule found it, and the values on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConflictRecord:
    """`ours` is what stands on the branch, `theirs` what wanted to join it; `row` names a key or row id, if any,
    and `column` a column, or a field by its path of labels."""

    object: str
    kind: str
    rule: str
    ours: Any
    theirs: Any
    base: Any = None
    row: Any = None
    column: str | None = None

    def __str__(self) -> str:
        where = f" row {self.row}" if self.row is not None else ""
        where += f" column {self.column}" if self.column is not None else ""
        return f"{self.object}{where}: {self.theirs} against {self.ours} ({self.rule})"
