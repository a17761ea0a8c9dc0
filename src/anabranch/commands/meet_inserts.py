"""Theirs' deletes and updates against the rows that ours has inserted since: `delete/insert` and `update/insert`.

Under detect = row and cell a statement of theirs conflicts with every new row of ours that its condition matches.
RESOLVE USING OURS spares these rows, THEIRS runs the statements on them, and a resolution says what becomes of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.criss_cross import left_standing
from anabranch.branching.row_merge import Contest, Replay
from anabranch.branching.rows import ids_of, origins_of, visible
from anabranch.branching.settle import GIVEN
from anabranch.commands.merge_plan import TableMerge
from anabranch.commands.own_types import pairs_apart, theirs_beside
from anabranch.commands.replay_inserts import replay_on, under
from anabranch.commands.resolutions import Resolution
from anabranch.commands.statements import Statement, spoken
from anabranch.errors import DataError, ExpressionError, NeedsSpark
from anabranch.execution.plan import ScanPlan, TableView
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import ROW_ID, read_batches
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


class Inserts:
    """Ours' new rows in the merge of one table."""

    def __init__(self, merger: TableMerger, made: TableMerge, replay: Replay) -> None:
        self.merger, self.made, self.replay = merger, made, replay
        self.head = merger.mine.head
        self.physical = Schema(0, ())

    def meet(self, statements: Sequence[Statement], resolution: Resolution | None) -> None:
        """`statements`: theirs' deletes and updates that stand."""
        assert self.made.schema is not None
        choice = self.merger.choice
        told = np.empty(0, np.int64)
        self.physical, changes = spoken(statements, self.made.schema, self.merger.schema_at)
        spoken_of = list(zip(changes, (statement.rows for statement in statements), strict=True))
        if choice is None or resolution is not None:
            matches = [(change, self._matching(change), rows) for change, rows in spoken_of]
            matched = [(change, ids) for change, ids, rows in matches if len(ids) and self._counts(rows)]
            if resolution is not None:
                told = self._resolve(resolution, np.unique(np.concatenate([told, *(ids for _, ids in matched)])))
            if choice is None:
                for statement, ids in matched:
                    self._refuse(statement, ids[~np.isin(ids, told)])
        if choice == "theirs":
            self._apply([change for change, rows in spoken_of if self._counts(rows)], told)

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

    def _apply(self, statements: Sequence[Change], spared: np.ndarray) -> None:
        """Theirs wins: its statements are run on ours' new rows, too."""
        ids = self._all()
        ids = ids[~np.isin(ids, spared) & left_standing(self.head, self.replay, ids)]  # others theirs overwrote
        if pairs_apart(self.merger, self.made, [(self.head, ids)]):
            return  # theirs' types do not hold these rows, which is a conflict by itself
        rows = self.merger.rows_of(self.physical, self.head, ids)
        try:
            done = replay_on(rows, self.physical, statements)
        except (DataError, ExpressionError) as error:
            words = (f"{counted(len(ids), 'row')} inserted", f"a statement that cannot be run on them: {error}")
            self.made.conflicts.append(ConflictRecord(self.merger.name, "rows", "insert", *words))
            return
        self.replay.kill_ids("delete", ids[done.gone])
        self.replay.kill_ids("update", ids[done.changed])
        if done.changed.any():
            assert self.made.schema is not None
            changed = under(done.rows.filter(pa.array(done.changed)), self.made.schema)
            self.made.add(changed, origins_of(ids[done.changed], self.head.parts, self.merger.origins))

    def _refuse(self, statement: Change, ids: np.ndarray) -> None:
        """One record for every row that the statement would reach."""
        assert self.made.schema is not None
        shown, name = ids[:SHOWN], self.merger.name
        rule = f"{statement.operation}/insert"
        ours = self.merger.rows_of(self.made.schema, self.head, shown).to_pylist()
        theirs = self._seen_by_theirs(statement, shown)
        self.made.conflicts += [
            ConflictRecord(name, "row", rule, mine, other, row=id)
            for id, mine, other in zip(shown.tolist(), ours, theirs, strict=True)
        ]
        if len(ids) > len(shown):
            words = (f"{counted(len(ids) - len(shown), 'more row')} inserted that it matches", _told(statement))
            self.made.conflicts.append(ConflictRecord(name, "rows", rule, *words))

    def _seen_by_theirs(self, statement: Change, ids: np.ndarray) -> Sequence[Any]:
        """What the statement would make of the rows; its words, if it deletes or only Spark can tell."""
        assert self.made.schema is not None
        if statement.operation == "update":
            try:
                done = replay_on(self.merger.rows_of(self.physical, self.head, ids), self.physical, [statement])
                return self._as_theirs(done.rows).to_pylist()
            except (DataError, ExpressionError):
                pass
        return [_told(statement)] * len(ids)

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
        """Parts that may hold rows which no base has, under any version; of older parts only rows that are back."""
        there = self.merger.other.head.parts
        placed = self.merger.mine.placed.items()
        parts = {slot: self.head.parts[slot] for slot, cause in placed if slot not in there and cause != "overwrite"}
        back = {slot: rows for slot, rows in by_slot(self.merger.risen).items() if slot not in parts}
        older = {slot: self.head.parts[slot] for slot in back}
        others = {slot: BitMap(range(part.rows)) - back[slot] for slot, part in older.items()}
        return replace(self.head, parts={**parts, **older}, dead={**self.head.dead, **others})

    def _all(self) -> np.ndarray:
        """The ids of ours' new rows."""
        state = self._state()
        return self._new(ids_of({slot: visible(state, slot) for slot in state.parts}))

    def _new(self, ids: np.ndarray) -> np.ndarray:
        """Without new versions of rows that a base has, or that an overwrite wrote."""
        born = origins_of(ids, self.head.parts, self.merger.origins) >> POSITION_BITS
        overwritten = [slot for slot, cause in self.merger.mine.placed.items() if cause == "overwrite"]
        known = np.isin(born, [*self.merger.base_state.parts, *overwritten])
        found: np.ndarray = ids[~known | np.isin(ids, self.merger.risen)]
        return found

    def _matching(self, statement: Change) -> np.ndarray:
        """The ids of live new rows that a stored condition, under physical names, is true for."""
        predicate = statement.detail.get("predicate")
        if predicate is not None:
            try:
                return self._new(self._evaluate(self._state(), predicate))
            except NeedsSpark:
                pass
        return self._all()

    def _evaluate(self, state: TableState, predicate: str) -> np.ndarray:
        where = Predicate(predicate)
        where.compiled(self.physical)
        merger = self.merger
        written = merger.written(state.parts)
        view = TableView(merger.name, self.physical, state, written, merger.session.folder(merger.id))
        plan = ScanPlan(view, (), tuple(state.parts.values()), 0, where)
        found = [batch.column(ROW_ID).to_numpy() for batch in read_batches(plan, ids=True)]
        return np.concatenate(found) if found else np.empty(0, np.int64)


def _told(statement: Change) -> str:
    predicate = statement.detail.get("predicate")
    return f"{statement.operation}d {'where ' + predicate if predicate else 'every row'}"
