"""ENGINES.md, record by record: what the reductions must give, in the plainest Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any

from anabranch.engines.feed import FieldRule
from anabranch.engines.spec import EngineSpec, SequenceGroup

START: Any = object()
"""What a field holds before its function was called for the first time."""


@dataclass(frozen=True)
class Rec:
    """A record; `sets` are the fields that a set row '=' sets. 'tombstone' removes the key."""

    kind: str
    values: dict[str, Any]
    sets: frozenset[str] = frozenset()


def value(acc: Any) -> Any:
    return None if acc is START else acc


def ignoring_null(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def agg(acc: Any, given: Any) -> Any:
        if given is None or value(acc) is None:
            return value(acc) if given is None else given
        return combine(acc, given)

    return agg


def plus(acc: Any, given: Any, sign: int = 1) -> Any:
    with localcontext(Context(prec=80)):
        return acc + sign * given


def times(acc: Any, given: Any) -> Any:
    product = acc * given
    return product.quantize(Decimal("0.01"), ROUND_HALF_UP) if isinstance(product, Decimal) else product


def divided(acc: Any, given: Any) -> Any:
    if isinstance(acc, Decimal):
        return (acc / given).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return abs(acc) // abs(given) * (1 if (acc < 0) == (given < 0) else -1)


def first(acc: Any, given: Any) -> Any:
    return given if acc is START else acc


def first_non_null(acc: Any, given: Any) -> Any:
    return given if value(acc) is None else acc


def listagg(rule: FieldRule) -> Callable[[Any, Any], Any]:
    def agg(acc: Any, given: Any) -> Any:
        if value(acc) is None or not given or not given.strip():
            return given if value(acc) is None else acc
        if not acc.strip():
            return given
        if not rule.distinct:
            return acc + rule.delimiter + given
        for token in given.split(rule.delimiter):
            if token.strip() and token not in acc.split(rule.delimiter):
                acc += rule.delimiter + token
        return acc

    return agg


def collect(rule: FieldRule) -> Callable[[Any, Any], Any]:
    def agg(acc: Any, given: Any) -> Any:
        if given is None:
            return value(acc)
        every = [*(value(acc) or []), *given]
        return [v for n, v in enumerate(every) if v not in every[:n]] if rule.distinct else every

    return agg


def uncollect(acc: Any, given: Any) -> Any:
    if value(acc) is None or given is None:
        return value(acc)
    left = list(acc)
    for item in given:
        if item in left:
            left.remove(item)
    return left


def merge_map(acc: Any, given: Any) -> Any:
    return value(acc) if given is None else list({**dict(value(acc) or []), **dict(given)}.items())


def unmerge_map(acc: Any, given: Any) -> Any:
    if value(acc) is None or given is None:
        return value(acc)
    return [(k, v) for k, v in acc if k not in dict(given)]


def nested(rule: FieldRule, *, partial: bool = False) -> Callable[[Any, Any], Any]:
    def key(row: dict[str, Any]) -> Any:
        return tuple(row[name] for name in rule.nested_key)

    def rank(row: dict[str, Any]) -> Any:
        return [(row[name] is not None, row[name] or 0) for name in rule.nested_sequence]

    def agg(acc: Any, given: Any) -> Any:
        if given is None:
            return value(acc)
        rows, limit = list(value(acc) or []), rule.count_limit or 10**9
        for row in [row for row in given if row is not None]:
            same = [n for n, old in enumerate(rows) if rule.nested_key and key(old) == key(row)]
            if same and partial:
                rows[same[0]] = {n: rows[same[0]][n] if v is None else v for n, v in row.items()}
            elif same and rank(row) >= rank(rows[same[0]]):
                rows[same[0]] = row
            elif not same and len(rows) < limit:
                rows.append(row)
        return rows

    return agg


def unnested(rule: FieldRule) -> Callable[[Any, Any], Any]:
    def retract(acc: Any, given: Any) -> Any:
        if value(acc) is None or given is None:
            return value(acc)
        names = rule.nested_key or ("k", "s", "v")
        away = [tuple(row[n] for n in names) for row in given if row is not None]
        return [row for row in acc if tuple(row[n] for n in names) not in away]

    return retract


def agg_of(rule: FieldRule) -> Callable[[Any, Any], Any]:
    return {
        "sum": ignoring_null(plus),
        "product": ignoring_null(times),
        "max": ignoring_null(max),
        "min": ignoring_null(min),
        "bool_and": ignoring_null(lambda a, b: a and b),
        "bool_or": ignoring_null(lambda a, b: a or b),
        "last_value": lambda acc, given: given,
        "last_non_null_value": ignoring_null(lambda a, b: b),
        "first_value": first,
        "first_non_null_value": first_non_null,
        "listagg": listagg(rule),
        "collect": collect(rule),
        "merge_map": merge_map,
        "nested_update": nested(rule),
        "nested_partial_update": nested(rule, partial=True),
    }[rule.function]


def retract_of(rule: FieldRule) -> Callable[[Any, Any], Any]:
    return {
        "sum": lambda acc, given: value(acc) if given is None else plus(value(acc) or 0, given, -1),
        "product": lambda acc, given: value(acc) if given is None or value(acc) is None else divided(acc, given),
        "last_value": lambda acc, given: None,
        "last_non_null_value": lambda acc, given: value(acc) if given is None else None,
        "collect": uncollect,
        "merge_map": unmerge_map,
        "nested_update": unnested(rule),
    }[rule.function]


def reversed_agg(rule: FieldRule, acc: Any, given: Any) -> Any:
    """What is older comes first."""
    agg = agg_of(rule)
    return agg(START, given) if acc is START else agg(agg(START, given), acc)


@dataclass
class Row:
    """The state of one key; one record after the other."""

    spec: EngineSpec
    fields: dict[str, Any] = field(default_factory=dict)
    added: bool = False
    begun: bool = False

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.fields = dict.fromkeys(self.spec.fields, START)
        self.added = self.begun = False

    def take(self, record: Rec) -> None:
        retracts = record.kind in ("-U", "-D")
        if record.kind == "tombstone" or (record.kind == "-D" and self.spec.remove_on_delete):
            self.clear()
        elif record.kind == "=":
            held = {name for name in self.fields if record.values[name] is not None}
            for name in record.sets if self.begun else record.sets | held:
                rule = self.spec.rules.get(name)
                self.fields[name] = agg_of(rule)(START, record.values[name]) if rule else record.values[name]
            self.added = self.begun = True
        else:
            getattr(self, self.spec.engine.replace("-", "_"))(record.values, retracts, record.kind)
            self.added |= not retracts
            ignored = self.spec.engine == "partial-update" and not self.spec.groups
            self.begun |= not (retracts and (ignored or self.spec.engine == "deduplicate"))

    def deduplicate(self, values: dict[str, Any], retracts: bool, kind: str) -> None:
        self.clear()
        if not retracts:
            self.fields = {name: values[name] for name in self.fields}

    def first_row(self, values: dict[str, Any], retracts: bool, kind: str) -> None:
        self.fields = {n: values[n] if v is START else v for n, v in self.fields.items()}

    def aggregation(self, values: dict[str, Any], retracts: bool, kind: str) -> None:
        for name, rule in self.spec.rules.items():
            if not retracts:
                self.fields[name] = agg_of(rule)(self.fields[name], values[name])
            elif not rule.ignore_retract:
                self.fields[name] = retract_of(rule)(self.fields[name], values[name])

    def partial_update(self, values: dict[str, Any], retracts: bool, kind: str) -> None:
        before = dict(self.fields)
        grouped = {n for g in self.spec.groups for n in (*g.sequence, *g.fields)}
        for group in self.spec.groups:
            given, stored = rank(values, group), rank(before, group)
            if not any(present for present, _ in given):
                continue
            if kind == "-D" and given >= stored and self.spec.remove_on_groups & set(group.sequence):
                self.clear()
                return
            for name in group.fields:
                self.protected(name, values[name], retracts, newer=given >= stored)
            if given >= stored:
                self.fields |= {name: values[name] for name in group.sequence}
        if not retracts:
            self.fields |= {n: values[n] for n in self.fields if n not in grouped and values[n] is not None}

    def protected(self, name: str, given: Any, retracts: bool, *, newer: bool) -> None:
        rule = self.spec.rules.get(name)
        if rule is None:
            if newer:
                self.fields[name] = None if retracts else given
        elif retracts:
            if not rule.ignore_retract:
                self.fields[name] = retract_of(rule)(self.fields[name], given)
        elif newer:
            self.fields[name] = agg_of(rule)(self.fields[name], given)
        else:
            self.fields[name] = reversed_agg(rule, self.fields[name], given)


def rank(values: dict[str, Any], group: SequenceGroup) -> list[tuple[bool, Any]]:
    """A group's sequence: NULL comes first."""
    found = [value(values[name]) for name in group.sequence]
    return [(v is not None, 0 if v is None else v) for v in found]


