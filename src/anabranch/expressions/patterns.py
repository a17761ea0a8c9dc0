"""LIKE, ILIKE and RLIKE with a constant pattern, as regular expressions of RE2.

LIKE is translated whole, its simple shapes (exact, prefix, suffix, contains) to plain string kernels. RLIKE takes
Java's patterns: constructs that mean the same in both are passed on, `.`, `\\s` and a last `$` are spelled out (Java
knows more line ends than RE2), and everything else is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions.nodes import Datum

ANY, ONE = object(), object()

_LINE_END = r"\n\r\x{85}\x{2028}\x{2029}"
_ESCAPES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[A-Za-z0-9_]",
    "W": "[^A-Za-z0-9_]",
    "s": r"[ \t\n\x0B\f\r]",
    "S": r"[^ \t\n\x0B\f\r]",
    "t": r"\t",
    "n": r"\n",
    "r": r"\r",
}
_CLASS = re.compile(r"\[\^?(?:[A-Za-z0-9_ ](?:-[A-Za-z0-9])?|[.@,:;#/]|\\[dw.\-])+-?\]", re.ASCII)
_QUANTIFIER = re.compile(r"[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\}", re.ASCII)


def like_pieces(pattern: str, escape: str = "\\") -> list[object]:
    """The pattern as literal texts, ANY (%) and ONE (_)."""
    pieces: list[object] = []

    def literal(char: str) -> None:
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += char
        else:
            pieces.append(char)

    chars = iter(pattern)
    for char in chars:
        if char == escape:
            escaped = next(chars, None)
            if escaped is None or escaped not in ("_", "%", escape):
                raise ExpressionError(
                    f"the pattern '{pattern}' is invalid: '{escape}' stands before a character that needs no escape."
                )
            literal(escaped)
        elif char == "%":
            pieces.append(ANY)
        elif char == "_":
            pieces.append(ONE)
        else:
            literal(char)
    return pieces


def like(pattern: str, escape: str = "\\") -> Callable[[Datum], Datum]:
    """The matcher of a LIKE pattern."""
    pieces = like_pieces(pattern, escape)
    shape = ["text" if isinstance(piece, str) else piece for piece in pieces]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if not shape:
        return lambda values: pc.equal(values, pa.scalar(""))
    if shape == ["text"]:
        return lambda values: pc.equal(values, pa.scalar(texts[0]))
    if shape == ["text", ANY]:
        return lambda values: pc.starts_with(values, texts[0])
    if shape == [ANY, "text"]:
        return lambda values: pc.ends_with(values, texts[0])
    if shape == [ANY, "text", ANY]:
        return lambda values: pc.match_substring(values, texts[0])
    spelled = (".*" if piece is ANY else "." if piece is ONE else _quoted(str(piece)) for piece in pieces)
    expression = rf"\A(?s:{''.join(spelled)})\z"
    return lambda values: pc.match_substring_regex(values, expression)


def _quoted(text: str) -> str:
    return "".join(char if char.isalnum() or char in " _" else rf"\x{{{ord(char):x}}}" for char in text)


def rlike(pattern: str) -> Callable[[Datum], Datum]:
    """The matcher of a Java regular expression of the safe subset."""
    expression = java_to_re2(pattern)
    return lambda values: pc.match_substring_regex(values, expression)


def java_to_re2(pattern: str) -> str:
    """The same regular expression for RE2; NeedsSpark if it has a construct that may differ."""
    spelled: list[str] = []
    depth = position = 0
    repeatable = False
    while position < len(pattern):
        char = pattern[position]
        quantifier = _QUANTIFIER.match(pattern, position)
        if quantifier:
            # A second quantifier is possessive or lazy, or an error: Spark's to say.
            if not repeatable:
                raise _unsafe(pattern)
            spelled.append(quantifier.group())
            position, repeatable = quantifier.end(), False
            continue
        found = _CLASS.match(pattern, position) if char == "[" else None
        repeatable = True
        if found:
            if not _ordered(found.group()):
                raise _unsafe(pattern)
            spelled.append(found.group())
            position = found.end()
            continue
        if char == "\\":
            position += 1
            spelled.append(_escaped(pattern, position))
        elif char == ".":
            spelled.append(f"[^{_LINE_END}]")
        elif char == "^":
            spelled.append(r"\A")
            repeatable = False
        elif char == "$" and depth == 0 and pattern[position + 1 : position + 2] in ("", "|"):
            spelled.append(rf"(?:\r\n|[{_LINE_END}])?\z")
            repeatable = False
        elif char == "(" and pattern[position + 1 : position + 2] not in ("?", ")", "|", ""):
            depth += 1
            spelled.append("(?:")
            repeatable = False
        elif char == ")" and depth:
            depth -= 1
            spelled.append(")")
        elif char == "|":
            spelled.append("|")
            repeatable = False
        elif char in "[](){}$*+?":
            raise _unsafe(pattern)
        else:
            spelled.append(_quoted(char))
        position += 1
    if depth:
        raise _unsafe(pattern)
    return "".join(spelled)


def _escaped(pattern: str, position: int) -> str:
    escaped = pattern[position : position + 1]
    if escaped in _ESCAPES and escaped:
        return _ESCAPES[escaped]
    if escaped and escaped.isascii() and not escaped.isalnum():
        return _quoted(escaped)
    raise _unsafe(pattern)


def _ordered(text: str) -> bool:
    return all(low <= high for low, high in re.findall(r"([A-Za-z0-9])-([A-Za-z0-9])", text))


def _unsafe(pattern: str) -> NeedsSpark:
    return NeedsSpark(f"the regular expression '{pattern}'")
