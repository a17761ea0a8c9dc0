"""Contests settled by values: rows that both sides changed, compared column by column with the base.

A side whose row equals the base did not change it; where there are several bases, one that equals them all. Under `row`
two real changes conflict unless they are equal; under `cell` they combine where no column was changed on both sides to
different values. A change against a loss conflicts. What still conflicts goes to the side that the user chose, if one
was chosen, or to a row that the user gave.

A column that the sides have in types of which neither holds the other's values is *apart*: each side's is compared with
the base in its own type. No row can have both values, so rows with such columns never combine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.equality import unequal
from anabranch.branching.row_merge import Contest, Detect
from anabranch.model.conflict import Choice, ConflictRecord

GIVEN = "given"
"""What a contested row goes to if the user wants neither side's version of it, but one of their own."""


@dataclass(frozen=True)
class Settled:
    """`ours_dies`, `theirs_dies`: versions to kill. `combined`: rows to write anew, for the contest's `places`."""

    ours_dies: np.ndarray
    theirs_dies: np.ndarray
    combined: pa.Table
    places: np.ndarray
    conflicts: tuple[ConflictRecord, ...]
    news: bool
    """Theirs really changed one of the rows."""
    changed_there: np.ndarray
    conflicting: np.ndarray
    """For every row of the contest whether it conflicts, settled or not."""
    given: np.ndarray
    """Whether neither version stays, because the user gave the row."""


@dataclass(frozen=True)
class Bases:
    """The contest's rows as the bases have them. `lacking`: rows that one of them has not, so that all of such a row
    counts as changed. `to_theirs`: the columns that they have otherwise in theirs' eyes, since it added them, too, and
    with another default."""

    rows: tuple[pa.Table, ...]
    lacking: np.ndarray | None = None
    to_theirs: tuple[pa.Table, ...] = ()

    def unequal(self, name: str, column: pa.Array, *, theirs: bool = False) -> np.ndarray:
        """Where a side's column differs from one of the bases'."""
        otherwise = theirs and any(name in rows.column_names for rows in self.to_theirs)
        first, *others = self.to_theirs if otherwise else self.rows
        found = unequal(_array(first, name), column)
        for rows in others:
            found = found | unequal(_array(rows, name), column)
        return found if self.lacking is None else found | self.lacking

    def shown(self) -> pa.Table:
        """What a person is told that the rows were: NULL where the bases disagree."""
        first, *others = self.rows
        if not others:
            return first
        columns = {name: _array(first, name) for name in first.column_names}
        agreed = {
            name: pc.if_else(pa.array(self.unequal(name, column)), None, column) for name, column in columns.items()
        }
        return pa.table(agreed)


@dataclass(frozen=True)
class Apart:
    """A column of the contest's rows that each side has in a type of its own, and where each has changed it."""

    base: pa.Array
    ours: pa.Array
    theirs: pa.Array
    moved_here: np.ndarray
    moved_there: np.ndarray


_NOTHING_APART: Mapping[str, Apart] = MappingProxyType({})


