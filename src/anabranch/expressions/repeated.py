"""One value many times."""

from __future__ import annotations

import pyarrow as pa


def repeated(value: pa.Scalar, rows: int) -> pa.Array:
    """The value for each of so many rows; none is a number of rows, too, which Arrow refuses for lists and maps."""
    return pa.repeat(value, rows) if rows else pa.array([], value.type)
