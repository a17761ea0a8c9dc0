"""The zone of times that name none. Kernels here know UTC alone; a Spark session may have another one.

Whoever evaluates for a session says how to ask it (`zone_of`); it is asked only when a kernel needs the answer. Without
a session, and in tasks, whose rows Spark has cast before, the zone is UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from anabranch.errors import NeedsSpark
from anabranch.expressions.alone import function_name

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


def may_ask_zone(tree: exp.Expression, times: Collection[str]) -> bool:
    """Whether another zone may give another value, by the text: it speaks of one of the columns `times`, or makes times
    of something else."""
    if any(column.parts[0].name in times for column in tree.find_all(exp.Column)):
        return True
    if any(cast.to.is_type(*_TIMES) for cast in tree.find_all(exp.Cast)):
        return True
    return any(word in function_name(node) for node in tree.find_all(exp.Func) for word in ("time", "unix"))


_TIMES = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ)
