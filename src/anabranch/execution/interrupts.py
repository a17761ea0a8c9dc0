"""Ctrl-C while Spark starts: it waits until the JVM listens.

PySpark tells the JVM a file for its answer, and an interrupt takes the file's folder away. A JVM that comes too late
for it neither ends nor notices that this process does: it stays for ever, and so does whoever reads its output.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HELD_SECONDS = 60
"""A JVM listens by then, however busy the machine is. What still starts waits for a cluster, and may be left."""


@contextmanager
def held_back(seconds: float = HELD_SECONDS) -> Iterator[None]:
    """An interrupt within the block, and within its first seconds, is answered when the block ends."""
    answer = signal.getsignal(signal.SIGINT)
    deadline = time.monotonic() + seconds
    held: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if time.monotonic() > deadline and callable(answer):
            answer(number, frame)
        held.append((number, frame))

    if not callable(answer) or not _handled(hold):  # it is ignored, or ends the process at once, which harms nobody
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) == hold:  # a session that started has a handler of its own
            signal.signal(signal.SIGINT, answer)
        if held:
            answer(*held[0])


def _handled(handler: object) -> bool:
    try:
        signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    except ValueError:
        return False  # not in the main thread, which alone is interrupted
    return True
