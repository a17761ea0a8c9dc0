"""Timing, memory of a process tree, and what a benchmark reports.

Two sides are never timed one after the other but in turns, so that a slow minute of the machine hits both.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

Action = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds of every repetition, warm-up left out."""

    samples: tuple[float, ...]

    @property
    def min(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def __len__(self) -> int:
        return len(self.samples)


@dataclass(frozen=True)
class Line:
    """One measured number. `limit` None: shown for comparison, nothing is promised. `how` names both sides."""

    what: str
    measured: float
    limit: float | None
    unit: str
    how: str
    times: Mapping[str, float] | None = None
    """Seconds behind a ratio, for plots."""

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        return "ok" if self.measured <= self.limit else "MISSED"

    def cells(self) -> list[str]:
        limit = "" if self.limit is None else number(self.limit, self.unit)
        return [self.what, number(self.measured, self.unit), limit, self.verdict, self.how]

    def to_json(self) -> dict[str, Any]:
        body = asdict(self)
        body["measured"] = round(self.measured, 4)
        if self.times is None:
            del body["times"]
        else:
            body["times"] = {name: round(seconds, 5) for name, seconds in self.times.items()}
        return body


def number(value: float, unit: str) -> str:
    if unit == "×":
        return f"{value:.2f} ×" if value >= 0.1 else f"{value:.2g} ×"
    if unit in ("MB", ""):
        return f"{value:.0f} {unit}".rstrip()
    return f"{value:.2f} {unit}"


def timed(action: Action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_turns(
    sides: Mapping[str, Action],
    *,
    repeat: int,
    warm_up: int = 1,
    before: Action | None = None,
    ahead: Mapping[str, Action] | None = None,
) -> dict[str, Timing]:
    """Times every side once a round, in another order each round. `ahead` of a side, then `before` run untimed."""
    names = list(sides)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_up, repeat):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            if ahead is not None and name in ahead:
                ahead[name]()
            if before is not None:
                before()
            gc.collect()
            seconds = timed(sides[name])
            if turn >= 0:
                samples[name].append(seconds)
    return {name: Timing(tuple(found)) for name, found in samples.items()}


def ratio(what: str, limit: float | None, ours: Timing, theirs: Timing) -> Line:
    """The fastest of ours by the fastest of theirs: noise only ever adds."""
    how = f"{ours.min:.2f} s / {theirs.min:.2f} s, min of {len(ours)}"
    return Line(what, ours.min / theirs.min, limit, "×", how, {"ours": ours.min, "theirs": theirs.min})


def child(module: str, *args: object) -> Any:
    """Runs a file of this folder in a fresh process; what its last line says, as JSON."""
    done = subprocess.run(child_command(module, *args), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} ended with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def child_command(module: str, *args: object) -> list[str]:
    return [sys.executable, str(HERE / f"{module}.py"), *map(str, args)]


def report(body: Mapping[str, Any]) -> None:
    """What `child` reads."""
    print(json.dumps(body), flush=True)


def assert_no_spark() -> None:
    loaded = [name for name in sys.modules if name.partition(".")[0] in ("pyspark", "py4j")]
    if loaded:
        raise AssertionError(f"this path must not import Spark, but {loaded[0]} was imported")


# --- memory -----------------------------------------------------------------------------------------------------------


def peaks(command: Sequence[str], interval: float = 0.05) -> tuple[float, float, int]:
    """Runs a command. Gives the peak RSS in MB of its own process and of the largest Python process below it, and how
    many of these there were.

    The kernel keeps the peak (VmHWM), so only a process that is gone before it is seen once could be missed.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    own, workers = 0.0, dict[int, float]()
    while process.poll() is None:
        own = max(own, _peak(process.pid) or 0.0)
        for pid in _below(process.pid):
            if _is_python(pid) and (peak := _peak(pid)) is not None:
                workers[pid] = max(workers.get(pid, 0.0), peak)
        time.sleep(interval)
    output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise RuntimeError(f"the measured process ended with code {process.returncode}:\n{output}")
    return own, max(workers.values(), default=0.0), len(workers)


def _below(root: int) -> Iterable[int]:
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            text = _read(f"/proc/{entry}/stat")
            if text:
                parent = int(text.rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry))
    waiting = [root]
    while waiting:
        found = parents.get(waiting.pop(), [])
        yield from found
        waiting += found


def _is_python(pid: int) -> bool:
    words = _read(f"/proc/{pid}/cmdline").split("\0")
    return "python" in Path(words[0]).name


def _peak(pid: int) -> float | None:
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:  # the process is gone
        return ""
