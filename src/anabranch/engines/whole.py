"""Which records are *whole*: such a record is its key's row, whatever the key's older records say.

Plain partial-update keeps the last value of each field that is not NULL, so an add without NULLs leaves nothing to
older records: not to set rows, deletes and tombstones either, since it comes after them. A `sequence.field` may put a
newer record before an older one, and sequence groups may leave a record's fields aside: there no record is whole by its
values alone. Null counts of a part tell for all of its records at once, and nothing is read for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.engines.spec import EngineSpec


def is_plain(spec: EngineSpec) -> bool:
    """Whether fields are independent of each other, and follow the order of arrival."""
    return spec.engine == "partial-update" and not spec.groups and not spec.sequence


def is_whole(spec: EngineSpec, nulls: Mapping[str, int | None], *, kinds: bool) -> bool:
    """Whether records with so many NULLs in each field (None: unknown), all adds unless `kinds`, are whole."""
    return is_plain(spec) and not kinds and all(nulls.get(name) == 0 for name in spec.fields)
