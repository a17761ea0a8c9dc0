"""Writes rows as fresh parts with Arrow: the kernel that Spark's tasks and this process share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.part import Part
from anabranch.model.schema import Schema
from anabranch.storage.arrow_types import without_negative_zeros
from anabranch.storage.parquet import ROW_GROUP, Destination, PartWriter
from anabranch.storage.statistics import encode

MAX_PART_ROWS = ROW_GROUP * 64

Writer = Callable[[Destination, int, "str | None"], PartWriter]
"""Destination, slot, partition -> the writer of one part."""


class PartsWriter:
    """Writes a stream of rows as parts, one partition each. Rows of one partition should come together: a partition
    that comes again starts another part. `next_slot` gives the slot of the next part."""

    def __init__(
        self,
        to: Destination,
        next_slot: Callable[[], int],
        *,
        has_origin: bool = False,
        has_row_id: bool = False,
        writer: Writer | None = None,
    ) -> None:
        def plain(to: Destination, slot: int, partition: str | None) -> PartWriter:
            return PartWriter(to, slot, partition=partition, has_origin=has_origin, has_row_id=has_row_id)

        self.to, self.next_slot, self._writer = to, next_slot, writer or plain
        self.parts: list[Part] = []
        self._open: PartWriter | None = None
        self._rows = 0

    def write(self, data: pa.Table) -> None:
        """Columns in the schema's order, then `_row_id` and `_origin` where they are stored."""
        for partition, rows in split(data, self.to.schema):
            if self._open is None or self._open.partition != partition or self._rows >= MAX_PART_ROWS:
                self._finish()
                self._open = self._writer(self.to, self.next_slot(), partition)
            self._open.write(rows)
            self._rows += rows.num_rows

    def _finish(self) -> None:
        if self._open is not None:
            part = self._open.close()
            if part is not None:
                self.parts.append(part)
        self._open, self._rows = None, 0

    def close(self) -> list[Part]:
        self._finish()
        return self.parts

    def abort(self) -> None:
        """Removes every file that this writer made."""
        if self._open is not None:
            self._open.abort()
        for part in self.parts:
            self.to.files.discard(part.path)


def write_parts(
    to: Destination,
    tables: Iterable[pa.Table],
    next_slot: Callable[[], int],
    *,
    has_origin: bool = False,
    has_row_id: bool = False,
    writer: Writer | None = None,
) -> list[Part]:
    """All parts or none: an error, Ctrl-C too, leaves no file."""
    parts = PartsWriter(to, next_slot, has_origin=has_origin, has_row_id=has_row_id, writer=writer)
    try:
        for table in tables:
            for first in range(0, table.num_rows, MAX_PART_ROWS):
                parts.write(table.slice(first, MAX_PART_ROWS))
        return parts.close()
    except BaseException:
        parts.abort()
        raise


def split(data: pa.Table, schema: Schema) -> Iterator[tuple[str | None, pa.Table]]:
    """The rows of each partition, each partition once."""
    if not schema.partitioned_by or not data.num_rows:
        if data.num_rows:
            yield None, data
        return
    places = [schema.columns.index(column) for column in schema.partition_columns]
    codes = np.zeros(data.num_rows, dtype=np.int64)
    for place in places:
        encoded = pc.dictionary_encode(
            without_negative_zeros(data.column(place)).combine_chunks(), null_encoding="encode"
        )
        _, codes = np.unique(codes * len(encoded.dictionary) + encoded.indices.to_numpy(), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    in_order = data if np.array_equal(order, np.arange(len(order))) else data.take(pa.array(order))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = in_order.slice(start, end - start)
        yield partition_text(schema, [rows.column(place)[0].as_py() for place in places]), rows


def partition_text(schema: Schema, values: Iterable[Any]) -> str:
    """The form in which a part names its partition; equal values give equal texts."""
    columns = schema.partition_columns
    body = {column.physical: encode(value, column.type) for column, value in zip(columns, values, strict=True)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
