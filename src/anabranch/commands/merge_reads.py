"""What a merge reads of the catalog: of many tables at once, every kind of thing once, and only if something asks.

A read costs about the same for one table as for a hundred, so a merge of many tables costs what changed in them. Tables
come in batches, so that no more states are held at once than a batch has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from anabranch.branching.base import merge_bases, reached
from anabranch.catalog import Catalog
from anabranch.commands.merge_plan import Points
from anabranch.model.history import Commit, Lineage, Position, Segment, shared_version
from anabranch.model.records import ROW_CLASSES, Change, DatabaseRecord, Done, Operation, TableDelta, TableRecord
from anabranch.model.schema import Schema
from anabranch.model.state import TableState

BATCH = 100

Changes = Mapping[str, Sequence[tuple[Commit, Change]]]
"""Object -> what commits did to it, oldest first."""
Found = TypeVar("Found")
Reader = TypeVar("Reader", "History", "Batch")
Asked = ParamSpec("Asked")


def once(read: Callable[Concatenate[Reader, Asked], Found]) -> Callable[Concatenate[Reader, Asked], Found]:
    """What is read at a position is kept for as long as its reader is."""
    name = read.__name__

    @wraps(read)
    def known(self: Reader, *at: Asked.args, **named: Asked.kwargs) -> Found:
        key = (name, *at)
        found: Found | None = self._found.get(key)
        if found is None:
            found = self._found[key] = read(self, *at, **named)
        return found

    return known


class History:
    """What happened between the points of a merge."""

    def __init__(self, catalog: Catalog, at: Points) -> None:
        self.catalog, self.at = catalog, at
        self._found: dict[tuple[Any, ...], Any] = {}

    @once
    def shared(self, head: Position) -> int:
        """The last version up to which all bases have what a head's own history has."""
        return min([self._had_by(base, head) for base in self.at.bases])

    def reached(self, head: Position) -> list[int]:
        """The versions of the bases that lie on a head's own history."""
        return [base.version for base in self.at.bases if self._shared_with(head, base) >= base.version]

    @cached_property
    def behind(self) -> Lineage:
        """All commits that either head reaches, those that it merged and what these had merged included."""
        highest: dict[int, int] = {}
        for head in (self.at.ours, self.at.theirs):
            for id, upto in self._reached(head).items():
                highest[id] = max(upto, highest.get(id, upto))
        return tuple(Segment(id, -1, upto) for id, upto in highest.items())

    @once
    def changes(self, head: Position) -> Changes:
        """What a head's commits did since then."""
        return self._since(head, self.shared(head))

    def touched(self, side: Position) -> tuple[list[str], list[str]]:
        """Ids of the databases and tables in which a side may differ from a base."""
        found = self._apart(side)
        return [id for kind, id in found if kind == "database"], [id for kind, id in found if kind == "table"]

    @once
    def reshaped(self, side: Position) -> set[str]:
        """Databases and tables in which more than rows may differ from a base."""
        return {id for (_, id), operations in self._apart(side).items() if not operations.issubset(ROW_CLASSES)}

    def inserted_only(self, table_id: str) -> bool:
        """Whether theirs did nothing else to a table since the only base."""
        return len(self.at.bases) == 1 and self._apart(self.at.theirs).get(("table", table_id), set()) <= {"insert"}

    @once
    def _apart(self, side: Position) -> Mapping[tuple[str, str], set[Operation]]:
        """What was done to objects since a side and a base were one, in the order of the side's own commits. What only
        one of several bases has counts for all."""
        found: dict[tuple[str, str], set[Operation]] = {}
        for base in self.at.bases:
            common = self._common(side, base)
            for done in (*self._between(common, side), *self._between(common, base)):
                found.setdefault((done.kind, done.object_id), set()).add(done.operation)
        return found

    def _common(self, side: Position, base: Position) -> Position:
        """A common ancestor; a base of a merge is one of its sides'."""
        if not self.at.replays:
            return base
        return merge_bases(side, base, self.catalog.origin, self.catalog.merges(), self.catalog.reaches)[0]

    def _between(self, ancestor: Position, at: Position) -> Iterable[Done]:
        """What was done in all commits that a position reaches and its ancestor does not: where an object differs, one
        of them has changed or `kept` it. On the position's own history each tells what changed there; a merge that
        keeps an object tells nothing, though what it merged may be undone there by what came from a third branch."""
        if at == ancestor:
            return ()
        if self._shared_with(at, ancestor) >= ancestor.version:
            own = self._since(at, ancestor.version)
            return (Done(c.kind, c.object_id, c.operation) for changes in own.values() for _, c in changes)
        reach, known = self._reached(at), self._reached(ancestor)
        new = [Segment(id, known.get(id, self._fork(id)), upto) for id, upto in reach.items()]
        return self.catalog.done(tuple(segment for segment in new if segment.upto > segment.after))

    def _fork(self, branch_id: int) -> int:
        branch = self.catalog.origin(branch_id)
        return -1 if branch.parent_id is None else branch.fork

    def _reached(self, at: Position) -> Mapping[int, int]:
        return reached(at, self.catalog.origin, self.catalog.merges(), self.catalog.reaches)

    def batches(self, table_ids: Sequence[str]) -> Iterator[Batch]:
        """The tables in their order, with what can be read of them."""
        one_base = len(self.at.bases) == 1
        moved = set(self.touched(self.at.ours)[1]) if one_base and table_ids else set(table_ids)
        for start in range(0, len(table_ids), BATCH):
            yield Batch(self, table_ids[start : start + BATCH], moved)

    def _shared_with(self, head: Position, base: Position) -> int:
        """The last version up to which both are the same history."""
        return shared_version(self.catalog.lineage(head), self.catalog.lineage(base))

    def _had_by(self, one: Position, other: Position) -> int:
        """The last version up to which `one` has what the other's own history has: shared, or merged since. (A merge
        into one of several bases says nothing of the others; and what came by way of a third branch may have been
        undone there, so that no record of either tells of it.)"""
        shared = self._shared_with(other, one)
        if len(self.at.bases) > 1 or shared >= min(one.version, other.version):
            return shared
        return max(shared, min(other.version, self._merged(one, other.branch_id)))

    def _merged(self, one: Position, branch_id: int) -> int:
        """The last version of a branch that the history of `one` has merged."""
        merges = self.catalog.merges()
        direct = [
            merged.version
            for segment in self.catalog.lineage(one)
            for version, merged in merges(segment.branch_id, segment.upto)
            if segment.after < version <= segment.upto and merged.branch_id == branch_id
        ]
        return max(direct, default=-1)

    @once
    def _since(self, head: Position, after: int) -> Changes:
        found: dict[str, list[tuple[Commit, Change]]] = {}
        for commit, change in self.catalog.changes(head, after):
            found.setdefault(change.object_id, []).append((commit, change))
        return found


