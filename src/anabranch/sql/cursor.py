"""A cursor over the tokens of one statement: look, take, or say what was expected and what is there instead.

Phrases are words and symbols with spaces between, `cursor.take("IF NOT EXISTS")`. Quoted names and strings never match
a phrase. Expressions, types and queries are not parsed: they are slices of the original text, ended by a phrase
outside all brackets.
"""

from __future__ import annotations

from functools import cache
from typing import NoReturn

from anabranch.errors import SqlError
from anabranch.sql.tokens import Kind, Token, tokenize
from anabranch.texts import is_number

_PARTNERS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_PARTNERS.values())


@cache
def _words(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.split())


class Cursor:
    """A place among the tokens of `text`; the last token is of kind END and is never passed."""

    def __init__(self, text: str, tokens: list[Token] | None = None) -> None:
        self.text = text
        self.tokens = tokenize(text) if tokens is None else tokens
        self.index = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def position(self) -> int:
        return self.token.start

    def ahead(self, count: int) -> Token:
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at(self, phrase: str, ahead: int = 0) -> bool:
        """Whether `phrase` stands `ahead` tokens from here."""
        for offset, word in enumerate(_words(phrase), ahead):
            token = self.ahead(offset)
            if token.value != word or token.kind not in (Kind.WORD, Kind.SYMBOL):
                return False
        return True

    def at_any(self, *phrases: str) -> bool:
        return any(self.at(phrase) for phrase in phrases)

    def take(self, phrase: str) -> bool:
        """Pass `phrase` if it stands here."""
        if not self.at(phrase):
            return False
        self.index += len(_words(phrase))
        return True

    def take_any(self, *phrases: str) -> str | None:
        """Pass the first of `phrases` that stands here, and say which."""
        return next((phrase for phrase in phrases if self.take(phrase)), None)

    def expect(self, *phrases: str) -> str:
        return self.take_any(*phrases) or self.fail(" or ".join(phrases))

    def fail(self, expected: str) -> NoReturn:
        raise self.error(f"expected {expected}, found {self.found()}")

    def error(self, message: str, position: int | None = None) -> SqlError:
        return SqlError(message, self.text, self.position if position is None else position)

    def found(self) -> str:
        token = self.token
        return "the end" if token.kind is Kind.END else self.text[token.start : token.end]

    def end(self) -> None:
        """Nothing may follow but one `;`."""
        self.take(";")
        if self.token.kind is not Kind.END:
            self.fail("the end of the statement")

    def identifier(self, what: str) -> str:
        """A name of one piece, bare or in backquotes, as it is written."""
        token = self.token
        if token.kind is Kind.QUOTED:
            if not token.value:
                raise self.error(f"expected {what}, found an empty one")
            self.advance()
            return token.value
        if token.kind is not Kind.WORD:
            self.fail(what)
        self.advance()
        self._refuse_glued(token)
        return self.text[token.start : token.end]

    def _refuse_glued(self, word: Token) -> None:
        """`feature-1` without backquotes is three tokens; say so instead of stumbling over the dash."""
        after = self.token
        if after.start == word.end and after.value in ("-", "/", "#", "$") and after.kind is Kind.SYMBOL:
            raise self.error(f"a name with {after.value!r} needs backquotes, like `a{after.value}b`", after.start)

    def path(self, what: str) -> tuple[str, ...]:
        """Names with dots between."""
        parts = [self.identifier(what)]
        while self.take("."):
            parts.append(self.identifier(what))
        return tuple(parts)

    def string(self, what: str) -> str:
        """A string literal; literals one after the other are one, as in Spark."""
        pieces = []
        while self.token.kind is Kind.STRING:
            pieces.append(self.advance().value)
        return "".join(pieces) if pieces else self.fail(f"{what} in quotes")

    def integer(self, what: str) -> int:
        token = self.token
        if token.kind is not Kind.NUMBER or not is_number(token.value):
            self.fail(f"{what}, a whole number")
        return int(self.advance().value)

    def listed(self, what: str) -> tuple[str, ...]:
        """`(a, b, c)`."""
        self.expect("(")
        names = [self.identifier(what)]
        while self.take(","):
            names.append(self.identifier(what))
        self.expect(")")
        return tuple(names)

    def slice(self, start: int, what: str = "an expression") -> str:
        """The text from offset `start` to the last token passed."""
        end = self.tokens[self.index - 1].end if self.index else 0
        if end <= start:
            self.fail(what)
        return self.text[start:end]

    def expression(self, what: str, *stops: str) -> str:
        """The text up to a phrase of `stops` outside brackets, a closing bracket, `;` or the end."""
        start = self.position
        while not (self.token.kind is Kind.END or self.at_any(";", *stops)):
            if self._closes():
                break
            self.skip()
        return self.slice(start, what)

    def skip(self) -> None:
        """Pass one token, or everything between a bracket and its partner."""
        open_brackets: list[Token] = []
        while True:
            token = self.token
            if token.kind is Kind.SYMBOL and token.value in _PARTNERS:
                open_brackets.append(token)
            elif open_brackets and self._closes():
                opening = open_brackets.pop()
                if token.value != _PARTNERS[opening.value]:
                    self.fail(_PARTNERS[opening.value])
            elif open_brackets and token.kind is Kind.END:
                raise self.error(f"this {open_brackets[-1].value} is not closed", open_brackets[-1].start)
            self.advance()
            if not open_brackets:
                return

    def _closes(self) -> bool:
        return self.token.kind is Kind.SYMBOL and self.token.value in _CLOSING
