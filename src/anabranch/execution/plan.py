"""Which parts a scan reads, and how. Pure: nothing is opened.

1. Parts whose bounds exclude the predicate are skipped.
2. What is left is read in this process if it is small; else the parts under `small_part` are, if they together are
   small, or go to kernels in bundles. The others go to Spark's own reader, masked where they have dead rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyroaring import BitMap

from anabranch import expressions
from anabranch.engines import EngineSpec
from anabranch.execution.key_index import Hidden, KeyIndex
from anabranch.execution.masks import is_flat
from anabranch.execution.predicate import Predicate
from anabranch.keyed import standing
from anabranch.model import types
from anabranch.model.part import ColumnStats, Part
from anabranch.model.rewrite import Rewrite
from anabranch.model.schema import Column, Schema
from anabranch.model.state import TableState
from anabranch.options import Limits
from anabranch.parts.carriers import Carried, carried
from anabranch.storage.files import Files
from anabranch.storage.statistics import bounds_by_label


@dataclass(frozen=True)
class Keyed:
    """What reading a keyed table needs besides: its engine, what is known of its keys, and where overlays go."""

    spec: EngineSpec
    index: KeyIndex
    cache: Files


@dataclass(frozen=True)
class TableView:
    """A table at a version: its schema, its state, where its files are, the schemas its parts were written with, and
    the rewrites that may stand for some of them."""

    name: str
    schema: Schema
    state: TableState
    written: Mapping[int, Schema]
    files: Files
    rewrites: tuple[Rewrite, ...] = ()
    keyed: Keyed | None = None
    _bounds: dict[tuple[str, ...], list[Mapping[str, ColumnStats]]] = field(default_factory=dict, compare=False)

    @cached_property
    def carried(self) -> Carried:
        """What is read: fresh parts, and rewrites in the place of others."""
        if self.keyed is None:
            return carried(self.state, self.schema, self.rewrites, self.written)
        return Carried(self.standing.units, self._hidden.dead)

    @cached_property
    def standing(self) -> Carried:
        """The parts of a keyed table as they arrived; nothing is read for it."""
        return standing.carried(self.state, self.schema, self.rewrites, self.written)

    @cached_property
    def _hidden(self) -> Hidden:
        assert self.keyed is not None
        return self.keyed.index.hidden(self, self.standing.parts, self.keyed.spec)

    @cached_property
    def overlay(self) -> TableView | None:
        """The combined rows of keys whose records are hidden."""
        found = None if self.keyed is None else self._hidden.overlay
        if found is None:
            return None
        state = TableState(self.state.table_id, self.state.position, {p.slot: p for p in found.parts}, found.dead)
        return TableView(self.name, self.schema, state, {self.schema.id: self.schema}, found.files)

    @property
    def rows(self) -> int:
        here = sum(part.rows - self.dead_in(part) for part in self.parts)
        return here + (self.overlay.rows if self.overlay else 0)

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.carried.parts

    def dead_in(self, part: Part) -> int:
        found = self.carried.dead.get(part.slot)
        return len(found) if found else 0

    def bounds(self, labels: tuple[str, ...]) -> list[Mapping[str, ColumnStats]]:
        """The bounds of these columns in every part, decoded once."""
        if labels not in self._bounds:
            asked = self.schema.select(labels)
            self._bounds[labels] = [bounds_by_label(part, self.written[part.schema_id], asked) for part in self.parts]
        return self._bounds[labels]


@dataclass(frozen=True)
class ScanPlan:
    """The parts that can hold a wanted row, of the columns asked for."""

    view: TableView
    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    skipped: int
    where: Predicate | None
    overlay: ScanPlan | None = None
    """Rows that stand for others of a keyed table; all that is read of it is `each` of the plans."""
    hint: bool = False
    """Whoever reads the rows filters them again, so `where` may be left out where only Spark could evaluate it."""

    def dead(self, part: Part) -> BitMap | None:
        return self.view.carried.dead.get(part.slot)

    @property
    def each(self) -> tuple[ScanPlan, ...]:
        return (self,) if self.overlay is None else (replace(self, overlay=None), self.overlay)

    def unfiltered(self) -> ScanPlan:
        return replace(self, where=None, overlay=self.overlay and self.overlay.unfiltered())

    def as_hint(self) -> ScanPlan:
        return replace(self, hint=True, overlay=self.overlay and self.overlay.as_hint())

    @property
    def bytes(self) -> int:
        return sum(part.bytes for plan in self.each for part in plan.parts)

    @property
    def rows(self) -> int:
        return sum(part.rows for plan in self.each for part in plan.parts)


@dataclass(frozen=True)
class Paths:
    """The ways that a plan's parts take; each part takes exactly one."""

    local: tuple[Part, ...] = ()
    bundled: tuple[Part, ...] = ()
    native: tuple[Part, ...] = ()
    masked: tuple[Part, ...] = ()


