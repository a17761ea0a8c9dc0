"""Statements as the driver takes them.

Every statement of the catalog is written in SQLAlchemy Core. Core renders it once for the database at hand; from then
on only the values differ, and the driver's own cursor runs it. (Core's way of running a statement takes several times
what SQLite needs for it, and a commit or a merge is a dozen of them.)

Lists, for IN, are padded to a power of two by repeating their last item, so that few texts serve any number of them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from sqlalchemy import Dialect, Executable
from sqlalchemy.sql.compiler import SQLCompiler

Values = Mapping[str, Any]


class Prepared:
    """One statement for values of one shape: the text, the order of its parameters, and what a row of it is."""

    def __init__(self, statement: Executable, dialect: Dialect, sample: Values) -> None:
        compiled = cast(SQLCompiler, statement.compile(dialect=dialect, column_keys=list(sample)))  # type: ignore[attr-defined]
        expanded = compiled.construct_expanded_state(sample)
        self.text = expanded.statement
        self._order = list(expanded.positiontup or ())
        self._lists = {name: expanded.parameter_expansion[name] for name in _lists(sample)}
        given = {*sample, *chain.from_iterable(self._lists.values())}
        self._constants = {name: expanded.parameters[name] for name in self._order if name not in given}
        self._processors = [
            (place, expanded.processors[name]) for place, name in enumerate(self._order) if name in expanded.processors
        ]
        columns = list(getattr(statement, "exported_columns", ()))
        row: Any = namedtuple("Row", [column.name for column in columns], rename=True)  # type: ignore[misc]  # no literal
        self._row: Callable[[Iterable[Any]], Any] = row._make
        processors = (column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns)
        self._results = [(place, process) for place, process in enumerate(processors) if process is not None]

    def parameters(self, values: Values) -> list[Any]:
        if self._lists or self._constants:
            values = {**self._constants, **values}
            for name, places in self._lists.items():
                items = values[name]
                flat = chain.from_iterable(items) if isinstance(items[0], tuple) else items
                values.update(zip(places, flat, strict=True))
        found = [values[name] for name in self._order]
        for place, process in self._processors:
            found[place] = process(found[place])
        return found

    def rows(self, raw: Iterable[Sequence[Any]]) -> list[Any]:
        """What the driver gave, with the columns' names and types."""
        if not self._results:
            return list(map(self._row, raw))
        found = []
        for given in raw:
            row = list(given)
            for place, process in self._results:
                row[place] = process(row[place])
            found.append(self._row(row))
        return found


class Statements:
    """The statements of one kind of database, each prepared at its first use."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._prepared: dict[Any, Prepared] = {}
        self._without_lists: dict[Any, Prepared] = {}

    def prepared(self, statement: Executable, values: Values) -> tuple[Prepared, Values]:
        """The statement for these values, and the values with their lists padded."""
        shape: tuple[Any, ...] = tuple(values)
        found = self._without_lists.get((statement, shape))
        if found is not None:
            return found, values
        lists = _lists(values)
        if not lists:
            found = self._without_lists[statement, shape] = Prepared(statement, self._dialect, values)
            return found, values
        values = {**values, **{name: _padded(values[name]) for name in lists}}
        shape += tuple(len(values[name]) for name in lists)
        found = self._prepared.get((statement, shape))
        if found is None:
            found = self._prepared[statement, shape] = Prepared(statement, self._dialect, values)
        return found, values


_BY_DRIVER: dict[tuple[str, str], Statements] = {}


def statements_of(dialect: Dialect) -> Statements:
    """Those that every lake of this process on such a database shares: preparing takes longer than running."""
    return _BY_DRIVER.setdefault((dialect.name, dialect.driver), Statements(dialect))


def _lists(values: Values) -> list[str]:
    return [name for name, value in values.items() if type(value) is list]


def _padded(items: list[Any]) -> list[Any]:
    missing = (1 << (len(items) - 1).bit_length()) - len(items) if items else 0
    return items + items[-1:] * missing
