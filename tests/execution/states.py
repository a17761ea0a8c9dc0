"""Every kind of state that a table can be in, each built by one function on a table of its own.

A builder takes the lake and the table's name, and gives the text that a query reads it by, or None: the table itself.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.model import types
from anabranch.storage import parquet

if TYPE_CHECKING:
    from anabranch.lake import Lake

UTC = dt.timezone.utc
NAN, INF = float("nan"), float("inf")
Builder = Callable[["Lake", str], "str | None"]
STATES: dict[str, Builder] = {}


def state(build: Builder) -> Builder:
    STATES[build.__name__] = build
    return build


def build_all(lake: Lake, row_group: int = 64) -> dict[str, str]:
    """State -> what a query reads it by. Small row groups, so that parts have several."""
    lake.create_database("d")
    before, parquet.ROW_GROUP = parquet.ROW_GROUP, row_group
    try:
        return {name: build(lake, f"d.{name}") or f"d.{name}" for name, build in STATES.items()}
    finally:
        parquet.ROW_GROUP = before


def numbers(first: int, count: int) -> pa.Table:
    """Rows with an id, a text and a double, each with some NULLs."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"text {i}" for i in ids]),
            "x": pa.array([None if i % 5 == 0 else NAN if i % 11 == 0 else i / 3 for i in ids], pa.float64()),
        }
    )


def numbered(lake: Lake, name: str, *sizes: int) -> None:
    """A table of `numbers`, one part for each size."""
    table = lake.create_table(name, "id BIGINT, s STRING, x DOUBLE")
    first = 0
    for size in sizes:
        table.write(numbers(first, size))
        first += size


# --- rows -------------------------------------------------------------------------------------------------------------


@state
def fresh(lake: Lake, name: str) -> None:
    numbered(lake, name, 300, 1, 64, 65)


@state
def empty(lake: Lake, name: str) -> None:
    numbered(lake, name)


@state
def empty_of_all_types(lake: Lake, name: str) -> None:
    lake.create_table(name, {f"c{place}": type_ for place, type_ in enumerate(EXTREMES)})


@state
def few_dead(lake: Lake, name: str) -> None:
    numbered(lake, name, 300, 200)
    lake.table(name).delete("id IN (0, 63, 64, 127, 128, 299)")


@state
def many_dead(lake: Lake, name: str) -> None:
    numbered(lake, name, 300, 200)
    lake.table(name).delete("id % 5 > 0")
    lake.table(name).delete("id BETWEEN 100 AND 250")


@state
def all_dead(lake: Lake, name: str) -> None:
    numbered(lake, name, 130, 70)
    lake.table(name).delete()


@state
def one_part_dead(lake: Lake, name: str) -> None:
    numbered(lake, name, 130, 70)
    lake.table(name).delete("id >= 130")


@state
def overwritten(lake: Lake, name: str) -> None:
    numbered(lake, name, 130)
    lake.table(name).delete("id = 3")
    lake.table(name).overwrite(numbers(1000, 90))


@state
def updated(lake: Lake, name: str) -> None:
    numbered(lake, name, 300)
    table = lake.table(name)
    table.update({"s": "concat(s, '!')"}, "id % 3 = 0")
    table.update({"x": "x + 1", "id": "id + 1000"}, "id % 4 = 0")
    table.delete("id % 10 = 0")


@state
def truncated(lake: Lake, name: str) -> None:
    numbered(lake, name, 100)
    lake.table(name).truncate()


@state
def rewritten(lake: Lake, name: str) -> None:
    numbered(lake, name, 300, 1, 200)
    table = lake.table(name)
    table.update({"s": "concat(s, '!')"}, "id % 3 = 0")
    table.delete("id % 10 = 0")
    lake.optimize(name)


@state
def rewritten_then_changed(lake: Lake, name: str) -> None:
    """Rows that died in the rewritten part stand elsewhere than their ids say; a second rewrite takes it in."""
    rewritten(lake, name)
    lake.table(name).delete("id IN (1, 2, 299, 301, 500) OR id % 7 = 0")
    lake.table(name).update({"x": "x + 1"}, "id % 4 = 1")
    lake.table(name).write(numbers(1000, 40))
    lake.optimize(name)
    lake.table(name).delete("id % 9 = 0")


