"""What Python code hands over, checked where it comes in: text, names, mappings, switches.

The grammar of SQL leaves no doubt what a thing is; in Python it may be anything. What is of a wrong type is refused by
its parameter and its value, before anything is read or written.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from anabranch.errors import Refused

Names = str | Iterable[str]
"""Several names, or one."""
Value = TypeVar("Value")


def text(parameter: str, given: str, wanted: str = "text") -> str:
    if not isinstance(given, str):
        raise refused(parameter, wanted, given)
    return given


def text_or_none(parameter: str, given: str | None, wanted: str = "text") -> str | None:
    return None if given is None else text(parameter, given, wanted)


def condition(parameter: str, given: str | None) -> str | None:
    return text_or_none(parameter, given, "a condition in SQL, as text")


def name(kind: str, given: str) -> str:
    """What may be the name of a `kind`; whether there is one is another question."""
    if not isinstance(given, str):
        raise Refused(f"{reprlib.repr(given)} names no {kind}: write its name.")
    return given


def names(parameter: str, given: Names) -> tuple[str, ...]:
    """Several names; a text is one of them, not its letters."""
    if isinstance(given, str):
        return (given,)
    # A mapping or bytes can be iterated over, too, and do not mean names.
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, (Mapping, bytes)) else (None,)
    if not all(isinstance(one, str) for one in found):
        raise refused(parameter, "a list of names, or one name", given)
    return found  # type: ignore[return-value]  # all are text


def names_or_none(parameter: str, given: Names | None) -> tuple[str, ...] | None:
    return None if given is None else names(parameter, given)


def mapping(parameter: str, given: Mapping[str, Value], wanted: str, example: str) -> Mapping[str, Value]:
    """From text to whatever is `wanted`; the values are looked at elsewhere."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise refused(parameter, f"a mapping from {wanted}", given, f": write {example}")
    return given


def properties(parameter: str, given: Mapping[str, object]) -> dict[str, str]:
    """Names and values as text. A number, True and False are taken for what SQL writes without quotes."""
    wanted = ("names to texts", "{'name': 'value'}")
    found = dict(mapping(parameter, given, *wanted))
    if not all(isinstance(value, (str, int, float)) for value in found.values()):
        raise refused(parameter, f"a mapping from {wanted[0]}", given, f": write {wanted[1]}")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in found.items()}


def flag(parameter: str, given: bool) -> bool:
    if not isinstance(given, bool):
        raise refused(parameter, "True or False", given)
    return given


def refused(parameter: str, wanted: str, given: object, instead: str = "") -> Refused:
    return Refused(f"{parameter} is {wanted}, not {reprlib.repr(given)}{instead}.")
