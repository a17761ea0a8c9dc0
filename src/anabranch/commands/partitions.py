"""ADD and DROP PARTITION, TRUNCATE: partitions by their values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.commands.insert import EVERYTHING, Overwrite
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.errors import AlreadyExists, CommitConflict, NotFound, Refused
from anabranch.execution.writer import partition_text
from anabranch.model.history import Commit, Position
from anabranch.model.records import PartitionRecord, TableDelta
from anabranch.storage.statistics import decode, encode

Spec = Mapping[str, str]
"""Partition column -> SQL text of its value."""


def scope(session: Session, table: OpenTable, spec: Spec) -> dict[str, Any]:
    """Physical column -> encoded value, of the columns that the spec names."""
    if not table.schema.partitioned_by:
        raise Refused(f"'{table.name}' is not partitioned: it has no partitions to name or to show.")
    columns = {column.physical: column for column in table.schema.partition_columns}
    found = {}
    for label, text in spec.items():
        column = table.schema.column(label)
        if column.physical not in columns:
            raise NotFound("partition column", label, [c.label for c in columns.values()])
        found[column.physical] = encode(session.constant(text, column).as_py(), column.type)
    return found


def _text(session: Session, table: OpenTable, spec: Spec) -> str:
    """One whole partition."""
    values = scope(session, table, spec)
    missing = [column.label for column in table.schema.partition_columns if column.physical not in values]
    if missing:
        raise Refused(f"the partition of '{table.name}' needs a value for {', '.join(missing)}.")
    columns = table.schema.partition_columns
    return partition_text(table.schema, [decode(values[column.physical], column.type) for column in columns])


def partitions(session: Session, table: OpenTable) -> list[str]:
    """Every partition that was added by name or has a live row, as Part.partition texts."""
    state = session.catalog.state(table.position, table.id)
    held = {part.partition for part in state.parts.values() if state.dead_in(part) < part.rows and part.partition}
    return sorted(held | set(session.catalog.partitions(table.position, table.id)))


def describe(table: OpenTable, text: str) -> str:
    """`d=2026-01-01/k=1`, as people write partitions."""
    values = json.loads(text)
    pairs = [(c.label, decode(values.get(c.physical), c.type)) for c in table.schema.partition_columns]
    return "/".join(f"{label}={_shown(value)}" for label, value in pairs)


def _shown(value: Any) -> str:
    """As SQL writes it; text that SQL would take for something else is quoted."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    return f"'{value}'" if value in ("", "NULL") or "/" in str(value) else str(value)


def add_partitions(
    session: Session, table: OpenTable, specs: Sequence[Spec], *, if_not_exists: bool = False
) -> Commit | None:
    have = set(partitions(session, table))
    records = []
    for spec in specs:
        text = _text(session, table, spec)
        if text in have:
            if if_not_exists:
                continue
            raise AlreadyExists("partition", describe(table, text), "IF NOT EXISTS passes over it.")
        have.add(text)
        records.append(PartitionRecord(table.id, text))
    if not records:
        return None
    change = table_change(table, "partition", added=[record.values for record in records])
    message = f"{table.name}: {', '.join(describe(table, record.values) for record in records)}"
    return session.commit(table.position, "ADD PARTITION", message, [change], partitions=tuple(records))


def drop_partitions(
    session: Session, table: OpenTable, specs: Sequence[Spec], *, if_exists: bool = False
) -> Commit | None:
    """The rows of the partitions go too. A spec may name some of the columns: all partitions that agree."""
    dropped = _named(session, table, specs, if_exists=if_exists)
    if not dropped:
        return None

    def at(head: Position) -> Mapping[str, Any]:
        found = (
            dropped if head == table.position else _named(session, replace(table, position=head), specs, if_exists=True)
        )
        if found != dropped:  # a partition has come or gone
            raise CommitConflict(
                f"partitions of '{table.name}' changed meanwhile. Nothing was written.", (), [table.id]
            )
        state = session.catalog.state(head, table.id)
        removed = tuple(slot for slot, part in state.parts.items() if part.partition in dropped)
        changes = [table_change(table, "partition", dropped=dropped)]
        if not removed:
            return {"changes": tuple(changes)}
        changes.append(table_change(table, "overwrite", scope={"partitions": dropped}))
        return {"changes": tuple(changes), "deltas": (TableDelta(table.id, removed=removed, cause="overwrite"),)}

    message = f"{table.name}: {', '.join(describe(table, text) for text in dropped)}"
    gone = tuple(PartitionRecord(table.id, text, dropped=True) for text in dropped)
    return session.commit(table.position, "DROP PARTITION", message, partitions=gone, replay=at, **at(table.position))


def _named(session: Session, table: OpenTable, specs: Sequence[Spec], *, if_exists: bool) -> list[str]:
    """The partitions that agree with one of the specs."""
    known = partitions(session, table)
    named: list[str] = []
    for spec in specs:
        values = scope(session, table, spec)
        found = [text for text in known if all(json.loads(text).get(k) == v for k, v in values.items())]
        if not found and not if_exists:
            shown = "/".join(label + "=" + text.strip("'") for label, text in spec.items())
            raise NotFound("partition", shown, hint="SHOW PARTITIONS lists them; IF EXISTS passes over it.")
        named += [text for text in found if text not in named]
    return named


def truncate(session: Session, table: OpenTable, spec: Spec | None = None) -> Commit | None:
    chosen = EVERYTHING if spec is None else Overwrite(scope(session, table, spec))

    def at(head: Position) -> Mapping[str, Any]:
        removed = chosen.taken(session, table, (), head)
        return {"deltas": (TableDelta(table.id, removed=removed, cause="overwrite"),) if removed else ()}

    now = at(table.position)
    if not now["deltas"]:
        return None
    change = table_change(table, "overwrite", rows=0, scope={"values": dict(chosen.values), "dynamic": False})
    return session.commit(table.position, "TRUNCATE", table.name, [change], replay=at, **now)
