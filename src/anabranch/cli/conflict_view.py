"""Conflicts as a person wants to read them: base, ours and theirs side by side, and what to type next."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

from anabranch.cli.excerpts import differences, excerpt, widths
from anabranch.cli.output import aligned, cell, plain, shown_width
from anabranch.cli.screen import styled, width
from anabranch.errors import Conflicts
from anabranch.model.values import same_value
from anabranch.model.words import counted
from anabranch.texts import LONG, is_number, one_line, words, written

if TYPE_CHECKING:
    from anabranch.model.conflict import ConflictRecord

SHOWN = 20
_MANY_COLUMNS = 12
_FIRST_COLUMNS = 3
"""Of many, so many are shown although they are equal: people know a row by its first columns."""
_KINDS_OF_ROWS = ("row", "rows", "key")
_KINDS_BY_ROW = ("row", "key")
"""What a file of resolutions can settle."""
_ABSENT = "absent"
"""The rule of picks of what the branch does not have."""


def record(conflict: ConflictRecord) -> dict[str, Any]:
    """A conflict for JSON."""
    return {name: plain(getattr(conflict, name)) for name in Conflicts.COLUMNS}


def first(conflicts: Sequence[ConflictRecord], limit: int | None) -> Sequence[ConflictRecord]:
    """All of them where nothing, or 0, is asked for: a program gets what it does not limit itself."""
    return conflicts[:limit] if limit else conflicts


def conflict_lines(conflicts: Sequence[ConflictRecord], limit: int | None, *, stream: TextIO) -> list[str]:
    """The first ones and how many more there are; 0 is no limit. `stream`: where they are shown."""
    shown = first(conflicts, SHOWN if limit is None else limit)
    lines = [line for conflict in shown for line in ["", *_lines(conflict, stream)]][1:]
    if len(shown) < len(conflicts):
        lines += ["", f"… and {len(conflicts) - len(shown):,} more (--limit 0 shows all)"]
    return lines


def _lines(conflict: ConflictRecord, stream: TextIO) -> list[str]:
    where = [conflict.object]
    where += [_named(conflict.row)] if conflict.row is not None else []
    where += [f"column {conflict.column}"] if conflict.column else []
    title = f"{styled(', '.join(where), 'bold', stream)}: {_rule(conflict)}"
    sides = {"base": conflict.base, "ours": conflict.ours, "theirs": conflict.theirs}
    if any(isinstance(value, Mapping) for value in sides.values()):
        return [title, *_side_by_side(sides, stream)]
    told = [[f"  {side}", words(str(cell(value)))] for side, value in sides.items() if value is not None]
    return [title, *aligned(told)]


def _rule(conflict: ConflictRecord) -> str:
    from anabranch.branching.law import RULES

    said = RULES.get(conflict.rule)
    return f"{said} ({conflict.rule})" if said else conflict.rule


def _named(row: Any) -> str:
    """A row by its id, a key by its columns, a file by its words."""
    if isinstance(row, Mapping):
        return ", ".join(f"{name} = {_cell(value)}" for name, value in row.items())
    return f"row {row}" if isinstance(row, int) else words(str(row))


def _side_by_side(sides: Mapping[str, Any], stream: TextIO) -> list[str]:
    """One line a column; a star where both sides changed it, and not to the same."""
    names = list(dict.fromkeys(name for row in sides.values() if isinstance(row, Mapping) for name in row))
    shown = _shown(names, [row for row in sides.values() if isinstance(row, Mapping)])
    labels = ["* " + name if _both_changed(sides, name) else "  " + name for name in shown]
    cells = _fitted([list(sides), *(_values(sides, name) for name in shown)], _room(labels, stream))
    rows = [[label, *row] for label, row in zip(["  ", *labels], cells, strict=True)]
    head, *rest = (f"  {line}" for line in aligned(rows))
    left = len(names) - len(shown)
    rest += [f"    ({counted(left, 'more column')}, in which they are equal)"] if left else []
    told = [styled(line, "yellow", stream) if line.startswith("  *") else line for line in rest]
    return [styled(head, "dim", stream), *told]


def _shown(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns, or of many the first ones and those in which the rows differ."""
    if len(names) <= _MANY_COLUMNS:
        return list(names)
    first, *others = rows
    if not others:  # there is nothing to compare it with
        return list(names)
    differ = {name for name in names if any(not same_value(first.get(name), row.get(name)) for row in others)}
    return [name for place, name in enumerate(names) if place < _FIRST_COLUMNS or name in differ]


