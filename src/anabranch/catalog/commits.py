"""Commits: one database transaction each.

1. Outside: encode the request; large bitmaps go to blobs.
2. Lock the branch's head. After a lost connection, a commit of this id on the branch is the answer.
3. If the head moved since the base, `admit` decides whether the request fits on it, and as what, or raises.
4. The names that the request gives must be free at the head, and a table's database alive.
5. Append at head + 1, and move the head.
6. After it: carry the states at hand over the commit.

Any exception on the way rolls all of it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sqlalchemy import bindparam, select

from anabranch.catalog.clock import now_us
from anabranch.catalog.log import BY_ID, NEWER, changes_in, commit_of
from anabranch.catalog.made import remembered
from anabranch.catalog.reservations import Reservations
from anabranch.catalog.rows import Rows, encoded
from anabranch.catalog.tables import branch
from anabranch.catalog.turns import Turns
from anabranch.catalog.vacancy import Vacancy
from anabranch.errors import CatalogError, CommitConflict, NotFound, StorageFull
from anabranch.model.history import Commit, Position, since
from anabranch.model.records import Change, CommitRequest

Moved = Sequence[tuple[Commit, Change]]
Admit = Callable[[CommitRequest, Moved], CommitRequest | None]
"""Raises CommitConflict if the request does not fit on a head that has these changes since its base; gives another one
if it must be another to stand there, with the same parts and schemas."""

_LOCK_HEAD = (
    select(branch.c.name, branch.c.head, branch.c.head_time_us, branch.c.dropped)
    .where(branch.c.id == bindparam("branch"))
    .with_for_update()
)


class Commits(Turns, Reservations):
    """The only way in which databases, tables and rows change."""

    def commit(self, request: CommitRequest, admit: Admit) -> Commit:
        """Appends the request to its base's branch. `admit` runs inside the transaction and must not write."""
        rows = encoded(request, self._blobs)
        try:
            made, head, request, rows = self._db.retrying(partial(self._commit, request, rows, admit))
        except (CatalogError, StorageFull):  # it may be in all the same
            raise
        except BaseException:
            if self._blobs is not None:
                for name in rows.blobs():
                    self._blobs.discard(name)
            raise
        if head is not None:  # not found as done before
            after = Position(made.branch_id, made.version)
            self._memory.heads[made.branch_id] = made.version
            if (known := remembered(made, request, rows)) is not None:
                self._memory.made[made.branch_id, made.version] = known
            self._advance_states(head, after, request.deltas)
            self._memory.schemas.update({(table, schema.id): schema for table, schema in request.schemas})
        return made

    @contextmanager
    def holding(self, branch_id: int) -> Iterator[None]:
        """The branch's head stays where it is, but for the next commit of this thread: those of others wait."""
        with self._db.holding(_LOCK_HEAD, {"branch": branch_id}):
            yield

    @property
    def is_held(self) -> bool:
        """Whether this thread holds a head."""
        return self._db.is_held

    def _commit(
        self, request: CommitRequest, rows: Rows, admit: Admit, *, may_be_done: bool
    ) -> tuple[Commit, Position | None, CommitRequest, Rows]:
        base = request.base
        with self._db.writing() as link:
            with link.in_one_go():
                locking = link.ask(_LOCK_HEAD, {"branch": base.branch_id})
                of_this_id = link.ask(BY_ID, {"id": request.id}) if may_be_done else None
                newer = link.ahead(NEWER, {"branch": base.branch_id, "after": base.version})
                check_stored = rows.store(link)
            if not (found := locking.rows()):
                raise NotFound("branch", base.branch_id)
            (locked,) = found
            head = Position(base.branch_id, locked.head)
            for done in map(commit_of, of_this_id.rows() if of_this_id else ()):
                if done.branch_id == base.branch_id:
                    return done, None, request, rows
            if locked.dropped:
                raise CommitConflict(f"the branch '{locked.name}' was dropped meanwhile. Nothing was committed.")
            if base.version > head.version or base.version < 0:
                hint = f"The branch '{locked.name}' has versions 0 to {head.version}."
                raise NotFound("version", base.version, hint=hint)
            check_stored()
            segments = self._lineage(head, link.rows)
            if head.version > base.version:
                older = tuple(s for s in since(segments, base.version) if s.branch_id != base.branch_id)
                adapted = admit(request, [*self._changes(link.rows, older, None), *changes_in(newer())])
                if adapted is not None:
                    request, rows = adapted, encoded(adapted, self._blobs)
            Vacancy(self, link.rows, segments).check(request)
            time_us = max(now_us(), locked.head_time_us + 1)
            version = head.version + 1
            rows.append(link, base.branch_id, version, time_us)
        made = Commit(
            base.branch_id, version, request.id, time_us, request.author, request.operation, request.message,
            request.merged, request.detail,
        )  # fmt: skip
        return made, head, request, rows
