"""MERGE INTO keyed tables: every change is a record of its key, and the table's engine brings records together.

blind    ON is the key, and no clause needs to know what is there: records are written, nothing of the target is read
         (but for keys that the source has twice, which must not be there)
lookup   ON is the key: the rows of the source's keys, and no others, are looked up
join     anything else: the target is read, here or by Spark, and joined

New rows and updates are adds. A partial update's record holds what its clause assigns and NULL elsewhere, which the
engine leaves as it is: through the engine means that a NULL is nothing to it. Deletes are -D records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.commands.keyed import delete_labels, flushed, write_records
from anabranch.commands.merge_into.beside import Beside
from anabranch.commands.merge_into.clauses import Action, BoundMerge, Pair
from anabranch.commands.merge_into.commit import commit_merge
from anabranch.commands.merge_into.reach import decides_times, flat_target, target_plan
from anabranch.commands.merge_into.result import Clock, Merged
from anabranch.commands.merge_into.rows import (
    Decided,
    Met,
    check_here,
    check_one_match,
    decide,
    evaluated,
    made_by,
    meet,
)
from anabranch.commands.merge_into.source import Source
from anabranch.commands.merge_into.strategy import Strategy, key_pairs
from anabranch.commands.session import OpenTable, Session, table_change
from anabranch.engines import KIND
from anabranch.errors import NeedsSpark, SeveralMatches
from anabranch.execution.keyed_writer import keys_in, reduced
from anabranch.execution.reader import read_table
from anabranch.execution.records import rows_of
from anabranch.execution.shape import Shape, assigned, assignments
from anabranch.expressions.types import spark_name, tightest
from anabranch.keyed.key_columns import KeyColumns, key_columns
from anabranch.keyed.keys import match
from anabranch.keyed.lookup import Wanted, wanted
from anabranch.model import types
from anabranch.model.part import Part
from anabranch.model.records import Change, TableDelta
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import from_arrow, to_arrow
from anabranch.storage.projection import convert


@dataclass
class KeyedMerge:
    """One MERGE of a keyed table."""

    session: Session
    table: OpenTable
    bound: BoundMerge
    strategy: Strategy
    evolved: OpenTable | None
    clock: Clock
    source: pa.Table | None

    # --- what is written ----------------------------------------------------------------------------------------------

    def shape(self, action: Action | None = None) -> Shape:
        """What a clause's rows must fit; a partial update may leave NULL where none is allowed."""
        schema = self.table.schema
        if action is not None and action.verb == "update" and self.table.engine.engine == "partial-update":
            columns = [c if c.physical in action.given else replace(c, nullable=True) for c in schema.columns]
            schema = replace(schema, columns=tuple(columns))
        return assignments(self.table.name, schema)

    def deletes(self, rows: pa.Table) -> pa.Table:
        """-D records of these rows (by label): their keys and sequence fields, and nothing else."""
        kept = set(delete_labels(self.table))
        arrays = [
            rows.column(column.label) if column.label in kept else pa.nulls(rows.num_rows, to_arrow(column.type))
            for column in self.table.schema.columns
        ]
        return pa.table(arrays, names=list(self.table.schema.labels))

    def write(self, adds: Sequence[pa.Table], deletes: Sequence[pa.Table]) -> list[Part]:
        """One flush of all change rows, of which each key has one."""
        changes = []
        for tables, kind in ((deletes, "-D"), (adds, "+I")):
            for rows in tables:
                if rows.num_rows:
                    kinds = pa.repeat(pa.scalar(kind), rows.num_rows)
                    changes.append(rows.append_column(KIND, kinds) if deletes else rows)
        if not changes:
            return []
        whole = pa.concat_tables(changes)
        return write_records(self.session, self.table, reduced(whole, self.table.schema, self.table.engine))

    def commit(self, parts: Sequence[Part], counts: dict[str, int], *, blind: bool) -> None:
        changes: list[Change] = [
            table_change(self.table, verb, rows=rows, keyed=True, blind=blind or None)
            for verb, rows in counts.items()
            if rows
        ]
        cause = next((verb for verb in ("update", "delete", "insert") if counts.get(verb)), "insert")
        deltas = [TableDelta(self.table.id, tuple(parts), cause=cause)] if parts else []  # type: ignore[arg-type]
        by_key = key_pairs(self.bound, self.table.engine) is not None
        beside = None if blind else Beside(self.session, self.table, self.bound, self.source, by_key)
        commit_merge(self.session, self.table, changes if parts else [], deltas, self.evolved, parts, beside)
        if parts:
            flushed(self.session, self.table)

    def done(self, parts: Sequence[Part], decided: Decided, parts_read: int) -> Merged:
        count = lambda places: sum(map(len, places))  # noqa: E731
        updated, deleted = count(decided.updated), len(np.unique(np.concatenate(decided.deleted or [np.zeros(0, int)])))
        inserted = sum(rows.num_rows for rows in decided.inserted)
        with self.clock.phase("commit"):
            self.commit(parts, {"update": updated, "delete": deleted, "insert": inserted}, blind=False)
        return Merged(self.strategy, self.clock.seconds, inserted, updated, deleted, parts_read, len(parts))

    # --- blind --------------------------------------------------------------------------------------------------------

    def blind(self, pairs: Sequence[Pair], source: pa.Table) -> Merged:
        upsert = self.strategy.way == "blind upsert"
        if upsert:
            (insert,) = self.bound.of("not matched")
            with self.clock.phase("decide"):
                adds = [made_by(self.bound, insert, self.shape(insert), source)]
                looked = self._refuse_matches_twice(pairs, source)
            with self.clock.phase("write"):
                parts = self.write(adds, [])
            counts = {"insert": source.num_rows}
        else:
            looked = 0
            with self.clock.phase("write"):
                keys = self._key_table(pairs, source)
                parts = self.write([], [self.deletes(keys)])
            counts = {"delete": sum(part.rows for part in parts)}
        with self.clock.phase("commit"):
            self.commit(parts, counts, blind=True)
        written = sum(counts.values())
        unknown = None if upsert else 0
        return Merged(
            self.strategy, self.clock.seconds, unknown, unknown, 0 if upsert else None, looked, len(parts), written
        )

    def _refuse_matches_twice(self, pairs: Sequence[Pair], source: pa.Table) -> int:
        """Keys that the source has more than once must not be in the table; only these are looked up."""
        present, asked = self._asked(pairs, source)
        counts = np.bincount(asked.asked, minlength=len(asked.keys)) if len(present) else np.zeros(0, np.int64)
        again = np.flatnonzero(counts > 1)
        if not len(again):
            return 0
        found = self.rows(asked.keys.take(again))
        if found.num_rows:
            raise SeveralMatches(self.table.name, found.num_rows)
        return len(self.session.view(self.table).standing.parts)

    def _key_table(self, pairs: Sequence[Pair], source: pa.Table) -> pa.Table:
        """The source's keys as rows of the table, NULL elsewhere; keys that `=` cannot match are left out."""
        arrays = dict(zip(self.table.schema.primary_key, self._keys(pairs, source), strict=True))
        present, _ = self._asked(pairs, source)
        columns = [
            arrays[column.physical] if column.physical in arrays else pa.nulls(source.num_rows, to_arrow(column.type))
            for column in self.table.schema.columns
        ]
        return pa.table(columns, names=list(self.table.schema.labels)).take(pa.array(present))

    # --- lookup -------------------------------------------------------------------------------------------------------

    def lookup(self, pairs: Sequence[Pair], source: pa.Table) -> Merged:
        with self.clock.phase("lookup"):
            present, asked = self._asked(pairs, source)
            rows = self.rows(asked.keys, self.bound.read_columns)
            there, at = match(keys_in(rows, self.table.engine), asked.keys)
            places = np.full(len(asked.keys), -1, np.int64)
            places[there] = at
            found = places[asked.asked]
            hit = found >= 0
            order = np.argsort(found[hit], kind="stable")
            met = Met(found[hit][order], present[hit][order])
        target = flat_target(self._labelled(rows), self.bound)
        return self._decided(target, source, met, len(self.session.view(self.table).standing.parts))

    def _keys(self, pairs: Sequence[Pair], source: pa.Table) -> list[pa.ChunkedArray]:
        """The source's side of ON in the key's types; NULL where no key can be equal. Raises NeedsSpark if that cannot
        be told."""
        arrays = []
        for pair in pairs:
            column, values = self.table.schema.columns[pair.target], evaluated(pair.source, source)
            if pa.types.is_null(values.type) or types.widens(from_arrow(values.type), column.type):
                arrays.append(assigned(values, column))
                continue
            fitting = _narrowed(values, column.type)
            if fitting is None or (pair.null_safe and fitting.null_count > values.null_count):
                raise NeedsSpark(f"comparing the key '{column.label}' with {spark_name(values.type)}")
            arrays.append(fitting)
        return arrays

    def _asked(self, pairs: Sequence[Pair], source: pa.Table) -> tuple[np.ndarray, Wanted]:
        """The places of source rows whose key can match, and their keys."""
        arrays = self._keys(pairs, source)
        there = np.ones(source.num_rows, bool)
        nullable = self.table.engine.nullable_key
        for pair, array in zip(pairs, arrays, strict=True):
            if array.null_count and not (pair.null_safe and nullable):
                there &= array.is_valid().to_numpy()
        present = np.flatnonzero(there)
        return present, wanted(key_columns([a.take(pa.array(present)) for a in arrays], nullable=nullable))

    def rows(self, keys: KeyColumns, read: frozenset[int] = frozenset()) -> pa.Table:
        """The rows of these keys, with what records need to meet and the columns `read`, by physical names."""
        view, spec = self.session.view(self.table), self.table.engine
        parts = view.standing.parts
        if spec.engine == "deduplicate":  # the last record wins as a whole, so other columns need not be read
            needed = {*spec.key, *spec.sequence, *(view.schema.columns[place].physical for place in read)}
            columns = tuple(column for column in view.schema.columns if column.physical in needed)
            view = replace(view, schema=replace(view.schema, columns=columns))
            spec = replace(spec, fields=tuple(name for name in spec.fields if name in needed))
        return rows_of(view, parts, keys, spec)

    def _labelled(self, rows: pa.Table) -> pa.Table:
        arrays = {
            column.label: convert(rows.column(column.physical), types.physical_type(column.type), column.type)
            for column in self.table.schema.columns
            if column.physical in rows.column_names
        }
        return pa.table(arrays)

    def _decided(self, target: pa.Table, source: pa.Table, met: Met, parts_read: int) -> Merged:
        check_one_match(self.bound, self.table.name, target, met.target)
        with self.clock.phase("decide"):
            decided = decide(self.bound, self.shape, target, source, met)
        with self.clock.phase("write"):
            gone = np.unique(np.concatenate(decided.deleted)) if decided.deleted else np.zeros(0, np.int64)
            names = [self.bound.names.target.flat(place) for place in range(len(self.table.schema.columns))]
            rows = target.take(pa.array(gone))
            kept = delete_labels(self.table)
            places = {label: name for label, name in zip(self.table.schema.labels, names, strict=True) if label in kept}
            keys = pa.table({label: rows.column(name) for label, name in places.items()})
            parts = self.write([*decided.versions, *decided.inserted], [self.deletes(keys)] if len(gone) else [])
        return self.done(parts, decided, parts_read)

    # --- join ---------------------------------------------------------------------------------------------------------

    def join(self, source: pa.Table) -> Merged:
        """Reads the target here. Raises NeedsSpark if it is too large."""
        view = self.session.view(self.table)
        labels = {*delete_labels(self.table)}
        needed = {p for p, column in enumerate(self.table.schema.columns) if column.label in labels}
        plan = target_plan(
            view, self.bound, source, frozenset(needed) | self.bound.on_columns | self.bound.read_columns
        )
        if plan.bytes > self.session.shared.limits.local_work:
            raise NeedsSpark("a target of this size")
        with self.clock.phase("join"):
            target = flat_target(read_table(plan), self.bound)
            met = meet(self.bound, target, source)
        return self._decided(target, source, met, len(plan.parts))


