"""Plots of bench/results.json for docs/benchmarks.md: one message each, said in the title.

What a plot shows is decided here, from lines by their names; `drawing.py` draws it. A plot whose lines were not
measured is left out, and the file that an earlier run made stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
from drawing import Bar, Bars, Curve, draw
from measure import Line

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "plots"

Lines = Mapping[str, Sequence[Line]]


def draw_all(results: Mapping[str, Any]) -> dict[str, str]:
    """Draws what was measured; file name -> title."""
    subjects = results["subjects"]
    lines = {name: [Line(**body) for body in entry["lines"]] for name, entry in subjects.items()}
    FOLDER.mkdir(exist_ok=True)
    drawn = {}
    for name, (about, decide) in PLOTS.items():
        shown = decide(lines, results["rows"])
        if shown is not None:
            load = max(subjects[subject]["load"] for subject in about if subject in subjects)
            if machine.is_busy(load):
                shown = replace(shown, note=f"{shown.note}\nMeasured beside other work: load {load:.0f}.")
            # No date and no version inside: the same numbers give the same file.
            draw(shown).savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
            drawn[f"{name}.png"] = shown.title
    return drawn


def merge_one_percent(lines: Lines, rows: int) -> Bars | None:
    found = _merging(lines, rows // 100)
    ours, theirs = _apart(found)
    if not ours or not theirs:
        return None
    groups: dict[str, list[str]] = {"Merge-on-read": [], "Copy-on-write": [], "Primary key": []}
    for name in sorted(found, key=lambda name: (name not in ours, found[name])):
        groups[_group(name)].append(name)
    bars = [
        Bar(name, found[name], _seconds(found[name]), name in ours, None if place else heading)
        for heading, names in groups.items()
        for place, name in enumerate(names)
    ]
    title = f"MERGE INTO of 1 %: {_spread(ours, theirs)}"
    return Bars(title, _merge_note(rows // 100, rows), tuple(bars))


def _group(name: str) -> str:
    if "copy-on-write" in name:
        return "Copy-on-write"
    return "Primary key" if "keyed" in name or "primary key" in name else "Merge-on-read"


def merge_thousand(lines: Lines, rows: int) -> Bars | None:
    found = _merging(lines, 1_000)
    local = [line for line in lines.get("merge_into", ()) if line.what.endswith("keyed upsert of 1,000 local rows")]
    if local:
        found["Anabranch, keyed upsert of local rows"] = local[0].measured / 1000
    ours, theirs = _apart(found)
    if not ours or not theirs:
        return None
    names = sorted(found, key=lambda name: found[name])
    bars = [Bar(name, found[name], _seconds(found[name]), name in ours) for name in names]
    title = f"MERGE INTO of 1,000 rows: {_spread(ours, theirs)}"
    return Bars(title, _merge_note(1_000, rows) + " Logarithmic.", tuple(bars), log=True)


def keyed_against_paimon(lines: Lines, rows: int) -> Bars | None:
    found = [(line, line.times) for line in lines.get("paimon", ()) if line.times]
    if not found:
        return None
    bars = []
    for line, times in found:
        name = line.what.removesuffix(" / Paimon's").removesuffix(", after the first")
        aside = f"{_seconds(times['ours'])} / {_seconds(times['theirs'])}"
        bars.append(Bar(name[0].upper() + name[1:], line.measured, f"{line.measured:.2g}", ours=True, aside=aside))
    shares = [bar.value for bar in bars]
    title = f"Keyed tables take {min(shares):.2g} to {max(shares):.2g} of Paimon's time"
    note = f"{rows:,} rows. Shorter is better; at the right, our time / Paimon's."
    return Bars(title, note, tuple(bars), mark=(1.0, "Paimon 0.9"))


def merges_by_size(lines: Lines, rows: int) -> Curve | None:
    marked = " narrow rows: "
    found = [line for line in lines.get("huge", ()) if marked in line.what]
    if not found:
        marked = " rows: "
        found = [line for line in lines.get("merge", ()) if line.what.startswith("MERGE BRANCH, detect = file, ")]
    points = tuple(
        (int(line.what.partition(marked)[0].rpartition(" ")[2].replace(",", "")), line.measured) for line in found
    )
    if len(points) < 2:
        return None
    (fewest, quick), (most, slow) = points[0], points[-1]
    title = f"Merging branches: {most // fewest} times the rows, {slow / quick:.1f} times the time"
    note = "MERGE BRANCH of 1,000 rows inserted on one side and 1,000 updated on the other, with fsync, without a JVM."
    return Curve(title, note, points)


PLOTS: dict[str, tuple[tuple[str, ...], Callable[[Lines, int], Bars | Curve | None]]] = {
    "merge-into-1-percent": (("merge_into",), merge_one_percent),
    "merge-into-1000-rows": (("merge_into",), merge_thousand),
    "keyed-against-paimon": (("paimon",), keyed_against_paimon),
    "merge-branch-by-size": (("huge", "merge"), merges_by_size),
}
"""File name -> the subjects that it is about, and what it shows."""


def _merging(lines: Lines, count: int) -> dict[str, float]:
    """Who -> seconds of a MERGE INTO of that many rows."""
    from merge_into import MERGING

    begin = MERGING.format(count=count)
    return {
        line.what.removeprefix(begin): line.measured
        for line in lines.get("merge_into", ())
        if line.what.startswith(begin)
    }


def _apart(found: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    ours = {name: seconds for name, seconds in found.items() if name.startswith("Anabranch")}
    return ours, {name: seconds for name, seconds in found.items() if name not in ours}


def _spread(ours: dict[str, float], theirs: dict[str, float]) -> str:
    best = min(theirs, key=lambda name: theirs[name])
    least, most = _seconds(min(ours.values())), _seconds(max(ours.values()))
    return f"{least} to {most}; fastest peer, {best.partition(',')[0]}: {_seconds(theirs[best])}"


def _merge_note(count: int, rows: int) -> str:
    return f"Seconds for {count:,} rows from Parquet into {rows:,}; half match at random, half are new. Two cores."


def _seconds(value: float) -> str:
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"
