"""Kinds of records, and what a write makes of those it is given.

Users write '+I' '-U' '+U' '-D'. Stored rows carry codes in a column `_kind`; without that column all rows are adds.
Two kinds are our own: a *set row* `=` fixes the fields that its column `_sets` names, so that a field's reduction
starts at its newest `=` and takes nothing else from the row; a *tombstone* removes the key, whatever the
engine makes of -D.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.feed import Mask
from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.spec import EngineSpec
from anabranch.errors import KindRefused

KIND, SETS = "_kind", "_sets"
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE, SET, TOMBSTONE = range(6)
NAMES = ("+I", "-U", "+U", "-D", "=", "tombstone")
WRITABLE = NAMES[:4]
_RETRACTS = np.array([False, True, False, True, False, False])
_ADDS = np.array([True, False, True, False, False, False])

Kinds = npt.NDArray[np.int8]


def kinds_of(rows: pa.Table) -> Kinds | None:
    """Codes of the kinds; None: all rows are adds. So are rows of parts without kinds, which are NULL among others."""
    if KIND not in rows.column_names:
        return None
    found: Kinds = rows[KIND].fill_null(INSERT).to_numpy()
    return found


def retracting(kinds: Kinds) -> Mask:
    return _RETRACTS[kinds]


def adding(kinds: Kinds) -> Mask:
    return _ADDS[kinds]


def gone(kinds: Kinds) -> Mask:
    """Records whose key readers do not see, if the record is all that is left of it."""
    return np.asarray(_RETRACTS[kinds] | (kinds == TOMBSTONE))


def forgotten(kinds: Kinds, spec: EngineSpec) -> Mask:
    """Of records that are gone, those that mean nothing to whatever comes later: their key starts from nothing.

    With `sequence.field` a record that comes later may belong before the one that removed its key. Where a retract is
    no removal (sequence groups, aggregation) a lone one waits for what it takes back.
    """
    if spec.sequence:
        return np.zeros(len(kinds), dtype=bool)
    if spec.groups:
        return np.asarray(kinds == TOMBSTONE)
    if spec.engine == "aggregation":
        return np.asarray((kinds == TOMBSTONE) | ((kinds == DELETE) & spec.remove_on_delete))
    return gone(kinds)


def remembers(spec: EngineSpec) -> bool:
    """Whether some records that are gone still mean something."""
    return bool(spec.sequence or spec.groups or spec.engine == "aggregation")


def admitted(rows: pa.Table, spec: EngineSpec) -> pa.Table:
    """The rows that a write stores, kinds as codes: ignored kinds are dropped, refused ones raise `KindRefused`.

    Refused here and not when records meet: else a lone record would be stored and spoil every read.
    """
    words = rows[spec.rowkind] if spec.rowkind else rows[KIND] if KIND in rows.column_names else None
    if words is None:
        return rows
    rows = rows.drop_columns([KIND]) if KIND in rows.column_names else rows
    codes = pc.index_in(words, value_set=pa.array(WRITABLE))
    if codes.null_count:
        where = f"column '{spec.rowkind or KIND}'"
        unknown = words.filter(codes.is_null())[0].as_py()
        raise KindRefused("NULL" if unknown is None else unknown, f"{where} takes '+I', '-U', '+U' and '-D'")
    kinds: Kinds = codes.to_numpy().astype(np.int8)
    dropped = retracting(kinds) if spec.ignore_delete else kinds == UPDATE_BEFORE if spec.ignore_update_before else None
    if dropped is not None and dropped.any():
        rows, kinds = rows.filter(pa.array(~dropped)), kinds[~dropped]
    if adding(kinds).all():
        return rows
    rows = rows.append_column(KIND, pa.array(kinds))
    check_retracts(rows, kinds, spec)
    return rows


def check_retracts(rows: pa.Table, kinds: Kinds, spec: EngineSpec) -> None:
    """Refuses -U and -D where the engine, or the function of a field, cannot take anything back."""
    retracts = retracting(kinds)
    if not retracts.any() or spec.engine == "deduplicate":
        return
    kind = NAMES[kinds[retracts][0]]
    if spec.engine == "first-row":
        raise KindRefused(kind, "the merge engine 'first-row' takes no retracts; 'ignore-delete' drops them")
    if spec.engine == "partial-update" and not spec.groups:
        if not spec.remove_on_delete:
            raise KindRefused(
                kind,
                "the merge engine 'partial-update' takes no retracts; set 'ignore-delete', "
                "'partial-update.remove-record-on-delete', or sequence groups",
            )
        return
    if spec.remove_on_delete:
        retracts = kinds == UPDATE_BEFORE
    for name, rule in spec.rules.items():
        if rule.ignore_retract or FUNCTIONS[rule.function].retracts:
            continue
        touched = retracts
        for group in spec.groups:
            if name in group.fields:
                touched = retracts & ordered_by(rows, group.sequence)
        if touched.any():
            refuse_retract(NAMES[kinds[touched][0]], rule.function, name)


def refuse_retract(kind: str, function: str, column: str) -> None:
    raise KindRefused(
        kind,
        f"the function '{function}' of column '{column}' does not support retraction; "
        f"'fields.{column}.ignore-retract' leaves the field alone",
    )


def ordered_by(rows: pa.Table, sequence: tuple[str, ...]) -> Mask:
    """Rows that have a value in one of these fields at least."""
    found = np.zeros(len(rows), dtype=bool)
    for name in sequence:
        found |= rows[name].is_valid().to_numpy()
    return found
