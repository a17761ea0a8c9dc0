"""Branches and tags: names for positions.

A branch is one row, and so is its name; creating one copies nothing. A dropped branch loses its name and keeps its row,
since descendants and tags read along it. Names are unique without regard to case, over branches and tags together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ScalarSelect, Table, bindparam, func, select
from sqlalchemy.exc import IntegrityError

from anabranch import given
from anabranch.catalog.clock import now_us
from anabranch.catalog.engine import Run
from anabranch.catalog.links import Link
from anabranch.catalog.migrations import MAIN
from anabranch.catalog.opened import Names
from anabranch.catalog.options import LakeOptions
from anabranch.catalog.tables import branch, commit_log, database_record, ref, table_record
from anabranch.errors import AlreadyExists, NotFound, Refused
from anabranch.model import history
from anabranch.model.history import Branch, Lineage, Position, Tag
from anabranch.model.names import checked, fold

_FIELDS = (
    branch.c.id, branch.c.name, branch.c.parent_id, branch.c.fork, branch.c.head, branch.c.created_us, branch.c.dropped,
)  # fmt: skip
_BY_ID = select(*_FIELDS).where(branch.c.id == bindparam("id"))


def _last(table: Table) -> ScalarSelect[Any]:
    """The version of the last record that the branch's own commits made."""
    return select(func.max(table.c.version)).where(table.c.branch_id == branch.c.id).scalar_subquery()


_AS_IT_IS = _BY_ID.add_columns(_last(database_record).label("databases"), _last(table_record).label("tables"))
_ALL = select(*_FIELDS).order_by(branch.c.id)
_LIVE = _ALL.where(~branch.c.dropped)
_HEAD = select(branch.c.head).where(branch.c.id == bindparam("id"))
_REF = (
    select(ref.c.name, ref.c.branch_id, ref.c.version, branch.c.head)
    .join(branch, branch.c.id == ref.c.branch_id)
    .where(ref.c.folded == bindparam("folded"))
)
_NAMES = select(ref.c.name, ref.c.version)
_TAGS = (
    select(ref.c.name, ref.c.branch_id, ref.c.version, ref.c.created_us)
    .where(ref.c.version.is_not(None))
    .order_by(ref.c.folded)
)
_TIME = select(commit_log.c.time_us).where(
    commit_log.c.branch_id == bindparam("branch"), commit_log.c.version == bindparam("version")
)
_ADD_BRANCH = branch.insert().returning(branch.c.id)
_ADD_REF = ref.insert()
_DROP_REF = ref.delete().where(ref.c.folded == bindparam("old"))
_MOVE_REF = ref.update().where(ref.c.folded == bindparam("old"))
_CHANGE_BRANCH = branch.update().where(branch.c.id == bindparam("branch"))


# For those who write SQL, and for those who type commands.
_LISTED = {
    "branch": "SHOW BRANCHES (`anabranch branch`) lists them.",
    "tag": "SHOW TAGS (`anabranch tag`) lists them.",
    "branch or tag": "SHOW BRANCHES and SHOW TAGS (`anabranch branch`, `anabranch tag`) list them.",
}


