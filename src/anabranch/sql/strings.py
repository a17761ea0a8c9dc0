"""Doubled quotes in strings: sqlglot reads `'it''s'` as two strings without the quote between them; `aligned` gives a
text of equal length that it reads as Spark does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.sql.tokens import Token


def aligned(text: str, tokens: Iterable[Token]) -> str:
    """`text` with the doubled quotes of its strings written as backslash escapes, at equal length."""
    characters = list(text)
    for token in tokens:
        for seam in token.seams:
            characters[seam] = "\\"
    return "".join(characters)
