"""Conflicts that a user settles row by row: `resolutions={"d.t": rows}`.

A row carries `_row_id`, the id that its conflict shows, and every column of the merged table, with every field inside,
as it shall be after the merge. `_kind` = '-D' says instead that the row shall be gone; without it, or with '+U', it
stays.
Rows that do not conflict are refused, so a resolution never hides a change that the user has not seen as a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.branching.row_merge import Contest
from anabranch.branching.settle import GIVEN, same_rows
from anabranch.errors import ColumnMismatch, DataError, NeedsSpark, Refused, TypeMismatch, quoted
from anabranch.execution.incoming import arrow_table, is_spark_frame
from anabranch.execution.reader import ROW_ID
from anabranch.execution.shape import by_name
from anabranch.model.names import fold
from anabranch.model.schema import Schema
from anabranch.model.types import Array, DataType, Map, Struct

KIND = "_kind"
GONE, STAYS = "-D", "+U"


@dataclass(frozen=True)
class Given:
    """The rows of one table as the user handed them over; their columns are checked once the merged ones are known."""

    table: str
    data: Any

    @staticmethod
    def of(table: str, data: Any) -> Given:
        """Data that can be read more than once: a merge whose target moved is planned again."""
        if is_spark_frame(data):
            return Given(table, data.toArrow())
        if isinstance(data, Mapping):
            return Given(table, dict(data))
        if (
            isinstance(data, Iterable)
            and not hasattr(data, "__arrow_c_stream__")
            and not isinstance(data, (str, bytes))
        ):
            rows = list(data)
            if all(isinstance(row, Mapping) for row in rows):
                return Given(table, rows)
        return Given(table, arrow_table(data))


@dataclass
class Resolution:
    """`ids`: one for each row; `gone`: those that shall not be there; `rows`: the values of all others."""

    table: str
    ids: np.ndarray
    gone: np.ndarray
    rows: pa.Table
    _used: set[int] = field(default_factory=set)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The place of each id among the resolutions; -1: it has none."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        order = np.argsort(self.ids)
        at = order[np.minimum(np.searchsorted(self.ids[order], ids), len(order) - 1)]
        found: np.ndarray = np.where(self.ids[at] == ids, at, -1)
        return found

    def choices(self, contest: Contest, ours: pa.Table, theirs: pa.Table, otherwise: str) -> np.ndarray:
        """For every contested row the side whose version is what the user wants, or GIVEN; `otherwise` without a word.

        `ours` and `theirs` hold the contest's versions in its order, a row of NULLs where one is gone. Versions that
        lack a column, because the merged type does not hold it, are never what the user wants.
        """
        at = self.find(contest.base)
        told = at >= 0
        if not told.any():
            return np.full(len(at), otherwise, "<U6")
        gone = told & self.gone[at]
        wanted = self.rows.take(pa.array(at, mask=~told))
        made = np.where(told, GIVEN, otherwise).astype("<U6")
        for side, versions, ids in (("theirs", theirs, contest.theirs), ("ours", ours, contest.ours)):
            same = versions.column_names == wanted.column_names and same_rows(wanted, versions)
            alike = np.where(gone, ids < 0, (ids >= 0) & same)
            made[told & alike] = side
        return made

    def values(self, ids: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """The rows to write for these ids, all of which are resolved, and the ids without those that shall be gone."""
        at = self.find(ids)
        staying = ~self.gone[at]
        return self.rows.take(pa.array(at[staying])), ids[staying]

    def ends(self, ids: np.ndarray) -> np.ndarray:
        """Which of these ids shall be gone."""
        at = self.find(ids)
        return (at >= 0) & self.gone[at] if len(self.gone) else at >= 0

    def use(self, ids: np.ndarray) -> None:
        """These conflict: resolutions of them are in their place."""
        self._used.update(ids.tolist())

    def refuse_others(self) -> None:
        """Raises if a row was resolved that does not conflict."""
        idle = [id for id in self.ids.tolist() if id not in self._used]
        if idle:
            raise _no_conflict(self.table, idle)


def rows_of(given: Given, schema: Schema) -> pa.Table:
    """The rows under the names that the user gave them; what a dict lacks, or one inside it, would become NULL, and is
    refused instead."""
    for row in _dicts(given.data):
        names = {fold(str(name)): value for name, value in row.items()}
        if names.get(KIND) == GONE:
            continue
        missing = [column.label for column in schema.columns if fold(column.label) not in names]
        structs = [s for c in schema.columns for s in _structs(names.get(fold(c.label)), c.type, c.label)]
        for path, struct, value in structs:
            labels = {field.label: f"{path}.{field.label}" for field in struct.fields}
            extra = [f"{path}.{name}" for name in value if name not in labels]
            if extra:
                raise ColumnMismatch(given.table, (), extra, labels.values())
            missing += [inner for label, inner in labels.items() if label not in value]
        if missing:
            raise incomplete(given.table, list(dict.fromkeys(missing)), names.get(ROW_ID))
    return arrow_table(given.data, schema)


def _dicts(data: Any) -> Iterable[Mapping[Any, Any]]:
    """Rows of plain Python values; none if the data is Arrow's, whose types say which fields there are."""
    if isinstance(data, Mapping) and all(isinstance(values, (list, tuple)) for values in data.values()):
        return (dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=False))
    return data if isinstance(data, list) else ()


