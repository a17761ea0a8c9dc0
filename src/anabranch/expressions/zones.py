"""The zone of times that name none. Kernels here know UTC alone; a Spark session may have another one.

Whoever evaluates for a session says how to ask it (`zone_of`); it is asked only when a kernel needs the answer. Without
a session, and in tasks, whose rows Spark has cast before, the zone is UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anabranch.errors import NeedsSpark

_reads_utc: ContextVar[Callable[[], bool]] = ContextVar("reads_utc", default=lambda: True)


@contextmanager
def zone_of(reads_utc: Callable[[], bool]) -> Iterator[None]:
    """Inside, what depends on the zone raises NeedsSpark unless `reads_utc` says that it is UTC."""
    token = _reads_utc.set(reads_utc)
    try:
        yield
    finally:
        _reads_utc.reset(token)


def need_utc(what: str) -> None:
    if not _reads_utc.get()():
        raise NeedsSpark(f"{what} in another time zone than UTC")
