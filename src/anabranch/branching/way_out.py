"""What a person can do about the conflicts of a merge that was refused."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.branching.law import ABSENT, ADDED, NARROW, REQUIRED
from anabranch.errors import SqlError, UnsupportedType
from anabranch.model.conflict import Choice, ConflictRecord
from anabranch.model.types import DataType, common, parse_type, structs_in

_WITHOUT = (
    "What this branch lacks comes with the commit that made it: pick that one first. RESOLVE USING THEIRS takes it as "
    "this commit left it, OURS leaves it out."
)
MEETING = ("insert", "delete/insert", "update/insert")
"""Rules of statements of theirs that meet rows which ours inserted."""
_NOT_NULL = ("A6.2", "A6.3")
_WITHOUT_BACK = "What this branch lacks need not be undone here: RESOLVE USING OURS leaves it out."


def way_out(
    conflicts: Sequence[ConflictRecord], settling: Sequence[Choice], tried: Choice | None, *, backwards: bool = False
) -> str:
    """`settling`: the sides that RESOLVE can still be given, for the merge to pass; `tried`: the one that it had.
    `backwards`: it was a REVERT."""
    if collisions := [conflict for conflict in conflicts if conflict.rule == "names"]:
        return f"Two things of one name cannot be merged: rename one first ({_rename(collisions[0])})."
    if any(conflict.rule == ABSENT for conflict in conflicts):
        return _WITHOUT_BACK if backwards else _WITHOUT
    failed = "No RESOLVE settles this" if tried is None else f"RESOLVE USING {tried.upper()} does not settle this"
    wide = _rows_of_a_widening(conflicts) if backwards and "theirs" not in settling else None
    if len(settling) == 1:
        only, why = settling[0].upper(), f": {wide}" if wide else "."
        return f"Only RESOLVE USING {only} settles this{why}" if tried is None else f"{failed}: USING {only} would."
    if settling and all(conflict.rule in _NOT_NULL for conflict in conflicts):
        return _of_not_null(conflicts)
    if settling and all(conflict.rule in MEETING for conflict in conflicts):
        return "RESOLVE USING OURS spares the rows that were inserted here; THEIRS runs its statements on them, too."
    if settling:
        return "RESOLVE USING OURS or THEIRS takes one side where both changed the same."
    if wide:
        return f"{failed}: {wide}"
    advice = [_TYPES[conflict.rule](conflict) for conflict in conflicts if conflict.rule in _TYPES]
    return f"{failed}: {advice[0] if advice else 'change one of the branches first.'}"


def _rename(conflict: ConflictRecord) -> str:
    if conflict.kind in ("database", "table"):  # by the name that it has until then
        kind, _, name = str(conflict.ours).rpartition(", id ")[0].partition(" ")
        return f"ALTER {kind.upper()} {name} RENAME TO …"
    return f"ALTER TABLE {conflict.object} RENAME COLUMN {conflict.column} TO …"


def _of_not_null(conflicts: Sequence[ConflictRecord]) -> str:
    """By whose rows lack a value: no resolution throws away what stands on ours."""
    theirs_lack = {conflict.ours == REQUIRED for conflict in conflicts}
    kept = "takes them and drops the NOT NULL." if theirs_lack == {True} else "takes all rows and drops the NOT NULL."
    if theirs_lack == {False}:
        return "Rows of this branch lack a value: RESOLVE USING OURS or THEIRS merges without the NOT NULL of theirs."
    return f"RESOLVE USING OURS leaves out the rows of theirs that lack a value; THEIRS {kept}"


def _rows_of_a_widening(conflicts: Sequence[ConflictRecord]) -> str | None:
    """Why THEIRS does not take a REVERT's narrow type, if types are all that is in its way."""
    columns = [conflict for conflict in conflicts if conflict.kind == "column"]
    if not columns or any(conflict.rule != "A6.1" for conflict in columns):
        return None
    return f"the widening cannot be undone while rows that were written as {columns[0].ours} are there."


def _types_first(conflict: ConflictRecord) -> str:
    """Rows of both types are there, so that none of them can be taken."""
    wide = _common(_type(conflict.ours), _type(conflict.theirs))
    if wide is not None:
        return _widen_both(conflict, wide)
    return (
        "rows of both types are there, and no type holds both. RESTORE the table on one branch to a version before its "
        "type changed, and give it the other branch's type before its rows are written again."
    )


def _added_first(conflict: ConflictRecord) -> str:
    """Rows of both columns are there. (Of structs, fields of equal labels may be called otherwise in files.)"""
    wide = _common(_type(conflict.ours), _type(conflict.theirs))
    if wide is not None and not any(structs_in(wide)):
        return _widen_both(conflict, wide)
    return (
        f"rows of both columns are there. Rename one of them first (ALTER TABLE {conflict.object} RENAME COLUMN "
        f"{conflict.column} TO …), and merge again."
    )


def _widen_here(conflict: ConflictRecord) -> str:
    """To what all rows are, of which a side may tell that they are wider than its column."""
    rows = (_type(str(side).rpartition("and rows of ")[2]) for side in (conflict.ours, conflict.theirs))
    wide = _common(*rows) or "…"
    return f"widen the column here first ({_alter(conflict, wide)}), and run this again."


_TYPES = {"incompatible": _types_first, ADDED: _added_first, NARROW: _widen_here}
"""What comes first, by the rule of a conflict of types that no RESOLVE settles."""


def _widen_both(conflict: ConflictRecord, wide: DataType) -> str:
    return (
        "rows of both types are there. Widen the column on both branches first "
        f"({_alter(conflict, wide)}), and merge again."
    )


def _alter(conflict: ConflictRecord, wide: object) -> str:
    return f"ALTER TABLE {conflict.object} ALTER COLUMN {conflict.column} TYPE {wide}"


def _common(ours: DataType | None, theirs: DataType | None) -> DataType | None:
    return None if ours is None or theirs is None else common(ours, theirs)


def _type(word: object) -> DataType | None:
    try:
        return parse_type(str(word))
    except (SqlError, UnsupportedType):
        return None
