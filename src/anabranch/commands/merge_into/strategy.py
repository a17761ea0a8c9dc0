"""How a MERGE INTO is done. Pure: what is known of target and source gives a strategy and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.commands.merge_into.clauses import Action, BoundMerge, Pair
from anabranch.commands.merge_into.names import read_by
from anabranch.engines import EngineSpec
from anabranch.errors import InvalidMerge, Refused

Way = Literal["nothing", "dead rows", "copy-on-write", "blind upsert", "blind delete", "lookup", "join"]


@dataclass(frozen=True)
class Strategy:
    """`way`: what is read of the target and written; `reason` says why, for EXPLAIN."""

    way: Way
    reason: str


def pick(bound: BoundMerge, spec: EngineSpec | None, mode: str) -> Strategy:
    """`spec`: the engine of a keyed table; `mode`: 'merge.mode' of an append table."""
    if spec is None:
        if mode == "copy-on-write":
            return Strategy("copy-on-write", "'merge.mode' is 'copy-on-write': parts with changed rows are rewritten")
        return Strategy("dead rows", _dead_rows(bound))
    check_keyed(bound, spec)
    pairs = key_pairs(bound, spec)
    if pairs is None:
        return Strategy("join", "ON is not the equality of the primary key: target and source are joined")
    if bound.of("not matched by source"):
        return Strategy("join", "WHEN NOT MATCHED BY SOURCE looks at every target row")
    why_not = _why_not_blind(bound, spec, pairs)
    if why_not is None:
        if bound.of("not matched"):
            return Strategy("blind upsert", "ON is the primary key and no clause needs target values: nothing is read")
        return Strategy("blind delete", "ON is the primary key and all matches are deleted: nothing is read")
    return Strategy("lookup", f"ON is the primary key: only the source's keys are looked up, because {why_not}")


def _dead_rows(bound: BoundMerge) -> str:
    verbs = {action.verb for action in bound.actions}
    if verbs == {"insert"}:
        return "an append table, only inserts: of the target, the columns of ON are read, and no row dies"
    if verbs == {"delete"}:
        return "an append table, only deletes: rows are found by the columns that clauses name, and become dead rows"
    return "an append table: old versions become dead rows, new ones a fresh part"


def key_pairs(bound: BoundMerge, spec: EngineSpec) -> tuple[Pair, ...] | None:
    """ON's equalities in the order of the key, if ON is exactly these."""
    if bound.on_target or bound.residual or len(bound.pairs) != len(spec.key):
        return None
    by_column = {bound.schema.columns[pair.target].physical: pair for pair in bound.pairs}
    return tuple(by_column[name] for name in spec.key) if set(by_column) == set(spec.key) else None


def check_keyed(bound: BoundMerge, spec: EngineSpec) -> None:
    """A keyed table's engine takes change rows, and its key stays what it is."""
    if spec.engine not in ("deduplicate", "partial-update"):
        raise Refused(
            "MERGE INTO needs the merge engine 'deduplicate' or 'partial-update', "
            f"and this table's is '{spec.engine}'. Write rows with INSERT: its engine combines them."
        )
    equal = {bound.schema.columns[pair.target].physical: pair.source for pair in bound.pairs}
    for action in bound.actions:
        for column in bound.schema.columns:
            if action.verb != "update" or column.physical not in spec.key or column.physical not in action.values:
                continue
            place = f"{action.place}, column '{column.label}'"
            if not set(spec.key) <= set(equal):
                raise InvalidMerge(
                    place, "a primary key can be assigned only if ON equates every key column. Leave it out."
                )
            if _bare(action.values[column.physical]) not in (
                _bare(equal[column.physical]),
                bound.names.target.flat(bound.schema.columns.index(column)),
            ):
                raise InvalidMerge(
                    place, "a primary key keeps its value: assign what ON equates it with, or delete and insert."
                )
        if action.verb == "delete" and not _can_delete(spec):
            raise Refused(
                f"MERGE INTO, {action.place}: rows cannot be deleted, the merge engine is '{spec.engine}'. "
                "Set 'partial-update.remove-record-on-delete' to 'true' to allow it."
            )


def _can_delete(spec: EngineSpec) -> bool:
    return spec.engine == "deduplicate" or spec.remove_on_delete


def _bare(text: str) -> str:
    return text.strip().strip("()").strip()


def _why_not_blind(bound: BoundMerge, spec: EngineSpec, pairs: tuple[Pair, ...]) -> str | None:
    for action in bound.actions:
        if action.condition is not None:
            return f"{action.place} has a condition"
    matched, fresh = bound.of("matched"), bound.of("not matched")
    if not matched:
        return "only keys that are not there are inserted"
    (first,) = matched
    if first.verb == "delete":
        if fresh:
            return "keys that are there are deleted, others inserted"
        return "a delete needs its row's sequence field" if spec.sequence else None
    if not fresh:
        return "only keys that are there are updated"
    return _why_not_upsert(bound, spec, pairs, first, fresh[0])


def _why_not_upsert(
    bound: BoundMerge, spec: EngineSpec, pairs: tuple[Pair, ...], update: Action, insert: Action
) -> str | None:
    keys = dict(zip(spec.key, pairs, strict=True))
    for column in bound.schema.columns:
        name = column.physical
        made = _bare(insert.values[name])
        if name in keys:
            if made != _bare(keys[name].source):
                return f"'{column.label}' is inserted with another value than ON's"
            continue
        if name not in update.values:
            if spec.engine == "deduplicate":
                return f"UPDATE keeps '{column.label}'"
            if name in insert.given or made.upper() != "NULL":
                return f"'{column.label}' is inserted and not updated"
        elif _bare(update.values[name]) != made:
            return f"'{column.label}' is updated and inserted with different values"
        if name in update.values and read_by(update.values[name], bound.names.target):
            return f"'{column.label}' is made of target values"
    return None