@state
def mixed(lake: Lake, name: str) -> None:
    """Parts of very different sizes, some with dead rows: see MIXED in the test."""
    numbered(lake, name, 2000, 3, 1500, 2, 5)
    lake.table(name).delete("id IN (1, 65, 1999, 2001, 3506)")


# --- versions and branches --------------------------------------------------------------------------------------------


@state
def time_travel(lake: Lake, name: str) -> str:
    numbered(lake, name, 100, 50)
    table = lake.table(name)
    table.delete("id < 20")
    version = table.version
    table.delete("id < 40")
    table.drop_column("s")
    table.write({"id": [1], "x": [2.0]})
    return f"{name} VERSION AS OF {version}"


@state
def time_travel_schema(lake: Lake, name: str) -> str:
    """Before a column was renamed and another one took its name."""
    numbered(lake, name, 40)
    version = lake.version
    lake.table(name).rename_column("s", "old")
    lake.table(name).add_column("s", "INT", default="7")
    lake.table(name).update({"s": "8"})
    return f"{name} VERSION AS OF {version}"


@state
def deep_branch(lake: Lake, name: str) -> str:
    numbered(lake, name, 70)
    on = lake
    for level in range(10):
        on = on.create_branch(f"level{level}")
        table = on.table(name)
        table.write(numbers(1000 * (level + 1), 20))
        table.delete(f"id % 10 = {level}")
    lake.table(name).delete()
    return f"{name}@level9"


@state
def restored(lake: Lake, name: str) -> None:
    numbered(lake, name, 100, 50)
    lake.table(name).delete("id % 2 = 0")
    version = lake.version
    lake.table(name).delete("id > 50")
    lake.table(name).write(numbers(500, 10))
    lake.table(name).add_column("more", "INT", default="1")
    lake.restore(version, table=name)
    lake.table(name).delete("id = 77")


# --- schemas ----------------------------------------------------------------------------------------------------------


def add_columns(lake: Lake, name: str, columns: dict[str, str]) -> None:
    numbered(lake, name, 70)
    for label, rest in columns.items():
        lake.sql(f"ALTER TABLE {name} ADD COLUMN {label} {rest}")
    lake.table(name).write(numbers(100, 5))


@state
def added_columns(lake: Lake, name: str) -> None:
    defaults = {
        "b": "BOOLEAN DEFAULT true", "i1": "TINYINT DEFAULT -128", "i2": "SMALLINT DEFAULT -32768",
        "i": "INT DEFAULT -2147483648", "l": "BIGINT DEFAULT -9223372036854775808", "f": "FLOAT DEFAULT 0.1",
        "fn": "FLOAT DEFAULT CAST('NaN' AS FLOAT)", "e": "DOUBLE DEFAULT 1e300",
        "en": "DOUBLE DEFAULT CAST('-Infinity' AS DOUBLE)", "n": "DECIMAL(38,10) DEFAULT -123.4567890123",
        "n5": "DECIMAL(5,2) DEFAULT 1.5", "t": "STRING DEFAULT 'it''s \"so\" {x} é 日本\n'", "t0": "STRING DEFAULT ''",
        "day": "DATE DEFAULT DATE '1582-10-15'", "ts": "TIMESTAMP DEFAULT TIMESTAMP '1900-01-01 00:00:00.123456Z'",
        "ntz": "TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'", "nul": "INT",
    }  # fmt: skip
    add_columns(lake, name, defaults)
    lake.sql(f"ALTER TABLE {name} ALTER COLUMN i SET DEFAULT 5")
    lake.sql(f"ALTER TABLE {name} ALTER COLUMN l DROP DEFAULT")
    lake.table(name).write(numbers(200, 5))
    lake.table(name).delete("id = 3")


