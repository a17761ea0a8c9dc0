"""String literals as Spark 4 reads them: backslash escapes, raw strings."""

from __future__ import annotations

from anabranch.errors import SqlError

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_WIDTHS = {"u": 4, "U": 8}
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")


def unescaped(literal: str) -> str:
    """The value of one quoted literal, `'…'`, `"…"` or `r'…'`, without doubled quotes inside."""
    if literal[0] in "rR":
        return literal[2:-1]
    body = literal[1:-1]
    if "\\" not in body:
        return body
    out, at = [], 0
    while at < len(body):
        if body[at] == "\\" and at + 1 < len(body):
            piece, at = _escape(body, at + 1)
            out.append(piece)
        else:
            out.append(body[at])
            at += 1
    return _joined("".join(out)) if "\\u" in body else "".join(out)


def _joined(text: str) -> str:
    """Two escapes may be one character, its halves one after the other; half of one becomes `?`, as in Spark."""
    pairs = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return pairs.encode("utf-8", "replace").decode()


def _escape(body: str, at: int) -> tuple[str, int]:
    """What the escape after the backslash stands for, and where it ends."""
    letter = body[at]
    width = _WIDTHS.get(letter, 0)
    digits = body[at + 1 : at + 1 + width]
    if width and len(digits) == width and _HEX.issuperset(digits) and int(digits, 16) <= 0x10FFFF:
        return chr(int(digits, 16)), at + 1 + width
    digits = body[at : at + 3]
    if len(digits) == 3 and letter in "01" and _OCTAL.issuperset(digits):
        return chr(int(digits, 8)), at + 3
    if letter in "%_":
        # LIKE patterns need the backslash, so Spark keeps it.
        return "\\" + letter, at + 1
    return _ESCAPES.get(letter, letter), at + 1


def literal(value: str) -> str:
    """A string literal that both Spark and sqlglot read as `value`."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def unicode(text: str) -> str:
    """The same text, if it can be stored and sent: Python's may hold halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SqlError(f"character {error.start + 1} of the text is half a surrogate pair: remove it.") from error
    return text