class Batch:
    """Some tables of a merge. At ours, only those are read that ours changed: the others are as they were at the base.

    `moved` are the tables that ours may have changed since the only base; after a criss-cross, all.
    """

    def __init__(self, history: History, ids: Sequence[str], moved: set[str]) -> None:
        self.history, self.catalog, self.at = history, history.catalog, history.at
        self.ids, self.moved = ids, moved.intersection(ids)
        self._found: dict[tuple[Any, ...], Any] = {}
        self._schemas: dict[tuple[str, int], Schema] = {}
        self._aliases: dict[str, set[tuple[str, str]]] = {}

    def here(self, table_id: str) -> Position:
        """Where a table is found as ours has it."""
        return self.at.ours if table_id in self.moved else self.at.bases[0]

    def _asked(self, at: Position) -> Sequence[str]:
        """The tables that are read at a position."""
        moved_only = at == self.at.ours and at not in self.at.bases
        return [id for id in self.ids if id in self.moved] if moved_only else self.ids

    @once
    def records(self, at: Position) -> Mapping[str, TableRecord]:
        """Those of tables of which only rows changed since the only base are as they are there."""
        return self._as_at_base(at, self._asked(at), self.records, self.catalog.tables_by_id)

    @once
    def databases(self, at: Position) -> Mapping[str, DatabaseRecord]:
        """Those that the tables are in, at any of the points."""
        ids = {record.database_id for record in self._all_records()}
        return self._as_at_base(at, ids, self.databases, self.catalog.databases_by_id)

    def _as_at_base(
        self,
        at: Position,
        ids: Collection[str],
        known: Callable[[Position], Mapping[str, Found]],
        read: Callable[[Position, Iterable[str]], Mapping[str, Found]],
    ) -> Mapping[str, Found]:
        """Records of which nothing changed since the only base are those that are `known` there."""
        base, *others = self.at.bases
        if others or at == base:
            return read(at, ids)
        reshaped = self.history.reshaped(at)
        same = {id: record for id, record in known(base).items() if id in ids and id not in reshaped}
        missing = [id for id in ids if id not in same]
        return {**same, **read(at, missing)} if missing else same

    @once
    def states(self, at: Position) -> Mapping[str, TableState]:
        return self.catalog.states(at, self._asked(at))

    @once
    def all_states(self, at: Position) -> Mapping[str, TableState]:
        """Also of tables that have not moved: of one that was dropped each branch has kept its own rows, and no record
        tells how they differ."""
        return self.catalog.states(at, self.ids)

    @once
    def deltas(self, head: Position) -> Mapping[str, list[TableDelta]]:
        """What a head's commits did to rows, since the version that it shares with the bases."""
        return self.catalog.deltas_of(head, self._asked(head), self.history.shared(head))

    @once
    def partitions(self, at: Position) -> Mapping[str, list[str]]:
        return self.catalog.partitions_of(at, self._asked(at))

    @once
    def schema_ids(self, at: Position) -> Mapping[str, set[int]]:
        return self.catalog.schema_ids(at, self._asked(at))

    def aliases(self, table_id: str) -> set[tuple[str, str]]:
        """Names of columns that a merge in either side's history unified, undone or not, on any branch; read along with
        those of all tables of several schemas."""
        if table_id not in self._aliases:
            asked = {table_id, *self._reshaped()} - self._aliases.keys()
            read = self.catalog.changes_on(self.history.behind, asked, "column")
            for id in asked:
                pairs = (change.detail.get("aliases", {}).items() for _, change in read.get(id, ()))
                self._aliases[id] = {pair for each in pairs for pair in each}
        return self._aliases[table_id]

    def _reshaped(self) -> set[str]:
        """Tables with several schemas, in their records or in what theirs wrote."""
        schemas: dict[str, set[int]] = {id: set() for id in self.ids}
        for record in self._all_records():
            schemas[record.id].add(record.schema_id)
        for id, deltas in self.deltas(self.at.theirs).items():
            schemas[id].update(part.schema_id for delta in deltas for part in delta.placed)
        return {id for id, ids in schemas.items() if len(ids) > 1}

    def schema(self, table_id: str, schema_id: int) -> Schema:
        """Reads those of all records and parts that are at hand along with it."""
        key = (table_id, schema_id)
        if key not in self._schemas and (known := self.catalog.schema_at_hand(table_id, schema_id)) is not None:
            self._schemas[key] = known
        if key not in self._schemas:
            wanted = {key} | {(record.id, record.schema_id) for record in self._all_records()}
            for (kind, *_), found in self._found.items():
                if kind == "states":
                    wanted |= {(id, part.schema_id) for id, state in found.items() for part in state.parts.values()}
            self._schemas |= self.catalog.schemas(wanted)
        return self._schemas[key]

    def _all_records(self) -> Iterator[TableRecord]:
        for at in (*self.at.bases, self.at.ours, self.at.theirs):
            yield from self.records(at).values()