def _structs(value: Any, type_: DataType, path: str) -> Iterator[tuple[str, Struct, Mapping[Any, Any]]]:
    """The dicts in a value that are structs, with their paths; what is no value of its type is found out later."""
    if isinstance(type_, Struct) and isinstance(value, Mapping):
        yield path, type_, value
        for field in type_.fields:
            yield from _structs(value.get(field.label), field.type, f"{path}.{field.label}")
    elif isinstance(type_, Array) and isinstance(value, (list, tuple)):
        for one in value:
            yield from _structs(one, type_.element, f"{path}.element")
    elif isinstance(type_, Map) and isinstance(value, (list, tuple, Mapping)):
        for pair in value.items() if isinstance(value, Mapping) else value:
            if isinstance(pair, (list, tuple)) and len(pair) == 2:
                yield from _structs(pair[0], type_.key, f"{path}.key")
                yield from _structs(pair[1], type_.value, f"{path}.value")


def resolution(given: Given, schema: Schema) -> Resolution:
    """The rows as rows of the merged table, or an error that says what is wrong with them."""
    data = rows_of(given, schema)
    places = _places(given.table, schema, data.column_names)
    ids = _ids(given.table, data, places.get(ROW_ID))
    gone = _gone(given.table, data, places.get(KIND))
    missing = [column.label for column in schema.columns if fold(column.label) not in places]
    if missing and not gone.all():
        raise incomplete(given.table, missing)
    labels = [name for name in data.column_names if fold(name) not in (ROW_ID, KIND)]
    try:
        shape = by_name(given.table, schema, schema.labels if missing else labels)
        staying = data.select(labels).filter(pa.array(~gone))
        rows = shape.apply(_nothing(schema) if missing else staying)
    except NeedsSpark as error:
        raise DataError(f"{error} Cast the resolutions of '{given.table}' first.") from error
    order = np.cumsum(~gone) - 1
    return Resolution(given.table, ids, gone, rows.take(pa.array(order, mask=gone)))


def refuse_idle(resolutions: Mapping[str, Given], settled: Iterable[str]) -> None:
    """Raises if a table was resolved in which no row conflicts; `settled`: the tables in which some do."""
    for table_id in resolutions.keys() - set(settled):
        raise _no_conflict(resolutions[table_id].table)


def _no_conflict(table: str, ids: Sequence[int] = ()) -> Refused:
    rows = f"row {ids[0]} of table '{table}' does" if ids else f"rows of table '{table}' do"
    more = f", nor do {len(ids) - 1:,} others" if len(ids) > 1 else ""
    return Refused(
        f"{rows} not conflict{more}: resolutions are for the rows that SHOW CONFLICTS lists WITH (detect = 'row' or "
        "'cell'). Nothing was changed."
    )


def incomplete(table: str, missing: Sequence[str], row: object = None) -> DataError:
    """For rows that do not say all that they shall be; `row`: the id of the only one."""
    which = "the resolutions" if row is None else f"the resolution of row {row}"
    return DataError(
        f"{which} of table '{table}' must say every column: {', '.join(map(quoted, missing))} "
        f"{'is' if len(missing) == 1 else 'are'} missing. To delete a row give {KIND} = '{GONE}'."
    )


def _places(table: str, schema: Schema, names: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if fold(name) in places:
            raise DataError(f"the resolutions of table '{table}' have the column '{name}' twice.")
        places[fold(name)] = place
    extra = [name for name in names if fold(name) not in (ROW_ID, KIND) and schema.find(name) is None]
    if extra:
        raise ColumnMismatch(table, (), extra, schema.labels)
    return places


def _ids(table: str, data: pa.Table, place: int | None) -> np.ndarray:
    if not data.num_rows:
        return np.empty(0, np.int64)
    if place is None:
        raise DataError(
            f"the resolutions of table '{table}' need {ROW_ID}: SHOW CONFLICTS tells it as the conflict's row."
        )
    column = data.column(place)
    if column.null_count:
        raise DataError(f"a resolution of table '{table}' has no {ROW_ID}: SHOW CONFLICTS tells it as the row.")
    if not pa.types.is_integer(column.type):
        raise TypeMismatch(ROW_ID, column.type, "bigint")
    ids: np.ndarray = column.cast(pa.int64()).to_numpy()
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) < len(ids):
        raise DataError(f"row {unique[counts > 1][0]} of table '{table}' is resolved twice.")
    return ids


def _gone(table: str, data: pa.Table, place: int | None) -> np.ndarray:
    if place is None:
        return np.zeros(data.num_rows, bool)
    kinds = data.column(place)
    odd = [kind for kind in kinds.unique().to_pylist() if kind not in (None, GONE, STAYS)]
    if odd:
        raise DataError(
            f"{KIND} of a resolution of table '{table}' is '{odd[0]}': it is '{GONE}' for a row that shall be gone, "
            f"else '{STAYS}' or nothing."
        )
    if pa.types.is_null(kinds.type):
        return np.zeros(data.num_rows, bool)
    found: np.ndarray = np.asarray(pc.fill_null(pc.equal(kinds, GONE), False).to_numpy(), dtype=bool)
    return found


def _nothing(schema: Schema) -> pa.Table:
    return pa.table([pa.nulls(0)] * len(schema.columns), names=list(schema.labels))