@state
def added_nested_columns(lake: Lake, name: str) -> None:
    defaults = {
        "bin": "BINARY DEFAULT X'00FF'", "a": "ARRAY<INT> DEFAULT array(1, 2)", "a0": "ARRAY<STRING> DEFAULT array()",
        "an": "ARRAY<INT> DEFAULT array(1, NULL)", "m": "MAP<STRING,INT> DEFAULT map('a', 1)",
        "m0": "MAP<STRING,INT> DEFAULT map()",
        "st": "STRUCT<a: INT, b: STRING> DEFAULT named_struct('a', 1, 'b', NULL)",
    }  # fmt: skip
    add_columns(lake, name, defaults)
    lake.table(name).delete("id IN (3, 101)")


@state
def renamed(lake: Lake, name: str) -> None:
    numbered(lake, name, 70)
    table = lake.table(name)
    table.rename_column("s", "t")
    table.rename_column("x", "s")
    table.rename_column("t", "x")
    table.write({"id": [1000], "s": [1.5], "x": ["swapped"]})


@state
def dropped_and_added_again(lake: Lake, name: str) -> None:
    numbered(lake, name, 70)
    table = lake.table(name)
    table.drop_column("s")
    table.add_column("s", "STRING", default="'new'")
    table.write(numbers(100, 20))
    table.drop_column("s")
    table.add_column("S", "BIGINT", first=True)
    table.write({"id": [5], "S": [2**63 - 1]})
    table.delete("id = 6")


@state
def reordered(lake: Lake, name: str) -> None:
    numbered(lake, name, 70)
    lake.sql(f"ALTER TABLE {name} ALTER COLUMN x FIRST")
    lake.table(name).write(numbers(100, 20))
    lake.sql(f"ALTER TABLE {name} ALTER COLUMN id AFTER s")
    lake.table(name).delete("id = 101")


WIDENINGS = [
    *[(a, b) for a, b in [("tinyint", "smallint"), ("tinyint", "int"), ("tinyint", "bigint")]],
    *[(a, b) for a, b in [("smallint", "int"), ("smallint", "bigint"), ("int", "bigint")]],
    *[(a, "double") for a in ("tinyint", "smallint", "int", "float")],
    *[(a, f"decimal({p},{s})") for a in ("tinyint", "smallint", "int") for p, s in ((10, 0), (12, 2), (38, 28))],
    ("bigint", "decimal(20,0)"),
    ("bigint", "decimal(38,18)"),
    ("decimal(5,2)", "decimal(7,2)"),
    ("decimal(5,2)", "decimal(12,4)"),
    ("decimal(10,2)", "decimal(20,2)"),
    ("decimal(18,4)", "decimal(38,4)"),
    ("decimal(20,0)", "decimal(38,10)"),
    ("date", "timestamp_ntz"),
    ("array<int>", "array<bigint>"),
    ("map<string,float>", "map<string,double>"),
    ("struct<a:int,b:date>", "struct<a:bigint,b:timestamp_ntz>"),
]
EXTREMES: dict[str, list[object]] = {
    "tinyint": [-128, 127, 0],
    "smallint": [-(2**15), 2**15 - 1, 0],
    "int": [-(2**31), 2**31 - 1, 0],
    "bigint": [-(2**63), 2**63 - 1, 0],
    "float": [NAN, INF, -INF, -0.0, 0.0, 1.1, 3.4028234663852886e38, 1e-45],
    "double": [NAN, INF, -INF, -0.0, 0.0, 0.1, 1.7976931348623157e308, 5e-324],
    "decimal(5,2)": [Decimal("999.99"), Decimal("-999.99"), Decimal("0.00")],
    "decimal(10,2)": [Decimal("99999999.99"), Decimal("-99999999.99"), Decimal("0.01")],
    "decimal(18,4)": [Decimal("99999999999999.9999"), Decimal("-99999999999999.9999")],
    "decimal(20,0)": [Decimal(10**20 - 1), Decimal(1 - 10**20)],
    "decimal(38,10)": [Decimal(f"{sign}{'9' * 28}.{'9' * 10}") for sign in ("", "-")],
    "string": ["", "é", "日本 😀", "\uffff", "a" * 300, "\t\n'\"`\\", "\x00"],
    "binary": [b"", b"\x00\xff", b"x" * 300],
    "boolean": [True, False],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 4), dt.date(1582, 10, 15),
             dt.date(1969, 12, 31)],
    "timestamp": [
        dt.datetime(1, 1, 1, tzinfo=UTC),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(1582, 10, 4, 1, 2, 3, 4, UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    ],
    "timestamp_ntz": [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1582, 10, 4, 1, 2, 3, 4),
        dt.datetime(2021, 3, 28, 2, 30),
    ],
    "array<int>": [[], [1, None, -(2**31)], [None]],
    "array<array<string>>": [[], [[], None, ["a", None]]],
    "map<string,float>": [[], [("a", 1.5), ("b", None), ("é", NAN)]],
    "map<int,struct<p:string,q:array<double>>>": [[], [(1, {"p": "x", "q": [NAN, None]}), (2, None)]],
    "struct<a:int,b:date>": [{"a": None, "b": None}, {"a": 1, "b": dt.date(2020, 2, 29)}],
    "struct<a:struct<b:struct<c:decimal(38,10)>>,d:timestamp>": [
        {"a": None, "d": None},
        {"a": {"b": None}, "d": dt.datetime(2020, 1, 1, tzinfo=UTC)},
        {"a": {"b": {"c": Decimal("1.0000000001")}}, "d": None},
    ],
    "array<struct<k:int,v:map<string,bigint>>>": [
        [], [None, {"k": 1, "v": [("z", 2**63 - 1)]}, {"k": None, "v": None}],
    ],
}  # fmt: skip


