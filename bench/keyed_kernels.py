"""Kernels of keyed tables alone, without Spark or a catalog: superseded positions, memory of a merge of 8 runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from context import Context
from measure import Line, Timing, child_command, in_turns, peaks

from anabranch.keyed.key_columns import key_columns
from anabranch.keyed.sorted_merge import aged, batch_rows, sorted_merge
from anabranch.keyed.superseded import Keep, PartRows, superseded

LIMIT_MB = 600.0
RUNS = 8
REPEAT = 5


def run(context: Context) -> Iterator[Line]:
    yield from _superseded(context)
    yield from _memory(context)


def _superseded(context: Context) -> Iterator[Line]:
    context.say("superseded positions from key columns in memory")
    rng = np.random.default_rng(3)
    keys = np.arange(context.rows, dtype=np.int64) * 3

    def part(slot: int, rows: int) -> PartRows:
        return PartRows(slot, key_columns([pa.array(np.sort(rng.choice(keys, rows, replace=False)))]))

    base = PartRows(0, key_columns([pa.array(keys)]))
    runs = [part(slot, context.rows // 20) for slot in range(1, 5)]
    flushes = [part(slot, 1000) for slot in range(5, 26)]
    known = {keep: superseded([base, *runs, *flushes[:20]], keep) for keep in (Keep.NEWEST, Keep.LONE)}
    found = in_turns(
        {
            "runs": lambda: superseded([base, *runs], Keep.NEWEST),
            "runs, combining": lambda: superseded([base, *runs], Keep.LONE),
            "flushes": lambda: superseded([base, *flushes[:20]], Keep.NEWEST),
            "one more": lambda: known[Keep.NEWEST].advanced(flushes[20:]),
            "one more, combining": lambda: known[Keep.LONE].advanced(flushes[20:]),
        },
        repeat=REPEAT,
    )
    yield _seconds("superseded positions, 4 runs of 5 %", found["runs"], 0.35)
    yield _seconds("keys with several records, 4 runs of 5 %", found["runs, combining"], None)
    yield _seconds("superseded positions, 20 flushes of 1,000", found["flushes"], 0.16)
    yield _seconds("superseded positions, one more flush of 1,000", found["one more"], 0.01)
    yield _seconds("keys with several records, one more flush of 1,000", found["one more, combining"], 0.01)


def _seconds(what: str, timing: Timing, limit: float | None) -> Line:
    return Line(what, timing.min, limit, "s", f"one core, keys in memory, min of {len(timing)}")


def _memory(context: Context) -> Iterator[Line]:
    context.say("memory of a merge of 8 runs")
    folder, rows = context.folder("keyed-runs"), context.rows // 5
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(RUNS):
        _write(folder / f"{at}.parquet", at, rows)
    peak, _, _ = peaks(child_command("keyed_kernels", folder))
    yield Line(f"peak RSS of merging {RUNS} runs", peak, LIMIT_MB, "MB", f"{rows:,} rows each, 5 columns, from Parquet")


def _write(path: Path, seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    key = np.sort(rng.choice(3 * rows, rows, replace=False)).astype(np.int64)
    columns = {
        "id": key,
        "amount": rng.integers(0, 10**9, rows),
        "ratio": rng.random(rows),
        "name": pa.array(rng.integers(0, 10**12, rows)).cast(pa.string()),
        "at": (key * 1000).astype("datetime64[us]"),
    }
    pq.write_table(pa.table(columns), path, row_group_size=131_072)


def main(folder: Path) -> None:
    files = [pq.ParquetFile(folder / f"{at}.parquet", pre_buffer=False) for at in range(RUNS)]
    runs = [
        aged(at, file.iter_batches(batch_size=batch_rows(RUNS), use_threads=False)) for at, file in enumerate(files)
    ]
    rows = sum(window.rows.num_rows for window in sorted_merge(runs, ["id"]))
    assert rows == sum(file.metadata.num_rows for file in files)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