def read(records: Iterable[Rec], spec: EngineSpec) -> dict[Any, dict[str, Any]]:
    """The visible rows by key. A lone record skips the engine."""
    keys: dict[Any, list[Rec]] = {}
    for record in in_order(list(records), spec):
        keys.setdefault(tuple(record.values[n] for n in spec.key), []).append(record)
    found = {}
    for key, own in keys.items():
        if len(own) == 1:
            if own[0].kind in ("+I", "+U", "="):
                found[key] = {n: own[0].values[n] for n in spec.fields}
            continue
        row = Row(spec)
        for record in own:
            row.take(record)
        if row.added or (spec.engine == "aggregation" and own[-1].kind in ("-U", "-D") and not removes(own[-1], spec)):
            found[key] = {n: value(v) for n, v in row.fields.items()}
    return found


def removes(record: Rec, spec: EngineSpec) -> bool:
    return record.kind == "tombstone" or (record.kind == "-D" and spec.remove_on_delete)


def in_order(records: Sequence[Rec], spec: EngineSpec) -> list[Rec]:
    def ranked(record: Rec) -> Any:
        found = [record.values[name] for name in spec.sequence]
        sign = -1 if spec.descending else 1
        return [(v is not None, 0 if v is None else sign * v) for v in found]

    return sorted(records, key=ranked)
