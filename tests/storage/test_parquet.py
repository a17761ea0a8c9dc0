"""Parts as files: what is written is what is read, and what fails leaves nothing behind."""

from __future__ import annotations

import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.errors import PartCorrupted, PartMissing, StorageFull
from anabranch.model import types
from anabranch.model.part import row_groups
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Struct, StructField
from anabranch.storage import parquet
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination, PartWriter, open_part, read_groups, read_part

SCHEMA = Schema(4, (Column("a b", types.INT, "a_1"), Column("s", types.STRING, "s")))


@pytest.fixture
def files(tmp_path):
    return Files(str(tmp_path / "table"), durable=False)


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch):
    monkeypatch.setattr(parquet, "ROW_GROUP", 10)


def batch(first, count):
    return pa.table(
        {"a b": pa.array(range(first, first + count), pa.int32()), "s": [f"s{first + i}" for i in range(count)]}
    )


def written(files, *sizes, **more):
    writer = PartWriter(Destination(files, SCHEMA), 7, **more)
    first = 0
    for size in sizes:
        writer.write(batch(first, size))
        first += size
    return writer.close()


def all_files(files):
    return [path for path in Path(files.root).rglob("*") if path.is_file()] if Path(files.root).exists() else []


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([1], (1,)),
        ([10], (10,)),
        ([11], (10, 1)),
        ([25, 3], (10, 10, 8)),
        ([3, 3, 3, 3], (10, 2)),
        ([0, 5, 0], (5,)),
        ([9, 30, 1], (10, 10, 10, 10)),
    ],
)
def test_row_groups_are_whole(files, sizes, groups):
    part = written(files, *sizes)
    assert row_groups(part) == groups
    file = pq.ParquetFile(files.path(part.path))
    assert tuple(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)) == groups
    assert part.rows == sum(sizes)
    assert (part.slot, part.schema_id, part.bytes) == (7, 4, all_files(files)[0].stat().st_size)
    assert read_part(files, part, "d.t", ["a_1", "s"]).column("a_1").to_pylist() == list(range(part.rows))
    firsts = [(first, data.num_rows) for first, data in read_groups(files, part, "d.t", ["s"])]
    assert firsts == [(sum(groups[:i]), rows) for i, rows in enumerate(groups)]


def test_files_hold_physical_names_and_no_arrow_schema(files):
    type_ = Struct((StructField("new name", types.INT, "old"),))
    schema = Schema(1, (Column("label", type_, "phys"),))
    writer = PartWriter(Destination(files, schema), 1)
    writer.write(pa.table({"label": pa.array([{"new name": 1}], pa.struct([("new name", pa.int32())]))}))
    part = writer.close()
    file = pq.ParquetFile(files.path(part.path))
    assert file.schema_arrow.names == ["phys"]
    assert file.schema_arrow.field("phys").type == pa.struct([("old", pa.int32())])
    assert b"ARROW:schema" not in (file.metadata.metadata or {})


def test_origins_are_stored(files):
    writer = PartWriter(Destination(files, SCHEMA), 7, has_origin=True)
    writer.write(batch(0, 3).append_column("_origin", pa.array([5, None, 7], pa.int64())))
    part = writer.close()
    assert part.has_origin
    assert read_part(files, part, "d.t", ["_origin"]).column(0).to_pylist() == [5, None, 7]


def test_reading_no_column_keeps_the_number_of_rows(files):
    part = written(files, 25)
    assert read_part(files, part, "d.t", []).num_rows == 25
    assert [data.num_rows for _, data in read_groups(files, part, "d.t", [])] == [10, 10, 5]


@pytest.mark.parametrize("sizes", [(), (0,), (0, 0)])
def test_no_rows_are_no_part(files, sizes):
    assert written(files, *sizes) is None
    assert all_files(files) == []


@pytest.mark.parametrize("rows", [3, 10, 35])
def test_abort_leaves_no_file(files, rows):
    writer = PartWriter(Destination(files, SCHEMA), 7)
    writer.write(batch(0, rows))
    writer.abort()
    assert all_files(files) == []


def test_two_attempts_of_one_slot_are_two_files(files):
    one, two = written(files, 3), written(files, 3)
    assert one.path != two.path
    assert len(all_files(files)) == 2


