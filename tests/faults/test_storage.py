"""Storage that fails: parts missing and broken, a disk that is full, folders and catalogs that are something else."""

import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch
from anabranch.errors import (
    AnabranchError,
    CatalogError,
    CatalogUnreachable,
    CatalogVersionError,
    NotALake,
    PartCorrupted,
    PartMissing,
)
from tests.faults.conftest import files
from tests.stories.telling import one, rows, told

# --- parts ------------------------------------------------------------------------------------------------------------


def emptied(part: Path) -> None:
    part.write_bytes(b"")


def truncated(part: Path) -> None:
    part.write_bytes(part.read_bytes()[: part.stat().st_size // 2])


def garbage(part: Path) -> None:
    part.write_bytes(b"garbage" * 100)


def garbage_inside(part: Path) -> None:
    """Head and foot are right, the pages are not."""
    data = bytearray(part.read_bytes())
    data[4:60] = b"\xff" * 56
    part.write_bytes(bytes(data))


def another(part: Path) -> None:
    """A fine Parquet file, of other rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"v": pa.array([1, 2, 3], pa.int32()), "k": ["a", "b", "c"]}), part)


READS = {
    "to_arrow": lambda lake: lake.table("d.one").to_arrow(),
    "to_batches": lambda lake: list(lake.table("d.one").to_batches()),
    "DELETE": lambda lake: lake.sql("DELETE FROM d.one WHERE only > 0"),
    "UPDATE": lambda lake: lake.sql("UPDATE d.one SET only = only + 1"),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (Path.unlink, PartMissing),
        (emptied, PartCorrupted),
        (truncated, PartCorrupted),
        (garbage, PartCorrupted),
        (garbage_inside, PartCorrupted),
        (another, PartCorrupted),
    ],
)
def test_a_damaged_part_is_named_with_its_table(lake, folder, damage, error, read):
    table = lake.table("d.one")
    table.write({"only": list(range(10, 1010))})
    (part,) = (folder / "data" / table.id).rglob("*.parquet")
    before = lake.version
    damage(part)
    with pytest.raises(error) as raised:
        READS[read](lake)
    assert part.name in str(raised.value)
    assert "'d.one'" in str(raised.value)
    assert "RESTORE" in str(raised.value)
    assert lake.version == before
    assert one(lake, "d.t") == [1, 2]
    # The way out that the message names.
    told(lake, f"RESTORE TABLE d.one TO VERSION {before - 1}", "INSERT INTO d.one VALUES (5)")
    assert one(lake, "d.one") == [5]


def test_parts_that_are_not_needed_may_be_missing(lake, folder):
    table = lake.table("d.one")
    for value in (1, 100):
        table.write([{"only": value}])
    kept, *_ = (
        path for path in (folder / "data" / table.id).rglob("*.parquet") if b"\x64\x00\x00\x00" in path.read_bytes()
    )
    for part in (folder / "data" / table.id).rglob("*.parquet"):
        if part != kept:
            part.unlink()
    assert table.to_arrow(where="only > 50").num_rows == 1
    assert table.count() == 2
    told(lake, "TRUNCATE TABLE d.one")
    assert one(lake, "d.one") == []


@pytest.mark.spark
def test_spark_names_a_missing_part_too(folder, spark):
    from anabranch.options import Limits

    for limits in (Limits(), Limits(local_scan=0), Limits(local_scan=0, small_part=0)):
        copy = Path(shutil.copytree(folder, folder.parent / f"copy-{limits.local_scan}-{limits.small_part}"))
        with anabranch.connect(copy, spark=spark, limits=limits, create=False) as lake:
            for part in (copy / "data" / lake.table("d.t").id).rglob("*.parquet"):
                part.unlink()
            with pytest.raises(AnabranchError) as raised:
                lake.sql("INSERT INTO d.one SELECT id FROM d.t")
            assert ".parquet" in str(raised.value)
            assert one(lake, "d.one") == []


# --- a full disk ------------------------------------------------------------------------------------------------------

FULL_DISK = """
import resource, sys
import numpy as np, pyarrow as pa
import anabranch
from anabranch.errors import StorageFull

def limited(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

with anabranch.connect(sys.argv[1], create=False) as lake:
    table, version = lake.table("d.one"), lake.version
    rows = pa.table({"only": np.random.default_rng(1).integers(0, 2**31, 500_000, dtype=np.int32)})
    table.write([{"only": 1}])
    for size in (0, 1000, 300_000, 1_000_000):
        limited(size)
        try:
            WRITE
        except StorageFull as error:
            assert "Nothing was committed" in str(error), error
            assert "No space left" in str(error) or "File too large" in str(error), error
        else:
            raise SystemExit(f"no error with {size} bytes")
        finally:
            limited(resource.RLIM_INFINITY)
        assert lake.version == version + 1
        assert table.to_arrow().column("only").to_pylist() == [1]
    table.write([{"only": 2}])
    assert sorted(table.to_arrow().column("only").to_pylist()) == [1, 2]
print("done")
"""


@pytest.mark.parametrize("write", ["table.write(rows)", "table.overwrite(rows)"])
def test_a_full_disk_commits_nothing_and_leaves_no_file(folder, write):
    before = files(folder)
    assert run(FULL_DISK.replace("WRITE", write), folder) == "done\n"
    assert len(files(folder)) == len(before) + 2
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.one") == [1, 2]


FULL_FOR_SPARK = """
import os, resource, sys
from pathlib import Path
import anabranch
from anabranch.errors import StorageFull

with anabranch.connect(sys.argv[1], create=False) as lake:
    lake.spark.sparkContext.setLogLevel("OFF")
    lake.sql("INSERT INTO d.one SELECT 1")  # the JVM unpacks its codecs when it first writes
    version, own = lake.version, str(os.getpid())
    (jvm,) = [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if "(java)" in (text := stat.read_text()) and text.rpartition(")")[2].split()[1] == own
    ]
    for size in (1000, 300_000):
        resource.prlimit(jvm, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            lake.sql("INSERT INTO d.one SELECT CAST(hash(id) AS INT) FROM range(0, 500000, 1, 2)")
        except StorageFull as error:
            assert "Nothing was committed" in str(error) and "File too large" in str(error), error
        else:
            raise SystemExit(f"no error with {size} bytes")
        finally:
            resource.prlimit(jvm, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert lake.version == version
    lake.sql("INSERT INTO d.one SELECT 2")
print("done")
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
def test_a_disk_that_is_full_for_spark_commits_nothing_and_leaves_no_file(folder):
    before = files(folder)
    assert run(FULL_FOR_SPARK, folder) == "done\n"
    assert len(files(folder)) == len(before) + 2
    assert not list((folder / "data").glob("*/_*"))
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.one") == [1, 2]


FULL_CATALOG = """
import os, resource, sys
import anabranch
from anabranch.errors import AnabranchError, StorageFull

folder = sys.argv[1]
with anabranch.connect(folder, create=False) as lake:
    table = lake.table("d.one")
    table.write([{"only": 1}])
    version = lake.version
    log = os.path.getsize(os.path.join(folder, "catalog.db-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (log, resource.RLIM_INFINITY))
    for attempt in (lambda: table.write([{"only": 2}]), lambda: lake.sql("CREATE DATABASE e"), lambda: table.delete()):
        try:
            attempt()
        except StorageFull as error:
            print(type(error).__name__)
        assert table.to_arrow().column("only").to_pylist() == [1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert lake.version == version
    table.write([{"only": 2}])
"""


def test_a_disk_too_full_for_the_catalog_commits_nothing_either(folder):
    assert run(FULL_CATALOG, folder) == "StorageFull\n" * 3
    with anabranch.connect(folder, create=False) as lake:
        assert one(lake, "d.one") == [1, 2]


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-1500:]
    return done.stdout


# --- places that are no lake ------------------------------------------------------------------------------------------


def test_a_path_that_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    for create in (True, False):
        with pytest.raises(NotALake, match="file"):
            anabranch.connect(path, create=create)
    assert path.read_text() == "mine"


def test_a_path_below_a_file(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(AnabranchError, match="file"):
        anabranch.connect(tmp_path / "file" / "lake")


def test_a_folder_of_other_things_is_not_taken_over(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for create in (True, False):
        with pytest.raises(NotALake, match=str(tmp_path.name)):
            anabranch.connect(tmp_path, create=create)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_becomes_a_lake_only_when_asked(tmp_path):
    with pytest.raises(NotALake, match="init"):
        anabranch.connect(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []
    with anabranch.connect(tmp_path) as lake:
        assert lake.databases() == []


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_a_catalog_file_that_is_no_database(tmp_path, content):
    (tmp_path / "catalog.db").write_bytes(content)
    with pytest.raises(AnabranchError, match=r"catalog|lake"):
        anabranch.connect(tmp_path, create=False)
    assert (tmp_path / "catalog.db").read_bytes() == content


def test_a_database_of_someone_else_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("CREATE TABLE meta (mine TEXT)")
    connection.close()
    with pytest.raises(CatalogError):
        anabranch.connect(tmp_path)
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["meta"]
    connection.close()


def test_a_catalog_newer_than_this_release_is_refused(folder):
    connection = sqlite3.connect(folder / "catalog.db")
    connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    connection.commit()
    connection.close()
    with pytest.raises(CatalogVersionError, match=r"999.*[Uu]pgrade"):
        anabranch.connect(folder, create=False)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://nobody@/nothing?host=/nonexistent/socket",
        "postgresql+psycopg://nobody:secret@127.0.0.1:1/nothing",
        "mysql://nobody@127.0.0.1/nothing",
        "no url at all",
    ],
)
def test_a_catalog_that_cannot_be_reached(tmp_path, url):
    began = time.monotonic()
    with pytest.raises(CatalogUnreachable) as raised:
        anabranch.connect(tmp_path / "lake", catalog=url)
    assert time.monotonic() - began < 8
    assert "secret" not in str(raised.value)
    assert "cannot be reached" in str(raised.value)


def test_an_unknown_branch_or_durability_opens_nothing(folder):
    with pytest.raises(AnabranchError, match="nothing"):
        anabranch.connect(folder, branch="nothing")
    with pytest.raises(AnabranchError, match="'dev'"):
        anabranch.connect(folder, branch="devv")
    with pytest.raises(AnabranchError, match="sometimes"):
        anabranch.connect(folder, durability="sometimes")


def test_a_catalog_without_its_files_still_tells_what_was_there(lake, folder):
    shutil.rmtree(folder / "data")
    assert lake.table("d.t").count() == 2
    with pytest.raises(PartMissing, match=r"'d\.t'"):
        lake.table("d.t").to_arrow()
    told(lake, "INSERT INTO d.one VALUES (1)")
    assert rows(lake, "d.one") == [(1,)]
