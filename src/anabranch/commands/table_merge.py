"""One table in a merge: its record, schema, partitions and rows, merged three ways.

What both sides changed of one row is settled by values, read for those rows alone. Nothing is written here: rows that a
cell merge combines are kept until the whole merge is known to pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from anabranch.branching.objects import Side as Choice
from anabranch.branching.objects import merge_partitions, merge_table
from anabranch.branching.row_merge import Contest, Detect, Replay, merge_rows
from anabranch.branching.rows import (
    Scope,
    Side,
    common_state,
    disputed,
    ids_of,
    origins_of,
    placed_since,
    side_of,
    united,
    visible,
)
from anabranch.branching.schema_merge import merge_schemas, newly_required, unreadable
from anabranch.branching.settle import chosen, settle
from anabranch.commands.keyed_conflicts import engine_conflicts, with_engine_of
from anabranch.commands.keyed_merge import KeyedMerge, as_replay, list_deltas
from anabranch.commands.merge_plan import Positions, TableMerge, Wishes
from anabranch.commands.replay_inserts import replay_on, under
from anabranch.commands.session import Session
from anabranch.engines import engine_spec
from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.execution.fetch import fetch, read_origins
from anabranch.execution.plan import ScanPlan, TableView
from anabranch.execution.predicate import Predicate
from anabranch.execution.reader import ROW_ID, read_batches
from anabranch.execution.records import gives_null
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position, shared_version
from anabranch.model.names import qualified
from anabranch.model.part import POSITION_BITS, Part, bounds_of
from anabranch.model.records import Change, PartitionRecord, TableDelta, TableRecord
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.model.words import counted
from anabranch.options import option


class TableMerger:
    """Reads what a merge of one table needs, once, and only if it is needed."""

    def __init__(
        self, session: Session, table_id: str, at: Positions, wishes: Wishes, *, ours_moved: bool = True
    ) -> None:
        """`ours_moved` False: nothing happened to the table on ours since the only base."""
        self.session, self.id, self.at, self.wishes, self.ours_moved = session, table_id, at, wishes, ours_moved
        self.catalog = session.catalog
        self.bases = [self.catalog.table_by_id(base, table_id) for base in at.bases]
        self.ours = self.catalog.table_by_id(at.ours, table_id) if ours_moved else self.bases[0]
        self.theirs = self.catalog.table_by_id(at.theirs, table_id)
        self._origins: dict[int, np.ndarray] = {}
        self._events: dict[Position, list[TableDelta]] = {}

    @cached_property
    def name(self) -> str:
        known = [record for record in (self.ours, self.theirs, *self.bases) if record is not None]
        record = next((record for record in known if not record.dropped), known[0])
        for position in (self.at.ours, self.at.theirs):
            database = self.catalog.database_by_id(position, record.database_id)
            if database is not None:
                return qualified(database.name, record.name)
        return record.name

    @cached_property
    def detect(self) -> Detect:
        record = self.ours or self.theirs
        assert record is not None
        return self.wishes.detect or option(record.properties, "merge.detect")  # type: ignore[return-value]

    @cached_property
    def choice(self) -> Choice | None:
        record = self.ours or self.theirs
        assert record is not None
        habit = option(record.properties, "merge.on-conflict")
        wanted = self.wishes.tables.get(self.name.lower()) or self.wishes.resolve
        return wanted or (None if habit == "fail" else habit)  # type: ignore[return-value]

    def merge(self) -> TableMerge:
        made = TableMerge(self.name)
        rows_changed = self._theirs_changed()
        merged = merge_table(
            self.bases,
            self.ours,
            self.theirs,
            theirs_changed_rows=rows_changed,
            name=self.name,
            resolve=self.choice,
        )
        made.conflicts += merged.conflicts
        made.record = merged.record
        made.news = bool(merged.changes) or self._is_news(rows_changed=rows_changed)
        made.operations += [(operation, {}) for operation in merged.changes]
        if merged.conflicts or merged.record is None or merged.record.dropped:
            return made
        if merged.changes and merged.changes[0] in ("create", "restore"):
            self._take_over(made)
            return made
        if not rows_changed:
            self._check_engine(made)
            return made
        made.news = False
        self._merge_schema(made)
        self._check_engine(made)
        self._merge_partitions(made)
        self._merge_rows(made)
        return made

    def _is_news(self, *, rows_changed: bool) -> bool:
        """Whether theirs differs from base and ours in more than rows, or ours has dropped what theirs changed."""
        theirs, ours = self.theirs, self.ours
        if theirs is None or theirs.dropped:
            return False
        if ours is None or ours.dropped:
            return rows_changed or any(base != theirs for base in self.bases)
        return any(
            all(base is None or getattr(base, name) != getattr(theirs, name) for base in self.bases)
            and getattr(theirs, name) != getattr(ours, name)
            for name in ("database_id", "name", "properties", "comment")
        )

    # --- what changed -------------------------------------------------------------------------------------------------

    def _theirs_changed(self) -> bool:
        """Whether theirs changed columns, rows or named partitions."""
        if self.theirs is None or self.theirs.dropped:
            return False
        if any(base is None or base.schema_id != self.theirs.schema_id for base in self.bases):
            return True
        if self.other.changed or not self._schema(self.theirs).partitioned_by:
            return self.other.changed
        return any(
            self.catalog.partitions(base, self.id) != self.catalog.partitions(self.at.theirs, self.id)
            for base in self.at.bases
        )

    @cached_property
    def _true_base(self) -> TableState:
        return common_state([self.catalog.state(base, self.id) for base in self.at.bases])

    @cached_property
    def born(self) -> dict[int, Part]:
        """Slots that both sides placed since the base, after a cherry-pick say: alike, whatever came of their rows."""
        if self.ours is None or self.ours.dropped or not self.ours_moved:
            return {}
        ours, theirs = placed_since(self._deltas(self.at.ours)), placed_since(self._deltas(self.at.theirs))
        return {slot: part for slot, part in ours.items() if slot in theirs and slot not in self._true_base.parts}

    @cached_property
    def base_state(self) -> TableState:
        base = self._true_base
        return replace(base, parts={**base.parts, **self.born}) if self.born else base

    def _deltas(self, head: Position) -> list[TableDelta]:
        if head not in self._events:
            self._events[head] = self.catalog.deltas(head, self.id, self._shared(head))
        return self._events[head]

    @cached_property
    def mine(self) -> Side:
        if not self.ours_moved:
            return side_of(self.base_state, self.base_state, [])
        return self._side(self.at.ours)

    @cached_property
    def other(self) -> Side:
        return self._side(self.at.theirs)

    def _shared(self, head: Position) -> int:
        here = self.catalog.lineage(head)
        return min(shared_version(here, self.catalog.lineage(base)) for base in self.at.bases)

    def _side(self, head: Position) -> Side:
        scopes = self._scopes(head, self._shared(head))
        return side_of(self.base_state, self.catalog.state(head, self.id), self._deltas(head), scopes)

    def _scopes(self, head: Position, after: int) -> list[Scope]:
        """The overwrites since the base that nothing has undone."""
        found: list[tuple[int, Scope]] = []
        for commit, change in self.catalog.changes(head, after, self.id):
            scope = change.detail.get("scope")
            if change.operation == "overwrite" and scope is not None:
                found += [(commit.version, one) for one in _scopes_of(scope, commit.version, self, head)]
            elif change.operation == "restore":
                found = [(version, one) for version, one in found if version <= change.detail.get("version", -1)]
        reached = {base.version for base in self.at.bases if self._is_on(base, head)}
        return [scope for version, scope in found if all(version > base for base in reached)]

    def _is_on(self, base: Position, head: Position) -> bool:
        return shared_version(self.catalog.lineage(head), self.catalog.lineage(base)) >= base.version

    # --- a table that only theirs has ---------------------------------------------------------------------------------

    def _take_over(self, made: TableMerge) -> None:
        """The same id, theirs' state as it is."""
        assert self.theirs is not None
        state, now = self.catalog.state(self.at.theirs, self.id), self.catalog.state(self.at.ours, self.id)
        side = side_of(now, state, self.catalog.deltas(self.at.theirs, self.id, -1))
        nothing = side_of(now, now, [])
        made.record = self.theirs
        made.schema = self.catalog.schema(self.id, self.theirs.schema_id)
        if made.schema.primary_key:
            made.deltas = list_deltas(now, state, side)
        else:
            made.deltas = merge_rows(self.name, nothing, side, "file", self.origins).replay.deltas()
        named = set(self.catalog.partitions(self.at.theirs, self.id))
        made.partitions = [PartitionRecord(self.id, text) for text in sorted(named)]
        self._hide_schemas(made)

    # --- schema -------------------------------------------------------------------------------------------------------

    def _schema(self, record: TableRecord) -> Schema:
        return self.catalog.schema(self.id, record.schema_id)

    def _merge_schema(self, made: TableMerge) -> None:
        assert self.ours is not None
        assert self.theirs is not None
        assert made.record is not None
        ours, theirs = self._schema(self.ours), self._schema(self.theirs)
        bases = [self._schema(base) for base in self.bases if base is not None]
        if bases and all(base.id == theirs.id for base in bases):
            made.schema = ours
            return
        aliases = self._known_aliases(ours, theirs)
        merged = merge_schemas(bases or [theirs], ours, theirs, aliases, self.choice, self.name)
        made.conflicts += merged.conflicts
        made.schema, made.aliases = merged.schema, merged.new_aliases
        moved = all(base.columns != theirs.columns for base in bases)
        made.news |= moved and theirs.columns != ours.columns
        if merged.changed:
            detail = {"aliases": dict(merged.new_aliases)} if merged.new_aliases else {}
            made.operations.append(("column", detail))
            same = next((s for s in (ours, theirs) if replace(merged.schema, id=s.id) == s), None)
            made.new_schema = same is None
            made.schema = same or merged.schema
            made.record = replace(made.record, schema_id=made.schema.id)

    def _known_aliases(self, *schemas: Schema) -> dict[str, str]:
        found = {alias: column.physical for schema in schemas for column in schema.columns for alias in column.aliases}
        for head in (self.at.ours, self.at.theirs):
            for _, change in self.catalog.changes(head, -1, self.id):
                found |= change.detail.get("aliases", {})
        return found

    def _merge_partitions(self, made: TableMerge) -> None:
        if made.schema is not None and not made.schema.partitioned_by:
            return
        bases = [frozenset(self.catalog.partitions(base, self.id)) for base in self.at.bases]
        ours = frozenset(self.catalog.partitions(self.at.ours, self.id))
        theirs = frozenset(self.catalog.partitions(self.at.theirs, self.id))
        merged, conflicts = merge_partitions(bases, ours, theirs, table=self.name, resolve=self.choice)
        made.conflicts += conflicts
        made.partitions = [PartitionRecord(self.id, text) for text in sorted(merged - ours)]
        made.partitions += [PartitionRecord(self.id, text, dropped=True) for text in sorted(ours - merged)]
        if made.partitions:
            made.operations.append(("partition", {}))
            made.news = True

    # --- rows ---------------------------------------------------------------------------------------------------------

    def origins(self, part: Part) -> np.ndarray:
        if part.slot not in self._origins:
            self._origins[part.slot] = read_origins(self.session.folder(self.id), part, self.name)
        return self._origins[part.slot]

    def _check_engine(self, made: TableMerge) -> None:
        """What the records of a keyed table mean does not change under them."""
        assert self.ours is not None
        assert self.theirs is not None
        assert made.record is not None
        schema = made.schema or self._schema(self.ours)
        if schema.primary_key:
            sides = [
                (self._schema(record), record, bool(side.head.parts))
                for record, side in ((self.ours, self.mine), (self.theirs, self.other))
            ]
            found = engine_conflicts(self.name, schema, made.record, sides)
            if found and self.choice is not None:
                chosen = with_engine_of(self.ours if self.choice == "ours" else self.theirs, made.record)
                if not engine_conflicts(self.name, schema, chosen, sides):
                    made.record, found = chosen, []
            made.conflicts += found

    def _merge_keyed(self, made: TableMerge) -> None:
        """By the keyed law: keys are compared, whatever `detect` says."""
        assert made.schema is not None
        assert made.record is not None
        bases = [self.catalog.state(base, self.id) for base in self.at.bases]
        merge = KeyedMerge(self.session, self.id, self.name, bases, self.mine, self.other)
        made.news |= merge.news or bool(made.conflicts)
        if not merge.news or made.conflicts:
            return
        made.deltas = merge.deltas()
        made.again = frozenset(self.mine.head.parts)
        replay = as_replay(made.deltas)
        self._name_aliases(made, replay)
        made.conflicts += self._missing_values(made, replay)
        made.conflicts += self._unreadable(made, replay)
        if not made.conflicts:
            done = merge.decide(made.schema, engine_spec(made.schema, made.record.properties), self.choice)
            made.decided = done.rows
            made.conflicts += done.conflicts
        made.removed_rows = sum(self.mine.head.parts[slot].rows for delta in made.deltas for slot in delta.removed)
        self._hide_schemas(made)
        self._name_operations(made)

    def _merge_rows(self, made: TableMerge) -> None:
        assert made.schema is not None
        if made.schema.primary_key:
            self._merge_keyed(made)
            return
        merged = merge_rows(self.name, self.mine, self.other, self.detect, self.origins, frozenset(self.born))
        if self.choice is None:
            made.conflicts += merged.conflicts
            made.conflicts += self._disputes()
        replay = merged.replay
        if self.detect != "file" or self.choice is not None:
            self._meet_inserts(made, merged.meets_inserts, replay)
        made.news |= merged.news
        self._settle(made, merged.contest, replay)
        self._name_aliases(made, replay)
        made.deltas = replay.deltas() if made.news else []
        removed = {slot for delta in made.deltas for slot in delta.removed}
        made.removed_rows = sum(len(visible(self.mine.head, slot)) for slot in removed)
        made.conflicts += self._missing_values(made, replay)
        made.conflicts += self._unreadable(made, replay)
        self._hide_schemas(made)
        made.news |= bool(made.conflicts)
        self._name_operations(made)

    def _name_operations(self, made: TableMerge) -> None:
        for delta in made.deltas:
            scopes = [_scope_json(scope) for scope in self.other.scopes] if delta.cause == "overwrite" else []
            made.operations += [(delta.cause, {"scope": {"each": scopes}} if scopes else {})]
        if made.news and self.other.scopes and not any(operation == "overwrite" for operation, _ in made.operations):
            each = [_scope_json(scope) for scope in self.other.scopes]
            made.operations.append(("overwrite", {"scope": {"each": each}}))

    def _name_aliases(self, made: TableMerge, replay: Replay) -> None:
        """Parts that hold a column under a name which an earlier merge unified with ours', even if it was undone."""
        assert made.schema is not None
        assert made.record is not None
        assert self.ours is not None
        assert self.theirs is not None
        if {part.schema_id for parts in replay.placed.values() for part in parts} <= {self.ours.schema_id}:
            return
        known = self._known_aliases(self._schema(self.ours), self._schema(self.theirs))
        held = {c.physical for parts in replay.placed.values() for c in self._columns_of(parts)}
        columns = []
        for column in made.schema.columns:
            names = {column.physical, *column.aliases}
            new = sorted(a for a in held - names if _root(a, known) in {_root(name, known) for name in names})
            new = [name for name in new if made.schema.physical(name) is None]
            columns.append(replace(column, aliases=(*column.aliases, *new)) if new else column)
        if tuple(columns) != made.schema.columns:
            made.schema, made.new_schema = replace(made.schema, columns=tuple(columns)), True

    def _columns_of(self, parts: Sequence[Part]) -> list[Column]:
        ids = {part.schema_id for part in parts}
        return [column for id in sorted(ids) for column in self.catalog.schema(self.id, id).columns]

    def _disputes(self) -> list[ConflictRecord]:
        bases = [self.catalog.state(base, self.id) for base in self.at.bases]
        rows = disputed(bases, self.mine.head, self.other.head)
        count = sum(map(len, rows.values()))
        words = (f"{count:,} rows differ", f"{count:,} rows differ")
        return [ConflictRecord(self.name, "rows", "criss-cross", *words)] if count else []

    def _settle(self, made: TableMerge, contest: Contest, replay: Replay) -> None:
        if not len(contest):
            return
        if self.detect == "file":
            made.news = True
            if self.choice is not None:
                ours_dies, theirs_dies = chosen(contest, self.choice)
                replay.kill_ids("update", ours_dies)
                replay.kill_ids("update", theirs_dies)
            return
        assert made.schema is not None
        choice = np.full(len(contest), self.choice or "")
        base = self._fetch(made.schema, self.base_state, contest.base)
        ours = self._fetch(made.schema, self.mine.head, contest.ours)
        theirs = self._fetch(made.schema, self.other.head, contest.theirs)
        done = settle(self.name, contest, base, ours, theirs, self.detect, choice)
        made.news |= done.news
        made.conflicts += done.conflicts
        replay.kill_ids("update", done.ours_dies)
        replay.kill_ids("update", done.theirs_dies)
        if len(done.places):
            made.add(done.combined, origins_of(contest.base[done.places], self.base_state.parts, self.origins))

    def _fetch(self, schema: Schema, state: TableState, ids: np.ndarray) -> pa.Table:
        slots = {int(slot) for slot in np.unique(ids[ids >= 0] >> 32)}
        parts = {slot: part for slot, part in self._all_parts(state).items() if slot in slots}
        return fetch(self.session.folder(self.id), self.name, parts, self._written(parts), schema.columns, ids)

    def _all_parts(self, state: TableState) -> dict[int, Part]:
        return {**self.base_state.parts, **state.parts}

    def _written(self, parts: Mapping[int, Part]) -> dict[int, Schema]:
        return {part.schema_id: self.catalog.schema(self.id, part.schema_id) for part in parts.values()}

    # --- theirs' predicates against ours' new rows --------------------------------------------------------------------

    def _meet_inserts(self, made: TableMerge, causes: Sequence[str], replay: Replay) -> None:
        if not (causes and self.wishes.predicates) or (self.detect == "file" and self.choice is None):
            return
        if self.choice == "theirs":
            self._apply_to_inserts(made, causes, replay)
        if self.choice is not None:
            return
        new = {p.slot: p for p in self.mine.inserted() if p.slot not in self.other.head.parts}
        for change in self._standing(causes):
            ids = self._matching(new, change.detail.get("predicate"))
            if len(ids):
                shown = change.detail.get("predicate") or "every row"
                inserted = f"{counted(len(ids), 'row')} inserted that it matches"
                rule = f"{change.operation}/insert"
                made.conflicts.append(ConflictRecord(self.name, "rows", rule, inserted, shown))

    def _apply_to_inserts(self, made: TableMerge, causes: Sequence[str], replay: Replay) -> None:
        """Theirs wins: its statements are run on ours' new rows, too."""
        ids = self._new_rows()
        state = self.mine.head
        physical = self._physical()
        rows = self._fetch(physical, state, ids)
        try:
            done = replay_on(rows, physical, self._standing(causes))
        except ExpressionError as error:
            words = (f"{counted(len(ids), 'row')} inserted", f"a statement that cannot be run on them: {error}")
            made.conflicts.append(ConflictRecord(self.name, "rows", "insert", *words))
            return
        replay.kill_ids("delete", ids[done.gone])
        replay.kill_ids("update", ids[done.changed])
        if done.changed.any():
            assert made.schema is not None
            changed = under(done.rows.filter(pa.array(done.changed)), made.schema)
            made.add(changed, origins_of(ids[done.changed], state.parts, self.origins))

    def _new_rows(self) -> np.ndarray:
        """The ids of ours' live rows that no base has, under any version."""
        found = []
        for slot in self.mine.placed:
            if slot in self.other.head.parts:
                continue
            ids = ids_of({slot: visible(self.mine.head, slot)})
            born = origins_of(ids, self.mine.head.parts, self.origins) >> POSITION_BITS
            found.append(ids[~np.isin(born, sorted(self.base_state.parts))])
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _physical(self) -> Schema:
        """The columns of both sides, by their physical names."""
        assert self.ours is not None
        assert self.theirs is not None
        columns = {c.physical: c for record in (self.ours, self.theirs) for c in self._schema(record).columns}
        return Schema(0, tuple(replace(column, label=column.physical) for column in columns.values()))

    def _standing(self, causes: Sequence[str]) -> list[Change]:
        """Theirs' statements of these classes that changed a row which stays changed."""
        after = self._shared(self.at.theirs)
        gone = self.other.lost()
        effective = {
            delta.version
            for delta in self._deltas(self.at.theirs)
            if any(rows & gone.get(slot, BitMap()) for slot, rows in delta.killed.items())
        }
        changes = self.catalog.changes(self.at.theirs, after, self.id)
        return [c for commit, c in changes if c.operation in causes and commit.version in effective]

    def _matching(self, parts: Mapping[int, Part], predicate: str | None) -> np.ndarray:
        """The ids of live new rows of ours that a stored predicate, under physical names, is true for."""
        ours = self.mine.head
        if predicate is not None:
            try:
                return self._evaluate(parts, predicate)
            except NeedsSpark:
                pass
        return ids_of({slot: visible(ours, slot) for slot in parts})

    def _evaluate(self, parts: Mapping[int, Part], predicate: str) -> np.ndarray:
        physical = self._physical()
        where = Predicate(predicate)
        where.compiled(physical)
        state = replace(self.mine.head, parts=parts)
        view = TableView(self.name, physical, state, self._written(parts), self.session.folder(self.id))
        plan = ScanPlan(view, (), tuple(parts.values()), 0, where)
        found = [batch.column(ROW_ID).to_numpy() for batch in read_batches(plan, ids=True)]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    # --- what the merged schema asks of rows --------------------------------------------------------------------------

    def _missing_values(self, made: TableMerge, replay: Replay) -> list[ConflictRecord]:
        """A6.2 and A6.3: rows that would have NULL in a NOT NULL column of the merged schema."""
        assert made.schema is not None
        assert self.ours is not None
        placed = [part for parts in replay.placed.values() for part in parts]
        checked = [(part, "theirs") for part in placed]
        if made.schema != self._schema(self.ours):
            removed = {slot for slots in replay.removed.values() for slot in slots}
            checked += [(part, "ours") for slot, part in self.mine.head.parts.items() if slot not in removed]
        killed = united([self.mine.head.dead, *replay.killed.values()])
        found: dict[tuple[str, str], ConflictRecord] = {}
        for part, side in checked:
            if len(killed.get(part.slot, ())) >= part.rows:
                continue
            written = self.catalog.schema(self.id, part.schema_id)
            for column in newly_required(made.schema, written):
                stored = written.stored_as(column)
                if stored is not None and (stats := bounds_of(part, stored.physical)) and stats.nulls == 0:
                    continue
                files, keyed = self.session.folder(self.id), bool(made.schema.primary_key)
                if stored is not None and keyed and not gives_null(files, self.name, part, stored.physical):
                    continue
                rule = "A6.2" if stored is None else "A6.3"
                words = ("NOT NULL", f"rows without '{column.label}'")
                ours, theirs = words if side == "theirs" else words[::-1]
                record = ConflictRecord(self.name, "column", rule, ours, theirs, column=column.label)
                found.setdefault((side, column.physical), record)
        return list(found.values())

    def _unreadable(self, made: TableMerge, replay: Replay) -> list[ConflictRecord]:
        """A type that a resolution or a RESTORE narrowed, and rows that were written with the wide one."""
        assert made.schema is not None
        placed = [part for parts in replay.placed.values() for part in parts]
        ids = {part.schema_id for part in (*placed, *self.mine.head.parts.values())}
        found = {}
        for id in sorted(ids):
            written = self.catalog.schema(self.id, id)
            for column in unreadable(made.schema, written):
                stored = written.stored_as(column)
                words = (str(column.type), str(stored.type) if stored else "")
                record = ConflictRecord(self.name, "column", "A6.1", *words, column=column.label)
                found[column.physical] = record
        return list(found.values())

    def _hide_schemas(self, made: TableMerge) -> None:
        """The schema versions that theirs' rows were written with go to the hidden history."""
        assert made.record is not None
        if self.ours is not None and {p.schema_id for d in made.deltas for p in d.placed} <= {self.ours.schema_id}:
            return
        visible_ids = {id for _, _, id in self.catalog.schema_history(self.at.ours, self.id)}
        placed = {part.schema_id for delta in made.deltas for part in delta.placed}
        hidden = {id for _, id in self.catalog.hidden_schemas(self.at.ours, self.id)}
        made.hidden = sorted(placed - visible_ids - hidden)


def _root(name: str, aliases: Mapping[str, str]) -> str:
    """The name that a chain of unified names ends in."""
    seen = set()
    while name in aliases and name not in seen:
        seen.add(name)
        name = aliases[name]
    return name


def _scope_json(scope: Scope) -> dict[str, Any]:
    if scope.partitions is not None:
        return {"partitions": sorted(scope.partitions)}
    return {"values": dict(scope.values)}


def _scopes_of(body: Mapping[str, Any], version: int, merger: TableMerger, head: Position) -> list[Scope]:
    """The scopes of one recorded overwrite; a dynamic one is the partitions that it wrote."""
    if "each" in body:
        return [scope for one in body["each"] for scope in _scopes_of(one, version, merger, head)]
    if "partitions" in body:
        return [Scope(partitions=frozenset(body["partitions"]))]
    if body.get("dynamic"):
        deltas = merger.catalog.deltas(head, merger.id, version - 1)
        parts = [part for delta in deltas if delta.version == version for part in delta.placed]
        return [Scope(partitions=frozenset(part.partition for part in parts if part.partition))]
    return [Scope(values=body["values"])]