@pytest.mark.parametrize("rows", [5_000, 100_000], ids=["at close", "while writing"])
def test_no_room(files, monkeypatch, rows):
    """A file-size limit stands for a full disk."""
    monkeypatch.setattr(parquet, "ROW_GROUP", 20_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(StorageFull, match="Nothing was committed"):
            written(files, rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert all_files(files) == []


class TestBrokenParts:
    """The error names the part and the table."""

    def check(self, files, part, error, reason):
        for read in (
            lambda: open_part(files, part, "d.t"),
            lambda: read_part(files, part, "d.t", ["s"]),
            lambda: list(read_groups(files, part, "d.t", ["s"])),
        ):
            with pytest.raises(error, match=reason) as raised:
                read()
            assert part.id in str(raised.value)
            assert "'d.t'" in str(raised.value)

    def test_missing(self, files):
        part = written(files, 5)
        files.discard(part.path)
        self.check(files, part, PartMissing, "is missing")

    @pytest.mark.parametrize("cut", [0, 3, 50], ids=["empty", "tiny", "short"])
    def test_truncated(self, files, cut):
        part = written(files, 5)
        path = Path(files.path(part.path))
        path.write_bytes(path.read_bytes()[:cut])
        self.check(files, part, PartCorrupted, "cannot be read")

    def test_another_file_in_its_place(self, files):
        part, other = written(files, 5), written(files, 6)
        Path(files.path(part.path)).write_bytes(Path(files.path(other.path)).read_bytes())
        self.check(files, part, PartCorrupted, "holds 6 rows, the catalog says 5")

    def test_broken_pages(self, files, monkeypatch):
        monkeypatch.setattr(parquet, "ROW_GROUP", 10_000)
        part = written(files, 5_000)
        path = Path(files.path(part.path))
        data = bytearray(path.read_bytes())
        data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)
        path.write_bytes(data)
        with pytest.raises(PartCorrupted, match=r"'d\.t'"):
            read_part(files, part, "d.t", ["a_1", "s"])
        with pytest.raises(PartCorrupted, match=r"'d\.t'"):
            list(read_groups(files, part, "d.t", ["a_1", "s"]))

    def test_a_column_that_is_not_there(self, files):
        """A file of other columns, same number of rows."""
        part = written(files, 5)
        pq.write_table(pa.table({"x": range(5)}), files.path(part.path))
        with pytest.raises(PartCorrupted, match=r"'d\.t'"):
            read_part(files, part, "d.t", ["s"])


@pytest.mark.parametrize("compression", ["snappy", "zstd", "lz4", "none"])
def test_compression(files, compression):
    writer = PartWriter(Destination(files, SCHEMA, compression), 7)
    writer.write(batch(0, 100))
    part = writer.close()
    found = pq.ParquetFile(files.path(part.path)).metadata.row_group(0).column(1).compression
    assert found == {"none": "UNCOMPRESSED"}.get(compression, compression.upper())
    assert read_part(files, part, "d.t", ["s"]).num_rows == 100


GROWING = {
    "numbers": ("BIGINT", pa.array(range(10, 50))),
    "edges": ("BIGINT", pa.array([-(2**63), 1 - 2**63, *range(-18, 18), 2**63 - 2, 2**63 - 1])),
    "small": ("TINYINT", pa.array(range(-20, 20), pa.int8())),
    "days": ("DATE", pa.array(range(40), pa.date32())),
    "times": ("TIMESTAMP", pa.array(range(40), pa.timestamp("us", "UTC"))),
    "equal": ("BIGINT", pa.array([1, *range(1, 40)])),
    "falling": ("BIGINT", pa.array(range(40, 0, -1))),
    "missing": ("BIGINT", pa.array([None, *range(39)])),
    "doubles": ("DOUBLE", pa.array([float(n) for n in range(40)])),
    "text": ("STRING", pa.array([f"{n:03}" for n in range(40)])),
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_is_stored_by_its_differences(files, monkeypatch, name):
    type_, values = GROWING[name]
    monkeypatch.setattr(parquet, "_SAMPLE", len(values))
    schema = Schema(1, (Column("c", types.parse_type(type_), "c"),))
    writer = PartWriter(Destination(files, schema), 1)
    writer.write(pa.table({"c": values}))
    part = writer.close()
    found = pq.read_metadata(files.path(part.path)).row_group(0).column(0).encodings
    grows = name in ("numbers", "edges", "small", "days", "times")
    assert ("DELTA_BINARY_PACKED" in found) == grows
    assert read_part(files, part, "d.t", ["c"]).column("c").to_pylist() == values.to_pylist()


@pytest.mark.spark
def test_spark_reads_differences(files, monkeypatch, spark):
    columns = {name: GROWING[name] for name in ("numbers", "edges", "small", "days", "times")}
    monkeypatch.setattr(parquet, "_SAMPLE", 40)
    schema = Schema(1, tuple(Column(name, types.parse_type(type_), name) for name, (type_, _) in columns.items()))
    writer = PartWriter(Destination(files, schema), 1)
    rows = pa.table({name: values for name, (_, values) in columns.items()})
    writer.write(rows)
    part = writer.close()
    found = spark.read.parquet(files.path(part.path)).orderBy("numbers").toArrow()
    assert found.cast(rows.schema).to_pylist() == rows.to_pylist()
