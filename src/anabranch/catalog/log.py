"""The op log: commits and what each did to which object, read along a lineage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import BindParameter, and_, bindparam, select

from anabranch.catalog.along import Along, On, in_batches
from anabranch.catalog.branches import Branches
from anabranch.catalog.engine import Run
from anabranch.catalog.made import made_along
from anabranch.catalog.merged import Merges
from anabranch.catalog.tables import change, commit_log
from anabranch.errors import NotFound
from anabranch.model.history import Commit, Lineage, Position, Segment, since
from anabranch.model.records import Change, Done, Operation

_COMMIT = (
    commit_log.c.branch_id, commit_log.c.version, commit_log.c.id, commit_log.c.time_us, commit_log.c.author,
    commit_log.c.operation, commit_log.c.message, commit_log.c.merged_branch_id, commit_log.c.merged_version,
    commit_log.c.detail,
)  # fmt: skip
_CHANGE = (change.c.kind, change.c.object_id, change.c.operation, change.c.detail)
_SAME_COMMIT = and_(change.c.branch_id == commit_log.c.branch_id, change.c.version == commit_log.c.version)

_AT = select(*_COMMIT).where(
    commit_log.c.branch_id == bindparam("branch"), commit_log.c.version == bindparam("version")
)
_BY_PREFIX = select(*_COMMIT).where(commit_log.c.id.like(bindparam("prefix"), escape="\\")).limit(2)
BY_ID = select(*_COMMIT).where(commit_log.c.id == bindparam("id"))
_LAST_BEFORE = (
    select(commit_log.c.version)
    .where(
        commit_log.c.branch_id == bindparam("branch"),
        commit_log.c.time_us <= bindparam("time"),
        commit_log.c.version > bindparam("after"),
        commit_log.c.version <= bindparam("upto"),
    )
    .order_by(commit_log.c.time_us.desc())
    .limit(1)
)


def _commits(on: On) -> Any:
    return select(*_COMMIT).select_from(on(commit_log)).order_by(commit_log.c.version)


def _commits_of(on: On) -> Any:
    touched = (
        select(change.c.branch_id, change.c.version)
        .select_from(on(change))
        .where(change.c.object_id == bindparam("object"), change.c.operation != "kept")
        .distinct()
        .subquery()
    )
    same = and_(touched.c.branch_id == commit_log.c.branch_id, touched.c.version == commit_log.c.version)
    return select(*_COMMIT).join_from(touched, commit_log, same).order_by(commit_log.c.version)


_NEWEST_OF = (
    select(change.c.version)
    .where(
        change.c.object_id == bindparam("object"),
        change.c.operation != "kept",
        change.c.branch_id == bindparam("branch"),
        change.c.version > bindparam("after"),
        change.c.version <= bindparam("upto"),
    )
    .distinct()
    .order_by(change.c.version.desc())
    .limit(bindparam("limit"))
)


def _all_changes(on: On) -> Any:
    return (
        select(*_COMMIT, *_CHANGE)
        .select_from(on(change).join(commit_log, _SAME_COMMIT))
        .order_by(change.c.version, change.c.seq)
    )


def _changes_of(on: On) -> Any:
    return _all_changes(on).where(change.c.object_id == bindparam("object"))


def _changes_of_class(on: On) -> Any:
    objects: BindParameter[Any] = bindparam("objects", expanding=True)
    operations: BindParameter[Any] = bindparam("operations", expanding=True)
    return _all_changes(on).where(change.c.object_id.in_(objects), change.c.operation.in_(operations))


def _done(on: On) -> Any:
    return select(change.c.kind, change.c.object_id, change.c.operation).select_from(on(change)).distinct()


NEWER = (
    select(*_COMMIT, *_CHANGE)
    .join_from(change, commit_log, _SAME_COMMIT)
    .where(change.c.branch_id == bindparam("branch"), change.c.version > bindparam("after"))
    .order_by(change.c.version, change.c.seq)
)
"""What a branch itself did after a version; `changes_in` makes changes of it."""

_LOG, _HISTORY, _DONE = Along(_commits), Along(_commits_of), Along(_done)
_CHANGES, _CHANGES_OF, _CHANGES_OF_CLASS = Along(_all_changes), Along(_changes_of), Along(_changes_of_class)


class Log(Branches):
    """Commits, newest first, and their changes, oldest first."""

    def log(self, position: Position, limit: int | None = None) -> list[Commit]:
        segments = self.lineage(position)
        if limit is not None:  # a lineage has every version once
            segments = since(segments, position.version - limit)
        return [commit_of(row) for row in reversed(_LOG.rows(self._db.rows, segments))]

    def history(self, position: Position, object_id: str, limit: int | None = None) -> list[Commit]:
        """The commits that changed a table or database; behind a merge that brought it, those of where it was made."""
        segments = self.lineage(position)
        if limit is not None:
            segments = since(segments, self._nth_last(segments, object_id, limit) - 1)
        found = [commit_of(row) for row in reversed(_HISTORY.rows(self._db.rows, segments, {"object": object_id}))]
        merged = found[-1].merged if found else None
        if merged is None or (limit is not None and len(found) >= limit):
            return found
        return found + self.history(merged, object_id, None if limit is None else limit - len(found))

    def commit_at(self, position: Position) -> Commit:
        self.check(position)
        owner = self.lineage(position)[0]
        return commit_of(self._db.rows(_AT, {"branch": owner.branch_id, "version": position.version})[0])

    def position_at(self, position: Position, time_us: int) -> Position:
        """The last version at or before a time; times grow along a lineage."""
        for segment in self.lineage(position):
            found = self._db.rows(_LAST_BEFORE, {"time": time_us, **_bounds(segment)})
            if found:
                return Position(position.branch_id, found[0].version)
        first = self.commit_at(Position(position.branch_id, 0)).time
        raise NotFound("version", _shown(time_us), hint=f"The first one is of {first.isoformat(' ')}.")

    def changes(self, position: Position, after: int, object_id: str | None = None) -> list[tuple[Commit, Change]]:
        """What the commits newer than version `after` did, of one object or of all."""
        segments = since(self.lineage(position), after)
        known = made_along(segments, self._memory.made)
        if known is None:
            return self._changes(self._db.rows, segments, object_id)
        return [(one.commit, c) for one in known for c in one.changes if object_id is None or c.object_id == object_id]

    def changes_of(
        self, position: Position, object_ids: Iterable[str], *operations: Operation
    ) -> dict[str, list[tuple[Commit, Change]]]:
        """Every change of some classes up to here, of many objects; one without any is left out."""
        return self.changes_on(self.lineage(position), object_ids, *operations)

    def changes_on(
        self, segments: Lineage, object_ids: Iterable[str], *operations: Operation
    ) -> dict[str, list[tuple[Commit, Change]]]:
        """The same for any commits."""

        def read(batch: list[str]) -> list[Any]:
            return _CHANGES_OF_CLASS.rows(self._db.rows, segments, {"objects": batch, "operations": list(operations)})

        found: dict[str, list[tuple[Commit, Change]]] = {}
        for commit, done in changes_in(in_batches(object_ids, read)):
            found.setdefault(done.object_id, []).append((commit, done))
        return found

    def done(self, segments: Lineage) -> list[Done]:
        """What any commits did, each thing once, in an order of its own."""
        known = made_along(segments, self._memory.made)
        if known is None:
            return sorted({Done(*row) for row in _DONE.rows(self._db.rows, segments)})
        return sorted({Done(c.kind, c.object_id, c.operation) for one in known for c in one.changes})

    def _changes(self, run: Run, segments: Lineage, object_id: str | None) -> list[tuple[Commit, Change]]:
        if object_id is None:
            return changes_in(_CHANGES.rows(run, segments))
        return changes_in(_CHANGES_OF.rows(run, segments, {"object": object_id}))

    def merges(self) -> Merges:
        """The merges of all branches that positions which exist by now reach."""
        return Merges(self._db.rows, self.origin, self._memory.merges, self._memory.made)

    @property
    def reaches(self) -> MutableMapping[int, tuple[int, Mapping[int, int]]]:
        """For whoever walks merges: what versions reach, as far as this process has asked."""
        return self._memory.reaches

    def commit_by_id(self, id: str) -> Commit:
        """A commit by its id, or by the beginning of it."""
        rows = self._db.rows(BY_ID, {"id": id}) or self._db.rows(_BY_PREFIX, {"prefix": _like(id)})
        if not rows:
            raise NotFound("commit", id, hint="SHOW LOG (`anabranch log --long`) lists the ids.")
        if len({row.id for row in rows}) > 1:
            raise NotFound("commit", id, hint="Several commits begin so: give more of the id.")
        return commit_of(rows[0])

    def _nth_last(self, segments: Lineage, object_id: str, count: int) -> int:
        """The oldest of an object's last `count` versions; 0 if it has fewer."""
        for segment in segments if count > 0 else ():
            rows = self._db.rows(_NEWEST_OF, {"object": object_id, "limit": count, **_bounds(segment)})
            count -= len(rows)
            if count == 0:
                oldest: int = rows[-1].version
                return oldest
        return 0 if count > 0 else segments[0].upto + 1


