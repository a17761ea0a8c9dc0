"""What a merge would commit: every object that theirs touched, merged three ways, and all conflicts together.

Tables come first, since a database that was dropped on one side is in conflict by what the other did in it; then
databases; then names, over the merged whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from anabranch.branching.effects import Effect
from anabranch.branching.objects import check_names, merge_database
from anabranch.commands.merge_ground import Ground
from anabranch.commands.merge_plan import Points, TableMerge, Wishes
from anabranch.commands.merge_reads import History
from anabranch.commands.session import Session
from anabranch.commands.table_merge import TableMerger
from anabranch.model.conflict import ConflictRecord
from anabranch.model.history import Position
from anabranch.model.names import qualified
from anabranch.model.records import DatabaseRecord, Operation, TableRecord
from anabranch.model.types import quote_identifier


@dataclass
class MergePlan:
    """What a merge would commit, and every conflict that stands against it."""

    at: Points
    databases: list[tuple[DatabaseRecord, tuple[Operation, ...]]] = field(default_factory=list)
    tables: dict[str, TableMerge] = field(default_factory=dict)
    conflicts: list[ConflictRecord] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Databases, and tables in them, whose conflict was resolved so that nothing comes of it: that is worth an edge."""
    cascades: set[str] = field(default_factory=set)
    """Databases that theirs dropped with all that is in them: whoever merges this later must know."""
    names: dict[str, str] = field(default_factory=dict)
    """By table id: what the tables are called once it is done, where that is not what ours calls them."""
    ground: Ground | None = None
    """None: there was nothing to merge."""

    @property
    def is_empty(self) -> bool:
        """A REVERT must change something; a merge or a pick may be worth it for what it settles."""
        worth, kept = [made for made in self.tables.values() if not made.is_idle], self.kept
        if (worth or kept) and self.at.backwards:
            worth, kept = [made for made in worth if made.changes_something], []
        return not (self.databases or worth or self.conflicts or kept)


def plan_merge(session: Session, at: Points, wishes: Wishes) -> MergePlan:
    """Every object that theirs touched, merged; reads what it must and writes nothing."""
    plan = MergePlan(at)
    history = History(session.catalog, at)
    databases, tables = history.touched(at.theirs)
    for batch in history.batches(tables):
        for table_id in batch.ids:
            made = TableMerger(session, table_id, batch, wishes).merge()
            plan.conflicts += made.conflicts
            if not made.is_empty:
                plan.tables[table_id] = made
    databases = _with_parents(session, plan, databases)
    for database_id in databases:
        _merge_database(session, plan, database_id, wishes)
    plan.conflicts += _names(session, plan)
    plan.names = _new_names(session, plan)
    plan.ground = Ground(history, tables, plan.tables, changes_databases=bool(databases))
    return plan


def _with_parents(session: Session, plan: MergePlan, databases: Iterable[str]) -> list[str]:
    """Databases that theirs touched, and those that a merged table needs and ours lacks."""
    needed = [made.record.database_id for made in plan.tables.values() if made.record is not None and made.moves_in]
    here = session.catalog.databases_by_id(plan.at.ours, set(needed))
    return list(dict.fromkeys([*databases, *(id for id in needed if id not in here or here[id].dropped)]))


def _merge_database(session: Session, plan: MergePlan, database_id: str, wishes: Wishes) -> None:
    catalog, at = session.catalog, plan.at
    bases = [catalog.database_by_id(base, database_id) for base in at.bases]
    ours, theirs = catalog.database_by_id(at.ours, database_id), catalog.database_by_id(at.theirs, database_id)
    inside = [m for m in plan.tables.values() if m.record is not None and m.record.database_id == database_id]
    known = {id for base in at.bases for id in _table_ids(session, base, database_id)}
    created = _table_ids(session, at.ours, database_id) - known - _table_ids(session, at.theirs, database_id)
    moved = {id: record for id, record in catalog.tables_by_id(at.theirs, created).items() if not record.dropped}
    cascades = _drops_with_tables(session, at, database_id)
    filled = "moved a table into it" if moved else None if cascades or not created else "created a table in it"
    merged = merge_database(
        bases,
        ours,
        theirs,
        theirs_changed_tables=any(not made.record.dropped for made in inside if made.record),
        ours_filled_it=filled,
        resolve=wishes.resolve,
        backwards=at.backwards,
        replays=at.replays,
    )
    plan.conflicts += merged.conflicts
    if merged.settled and not merged.changes:
        plan.kept += [record.name for record in (ours or theirs,) if record is not None]
        if merged.record is None or merged.record.dropped:
            _leave_created(plan, database_id)
    if merged.changes and merged.record is not None:
        plan.databases.append((merged.record, merged.changes))
        if merged.changes == ("drop",):
            if cascades:
                plan.cascades.add(database_id)
            left = [record for record in catalog.tables(at.ours, database_id) if record.id not in plan.tables]
            states = catalog.states(at.ours, [record.id for record in left])
            for id, there in moved.items():
                _move_back(plan, id, there, next((record for record in left if record.id == id), None))
            for record in (record for record in left if record.id not in moved):
                name = qualified(merged.record.name, record.name)
                gone, rows = replace(record, dropped=True), partial(Effect, go=states[record.id].rows)
                plan.tables[record.id] = TableMerge(name, gone, record, operations=[("drop", {})], counting=rows)


