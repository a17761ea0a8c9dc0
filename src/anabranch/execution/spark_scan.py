"""A scan as a Spark DataFrame: the union of the ways that a plan's parts take.

local    read here, given to Spark as a local relation of known size
bundled  small parts, read by kernels, several a task
native   Spark's own Parquet reader
masked   the same, with dead rows hidden by a bitmap
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyroaring import BitMap

from anabranch.errors import PartMissing
from anabranch.execution import masks
from anabranch.execution.plan import ScanPlan, bundles, choose_paths
from anabranch.execution.reader import ROW_ID, PartReader, read_table
from anabranch.execution.session import temporarily
from anabranch.execution.spark_types import label_schema, read_schema
from anabranch.model import types
from anabranch.model.names import ROW_INDEX
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.schema import Column
from anabranch.model.types import backticked
from anabranch.options import Limits
from anabranch.storage.parquet import ORIGIN

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_GLOB = re.compile(r"[*?\[\]{}\\]")
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_LEAST_TASKS = 2
_UNPACKED = 4  # bytes in memory for one in a file, about
_MOST_IDS = 64 << 20  # a size that nobody broadcasts


def scan_frame(spark: SparkSession, plan: ScanPlan, limits: Limits, *, ids: bool = False) -> DataFrame:
    """Rows of a plan under their labels; `ids` adds `_row_id` and `_origin`."""
    if plan.overlay is not None and plan.bytes > limits.local_scan:
        return reduce(lambda a, b: a.unionByName(b), [scan_frame(spark, each, limits, ids=ids) for each in plan.each])
    paths = choose_paths(plan, limits, native=plan.view.files.is_local)
    frames = []
    for masked, parts in ((False, paths.native), (True, paths.masked)):
        for names, group in _by_names(plan, parts).items():
            frames.append(_native(spark, plan, group, names, ids=ids, masked=masked))
    if paths.bundled:
        frames.append(_bundled(spark, plan, paths.bundled, limits, ids=ids))
    if paths.local or not frames:
        frames.append(_local(spark, replace(plan, parts=paths.local), ids=ids))
    return reduce(lambda left, right: left.unionByName(right), frames)


def _local(spark: SparkSession, plan: ScanPlan, *, ids: bool) -> DataFrame:
    rows, schema = read_table(plan, ids=ids), _output(plan, ids=ids)
    return spark.createDataFrame(rows if rows.num_rows else [], schema=schema)


def _output(plan: ScanPlan, *, ids: bool):  # type: ignore[no-untyped-def]
    schema = label_schema(plan.columns)
    return schema.add(ROW_ID, "long").add(ORIGIN, "long") if ids else schema


def _bundled(spark: SparkSession, plan: ScanPlan, parts: Sequence[Part], limits: Limits, *, ids: bool) -> DataFrame:
    """One task a bundle. Spark takes the size of the range for the size of the scan, and would broadcast a table that
    it takes for tiny; so there are as many ids as the rows have words, and all but the first of every partition are
    filtered away."""
    reader = PartReader.of(plan, ids=ids)
    bare = [replace(part, stats="{}") for part in parts]  # tasks have no use for statistics
    tasks = [[(part, plan.dead(part)) for part in group] for group in bundles(bare, limits.bundle, _LEAST_TASKS)]
    words = sum(part.rows + part.bytes * _UNPACKED // 8 for part in parts)
    step = max(1, min(words, _MOST_IDS) // len(tasks))

    def kernel(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for first in batch.column(0).to_numpy():
                for part, dead in tasks[first // step]:
                    for table in reader.groups(part, dead):
                        yield from table.to_batches()

    chosen = spark.range(0, step * len(tasks), 1, len(tasks)).where(f"id % {step} = 0")
    return chosen.mapInArrow(kernel, _output(plan, ids=ids))


def _by_names(plan: ScanPlan, parts: Sequence[Part]) -> dict[tuple[str, ...], list[Part]]:
    """Parts by the names under which they hold the wanted columns; only aliases make more than one group."""
    found: dict[tuple[str, ...], list[Part]] = {}
    for part in parts:
        written = plan.view.written[part.schema_id]
        names = tuple((written.stored_as(column) or column).physical for column in plan.columns)
        found.setdefault(names, []).append(part)
    return found


def _native(
    spark: SparkSession, plan: ScanPlan, parts: Sequence[Part], names: Sequence[str], *, ids: bool, masked: bool
) -> DataFrame:
    files = plan.view.files
    schema = read_schema(plan.columns, names)
    columns = [_labelled(column, name) for column, name in zip(plan.columns, names, strict=True)]
    if ids:
        schema = schema.add(ROW_ID, "long").add(ORIGIN, "long")
    if ids or masked:
        schema = schema.add(ROW_INDEX, "long")
    if ids or masked or _GLOB.search(files.spark_url()):
        # Paths are taken as they stand; without basePath Spark would then read parts twice. The slot costs a little.
        schema = schema.add(masks.SLOT, "long")
        reader = spark.read.schema(schema).option("__globPaths__", "false").option("basePath", files.spark_url())
    else:
        reader = spark.read.schema(schema)
    frame = _listed(spark, reader, plan, parts)
    if not (ids or masked):
        return _selected(frame, columns)
    frame = frame.selectExpr("*", f"{_position()} AS `{masks.POSITION}`")
    if masked:
        frame = masks.hide(frame, spark, [(part, plan.dead(part) or BitMap()) for part in parts])
    if ids:
        row_id = f"coalesce({ROW_ID}, shiftleft({masks.SLOT}, {POSITION_BITS}) | `{masks.POSITION}`)"
        columns += [f"{row_id} AS {ROW_ID}", f"coalesce({ORIGIN}, {row_id}) AS {ORIGIN}"]
    return _selected(frame, columns)


def _position() -> str:
    """Where a row stands in its file. `_metadata.row_index` is the same, but Spark makes a struct for every row and
    takes the number out of it again, which costs as much as reading a column or two. A reader that does not know
    ROW_INDEX would leave it NULL, and every row would count as dead: so that is an error."""
    missing = f"the Parquet reader of Spark does not fill {ROW_INDEX}, so dead rows cannot be told"
    return f"coalesce(`{ROW_INDEX}`, cast(raise_error('{missing}') AS bigint))"


def _listed(spark: SparkSession, reader, plan: ScanPlan, parts: Sequence[Part]) -> DataFrame:  # type: ignore[no-untyped-def]
    """Above the threshold Spark lists files by a job of its own, which takes seconds for a thousand files."""
    from pyspark.errors import AnalysisException

    files = plan.view.files
    try:
        return _read(spark, reader, [files.spark_url(part.path) for part in parts])
    except AnalysisException as error:
        missing = next((part for part in parts if not files.exists(part.path)), None)
        if missing is None:
            raise
        raise PartMissing(files.path(missing.path), plan.view.name) from error


def _read(spark: SparkSession, reader, paths: list[str]) -> DataFrame:  # type: ignore[no-untyped-def]
    with temporarily(spark, _LISTING, str(max(len(paths) + 1, 32))):
        return reader.parquet(*paths)


def _labelled(column: Column, name: str) -> str | SparkColumn:
    """A file's column under its label; struct fields are renamed by a cast, which goes by place. In texts Spark would
    put the value of a variable into a name like `${x}`."""
    if not types.renames_fields(column.type) and "${" not in name + column.label:
        return f"{backticked(name)} AS {backticked(column.label)}"
    from pyspark.sql import functions as F

    return F.col(backticked(name)).cast(label_schema((column,)).fields[0].dataType).alias(column.label)


def _selected(frame: DataFrame, columns: Sequence[str | SparkColumn]) -> DataFrame:
    """Expressions as text wherever they can be: Spark looks for IPython each time a Column is made, which takes
    milliseconds."""
    texts = [column for column in columns if isinstance(column, str)]
    if len(texts) == len(columns):
        return frame.selectExpr(*texts)
    from pyspark.sql import functions as F

    return frame.select(*(F.expr(column) if isinstance(column, str) else column for column in columns))