def _narrowed(values: pa.ChunkedArray, key: DataType) -> pa.ChunkedArray | None:
    """Numbers as a narrower type, by way of the one in which Spark compares both: NULL where nothing of the narrower is
    equal. None: several keys may be equal to one number, or these are no plain numbers."""
    narrow = to_arrow(key)
    if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (values.type, narrow)):
        return None
    shared = tightest(values.type, narrow)
    if shared is None or not types.widens(key, from_arrow(shared)):
        return None
    wide = values.cast(shared, safe=False)
    fitting = wide.cast(narrow, safe=False)
    same = pc.equal(fitting.cast(shared), wide)
    if pa.types.is_floating(narrow):
        same = pc.or_(same, pc.is_nan(wide))  # which is equal to itself here
    return pc.if_else(same, fitting, pa.scalar(None, narrow))


def merge_keyed(
    session: Session,
    table: OpenTable,
    bound: BoundMerge,
    source: Source,
    strategy: Strategy,
    evolved: OpenTable | None,
    clock: Clock,
) -> Merged:
    bound = _through_engine(bound, table)
    rows = source.flat_rows() if source.rows is not None and decides_times(session, bound, source) else None
    merge = KeyedMerge(session, table, bound, strategy, evolved, clock, rows)
    if rows is not None:
        try:
            columns = [(bound.names.target.flat(p), to_arrow(c.type)) for p, c in enumerate(bound.schema.columns)]
            check_here(bound, pa.schema(columns), rows.schema)
            pairs = key_pairs(bound, table.engine)
            if strategy.way.startswith("blind") and pairs is not None:
                return merge.blind(pairs, rows)
            if strategy.way == "lookup" and pairs is not None:
                return merge.lookup(pairs, rows)
            return merge.join(rows)
        except NeedsSpark:
            pass
    from anabranch.commands.merge_into import keyed_by_spark

    pairs = key_pairs(bound, table.engine)
    if strategy.way.startswith("blind") and pairs is not None and not table.engine.nullable_key:
        return keyed_by_spark.blind(merge, pairs, source)
    return keyed_by_spark.joined(merge, source)


def _through_engine(bound: BoundMerge, table: OpenTable) -> BoundMerge:
    """A partial update's record says nothing of the columns that its clause does not assign."""
    if table.engine.engine != "partial-update":
        return bound
    key = table.engine.key
    actions = []
    for action in bound.actions:
        if action.verb == "update":
            others = {c.physical: "NULL" for c in bound.schema.columns if c.physical not in (*action.values, *key)}
            action = replace(action, values={**action.values, **others})
        actions.append(action)
    return replace(bound, actions=tuple(actions))