def arrow_column(type_text: str) -> pa.Array:
    from anabranch.storage.arrow_types import to_arrow

    return pa.array([None, *EXTREMES[type_text], None], to_arrow(types.parse_type(type_text)))


def padded(arrays: dict[str, pa.Array]) -> pa.Table:
    """Columns of one length; the shorter ones end in NULLs."""
    length = max(map(len, arrays.values()))
    return pa.table({k: pa.concat_arrays([a, pa.nulls(length - len(a), a.type)]) for k, a in arrays.items()})


@state
def widened(lake: Lake, name: str) -> None:
    labels = [f"c{place}" for place in range(len(WIDENINGS))]
    table = lake.create_table(name, {label: old for label, (old, _) in zip(labels, WIDENINGS, strict=True)})
    table.write(padded({label: arrow_column(old) for label, (old, _) in zip(labels, WIDENINGS, strict=True)}))
    for label, (_, new) in zip(labels, WIDENINGS, strict=True):
        table.alter_column(label, type=new)
    table.write(table.to_arrow().slice(1, 3))


@state
def widened_in_steps(lake: Lake, name: str) -> None:
    table = lake.create_table(name, "a TINYINT, b INT, c DECIMAL(5,2)")
    for step in ({"a": "SMALLINT", "b": "BIGINT", "c": "DECIMAL(10,2)"}, {"a": "INT", "c": "DECIMAL(20,4)"}, {}):
        table.write({"a": [127, None], "b": [-5, 2**31 - 1], "c": [Decimal("1.25"), None]})
        for label, new in step.items():
            table.alter_column(label, type=new)
    table.write({"a": [2**31 - 1], "b": [2**63 - 1], "c": [Decimal("9999999999999999.9999")]})


@state
def all_types(lake: Lake, name: str) -> None:
    labels = {f"c{place}": type_ for place, type_ in enumerate(EXTREMES)}
    table = lake.create_table(name, labels)
    table.write(padded({label: arrow_column(type_) for label, type_ in labels.items()}))
    table.write(padded({label: arrow_column(type_) for label, type_ in labels.items()}))
    table.update({"c0": "CAST(1 AS TINYINT)"}, "c11 = 'é'")


