"""The keyed law in plain dicts, one key at a time: what the vectorised one is held against.

A record is (kind, values) or, for set rows, ('=', values) with exactly the fields that it sets. Histories are lists of
flush names; a flush is a dict from key to record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

Row = dict[str, Any] | None
CONFLICT = "conflict"

ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "group": {"merge-engine": "partial-update", "fields.s.sequence-group": "x"},
    "aggregation": {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
        "fields.s.aggregate-function": "sum",
        "fields.x.aggregate-function": "last_value",
        "fields.y.aggregate-function": "max",
    },
    "retracts": {
        "merge-engine": "aggregation",
        "fields.s.aggregate-function": "sum",
        "fields.x.aggregate-function": "last_non_null_value",
        "fields.y.aggregate-function": "last_value",
    },
}
UNSPOKEN: dict[str, dict[str, str]] = {
    "ordered": {
        "merge-engine": "aggregation",
        "sequence.field": "s",
        "fields.x.aggregate-function": "last_value",
        "fields.y.aggregate-function": "sum",
    },
    "group of sums": {
        "merge-engine": "partial-update",
        "fields.s.sequence-group": "x,y",
        "fields.x.aggregate-function": "first_value",
        "fields.y.aggregate-function": "sum",
    },
}
"""Options that the cases know and the oracle does not."""
FIELDS = ("s", "x", "y")
COMMUTES = {"aggregation": {"s", "y"}, "retracts": {"s"}}
REMOVES = {"deduplicate", "sequence", "partial-update", "aggregation"}


def reduced(engine: str, records: Sequence[tuple[str, Mapping[str, Any]]]) -> Row:
    """All records of a key, oldest first."""
    if engine == "sequence":
        records = sorted(records, key=lambda record: _order(record[1]["s"]))
    if not records:
        return None
    if len(records) == 1:
        kind, values = records[0]
        return None if kind in ("-D", "tombstone") else {name: values.get(name) for name in FIELDS}
    row: Row = None
    for kind, values in records:
        row = _step(engine, row, kind, values)
    return row


def _order(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _step(engine: str, row: Row, kind: str, values: Mapping[str, Any]) -> Row:
    if kind == "tombstone" or (kind == "-D" and engine in REMOVES):
        return None
    if kind == "=":
        return {**(row or dict.fromkeys(FIELDS)), **values}
    if engine in ("deduplicate", "sequence"):
        return dict(values)
    if engine == "first-row":
        return row or dict(values)
    if engine == "partial-update":
        return {**(row or dict.fromkeys(FIELDS)), **{n: v for n, v in values.items() if v is not None}}
    if engine == "group":
        return _grouped(row or dict.fromkeys(FIELDS), values)
    row = dict(row or dict.fromkeys(FIELDS))
    take = kind == "-D"
    for name, value in values.items():
        row[name] = _aggregated(engine, name, row[name], value, take=take)
    return row


def _grouped(row: dict[str, Any], values: Mapping[str, Any]) -> Row:
    row = dict(row)
    if values["s"] is not None and _order(values["s"]) >= _order(row["s"]):
        row |= {"s": values["s"], "x": values["x"]}
    if values["y"] is not None:
        row["y"] = values["y"]
    return row


def _aggregated(engine: str, name: str, old: Any, value: Any, *, take: bool) -> Any:
    function = ENGINES[engine][f"fields.{name}.aggregate-function"]
    if function == "last_value":
        return None if take else value
    if value is None:
        return old
    if function == "last_non_null_value":
        return None if take else value
    if function == "sum":
        return (old or 0) + (-value if take else value)
    assert function == "max"
    return value if old is None else max(old, value)


# --- the law ----------------------------------------------------------------------------------------------------------


def decided(
    engine: str,
    base: Row,
    ours: Row,
    theirs: Row,
    merged: Row,
    *,
    fixed: Collection[str],
    removed: bool,
    recorded: bool,
) -> Row | str:
    """A key that both sides touched. `merged`: what all flushes reduce to; `recorded`: whether they have a record.
    `fixed`: fields that a record sets whatever was there, so that even what commutes depends on the order; all of them,
    if the key was `removed`."""
    if engine == "first-row":
        return theirs if ours == base else ours
    if engine == "sequence":
        return merged  # see `test_random`, which knows ties
    if engine == "deduplicate":
        return _net(base, ours, theirs)
    if ours is None and theirs is None:
        return None if removed else merged
    was, here, there = ((row or dict.fromkeys(FIELDS)) for row in (base, ours, theirs))
    if base is not None and (ours is None) != (theirs is None):
        exact = [name for name in FIELDS if name not in COMMUTES.get(engine, ())]
        both = any(_net(was[name], here[name], there[name]) == CONFLICT for name in exact)
        return merged if engine == "retracts" and not fixed and not both else _net(base, ours, theirs)
    row = {}
    for name in FIELDS:
        if name in COMMUTES.get(engine, ()) and name not in fixed:
            row[name] = (merged or dict.fromkeys(FIELDS))[name]
        else:
            row[name] = _net(was[name], here[name], there[name])
    if engine == "group":
        old, mine, other = ((r["s"], r["x"]) for r in (was, here, there))
        pair = _net(old, mine, other)
        if pair == CONFLICT and mine[0] != other[0]:
            pair = max(mine, other, key=lambda both: _order(both[0]))
        row["s"], row["x"] = pair if pair != CONFLICT else (CONFLICT, CONFLICT)
    if CONFLICT in row.values():
        return CONFLICT
    return row if recorded or any(value is not None for value in row.values()) else None


def _net(base: Any, ours: Any, theirs: Any) -> Any:
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else CONFLICT
