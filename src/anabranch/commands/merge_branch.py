"""MERGE BRANCH, CHERRY PICK, REVERT: what theirs did since the base, replayed on ours as one commit.

1. The base: the best common ancestors in the commit graph (a pick or revert says what it is).
2. The objects that theirs touched since then, each merged three ways; all conflicts are gathered (merge_objects.py).
3. If there are none, one commit with all objects and both parents. If the head moved meanwhile in a way that asks for
   another plan (commands/merge_ground.py): again from 1, the last time with the head held.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from anabranch.branching.admit import Moved
from anabranch.branching.base import canonical, merge_bases
from anabranch.branching.law import RULES
from anabranch.branching.row_merge import Replay
from anabranch.branching.way_out import MEETING, way_out
from anabranch.commands.absent import told_of_absent
from anabranch.commands.kept import kept
from anabranch.commands.keyed_merge import place_decided
from anabranch.commands.merge_objects import MergePlan, plan_merge
from anabranch.commands.merge_plan import Points, TableMerge, Wishes
from anabranch.commands.overwrites import undone_by_revert
from anabranch.commands.resolutions import refuse_idle
from anabranch.commands.result import Result
from anabranch.commands.session import Session
from anabranch.errors import CommitConflict, Conflicts, MergeConflict, Refused
from anabranch.execution.writer import write_parts
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.history import Commit, Position
from anabranch.model.names import fold
from anabranch.model.part import Part, with_changed
from anabranch.model.records import (
    ROW_CLASSES,
    Change,
    CommitRequest,
    DatabaseRecord,
    Operation,
    TableDelta,
    TableRecord,
)
from anabranch.model.words import counted
from anabranch.storage.parquet import ORIGIN

_TRIES = 5
"""How often a merge is planned at most; for the last time, others wait with their commits."""
_PAUSE = 0.02
_KEPT = "kept ours"
"""What a merge did to an object in which theirs changed something, and nothing came of it."""


@dataclass(frozen=True, repr=False)
class MergeReport:
    """The outcome: `commit` is None if there was nothing new, or it was a dry run."""

    commit: Commit | None
    plan: MergePlan
    refusal: Callable[[], MergeConflict] | None = None
    """What the merge would raise; it looks for ways out, so it costs a few more plans."""

    @property
    def up_to_date(self) -> bool:
        return self.plan.is_empty

    @property
    def conflicts(self) -> Conflicts:
        return Conflicts(self.plan.conflicts)

    def result(self) -> Result:
        if self.up_to_date:
            return Result(["object", "change", "rows_added", "rows_removed", "status"], [["", "", 0, 0, "up to date"]])
        status = "preview" if self.commit is None else f"version {self.commit.version}"
        rows: list[list[Any]] = [[d.name, ", ".join(what), 0, 0, status] for d, what in self.plan.databases]
        for table_id, made in self.plan.tables.items():
            words = made.words()
            if words or not made.is_idle:
                name = self.plan.names.get(table_id, made.name)
                rows.append([name, ", ".join(words) or _KEPT, *made.counts(), status])
        rows += [[name, _KEPT, 0, 0, status] for name in self.plan.kept]
        return Result(["object", "change", "rows_added", "rows_removed", "status"], rows)

    def __str__(self) -> str:
        return str(self.conflicts or self.result())

    __repr__ = __str__


def merge_branch(session: Session, theirs: str, wishes: Wishes, *, dry_run: bool = False) -> MergeReport:
    """Into the session's branch. A dry run reports conflicts, a real one raises them."""
    if wishes.detect is None:
        wishes = replace(wishes, lake=session.catalog.options())

    def attempt() -> MergeReport:
        ours = session.head()
        their_position = session.resolve(theirs)
        if fold(theirs) == fold(_name(session)):
            raise Refused(f"'{theirs}' cannot be merged into itself: name another branch, or a version.")
        at = _points(session, ours, their_position)
        plan = _plan(session, at, Points((), ours, their_position), wishes)
        refusal = partial(_refusal, session, plan, f"'{theirs}' does not merge into", wishes)
        if dry_run or plan.is_empty:
            return MergeReport(None, plan, refusal if plan.conflicts else None)
        if plan.conflicts:
            raise refusal()
        message = f"{theirs} into {_name(session)}"
        return MergeReport(_commit(session, plan, "MERGE BRANCH", message, merged=their_position), plan)

    return _tried(session, attempt, "MERGE BRANCH")


