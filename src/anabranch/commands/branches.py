"""Branches and tags: one row each, whatever the lake holds."""

from __future__ import annotations

from anabranch.commands.session import Ref, Session
from anabranch.errors import AlreadyExists, NotFound, Refused
from anabranch.model.history import Branch, Tag
from anabranch.model.names import fold


def create_branch(session: Session, name: str, ref: Ref, *, if_not_exists: bool = False) -> Branch:
    try:
        return session.catalog.create_branch(name, session.resolve(ref))
    except AlreadyExists:
        if not if_not_exists:
            raise
        return session.catalog.branch(name)


def drop_branch(session: Session, name: str, *, if_exists: bool = False) -> bool:
    """Whether there was one."""
    try:
        branch = session.catalog.branch(name)
    except NotFound:
        if if_exists:
            return False
        raise
    if branch.id == session.branch_id and branch.parent_id is not None:  # of main the catalog says more
        raise Refused(f"this session is on the branch '{branch.name}'. USE another branch first.")
    session.catalog.drop_branch(name)
    return True


def create_tag(session: Session, name: str, ref: Ref, *, if_not_exists: bool = False) -> Tag:
    try:
        return session.catalog.create_tag(name, session.resolve(ref))
    except AlreadyExists:
        found = {fold(tag.name): tag for tag in session.catalog.tags()}.get(fold(name))
        if not if_not_exists or found is None:
            raise
        return found


def drop_tag(session: Session, name: str, *, if_exists: bool = False) -> bool:
    """Whether there was one."""
    try:
        session.catalog.drop_tag(name)
    except NotFound:
        if if_exists:
            return False
        raise
    return True
