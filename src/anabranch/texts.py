"""Values of rows as a person reads them: on one line, cut if they are long, and harmless to a terminal. And numbers as
one writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONG = 80
"""So much of a value tells a person which it is."""
_LONG_WORDS = 400
"""Words may name conditions of statements."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Line breaks and other characters that would take a text out of its place, or that a terminal obeys."""


_DIGITS = re.compile(r"[0-9]{1,600}")
"""Far more than any version or size has; `int` refuses thousands of them."""


def is_number(text: str) -> bool:
    """Whether this is a whole number as SQL writes it: `str.isdigit` also takes the digits of all other scripts."""
    return _DIGITS.fullmatch(text) is not None


def named_values(row: Mapping[str, Any]) -> str:
    """`id = 1, name = tea, price = NULL`."""
    return ", ".join(f"{name} = {written(value)}" for name, value in row.items())


def written(value: Any, long: int = LONG) -> str:
    """A value as SQL writes it, on one line, and cut if it is long."""
    if isinstance(value, str):
        # No NULL, but a text that reads like one; nor nothing.
        return f"'{value}'" if value.strip("'") in ("", "NULL") else one_line(value, long)
    if isinstance(value, bytes):
        return f"X'{value[: long // 2].hex().upper()}{'…' if len(value) > long // 2 else ''}'"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return cut(escaped(str(value)), long)


def one_line(text: str, long: int = LONG) -> str:
    """Text with line breaks or the like as SQL writes it, in quotes; and cut if it is long."""
    short = cut(text, long)
    if not _CONTROLS.search(short):
        return short
    return "'" + escaped(short.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def escaped(text: str, *, but: str = "") -> str:
    """Without control characters, but those that are allowed: `\\n`, `\\x1b`."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in but else _code(found[0]), text)


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()


def words(text: str) -> str:
    """What is said of a row or column instead of values, on one line."""
    return escaped(cut(text, _LONG_WORDS))


def cut(text: str, long: int = LONG) -> str:
    return text if len(text) <= long else f"{text[: long - 1]}…"


def brief(row: Any) -> str:
    """`repr`, in which long values of a row are cut."""
    if isinstance(row, Mapping):
        return f"{{{', '.join(f'{name!r}: {cut(repr(value))}' for name, value in row.items())}}}"
    return cut(repr(row), _LONG_WORDS)
