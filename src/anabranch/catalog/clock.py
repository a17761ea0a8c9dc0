"""The time, in microseconds since 1970, UTC."""

from __future__ import annotations

import time


def now_us() -> int:
    return time.time_ns() // 1000
