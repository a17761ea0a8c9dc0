"""Theirs' deletes and updates against the rows that ours has inserted since: `delete/insert` and `update/insert`.

Under detect = row and cell a statement of theirs conflicts with every new row of ours that its condition matches.
RESOLVE USING OURS spares these rows, THEIRS runs the statements on them, and a resolution says what becomes of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch import expressions
from anabranch.branching.criss_cross import left_standing
from anabranch.branching.row_merge import Contest, Replay
from anabranch.branching.rows import ids_of, origins_of, visible
from anabranch.branching.settle import GIVEN
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.own_types import pairs_apart, theirs_beside
from anabranch.commands.replay_inserts import UNANSWERED, OnRows, Replayed, is_opaque, replay_on, under
from anabranch.commands.resolutions import Resolution
from anabranch.commands.spoken import Spoken, spoken
from anabranch.commands.statements import Statement
from anabranch.errors import DataError, ExpressionError
from anabranch.execution.plan import TableView, plan_scan
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import ROW_ID, read_batches
from anabranch.execution.spark_rows import AT_ONCE
from anabranch.model.conflict import ConflictRecord
from anabranch.model.part import POSITION_BITS
from anabranch.model.records import Change
from anabranch.model.schema import Schema
from anabranch.model.state import TableState
from anabranch.model.words import counted
from anabranch.storage.row_ids import by_slot

if TYPE_CHECKING:
    from anabranch.commands.table_merge import TableMerger

SHOWN = 1000
"""Rows that one statement's conflict lists one by one; the rest is counted."""

_NONE = np.empty(0, np.int64)


