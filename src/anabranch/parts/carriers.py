"""The parts that carry a table's rows: its fresh parts, or rewrites that stand for them. Pure: nothing is read.

1. A rewrite fits a state if all its slots are placed there and every row that it left out is dead there.
2. It fits a schema if reading its parts gives what reading the fresh ones would: no column lost that they hold, no type
   wider than the reader's, no default filled in that the reader would fill in otherwise.
3. Of those that fit, the ones that cover most are taken first, as long as no slot is covered twice.
4. Rows that died since the rewrite are hidden where they stand in its parts: a row's place is its position among the
   rows of its slot that were kept, after all kept rows of the slots before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyroaring import BitMap

from anabranch.model import types
from anabranch.model.part import Part
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.storage.row_ids import bitmap


@dataclass(frozen=True)
class Unit:
    """A fresh part, or all parts of a rewrite; `slots` are those whose rows it holds, in the order of the rows."""

    slots: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Carried:
    """What is read of a state: units that cover each of its slots once, and the dead positions in each part, by the
    part's own slot."""

    units: tuple[Unit, ...]
    dead: Mapping[int, BitMap]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for unit in self.units for part in unit.parts)


def carried(state: TableState, schema: Schema, rewrites: Iterable[Rewrite], written: Mapping[int, Schema]) -> Carried:
    """Each unit stands where its first slot stood."""
    chosen = _chosen(state, schema, rewrites, written)
    dead = state.dead
    if chosen:
        dead = {slot: rows for slot, rows in state.dead.items() if slot not in chosen}
        for rewrite in {rewrite.id: rewrite for rewrite in chosen.values()}.values():
            dead.update(_moved(rewrite, state))
    return Carried(tuple(units(state, chosen)), dead)


def units(state: TableState, chosen: Mapping[int, Rewrite]) -> Iterator[Unit]:
    """Each where its first slot stood; `chosen`: slot -> the rewrite that stands for it."""
    met: set[str] = set()
    for slot, part in state.parts.items():
        rewrite = chosen.get(slot)
        if rewrite is None:
            yield Unit((slot,), (part,))
        elif rewrite.id not in met:
            met.add(rewrite.id)
            yield Unit(tuple(rewrite.left_out), rewrite.parts)


def _chosen(
    state: TableState, schema: Schema, rewrites: Iterable[Rewrite], written: Mapping[int, Schema]
) -> dict[int, Rewrite]:
    """Slot -> the rewrite that stands for it."""
    found: dict[int, Rewrite] = {}
    for rewrite in sorted(rewrites, key=covers, reverse=True):
        if found.keys().isdisjoint(rewrite.left_out) and fits(rewrite, state):
            inputs = {state.parts[slot].schema_id for slot in rewrite.left_out}
            if reads_alike(schema, [written[id] for id in inputs], [written[p.schema_id] for p in rewrite.parts]):
                found.update(dict.fromkeys(rewrite.left_out, rewrite))
    return found


def covers(rewrite: Rewrite) -> tuple[int, int]:
    return len(rewrite.left_out), sum(map(len, rewrite.left_out.values()))


def fits(rewrite: Rewrite, state: TableState) -> bool:
    return all(
        slot in state.parts and (not left_out or left_out <= state.dead.get(slot, BitMap()))
        for slot, left_out in rewrite.left_out.items()
    )


def reads_alike(schema: Schema, inputs: Sequence[Schema], outputs: Sequence[Schema]) -> bool:
    """Whether parts written with `outputs` give, under `schema`, what parts written with `inputs` give."""
    return all(_column_alike(column, inputs, output) for output in outputs for column in schema.columns)


def _column_alike(column: Column, inputs: Sequence[Schema], output: Schema) -> bool:
    held = [schema.stored_as(column) for schema in inputs]
    now = output.stored_as(column)
    if now is None:
        return not any(held)
    same = now.physical == column.physical and now.initial_default == column.initial_default
    if None in held and not same:
        return False  # a default stands in the file, and it may be another column's
    if types.is_atomic(column.type):
        return now.type == column.type or types.widens(now.type, column.type)
    return now.type == column.type or all(old is not None and old.type == now.type for old in held)


def _moved(rewrite: Rewrite, state: TableState) -> dict[int, BitMap]:
    """Rows that died since, by the rewritten parts' own slots and positions."""
    places, first = [], 0
    for slot, left_out in rewrite.left_out.items():
        died = np.asarray((state.dead.get(slot, BitMap()) - left_out).to_array(), dtype=np.int64)
        if len(died):
            places.append(first + died - np.searchsorted(np.asarray(left_out.to_array(), dtype=np.int64), died))
        first += state.parts[slot].rows - len(left_out)
    if not places:
        return {}
    dead = np.concatenate(places)
    found, first = {}, 0
    for part in rewrite.parts:
        low, high = np.searchsorted(dead, (first, first + part.rows))
        if low < high:
            found[part.slot] = bitmap(dead[low:high] - first)
        first += part.rows
    return found
