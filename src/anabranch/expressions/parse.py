"""Text to sqlglot's tree, as Spark reads the text.

sqlglot reads `'it''s'` as two adjacent literals, Spark 4 as one with a quote in it; adjacent string tokens that touch
are joined before parsing. What is left of a statement (an alias, a SELECT) is refused: this reads one expression.
"""

from __future__ import annotations

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from anabranch.errors import SqlError
from anabranch.model.strings import unicode

# What gives a value; a bare SELECT, an alias or a whole statement does not.
VALUES = (exp.Condition, exp.Paren, exp.Interval, exp.Tuple, exp.Subquery)

DIALECT = Dialect.get_or_raise("spark")


def tokens(text: str) -> list[Token]:
    """Spark's tokens: sqlglot's, with doubled quotes inside a string put back together."""
    found: list[Token] = []
    for token in DIALECT.tokenize(text):
        last = found[-1] if found else None
        if (
            last is not None
            and token.token_type == last.token_type == TokenType.STRING
            and token.start == last.end + 1
            and text[last.end] == text[token.start]
        ):
            quote = text[token.start]
            found[-1] = Token(
                TokenType.STRING, last.text + quote + token.text, last.line, last.col, last.start, token.end
            )
        else:
            found.append(token)
    return found


def parse_expression(text: str) -> exp.Expression:
    """One Spark SQL expression; SqlError with its position if it is not one."""
    try:
        trees = DIALECT.parser().parse(tokens(unicode(text)), text)
    except TokenError as error:
        raise SqlError(f"the expression cannot be read: {error}", text, 0) from error
    except ParseError as error:
        raise _located(error, text) from error
    if len(trees) != 1 or trees[0] is None:
        raise SqlError("one expression is expected here", text, 0)
    tree = trees[0]
    if isinstance(tree, exp.Star) or not isinstance(tree, exp.Expression) or not isinstance(tree, VALUES):
        raise SqlError(f"an expression is expected here, not {tree.key.upper()}", text, 0)
    return tree  # type: ignore[return-value]  # both an Expression and one of VALUES


def _located(error: ParseError, text: str) -> SqlError:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line") or 1, first.get("col") or 1
    start = sum(len(piece) + 1 for piece in text.split("\n")[: line - 1])
    # sqlglot's column is that of the last character of the offending token.
    position = max(start + column - len(first.get("highlight") or " "), 0)
    return SqlError(f"the expression does not parse: {_plain(first.get('description') or str(error))}", text, position)


def _plain(description: str) -> str:
    """sqlglot's words without its own class names."""
    return "something is missing here" if description.startswith("Required keyword") else description
