"""Rewrites of tables. One is read once: it never changes, and which states it fits is decided by whoever reads."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyroaring import BitMap
from sqlalchemy import bindparam, select

from anabranch.catalog.bitmaps import decode
from anabranch.catalog.rows import encoded_rewrites, insert_rewrites
from anabranch.catalog.states import States
from anabranch.catalog.tables import rewrite, rewrite_input, rewrite_part
from anabranch.model.history import Position
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite

_IDS = (
    select(rewrite.c.id, rewrite.c.detail).where(rewrite.c.table_id == bindparam("table")).order_by(rewrite.c.version)
)


def _of(body: Any) -> Any:
    ids: Any = bindparam("ids", expanding=True)
    its = (body.c.table_id == bindparam("table"), body.c.rewrite_id.in_(ids))
    return select(body).where(*its).order_by(body.c.rewrite_id, body.c.seq)


_INPUTS, _PARTS = _of(rewrite_input), _of(rewrite_part)
_AT_ONCE = 500
_FRESH = 2.0  # seconds


class Rewrites(States):
    """Other ways to read tables."""

    def add_rewrites(self, made: Sequence[Rewrite]) -> None:
        """Rewrites that belong to no version: nobody's head moves."""
        rows = encoded_rewrites(made, self._blobs)
        with self._db.writing() as link:
            insert_rewrites(link, rows, {"branch_id": 0, "version": 0})
        for table_id in {one.table_id for one in made}:
            for key in [key for key in list(self._memory.rewrites_at) if key[0] == table_id]:
                self._memory.rewrites_at.pop(key, None)

    def rewrites(self, position: Position, table_id: str) -> tuple[Rewrite, ...]:
        """Those known when the position was first asked for, or soon after; a newer one can only be missed, which harms
        nothing."""
        key = (table_id, position)
        asked, found = self._memory.rewrites_at.get(key, (0.0, None))
        if found is None or time.monotonic() - asked > _FRESH:
            details = {row.id: row.detail for row in self._db.rows(_IDS, {"table": table_id})}
            new = {id: json.loads(text) for id, text in details.items() if (table_id, id) not in self._memory.rewrites}
            self._read(new, table_id)
            found = tuple(self._memory.rewrites[table_id, id] for id in details)
            self._memory.rewrites_at[key] = (time.monotonic(), found)
        return found

    def _read(self, details: Mapping[str, Mapping[str, bool]], table_id: str) -> None:
        ids = list(details)
        for start in range(0, len(ids), _AT_ONCE):
            asked = ids[start : start + _AT_ONCE]
            left_out: dict[str, dict[int, BitMap]] = {id: {} for id in asked}
            parts: dict[str, list[Part]] = {id: [] for id in asked}
            values = {"table": table_id, "ids": asked}
            for row in self._db.rows(_INPUTS, values):
                nothing = row.bitmap is None and row.blob is None
                dead = BitMap() if nothing else decode(row.bitmap, row.blob, self._blobs)
                left_out[row.rewrite_id][row.slot] = dead
            for row in self._db.rows(_PARTS, values):
                ids_in = not details[row.rewrite_id].get("keyed")
                its = (row.schema_id, row.rows, row.bytes, row.stats, row.partition, ids_in, ids_in)
                part = Part(row.id, row.slot, *its)
                parts[row.rewrite_id].append(part)
            for id in asked:
                self._memory.rewrites[table_id, id] = Rewrite(
                    id, table_id, left_out[id], tuple(parts[id]), **details[id]
                )