def cherry_pick(session: Session, commit: Commit, wishes: Wishes, *, dry_run: bool = False) -> MergeReport:
    """What one commit did, on top of this branch; no merge edge."""
    return _apply(session, commit, wishes, "CHERRY PICK", dry_run=dry_run, backwards=False)


def revert(session: Session, commit: Commit, wishes: Wishes, *, dry_run: bool = False) -> MergeReport:
    """The opposite of what one commit did."""
    return _apply(session, commit, wishes, "REVERT", dry_run=dry_run, backwards=True)


def _apply(
    session: Session, commit: Commit, wishes: Wishes, verb: str, *, dry_run: bool, backwards: bool
) -> MergeReport:
    if commit.version == 0:
        raise Refused("the first commit of a lake can be neither picked nor reverted.")
    wishes = replace(wishes, detect=wishes.detect or "row", predicates=False)
    after = Position(commit.branch_id, commit.version)
    before = Position(commit.branch_id, commit.version - 1)
    # With its branch: the version alone names another commit where both branches have it.
    named = f"{session.catalog.branch_by_id(commit.branch_id).name}@{commit.version}"

    def attempt() -> MergeReport:
        bases, theirs = ((after,), before) if backwards else ((before,), after)
        plan = plan_merge(session, Points(bases, session.head(), theirs, replays=True), wishes)
        plan.conflicts = told_of_absent(session, plan.at.ours, plan.tables, plan.conflicts)
        if backwards and not plan.conflicts and not plan.is_empty:
            _as_undoing(session, plan)
        does = "cannot be undone on" if backwards else "cannot be picked onto"
        refusal = partial(_refusal, session, plan, f"{named} ({commit.operation}) {does}", wishes)
        if dry_run or plan.is_empty:
            return MergeReport(None, plan, refusal if plan.conflicts else None)
        if plan.conflicts:
            raise refusal()
        message = f"{named}: {commit.operation} {commit.message}"
        return MergeReport(_commit(session, plan, verb, message), plan)

    return _tried(session, attempt, verb)


def _as_undoing(session: Session, plan: MergePlan) -> None:
    """A revert's events are no statement's: what it takes away counts as never done. It names the overwrites that it
    undoes."""
    for table_id, made in plan.tables.items():
        made.undoes = True
        replay = Replay(made.deltas[0].table_id) if made.deltas else None
        for delta in made.deltas:
            assert replay is not None
            replay.placed.setdefault("restore", []).extend(delta.placed)
            replay.removed.setdefault("restore", set()).update(delta.removed)
            replay.kill("restore", delta.killed)
            replay.revived |= delta.revived
        made.deltas = replay.deltas() if replay is not None else []
        undone = undone_by_revert(session.catalog, plan.at.bases[0], table_id)
        on_rows = ROW_CLASSES if made.revives else (*ROW_CLASSES, "restore")
        made.operations = [
            ("restore", undone) if operation in on_rows else (operation, detail)
            for operation, detail in made.operations
        ]


def _name(session: Session) -> str:
    """The branch's name as it was when its head was read."""
    return session.catalog.origin(session.branch_id).name


def _points(session: Session, ours: Position, theirs: Position) -> Points | None:
    """None: ours has everything of theirs already."""
    catalog = session.catalog
    bases = merge_bases(ours, theirs, catalog.origin, catalog.merges(), catalog.reaches)
    if bases == (canonical(theirs, catalog.origin),):
        return None
    return Points(bases, ours, theirs)


def _plan(session: Session, at: Points | None, nothing: Points, wishes: Wishes) -> MergePlan:
    """`at` None: there is nothing to merge, and so nothing to resolve."""
    plan = MergePlan(nothing) if at is None else plan_merge(session, at, wishes)
    refuse_idle(wishes.rows, [id for id, made in plan.tables.items() if made.resolved or made.conflicts])
    return plan