def _move_back(plan: MergePlan, table_id: str, theirs: TableRecord, ours: TableRecord | None) -> None:
    """Theirs dropped the database, but not a table that ours moved into it: that goes where theirs has it. `ours`: as
    ours has it, if theirs changed nothing in it."""
    if ours is None:
        made = plan.tables[table_id]
    else:
        made = plan.tables[table_id] = TableMerge(theirs.name, ours, ours)
    if made.record is not None and not made.record.dropped:
        made.record = replace(made.record, database_id=theirs.database_id, name=theirs.name)
        made.operations.append(("rename", {}))


def _leave_created(plan: MergePlan, database_id: str) -> None:
    """Ours dropped the database, and that stands: the tables that theirs created in it stay where they are."""
    for table_id, made in list(plan.tables.items()):
        created = made.operations[:1] == [("create", {})]
        if created and made.record is not None and made.record.database_id == database_id:
            plan.kept.append(made.name)
            del plan.tables[table_id]


def _drops_with_tables(session: Session, at: Points, database_id: str) -> bool:
    """Whether theirs dropped the database with CASCADE, so that tables new on ours go along."""
    changes = session.catalog.changes(at.theirs, -1, database_id)
    drops = [change for _, change in changes if change.operation == "drop"]
    return bool(drops) and bool(drops[-1].detail.get("cascade"))


def _table_ids(session: Session, at: Position, database_id: str) -> set[str]:
    return {record.id for record in session.catalog.tables(at, database_id)}


def _names(session: Session, plan: MergePlan) -> list[ConflictRecord]:
    """Names that the merge gives, against each other and against those that ours has."""
    catalog, ours = session.catalog, plan.at.ours
    databases = {record.id: record for record, _ in plan.databases}
    tables = {
        id: made.record
        for id, made in plan.tables.items()
        if made.record is not None
        and (databases or any(what in ("create", "restore", "rename", "drop") for what, _ in made.operations))
    }
    held_databases: dict[str, DatabaseRecord] = {}
    held_tables: dict[str, TableRecord] = {}
    for database in databases.values():
        taken = catalog.database(ours, database.name)
        if taken is not None:
            held_databases[taken.id] = databases.get(taken.id, taken)
    names: dict[str, list[str]] = {}
    for table in tables.values():
        names.setdefault(table.database_id, []).append(table.name)
    parents = {**catalog.databases_by_id(ours, names.keys()), **databases}
    for database_id, given in names.items():
        if database_id in parents:
            held_databases.setdefault(database_id, parents[database_id])
        for holder in catalog.tables_named(ours, database_id, given).values():
            held_tables[holder.id] = tables.get(holder.id, holder)
    all_databases, all_tables = {**held_databases, **databases}, {**held_tables, **tables}
    if check_names(all_databases.values(), all_tables.values()):
        called = _names_until_then(session, plan.at, all_databases, all_tables.values())
        return check_names(all_databases.values(), all_tables.values(), called)
    return []


def _names_until_then(
    session: Session, at: Points, databases: Iterable[str], tables: Iterable[TableRecord]
) -> dict[str, str]:
    """By id, what ours calls objects before the merge; databases that ours never had go by theirs' name."""
    catalog = session.catalog
    merged = list(tables)
    of_tables = catalog.tables_by_id(at.ours, [table.id for table in merged])
    ids = {*databases, *(table.database_id for table in (*merged, *of_tables.values()))}
    parents = {**catalog.databases_by_id(at.theirs, ids), **catalog.databases_by_id(at.ours, ids)}
    called = {id: quote_identifier(parent.name) for id, parent in parents.items()}
    return called | {id: qualified(parents[t.database_id].name, t.name) for id, t in of_tables.items()}


def _new_names(session: Session, plan: MergePlan) -> dict[str, str]:
    """Of tables that the merge renames, makes or moves, or whose database it does."""
    renamed = {record.id: record.name for record, _ in plan.databases}
    tables = {
        id: made.record
        for id, made in plan.tables.items()
        if made.record is not None
        and (made.record.database_id in renamed or made.before is None or made.before.name != made.record.name)
    }
    tables |= {id: made.record for id, made in plan.tables.items() if made.record is not None and made.moves_in}
    ids = {record.database_id for record in tables.values()} - renamed.keys()
    here = {id: record.name for id, record in session.catalog.databases_by_id(plan.at.ours, ids).items()} if ids else {}
    parents = {**here, **renamed}
    return {id: qualified(parents[r.database_id], r.name) for id, r in tables.items() if r.database_id in parents}
