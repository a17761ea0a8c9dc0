"""One file system behind a URL. Files are written once, in full, and never changed.

A part is visible only when the catalog says so, so a file that a crash left half-written is garbage, not damage.
`Files` pickles as its URL and options, so a kernel's task can carry it to any executor.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anabranch.errors import StorageError, StorageFull

if TYPE_CHECKING:
    from pyarrow import fs

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Files:
    """The files under one root. `durable`: a file is on the disk before its write returns."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None, *, durable: bool = True) -> None:
        self.url = url
        self.options = dict(options or {})
        self.durable = durable

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.url, self.options, self.durable)

    @cached_property
    def is_local(self) -> bool:
        return _scheme(self.url) in ("", "file")

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        from pyarrow import fs  # slow to import, and metadata alone does not need it

        if self.is_local:
            return fs.LocalFileSystem(), local_path(self.url)
        try:
            if self.options and _scheme(self.url) in ("s3", "s3a"):
                parts = urlsplit(self.url)
                return fs.S3FileSystem(**self.options), (parts.netloc + parts.path).rstrip("/")
            filesystem, root = fs.FileSystem.from_uri(self.url)
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise StorageError(f"the storage '{self.url}' cannot be opened: {error}. Check the URL.") from error
        return filesystem, root.rstrip("/")

    @property
    def filesystem(self) -> fs.FileSystem:
        return self._opened[0]

    @cached_property
    def root(self) -> str:
        return local_path(self.url) if self.is_local else self._opened[1]

    def folder(self, name: str) -> Files:
        """The files under a folder of this root."""
        return Files(f"{self.url.rstrip('/')}/{name}", self.options, durable=self.durable)

    def passing(self) -> Files:
        """The same files, for what may be lost with its process: nothing waits for the disk."""
        return Files(self.url, self.options, durable=False)

    def path(self, name: str) -> str:
        """The file system's own path of a name under the root."""
        return f"{self.root}/{name}"

    def spark_url(self, name: str = "") -> str:
        """The address under which Spark's reader finds a name."""
        if self.is_local:
            return "file://" + self.path(name).rstrip("/")
        url = self.url.rstrip("/")
        url = "s3a" + url[2:] if url.startswith("s3://") else url
        return f"{url}/{name}".rstrip("/")

    def create_parent(self, name: str) -> None:
        """Object stores have no folders; elsewhere the file's folder must exist."""
        parent = self.path(name).rpartition("/")[0]
        try:
            if self.is_local:
                os.makedirs(parent, exist_ok=True)
            else:
                self.filesystem.create_dir(parent, recursive=True)
        except OSError as error:
            raise self.failure(name, error) from error

    def settle(self, name: str) -> None:
        """Makes a finished file survive a power cut, if this store is durable; object stores do so by themselves."""
        if not (self.durable and self.is_local):
            return
        path = self.path(name)
        folder = os.path.dirname(path)
        _disk.sync(path, (folder, os.path.dirname(folder)))

    def write(self, name: str, data: bytes) -> None:
        self.create_parent(name)
        try:
            with self.filesystem.open_output_stream(self.path(name)) as stream:
                stream.write(data)
            self.settle(name)
        except OSError as error:
            self.discard(name)
            raise self.failure(name, error) from error

    def read(self, name: str) -> bytes:
        try:
            with self.filesystem.open_input_file(self.path(name)) as stream:
                return stream.read()
        except OSError as error:
            raise StorageError(f"'{self.path(name)}' cannot be read: {error}.") from error

    def exists(self, name: str) -> bool:
        from pyarrow import fs

        return self.filesystem.get_file_info(self.path(name)).type != fs.FileType.NotFound

    def discard(self, name: str) -> None:
        """Removes a file that nothing refers to; that it is not there is fine."""
        with contextlib.suppress(OSError):
            self.filesystem.delete_file(self.path(name))
        if self.is_local:
            with contextlib.suppress(OSError):  # its folder, if nothing else is there
                os.rmdir(os.path.dirname(self.path(name)))

    def listed(self, folder: str) -> list[str]:
        """The names of the files in a folder, without those below it."""
        from pyarrow import fs

        selector = fs.FileSelector(self.path(folder), recursive=False, allow_not_found=True)
        return [info.base_name for info in self.filesystem.get_file_info(selector) if info.is_file]

    def move(self, name: str, target: str) -> None:
        """Gives a finished file its place, and settles it there."""
        self.create_parent(target)
        try:
            self.filesystem.move(self.path(name), self.path(target))
            self.settle(target)
        except OSError as error:
            raise self.failure(target, error) from error

    def discard_folder(self, name: str) -> None:
        """Removes a folder that nothing refers to, with all that is in it; that it is not there is fine."""
        with contextlib.suppress(OSError):
            self.filesystem.delete_dir(self.path(name))

    def discard_slots(self, first: int, end: int) -> None:
        """Removes what a failed job wrote into its block of slots."""
        from pyarrow import fs

        selector = fs.FileSelector(self.root, recursive=False, allow_not_found=True)
        for info in self.filesystem.get_file_info(selector):
            slot = info.base_name.removeprefix("slot=")
            if slot.isdigit() and first <= int(slot) < end:
                with contextlib.suppress(OSError):
                    self.filesystem.delete_dir(info.path)

    def failure(self, name: str, error: OSError) -> StorageError:
        """The error that a failed write becomes."""
        code = error.errno
        if code is None:  # Arrow keeps the number in its text alone
            code = next((number for number in _NO_ROOM if f"[errno {number}]" in str(error).lower()), None)
        if code in _NO_ROOM:
            return StorageFull(self.path(name), os.strerror(code))
        return StorageError(f"'{self.path(name)}' cannot be written: {error}. Nothing was committed.")


class _Disk:
    """How this process waits for its disk: as the disk was the last time.

    A slow one is asked for a file and its folders at the same time, since it then flushes once for all of them. A fast
    one is asked by this thread: handing the folders to another costs more than they take, and twice as much where
    processes wait for a processor.
    """

    SLOW = 0.003

    def __init__(self) -> None:
        self._slow = False

    def sync(self, path: str, folders: Sequence[str]) -> None:
        began = time.perf_counter()
        if self._slow:
            others = _syncers(os.getpid()).submit(_sync_all, folders)
            try:
                _sync(path)
            finally:
                others.result()
        else:
            _sync_all((path, *folders))
        took = time.perf_counter() - began
        self._slow = took > (self.SLOW / 3 if self._slow else self.SLOW)


_disk = _Disk()


@lru_cache(maxsize=1)
def _syncers(pid: int) -> ThreadPoolExecutor:
    """Threads of this process; a fork of it has none of them, so it makes its own."""
    return ThreadPoolExecutor(8, thread_name_prefix=f"sync-{pid}")


def _sync_all(paths: Iterable[str]) -> None:
    for path in paths:
        _sync(path)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reopened(url: str, options: Mapping[str, Any], durable: bool) -> Files:
    return Files(url, options, durable=durable)


def _scheme(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else ""


def local_path(url: str) -> str:
    """The absolute path of a local URL or path."""
    path = url[len("file://") :] if url.startswith("file://") else url
    return os.path.abspath(os.path.expanduser(path))
