"""Rows by their ids: only the row groups that hold them are read, and of these only the columns that are not known.

Rows that are scattered over a table need most of its row groups. What that costs is decoding, so it is spread over the
cores, and a column that another version of the rows has alike is taken from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anabranch.model.part import POSITION_BITS, Part, row_groups
from anabranch.model.schema import Column, Schema
from anabranch.storage.files import Files
from anabranch.storage.parquet import ORIGIN, read_part, read_rows
from anabranch.storage.projection import project, stored
from anabranch.storage.row_ids import row_ids

_POSITION = (1 << POSITION_BITS) - 1
_REMOTE_READERS = 8


@dataclass(frozen=True)
class Alike:
    """Other versions of the rows to fetch, place by place; `columns`: slot -> physical columns that are equal there."""

    rows: pa.Table
    columns: Mapping[int, frozenset[str]]


@dataclass(frozen=True)
class _Piece:
    """Some rows of one part: `places` in what was asked for, and their sorted positions."""

    part: Part
    places: np.ndarray
    positions: np.ndarray


def fetch(
    files: Files,
    table: str,
    parts: Mapping[int, Part],
    written: Mapping[int, Schema],
    columns: Sequence[Column],
    ids: np.ndarray,
    known: Sequence[Alike] = (),
) -> pa.Table:
    """The rows of these ids, in their order, under the given columns; NULLs where an id is negative."""
    if not columns:
        return pa.table({})
    readers = pa.cpu_count() if files.is_local else _REMOTE_READERS
    pieces = list(_pieces(parts, ids, readers))

    def read(piece: _Piece) -> pa.Table:
        return _rows(files, table, written[piece.part.schema_id], columns, piece, known)

    if len(pieces) == 1:
        tables = [read(pieces[0])]
    else:
        with ThreadPoolExecutor(readers) as pool:
            tables = list(pool.map(read, pieces))
    schema = tables[0].schema if tables else project(pa.table({}), columns, Schema(0, ())).schema
    found = pa.concat_tables([*tables, schema.empty_table()])
    order = np.full(len(ids), -1, np.int64)
    if pieces:
        order[np.concatenate([piece.places for piece in pieces])] = np.arange(found.num_rows)
    return found.take(pa.array(order, mask=order < 0))


def _pieces(parts: Mapping[int, Part], ids: np.ndarray, readers: int) -> Iterator[_Piece]:
    """Work for every reader: a part at a time, or a few row groups of it where there are fewer parts than readers."""
    places = np.argsort(ids, kind="stable")
    places = places[ids[places] >= 0]
    slots, starts = np.unique(ids[places] >> POSITION_BITS, return_index=True)
    share = -(-readers // max(len(slots), 1))
    ends = np.append(starts, len(places))
    for slot, start, end in zip(slots.tolist(), ends[:-1], ends[1:], strict=True):
        here = places[start:end]
        positions = ids[here] & _POSITION
        group = np.searchsorted(np.cumsum(row_groups(parts[slot])), positions, side="right")
        wanted = np.unique(group)
        firsts = [chunk[0] for chunk in np.array_split(wanted, min(share, len(wanted)))]
        cuts = np.searchsorted(group, firsts[1:])
        for some, at in zip(np.split(here, cuts), np.split(positions, cuts), strict=True):
            yield _Piece(parts[slot], some, at)


def _rows(
    files: Files, table: str, written: Schema, columns: Sequence[Column], piece: _Piece, known: Sequence[Alike]
) -> pa.Table:
    taken: dict[str, Alike] = {}
    for other in reversed(known):
        taken |= dict.fromkeys(other.columns.get(piece.part.slot, ()), other)
    wanted = [column for column in columns if column.physical not in taken]
    if len(wanted) == len(columns):
        return project(_read(files, table, written, columns, piece), columns, written)
    read = project(_read(files, table, written, wanted, piece), wanted, written) if wanted else None
    places = pa.array(piece.places)
    arrays = {
        column.label: taken[column.physical].rows.column(column.label).take(places)
        if column.physical in taken
        else read.column(column.label)  # type: ignore[union-attr]
        for column in columns
    }
    return pa.table(arrays)


def _read(files: Files, table: str, written: Schema, columns: Sequence[Column], piece: _Piece) -> pa.Table:
    return read_rows(files, piece.part, table, stored(columns, written), piece.positions)


def read_origins(files: Files, part: Part, table: str) -> np.ndarray:
    """The origin of every row of an updated part."""
    found = read_part(files, part, table, [ORIGIN]).column(ORIGIN).combine_chunks()
    own = row_ids(part.slot, 0, part.rows)
    if not found.null_count:
        return found.to_numpy()
    return np.where(found.is_valid().to_numpy(zero_copy_only=False), found.fill_null(0).to_numpy(), own)