def chosen(contest: Contest, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """The versions that die when one side takes every row, without looking at values."""
    nothing = np.empty(0, np.int64)
    return (nothing, contest.theirs) if choice == "ours" else (contest.ours, nothing)


def settle(
    table: str,
    contest: Contest,
    bases: Bases,
    ours: pa.Table,
    theirs: pa.Table,
    detect: Detect,
    choice: np.ndarray,
    apart: Mapping[str, Apart] = _NOTHING_APART,
    beyond: np.ndarray | None = None,
    unknown: frozenset[str] = frozenset(),
    most: int | None = None,
) -> Settled:
    """The tables hold the contest's rows in order, NULL where a row is gone, without the columns that are `apart`.
    `choice`, for every row: '', a side or GIVEN. `beyond`: rows that theirs changed in what the merge drops; such a
    version is taken where ours changed nothing, and is news in any case. `unknown`: columns that neither theirs nor a
    base has, whatever their files hold: theirs did not change them. `most`: that many conflicts are told."""
    names = ours.column_names
    here, there = contest.ours >= 0, contest.theirs >= 0
    changed_here = np.zeros(len(contest), bool)
    changed_there = np.zeros(len(contest), bool)
    clash = np.zeros(len(contest), bool)
    differ = np.zeros(len(contest), bool)
    brings = np.zeros(len(contest), bool)  # a value that ours has not
    combined, cells = [], []
    for name in names:
        mine, other = _array(ours, name), _array(theirs, name)
        moved_here, moved_there = bases.unequal(name, mine), bases.unequal(name, other, theirs=True)
        if name in unknown:
            moved_there = np.zeros(len(contest), bool)
        unlike = unequal(mine, other)
        changed_here |= moved_here
        changed_there |= moved_there
        differ |= unlike
        brings |= moved_there & unlike
        cell_clash = moved_here & moved_there & unlike
        clash |= cell_clash
        cells.append(cell_clash)
        combined.append(pc.if_else(pa.array(moved_there), other, mine))
    for column in apart.values():
        changed_here |= column.moved_here
        changed_there |= column.moved_there
        differ |= column.moved_here | column.moved_there
        brings |= column.moved_there
        cells.append(column.moved_here & column.moved_there)

    both = here & there
    against_loss = (here & ~there & changed_here) | (there & ~here & changed_there)
    fights = both & changed_here & changed_there & (clash if detect == "cell" and not apart else differ)
    conflict = against_loss | fights
    open_ = conflict & (choice == "")
    beyond = np.zeros(len(contest), bool) if beyond is None else beyond
    changed_there = changed_there | (beyond & both & ~conflict & ~changed_here)
    given = conflict & (choice == GIVEN)
    combines = both & ~conflict & changed_here & changed_there & differ
    merges = combines & brings
    ours_wins = (conflict & (choice == "ours")) | (both & ~conflict & ~changed_there) | (combines & ~brings)
    theirs_wins = (both & ~conflict & ~ours_wins & ~merges) | (conflict & (choice == "theirs"))
    lost_unchanged = ~both & ~conflict  # a loss against a row that only looked changed

    ours_dies = here & (theirs_wins | given | merges | (lost_unchanged & ~there))
    theirs_dies = there & (ours_wins | given | merges | (lost_unchanged & ~here))
    places = np.flatnonzero(merges)
    rows = pa.table(combined, names=names).take(pa.array(places))
    shown = _shown((bases.shown(), ours, theirs), apart)
    records = _records(table, contest, np.flatnonzero(open_)[:most], shown, cells, detect, bases.lacking)
    changed_there |= ~there
    news = bool((changed_there | beyond).any())
    return Settled(
        contest.ours[ours_dies], contest.theirs[theirs_dies], rows, places, records, news, changed_there, conflict,
        given,
    )  # fmt: skip


def _array(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).combine_chunks()


def same_rows(one: pa.Table, other: pa.Table) -> np.ndarray:
    """Row by row, all columns of the first alike."""
    differ = np.zeros(one.num_rows, bool)
    for name in one.column_names:
        differ |= unequal(_array(one, name), _array(other, name))
    return ~differ


def _shown(
    sides: tuple[pa.Table, pa.Table, pa.Table], apart: Mapping[str, Apart]
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Base, ours and theirs with the columns that are apart, each as the side has it."""
    if not apart:
        return sides
    base, ours, theirs = ({name: side.column(name) for name in side.column_names} for side in sides)
    for name, column in apart.items():
        base[name], ours[name], theirs[name] = column.base, column.ours, column.theirs
    return pa.table(base), pa.table(ours), pa.table(theirs)


def _records(
    table: str,
    contest: Contest,
    places: np.ndarray,
    sides: tuple[pa.Table, pa.Table, pa.Table],
    cells: list[np.ndarray],
    detect: Detect,
    lacking: np.ndarray | None,
) -> tuple[ConflictRecord, ...]:
    """What a person is shown of the open conflicts: base, ours and theirs of each. A row that is `lacking` in one of
    several bases has none."""
    here, there = contest.ours[places] >= 0, contest.theirs[places] >= 0
    shown = [side.take(pa.array(places)).to_pylist() for side in sides]
    clashes = np.array([clash[places] for clash in cells]).T
    names = np.array(sides[0].column_names, dtype=object)

    def record(at: int) -> ConflictRecord:
        rule = "update/update" if here[at] and there[at] else "delete/update" if here[at] else "update/delete"
        if detect == "cell" and here[at] and there[at]:
            rule = f"update/update of {', '.join(names[clashes[at]])}" if clashes[at].any() else rule
        base, mine, other = (rows[at] for rows in shown)
        base = None if lacking is not None and lacking[places[at]] else base
        ours, theirs = mine if here[at] else "deleted", other if there[at] else "deleted"
        return ConflictRecord(table, "row", rule, ours, theirs, base, int(contest.base[places[at]]))

    return tuple(map(record, range(len(places))))
