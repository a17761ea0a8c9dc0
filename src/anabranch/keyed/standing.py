"""Parts of a keyed table where they stand: what the catalog knows of their keys, their order, and the rewrites that may
stand for some of them. Pure.

A state's parts are in the order of arrival, and that order is their block: of two rows of one key the one in the later
part is newer. A rewrite fits a state if its inputs are there in the same order, no other part whose keys meet theirs
stands between them, and, if it left out what nothing older needs, nothing older that could hold their keys is there.
Parts of different partitions never meet: partition columns are part of the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from anabranch.keyed.bounds import PartKeys, widened
from anabranch.keyed.sections import Placed, may_merge
from anabranch.model import types
from anabranch.model.part import Part, bounds_of
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Schema
from anabranch.model.state import TableState
from anabranch.model.types import DataType
from anabranch.parts.carriers import Carried, covers, reads_alike, units

KEYS, KINDS = "keys", "kinds"


@lru_cache(maxsize=65536)
def _known(stats: str) -> tuple[PartKeys, bool]:
    body = json.loads(stats)
    return PartKeys.from_json(body[KEYS]), bool(body.get(KINDS))


def keys_of(part: Part) -> PartKeys:
    """The bounds of its keys, as it was written."""
    return _known(part.stats)[0]


def has_kinds(part: Part) -> bool:
    """Whether it holds records that are no plain adds."""
    return _known(part.stats)[1]


def noted(stats: str, keys: PartKeys, *, kinds: bool) -> str:
    """A part's statistics with what is known of its keys."""
    body = {**json.loads(stats), KEYS: keys.to_json(), **({KINDS: True} if kinds else {})}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def nulls_in(part: Part, schema: Schema, written: Mapping[int, Schema]) -> dict[str, int | None]:
    """Physical column -> how many of the part's rows have NULL there under a schema; None: the catalog cannot tell."""
    found: dict[str, int | None] = {}
    for column in schema.columns:
        old = written[part.schema_id].stored_as(column)
        stats = None if old is None else bounds_of(part, old.physical)
        lacks = old is None and column.initial_default is None
        found[column.physical] = part.rows if lacks else stats.nulls if stats is not None else None
    return found


def keys_now(part: Part, schema: Schema, written: Mapping[int, Schema]) -> PartKeys:
    """The bounds of its keys under a schema whose key columns may have been widened since."""
    keys, old, new = keys_of(part), key_types(written[part.schema_id], schema), key_types(schema, schema)
    if old == new:
        return keys
    return PartKeys(tuple(widened(first, old, new) for first in keys.firsts), widened(keys.last, old, new))


def key_types(written: Schema, schema: Schema) -> list[DataType]:
    """The types with which a schema's key was written."""
    found = []
    for physical in schema.primary_key:
        column = written.stored_as(schema.physical(physical))  # type: ignore[arg-type]  # a key column is a column
        assert column is not None
        found += [types.TINYINT, column.type] if has_null_keys(schema) else [column.type]
    return found


def has_null_keys(schema: Schema) -> bool:
    """Whether NULL may be the value of a key column: then none of them is NOT NULL."""
    return any(column.physical in schema.primary_key and column.nullable for column in schema.columns)


def placed(parts: Iterable[Part], schema: Schema, written: Mapping[int, Schema]) -> dict[str | None, list[Placed]]:
    """Partition -> its parts, each with its place in the order of arrival as its block."""
    found: dict[str | None, list[Placed]] = {}
    for block, part in enumerate(parts):
        keys = keys_now(part, schema, written)
        stands = Placed(str(part.slot), keys.firsts[0], keys.last, block, block, part.bytes)
        found.setdefault(part.partition, []).append(stands)
    return found


def carried(state: TableState, schema: Schema, rewrites: Iterable[Rewrite], written: Mapping[int, Schema]) -> Carried:
    """What is read of a keyed state, in the order of arrival; which rows are superseded is not known yet."""
    chosen = _chosen(state, schema, [rewrite for rewrite in rewrites if rewrite.keyed], written)
    return Carried(tuple(units(state, chosen)), {})


def _chosen(
    state: TableState, schema: Schema, rewrites: Sequence[Rewrite], written: Mapping[int, Schema]
) -> dict[int, Rewrite]:
    found: dict[int, Rewrite] = {}
    if not rewrites:
        return found
    order = {slot: block for block, slot in enumerate(state.parts)}
    standing: dict[str | None, list[Placed]] | None = None
    for rewrite in sorted(rewrites, key=covers, reverse=True):
        slots = list(rewrite.left_out)
        if not found.keys().isdisjoint(slots) or not all(slot in order for slot in slots):
            continue
        inputs = [written[state.parts[slot].schema_id] for slot in slots]
        if not reads_alike(schema, inputs, [written[part.schema_id] for part in rewrite.parts]):
            continue
        standing = standing or placed(state.parts.values(), schema, written)
        if fits(rewrite, order, standing[state.parts[slots[0]].partition]):
            found.update(dict.fromkeys(slots, rewrite))
    return found


def fits(rewrite: Rewrite, order: Mapping[int, int], standing: Sequence[Placed]) -> bool:
    """Whether the rewrite may stand for its inputs among the parts of its partition."""
    blocks = [order[slot] for slot in rewrite.left_out]
    if blocks != sorted(blocks):
        return False
    names = {str(slot) for slot in rewrite.left_out}
    inputs = [part for part in standing if part.name in names]
    if not may_merge(standing, inputs):
        return False
    return not rewrite.oldest or not older_meet(standing, inputs)


def older_meet(standing: Iterable[Placed], inputs: Sequence[Placed]) -> bool:
    """Whether another part that is older than all inputs could hold keys of theirs."""
    first, last = min(part.first for part in inputs), max(part.last for part in inputs)
    block = min(part.min_block for part in inputs)
    return any(part.max_block < block and part.keys_meet(first, last) for part in standing)