def _refusal(session: Session, plan: MergePlan, failed: str, wishes: Wishes) -> MergeConflict:
    """`failed`: what did not fit, up to the name of the branch."""
    looser = _looser(session, plan, wishes)
    settling = _settling(session, plan, wishes)
    shown = "\n".join(f"  {conflict}" for conflict in plan.conflicts[:10])
    more = f"\n  … and {len(plan.conflicts) - 10} more" if len(plan.conflicts) > 10 else ""
    meant = [f"\n  {rule}: {RULES[rule]}." for rule in sorted({c.rule for c in plan.conflicts} & RULES.keys())]
    hint = f"\nIt would pass WITH (detect = '{looser}')." if looser else ""
    next_step = way_out(plan.conflicts, settling, wishes.resolve, backwards=plan.at.backwards)
    return MergeConflict(
        f"{failed} '{_name(session)}': {counted(len(plan.conflicts), 'conflict')}. "
        "Nothing was changed.\n"
        f"{shown}{more}{''.join(meant)}{hint}\n{next_step}",
        plan.conflicts,
        looser,
        settling,
        next_step,
    )


def _settling(session: Session, plan: MergePlan, wishes: Wishes) -> tuple[Choice, ...]:
    """The sides for which RESOLVE would let the merge pass. Rows that both changed go to any side; all else is planned
    to be known. A widening that a REVERT would just leave is not settled."""
    sides: tuple[Choice, ...] = ("ours", "theirs")
    if any(conflict.rule == "names" for conflict in plan.conflicts):
        return ()
    others = tuple(side for side in sides if side != wishes.resolve)
    if wishes.resolve is None and not any(map(_asks_more, plan.conflicts)):
        return others
    plans = {side: plan_merge(session, plan.at, replace(wishes, resolve=side, rows={}, brief=True)) for side in others}
    passing = {side: made for side, made in plans.items() if not made.conflicts}
    undoes = plan.at.backwards and any(conflict.rule == "A6.1" for conflict in plan.conflicts)
    return tuple(side for side, made in passing.items() if not (undoes and made.is_empty))


def _asks_more(conflict: ConflictRecord) -> bool:
    """Whether it takes more than a side's row to settle it: a schema, a place, or a statement that can be run again."""
    return conflict.kind not in ("row", "rows", "key") or conflict.rule in MEETING


def _looser(session: Session, plan: MergePlan, wishes: Wishes) -> str | None:
    """Another `detect` under which nothing would conflict."""
    if (
        wishes.detect == "cell"
        or wishes.rows
        or all(conflict.kind not in ("rows", "row") for conflict in plan.conflicts)
    ):
        return None
    for detect in ("row", "cell")[("file", "row").index(wishes.detect or "file") :]:
        if not plan_merge(session, plan.at, replace(wishes, detect=detect, brief=True)).conflicts:  # type: ignore[arg-type]
            return detect
    return None


# --- committing -------------------------------------------------------------------------------------------------------


class _Moved(CommitConflict):
    """The branch moved so that the plan does not hold; the records name the objects."""


def _tried(session: Session, attempt: Callable[[], MergeReport], verb: str) -> MergeReport:
    """Planned again where the branch moved so that the plan does not hold; at last it cannot move. (Appends take no
    turn, so a turn would not keep a busy table still.)"""
    last: dict[str, ConflictRecord] = {}
    for number in range(1, _TRIES + 1):
        try:
            if number < _TRIES:
                return attempt()
            with session.catalog.holding(session.branch_id):
                return attempt()
        except _Moved as error:
            last |= {record.object: record for record in error.conflicts}
        if number + 1 < _TRIES:
            time.sleep(random.uniform(0, _PAUSE))
    shown = "; ".join(f"{record.object}: {record.ours}" for record in list(last.values())[:3])
    raise CommitConflict(
        f"the branch '{_name(session)}' kept moving during {verb}: {shown}. Nothing was changed; run it again.",
        last.values(),
    )


def _commit(session: Session, plan: MergePlan, verb: str, message: str, merged: Position | None = None) -> Commit:
    """One commit with all objects, on the head that the plan saw or on a later one on which it holds."""
    written: list[tuple[str, Part]] = []

    def admit(_: CommitRequest, moved: Moved) -> None:
        _admit(session, plan, moved, verb, merged)

    try:
        request = _request(session, plan, written, merges=merged is not None)
        fresh = frozenset(part.id for _, part in written)
        return session.commit(plan.at.ours, verb, message, admit=admit, merged=merged, fresh=fresh, **request)
    except CommitConflict:
        for table_id, part in written:
            session.folder(table_id).discard(part.path)
        raise


