"""Arguments of statements that are not queries: `:name` and `?` become literals in the text.

Queries keep their markers, and Spark binds them. A marker is a token, so nothing inside strings, names or comments is
taken for one; a value becomes a literal whose text gives just that value back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch import given
from anabranch.errors import SqlError
from anabranch.sql.tokens import Kind, Token, tokenize


def checked_args(args: Any) -> Any:
    """A dict or a list of values that markers can be bound to, or None."""
    if args is None:
        return None
    by_name = isinstance(args, Mapping) and all(isinstance(name, str) for name in args)
    by_place = isinstance(args, Sequence) and not isinstance(args, (str, bytes))
    if not by_name and not by_place:
        raise given.refused("args", "a dict for :name, or a list for ?", args)
    from anabranch.sql.declare import scalar

    for value in args.values() if by_name else args:
        if not type(value).__module__.startswith(("pyspark", "py4j")):  # a query's may be Spark's own
            scalar(value)
    return dict(args) if by_name else list(args)


def bind(text: str, args: Any) -> str:
    """The text with every marker replaced; without arguments, the text itself."""
    if not args:
        return text
    from anabranch.sql.declare import sql_literal

    tokens = tokenize(text)
    out, done, used = [], 0, 0
    for place, token in enumerate(tokens):
        if token.kind is not Kind.SYMBOL:
            continue
        if token.value == "?" and not isinstance(args, Mapping):
            if used == len(args):
                raise SqlError(f"there are only {len(args)} arguments", text, token.start)
            value, end = args[used], token.end
            used += 1
        elif token.value == ":" and isinstance(args, Mapping) and _names_argument(tokens, place):
            name = text[tokens[place + 1].start : tokens[place + 1].end]
            if name not in args:
                raise SqlError(f"there is no argument '{name}'", text, token.start)
            value, end = args[name], tokens[place + 1].end
        else:
            continue
        out += [text[done : token.start], sql_literal(value)]
        done = end
    if isinstance(args, Sequence) and used < len(args):
        raise SqlError(f"{len(args)} arguments were given, but the statement takes {used}")
    return "".join([*out, text[done:]])


def _names_argument(tokens: Sequence[Token], place: int) -> bool:
    """`:name`, but not the colon of `struct<a:int>`."""
    token, after = tokens[place], tokens[place + 1]
    before = tokens[place - 1] if place else None
    touches = before is not None and before.end == token.start and before.kind in (Kind.WORD, Kind.QUOTED)
    return after.kind is Kind.WORD and after.start == token.end and not touches
