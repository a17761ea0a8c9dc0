"""VALUES without Spark: rows of constant texts as Arrow columns.

Most values are plain literals, read here by a pattern; what is not plain is compiled as an expression. Both give the
same value, and a value that does not fit its column is left to the expression, which has the right error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from anabranch import expressions
from anabranch.errors import DataError
from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.sql.statements import Default, Values
from anabranch.storage.arrow_types import to_arrow

_INTEGER = (re.compile(r"-?[0-9]{1,18}"), int)
_PLAIN: dict[types.DataType, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    types.TINYINT: _INTEGER,
    types.SMALLINT: _INTEGER,
    types.INT: _INTEGER,
    types.BIGINT: _INTEGER,
    types.DOUBLE: (re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?"), float),
    types.STRING: (re.compile(r"'[^'\\]*'"), lambda text: text[1:-1]),
    types.BOOLEAN: (re.compile(r"true|false", re.IGNORECASE), lambda text: text.lower() == "true"),
    types.DATE: (
        re.compile(r"DATE ?'\d{4}-\d\d-\d\d'", re.IGNORECASE | re.ASCII),
        lambda text: date.fromisoformat(text[-11:-1]),
    ),
}


def value_table(table: str, values: Values, targets: Sequence[Column]) -> pa.Table:
    """The rows as a table of the targets' types. Raises NeedsSpark if only Spark can evaluate one of them."""
    for row in values.rows:
        if len(row) != len(targets):
            labels = ", ".join(column.label for column in targets)
            raise DataError(
                f"'{table}' takes {len(targets)} values here ({labels}), but a row of VALUES has {len(row)}."
            )
    columns = [_column([row[place] for row in values.rows], column) for place, column in enumerate(targets)]
    return pa.table(columns, names=[column.label for column in targets])


def _column(texts: Sequence[str | Default], column: Column) -> pa.Array:
    known: dict[str, Any] = {}
    default = column.write_default or "NULL"
    found = []
    for text in texts:
        text = default if isinstance(text, Default) else text
        if text not in known:
            known[text] = _value(text, column)
        found.append(known[text])
    type_ = to_arrow(column.type)
    try:
        return pa.array(found, type_)
    except (pa.ArrowInvalid, OverflowError):
        for text in known:
            _evaluated(text, column)  # one of them does not fit, and this says which
        raise


def _value(text: str, column: Column) -> Any:
    if text.upper() == "NULL":
        return None
    pattern, read = _PLAIN.get(column.type, (None, None))
    if pattern is not None and read is not None and pattern.fullmatch(text):
        try:
            return read(text)
        except ValueError:  # no such day
            pass
    return _evaluated(text, column)


def _evaluated(text: str, column: Column) -> Any:
    value = expressions.constant(expressions.parse_expression(text), to_arrow(column.type), column=column.label)
    return value.as_py()
