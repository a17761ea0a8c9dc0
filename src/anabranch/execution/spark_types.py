"""Anabranch types as Spark's, by way of the JSON that Spark itself uses for schemas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import AnabranchError, UnsupportedType
from anabranch.model import types
from anabranch.model.schema import Column
from anabranch.model.types import DataType
from anabranch.storage.arrow_types import canonical, from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SPARK = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


def type_json(type_: DataType) -> Any:
    if isinstance(type_, types.Array):
        return {"type": "array", "elementType": type_json(type_.element), "containsNull": True}
    if isinstance(type_, types.Map):
        key, value = type_json(type_.key), type_json(type_.value)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if isinstance(type_, types.Struct):
        return {"type": "struct", "fields": [_field(f.label, f.type) for f in type_.fields]}
    return _SPARK.get(str(type_), str(type_))


def _field(name: str, type_: DataType, metadata: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": name, "type": type_json(type_), "nullable": True, "metadata": metadata or {}}


def read_schema(columns: Sequence[Column], names: Sequence[str]) -> StructType:
    """What Spark's reader is told: the names in the files, today's types, and defaults of columns that a file lacks."""
    return _struct(
        [_field(name, types.physical_type(c.type), _default(c)) for c, name in zip(columns, names, strict=True)]
    )


def label_schema(columns: Sequence[Column]) -> StructType:
    return _struct([_field(c.label, c.type) for c in columns])


def spark_type(body: Any) -> Any:
    """A type of Spark's from its JSON."""
    return _struct([{"name": "c", "type": body, "nullable": True, "metadata": {}}]).fields[0].dataType


def numbered(frame: DataFrame) -> DataFrame:
    """The frame with its columns named c0, c1 and so on: a query may give two columns one name, or names with dots."""
    return frame.toDF(*[f"c{place}" for place in range(len(frame.columns))])


def brought(frame: DataFrame) -> pa.Table:
    """The frame's rows. PySpark makes no Arrow of a NULL among structs whose fields it takes for NOT NULL, so first
    everything inside columns may be NULL."""
    from pyspark.sql import functions as F

    fields = frame.schema.jsonValue()["fields"]
    columns = [F.col(f"c{place}").cast(spark_type(nullable(field["type"]))) for place, field in enumerate(fields)]
    return numbered(frame).select(*columns).toArrow()


def nullable(body: Any) -> Any:
    """A type of Spark's with NULL allowed everywhere in it."""
    if isinstance(body, list):
        return [{**field, "type": nullable(field["type"]), "nullable": True} for field in body]
    if not isinstance(body, dict):
        return body
    inside = {name: nullable(body[name]) for name in ("elementType", "keyType", "valueType", "fields") if name in body}
    return {**body, **inside, **{name: True for name in ("containsNull", "valueContainsNull") if name in body}}


def arrow_frame(spark: SparkSession, data: pa.Table) -> DataFrame:
    """Rows of this process as a frame of the same types: Spark would take a time without a zone for one of its own."""
    data = data.cast(pa.schema([field.with_type(canonical(field.type)) for field in data.schema]))
    fields = [_field(field.name, from_arrow(field.type, voids=True)) for field in data.schema]
    return spark.createDataFrame(data if data.num_rows else [], schema=_struct(fields))


def _struct(fields: list[dict[str, Any]]) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson({"type": "struct", "fields": fields})


def _default(column: Column) -> dict[str, str]:
    if column.initial_default is None:
        return {}
    return {"EXISTS_DEFAULT": column.initial_default, "CURRENT_DEFAULT": column.initial_default}


_OURS = {spark: ours for ours, spark in _SPARK.items()}


def from_spark(schema: StructType, *, lenient: bool = False) -> list[tuple[str, DataType | None]]:
    """Labels and types of a frame. `lenient`: a column of NULLs has the type None instead of an error, and NULLs inside
    one have none."""
    return [
        (name, None if lenient and body == "void" else _from_json(body, name, voids=lenient))
        for name, body in ((field["name"], field["type"]) for field in schema.jsonValue()["fields"])
    ]


def type_of(body: Any, where: str) -> DataType:
    """A type of Spark's from its JSON; NULLs in it may have none. `where`: the column that an error names.

    Keys are never NULL: where they have no type there are none, and any type is theirs."""
    return _from_json(body, where, voids=True)


def _from_json(body: Any, where: str, *, voids: bool) -> DataType:
    if voids and body == "void":
        return types.VOID
    inner = partial(_from_json, voids=voids)
    if isinstance(body, str):
        try:
            return types.parse_type(_OURS.get(body, body))
        except AnabranchError as error:
            raise UnsupportedType(body, f"column '{where}'") from error
    kind = body["type"]
    if kind == "array":
        return types.Array(inner(body["elementType"], where))
    if kind == "map":
        key = inner(body["keyType"], where)
        return types.Map(types.STRING if key == types.VOID else key, inner(body["valueType"], where))
    if kind == "struct":
        fields = [(f["name"], inner(f["type"], f"{where}.{f['name']}")) for f in body["fields"]]
        return types.Struct(tuple(types.StructField(name, type_, name) for name, type_ in fields))
    raise UnsupportedType(kind, f"column '{where}'")
