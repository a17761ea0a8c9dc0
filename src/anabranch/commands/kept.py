"""What a merge leaves as ours has it, while theirs has it otherwise: whoever merges this later must know.

Merges look at the objects that commits tell of. Where a resolution kept theirs' change out nothing of ours changed, and
after a criss-cross nothing may have changed since any of the bases; so the commit tells that these objects differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from anabranch.commands.merge_plan import Points
from anabranch.commands.merge_reads import History
from anabranch.model.history import Position
from anabranch.model.records import ROW_CLASSES, Change, DatabaseRecord, TableRecord

_Records = Callable[[Position, Sequence[str]], Mapping[str, DatabaseRecord | TableRecord]]


def kept(history: History, at: Points, changes: Iterable[Change]) -> list[Change]:
    """`changes`: what the merge does. With one base only records can be kept (of rows ours has changed those that it
    keeps, and tells so)."""
    told = {change.object_id for change in changes if change.operation not in ROW_CLASSES}
    (databases, tables), (its_databases, its_tables) = history.touched(at.theirs), history.touched(at.ours)
    if len(at.bases) > 1:
        databases, tables = [*databases, *its_databases], [*tables, *its_tables]
    else:
        reshaped = history.reshaped(at.theirs)
        databases, tables = ([id for id in ids if id in reshaped] for ids in (databases, tables))
    catalog = history.catalog
    of_databases = _apart([id for id in databases if id not in told], at, catalog.databases_by_id)
    of_tables = _apart([id for id in tables if id not in told], at, catalog.tables_by_id)
    return [
        *(Change("database", id, "kept") for id in of_databases),
        *(Change("table", id, "kept") for id in of_tables),
    ]


def _apart(ids: Sequence[str], at: Points, read: _Records) -> Iterator[str]:
    """Those that ours or theirs shows: what neither has is nothing to both. With one base their records differ."""
    if not ids:
        return
    ours, theirs = read(at.ours, ids), read(at.theirs, ids)
    for id in dict.fromkeys(ids):
        mine, its = ours.get(id), theirs.get(id)
        shown = any(record is not None and not record.dropped for record in (mine, its))
        if shown and (len(at.bases) > 1 or mine != its):
            yield id
