"""MERGE INTO the slow way: rows are tuples, clauses Python functions, every target row meets every source row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]


class Several(Exception):
    """A target row that more than one source row matches."""


@dataclass(frozen=True)
class When:
    """One clause, in SQL and in Python. `test` and `make` take the target row and the source row, None if there is
    none; `make` None is DELETE."""

    kind: str
    sql: str
    test: Callable[[Row | None, Row | None], bool | None]
    make: Callable[[Row | None, Row | None], Row] | None


def merged(
    target: Sequence[Row], source: Sequence[Row], on: Callable[[Row, Row], bool | None], clauses: Sequence[When]
) -> list[Row]:
    matched = [clause for clause in clauses if clause.kind == "matched"]
    lone_delete = len(matched) == 1 and matched[0].make is None and matched[0].sql == "DELETE"
    out: list[Row] = []
    met: set[int] = set()
    for row in target:
        found = [at for at, other in enumerate(source) if on(row, other)]
        met.update(found)
        if len(found) > 1 and matched and not lone_delete:
            raise Several
        kind = "matched" if found else "not matched by source"
        out += _became(clauses, kind, row, source[found[0]] if found else None)
    for at, other in enumerate(source):
        if at not in met:
            out += _became(clauses, "not matched", None, other)
    return out


def _became(clauses: Sequence[When], kind: str, row: Row | None, other: Row | None) -> list[Row]:
    for clause in clauses:
        if clause.kind == kind and clause.test(row, other):
            return [] if clause.make is None else [clause.make(row, other)]
    return [] if row is None else [row]