@state
def nested_evolution(lake: Lake, name: str) -> None:
    table = lake.create_table(
        name,
        "id INT, p STRUCT<name: STRING, pos: STRUCT<x: INT, y: INT>>, "
        "many ARRAY<STRUCT<k: INT, v: STRING>>, m MAP<STRING, STRUCT<a: INT, b: INT>>",
    )

    def write(first: int) -> None:
        schema = table.schema
        made = [
            _made(field.type, random.Random(f"{first} {row} {field.name}")) for row in range(20) for field in schema
        ]
        width = len(schema)
        table.write(pa.table([pa.array(made[i::width], f.type) for i, f in enumerate(schema)], schema=schema))

    write(0)
    for change in (
        "ADD COLUMN p.age BIGINT", "RENAME COLUMN p.name TO label", "DROP COLUMN p.pos.x", "ADD COLUMN p.pos.x DOUBLE",
        "ALTER COLUMN p.pos.y TYPE BIGINT", "ADD COLUMN many.element.w DATE", "RENAME COLUMN many.element.k TO v2",
        "DROP COLUMN m.value.a", "RENAME COLUMN m.value.b TO a", "ADD COLUMN m.value.c INT", "ALTER COLUMN p.age FIRST",
    ):  # fmt: skip
        lake.sql(f"ALTER TABLE {name} {change}")
        write(1)
    table.delete("id IS NULL")


@state
def nested_names_trade_places(lake: Lake, name: str) -> None:
    """Fields that take the names of others, so that the type looks as before."""
    table = lake.create_table(name, "id INT, s STRUCT<a: INT, b: INT>, l ARRAY<STRUCT<a: INT, b: INT>>")
    table.write({"id": [1], "s": [{"a": 1, "b": 2}], "l": [[{"a": 1, "b": 2}]]})
    for change in (
        "DROP COLUMN s.a", "RENAME COLUMN s.b TO a", "ADD COLUMN s.b INT",
        "RENAME COLUMN l.element.a TO t", "RENAME COLUMN l.element.b TO a", "RENAME COLUMN l.element.t TO b",
        "ALTER COLUMN l.element.a FIRST",
    ):  # fmt: skip
        lake.sql(f"ALTER TABLE {name} {change}")
    table.write({"id": [2], "s": [{"a": 3, "b": 4}], "l": [[{"a": 3, "b": 4}]]})


def _made(kind: pa.DataType, rng: random.Random) -> object:
    if rng.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _made(field.type, rng) for field in kind}
    if pa.types.is_map(kind):
        return [(key, _made(kind.item_type, rng)) for key in "abc"[: rng.randrange(4)]]
    if pa.types.is_list(kind):
        return [_made(kind.value_type, rng) for _ in range(rng.randrange(4))]
    if pa.types.is_date(kind):
        return dt.date(2020, 1, 1) + dt.timedelta(rng.randrange(1000))
    return rng.choice("xyzé") if kind == pa.string() else rng.randrange(-1000, 1000)


# --- partitions and names ---------------------------------------------------------------------------------------------


@state
def partitioned(lake: Lake, name: str) -> None:
    lake.sql(f"CREATE TABLE {name} (id INT, day DATE, kind STRING, v DOUBLE) PARTITIONED BY (day, kind)")
    days = [None, dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(1, 1, 1)]
    kinds = [None, "", "a/b=c", "é {x} %", "slot=1"]
    for first in (0, 100):
        ids = range(first, first + 60)
        columns = {"id": list(ids), "day": [days[i % 4] for i in ids], "kind": [kinds[i % 5] for i in ids]}
        lake.table(name).write(columns | {"v": [i / 7 for i in ids]})
    lake.sql(f"INSERT OVERWRITE {name} PARTITION (day = DATE '2024-01-01', kind = '') VALUES (999, 1.5)")
    lake.table(name).delete("kind IS NULL AND id > 100")
    lake.table(name).update({"kind": "'moved'"}, "id % 9 = 0")
    lake.sql(f"ALTER TABLE {name} DROP PARTITION (day = DATE '0001-01-01', kind = 'a/b=c')")


@state
def partitioned_evolved(lake: Lake, name: str) -> None:
    lake.sql(f"CREATE TABLE {name} (slot INT, part INT, v INT) PARTITIONED BY (part)")
    table = lake.table(name)
    table.write({"slot": [1, 2, 3], "part": [1, 1, None], "v": [10, 20, 30]})
    table.rename_column("part", "piece")
    table.alter_column("v", type="BIGINT")
    table.write({"slot": [4, 5], "piece": [2, 1], "v": [2**40, None]})
    table.delete("slot = 2")


