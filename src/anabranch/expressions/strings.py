"""String functions. Positions and lengths count characters (code points), as in Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import NeedsSpark
from anabranch.expressions import patterns
from anabranch.expressions.casts import cast
from anabranch.expressions.nodes import Datum, Node, any_true, derived, strict, typed_null
from anabranch.expressions.types import BINARY, BOOLEAN, INT, NULL, STRING, is_atomic, is_integral, spark_name

# Characters whose upper and lower case is one character, the same in Java's tables and Arrow's. Left out: ß, İ, ı, ŉ, ſ
# and whatever changes its length or depends on its place (the final sigma).
PLAIN_CASE = (
    r"^[\x00-\x7F\x{A0}-\x{DE}\x{E0}-\x{12F}\x{132}-\x{148}\x{14A}-\x{17E}"
    r"\x{400}-\x{45F}\x{3000}-\x{9FFF}\x{AC00}-\x{D7A3}\x{1F300}-\x{1F64F}]*$"
)


def text(node: Node, what: str) -> Node:
    """The node as a string operand: Spark casts other atoms to text there."""
    if node.type == BINARY or not is_atomic(node.type):
        raise NeedsSpark(f"{what} of {spark_name(node.type)}")
    return cast(node, STRING)


def constant_text(node: Node, what: str) -> str | None:
    node = text(node, what)
    if not node.constant or node.fallible:
        raise NeedsSpark(f"{what} that is not a constant")
    found = node.value()
    return None if found is None else str(found)


def constant_int(node: Node, what: str) -> int | None:
    """A constant position or length; None for NULL."""
    if not node.constant or node.fallible or not (is_integral(node.type) or node.type == NULL):
        raise NeedsSpark(f"{what} that is not a constant integer")
    found = cast(node, INT).value()
    return None if found is None else int(str(found))


def cased(node: Node, kernel: Callable[[Datum], Datum], what: str) -> Node:
    """UPPER and LOWER."""

    def run(values: Datum) -> Datum:
        if any_true(pc.invert(pc.match_substring_regex(values, PLAIN_CASE))):
            raise NeedsSpark(f"{what} of letters with unusual case rules")
        return kernel(values)

    return strict(STRING, [text(node, what)], run, fallible=True)


def length(node: Node) -> Node:
    if node.type == BINARY:
        return strict(INT, [node], pc.binary_length)
    return strict(INT, [text(node, "length")], pc.utf8_length)


def concat(nodes: Sequence[Node]) -> Node:
    if nodes and all(node.type == BINARY for node in nodes):
        type, separator = BINARY, pa.scalar(b"", BINARY)
    else:
        type, separator = STRING, pa.scalar("", STRING)
        nodes = [text(node, "concat") for node in nodes]

    def run(rows: pa.RecordBatch) -> Datum:
        # Not `strict`: Spark evaluates every piece, also after one that is NULL.
        return pc.binary_join_element_wise(*(node.run(rows) for node in nodes), separator, null_handling="emit_null")

    return derived(type, nodes, run)


def sliced(node: Node, start: Node, count: Node | None) -> Node:
    """SUBSTRING: from 1, or from the end if negative; a start before the first character eats into the length."""
    first = constant_int(start, "a substring from a place")
    size = 2**31 - 1 if count is None else constant_int(count, "a substring of a length")
    if first is None or size is None:
        return typed_null(STRING)
    return _slice(text(node, "substring"), first - 1 if first > 0 else first, size)


def left(node: Node, count: Node) -> Node:
    size = constant_int(count, "left with a length")
    return typed_null(STRING) if size is None else _slice(text(node, "left"), 0, size)


def right(node: Node, count: Node) -> Node:
    size = constant_int(count, "right with a length")
    if size is None:
        return typed_null(STRING)
    return _slice(text(node, "right"), -max(size, 0), max(size, 0))


def _slice(node: Node, start: int, size: int) -> Node:
    stop: int | None = start + size
    if size <= 0:
        start, stop = 0, 0
    elif start < 0 and start + size >= 0:
        stop = None
    return strict(STRING, [node], lambda values: pc.utf8_slice_codeunits(values, start, stop))


_TRIMS = {"BOTH": pc.utf8_trim, "LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}


def trimmed(node: Node, characters: Node | None, side: str) -> Node:
    """TRIM: spaces only, unless characters are given."""
    removed = " " if characters is None else constant_text(characters, "trim with characters")
    if removed is None:
        return typed_null(STRING)
    if not removed:
        return text(node, "trim")
    return strict(STRING, [text(node, "trim")], lambda values: _TRIMS[side](values, characters=removed))


def tested(node: Node, part: Node, kernel: Callable[[Datum, str], Datum], what: str) -> Node:
    """STARTSWITH, ENDSWITH and CONTAINS of a constant."""
    wanted = constant_text(part, what)
    node = text(node, what)
    return typed_null(BOOLEAN) if wanted is None else strict(BOOLEAN, [node], lambda values: kernel(values, wanted))


def like(node: Node, pattern: Node, escape: Node | None, *, lowered: bool = False) -> Node:
    """LIKE, and ILIKE if `lowered`."""
    wanted = constant_text(pattern, "a pattern")
    mark = "\\" if escape is None else constant_text(escape, "an escape")
    node = text(node, "LIKE")
    if mark is None or len(mark) != 1:
        raise NeedsSpark("an escape that is not one character")
    if wanted is None:
        return typed_null(BOOLEAN)
    if lowered:
        if not wanted.isascii() or mark.isalpha():
            raise NeedsSpark("ILIKE with a pattern beyond ASCII")
        node, wanted = cased(node, pc.utf8_lower, "ILIKE"), wanted.lower()
    return strict(BOOLEAN, [node], patterns.like(wanted, mark))


def rlike(node: Node, pattern: Node) -> Node:
    wanted = constant_text(pattern, "a regular expression")
    node = text(node, "RLIKE")
    return typed_null(BOOLEAN) if wanted is None else strict(BOOLEAN, [node], patterns.rlike(wanted))
