"""The rows that are measured: five columns, made once and kept in `bench/data/` as eight Parquet files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CACHE = Path(__file__).resolve().parent / "data"
FULL = 10_000_000
PARTS = 8
SCHEMA = "id BIGINT, k INT, v DOUBLE, q BIGINT, s STRING"


def rows(ids: np.ndarray, seed: int) -> pa.Table:
    """`id` as given and sorted; the other columns are random, so that nothing but `id` can prune."""
    random = np.random.default_rng(seed)
    n = len(ids)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "k": pa.array(random.integers(0, 1000, n), pa.int32()),
        "v": pa.array(random.random(n)),
        "q": pa.array(random.integers(0, 1 << 40, n), pa.int64()),
        "s": pa.array(np.char.add("name-", random.integers(0, 1_000_000, n).astype(str))),
    }
    return pa.table(columns)


def source(n: int) -> str:
    """The folder of `n` rows; made if it is not there."""
    folder = CACHE / f"rows-{n}"
    if not folder.exists():
        making = CACHE / f"making-{n}"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        for part in range(PARTS):
            ids = np.arange(part * n // PARTS, (part + 1) * n // PARTS)
            pq.write_table(rows(ids, part), making / f"part-{part}.parquet", row_group_size=131_072)
        making.rename(folder)
    return str(folder)
