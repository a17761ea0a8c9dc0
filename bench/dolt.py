"""The cell merge of a million rows, against Dolt's merge of the same: `doltlite` from PyPI, in a venv of its own.

Every repetition sets other values. Dolt stores blocks by their content: a merge that gives the rows of an earlier one
finds them there and writes a kilobyte instead of all blocks that hold a changed row. Both sync once, at the end: Dolt
its only file, ours the catalog.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from typing import Any

from measure import HERE, Line, assert_no_spark, child_command, timed

WARM_UP, REPEAT, CHANGED = 5, 41, 1_000
VENV = HERE / "data" / "doltlite-venv"
LAYOUTS = ("side by side", "scattered")


def changes(layout: str, rows: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """(column, rows) of ours and of theirs: a thousand each, interleaved."""
    if layout == "scattered":
        return ("b", f"id * 7919 % {rows // CHANGED} = 1"), ("a", f"id * 7919 % {rows // CHANGED} = 0")
    return ("b", f"id < {2 * CHANGED} AND id % 2 = 1"), ("a", f"id < {2 * CHANGED} AND id % 2 = 0")


def step(number: int) -> int:
    """What the changed values of a repetition grow by; those of the warm-up are negative."""
    return number + WARM_UP + 1


def run(context: Any) -> Iterator[Line]:
    rows = context.rows // 10
    python = _python(context)
    if python is None:
        return
    context.say(f"Dolt, {rows:,} rows")
    for layout in LAYOUTS:
        times = _in_turns(
            {
                "ours": child_command("dolt", "ours", context.folder("against-dolt"), rows, layout),
                "theirs": [str(python), __file__, "dolt", str(context.folder("dolt")), str(rows), layout],
            }
        )
        ours, theirs = median(times["ours"]), median(times["theirs"])
        what = (
            f"MERGE BRANCH, detect = cell, {rows:,} rows, 1,000 updated on each side, {layout} / dolt_merge of the same"
        )
        how = (
            f"{1000 * ours:.1f} ms / {1000 * theirs:.1f} ms, medians of {REPEAT} in turns after {WARM_UP}, "
            "both with fsync"
        )
        yield Line(what, ours / theirs, 1.0, "×", how)


def _in_turns(commands: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
    """Both processes make ready, then merge once a round: whatever else the machine does meets them alike."""
    samples: dict[str, list[float]] = {name: [] for name in commands}
    with ExitStack() as stack:
        sides = {
            name: stack.enter_context(Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True))
            for name, command in commands.items()
        }
        for turn in range(-WARM_UP - 1, REPEAT):  # the first answer says that a side is ready
            for name, side in sides.items():
                seconds = _asked(name, side)
                if turn >= 0:
                    samples[name].append(seconds)
        for side in sides.values():
            side.communicate()
    return samples


def _asked(name: str, side: Popen[str]) -> float:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write("\n")
    side.stdin.flush()
    answer = side.stdout.readline()
    if not answer:
        raise RuntimeError(f"the side of {name} failed:\n{side.communicate()[1]}")
    return float(answer)


def _answer(seconds: Iterator[float]) -> None:
    """A side's own loop: one more of these for every line."""
    for _ in sys.stdin:
        print(next(seconds), flush=True)


def _python(context: Any) -> Path | None:
    """The Python that has doltlite; None, and a line that says so, if it cannot be installed."""
    python = VENV / "bin" / "python"
    if not python.exists():
        context.say("installing doltlite")
        venv.create(VENV, with_pip=True, clear=True)
    probe = [str(python), "-c", "import doltlite"]
    install = [str(python), "-m", "pip", "install", "--quiet", "doltlite"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            context.say(f"Dolt is left out: doltlite cannot be installed ({done.stderr.strip().splitlines()[-1:]})")
            return None
    return python


def merges_of_ours(folder: Path, rows: int, layout: str) -> Iterator[float]:
    """Seconds of each merge; the first is none, and comes when the rows are there."""
    from merge import fill

    import anabranch

    lake = anabranch.connect(folder)
    fill(lake, rows)
    yield 0.0
    for number in range(-WARM_UP, REPEAT):
        name = f"theirs-{number}"
        ours, theirs = lake.create_branch(f"ours-{number}"), lake.create_branch(name)
        for side, (column, where) in zip((ours, theirs), changes(layout, rows), strict=True):
            side.table("d.t").update({column: f"{column} + {step(number)}"}, where)
        yield timed(lambda o=ours, t=name: o.merge(t, detect="cell"))  # type: ignore[misc]
        assert_no_spark()


def merges_of_dolt(folder: Path, rows: int, layout: str) -> Iterator[float]:
    import doltlite  # noqa: F401, I001  # type: ignore[import-not-found]  # before sqlite3, which it replaces
    import sqlite3

    folder.mkdir(parents=True)
    db = sqlite3.connect(folder / "dolt.db", isolation_level=None)

    def sql(text: str) -> list[Any]:
        return db.execute(text).fetchall()

    sql("CREATE TABLE t (id INTEGER PRIMARY KEY, a BIGINT, b BIGINT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?, ?, ?)", ((n, n * 7919 % rows, n * 7919 % rows) for n in range(rows)))
    db.execute("COMMIT")
    sql("SELECT dolt_commit('-A', '-m', 'rows')")
    yield 0.0
    for number in range(-WARM_UP, REPEAT):
        for branch, (column, where) in zip((f"ours{number}", f"theirs{number}"), changes(layout, rows), strict=True):
            sql("SELECT dolt_checkout('main')")
            sql(f"SELECT dolt_checkout('-b', '{branch}')")
            sql(f"UPDATE t SET {column} = {column} + {step(number)} WHERE {where}")
            sql("SELECT dolt_commit('-A', '-m', 'changed')")
        sql(f"SELECT dolt_checkout('ours{number}')")
        seconds = timed(lambda n=number: sql(f"SELECT dolt_merge('theirs{n}')"))  # type: ignore[misc]
        if sql("SELECT sum(a) + sum(b) - 2 * sum(id) FROM t") != [(2 * CHANGED * step(number),)]:
            raise AssertionError("Dolt's merge gave other rows")
        yield seconds


if __name__ == "__main__":
    sides = {"ours": merges_of_ours, "dolt": merges_of_dolt}
    _answer(sides[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