def _both_changed(sides: Mapping[str, Any], name: str) -> bool:
    """By the values themselves: NULL and the text 'NULL' look much alike. A side without the row changed it all."""
    base, ours, theirs = ((row.get(name),) if isinstance(row, Mapping) else row for row in sides.values())
    return not (same_value(base, ours) or same_value(base, theirs) or same_value(ours, theirs))


def _values(sides: Mapping[str, Any], name: str) -> list[str]:
    """Of one column, whole. A side without the row has a word for that instead, such as `deleted`."""
    told = {side: "" if row is None else f"({row})" for side, row in sides.items() if not isinstance(row, Mapping)}
    return [told[side] if side in told else _cell(row.get(name), sys.maxsize) for side, row in sides.items()]


def _room(labels: Sequence[str], stream: TextIO) -> int | None:
    """What a terminal leaves beside the labels, the margin and the gaps between four columns."""
    wide = width(stream)
    return None if wide is None else wide - max(map(shown_width, labels), default=0) - 2 - 3 * 2


def _fitted(rows: Sequence[Sequence[str]], room: int | None) -> list[list[str]]:
    """Cut to the room that they share, such that the values of a row are seen to differ."""
    needed = [min(LONG, max(shown_width(text[:LONG]) for text in column)) for column in zip(*rows, strict=True)]
    given = needed if room is None else widths(needed, room)
    return [[_excerpt(*of, differences(row)) for of in zip(row, given, strict=True)] for row in rows]


def _excerpt(text: str, wide: int, places: Sequence[int]) -> str:
    told = excerpt(text, wide, places)
    taken = shown_width(told)  # some characters take two places
    return told if taken <= wide else excerpt(text, wide * wide // taken, places)


def _cell(value: Any, long: int = LONG) -> str:
    """As a query shows it, but on one line, and cut if it is long."""
    return written(value, long) if isinstance(value, (bytes, str)) else one_line(str(cell(value)), long)


def called(theirs: str) -> str:
    """A number alone is a version."""
    return f"version {theirs}" if is_number(theirs) else theirs


def next_steps(
    typed: str,
    verb: str,
    theirs: str,
    conflicts: Sequence[ConflictRecord],
    passing: str | None,
    into: str,
    detect: str | None = None,
    settling: Sequence[str] = ("ours", "theirs"),
    way_out: str = "",
    given: Sequence[str] = (),
) -> list[str]:
    """`typed`: how a command begins. `detect`: what was compared, if it was said; `passing`: another one under which
    nothing would conflict. `settling`: the sides that can be taken; where there is none, `way_out` says what to do.
    `given`: options that settled some conflicts, and must stay."""
    plain = "  " + " ".join([typed, verb, quote(theirs), *map(quote, given)])
    again = f"{plain} --detect {detect}" if detect else plain
    if not settling and passing is None:
        # A revert would meet the same again, whatever is changed first.
        then = [] if verb == "revert" else [f"Then again:{again}"]
        return [f"Nothing was changed. {way_out}", *then]
    first = "Next, one of:"
    if verb == "cherry-pick" and any(conflict.rule == _ABSENT for conflict in conflicts):
        first = f"{into} lacks what {theirs} changed: pick the commit that made it first, or one of:"
    steps = []
    if passing is not None:
        steps.append([f"{plain} --detect {passing}", f"compare by {passing}: this passes"])
    if verb == "merge" and any(conflict.kind == "rows" for conflict in conflicts):
        steps.append([f"  {typed} conflicts {quote(theirs)} --detect row", "see the rows that both changed"])
    rows = all(conflict.kind in _KINDS_OF_ROWS for conflict in conflicts)
    what = "where both changed a row" if rows else "where both changed the same"
    # What a revert brings is the state before the commit: to choose it undoes the commit.
    takes = f"go back to before {called(theirs)}" if verb == "revert" else f"take {theirs}"
    taking = {"ours": f"keep {into} {what}", "theirs": f"{takes} {what}"}
    steps += [[f"{again} --resolve {side}", what] for side, what in taking.items() if side in settling]
    tables = sorted({conflict.object for conflict in conflicts if "." in conflict.object})
    if verb == "merge" and len(tables) > 1:
        each = " ".join(f"--resolve-table {quote(table)}=theirs" for table in tables[:2])
        steps.append([f"{again} {each}", "table by table"])
    by_row = verb == "merge" and "--resolutions" not in given
    if by_row and any(conflict.kind in _KINDS_BY_ROW for conflict in conflicts):
        steps.append([f"{again} --resolutions FILE", "row by row (see merge --help)"])
    if verb == "merge" and tables:
        steps.append([f"  {typed} diff {quote(into)} {quote(theirs)} --table {quote(tables[0])}", "look at the rows"])
    return [f"Nothing was changed. {first}", *aligned(steps)]
