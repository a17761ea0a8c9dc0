"""What a statement that is not a SELECT gives: a small table that quacks like a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.drawn import drawn, rendered, shown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Record(tuple[Any, ...]):
    """A row whose values also go by name: `row["version"]`, `row.version`."""

    _names: tuple[str, ...]

    @staticmethod
    def of(names: Sequence[str], values: Iterable[Any]) -> Record:
        made = Record(values)
        made._names = tuple(names)
        return made

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(name)
        return self[name]

    def asDict(self) -> dict[str, Any]:
        return dict(zip(self._names, self, strict=True))

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self._names, self, strict=True))})"


class Result:
    """Columns and rows, in order. It prints as a table."""

    _cell = staticmethod(shown)

    def __init__(self, columns: Sequence[str], rows: Iterable[Iterable[Any]], spark: Any = None) -> None:
        self.columns = list(columns)
        self._rows = [Record.of(self.columns, row) for row in rows]
        self._spark = spark

    def collect(self) -> list[Record]:
        return list(self._rows)

    def count(self) -> int:
        return len(self._rows)

    def first(self) -> Record | None:
        return self._rows[0] if self._rows else None

    def __iter__(self) -> Iterator[Record]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Record:
        return self._rows[place]

    def toArrow(self) -> pa.Table:
        import pyarrow as pa

        columns = list(zip(*self._rows, strict=True)) or [()] * len(self.columns)
        return pa.table([_array(values) for values in columns], names=self.columns)

    def toPandas(self) -> pd.DataFrame:
        return self.toArrow().to_pandas()

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """A Spark DataFrame of the rows; starts Spark if it does not run yet."""
        return (spark or self._spark()).createDataFrame(self.toArrow())

    def show(self, n: int | None = None, truncate: bool = False) -> None:
        from rich.console import Console

        Console().print(rendered(self.columns, self._rows[:n], self._cell))

    def __str__(self) -> str:
        return drawn(self.columns, self._rows, self._cell)

    __repr__ = __str__


def _array(values: Sequence[Any]) -> pa.Array:
    """Values of several kinds, as conflicts have them, become text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = [None if value is None else _text(value) for value in values]
        return pa.array(texts, pa.string())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
