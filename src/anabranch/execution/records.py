"""Records of keyed tables: all that the parts hold of some keys. Only the row groups that can hold them are opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from anabranch.engines import KIND, SETS, EngineSpec, Reach, reduce, segment_starts, sort_order
from anabranch.engines.kinds import adding
from anabranch.execution.keyed_writer import by_physical
from anabranch.keyed.key_columns import KeyColumns, key_columns
from anabranch.keyed.keys import search
from anabranch.keyed.lookup import plan
from anabranch.keyed.standing import has_kinds, keys_now
from anabranch.model.part import Part, row_groups
from anabranch.model.schema import Column, Schema
from anabranch.storage.arrow_types import arrow_schema
from anabranch.storage.files import Files
from anabranch.storage.parquet import open_part, read_groups, read_part
from anabranch.storage.projection import project, stored
from anabranch.storage.row_ids import bitmap

if TYPE_CHECKING:
    from anabranch.execution.plan import TableView

_READERS = 4


def rows_of(view: TableView, parts: Sequence[Part], keys: KeyColumns, spec: EngineSpec) -> pa.Table:
    """The rows of some keys (sorted, distinct), one a key that is there, by physical names and in the order of keys."""
    work = _shares(_probes(view, parts, keys))

    def read(one: tuple[int, Sequence[int]]) -> pa.Table | None:
        at, groups = one
        return _records(view, parts[at], groups, keys, spec)

    if len(work) == 1:
        found = [read(work[0])]
    else:
        with ThreadPoolExecutor(_READERS) as pool:
            found = list(pool.map(read, work))
    there = [(rows, at) for (at, _), rows in zip(work, found, strict=True) if rows is not None]
    return _met(view, [rows for rows, _ in there], [at for _, at in there], spec)


def _shares(probes: Mapping[int, Sequence[int]]) -> list[tuple[int, Sequence[int]]]:
    """Places of parts with some of their row groups, for every reader about as many: one part may have most."""
    most = -(-sum(map(len, probes.values())) // _READERS)
    return [
        (at, groups[first : first + most]) for at, groups in probes.items() for first in range(0, len(groups), most)
    ]


def _probes(view: TableView, parts: Sequence[Part], keys: KeyColumns) -> dict[int, list[int]]:
    """Place of a part -> the row groups of it that can hold one of the keys."""
    probes: dict[int, list[int]] = {}
    for probe in plan(keys, [keys_now(part, view.schema, view.written) for part in parts]):
        probes.setdefault(probe.part, []).append(probe.row_group)
    return probes


def _records(view: TableView, part: Part, groups: Sequence[int], keys: KeyColumns, spec: EngineSpec) -> pa.Table | None:
    """The records of these keys in one pass: other columns are read only of row groups whose key columns hold one."""
    written = view.written[part.schema_id]
    key = stored(_key(view, spec), written)
    names, marks = _names(view, part)
    others = [name for name in (*names, *marks) if name not in key]
    file = open_part(view.files, part, view.name)
    pieces = []
    for group in groups:
        held = file.read_row_group(group, columns=key, use_threads=False)
        at = pa.array(_hits(view, held, written, keys, spec))
        if not len(at):
            continue
        rows = held.take(at)
        if others:
            more = file.read_row_group(group, columns=others, use_threads=False).take(at)
            rows = pa.table([*rows.columns, *more.columns], names=[*rows.column_names, *more.column_names])
        pieces.append(rows)
    return _seen(view, part, pa.concat_tables(pieces)) if pieces else None


def _key(view: TableView, spec: EngineSpec) -> list[Column]:
    return [column for name in spec.key if (column := view.schema.physical(name)) is not None]


def _hits(view: TableView, held: pa.Table, written: Schema, keys: KeyColumns, spec: EngineSpec) -> np.ndarray:
    """Where in some rows, sorted by key, these keys stand."""
    columns = _key(view, spec)
    rows = project(held, columns, written)
    here = key_columns([rows.column(column.label) for column in columns], nullable=spec.nullable_key)
    left = search(here, keys, "left")
    counts = search(here, keys, "right") - left
    before = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(left - before, counts)


def places_of(view: TableView, parts: Sequence[Part], keys: KeyColumns, spec: EngineSpec) -> dict[int, BitMap]:
    """Where the records of these keys stand, by slot; `parts` are searched by the catalog's bounds, then by their key
    columns."""
    probes = _probes(view, parts, keys)

    def found(at: int) -> tuple[int, np.ndarray]:
        return parts[at].slot, _positions(view, parts[at], probes[at], keys, spec)

    with ThreadPoolExecutor(_READERS) as pool:
        return {slot: bitmap(places) for slot, places in pool.map(found, probes) if len(places)}


def _positions(view: TableView, part: Part, groups: Sequence[int], keys: KeyColumns, spec: EngineSpec) -> np.ndarray:
    written = view.written[part.schema_id]
    file = open_part(view.files, part, view.name, names := stored(_key(view, spec), written))
    firsts = np.cumsum([0, *row_groups(part)])
    found = []
    for group in groups:
        held = file.read_row_group(group, columns=names, use_threads=False)
        found.append(firsts[group] + _hits(view, held, written, keys, spec))
    return np.concatenate(found)


def combined(view: TableView, parts: Sequence[Part], places: Mapping[int, BitMap], spec: EngineSpec) -> pa.Table:
    """The records that stand at these places, brought together by the engine; they are all that their keys have."""
    ages = [age for age, part in enumerate(parts) if part.slot in places]
    with ThreadPoolExecutor(_READERS) as pool:
        pieces = list(pool.map(lambda age: rows_at(view, parts[age], places[parts[age].slot]), ages))
    return _met(view, pieces, ages, spec)


def _met(view: TableView, pieces: Sequence[pa.Table], ages: Sequence[int], spec: EngineSpec) -> pa.Table:
    """Records of several parts as one row a key; `ages` says in which order the parts arrived."""
    if not pieces:
        return by_physical(arrow_schema(view.schema.columns).empty_table(), view.schema)
    age = np.concatenate([np.full(len(rows), age) for age, rows in zip(ages, pieces, strict=True)])
    rows = joined(pieces)
    rows = rows.take(pa.array(sort_order(rows, spec, age=age)))
    return reduce(rows, segment_starts(rows, spec.key), spec, Reach.ALL).rows


def joined(pieces: Iterable[pa.Table]) -> pa.Table:
    """Records of several parts; those of parts without kinds are adds."""
    rows = pa.concat_tables(pieces, promote_options="default").combine_chunks()
    if KIND in rows.column_names and rows.column(KIND).null_count:
        rows = rows.set_column(rows.column_names.index(KIND), KIND, rows.column(KIND).fill_null(0))
    return rows


def rows_at(view: TableView, part: Part, positions: BitMap) -> pa.Table:
    """The records at these positions under the view's schema, by physical names, with `_kind` and `_sets`."""
    at = np.asarray(positions.to_array(), dtype=np.int64)
    starts = np.cumsum([0, *row_groups(part)])
    bounds = np.searchsorted(at, starts)
    file = open_part(view.files, part, view.name)
    names, marks = _names(view, part)
    pieces = []
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        here = at[bounds[group] : bounds[group + 1]] - starts[group]
        data = file.read_row_group(group, columns=[*names, *marks], use_threads=False)
        pieces.append(data.take(pa.array(here)))
    return _seen(view, part, pa.concat_tables(pieces))


