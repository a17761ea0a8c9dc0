"""Names that are one column, because a merge once unified them; and columns with all names that files have for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace

from anabranch.branching.members import STEP, Members, members_of, names_of, path_to, stored_in, struct_of
from anabranch.model import types
from anabranch.model.types import DataType, Struct

Known = Collection[tuple[str, str]]
"""Pairs of physical paths that a merge in either side's history unified, undone or not."""


def classes(pairs: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Names that pairs connect have one representative, the smallest of them."""
    above: dict[str, str] = {}

    def find(name: str) -> str:
        while name in above:
            name = above[name]
        return name

    for one, another in pairs:
        low, high = sorted((find(one), find(another)))
        if low != high:
            above[high] = low
    return find


def inside(known: Known, scopes: Set[str]) -> Iterator[tuple[str, str]]:
    """The pairs of names that stand in a struct of these paths, all of them its own."""
    for one, another in known:
        (one_parent, _, one_leaf), (parent, _, leaf) = one.rpartition(STEP), another.rpartition(STEP)
        if one_parent in scopes and parent in scopes:
            yield one_leaf, leaf


def with_aliases(columns: Members, written: Sequence[Members], known: Known) -> Members:
    """The columns, and the fields in them, with all names that they are known by and files of other schemas have."""
    return _with_aliases(columns, written, known, frozenset({""}))


def _with_aliases(columns: Members, written: Sequence[Members], known: Known, scopes: frozenset[str]) -> Members:
    pairs = [(column.physical, alias) for column in columns for alias in column.aliases]
    find = classes([*pairs, *inside(known, scopes)])
    taken = {name for column in columns for name in names_of(column)}
    others = sorted({old.physical for members in written for old in members} - taken)
    found = []
    for column in columns:
        mine = {find(name) for name in names_of(column)}
        column = replace(column, aliases=(*column.aliases, *(name for name in others if find(name) in mine)))
        stored = [old.type for members in written if (old := stored_in(column, members)) is not None]
        inner = frozenset(path_to(scope, name) for scope in scopes for name in names_of(column))
        found.append(replace(column, type=_type_with_aliases(column.type, stored, known, inner)))
    return tuple(found)


def _type_with_aliases(type_: DataType, written: Sequence[DataType], known: Known, scopes: frozenset[str]) -> DataType:
    def inside(step: str) -> frozenset[str]:
        return frozenset(path_to(scope, step) for scope in scopes)

    if isinstance(type_, Struct):
        structs = [members_of(old) for old in written if isinstance(old, Struct)]
        return struct_of(_with_aliases(members_of(type_), structs, known, scopes))
    if isinstance(type_, types.Array):
        elements = [old.element for old in written if isinstance(old, types.Array)]
        return replace(type_, element=_type_with_aliases(type_.element, elements, known, inside("element")))
    if isinstance(type_, types.Map):
        maps = [old for old in written if isinstance(old, types.Map)]
        key = _type_with_aliases(type_.key, [old.key for old in maps], known, inside("key"))
        value = _type_with_aliases(type_.value, [old.value for old in maps], known, inside("value"))
        return replace(type_, key=key, value=value)
    return type_
