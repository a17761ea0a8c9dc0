"""NOT NULL inside columns: which fields require a value, and which rows lack it.

A path is a column and the fields inside it by their labels, with the steps `element`, `key` and `value` into arrays and
maps. A struct that is NULL itself lacks no field, and an array or map none of what is in it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.names import fold
from anabranch.model.schema import Column
from anabranch.model.types import DataType, Struct, inner_types

Path = tuple[str, ...]


def required(column: Column) -> list[Path]:
    """The NOT NULL paths in a column, outermost first."""
    return [*([] if column.nullable else [(column.label,)]), *_inside(column.type, (column.label,))]


def _inside(type_: DataType, path: Path) -> list[Path]:
    found: list[Path] = []
    fields = {field.label: field.nullable for field in type_.fields} if isinstance(type_, Struct) else {}
    for step, inner in inner_types(type_):
        found += [] if fields.get(step, True) else [(*path, step)]
        found += _inside(inner, (*path, step))
    return found


def lacking(values: pa.Array | pa.ChunkedArray, path: Path) -> np.ndarray:
    """Which rows of a column have NULL at a path inside it, or somewhere there; the empty path is the column."""
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([np.zeros(0, bool), *(lacking(chunk, path) for chunk in values.chunks)])
    there: np.ndarray = values.is_valid().to_numpy(zero_copy_only=False)
    if not path:
        return ~there
    step, *rest = path
    if pa.types.is_struct(values.type):
        place = next(at for at, field in enumerate(values.type) if fold(field.name) == fold(step))
        return there & lacking(pc.struct_field(values, [place]), tuple(rest))
    offsets = values.offsets.to_numpy()
    inner = values.values if pa.types.is_list(values.type) else values.keys if step == "key" else values.items
    found = lacking(inner.slice(offsets[0], offsets[-1] - offsets[0]), tuple(rest))
    rows = np.zeros(len(values), bool)
    rows[np.repeat(np.arange(len(values)), np.diff(offsets))[found]] = True
    return there & rows
