"""Results on stdout: tables for people, JSON for programs."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from anabranch.cli.screen import shows_styles, width


def print_json(value: Any) -> None:
    print(json.dumps(plain(value), ensure_ascii=False))


def print_json_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """One array of objects on one line, written as the rows come."""
    names = distinct(columns)
    before = "["
    for row in rows:
        sys.stdout.write(before + json.dumps(dict(zip(names, map(plain, row), strict=True)), ensure_ascii=False))
        before = ", "
    print("]" if before == ", " else "[]")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Folded to the terminal's width; in a pipe or a file, as wide as it is."""
    # rich is slow to import, and `log` and `branch` do without.
    from rich.console import Console

    from anabranch.drawn import rendered

    styles: Literal["auto"] | None = "auto" if shows_styles(sys.stdout) else None
    console = Console(width=width(sys.stdout) or 10_000, highlight=False, color_system=styles)
    with console.capture() as captured:
        console.print(rendered(columns, rows))
    lines = (line.rstrip() for line in captured.get().splitlines())
    print("\n".join(line for line in lines if line))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells in columns, two spaces apart."""
    if not rows:
        return []
    widths = [max(map(shown_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(_padded, row, widths)).rstrip() for row in rows]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - shown_width(text))


def shown_width(text: str) -> int:
    """Of what a terminal shows: some characters take two places, others none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cell(value: Any) -> Any:
    """A value of a query for a table; numbers stay numbers, so that they stand to the right."""
    if value is None:
        return "NULL"
    if isinstance(value, str) and value.strip("'") == "NULL":
        return f"'{value}'"  # no NULL, but a text that reads like one
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(plain(value), ensure_ascii=False)
    return value


def plain(value: Any) -> Any:
    """A value as JSON has it: dates in ISO 8601, decimals as exact text, bytes in base64, NaN and infinity as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "asDict"):  # rows of Spark and of a Result, which are tuples too
        return plain(value.asDict())
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def _key(key: Any) -> str:
    key = plain(key)
    return key if isinstance(key, str) else json.dumps(key)


def distinct(columns: Sequence[str]) -> list[str]:
    """Keys of one object: a name that comes again gets a number."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names
