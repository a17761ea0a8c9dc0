"""Loading: INSERT … SELECT into a new table, against Spark's own Parquet write of the same frame.

Ours syncs every part to the disk before it commits (the default); Spark does not. Dirty pages of the last repetition
are written out before the clock starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import data
from context import Context
from measure import Line, in_turns, ratio


def run(context: Context) -> Iterator[Line]:
    import anabranch

    source = context.source
    lake = anabranch.connect(context.folder("load"), spark=context.spark)
    lake.sql("CREATE DATABASE d")
    plain = context.folder("load-plain")
    names = iter(range(1000))

    def ours() -> None:
        name = f"d.t{next(names)}"
        lake.create_table(name, data.SCHEMA)
        lake.sql(f"INSERT INTO {name} SELECT * FROM {{source}}", source=source)

    def theirs() -> None:
        source.write.parquet(str(plain), mode="overwrite")

    times = in_turns({"ours": ours, "theirs": theirs}, repeat=4, warm_up=1, before=os.sync)
    if lake.table("d.t0").count() != context.rows:
        raise AssertionError("the load lost rows")
    yield ratio("load by INSERT … SELECT / Spark's Parquet write", 1.25, times["ours"], times["theirs"])
    lake.close()
