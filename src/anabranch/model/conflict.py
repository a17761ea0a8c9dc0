"""A conflict as a record: what it is about, which rule found it, and the values on each side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from anabranch.model.values import same_value
from anabranch.texts import brief, named_values, words

Choice = Literal["ours", "theirs"]
"""A side of a merge, as the one that is taken."""


@dataclass(frozen=True, slots=True, repr=False)
class ConflictRecord:
    """`ours` is what stands on the branch, `theirs` what wanted to join it; `row` names a key or row id, if any,
    and `column` a column, or a field by its path of labels. Values are whole; where they are printed, long ones are
    cut and control characters escaped."""

    object: str
    kind: str
    rule: str
    ours: Any
    theirs: Any
    base: Any = None
    row: Any = None
    column: str | None = None

    def __str__(self) -> str:
        where = [self.object, *([_named(self.row)] if self.row is not None else [])]
        where += [f"column {self.column}"] if self.column is not None else []
        ours, theirs = self._told()
        return f"{', '.join(where)}: theirs {theirs}, ours {ours} ({self.rule})"

    def __repr__(self) -> str:
        said = (f"{field.name}={brief(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(said)})"

    def _told(self) -> tuple[str, str]:
        """Of two rows only the fields in which they differ."""
        if isinstance(self.ours, Mapping) and isinstance(self.theirs, Mapping):
            names = [name for name in self.ours if not same_value(self.ours[name], self.theirs.get(name))]
            here, there = ({name: row.get(name) for name in names} for row in (self.ours, self.theirs))
        else:
            here, there = self.ours, self.theirs
        return _side(here), _side(there)


def _named(row: Any) -> str:
    """A key by its columns, a row by its id, a file by its words."""
    if isinstance(row, Mapping):
        return f"key {named_values(row)}"
    return f"row {row}" if isinstance(row, int) else words(str(row))


def _side(side: Any) -> str:
    return named_values(side) if isinstance(side, Mapping) else words(str(side))
