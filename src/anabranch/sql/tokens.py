"""Text to tokens, with offsets that slice the original text.

sqlglot's Spark tokenizer does the lexing; three of its habits are undone here:

- commands (SHOW, RENAME, ...) swallow the rest of their statement into one string: switched off;
- several words become one keyword ("ORDER BY"): only single words are kept as keywords;
- `12L` becomes a cast of three tokens with one slice, and `'it''s'` two strings: each is one token here.

A token is a word, a quoted name, a string, a number or a symbol; what a word means is for the parser to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken
from sqlglot.tokenizer_core import TokenType

from anabranch.errors import SqlError
from anabranch.model.strings import unescaped, unicode


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of statement"


@dataclass(frozen=True, slots=True)
class Token:
    """A token is `text[start:end]` of the text it was read from.

    `value` is a word in upper case, a name without backquotes, a string unescaped, or else the slice itself.
    `seams` are the offsets of doubled quotes inside a string.
    """

    kind: Kind
    value: str
    start: int
    end: int
    seams: tuple[int, ...] = ()


class _Words(Spark.Tokenizer):
    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if " " not in word and not word.startswith("/*")
    }
    COMMENTS: ClassVar[list[str | tuple[str, str]]] = ["--", ("/*", "*/")]


_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_OPENERS = ("'", '"', "`", "/*")


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, closed by one of kind END; comments and hints are left out."""
    try:
        read = _Words("spark").tokenize(unicode(text))
    except TokenError:
        raise _unclosed(text) from None
    tokens = [*_joined(text, read)]
    end = tokens[-1].end if tokens else len(text)
    tokens.append(Token(Kind.END, "", end, end))
    return tokens


def split(text: str) -> list[str]:
    """The statements of `text`, cut at every `;` outside strings, names and comments; empty ones are left out."""
    return [text[start:end] for start, end in spans(text)]


def spans(text: str) -> list[tuple[int, int]]:
    """Where they begin and end."""
    found, first = [], None
    tokens = tokenize(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if (token.value == ";" and token.kind is Kind.SYMBOL) or token.kind is Kind.END:
            if first is not None and before is not None:
                found.append((first.start, before.end))
            first = None
        elif first is None:
            first = token
    return found


def _joined(text: str, read: list[SqlglotToken]) -> Iterator[Token]:
    held: Token | None = None
    for token in read:
        start, end = token.start, token.end + 1
        if held is not None:
            if start < held.end:
                continue
            if _continues(text, held, token):
                value = f"{held.value}{text[start]}{unescaped(text[start:end])}"
                held = Token(Kind.STRING, value, held.start, end, (*held.seams, start - 1))
                continue
            yield held
        held = _token(text, token, start, end)
    if held is not None:
        yield held


def _token(text: str, token: SqlglotToken, start: int, end: int) -> Token:
    kind = token.token_type
    piece = text[start:end]
    if kind == TokenType.IDENTIFIER:
        return Token(Kind.QUOTED, piece[1:-1].replace("``", "`"), start, end)
    if kind in _STRINGS:
        return Token(Kind.STRING, unescaped(piece), start, end)
    if kind == TokenType.NUMBER:
        return Token(Kind.NUMBER, piece, start, end)
    if piece[0] == "_" or piece[0].isalnum() or piece.isidentifier() or not piece[0].isascii():
        return Token(Kind.WORD, piece.upper(), start, end)
    return Token(Kind.SYMBOL, piece, start, end)


def _continues(text: str, held: Token, token: SqlglotToken) -> bool:
    """Whether the string `token` touches the string `held`, so that their quotes are one doubled quote."""
    return (
        held.kind is Kind.STRING
        and token.token_type == TokenType.STRING
        and held.end == token.start
        and text[held.start] == text[token.start]
    )


def _unclosed(text: str) -> SqlError:
    """The error for a string, name or comment without an end, pointing at where it begins.

    Every prefix that ends inside of it fails too, so it begins at the last opener before which the text is sound.
    """
    openers = [at for at in range(len(text)) if text.startswith(_OPENERS, at)]
    for at in reversed(openers):
        try:
            _Words("spark").tokenize(text[:at])
        except TokenError:
            continue
        what = {"`": "name", "/": "comment"}.get(text[at], "string")
        return SqlError(f"this {what} is not closed", text, at)
    return SqlError("this text cannot be read as SQL", text, 0)