def _admit(session: Session, plan: MergePlan, moved: Moved, verb: str, merged: Position | None) -> None:
    """Runs while the head is locked. Raises unless the plan would be the same there."""
    assert plan.ground is not None
    lost = plan.ground.lost_to(moved)
    if lost:
        by_object = {change.object_id: _kept_moving(commit, change, verb) for commit, change in lost}
        raise _Moved("the branch moved during the merge.", by_object.values())
    if merged is None:
        return
    # A merge from elsewhere may have brought what this one brings, even without changing anything.
    now = _points(session, Position(session.branch_id, session.catalog.head(session.branch_id)), merged)
    if now is None or now.bases != plan.at.bases:
        record = ConflictRecord(f"branch {_name(session)}", "branch", "moved", "merged from elsewhere", verb)
        raise _Moved("the branch moved during the merge.", [record])


def _kept_moving(commit: Commit, change: Change, verb: str) -> ConflictRecord:
    return ConflictRecord(
        object=f"{change.kind} {change.detail.get('name', change.object_id)}",
        kind=change.kind,
        rule="moved",
        ours=f"{change.operation} in version {commit.version}",
        theirs=verb,
    )


def _request(session: Session, plan: MergePlan, written: list[tuple[str, Part]], *, merges: bool) -> dict[str, Any]:
    tables, schemas, partitions, hidden = [], [], [], []
    deltas: list[TableDelta] = []
    changes = [_database_change(plan, record, what) for record, done in plan.databases for what in done]
    for table_id, made in plan.tables.items():
        record = made.record
        if record is None:
            continue
        if made.new_schema and made.schema is not None:
            schema = replace(made.schema, id=session.catalog.reserve_schema_id(table_id))
            made.schema, record = schema, replace(record, schema_id=schema.id)
            schemas.append((table_id, schema))
        if record != made.before:
            tables.append(record)
        partitions += made.partitions
        deltas += _with_combined(session, table_id, record, made, written)
        hidden += [(table_id, id) for id in made.hidden]
        changes += made.changes(table_id, record.database_id)
    if merges:
        assert plan.ground is not None
        changes += kept(plan.ground.history, plan.at, changes)
    return {
        "changes": changes,
        "databases": tuple(record for record, _ in plan.databases),
        "tables": tuple(tables),
        "schemas": tuple(schemas),
        "partitions": tuple(partitions),
        "deltas": tuple(deltas),
        "hidden_schemas": tuple(hidden),
    }


def _database_change(plan: MergePlan, record: DatabaseRecord, operation: Operation) -> Change:
    cascade = {"cascade": True} if operation == "drop" and record.id in plan.cascades else {}
    return Change("database", record.id, operation, {"name": record.name, **cascade})


def _with_combined(
    session: Session, table_id: str, record: TableRecord, made: TableMerge, written: list[tuple[str, Part]]
) -> Sequence[TableDelta]:
    """The rows that a cell merge combined, or that the keyed law decided, become a fresh part of this commit."""
    if made.decided is not None:
        return place_decided(session, record, made, written)
    if made.combined is None or made.origins is None or made.schema is None:
        return made.deltas
    import pyarrow as pa

    from anabranch.options import option
    from anabranch.storage.parquet import Destination

    to = Destination(session.folder(table_id), made.schema, option(record.properties, "write.compression"))
    rows = made.combined.append_column(ORIGIN, pa.array(made.origins))
    parts = write_parts(to, [rows], lambda: session.next_slot(table_id), has_origin=True)
    parts = [with_changed(part, made.changed) for part in parts]
    written += [(table_id, part) for part in parts]
    updated = [delta for delta in made.deltas if delta.cause in ("update", "restore")]
    first = updated[0] if updated else TableDelta(table_id, cause="update")
    others = [delta for delta in made.deltas if delta is not first]
    return [*others, replace(first, placed=(*first.placed, *parts))]
