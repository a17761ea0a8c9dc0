"""MERGE INTO as it was asked for: clauses in their order, expressions as text, nothing looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["matched", "not matched", "not matched by source"]
Verb = Literal["update", "delete", "insert"]
KINDS: tuple[Kind, ...] = ("matched", "not matched", "not matched by source")

Path = tuple[str, ...]


@dataclass(frozen=True)
class Clause:
    """One WHEN. `columns` None is `*`; otherwise each has its value, whose text None is the word DEFAULT.

    An INSERT without a column list has the columns `()` and a value for every column of the table.
    """

    kind: Kind
    verb: Verb
    condition: str | None = None
    columns: tuple[Path, ...] | None = None
    values: tuple[str | None, ...] = ()

    @property
    def when(self) -> str:
        return f"WHEN {self.kind.upper()}"


@dataclass(frozen=True)
class MergeRequest:
    """`target` and `source` are the names by which expressions may call the two: an alias, or the table's own names."""

    on: str
    clauses: tuple[Clause, ...]
    target: tuple[str, ...]
    source: tuple[str, ...]
    evolves: bool = False
