"""One table in a merge: its record, schema, partitions and rows, merged three ways.

What both sides changed of one row is settled by values, read for those rows alone. Nothing is written here: rows that a
cell merge combines are kept until the whole merge is known to pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from anabranch.branching.aliases import with_aliases
from anabranch.branching.effects import Effect, coming_and_going, effect
from anabranch.branching.flushes import crossed
from anabranch.branching.members import Members
from anabranch.branching.objects import merge_partitions, merge_table
from anabranch.branching.readable import unheld
from anabranch.branching.readable import unreadable as unreadable_columns
from anabranch.branching.row_merge import NO_ROWS, Changed, Detect, Replay, RowMerge, merge_rows
from anabranch.branching.rows import Positions, ids_of, origins_of, settled_classes, side_of
from anabranch.branching.schema_merge import alike, merge_schemas, shown_alike
from anabranch.branching.scopes import HAD, scope_json
from anabranch.branching.settle import same_rows
from anabranch.branching.versions import surely_differs
from anabranch.commands.contests import Contests, crossed_by
from anabranch.commands.keyed_merge import list_deltas
from anabranch.commands.keyed_table_merge import check_engine, merge_keyed
from anabranch.commands.meet_inserts import Inserts
from anabranch.commands.merge_plan import TableMerge, Wishes
from anabranch.commands.merge_reads import Batch
from anabranch.commands.not_null import require
from anabranch.commands.overwrites import overwrites_had
from anabranch.commands.own_types import added_apart, unreadable_type
from anabranch.commands.resolutions import Resolution, resolution
from anabranch.commands.returning import bring_back
from anabranch.commands.session import Session
from anabranch.commands.statements import BROUGHT, Statements
from anabranch.commands.table_sides import TableSides
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.history import Position, Segment
from anabranch.model.records import Operation, PartitionRecord, TableRecord
from anabranch.model.schema import Column, Schema
from anabranch.options import option
from anabranch.storage.row_ids import by_slot, united, without


def growing(count: int) -> Iterator[slice]:
    """Pieces of so many rows, few at first: one that differs is often enough."""
    first, size = 0, 1
    while first < count:
        yield slice(first, first + size)
        first, size = first + size, size * 16


class TableMerger(TableSides):
    """What becomes of a table in which theirs changed something."""

    def __init__(self, session: Session, table_id: str, reads: Batch, wishes: Wishes) -> None:
        super().__init__(session, table_id, reads)
        self.wishes = wishes

    @cached_property
    def detect(self) -> Detect:
        record = self.ours or self.theirs
        assert record is not None
        wanted = self.wishes.detect or option(record.properties, "merge.detect", self.wishes.lake)
        # Resolutions name rows, so rows are compared.
        return "row" if wanted == "file" and self.id in self.wishes.rows else wanted  # type: ignore[return-value]

    @cached_property
    def choice(self) -> Choice | None:
        record = self.ours or self.theirs
        assert record is not None
        habit = option(record.properties, "merge.on-conflict")
        wanted = self.wishes.tables.get(self.id) or self.wishes.resolve
        return wanted or (None if habit == "fail" else habit)  # type: ignore[return-value]

    def merge(self) -> TableMerge:
        made = TableMerge(self.name, before=self.ours)
        if self.ours is None and self.theirs is None:  # a REVERT of another branch's CREATE TABLE
            return made
        rows_changed = self._theirs_changed()
        merged = merge_table(
            self.bases,
            self.ours,
            self.theirs,
            theirs_changed_rows=rows_changed,
            name=self.name,
            resolve=self.choice,
            backwards=self.at.backwards,
            replays=self.at.replays,
        )
        made.conflicts += merged.conflicts
        made.record = merged.record
        made.operations += [(operation, {}) for operation in merged.changes]
        gone = merged.record is None or merged.record.dropped
        new = merged.changes and merged.changes[0] in ("create", "restore")
        if gone or new or not rows_changed:
            made.news = bool(merged.changes) or merged.settled or self._is_news(rows_changed=rows_changed)
            if "drop" in merged.changes:
                made.counting = partial(Effect, go=self.state(self.here).rows)
            if new and not gone:
                self._take_over(made)
            elif not gone and self.theirs is not None:
                check_engine(self, made)
            return made
        made.news = merged.settled
        self._merge_schema(made)
        check_engine(self, made)
        self._merge_partitions(made)
        self._merge_rows(made)
        if not made.news and all(operation == "column" for operation, _ in made.operations):
            made.operations.clear()  # columns go by other names in files, and nobody sees it
        return made

    def _is_news(self, *, rows_changed: bool) -> bool:
        """Whether ours has dropped what theirs changed: nothing comes of that, and it is worth an edge."""
        theirs, ours = self.theirs, self.ours
        if theirs is None or theirs.dropped or (ours is not None and not ours.dropped):
            return False
        as_theirs = (base and replace(base, schema_id=theirs.schema_id) for base in self.bases)
        return rows_changed or any(base != theirs for base in as_theirs)

    # --- what changed -------------------------------------------------------------------------------------------------

    def _theirs_changed(self) -> bool:
        """Whether theirs changed columns, rows or named partitions."""
        if self.theirs is None or self.theirs.dropped:
            return False
        if any(base is None or self._has_other_columns(base) for _, base in self._compared):
            return True
        if self._theirs_changed_rows():
            return True
        if not self.schema(self.theirs).partitioned_by:
            return False
        return any(self._partitions(at) != self._partitions(self.at.theirs) for at, _ in self._compared)

    @cached_property
    def _kept(self) -> bool:
        """Whether ours still has the table."""
        return self.ours is not None and not self.ours.dropped

    @property
    def _compared(self) -> Sequence[tuple[Position, TableRecord | None]]:
        """The bases that show the table, if any does, as their positions and records."""
        return [(at, base) for at, base in zip(self.at.bases, self.bases, strict=False) if at in self.bases_at]

    def _has_other_columns(self, base: TableRecord) -> bool:
        """Against a table that ours has dropped, what columns show decides."""
        assert self.theirs is not None
        if base.schema_id == self.theirs.schema_id:
            return False
        return self._kept or not shown_alike(self.schema(base), self.schema(self.theirs))

    def _theirs_changed_rows(self) -> bool:
        """Against a table that ours has dropped, what rows show decides, unless files are compared."""
        assert self.theirs is not None
        if self._differs_from_one():
            return True
        if self._kept and self.schema(self.theirs).primary_key and self._order_differs():
            return True
        if self._kept or self.detect == "file" or not self.other.changed or self.schema(self.theirs).primary_key:
            return self.other.changed
        nothing = side_of(self.base_state, self.base_state, [])
        return self._shows_news(merge_rows(self.name, nothing, self.other, self.detect, self.origins))

    def _order_differs(self) -> bool:
        """Whether the flushes of a keyed table stand in another order on theirs, so that it may show other rows."""
        bases = [list(self.state(base).parts) for base in self.bases_at]
        return any(crossed(bases, list(self.state(self.here).parts), list(self.state(self.at.theirs).parts)))

    def _shows_news(self, merged: RowMerge) -> bool:
        """Whether theirs shows other rows than the base, apart from contests; what is known costs nothing."""
        known = merged.news or (self.detect == "file" and bool(merged.updated)) or self._surely_differs(merged.updated)
        return known or merged.born() or self.differs_on_theirs(ids_of(merged.updated))

    def _differs_from_one(self) -> bool:
        """Whether theirs has other rows than one of several bases: what they disagree on counts as changed."""
        if len(self.bases_at) == 1:
            return False
        head = self.state(self.at.theirs)
        return any(side_of(self.state(at), head, []).changed for at, _ in self._compared)

    # --- a table that only theirs has ---------------------------------------------------------------------------------

    def _take_over(self, made: TableMerge) -> None:
        """The same id, theirs' state as it is. What ours had in it before it was dropped counts as never had."""
        assert self.theirs is not None
        state, now = self.state(self.at.theirs), self.reads.all_states(self.at.ours)[self.id]
        is_new = all(base is None for base in self.bases)
        deltas = self.deltas(self.at.theirs) if is_new else self.catalog.deltas(self.at.theirs, self.id, -1)
        side = side_of(now, state, deltas)
        nothing = side_of(now, now, [])
        made.record = self.theirs
        made.schema = self.schema(self.theirs)
        made.counting = partial(Effect, come=state.rows)
        if made.schema.primary_key:
            made.deltas = list_deltas(now, state, side, undone=True)
        else:
            replay = merge_rows(self.name, nothing, side, "file", self.origins).replay
            replay.removed = {"restore": set().union(*replay.removed.values())}
            made.deltas = replay.deltas()
            gone = {} if is_new else settled_classes(self.other, self.origins).gone
            brought = self._brought({cause: gone.get(cause, {}) for cause in ("delete", "update")}, NO_ROWS)
            made.operations += [("delete", {BROUGHT: brought})] if brought else []
        told = (change for _, change in self.changes(self.at.theirs))
        if not is_new or any(change.operation == "overwrite" or HAD in change.detail for change in told):
            overwrites = sorted(map(list, overwrites_had(self.catalog, self.at.theirs, self.id)))
            (how, detail), *others = made.operations
            made.operations = [(how, {**detail, HAD: overwrites}), *others]
        made.partitions = [PartitionRecord(self.id, text) for text in sorted(self._partitions(self.at.theirs))]
        self.hide_schemas(made)

    # --- schema -------------------------------------------------------------------------------------------------------

    def _merge_schema(self, made: TableMerge) -> None:
        assert self.ours is not None
        assert self.theirs is not None
        assert made.record is not None
        ours, theirs = self.schema(self.ours), self.schema(self.theirs)
        bases = [self.schema(base) for _, base in self._compared if base is not None]
        if bases and all(base.id == theirs.id or alike(base, theirs) for base in bases):
            made.schema = ours
            if theirs.id != ours.id:
                self._name_known(made, [theirs.columns])
            return
        if self._ours_is_base:  # theirs' schema as it is, also where a REVERT undoes a widening
            named = with_aliases(ours.columns, [theirs.columns], self._known_aliases(ours, theirs))
            made.schema, made.news = theirs, not shown_alike(replace(ours, columns=named), theirs)
            made.shows_columns = made.news
            made.record = replace(made.record, schema_id=theirs.id)
            made.operations.append(("column", {}))
            return
        known, back = self._known_aliases(ours, theirs), self.at.backwards
        merged = merge_schemas(bases or [theirs], ours, theirs, known, self.choice, self.name, backwards=back)
        made.conflicts += merged.conflicts
        made.schema, made.aliases, made.apart = merged.schema, merged.new_aliases, merged.apart
        made.left_out, made.beside = merged.left_out, merged.beside
        made.shows_columns = not shown_alike(ours, merged.schema)
        made.news |= made.shows_columns or merged.set_aside or bool(merged.new_aliases)
        if merged.changed:
            detail = {"aliases": dict(merged.new_aliases)} if merged.new_aliases else {}
            made.operations.append(("column", detail))
            same = next((s for s in (ours, theirs) if replace(merged.schema, id=s.id) == s), None)
            made.new_schema = same is None
            made.schema = same or merged.schema
            made.record = replace(made.record, schema_id=made.schema.id)

    def held_as(self, column: Column) -> tuple[Column, Column]:
        """A merged column as ours and as theirs has it."""
        assert self.ours is not None
        assert self.theirs is not None
        mine, other = (self.schema(record).stored_as(column) or column for record in (self.ours, self.theirs))
        return mine, other

    @cached_property
    def _ours_is_base(self) -> bool:
        """Whether ours did not change the table since the bases."""
        if not self.ours_moved:
            return True
        if not all(base is not None and self._is_ours(base) for base in self.bases):
            return False
        return not (self.disagreed or self.mine.changed or self.born)

    def _is_ours(self, base: TableRecord) -> bool:
        """Whether a base's record and schema are those of ours."""
        assert self.ours is not None
        same = replace(self.ours, schema_id=base.schema_id) == base
        return same and alike(self.schema(self.ours), self.schema(base))

    def _known_aliases(self, *schemas: Schema) -> set[tuple[str, str]]:
        found = {
            (alias, column.physical) for schema in schemas for column in schema.columns for alias in column.aliases
        }
        return found | self.reads.aliases(self.id)

    def _merge_partitions(self, made: TableMerge) -> None:
        if made.schema is not None and not made.schema.partitioned_by:
            return
        bases = [self._partitions(base) for base in self.bases_at]
        ours, theirs = self._partitions(self.here), self._partitions(self.at.theirs)
        merged, conflicts = merge_partitions(bases, ours, theirs, table=self.name, resolve=self.choice)
        made.conflicts += conflicts
        made.partitions = [PartitionRecord(self.id, text) for text in sorted(merged - ours)]
        made.partitions += [PartitionRecord(self.id, text, dropped=True) for text in sorted(ours - merged)]
        if made.partitions:
            made.operations.append(("partition", {}))
            made.news = True

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _merge_rows(self, made: TableMerge) -> None:
        assert made.schema is not None
        if made.schema.primary_key:
            merge_keyed(self, made)
            return
        met = crossed_by(self) if len(self.bases_at) > 1 else None
        merged = merge_rows(
            self.name,
            self.mine,
            self.other,
            self.detect,
            self.origins,
            self.shared,
            disagreed=self.disagreed,
            crossed=met.deleted(self.base_state) if met and self.detect == "file" else {},
            risen=lambda: self.risen,
        )
        resolution = self._resolution(made)
        if self.choice is None:
            made.conflicts += merged.conflicts
        replay, contest, changed = merged.replay, merged.contest, merged.changed
        contests = Contests(self, made, replay, resolution)
        if met is not None:
            contest, changed = contests.cross(met, contest, changed)
        asked = self.choice == "theirs" or resolution is not None or (self.detect != "file" and self.choice is None)
        if merged.meets_inserts and self.wishes.predicates and asked:
            Inserts(self, made, replay).meet(Statements(self).standing(changed), resolution)
        made.news = made.news or self._shows_news(merged)
        contests.settle(contest)
        if resolution is not None:
            resolution.refuse_others()
        bring_back(self, made, replay)
        self.name_aliases(made, replay)
        self._require(made, replay)
        made.deltas = replay.deltas()
        made.counting = partial(effect, self.mine.head, made.deltas, by_slot(made.repeated))
        made.shows = not self.at.backwards or self._shows_others(made)
        made.conflicts += self.unreadable(made, replay)
        self.hide_schemas(made)
        made.news |= bool(made.conflicts)
        self.name_operations(made, changed, contests.rejected)

    def name_operations(self, made: TableMerge, changed: Changed, rejected: np.ndarray) -> None:
        """What the merge did to rows, for later merges; and to columns, if only new aliases changed them. `changed`:
        rows that theirs deleted or updated; `rejected`: those of them of which the user wants ours."""
        if made.new_schema and not made.is_empty:
            made.name_column_change()
        brought: list[Segment] | None = None
        causes: list[Operation] = [delta.cause for delta in made.deltas]
        if not causes and (made.combined is not None or made.decided is not None):
            causes.append("update")  # rows that the merge writes, and nothing else
        for cause in causes:
            detail: dict[str, Any] = {}
            if cause == "overwrite" and self.other.scopes:
                detail["scope"] = {"each": [scope_json(scope) for scope in self.other.scopes]}
            if cause in ("delete", "update"):  # the first of them names the statements of both
                detail[BROUGHT] = [] if brought is not None else self._brought(changed, rejected)
                brought = detail[BROUGHT]
            made.operations.append((cause, detail))
        if made.news and self.other.scopes and not any(operation == "overwrite" for operation, _ in made.operations):
            each = [scope_json(scope) for scope in self.other.scopes]
            made.operations.append(("overwrite", {"scope": {"each": each}}))

    def _brought(self, changed: Changed, rejected: np.ndarray) -> list[Segment]:
        """The statements that stand where theirs' changes of these rows are taken."""
        if not len(rejected):
            return Statements(self).brought(changed, all_taken=True)
        taken = {cause: without(rows, by_slot(rejected)) for cause, rows in changed.items()}
        return Statements(self).brought(taken, all_taken=False)

    def name_aliases(self, made: TableMerge, replay: Replay) -> None:
        """Parts that hold a column under a name which an earlier merge unified with ours', even if it was undone."""
        assert self.ours is not None
        if {part.schema_id for parts in replay.placed.values() for part in parts} <= {self.ours.schema_id}:
            return
        placed = {part.slot: part for parts in replay.placed.values() for part in parts}
        self._name_known(made, [schema.columns for _, schema in sorted(self.written(placed).items())])

    def _name_known(self, made: TableMerge, written: Sequence[Members]) -> None:
        """Columns by all names that they are known by and that these schemas have."""
        assert made.schema is not None
        assert self.ours is not None
        assert self.theirs is not None
        known = self._known_aliases(self.schema(self.ours), self.schema(self.theirs))
        columns = with_aliases(made.schema.columns, written, known) if known else made.schema.columns
        if columns != made.schema.columns:
            made.schema, made.new_schema = replace(made.schema, columns=columns), True

    def _resolution(self, made: TableMerge) -> Resolution | None:
        """The rows that the user settles; where the columns themselves are in conflict they are not looked at."""
        given = self.wishes.rows.get(self.id)
        if given is None or made.columns_conflict:
            return None
        assert made.schema is not None
        made.resolved = True
        return resolution(given, made.schema)

    def _surely_differs(self, rows: Positions) -> bool:
        """Whether theirs is known to show one of these base rows otherwise, from what its statements recorded."""
        assert self.theirs is not None
        changes = self.changes(self.at.theirs)
        versions = {c.version for c, change in changes if (c.operation, change.operation) == ("UPDATE", "update")}
        updates = [delta for delta in self.deltas(self.at.theirs) if delta.version in versions]
        return surely_differs(self.other, rows, updates, self.theirs.schema_id)

    def differs_on_theirs(self, ids: np.ndarray) -> bool:
        """Whether theirs shows one of these base rows otherwise, or not at all. Few rows are looked at first, since one
        that differs is enough."""
        assert self.theirs is not None
        schema = named = self.schema(self.theirs)
        written = self.written(self.holding(self.base_state, ids))
        if written.keys() - {schema.id}:  # which may hold a column under a name that theirs does not know
            others = [one.columns for one in written.values()]
            named = replace(schema, columns=with_aliases(schema.columns, others, self._known_aliases(schema)))
        now = self.versions_of_theirs(origins_of(ids, self.base_state.parts, self.origins))
        for chunk in growing(len(ids)):
            after = self.rows_of(schema, self.other.head, now[chunk])
            before = self.rows_of(named, self.base_state, ids[chunk], [(self.other.head, now[chunk], after)])
            if (now[chunk] < 0).any() or not same_rows(before, after).all():
                return True
        return False

    def _shows_others(self, made: TableMerge) -> bool:
        """Whether ours shows other rows than before: versions that come and go may hold the same."""
        assert made.schema is not None
        assert self.ours is not None
        shown = self.schema(self.ours)  # which may know more names of a column than the merged one
        if made.combined is not None:
            return any(made.counts())
        come, go = map(ids_of, coming_and_going(self.mine.head, made.deltas))
        if len(come) != len(go):
            return True
        (there, come), (here, go) = (self._by_origin(ids) for ids in (come, go))
        if (there != here).any() or [c.label for c in shown.columns] != [c.label for c in made.schema.columns]:
            return True
        for chunk in growing(len(come)):
            before = self.rows_of(shown, self.mine.head, go[chunk])
            after = self.rows_of(made.schema, self.mine.head, come[chunk])
            if not same_rows(before, after).all():
                return True
        return False

    def _by_origin(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The origins of rows in their order, and the rows in the same order."""
        its = origins_of(ids, self.holding(self.mine.head, ids), self.origins)
        order = np.argsort(its, kind="stable")
        return its[order], ids[order]

    # --- what the merged schema asks of rows --------------------------------------------------------------------------

    def _require(self, made: TableMerge, replay: Replay) -> None:
        """A6.2 and A6.3; a resolution may relax the merged schema."""
        assert self.ours is not None
        assert self.theirs is not None
        ours = self.schema(self.ours)
        schema, conflicts = require(self, made, replay, ours)
        made.conflicts += conflicts
        if schema is not made.schema and not made.conflicts:
            made.relax(schema, ours, self.schema(self.theirs))

    def unreadable(self, made: TableMerge, replay: Replay) -> list[ConflictRecord]:
        """A type or a column that a resolution or a RESTORE chose, and rows that it does not hold."""
        assert made.schema is not None
        assert self.ours is not None
        shown = [part for parts in replay.placed.values() for part in parts]
        if made.schema is not self.schema(self.ours):  # else ours reads its own parts as before
            removed = {slot for slots in replay.removed.values() for slot in slots}
            shown += [part for slot, part in self.mine.head.parts.items() if slot not in removed]
        elif all(part.schema_id == made.schema.id for part in shown):
            return []
        dead = united([self.mine.head.dead, *replay.killed.values()])
        ids: dict[int, set[Choice]] = {}
        for part in shown:
            if len(dead.get(part.slot, ())) < part.rows:
                ids.setdefault(part.schema_id, set()).add("ours" if part.slot in self.mine.head.parts else "theirs")
        told = {conflict.column for conflict in made.conflicts if conflict.rule in ("A6.1", "incompatible")}
        found: dict[str | None, ConflictRecord] = {}
        for id in sorted(ids):
            written = self.reads.schema(self.id, id)
            columns = [c for c in unreadable_columns(made.schema, written) if c.physical not in made.apart]
            places = [place for column in columns for place in unheld(column, written, self.held_as(column))]
            records = [unreadable_type(self.name, place, ids[id]) for place in places]
            records += [added_apart(self.name, left) for left in made.left_out if left.held(written)]
            for record in records:
                found.setdefault(record.column, record)
        return [record for label, record in found.items() if label not in told]

    def hide_schemas(self, made: TableMerge) -> None:
        """The schema versions that theirs' rows were written with go to the hidden history."""
        assert made.record is not None
        if self.ours is not None and {p.schema_id for d in made.deltas for p in d.placed} <= {self.ours.schema_id}:
            return
        placed = {part.schema_id for delta in made.deltas for part in delta.placed}
        made.hidden = sorted(placed - self.reads.schema_ids(self.here)[self.id])
