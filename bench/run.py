"""All benchmarks, in one command.

    bench/run.py                          everything, 10M rows; writes bench/results.json
    bench/run.py --only scan,delete       some subjects; the others keep their last numbers
    bench/run.py --rows 1000000           a quick run; bench/results.json is left alone
    bench/run.py --write-docs             puts the table of bench/results.json into docs/benchmarks.md, and its plots

A number over its limit says MISSED. The exit code is 1 if something could not be measured at all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import appends
import branches
import data
import delete
import depth
import dolt
import huge
import keyed_kernels
import load
import machine
import memory
import merge
import paimon
import planning
import plots
import scan
import small_writes
import startup
import to_arrow
from context import Context
from measure import Line

import keyed
import merge_into

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
DOCS = HERE.parent / "docs" / "benchmarks.md"

SUBJECTS: dict[str, Callable[[Context], Iterator[Line]]] = {
    "startup": startup.run,
    "small_writes": small_writes.run,
    "appends": appends.run,
    "branches": branches.run,
    "merge": merge.run,
    "keyed_kernels": keyed_kernels.run,
    "huge": huge.run,
    "dolt": dolt.run,
    "memory": memory.run,
    "load": load.run,
    "scan": scan.run,
    "delete": delete.run,
    "to_arrow": to_arrow.run,
    "depth": depth.run,
    "planning": planning.run,
    "keyed": keyed.run,
    "paimon": paimon.run,
    "merge_into": merge_into.run,
}
"""In the order in which they run: what measures milliseconds comes before a JVM is there."""


def main() -> int:
    options = _options()
    if options.list:
        for name, run in SUBJECTS.items():
            print(f"{name:14}{(sys.modules[run.__module__].__doc__ or '').splitlines()[0]}")
        return 0
    if options.write_docs:
        results = json.loads(RESULTS.read_text())
        write_docs(results, plots.draw_all(results))
        return 0
    return measure(options.only or list(SUBJECTS), options.rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_subjects, metavar="A,B", help="subjects to run; see --list")
    parser.add_argument("--rows", type=int, default=data.FULL, help="rows of the large table")
    parser.add_argument("--list", action="store_true", help="show the subjects and stop")
    parser.add_argument(
        "--write-docs", action="store_true", help="measure nothing; write docs/benchmarks.md and docs/plots/"
    )
    return parser.parse_args()


def _subjects(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"unknown subject '{', '.join(unknown)}'; known: {', '.join(SUBJECTS)}")
    return [name for name in SUBJECTS if name in names]


def measure(names: list[str], rows: int) -> int:
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {what}", file=sys.stderr, flush=True)

    work = data.CACHE / "work"
    shutil.rmtree(work, ignore_errors=True)
    results = _results(rows, machine.describe(work))
    context, failed = Context(rows, work, say), False
    try:
        for name in names:
            say(f"{name} (load average {machine.load():.1f})")
            entry: dict[str, Any] = {"date": date.today().isoformat(), "load": machine.load(), "lines": []}
            try:
                for line in SUBJECTS[name](context):
                    say("    " + " | ".join(line.cells()))
                    entry["lines"].append(line.to_json())
            except Exception as error:  # the other subjects are still worth measuring
                failed = True
                entry["error"] = str(error) or type(error).__name__
                say(f"    {name} FAILED: {entry['error']}")
            results["subjects"][name] = entry
            _save(results, rows)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _show(results, names)
    return int(failed)


def _path(rows: int) -> Path:
    return RESULTS if rows == data.FULL else data.CACHE / f"results-{rows}.json"


def _results(rows: int, here: dict[str, str]) -> dict[str, Any]:
    """The earlier results, if they are from this machine: a subject that is not run keeps its numbers."""
    path = _path(rows)
    if path.exists():
        found = json.loads(path.read_text())
        if all(found["machine"].get(key) == value for key, value in here.items() if key != "disk"):
            found["machine"] = here
            return found
    return {"rows": rows, "machine": here, "subjects": {}}


def _save(results: dict[str, Any], rows: int) -> None:
    results["subjects"] = {name: results["subjects"][name] for name in SUBJECTS if name in results["subjects"]}
    _path(rows).write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


def _lines(entry: dict[str, Any]) -> list[Line]:
    return [Line(**body) for body in entry["lines"]]


HEADINGS = ["what", "measured", "at most", "", "how"]


def _show(results: dict[str, Any], names: list[str]) -> None:
    rows = [line.cells() for name in names for line in _lines(results["subjects"][name])]
    widths = [max(len(row[i]) for row in [HEADINGS, *rows]) for i in range(len(HEADINGS))]
    for row in [HEADINGS, ["-" * width for width in widths], *rows]:
        cells = [row[i].rjust(width) if i in (1, 2) else row[i].ljust(width) for i, width in enumerate(widths)]
        print("  ".join(cells).rstrip())
    for name in names:
        if "error" in results["subjects"][name]:
            print(f"{name} FAILED: {results['subjects'][name]['error']}")


def write_docs(results: dict[str, Any], drawn: dict[str, str]) -> None:
    """Replaces what stands between the markers: the table, and the plots with their titles."""
    pictures = "\n\n".join(f"![{title}](plots/{file})" for file, title in drawn.items())
    text = DOCS.read_text()
    for mark, body in (("results", _markdown(results)), ("plots", pictures)):
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        if not after:
            raise SystemExit(f"{DOCS.name} has lost its markers {begin} and {end}")
        text = f"{before}{begin}\n{body}\n{end}{after}"
    DOCS.write_text(text)


def _markdown(results: dict[str, Any]) -> str:
    entries = results["subjects"]
    dates = sorted({entry["date"] for entry in entries.values()})
    loads = [entry["load"] for entry in entries.values()]
    here = results["machine"]
    machine_line = (
        f"Measured {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}, {results['rows']:,} rows, on {here['cpu']}, "
        f"{here['memory']} memory, {here['disk']}; Python {here['python']}, Java {here['java']}, "
        f"Spark {here['spark']}, pyarrow {here['pyarrow']}, SQLite {here['sqlite']}. "
        f"Load average when the subjects began: {min(loads):.1f} to {max(loads):.1f}."
    )
    busy = [f"{name} ({entry['load']:.0f})" for name, entry in entries.items() if machine.is_busy(entry["load"])]
    if busy:
        machine_line += f" **Measured beside other work, so not to be relied on:** {', '.join(busy)}."
    table = ["| what | measured | at most | | how |", "|---|---:|---:|---|---|"]
    for entry in entries.values():
        table += ["| " + " | ".join(line.cells()) + " |" for line in _lines(entry)]
        if "error" in entry:
            table.append(f"| {entry['error'].splitlines()[0]} | | | FAILED | |")
    return "\n".join([machine_line, "", *table])


if __name__ == "__main__":
    sys.exit(main())
