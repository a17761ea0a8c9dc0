"""Starting: `import anabranch`, opening a lake, and `anabranch log`, each in a fresh process, against bare Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from context import Context
from measure import Line, in_turns

COMMITS = 50
NO_SPARK = "import sys; assert not {name for name in sys.modules if name.startswith(('pyspark', 'py4j'))}"


def run(context: Context) -> Iterator[Line]:
    import anabranch

    folder = context.folder("startup")
    with anabranch.connect(folder) as lake:
        for number in range(COMMITS):
            lake.create_database(f"d{number}")
    command = [str(Path(sys.executable).with_name("anabranch")), "--lake", str(folder), "log"]
    python = [sys.executable, "-c"]
    open_lake = f"import anabranch; anabranch.connect({str(folder)!r}, create=False).log()"
    sides = {
        "bare": [*python, "pass"],
        "import": [*python, "import anabranch"],
        "open": [*python, open_lake],
        "log": command,
    }
    for text in ("import anabranch", open_lake):
        _run([*python, f"{text}\n{NO_SPARK}"])
    times = in_turns({name: _runner(words) for name, words in sides.items()}, repeat=11, warm_up=2)

    def line(what: str, name: str, limit: float | None) -> Line:
        how = f"median of {len(times[name])}, min {times[name].min:.2f} s; whole process"
        return Line(what, times[name].median, limit, "s", how)

    yield line("python -c pass", "bare", None)
    yield line("import anabranch", "import", 0.3)
    yield line("import, connect, log() in Python", "open", None)
    yield line("anabranch log", "log", 0.7)
    imported = _run(command, PYTHONPROFILEIMPORTTIME="1").stderr
    if "pyspark" in imported or "py4j" in imported:
        raise AssertionError("`anabranch log` imports Spark")


def _runner(command: Sequence[str]) -> Callable[[], object]:
    return lambda: _run(command)


def _run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
