"""A commit request as rows, made before the transaction so that the head is locked for the inserts alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Executable, Table, bindparam, select, tuple_

from anabranch.catalog.along import in_batches
from anabranch.catalog.bitmaps import Blobs, encode
from anabranch.catalog.links import Link
from anabranch.catalog.tables import (
    branch,
    change,
    commit_log,
    database_record,
    dead_rows,
    hidden_schema,
    part,
    partition_record,
    placement,
    rewrite,
    rewrite_input,
    rewrite_part,
    schema_body,
    table_record,
)
from anabranch.catalog.upserts import insert_if_absent
from anabranch.errors import CatalogError
from anabranch.model.names import fold
from anabranch.model.records import CommitRequest, TableDelta
from anabranch.model.rewrite import Rewrite

Values = dict[str, Any]

_keys: BindParameter[Any] = bindparam("keys", expanding=True)
_STORED_PARTS = select(part.c.table_id, part.c.slot, part.c.id).where(tuple_(part.c.table_id, part.c.slot).in_(_keys))
_STORED_SCHEMAS = select(schema_body).where(tuple_(schema_body.c.table_id, schema_body.c.schema_id).in_(_keys))


@dataclass(frozen=True)
class Rows:
    """What a commit inserts: events, which get its version, and parts and schemas, which may be there already."""

    commit: Values
    parts: list[Values]
    schemas: list[Values]
    events: tuple[tuple[Table, list[Values]], ...]
    rewrites: tuple[tuple[Table, list[Values]], ...]

    def store(self, link: Link) -> Callable[[], None]:
        """Inserts the parts and schemas that are not there; afterwards, what is given checks that those which were are
        the same."""
        parts = insert_if_absent(link, part, self.parts) if self.parts else None
        schemas = insert_if_absent(link, schema_body, self.schemas) if self.schemas else None

        def check() -> None:
            if parts is not None and parts.count != len(self.parts):
                self._check_parts(link)
            if schemas is not None and schemas.count != len(self.schemas):
                self._check_schemas(link)

        return check

    def append(self, link: Link, branch_id: int, version: int, time_us: int) -> None:
        """Inserts the events as this version of the branch, and moves its head there: the end of the transaction."""
        place = {"branch_id": branch_id, "version": version}
        with link.in_one_go(last=True):
            link.ask(_INSERTS[commit_log], {**self.commit, **place, "time_us": time_us})
            for table, rows in self.events:
                if rows:
                    link.ask(_INSERTS[table], [{**row, **place} for row in rows])
            insert_rewrites(link, self.rewrites, place)
            link.ask(_MOVE_HEAD, {"moved": branch_id, "head": version, "head_time_us": time_us})

    def blobs(self) -> list[str]:
        """The names of the blobs that were written for it."""
        holding = (dead_rows, rewrite_input)
        return [
            row["blob"]
            for table, rows in (*self.events, *self.rewrites)
            if table in holding
            for row in rows
            if row["blob"]
        ]

    def _check_parts(self, link: Link) -> None:
        stored = _stored(link, _STORED_PARTS, [(row["table_id"], row["slot"]) for row in self.parts])
        for row in self.parts:
            held = stored.get((row["table_id"], row["slot"]))
            if held != row["id"]:
                raise CatalogError(
                    f"slot {row['slot']} of table {row['table_id']!r} belongs to part {held!r}, not to {row['id']!r}"
                )

    def _check_schemas(self, link: Link) -> None:
        stored = _stored(link, _STORED_SCHEMAS, [(row["table_id"], row["schema_id"]) for row in self.schemas])
        for row in self.schemas:
            if stored.get((row["table_id"], row["schema_id"])) != row["body"]:
                raise CatalogError(f"schema {row['schema_id']} of table {row['table_id']!r} is another one already")


def _stored(link: Link, statement: Executable, keys: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
    rows = in_batches(keys, lambda batch: link.rows(statement, {"keys": batch}))
    return {(table_id, number): held for table_id, number, held in rows}


_INSERTS = {
    table: table.insert()
    for table in (
        commit_log,
        change,
        database_record,
        table_record,
        partition_record,
        placement,
        dead_rows,
        hidden_schema,
        rewrite,
        rewrite_input,
        rewrite_part,
    )
}

_MOVE_HEAD = branch.update().where(branch.c.id == bindparam("moved"))


RewriteRows = tuple[tuple[Table, list[Values]], ...]


def insert_rewrites(link: Link, rows: RewriteRows, place: Values) -> None:
    for table, values in rows:
        if values:
            link.ask(_INSERTS[table], [{**row, **place} if table is rewrite else row for row in values])


def encoded_rewrites(made: Iterable[Rewrite], blobs: Blobs | None) -> RewriteRows:
    made = list(made)
    return (
        (rewrite, [_rewrite(one) for one in made]),
        (rewrite_input, [row for one in made for row in _rewrite_inputs(one, blobs)]),
        (rewrite_part, [row for one in made for row in _rewrite_parts(one)]),
    )


def encoded(request: CommitRequest, blobs: Blobs | None) -> Rows:
    if len({(delta.table_id, delta.cause) for delta in request.deltas}) < len(request.deltas):
        raise CatalogError("a commit holds two deltas of one table and cause; join them first")
    return Rows(
        commit=_commit(request),
        parts=[row for delta in request.deltas for row in _parts(delta, request.fresh)],
        schemas=[
            {"table_id": table_id, "schema_id": schema.id, "body": schema.to_json()}
            for table_id, schema in request.schemas
        ],
        events=(
            (change, list(_changes(request))),
            (database_record, list(_databases(request))),
            (table_record, list(_tables(request))),
            (partition_record, list(_partitions(request))),
            (placement, [row for delta in request.deltas for row in _placements(delta)]),
            (dead_rows, [row for delta in request.deltas for row in _dead_rows(delta, blobs)]),
            (hidden_schema, [{"table_id": table, "schema_id": id} for table, id in request.hidden_schemas]),
        ),
        rewrites=encoded_rewrites(request.rewrites, blobs),
    )


def _commit(request: CommitRequest) -> Values:
    merged = request.merged
    return {
        "id": request.id,
        "author": request.author,
        "operation": request.operation,
        "message": request.message,
        "merged_branch_id": merged.branch_id if merged else None,
        "merged_version": merged.version if merged else None,
        "detail": _json(request.detail),
    }


def _changes(request: CommitRequest) -> Iterator[Values]:
    for seq, done in enumerate(request.changes):
        yield {
            "seq": seq, "kind": done.kind, "object_id": done.object_id, "operation": done.operation,
            "detail": _json(done.detail),
        }  # fmt: skip


def _databases(request: CommitRequest) -> Iterator[Values]:
    for record in request.databases:
        yield {
            "id": record.id, "name": record.name, "folded": fold(record.name), "properties": _json(record.properties),
            "comment": record.comment, "dropped": record.dropped,
        }  # fmt: skip


def _tables(request: CommitRequest) -> Iterator[Values]:
    for record in request.tables:
        yield {
            "id": record.id, "database_id": record.database_id, "name": record.name, "folded": fold(record.name),
            "schema_id": record.schema_id, "properties": _json(record.properties), "comment": record.comment,
            "dropped": record.dropped,
        }  # fmt: skip


def _partitions(request: CommitRequest) -> Iterator[Values]:
    for seq, record in enumerate(request.partitions):
        yield {
            "table_id": record.table_id, "seq": seq, "partition_values": record.values, "dropped": record.dropped,
        }  # fmt: skip


def _parts(delta: TableDelta, fresh: Collection[str] | None) -> Iterator[Values]:
    for placed in delta.placed:
        if fresh is not None and placed.id not in fresh:
            continue
        yield {
            "table_id": delta.table_id, "id": placed.id, "slot": placed.slot, "schema_id": placed.schema_id,
            "rows": placed.rows, "bytes": placed.bytes, "stats": placed.stats, "partition": placed.partition,
            "has_origin": placed.has_origin,
        }  # fmt: skip


def _placements(delta: TableDelta) -> Iterator[Values]:
    placed = [part.slot for part in delta.placed]
    removed = sorted(set(delta.removed).difference(placed))  # placing comes after removing, so it decides
    for seq, slot in enumerate([*removed, *placed]):
        its = {"slot": slot, "placed": seq >= len(removed), "cause": delta.cause, "seq": seq}
        yield {"table_id": delta.table_id, **its}


def _dead_rows(delta: TableDelta, blobs: Blobs | None) -> Iterator[Values]:
    for kill, bitmaps in ((True, delta.killed), (False, delta.revived)):
        for slot, bitmap in bitmaps.items():
            data, blob = encode(bitmap, delta.table_id, blobs)
            yield {
                "table_id": delta.table_id, "slot": slot, "kill": kill, "cause": delta.cause, "bitmap": data,
                "blob": blob, "count": len(bitmap),
            }  # fmt: skip


def _rewrite(made: Rewrite) -> Values:
    detail = {"keyed": made.keyed, "oldest": made.oldest} if made.keyed else {}
    return {"table_id": made.table_id, "id": made.id, "detail": _json(detail)}


def _rewrite_inputs(made: Rewrite, blobs: Blobs | None) -> Iterator[Values]:
    for seq, (slot, left_out) in enumerate(made.left_out.items()):
        data, blob = encode(left_out, made.table_id, blobs) if left_out else (None, None)
        yield {
            "table_id": made.table_id, "rewrite_id": made.id, "seq": seq, "slot": slot, "bitmap": data, "blob": blob,
        }  # fmt: skip


def _rewrite_parts(made: Rewrite) -> Iterator[Values]:
    for seq, written in enumerate(made.parts):
        yield {
            "table_id": made.table_id, "rewrite_id": made.id, "seq": seq, "id": written.id, "slot": written.slot,
            "schema_id": written.schema_id, "rows": written.rows, "bytes": written.bytes, "stats": written.stats,
            "partition": written.partition,
        }  # fmt: skip


_encode = json.JSONEncoder(separators=(",", ":")).encode


def _json(value: Mapping[str, Any]) -> str:
    return _encode(value) if value else "{}"