def giving_null(files: Files, table: str, part: Part, physical: str | None) -> np.ndarray:
    """Records that give NULL to a field; None: one that the part does not hold. Deletes do not, and set rows only to
    fields that they set."""
    marks = [KIND, SETS] if has_kinds(part) else []
    names = [*([] if physical is None else [physical]), *marks]
    if not names:
        return np.ones(part.rows, np.bool_)
    data = read_part(files, part, table, names)
    null = np.ones(part.rows, np.bool_) if physical is None else data.column(physical).is_null().to_numpy()
    if not marks:
        return null
    kinds, lists = data.column(KIND).to_numpy(), data.column(SETS).combine_chunks()
    setting = np.zeros(len(null), np.bool_)
    setting[pc.list_parent_indices(lists).to_numpy()[pc.equal(lists.flatten(), physical).to_numpy(False)]] = True
    found: np.ndarray = null & (adding(kinds) | setting)
    return found


def read_records(view: TableView, part: Part) -> Iterator[pa.Table]:
    """All records of a part, row group by row group."""
    names, marks = _names(view, part)
    for _, data in read_groups(view.files, part, view.name, [*names, *marks]):
        yield _seen(view, part, data)


def _names(view: TableView, part: Part) -> tuple[list[str], list[str]]:
    names = stored(view.schema.columns, view.written[part.schema_id])
    return names, [KIND, SETS] if has_kinds(part) else []


def _seen(view: TableView, part: Part, data: pa.Table) -> pa.Table:
    rows = project(data, view.schema.columns, view.written[part.schema_id])
    if has_kinds(part):
        rows = rows.append_column(KIND, data.column(KIND))
        rows = rows.append_column(SETS, _sets(data.column(SETS), view.schema, view.written[part.schema_id]))
    return by_physical(rows, view.schema)


def _sets(lists: pa.ChunkedArray, schema: Schema, written: Schema) -> pa.ChunkedArray:
    """The fields that set rows set, under the names that they have now: a merge may have unified two columns."""
    names = {
        old.physical: column.physical
        for column in schema.columns
        if (old := written.stored_as(column)) is not None and old.physical != column.physical
    }
    if not names or lists.null_count == len(lists):
        return lists
    whole = pa.concat_arrays([*lists.chunks, pa.array([], lists.type)])  # offsets from 0, even of a slice
    at = pc.index_in(whole.values, value_set=pa.array(list(names), pa.string()))
    values = pc.coalesce(pa.array(list(names.values()), pa.string()).take(at), whole.values)
    mask = whole.is_null() if whole.null_count else None
    return pa.chunked_array([pa.ListArray.from_arrays(whole.offsets, values, mask=mask)])
