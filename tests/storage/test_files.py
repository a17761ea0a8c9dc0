"""Files under a root: written once, whole or not at all, whatever the folder is called."""

from __future__ import annotations

import errno
import math
import os
import pickle
import threading

import pytest

import anabranch
from anabranch.errors import StorageError
from anabranch.options import Limits
from anabranch.storage import files as files_module
from anabranch.storage.files import Files, local_path

ODD = ["a b", "x=y", "a[1]", "{brace}", "st*r", "日本 é", "100%25", "#hash", "que?ry", "slot=5", "a\\b", "co:lon"]


@pytest.mark.parametrize("name", ODD)
def test_odd_roots(tmp_path, name):
    files = Files(str(tmp_path / name), durable=True)
    files.write("f/x.bin", b"data")
    assert (tmp_path / name / "f" / "x.bin").read_bytes() == b"data"
    assert files.read("f/x.bin") == b"data"
    assert files.exists("f/x.bin")
    files.discard("f/x.bin")
    assert not files.exists("f/x.bin")
    files.discard("f/x.bin")


@pytest.mark.parametrize("name", ODD)
def test_a_lake_with_an_odd_path(tmp_path, name):
    with anabranch.connect(tmp_path / name, durability="process") as lake:
        lake.create_database("d")
        lake.create_table("d.t", "a INT").write({"a": [1, 2]})
        lake.table("d.t").delete("a = 1")
    with anabranch.connect(str(tmp_path / name), create=False) as lake:
        assert lake.table("d.t").to_arrow().to_pylist() == [{"a": 2}]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["a b=c [1] {x,y} st*r 日本é 100%25 #h que?ry", "slot=5"])
def test_spark_reads_an_odd_path(tmp_path, spark, name):
    limits = Limits(small_part=0, local_scan=-1)
    with anabranch.connect(tmp_path / name / "lake", spark=spark, limits=limits, durability="process") as lake:
        lake.create_database("d")
        table = lake.create_table("d.t", "a INT")
        for first in (0, 10):
            table.write({"a": [first, first + 1]})
        assert sorted(row.a for row in lake.sql("SELECT a FROM d.t").collect()) == [0, 1, 10, 11]
        table.delete("a = 10")
        assert sorted(row.a for row in lake.sql("SELECT a FROM d.t").collect()) == [0, 1, 11]
        lake.sql("INSERT INTO d.t SELECT a + 100 FROM d.t WHERE a < 2")
        assert sorted(table.to_arrow().column("a").to_pylist()) == [0, 1, 11, 100, 101]


def test_files_travel_as_url_and_options(tmp_path):
    files = Files(str(tmp_path), {"x": 1}, durable=False)
    files.write("a", b"1")  # its file system is open now
    copy = pickle.loads(pickle.dumps(files))
    assert (copy.url, copy.options, copy.durable) == (files.url, {"x": 1}, False)
    assert copy.read("a") == b"1"
    assert len(pickle.dumps(files)) < 300


def test_folders(tmp_path):
    inner = Files(str(tmp_path), durable=False).folder("data/t")
    inner.write("x", b"1")
    assert (tmp_path / "data" / "t" / "x").read_bytes() == b"1"
    assert inner.durable is False


@pytest.mark.parametrize(
    ("url", "name", "expected"),
    [
        ("/lake/data", "slot=1/x.parquet", "file:///lake/data/slot=1/x.parquet"),
        ("file:///lake/data/", "", "file:///lake/data"),
        ("s3://bucket/lake", "slot=1/x.parquet", "s3a://bucket/lake/slot=1/x.parquet"),
        ("s3a://bucket/lake/", "x", "s3a://bucket/lake/x"),
        ("gs://bucket/lake", "x", "gs://bucket/lake/x"),
        ("hdfs://host:9000/lake", "x", "hdfs://host:9000/lake/x"),
    ],
)
def test_addresses_for_spark(url, name, expected):
    assert Files(url).spark_url(name) == expected


def test_local_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert local_path("lake") == str(tmp_path / "lake")
    assert local_path("~/lake") == "/home/me/lake"
    assert local_path("file:///a/b") == "/a/b"


def test_what_cannot_be_opened():
    with pytest.raises(StorageError, match="'nonsense://x'"):
        _ = Files("nonsense://x").filesystem


def test_what_cannot_be_read_or_written(tmp_path):
    files = Files(str(tmp_path), durable=False)
    with pytest.raises(StorageError, match="none"):
        files.read("none")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="file"):
        files.write("file/x", b"1")


@pytest.mark.parametrize(("slow", "threads"), [(math.inf, 1), (0, 2)], ids=["a fast disk", "a slow disk"])
def test_a_file_and_both_folders_are_on_the_disk_before_a_write_returns(tmp_path, monkeypatch, slow, threads):
    synced, real = [], os.fsync

    def told(handle):
        real(handle)
        synced.append((os.readlink(f"/proc/self/fd/{handle}"), threading.get_ident()))

    monkeypatch.setattr(os, "fsync", told)
    monkeypatch.setattr(files_module, "_disk", files_module._Disk())
    monkeypatch.setattr(files_module._Disk, "SLOW", slow)  # more seconds than any disk takes, or less
    files = Files(str(tmp_path))
    for round_ in range(3):
        synced.clear()
        files.write(f"a/{round_}/x", b"x")
        assert {path for path, _ in synced} == {f"{tmp_path}/a/{round_}/x", f"{tmp_path}/a/{round_}", f"{tmp_path}/a"}
    assert len({thread for _, thread in synced}) == threads


def test_a_disk_is_slow_until_it_is_much_faster_again(monkeypatch):
    now, told = [0.0], []
    took = iter([0.001, 0.004, 0.002, 0.0005, 0.002])
    monkeypatch.setattr(files_module.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(files_module, "_sync", lambda path: now.append(now.pop() + next(took)))
    disk = files_module._Disk()
    for _ in range(5):
        told.append(disk._slow)
        disk.sync("file", ())
    assert told == [False, False, True, True, False]


def test_a_folder_that_cannot_be_synced_is_a_failed_write(tmp_path, monkeypatch):
    real = os.fsync

    def failing(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EIO, "broken")
        real(handle)

    monkeypatch.setattr(os, "fsync", failing)
    for _ in range(2):
        with pytest.raises(StorageError, match="broken"):
            Files(str(tmp_path)).write("a/b/x", b"x")
        assert not (tmp_path / "a" / "b" / "x").exists()