ODD_NAMES = ["a b", "a.b", "ключ", "slot", "SELECT", "ba`ck", "{brace}", "x;y", "a,b", "(p)", "_position", "_words",
             "日=本", "_slot", "per%cent", "'quote\"", "a=b", "\\back", "id", "#", "😀", "${env:HOME}"]  # fmt: skip


@state
def odd_names(lake: Lake, name: str) -> None:
    table = lake.create_table(name, dict.fromkeys(ODD_NAMES, "INT"))
    table.write({label: [place, None, place * 100] for place, label in enumerate(ODD_NAMES)})
    table.add_column("`new .``col`", "STRUCT<`in ner.x`: INT, `b``q`: STRING>")
    table.write({"a b": [7], "new .`col": [{"in ner.x": 1, "b`q": "z"}]})
    table.rename_column("`a.b`", "c d")
    table.add_column("`a.b`", "INT", default="5")
    table.rename_column("`new .``col`.`in ner.x`", "out.er")
    table.delete("`ключ` = 2")


@state
def odd_table_names(lake: Lake, name: str) -> str:
    odd = name.replace("d.", "d.`o dd.``é {x} ") + "`"
    numbered(lake, odd, 30)
    lake.table(odd).delete("id = 3")
    return odd


@state
def case_of_names(lake: Lake, name: str) -> None:
    """Names that differ from an older one by case alone get another physical name."""
    table = lake.create_table(name, "Value INT, Slot INT")
    table.write({"Value": [1, 2], "Slot": [3, 4]})
    table.drop_column("value")
    table.add_column("VALUE", "STRING", default="'d'")
    table.write({"slot": [5], "value": ["e"]})
    table.delete("slot = 4")


# --- keyed tables -----------------------------------------------------------------------------------------------------


def keyed(lake: Lake, name: str, engine: str, more: str = "", **options: str) -> None:
    """`numbers` by id: a load, and flushes that overlap it and each other."""
    properties = {"merge-engine": engine, "num-sorted-run.compaction-trigger": "50", **options}
    words = ", ".join(f"'{option}' = '{value}'" for option, value in properties.items())
    lake.sql(f"CREATE TABLE {name} (id BIGINT, s STRING, x DOUBLE, PRIMARY KEY (id)) {more} TBLPROPERTIES ({words})")
    flush(lake, name, 0, 300)


def flush(lake: Lake, name: str, first: int, count: int, step: int = 1, **changes: object) -> None:
    """Rows of every `step`-th key, with columns in the place of those that `numbers` gives."""
    rows = numbers(first, count * step).take(pa.array(range(0, count * step, step)))
    for label, value in changes.items():
        kept = pa.repeat(pa.scalar(value, rows.schema.field(label).type), rows.num_rows)
        rows = rows.set_column(rows.schema.get_field_index(label), label, kept)
    lake.table(name).write(rows)


@state
def keyed_deduplicate(lake: Lake, name: str) -> None:
    """Delta runs, tombstones, keys that came back, and parts that meet no other."""
    keyed(lake, name, "deduplicate")
    flush(lake, name, 1000, 70)
    flush(lake, name, 50, 60, step=3, s="upserted")
    lake.table(name).delete("id % 7 = 0 AND id < 400")
    flush(lake, name, 140, 10, step=7, s="came back")
    lake.table(name).update({"x": "-x"}, "id BETWEEN 60 AND 66")


@state
def keyed_with_sequences(lake: Lake, name: str) -> None:
    keyed(lake, name, "deduplicate", **{"sequence.field": "x"})
    flush(lake, name, 0, 100, step=2, x=50.0, s="between")
    flush(lake, name, 0, 100, step=3, x=None, s="oldest")
    lake.sql(f"INSERT INTO {name} (id, x, _kind) VALUES (8, 1e9, '-D'), (9, -1e9, '-D'), (4000, 0.0, '-D')")


