"""How plots look: bars, dots on a logarithmic scale, or a curve; every value has its label, and that is all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OURS, THEIRS = "#1769aa", "#b4b9bf"
INK, FAINT, THREAD = "#22272e", "#6b737c", "#e6e8ea"
WIDTH, BAR = 8.4, 0.42
"""Inches: of a plot, and of the room for one bar."""
HEADING = 0.9
"""The room for a heading, in bars."""


@dataclass(frozen=True)
class Bar:
    """`text` stands at its end, `aside` at the right margin. `heading`: a group begins here."""

    name: str
    value: float
    text: str
    ours: bool
    heading: str | None = None
    aside: str = ""


@dataclass(frozen=True)
class Bars:
    """`log`: dots on a logarithmic scale, because a bar has no beginning there. `mark`: a value that all are compared
    with, and its name."""

    title: str
    note: str
    bars: tuple[Bar, ...]
    log: bool = False
    mark: tuple[float, str] | None = None


@dataclass(frozen=True)
class Curve:
    """Milliseconds by rows of the table."""

    title: str
    note: str
    points: tuple[tuple[int, float], ...]


def draw(shown: Bars | Curve) -> Any:
    """A matplotlib figure."""
    return _bars(shown) if isinstance(shown, Bars) else _curve(shown)


def _figure(height: float, title: str, note: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    axes = figure.add_subplot()
    figure.text(0.02, 1 - 0.30 / height, title, fontsize=13, fontweight="bold", color=INK, va="center")
    figure.text(0.02, 1 - 0.62 / height, note, fontsize=9, color=FAINT, va="center")
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, labelsize=10, labelcolor=INK)
    return figure, axes


def _bars(shown: Bars) -> Any:
    headings = sum(bar.heading is not None for bar in shown.bars)
    height = 1.0 + BAR * (len(shown.bars) + HEADING * headings)
    figure, axes = _figure(height, shown.title, shown.note)
    figure.subplots_adjust(left=0.40, right=0.97, top=1 - 0.9 / height, bottom=0.1 / height)
    values = [bar.value for bar in shown.bars]
    margin = axes.get_yaxis_transform()
    places, place = [], 0.0
    for bar in shown.bars:
        if bar.heading is not None:
            axes.text(
                -0.66, place, bar.heading, fontsize=10, fontweight="bold", color=FAINT, va="center", transform=margin
            )
            place += HEADING
        color, weight = (OURS, "bold") if bar.ours else (THEIRS, "normal")
        if shown.log:
            axes.plot([min(values) / 2, bar.value], [place, place], color=THREAD, linewidth=1.5, zorder=0)
            axes.plot(bar.value, place, "o", color=color, markersize=11)
        else:
            axes.barh(place, bar.value, height=0.66, color=color)
        end = {"xytext": (10 if shown.log else 5, 0), "textcoords": "offset points", "va": "center", "fontsize": 10}
        axes.annotate(bar.text, (bar.value, place), color=INK, fontweight=weight, **end)
        axes.text(1, place, bar.aside, fontsize=9, color=FAINT, ha="right", va="center", transform=margin)
        places.append(place)
        place += 1
    axes.set_yticks(places, [bar.name for bar in shown.bars])
    axes.set_ylim(place - 0.4, -0.6)
    if shown.log:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2, max(values) * 3)
    else:
        axes.set_xlim(0, max(*values, 1.0) * 1.45 if shown.mark else max(values) * 1.15)
    axes.set_xticks([])
    axes.minorticks_off()
    if shown.mark is not None:
        value, name = shown.mark
        axes.axvline(value, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.text(value, -0.65, name, fontsize=9, color=INK, ha="center", va="bottom")
    return figure


def _curve(shown: Curve) -> Any:
    height = 3.4
    figure, axes = _figure(height, shown.title, shown.note)
    figure.subplots_adjust(left=0.06, right=0.95, top=1 - 1.0 / height, bottom=0.5 / height)
    sizes = [rows for rows, _ in shown.points]
    times = [milliseconds for _, milliseconds in shown.points]
    axes.plot(range(len(sizes)), times, color=OURS, linewidth=2, marker="o", markersize=8)
    for place, milliseconds in enumerate(times):
        axes.annotate(
            f"{milliseconds:.1f} ms",
            (place, milliseconds),
            xytext=(0, 10),
            textcoords="offset points",
            ha="center",
            fontsize=10,
            fontweight="bold",
            color=INK,
        )
    axes.set_xticks(range(len(sizes)), [f"{rows // 1_000_000:,} million rows" for rows in sizes])
    axes.set_xlim(-0.4, len(sizes) - 0.6)
    axes.set_ylim(0, max(times) * 1.6)
    axes.set_yticks([])
    axes.axhline(0, color=FAINT, linewidth=1)
    return figure