def plan_scan(view: TableView, labels: Sequence[str] | None = None, where: Predicate | None = None) -> ScanPlan:
    """`where` is a predicate that the reader's rows will be filtered by anyway; here it only skips parts."""
    columns = view.schema.select(labels)
    parts = kept = view.parts
    if where is not None and parts:
        bounds = where.bounds(view.schema)
        if bounds:
            flags = expressions.select_parts(bounds, view.bounds(tuple(sorted({bound.column for bound in bounds}))))
            kept = tuple(part for part, flag in zip(parts, flags, strict=True) if flag)
    alive = tuple(part for part in kept if view.dead_in(part) < part.rows)
    overlay = plan_scan(view.overlay, labels, where) if view.overlay is not None else None
    return ScanPlan(view, columns, alive, len(parts) - len(alive), where, overlay)


def choose_paths(plan: ScanPlan, limits: Limits, *, native: bool) -> Paths:
    """`native`: Spark's reader can open this storage."""
    if plan.bytes <= limits.local_scan:
        return Paths(local=plan.parts)
    readable = tuple(part for part in plan.parts if native and _native_can_read(plan, part))
    large = tuple(part for part in readable if part.bytes >= limits.small_part)
    if large and len(readable) - len(large) <= limits.few_parts:
        large = readable
    slots = {part.slot for part in large}
    small = tuple(part for part in plan.parts if part.slot not in slots)
    few = _bytes(small) <= limits.local_scan  # so few that starting workers would cost more
    masked = tuple(part for part in large if plan.dead(part))
    whole = tuple(part for part in large if not plan.dead(part))
    if masked and is_flat(large):  # testing one bit more a row costs less than the union of two scans
        masked, whole = large, ()
    return Paths(local=small if few else (), bundled=() if few else small, native=whole, masked=masked)


def _bytes(parts: Iterable[Part]) -> int:
    return sum(part.bytes for part in parts)


def _native_can_read(plan: ScanPlan, part: Part) -> bool:
    """Spark's vectorised reader cannot fill in defaults of binary and nested columns, nor read aliases in structs."""
    written = plan.view.written[part.schema_id]
    for column in plan.columns:
        if types.is_atomic(column.type) and column.type != types.BINARY:
            continue
        if column.initial_default is not None and written.stored_as(column) is None:
            return False
        if any(field.aliases for struct in types.structs_in(column.type) for field in struct.fields):
            return False
    return True


def bundles(parts: Sequence[Part], size: int, least: int) -> list[tuple[Part, ...]]:
    """Parts in groups of about `size` bytes, but at least `least` groups where there are parts for them."""
    size = max(1, min(size, sum(part.bytes for part in parts) // max(least, 1)))
    groups: list[list[Part]] = []
    filled = size
    for part in parts:
        if filled >= size:
            groups.append([])
            filled = 0
        groups[-1].append(part)
        filled += part.bytes
    return [tuple(group) for group in groups]
