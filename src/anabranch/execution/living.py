"""Parts rewritten without rows that a statement kills: the kernel that Spark's tasks and this process share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.execution.reader import PartReader
from anabranch.execution.writer import write_parts
from anabranch.model.part import Part
from anabranch.storage.parquet import ROW_ID, Destination


@dataclass(frozen=True)
class Piece:
    """Parts that are rewritten together, each with what is dead in it already; `gone`: sorted ids of rows that die now.
    It pickles: tasks carry it."""

    parts: tuple[tuple[Part, BitMap | None], ...]
    gone: np.ndarray

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part, _ in self.parts)


def rewrite(reader: PartReader, piece: Piece, to: Destination, next_slot: Callable[[], int]) -> list[Part]:
    """The rows that live on, in their order and with their ids; no part if there are none. `reader` reads ids."""
    return write_parts(to, _living(reader, piece), next_slot, has_origin=True, has_row_id=True)


def _living(reader: PartReader, piece: Piece) -> Iterator[pa.Table]:
    gone = piece.gone
    for part, dead in piece.parts:
        for rows in reader.groups(part, dead):
            ids = rows.column(ROW_ID).to_numpy()
            at = np.minimum(np.searchsorted(gone, ids), len(gone) - 1)
            kept = gone[at] != ids
            yield rows if kept.all() else rows.filter(pa.array(kept))
