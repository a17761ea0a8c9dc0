"""Commits on the screen: one line each, or several, with the branches and tags that stand on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.cli.output import aligned, print_json
from anabranch.cli.screen import styled
from anabranch.cli.settings import Settings
from anabranch.model.history import Branch, Commit, Position

if TYPE_CHECKING:
    from anabranch.commands.graph import GraphLine
    from anabranch.lake import Lake

Marks = Mapping[tuple[int, int], Sequence[str]]


def print_commits(
    lake: Lake, commits: Sequence[Commit], settings: Settings, *, long: bool, made_on: bool = False
) -> None:
    """`made_on`: name the branches where commits are of several, whose versions may be the same."""
    branches = {branch.id: branch for branch in lake.branches(dropped=True)}
    if settings.json:
        print_json([record(commit, branches) for commit in commits])
        return
    marks = standing(lake, branches)
    if long:
        print("\n\n".join(_lines(commit, marks) for commit in commits))
        return
    rows = [[str(c.version), f"{c.time:%Y-%m-%d %H:%M:%S}", c.author, c.operation, c.message] for c in commits]
    if made_on and len({commit.branch_id for commit in commits}) > 1:
        rows = [[*row[:1], branches[c.branch_id].shown, *row[1:]] for row, c in zip(rows, commits, strict=True)]
    for commit, line in zip(commits, aligned(rows), strict=True):
        version = str(commit.version)
        print(styled(version, "yellow") + line.removeprefix(version) + _shown(commit, marks))


def print_graph(lake: Lake, lines: Sequence[GraphLine], settings: Settings) -> None:
    """The commits in the order of the drawing; JSON has their parents instead of lines."""
    branches = {branch.id: branch for branch in lake.branches(dropped=True)}
    if settings.json:
        print_json([record(line.commit, branches) for line in lines if line.commit])
        return
    marks = standing(lake, branches)
    rows = [[line.drawn, *(_columns(line.commit, branches) if line.commit else [""] * 4)] for line in lines]
    for line, text in zip(lines, aligned(rows), strict=True):
        print(text + (_shown(line.commit, marks) if line.commit else ""))


def _columns(commit: Commit, branches: Mapping[int, Branch]) -> list[str]:
    told = f"{commit.operation} {commit.message}".strip()
    return [str(commit.version), branches[commit.branch_id].shown, f"{commit.time:%Y-%m-%d %H:%M:%S}", told]


def _shown(commit: Commit, marks: Marks) -> str:
    names = marks.get((commit.branch_id, commit.version))
    return styled(f"  ({', '.join(names)})", "green") if names else ""


def _lines(commit: Commit, marks: Marks) -> str:
    return "\n".join(
        [
            styled(f"version {commit.version}", "yellow") + _shown(commit, marks),
            f"  id         {commit.id}",
            f"  author     {commit.author}",
            f"  time       {commit.time.isoformat(sep=' ')}",
            f"  operation  {commit.operation}",
            *([f"  message    {commit.message}"] if commit.message else []),
        ]
    )


def record(commit: Commit, branches: Mapping[int, Branch]) -> dict[str, Any]:
    """A commit for JSON. The name of a branch that was dropped is null."""

    def position(of: Position) -> dict[str, Any]:
        return {"branch": _name(branches, of.branch_id), "version": of.version}

    return {
        "version": commit.version,
        "id": commit.id,
        "time": commit.time,
        "branch": _name(branches, commit.branch_id),
        "author": commit.author,
        "operation": commit.operation,
        "message": commit.message,
        "parents": [position(parent) for parent in commit.parents],
    }


def _name(branches: Mapping[int, Branch], branch_id: int) -> str | None:
    found = branches[branch_id]
    return None if found.dropped else found.name


def standing(lake: Lake, branches: Mapping[int, Branch]) -> Marks:
    """The branches and tags whose position is a commit, by the commit's own branch and version."""
    marks = defaultdict(list)
    for branch in branches.values():
        if branch.dropped:
            continue
        marks[_owner(branches, branch.id, branch.head)].append(branch.name)
    for tag in lake.tags():
        marks[_owner(branches, tag.branch_id, tag.version)].append(f"tag {tag.name}")
    return marks


def _owner(branches: Mapping[int, Branch], branch_id: int, version: int) -> tuple[int, int]:
    """Up to its fork, a branch's history is its parent's."""
    branch = branches[branch_id]
    while branch.parent_id is not None and version <= branch.fork:
        branch = branches[branch.parent_id]
    return branch.id, version
