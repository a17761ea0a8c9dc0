"""Long values beside each other: cut to the width of their column, but not where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from anabranch.texts import cut

NARROWEST = 12
"""A column that says anything."""


def widths(needed: Sequence[int], room: int) -> list[int]:
    """For columns that need so much: what is narrow gets all of it, and the others equal parts of the rest."""
    left, given = room, [0] * len(needed)
    for done, place in enumerate(sorted(range(len(needed)), key=lambda place: needed[place])):
        given[place] = min(needed[place], max(NARROWEST, left // (len(needed) - done)))
        left -= given[place]
    return given


def differences(texts: Sequence[str]) -> list[int]:
    """Where any two of them begin to differ."""
    return sorted({_alike(*pair) for pair in combinations(dict.fromkeys(texts), 2)})


def _alike(one: str, other: str) -> int:
    """How many characters they begin with alike."""
    unlike = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(unlike, min(len(one), len(other)))


def excerpt(text: str, width: int, places: Sequence[int] = ()) -> str:
    """A text of at most this width that shows these places; what is left out is an ellipsis."""
    if len(text) <= width or not places or places[-1] < width * 2 // 3:
        return cut(text, width)
    if places[-1] - places[0] < width // 2:
        places = places[:1]
    room = (width - len(places) - 1) // len(places)
    starts = sorted({max(0, min(place - room // 3, len(text) - room)) for place in places})
    told = "" if starts[0] == 0 else "…"
    for start, after in zip(starts, [*starts[1:], len(text)], strict=True):
        end = min(start + room, after)
        told += text[start:end] + ("…" if end < after else "")
    return told
