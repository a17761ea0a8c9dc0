"""Frames that are local Parquet files as they stand: what Spark would read, Arrow may read without it.

Only what says the same to both is taken: one relation over Spark's own listing of files, perhaps some of its columns,
without predicates; and columns whose file type is the frame's. Dates and times are not: old files count them by
another calendar, and which does is Spark's to know. Other formats build on Parquet, too (Delta's relation calls itself
`parquet`), but list their files by indexes of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.execution.session import on_cluster, temporarily
from anabranch.model import types
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAMES = r"\w+#\d+L?(?:, ?\w+#\d+L?)*"
_SIZE = r", Statistics\([^()\n]*\)\n"
_LOGICAL = re.compile(
    rf"== Optimized Logical Plan ==\n(?:Project \[(?P<some>{_NAMES})\]{_SIZE}\+- )?"
    rf"Relation \[(?P<all>{_NAMES})\] parquet{_SIZE}\n== Physical Plan ==\n"
)
_PHYSICAL = re.compile(
    r"DataFilters: \[\], Format: Parquet, Location: InMemoryFileIndex\([^\n]*, "
    r"PartitionFilters: \[\], PushedFilters: \[\], "
)
_SHOWN_COLUMNS = "spark.sql.debug.maxToStringFields"
_SAME = {
    types.BOOLEAN,
    types.TINYINT,
    types.SMALLINT,
    types.INT,
    types.BIGINT,
    types.FLOAT,
    types.DOUBLE,
    types.STRING,
    types.BINARY,
}
_UNIT = 1 << 20
_MOST_FILES = 1024  # whose footers are looked at


@dataclass(frozen=True)
class Unit:
    """Row groups of one file that follow each other."""

    path: str
    groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class PlainFiles:
    """All rows of a frame: `columns` are the frame's, by their names in the files."""

    columns: tuple[str, ...]
    units: tuple[Unit, ...]

    @property
    def rows(self) -> int:
        return sum(unit.rows for unit in self.units)


def plain_files(frame: DataFrame, incoming: Sequence[DataType | None]) -> PlainFiles | None:
    """The files that the frame reads, if it does no more; None: it is Spark's. `incoming`: the types of its columns."""
    spark = frame.sparkSession
    if on_cluster(spark) or any(type_ not in _SAME and not isinstance(type_, types.Decimal) for type_ in incoming):
        return None
    with temporarily(spark, _SHOWN_COLUMNS, str(1 << 20)):
        text = spark.sql("EXPLAIN COST SELECT * FROM {frame}", frame=frame).collect()[0][0]
    columns = read_as_they_are(text)
    if columns is None or list(columns) != frame.columns:
        return None
    places = [urlsplit(url) for url in frame.inputFiles()]
    if len(places) > _MOST_FILES or any(place.scheme != "file" or place.netloc for place in places):
        return None
    wanted = {name: to_arrow(type_) for name, type_ in zip(columns, incoming, strict=True) if type_ is not None}
    units = []
    for path in sorted(unquote(place.path) for place in places):
        found = _units(path, wanted)
        if found is None:
            return None
        units += found
    return PlainFiles(columns, tuple(units)) if units else None


def read_as_they_are(text: str) -> tuple[str, ...] | None:
    """The columns that a plan (EXPLAIN COST) reads from Parquet files, if that is all it does."""
    logical = _LOGICAL.match(text)
    if logical is None or text.count("FileScan parquet") != 1 or not _PHYSICAL.search(text, logical.end()):
        return None
    names = tuple(name.strip().partition("#")[0] for name in (logical["some"] or logical["all"]).split(","))
    return names if len(set(names)) == len(names) else None


def _units(path: str, wanted: dict[str, pa.DataType]) -> list[Unit] | None:
    """None: the file is not there, broken, or its columns are not what is wanted."""
    try:
        with pq.ParquetFile(path) as file:
            schema, footer = file.schema_arrow, file.metadata
    except (OSError, pa.ArrowException):
        return None
    if len({name.casefold() for name in schema.names}) < len(schema.names):
        return None  # which of them is meant depends on Spark's settings
    if any(name not in schema.names or schema.field(name).type != type_ for name, type_ in wanted.items()):
        return None
    units: list[Unit] = []
    waiting: list[int] = []
    rows = 0
    for group in range(footer.num_row_groups):
        waiting.append(group)
        rows += footer.row_group(group).num_rows
        if rows >= _UNIT or group + 1 == footer.num_row_groups:
            units += [Unit(path, tuple(waiting), rows)] if rows else []
            waiting, rows = [], 0
    return units
