"""Values of rows as Python has them: when two are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def same_value(one: Any, other: Any) -> bool:
    """NULL is the same as NULL and NaN as NaN, at any depth; as `branching/equality.py` has it for columns."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_value(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other) or (one != one and other != other)
