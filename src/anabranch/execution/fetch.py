"""Rows by their ids: only the row groups that hold them are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.schema import Column, Schema
from anabranch.storage.files import Files
from anabranch.storage.parquet import ORIGIN, open_part, read_part
from anabranch.storage.projection import project, stored
from anabranch.storage.row_ids import row_ids

_POSITION = (1 << POSITION_BITS) - 1


def fetch(
    files: Files,
    table: str,
    parts: Mapping[int, Part],
    written: Mapping[int, Schema],
    columns: Sequence[Column],
    ids: np.ndarray,
) -> pa.Table:
    """The rows of these ids, in their order, under the given columns; NULLs where an id is negative."""
    pieces: list[pa.Table] = []
    places: list[np.ndarray] = []
    for slot in np.unique(ids[ids >= 0] >> POSITION_BITS).tolist():
        here = np.flatnonzero(np.where(ids >= 0, ids >> POSITION_BITS, -1) == slot)
        part = parts[slot]
        data = _rows(files, part, table, written[part.schema_id], columns, ids[here] & _POSITION)
        pieces.append(project(data, columns, written[part.schema_id]))
        places.append(here)
    schema = pieces[0].schema if pieces else project(pa.table({}), columns, Schema(0, ())).schema
    found = pa.concat_tables([*pieces, schema.empty_table()])
    order = np.full(len(ids), -1, np.int64)
    if places:
        order[np.concatenate(places)] = np.arange(found.num_rows)
    return found.take(pa.array(order, mask=order < 0))


def _rows(
    files: Files, part: Part, table: str, written: Schema, columns: Sequence[Column], positions: np.ndarray
) -> pa.Table:
    names = stored(columns, written)
    file = open_part(files, part, table, names)
    starts = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))])
    group = np.searchsorted(starts, positions, side="right") - 1
    wanted = np.unique(group)
    data = file.read_row_groups(wanted.tolist(), columns=names, use_threads=True)
    if not data.num_columns:
        data = pa.table({"": pa.nulls(int((starts[wanted + 1] - starts[wanted]).sum()))})
    before = np.zeros(len(starts), np.int64)  # rows of wanted groups that come before a group
    before[wanted] = np.concatenate([[0], np.cumsum(starts[wanted + 1] - starts[wanted])[:-1]])
    return data.take(pa.array(before[group] + positions - starts[group]))


def read_origins(files: Files, part: Part, table: str) -> np.ndarray:
    """The origin of every row of an updated part."""
    found = read_part(files, part, table, [ORIGIN]).column(ORIGIN).combine_chunks()
    own = row_ids(part.slot, 0, part.rows)
    if not found.null_count:
        return found.to_numpy()
    return np.where(found.is_valid().to_numpy(zero_copy_only=False), found.fill_null(0).to_numpy(), own)