class Branches(LakeOptions):
    """Names, heads and lineages."""

    # --- branches

    def branch(self, name: str) -> Branch:
        return self._branch_row(self._named("branch", name).branch_id)

    def branch_by_id(self, branch_id: int) -> Branch:
        """A branch as it is now; dropped ones too."""
        return self._branch_row(branch_id)

    def origin(self, branch_id: int) -> Branch:
        """A branch for the sake of its parent and fork, which never change: it is read once."""
        return self._memory.branches.get(branch_id) or self._origin(branch_id, self._db.rows)

    def branches(self, *, dropped: bool = False) -> list[Branch]:
        """The live branches, oldest first; and those that were dropped, if asked for."""
        return [Branch(*row) for row in self._db.rows(_ALL if dropped else _LIVE, {})]

    def create_branch(self, name: str, at: Position) -> Branch:
        checked("branch", name)
        self.check(at)
        owner = self.lineage(at)[0]
        created_us = now_us()
        with self._db.writing() as link:
            time_us = link.rows(_TIME, {"branch": owner.branch_id, "version": at.version})[0].time_us
            row = {
                "name": name, "parent_id": at.branch_id, "fork": at.version, "head": at.version,
                "head_time_us": time_us, "created_us": created_us, "dropped": False,
            }  # fmt: skip
            branch_id: int = link.rows(_ADD_BRANCH, row)[0].id
            self._add_name(link, name, branch_id, None, created_us)
        return Branch(branch_id, name, at.branch_id, at.version, at.version, created_us)

    def drop_branch(self, name: str) -> None:
        """Takes the name away; what descendants and tags need stays."""
        found = self._named("branch", name)
        if found.branch_id == MAIN:
            raise Refused(f"the branch '{found.name}' cannot be dropped: every lake has it.")
        with self._db.writing() as link:
            if not link.write(_DROP_REF, {"old": fold(name)}):
                raise NotFound("branch", name)
            link.write(_CHANGE_BRANCH, {"branch": found.branch_id, "dropped": True})

    def rename_branch(self, old: str, new: str) -> None:
        checked("branch", new)
        found = self._named("branch", old)
        if found.branch_id == MAIN:
            raise Refused(f"the branch '{found.name}' cannot be renamed: every lake has it.")
        with self._db.writing() as link:
            self._move_name(link, "branch", old, new)
            link.write(_CHANGE_BRANCH, {"branch": found.branch_id, "name": new})

    # --- tags

    def tags(self) -> list[Tag]:
        return [Tag(*row) for row in self._db.rows(_TAGS, {})]

    def create_tag(self, name: str, at: Position) -> Tag:
        checked("tag", name)
        self.check(at)
        tag = Tag(name, at.branch_id, at.version, now_us())
        with self._db.writing() as link:
            self._add_name(link, name, tag.branch_id, tag.version, tag.created_us)
        return tag

    def drop_tag(self, name: str) -> None:
        self._named("tag", name)
        with self._db.writing() as link:
            if not link.write(_DROP_REF, {"old": fold(name)}):
                raise NotFound("tag", name)

    def rename_tag(self, old: str, new: str) -> None:
        checked("tag", new)
        self._named("tag", old)
        with self._db.writing() as link:
            self._move_name(link, "tag", old, new)

    # --- positions

    def resolve(self, name: str) -> Position:
        """A branch's head or a tag's position."""
        found = self._db.rows(_REF, {"folded": fold(name)})
        if not found:
            known = [known for known, _ in self._db.rows(_NAMES, {})]
            raise NotFound("branch or tag", name, known, _LISTED["branch or tag"])
        _, branch_id, version, head = found[0]
        self._memory.heads[branch_id] = head
        return Position(branch_id, head if version is None else version)

    def head(self, branch_id: int) -> int:
        found = self._db.rows(_HEAD, {"id": branch_id})
        if not found:
            raise NotFound("branch", branch_id)
        head: int = found[0].head
        self._memory.heads[branch_id] = head
        return head

    def lineage(self, position: Position) -> Lineage:
        """The segments of a position's history, newest first."""
        return self._memory.lineages.get(position) or self._lineage(position, self._db.rows)

    def check(self, position: Position) -> None:
        """Refuses a version that the branch does not have."""
        version = position.version
        if type(version) is not int:
            raise Refused(f"{version!r} is no version: write its number.")
        if 0 <= version <= self._memory.heads.get(position.branch_id, -1):
            return  # heads never go back
        head = self.head(position.branch_id)
        if not 0 <= version <= head:
            branch_name = self._branch_row(position.branch_id).name
            raise NotFound("version", version, hint=f"The branch '{branch_name}' has versions 0 to {head}.")

    # --- inside

    def _lineage(self, position: Position, run: Run) -> Lineage:
        lineages = self._memory.lineages
        found = lineages.get(position)
        if found is None:
            found = history.lineage(position, lambda branch_id: self._origin(branch_id, run))
            lineages[position] = found
        return found

    def _origin(self, branch_id: int, run: Run) -> Branch:
        found = self._memory.branches.get(branch_id)
        if found is None:
            found = self._memory.branches[branch_id] = _one(run(_BY_ID, {"id": branch_id}), branch_id)
        return found

    def _branch_row(self, branch_id: int) -> Branch:
        rows = self._db.rows(_AS_IT_IS, {"id": branch_id})
        found = _one(rows, branch_id)
        self._memory.branches[branch_id] = found
        self._memory.heads[branch_id] = found.head
        self._carry_names(found, max(found.fork, rows[0].databases or 0, rows[0].tables or 0))
        return found

    def _carry_names(self, found: Branch, renamed: int) -> None:
        """What names meant at a version they mean at the head, if only rows changed since: no record is newer."""
        names = self._memory.names.get(found.id)
        if names is not None and renamed <= names.version < found.head:
            self._memory.names[found.id] = Names(found.head, names.found)

    def _named(self, kind: str, name: str) -> Any:
        found = self._db.rows(_REF, {"folded": fold(given.name(kind, name))})
        if found and (found[0].version is None) == (kind == "branch"):
            return found[0]
        if found:
            other = "tag" if kind == "branch" else "branch"
            raise NotFound(kind, name, hint=f"'{found[0].name}' is a {other}.")
        known = [row.name for row in self._db.rows(_NAMES, {}) if (row.version is None) == (kind == "branch")]
        raise NotFound(kind, name, known, _LISTED[kind])

    def _add_name(self, link: Link, name: str, branch_id: int, version: int | None, created_us: int) -> None:
        row = {
            "folded": fold(name), "name": name, "branch_id": branch_id, "version": version, "created_us": created_us,
        }  # fmt: skip
        try:
            link.write(_ADD_REF, row)
        except IntegrityError as error:
            raise AlreadyExists("branch or tag", name) from error

    def _move_name(self, link: Link, kind: str, old: str, new: str) -> None:
        try:
            moved = link.write(_MOVE_REF, {"old": fold(old), "folded": fold(new), "name": new})
        except IntegrityError as error:
            raise AlreadyExists("branch or tag", new) from error
        if not moved:
            raise NotFound(kind, old)


def _one(rows: Sequence[Any], branch_id: int) -> Branch:
    if not rows:
        raise NotFound("branch", branch_id)
    return Branch(*rows[0][: len(_FIELDS)])