@state
def keyed_first_row(lake: Lake, name: str) -> None:
    keyed(lake, name, "first-row")
    flush(lake, name, 200, 200, s="too late for some")
    flush(lake, name, 0, 300, step=2, s="too late for all but a few")


@state
def keyed_partial_update(lake: Lake, name: str) -> None:
    """An overlay of combined rows, set rows and deletes."""
    keyed(lake, name, "partial-update", **{"partial-update.remove-record-on-delete": "true"})
    flush(lake, name, 50, 60, step=3, s=None)
    flush(lake, name, 280, 40, x=None)
    lake.table(name).update({"s": "NULL"}, "id IN (3, 64, 290)")
    lake.table(name).delete("id % 10 = 0 AND id < 100")
    flush(lake, name, 20, 3, step=10, x=0.5)


@state
def keyed_aggregation(lake: Lake, name: str) -> None:
    functions = {"fields.x.aggregate-function": "max", "fields.s.aggregate-function": "listagg"}
    keyed(lake, name, "aggregation", **functions)
    flush(lake, name, 50, 60, step=3)
    flush(lake, name, 40, 70, x=12.5)


@state
def keyed_partitioned(lake: Lake, name: str) -> None:
    lake.sql(f"CREATE TABLE {name} (k STRING, id INT, v INT, PRIMARY KEY (k, id)) PARTITIONED BY (k)")
    for number in range(3):
        ids = range(0, 90, number + 1)
        columns = {"k": ["", "a/b=c", "é {x} %"][number:] * len(ids), "id": list(ids) * (3 - number)}
        lake.table(name).write({**columns, "v": [number] * len(columns["id"])})
    lake.table(name).delete("k = '' AND id % 4 = 1")
    lake.sql(f"TRUNCATE TABLE {name} PARTITION (k = 'a/b=c')")
    lake.table(name).write({"k": ["a/b=c"], "id": [5], "v": [None]})


@state
def keyed_optimized(lake: Lake, name: str) -> None:
    """A rewrite in the place of flushes, and newer ones beside it."""
    keyed_deduplicate(lake, name)
    lake.sql(f"OPTIMIZE {name}")
    flush(lake, name, 290, 20, s="after")
    lake.table(name).delete("id = 1001")


@state
def keyed_overlay_optimized(lake: Lake, name: str) -> None:
    keyed_partial_update(lake, name)
    lake.sql(f"OPTIMIZE {name}")
    flush(lake, name, 290, 20, x=None)


@state
def keyed_evolved(lake: Lake, name: str) -> None:
    """A wider key, a renamed and a new column, and records of before and after."""
    lake.sql(f"CREATE TABLE {name} (id INT, s STRING, v INT, PRIMARY KEY (id)) "
             "TBLPROPERTIES ('merge-engine' = 'partial-update')")  # fmt: skip
    table = lake.table(name)
    table.write({"id": list(range(80)), "s": ["old"] * 80, "v": list(range(80))})
    table.alter_column("id", type="BIGINT")
    table.rename_column("s", "t")
    table.add_column("more", "INT", default="7")
    table.write({"id": [5, 2**40], "t": ["new", None], "v": [None, 1], "more": [None, None]})
    table.alter_column("v", type="BIGINT")
    table.write({"id": [5, 6], "v": [2**40, None], "more": [1, 2]})


@state
def keyed_merged(lake: Lake, name: str) -> str:
    """Decided rows of a merge, read on another branch."""
    keyed(lake, name, "partial-update", **{"partial-update.remove-record-on-delete": "true"})
    at = name.replace(".", "_")
    theirs = lake.create_branch(f"theirs_{at}")
    lake.table(name).update({"s": "'ours'"}, "id < 20")
    theirs.table(name).update({"x": "-1.0"}, "id BETWEEN 10 AND 30")
    theirs.table(name).delete("id = 200")
    flush(theirs, name, 500, 10)
    ours = lake.create_branch(f"ours_{at}")
    ours.merge(f"theirs_{at}")
    return f"{name}@ours_{at}"
