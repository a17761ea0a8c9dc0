"""Spark's own Parquet writer: a frame of file columns becomes parts, without a row passing through Python.

1. Spark writes the frame into a staging folder below the table's, by one committed job: what attempts that failed or
   lost a race wrote is not among its files.
2. The footers say how many rows there are, and their bounds and NULLs; a NULL where none may be ends the load here.
3. Slots are reserved, and every file moves to its slot and is settled. Only then is it a part.

Whatever happens, Ctrl-C too, the staging folder goes; on a failure the slots' files go with it.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anabranch.errors import NullViolation, StorageError
from anabranch.execution.estimates import Plan
from anabranch.execution.failures import spark_failures
from anabranch.execution.session import temporarily
from anabranch.execution.slots import Reserve
from anabranch.execution.writer import MAX_PART_ROWS
from anabranch.model.part import Part
from anabranch.model.schema import Column
from anabranch.storage import statistics
from anabranch.storage.files import Files
from anabranch.storage.parquet import ROW_GROUP, Destination

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGING = "_staging-"

# Files as the kernel writes them, whatever the user's session says.
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
}
_OPTIONS = {
    "parquet.block.row.count.limit": str(ROW_GROUP),
    "parquet.block.size": str(128 << 20),
    # Spark gives up a dictionary when it is larger than this. 1 MB, its default, holds every number of a row group, so
    # that each column of distinct numbers would be encoded twice.
    "parquet.dictionary.page.size": str(256 << 10),
    # A column chunk whose bounds are longer than 4 KB would have no statistics at all, not even its NULLs. In bytes.
    "parquet.statistics.truncate.length": str(4 * statistics.MAX_TEXT),
    # Nobody reads these, here or in Spark, and both are counted value by value or byte by byte.
    "parquet.size.statistics.enabled": "false",
    "parquet.page.write-checksum.enabled": "false",
    "maxRecordsPerFile": str(MAX_PART_ROWS),
    # Files of a task come to the folder when the whole job is committed, not one by one.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}
_WORTH_A_LOOK, _LOOKED_AT = 64 << 20, 4096  # bytes of a frame that it pays for to look at so many rows first
_UNLIKE = 0.95  # with this share of distinct values among those, a dictionary would become too large to keep
_CODECS = {"lz4": "lz4_raw"}  # ours -> Spark's, where they differ
_FILE = re.compile(r"part-(\d+)-.*?-c(\d+)\b.*\.parquet")
_AT_ONCE = 4
_LATE_TASKS, _CHECKS = 0.1, 5  # seconds between looks for what a cancelled task still wrote, and how often


@dataclass(frozen=True)
class _Written:
    """A file in the staging folder that holds rows."""

    name: str
    bytes: int
    footer: pq.FileMetaData


def unlike(frame: DataFrame, plan: Plan) -> list[str]:
    """Columns whose values differ from row to row, by the first rows, if these are easily had and the rows are many."""
    if plan.bytes is None or plan.bytes < _WORTH_A_LOOK or not plan.is_cheap or plan.filters:
        return []
    with spark_failures():
        rows = frame.coalesce(1).limit(_LOOKED_AT).toArrow()  # else every task would look for so many
    return [name for name in rows.column_names if _is_unlike(rows.column(name))]


def _is_unlike(column: pa.ChunkedArray) -> bool:
    if pa.types.is_nested(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() > _UNLIKE * (len(column) - column.null_count))


def write_parquet(
    frame: DataFrame, to: Destination, table: str, reserve: Reserve, unlike: Collection[str] = ()
) -> list[Part]:
    """The frame's rows as fresh parts, in the order of its partitions. All parts or none. Columns that are `unlike` get
    no dictionaries: Spark would begin one in every row group, and give it up.

    The frame's columns are those of the files: the schema's physical names and types, in its order. Partitions keep
    their rows' order, so a frame that is sorted within its partitions gives sorted parts.
    """
    staging = f"{STAGING}{uuid.uuid4()}"
    with _cleared(to.files, staging):
        with spark_failures(to.files.path(staging)), _settings(frame.sparkSession):
            options = {**_OPTIONS, "compression": _CODECS.get(to.compression, to.compression)}
            options |= {f"parquet.enable.dictionary#{name}": "false" for name in unlike}
            writer = frame.write.options(**options)
            _interruptible(frame.sparkSession, lambda: writer.parquet(to.files.spark_url(staging)), tag=staging)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            written = [file for file in pool.map(lambda name: _opened(to.files, name), _files(to, staging)) if file]
            if not written:
                return []
            _check_nulls(to, table, written)
            slots = reserve(len(written), 1)
            try:
                return list(
                    pool.map(lambda task, file: _placed(to, slots.of(task, 0), file), range(len(written)), written)
                )
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                to.files.discard_slots(slots.first, slots.end)
                raise


def _interruptible(spark: SparkSession, job: Callable[[], None], *, tag: str) -> None:
    """Runs a job in a thread of its own and waits for its end. Ctrl-C in a call into the JVM would leave the job to run
    on and the connection in disorder; here it strikes the waiting, and the job is cancelled."""
    from pyspark import InheritableThread

    failures: list[BaseException] = []

    def work() -> None:
        spark.addTag(tag)
        try:
            job()
        except BaseException as error:
            failures.append(error)
        finally:
            spark.removeTag(tag)

    thread = InheritableThread(target=work, session=spark)
    thread.daemon = True
    thread.start()
    try:
        thread.join()
    except BaseException:
        spark.interruptTag(tag)
        thread.join()
        raise
    if failures:
        raise failures[0]


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in _SETTINGS.items():
            stack.enter_context(temporarily(spark, name, value))
        yield


@contextmanager
def _cleared(files: Files, staging: str) -> Iterator[None]:
    """Without the staging folder afterwards. Tasks of a cancelled job may still write for a moment."""
    try:
        yield
    except BaseException:
        for _ in range(_CHECKS):
            files.discard_folder(staging)
            time.sleep(_LATE_TASKS)
        raise
    finally:
        files.discard_folder(staging)


def _files(to: Destination, staging: str) -> list[str]:
    """The files of the committed job, by task and by place in the task."""
    found = [(match, name) for name in to.files.listed(staging) if (match := _FILE.fullmatch(name))]
    found.sort(key=lambda pair: (int(pair[0][1]), int(pair[0][2])))
    return [f"{staging}/{name}" for _, name in found]


def _opened(files: Files, name: str) -> _Written | None:
    try:
        with files.filesystem.open_input_file(files.path(name)) as stream:
            footer = pq.read_metadata(stream)
            return _Written(name, stream.size(), footer) if footer.num_rows else None
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"'{files.path(name)}' cannot be read back: {error}. Nothing was committed.") from error


def _placed(to: Destination, slot: int, file: _Written) -> Part:
    part = Part(
        id=str(uuid.uuid4()),
        slot=slot,
        schema_id=to.schema.id,
        rows=file.footer.num_rows,
        bytes=file.bytes,
        stats=statistics.collect(file.footer, to.schema),
    )
    to.files.move(file.name, part.path)
    return part


def _check_nulls(to: Destination, table: str, written: Sequence[_Written]) -> None:
    for column in to.schema.columns:
        if not column.nullable:
            nulls = sum(_nulls(to.files, file, column) for file in written)
            if nulls:
                raise NullViolation(column.label, table, nulls)


def _nulls(files: Files, file: _Written, column: Column) -> int:
    """By the footer; where it does not say, the column is read."""
    known = statistics.nulls(file.footer, column.physical)
    if known is not None:
        return known
    with pq.ParquetFile(files.path(file.name), filesystem=files.filesystem) as opened:
        return sum(batch.column(0).null_count for batch in opened.iter_batches(columns=[column.physical]))
