"""The commit of a MERGE INTO: updates, deletes, inserts and new columns, each known to the law as what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from anabranch.commands.insert import or_discard
from anabranch.commands.merge_into.beside import Beside
from anabranch.commands.merge_into.clauses import BoundMerge
from anabranch.commands.merge_into.pruning import listed
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.execution.predicate import OPAQUE
from anabranch.expressions import literal_sql
from anabranch.model.part import Part, new_rows
from anabranch.model.records import Change, TableDelta
from anabranch.model.rewrite import Rewrite
from anabranch.model.types import backticked
from anabranch.model.words import counted


@dataclass
class Delta:
    """What a MERGE did to an append table: fresh parts of new versions and new rows, dead rows, rewritten parts. No
    commit knows it yet."""

    fresh: list[Part]
    updated: dict[int, BitMap]
    deleted: dict[int, BitMap]
    rewrites: Sequence[Rewrite] = ()

    @property
    def parts(self) -> list[Part]:
        return [*self.fresh, *(part for rewrite in self.rewrites for part in rewrite.parts)]

    @property
    def inserted(self) -> int:
        return sum(map(new_rows, self.fresh))


def commit_delta(
    session: Session,
    table: OpenTable,
    bound: BoundMerge,
    source: pa.Table | None,
    delta: Delta,
    evolved: OpenTable | None,
) -> None:
    updated, deleted = (sum(map(len, dead.values())) for dead in (delta.updated, delta.deleted))
    with_versions = [part for part in delta.fresh if new_rows(part) < part.rows]
    others = [part for part in delta.fresh if new_rows(part) == part.rows]
    changes: list[Change] = []
    deltas: list[TableDelta] = []
    if updated:
        changes.append(table_change(table, "update", rows=updated, predicate=_predicate(bound, source)))
        deltas.append(TableDelta(table.id, tuple(with_versions), killed=delta.updated, cause="update"))
    if deleted:
        changes.append(table_change(table, "delete", rows=deleted, predicate=_deleted_by(bound, source)))
        deltas.append(TableDelta(table.id, killed=delta.deleted, cause="delete"))
    if delta.inserted:
        changes.append(table_change(table, "insert", rows=delta.inserted))
    if others:
        deltas.append(TableDelta(table.id, tuple(others), cause="insert"))
    beside = Beside(session, table, bound, source)
    commit_merge(session, table, changes, deltas, evolved, delta.parts, beside, tuple(delta.rewrites))


def commit_merge(
    session: Session,
    table: OpenTable,
    changes: Sequence[Change],
    deltas: Sequence[TableDelta],
    evolved: OpenTable | None,
    parts: Sequence[Part],
    beside: Beside | None,
    rewrites: tuple[Rewrite, ...] = (),
) -> None:
    """One commit of everything; nothing at all is none. `beside` None: it compares nothing with others' rows."""
    if not changes and evolved is None:
        return
    said = ", ".join(f"{counted(change.detail['rows'], 'row')} {_PAST[change.operation]}" for change in changes)
    schema: dict[str, Any] = {}
    if evolved is not None:
        schema = {"tables": (evolved.record,), "schemas": ((table.id, evolved.schema),)}
        changes = [*changes, table_change(table, "column")]
    message = f"{table.name}: {said or 'columns added'}"
    admit = beside.admit if beside is not None else None
    or_discard(
        session,
        table,
        parts,
        lambda: session.commit(
            table.position, "MERGE INTO", message, changes, admit, deltas=tuple(deltas), rewrites=rewrites, **schema
        ),
    )


_PAST = {"update": "updated", "delete": "deleted", "insert": "inserted"}


def _predicate(bound: BoundMerge, source: pa.Table | None) -> str:
    """Which rows the MERGE would have looked at, under physical names: a list of values, or something that nobody can
    evaluate on a row alone and that therefore matches every row."""
    names = {place: backticked(column.physical) for place, column in enumerate(bound.schema.columns)}
    return listed(bound, source, names) or _opaque(bound)


def _deleted_by(bound: BoundMerge, source: pa.Table | None) -> str:
    """A delete may be run again on other rows, so its predicate must say exactly what dies."""
    matched = bound.of("matched")
    lone = len(matched) == 1 and matched[0].verb == "delete" and matched[0].condition is None
    return _predicate(bound, source) if lone else _opaque(bound)


def _opaque(bound: BoundMerge) -> str:
    return f"{OPAQUE}({literal_sql(pa.scalar(bound.on))})"
