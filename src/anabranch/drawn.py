"""Tables as text, for people: what results and conflicts print as."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any

from anabranch.texts import escaped, written

Cell = Callable[[Any], str]
"""What a value is shown as."""


def shown(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return ", ".join(f"{key}={written(item)}" for key, item in value.items())
    return escaped(str(value), but="\n\t")


def value_shown(value: Any) -> str:
    """A value of a user's row, whole: two that differ look different."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return shown(value) if isinstance(value, (date, dict)) else written(value, sys.maxsize)


def rendered(columns: Sequence[str], rows: Iterable[Sequence[Any]], cell: Cell = shown) -> Any:
    """A rich table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    told = list(rows)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        numbers = all(isinstance(row[place], (int, float)) for row in told) and bool(told)
        table.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for row in told:
        table.add_row(*(Text(cell(value)) for value in row))  # not markup: "[/b]" is a value
    return table


def drawn(columns: Sequence[str], rows: Iterable[Sequence[Any]], cell: Cell = shown) -> str:
    """The same as plain text."""
    from rich.console import Console

    console = Console(width=160, force_terminal=False, no_color=True)
    with console.capture() as captured:
        console.print(rendered(columns, rows, cell))
    lines = (line.rstrip() for line in captured.get().splitlines())
    return "\n".join(line for line in lines if line)