class Inserts:
    """Ours' new rows in the merge of one table."""

    def __init__(self, merger: TableMerger, made: TableMerge, replay: Replay) -> None:
        self.merger, self.made, self.replay = merger, made, replay
        self.head = merger.mine.head
        self.physical = Schema(0, ())  # the columns that statements speak of, labelled by physical names

    def meet(self, statements: Sequence[Statement], resolution: Resolution | None) -> None:
        """`statements`: theirs' deletes and updates that stand."""
        assert self.made.schema is not None
        choice = self.merger.choice
        told = _NONE
        self.physical, said = spoken(statements, self.made.schema, self.merger.schema_at)
        known = [cache(partial(self._counts, statement.rows)) for statement in statements]
        each = list(zip(said, known, strict=True))
        if choice is None or resolution is not None:
            matches = [(one, self._matching(one, counts)) for one, counts in each]
            if resolution is not None:
                told = self._resolve(resolution, np.unique(np.concatenate([told, *(ids for _, ids in matches)])))
            left = [(one.change, ids[~np.isin(ids, told)]) for one, ids in matches]
            if choice is None and any(len(ids) for _, ids in left):
                self._refuse(left, [one for one, counts in each if counts()])
        if choice == "theirs":
            self._apply([one for one, counts in each if counts()], told)

    # --- what becomes of them -----------------------------------------------------------------------------------------

    def _resolve(self, resolution: Resolution, matched: np.ndarray) -> np.ndarray:
        """Gives the ids that have a resolution, each as the user wants it."""
        assert self.made.schema is not None
        ids = matched[resolution.find(matched) >= 0]
        resolution.use(ids)
        ours = self.merger.rows_of(self.made.schema, self.head, ids)
        nobody = np.full(len(ids), -1, np.int64)
        contest = Contest(ids, ids, nobody)
        choices = resolution.choices(contest, ours, ours.slice(0, 0).take(pa.nulls(len(ids), pa.int64())), "")
        self.replay.kill_ids("delete", ids[choices == "theirs"])
        changed = ids[choices == GIVEN]
        self.replay.kill_ids("update", changed)
        if len(changed):
            rows, _ = resolution.values(changed)
            self.made.add(rows, origins_of(changed, self.head.parts, self.merger.origins))
        return ids

    def _apply(self, statements: Sequence[Spoken], spared: np.ndarray) -> None:
        """Theirs wins: its statements are run on ours' new rows, too."""
        ids = self._all[~np.isin(self._all, spared)]
        if pairs_apart(self.merger, self.made, [(self.head, ids)]):
            return  # theirs' types do not hold these rows, which is a conflict by itself
        try:
            done = self._replayed(ids, statements)
        except ExpressionError as error:
            words = (f"{counted(len(ids), 'row')} inserted", str(error))
            self.made.conflicts.append(ConflictRecord(self.merger.name, "rows", "insert", *words))
            return
        changed = ids[done.left[done.changed]]
        self.replay.kill_ids("delete", ids[done.gone >= 0])
        self.replay.kill_ids("update", changed)
        if len(changed):
            assert self.made.schema is not None
            rows = under(done.rows.filter(pa.array(done.changed)), self.made.schema)
            self.made.add(rows, origins_of(changed, self.head.parts, self.merger.origins))

    def _refuse(self, matched: Sequence[tuple[Change, np.ndarray]], statements: Sequence[Spoken]) -> None:
        """One record for every row that a statement would reach, with what all of them together would make of it; if
        nobody knows that, one for every statement, too. `statements`: all that THEIRS would run."""
        assert self.made.schema is not None
        name = self.merger.name
        shown = np.unique(np.concatenate([ids[:SHOWN] for _, ids in matched]))
        rows = self.merger.rows_of(self.made.schema, self.head, shown).to_pylist()
        ours = dict(zip(shown.tolist(), rows, strict=True))
        theirs = self._left_by_theirs(statements, shown)
        told: set[tuple[int, str]] = set()
        for statement, ids in matched:
            rule, words = f"{statement.operation}/insert", self._told(statement)
            for id in ids[:SHOWN].tolist():
                its, ends = theirs.get(id, words), rule
                if id in theirs:
                    ends = "update/insert" if isinstance(its, dict) else "delete/insert"
                if (id, str(its)) not in told:
                    told.add((id, str(its)))
                    self.made.conflicts.append(ConflictRecord(name, "row", ends, ours[id], its, row=id))
            if len(ids) > SHOWN:
                more = f"{counted(len(ids) - SHOWN, 'more row')} inserted that it matches"
                self.made.conflicts.append(ConflictRecord(name, "rows", rule, more, words))

    def _left_by_theirs(self, statements: Sequence[Spoken], ids: np.ndarray) -> dict[int, Any]:
        """What THEIRS would make of each row: its values, or the words of the statement that deletes it; nothing, if
        the statements cannot be run on these rows, or would not change it today."""
        try:
            done = self._replayed(ids, statements)
            left = self._as_theirs(done.rows.filter(pa.array(done.changed))).to_pylist()
        except (DataError, ExpressionError):
            return {}
        by = zip(ids.tolist(), done.gone.tolist(), strict=True)
        deleted = {id: self._told(statements[place].change) for id, place in by if place >= 0}
        return deleted | dict(zip(ids[done.left[done.changed]].tolist(), left, strict=True))

    def _told(self, statement: Change) -> str:
        """In the words of the merged table: statements name columns physically."""
        assert self.made.schema is not None
        past = f"{statement.operation}d"
        predicate = statement.detail.get("predicate")
        if predicate is None:
            return f"{past} every row"
        if is_opaque(predicate):
            return f"{past} by a MERGE INTO"
        swapped = (replace(column, label=column.physical, physical=column.label) for column in self.made.schema.columns)
        return f"{past} where {Predicate(predicate).physical(Schema(0, tuple(swapped)))}"

    def _replayed(self, ids: np.ndarray, statements: Sequence[Spoken]) -> Replayed:
        rows = self.merger.rows_of(self.physical, self.head, ids)
        return replay_on(self.merger.session, rows, statements)

    def _as_theirs(self, rows: pa.Table) -> pa.Table:
        """Rows by physical names, with theirs' own column where both sides added one in types that conflict."""
        schema = self.made.schema
        assert schema is not None
        others = theirs_beside(self.made)
        columns = [replace(others.get(column.label, column), label=column.label) for column in schema.columns]
        return under(rows, replace(schema, columns=tuple(columns)))

    def _counts(self, changed: np.ndarray) -> bool:
        """A statement counts only if one of its rows stays changed, and under row and cell shows it."""
        return self.merger.detect == "file" or self.merger.differs_on_theirs(changed)

    # --- which rows ---------------------------------------------------------------------------------------------------

    def _state(self) -> TableState:
        """Parts that may hold rows which no base has, under any version; of older parts only rows that are back, and of
        new versions that theirs got too, by a pick say, those that it does not show."""
        there = self.merger.other.head
        placed = self.merger.mine.placed.items()
        parts = {
            slot: self.head.parts[slot] for slot, cause in placed if slot not in there.parts and cause != "overwrite"
        }
        both = [slot for slot, part in self.merger.born.items() if part.has_origin and slot in self.head.parts]
        some = {slot: visible(self.head, slot) - visible(there, slot) for slot in both if slot in there.dead}
        some |= {slot: rows for slot, rows in by_slot(self.merger.risen).items() if slot not in parts}
        shared = {slot: self.head.parts[slot] for slot in some}
        others = {slot: BitMap(range(part.rows)) - some[slot] for slot, part in shared.items()}
        return replace(self.head, parts={**parts, **shared}, dead={**self.head.dead, **others})

    @cached_property
    def _all(self) -> np.ndarray:
        """The ids of ours' new rows."""
        state = self._state()
        return self._new(ids_of({slot: visible(state, slot) for slot in state.parts}))

    def _new(self, ids: np.ndarray) -> np.ndarray:
        """Without new versions of rows that a base has, or that an overwrite wrote, and without those that theirs takes
        away or shows in a version of its own: its statements have seen these."""
        ids = ids[left_standing(self.head, self.replay, ids)]
        its = origins_of(ids, self.head.parts, self.merger.origins)
        overwritten = [slot for slot, cause in self.merger.mine.placed.items() if cause == "overwrite"]
        known = np.isin(its >> POSITION_BITS, [*self.merger.base_state.parts, *overwritten])
        known |= np.isin(its, self.merger.disagreed_origins)
        known |= self.merger.versions_of_theirs(its) >= 0
        found: np.ndarray = ids[~known | np.isin(ids, self.merger.risen)]
        return found

    def _matching(self, statement: Spoken, counts: Callable[[], bool]) -> np.ndarray:
        """The ids of live new rows that a statement is about. It is about all of them where a row alone does not tell,
        or would have told something else when the statement ran; and about none if it does not count, which is asked
        only where it matters, but before Spark is."""
        predicate = statement.change.detail.get("predicate")
        on = OnRows.of(self.merger.session, statement)
        if predicate is None or _decides_nothing(predicate):
            ids = self._all
        else:
            try:
                ids = self._found_here(on, predicate)
            except UNANSWERED:
                ids = self._found_among_new(on, predicate) if counts() else _NONE
        return ids if len(ids) and counts() else _NONE

    def _found_here(self, on: OnRows, predicate: str) -> np.ndarray:
        merger, state = self.merger, self._state()
        view = TableView(merger.name, on.schema, state, merger.written(state.parts), merger.session.folder(merger.id))
        with on.then.times():
            on.compiled(predicate, condition=True)
            plan = plan_scan(view, (), Predicate(predicate))
            found = [batch.column(ROW_ID).to_numpy() for batch in read_batches(plan, ids=True)]
        return self._new(np.concatenate([_NONE, *found]))

    def _found_among_new(self, on: OnRows, predicate: str) -> np.ndarray:
        """The same for what needs Spark, which gets no other rows, or fails on a row that may not be new."""
        ids, read = self._all, on.columns_of([predicate])
        found = [_NONE]
        try:
            for first in range(0, len(ids), AT_ONCE):
                some = ids[first : first + AT_ONCE]
                found.append(some[on.true_for(self.merger.rows_of(read, self.head, some), predicate)])
        except UNANSWERED:
            return ids
        return np.concatenate(found)


def _decides_nothing(predicate: str) -> bool:
    """Other rows decide, or chance, or the time at which the statement ran."""
    if is_opaque(predicate):
        return True
    tree = expressions.parse_expression(predicate)
    return expressions.reads_more(tree) is not None or expressions.is_of_the_moment(tree)
