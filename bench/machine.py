"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import subprocess
from pathlib import Path

from measure import timed


def describe(work: Path) -> dict[str, str]:
    import pyarrow
    import pyspark

    return {
        "cpu": f"{os.cpu_count()} cores, {_cpu()}",
        "memory": f"{_memory_gb():.0f} GB",
        "disk": f"{1000 * _fsync(work):.1f} ms for an fsync of 4 KB",
        "python": platform.python_version(),
        "java": _java(),
        "spark": pyspark.__version__,
        "pyarrow": pyarrow.__version__,
        "sqlite": sqlite3.sqlite_version,
    }


def load() -> float:
    """How busy the machine is; more than a little, and the numbers are noisy."""
    return os.getloadavg()[0]


def is_busy(load: float) -> bool:
    """More than the subject before could have left: something else was running."""
    return load > 3 * (os.cpu_count() or 1)


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    text = subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stderr
    return text.partition('"')[2].partition('"')[0]


def _fsync(folder: Path) -> float:
    """Median seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "fsync"
    with path.open("wb") as file:

        def once() -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        found = statistics.median(timed(once) for _ in range(20))
    path.unlink()
    return found
