"""A file of resolutions: rows as `anabranch conflicts --json` shows them, back as values."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from anabranch.cli import inputs
from anabranch.cli.exits import Usage
from anabranch.errors import DataError, NotFound
from anabranch.model.types import quote_identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.lake import Lake

Rows = dict[str, list[dict[str, Any]]]


def read(path: str, lake: Lake, theirs: str) -> Rows:
    """Table -> rows. What JSON has no word for (dates, decimals, bytes) is read as the columns of either side say."""
    text = inputs.read(path)
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Usage(f"the resolutions '{path}' are no JSON: look at {place}.") from error
    except ValueError as error:
        raise Usage(f"the resolutions '{path}' are ambiguous: {error}.") from error
    tables = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in tables):
        raise Usage(f"the resolutions '{path}' are no JSON object of tables, each with a list of rows.")
    return {table: _rows(table, rows, _types(lake, theirs, table)) for table, rows in found.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which no key hides another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"'{twice}' is given twice in one object")
    return found


def _types(lake: Lake, theirs: str, table: str) -> dict[str, pa.DataType]:
    from anabranch.sql.declare import table_parts

    table_parts(table, lake.tables)  # refuses what names no table by what was written, without the ref
    found: dict[str, pa.DataType] = {}
    branch, at, version = theirs.partition("@")
    for name in (f"{table}@{quote_identifier(branch)}{at}{version}", table):
        try:
            found |= {field.name.lower(): field.type for field in lake.table(name).schema}
        except NotFound:
            continue  # the merge says so if neither side has it
    return found


def _rows(table: str, rows: list[dict[str, Any]], types: Mapping[str, pa.DataType]) -> list[dict[str, Any]]:
    def cell(name: str, value: Any) -> Any:
        try:
            return _value(value, types.get(name.lower()))
        except (ValueError, ArithmeticError, TypeError) as error:
            raise DataError(
                f"the resolutions of table '{table}' have a wrong '{name}': {value!r} ({error})."
            ) from error

    return [{name: cell(name, value) for name, value in row.items()} for row in rows]


def _value(value: Any, type_: pa.DataType | None) -> Any:
    """The inverse of `output.plain`."""
    import pyarrow as pa

    if value is None or type_ is None:
        return value
    if pa.types.is_list(type_) and isinstance(value, list):
        return [_value(item, type_.value_type) for item in value]
    if pa.types.is_struct(type_) and isinstance(value, dict):
        known = {field.name: field.type for field in type_}
        return {name: _value(item, known.get(name)) for name, item in value.items()}
    if pa.types.is_map(type_) and isinstance(value, list):
        return [(_value(key, type_.key_type), _value(item, type_.item_type)) for key, item in value]
    if isinstance(value, str):
        return _text(value, type_)
    return Decimal(str(value)) if pa.types.is_decimal(type_) else value


def _text(value: str, type_: pa.DataType) -> Any:
    import pyarrow as pa

    if pa.types.is_date(type_):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(value)
    if pa.types.is_decimal(type_):
        return Decimal(value)
    if pa.types.is_binary(type_):
        return base64.b64decode(value, validate=True)
    return float(value) if pa.types.is_floating(type_) else value