def _bounds(segment: Segment) -> dict[str, int]:
    return {"branch": segment.branch_id, "after": segment.after, "upto": segment.upto}


def _like(prefix: str) -> str:
    """A pattern for texts that begin so."""
    for special in ("\\", "%", "_"):
        prefix = prefix.replace(special, "\\" + special)
    return prefix + "%"


def changes_in(rows: Iterable[Any]) -> list[tuple[Commit, Change]]:
    found: list[tuple[Commit, Change]] = []
    last: Commit | None = None
    for row in rows:
        if last is None or last.version != row.version:
            last = commit_of(row)
        kind, changed, operation, detail = row[len(_COMMIT) :]
        found.append((last, Change(kind, changed, operation, json.loads(detail))))
    return found


def commit_of(row: Sequence[Any]) -> Commit:
    """A commit from a row that begins with its columns."""
    branch_id, version, id, time_us, author, operation, message, merged_branch_id, merged_version, detail = row[
        : len(_COMMIT)
    ]
    merged = None if merged_branch_id is None else Position(merged_branch_id, merged_version)
    return Commit(branch_id, version, id, time_us, author, operation, message, merged, json.loads(detail))


def _shown(time_us: int) -> str:
    try:
        return datetime.fromtimestamp(time_us / 1_000_000, tz=timezone.utc).isoformat(" ")
    except (OverflowError, OSError, ValueError):
        return f"{time_us} µs"
