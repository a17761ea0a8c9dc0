"""A query's text as sqlglot can read it, at equal length, so that every offset still holds in the original.

- `@ref` and time travel after a table name become spaces (sqlglot would read `d.t@dev` as an alias);
- `{frame}` becomes a bare name;
- TABLE in the place of a query becomes FROM, which sqlglot reads as SELECT * FROM;
- doubled quotes in strings become escapes;
- the inner alias of `(VALUES … AS v(a, b)) s` becomes spaces (sqlglot knows only one).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from anabranch.errors import nearest
from anabranch.sql import refs
from anabranch.sql.cursor import Cursor
from anabranch.sql.strings import aligned
from anabranch.sql.tokens import Kind

_SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
_AFTER_TABLE = frozenset({"", ".", ")", "@", ";", "LIMIT", "ORDER", "WHERE", *_SET_OPERATIONS})


@dataclass(frozen=True)
class Masked:
    """`text` has the length of the original; spans are offsets in both."""

    text: str
    refs: frozenset[int]
    """Where a ref or a time-travel clause begins."""
    frames: tuple[tuple[int, int], ...]
    """The spans of `{frame}` and `{frame[column]}`, braces included."""
    bare: frozenset[int]
    """Where the name after the word TABLE begins: it can have no alias."""


def mask(cursor: Cursor, frames: Collection[str]) -> Masked:
    text = list(aligned(cursor.text, cursor.tokens))
    ref_starts, frame_spans, bare = set(), [], set()
    while cursor.token.kind is not Kind.END:
        token = cursor.token
        if cursor.at("@") or refs.at_time_travel(cursor):
            refs.ref(cursor)
            ref_starts.add(token.start)
            _fill(text, token.start, cursor.tokens[cursor.index - 1].end, " ")
        elif token.kind is Kind.SYMBOL and ("{" in token.value or "}" in token.value):
            end = _frame(cursor, frames)
            frame_spans.append((token.start, end))
            for at in range(token.start, end):
                text[at] = text[at] if text[at].isalnum() else "_"
        elif cursor.at("TABLE") and _begins_query(cursor):
            _fill(text, token.start, token.end, " ")
            text[token.start : token.start + 4] = "FROM"
            cursor.advance()
            bare.add(cursor.position)
        elif cursor.at("( VALUES") and (inner := _inner_alias(cursor)) is not None:
            _fill(text, *inner, " ")
            cursor.advance()
        else:
            cursor.advance()
    cursor.index = 0
    return Masked("".join(text), frozenset(ref_starts), tuple(frame_spans), frozenset(bare))


def without_refs(text: str, frames: Collection[str]) -> str:
    """An expression as it can be parsed and kept: of the tables in its subqueries, it does not tell the state."""
    may_have = "@" in text or " OF " in text.upper()
    return mask(Cursor(text), frames).text if may_have else text


_NO_ALIAS = frozenset(
    {"ANTI", "CLUSTER", "CROSS", "DISTRIBUTE", "EXCEPT", "FULL", "GROUP", "HAVING", "INNER", "INTERSECT", "JOIN",
     "LATERAL", "LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "ORDER", "PIVOT", "RIGHT", "SEMI", "SORT", "UNION",
     "UNPIVOT", "USING", "WHEN", "WHERE", "WINDOW"}
)  # fmt: skip


def _inner_alias(cursor: Cursor) -> tuple[int, int] | None:
    """The span of the alias of an inline table in brackets, if the brackets have one too."""
    ahead = Cursor(cursor.text, cursor.tokens)
    ahead.index = cursor.index + 2
    ahead.skip()
    while ahead.take(","):
        ahead.skip()
    start = ahead.position
    ahead.take("AS")
    if ahead.token.kind not in (Kind.WORD, Kind.QUOTED):
        return None
    ahead.advance()
    if ahead.at("("):
        ahead.skip()
    end = ahead.tokens[ahead.index - 1].end
    if not ahead.take(")"):
        return None
    after = ahead.token
    has_alias = after.kind is Kind.QUOTED or (after.kind is Kind.WORD and after.value not in _NO_ALIAS)
    return (start, end) if has_alias else None


def _fill(text: list[str], start: int, end: int, character: str) -> None:
    for at in range(start, end):
        # Newlines stay, so that sqlglot counts lines as the original does.
        if text[at] != "\n":
            text[at] = character


def _begins_query(cursor: Cursor) -> bool:
    """Whether TABLE stands for a query here, and is not a column's name."""
    if cursor.ahead(1).kind not in (Kind.WORD, Kind.QUOTED) or cursor.ahead(2).value not in _AFTER_TABLE:
        return False
    back = -2 if cursor.index > 1 and (cursor.at("ALL", -1) or cursor.at("DISTINCT", -1)) else -1
    after_operation = any(cursor.at(word, back) for word in _SET_OPERATIONS)
    return cursor.index == 0 or after_operation or cursor.at("(", -1) or cursor.at(")", -1)


def _frame(cursor: Cursor, frames: Collection[str]) -> int:
    """Pass `{name}` or `{name[column]}` and give its end; other braces have no meaning in a query."""
    opening = cursor.token
    if not cursor.take("{"):
        raise cursor.error(f"{opening.value} has no meaning here; braces hold the name of a given frame")
    position = cursor.position
    name = cursor.identifier("the name of a frame")
    if name not in frames:
        guess = nearest(name, frames)
        hint = f"; did you mean {{{guess}}}?" if guess else ""
        raise cursor.error(f"no frame called '{name}' was given{hint}", position)
    if cursor.take("["):
        cursor.identifier("a column name")
        cursor.expect("]")
    end = cursor.token.end
    cursor.expect("}")
    return end
