"""Names of MERGE INTO's expressions. Pure: every column of the target and the source gets a *flat* name.

Expressions may name columns of two tables, with or without a qualifier, and which of the two they see depends on the
clause. Here each column is found once and its name replaced in the text: `t.value + s.value` becomes `_t1 + _s1`. What
evaluates the text afterwards, Arrow or Spark, needs one table with flat columns and no scoping of its own. The text
around the names stays as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.errors import AnabranchError, InvalidMerge, in_clause, nearest
from anabranch.expressions import NONDETERMINISTIC, function_name, parse_expression
from anabranch.model.names import fold

_UNITS = frozenset(
    {"year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond", "microsecond"}
)
_AGGREGATES = frozenset({"any", "every", "some", "bool_and", "bool_or", "listagg", "string_agg", "try_sum", "try_avg"})


@dataclass(frozen=True)
class Side:
    """The target or the source: what may qualify its columns, and their labels in order."""

    word: str
    letter: str
    names: tuple[str, ...]
    labels: tuple[str, ...]

    def flat(self, place: int) -> str:
        return f"_{self.letter}{place}"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(self.flat, range(len(self.labels))))

    def places(self, label: str) -> list[int]:
        return [place for place, known in enumerate(self.labels) if fold(known) == fold(label)]

    def qualified_by(self, parts: Sequence[str]) -> bool:
        """`t.`, or `d.t.` of a table without an alias; nothing at all is no qualifier, and fits."""
        folded = tuple(map(fold, parts))
        return not folded or folded == tuple(map(fold, self.names))[-len(folded) :]


@dataclass(frozen=True)
class Names:
    target: Side
    source: Side

    def flat(self, text: str, sees: Sequence[Side], place: str) -> str:
        """The text with flat names. `sees`: the sides that this clause may read; `place` is named in errors."""
        out, done = [], 0
        found = {_start(column, place): column for column in parse_expression(text).find_all(exp.Column)}
        for start, column in sorted(found.items()):
            parts = [part.name for part in column.parts]
            if self._is_unit(column, sees):
                continue
            side, at, used = self._found(parts, sees, place)
            out += [text[done:start], side.flat(at)]
            done = column.parts[used - 1].meta["end"] + 1
        return "".join([*out, text[done:]])

    def _is_unit(self, column: exp.Column, sees: Sequence[Side]) -> bool:
        """DAY in timestampadd(DAY, 1, x) is no column, unless there is one of that name."""
        inside = isinstance(column.parent, exp.Func) and len(column.parts) == 1
        return inside and fold(column.name) in _UNITS and not any(side.places(column.name) for side in sees)

    def _found(self, parts: Sequence[str], sees: Sequence[Side], place: str) -> tuple[Side, int, int]:
        written = ".".join(parts)
        for skipped in (2, 1, 0):
            if skipped >= len(parts):
                continue
            found = [
                (side, at) for side in sees if side.qualified_by(parts[:skipped]) for at in side.places(parts[skipped])
            ]
            if len(found) > 1:
                raise InvalidMerge(place, self._ambiguous(written, [side for side, _ in found]))
            if found:
                return *found[0], skipped + 1
        raise InvalidMerge(place, self._unknown(parts, sees))

    def _ambiguous(self, written: str, sides: Sequence[Side]) -> str:
        if sides[0] is sides[1]:
            return f"the column '{written}' is ambiguous: the {sides[0].word} has it more than once. Give them aliases."
        choices = " or ".join(f"{side.names[-1]}.{written}" if side.names else side.word for side in sides)
        return f"the column '{written}' is ambiguous: both sides have it. Write {choices}."

    def _unknown(self, parts: Sequence[str], sees: Sequence[Side]) -> str:
        written = ".".join(parts)
        for side in (self.target, self.source):
            hidden = side not in sees
            if hidden and any(side.qualified_by(parts[:n]) and side.places(parts[n]) for n in range(len(parts))):
                return (
                    f"'{written}' is a column of the {side.word}, and this clause sees the {sees[0].word}'s alone. "
                    f"Use a column of the {sees[0].word}, or write it in another clause."
                )
        known = [label for side in sees for label in side.labels]
        guess = nearest(parts[-1], known)
        tail = f"Did you mean '{guess}'?" if guess else f"Known: {', '.join(known)}."
        return f"the column '{written}' does not exist. {tail}"


def _start(column: exp.Column, place: str) -> int:
    found = column.parts[0].meta.get("start")
    if found is None or "end" not in column.parts[-1].meta:
        raise InvalidMerge(place, f"the column '{column.sql('spark')}' cannot be found in the text. Write it out.")
    return int(found)


def check_plain(text: str, place: str, *, condition: bool) -> None:
    """No subqueries and aggregates anywhere, no nondeterminism in conditions."""
    try:
        tree = parse_expression(text)
    except AnabranchError as error:
        raise in_clause(error, place) from error
    if tree.find(exp.Query, exp.Subquery, exp.Exists):
        raise InvalidMerge(place, f"a subquery cannot stand in '{text}'. Join it to the source: USING (SELECT …).")
    for node in tree.find_all(exp.Func, exp.Window):
        name = function_name(node) if isinstance(node, exp.Func) else node.key
        if isinstance(node, (exp.AggFunc, exp.Window)) or name in _AGGREGATES:
            raise InvalidMerge(
                place, f"an aggregate cannot stand in '{text}'. Compute it in the source: USING (SELECT …)."
            )
        if condition and name in NONDETERMINISTIC:
            raise InvalidMerge(
                place,
                f"'{text}' is nondeterministic ({name}): a condition must always give the same answer. "
                "Compute the value in the source: USING (SELECT …).",
            )


def read_by(text: str, side: Side) -> frozenset[int]:
    """The places of the side's columns that a flat text reads."""
    found = {column.parts[0].name for column in parse_expression(text).find_all(exp.Column)}
    return frozenset(place for place in range(len(side.labels)) if side.flat(place) in found)
