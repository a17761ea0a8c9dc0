"""Every type, nested types too, with extreme values: written, read back, and written again as what was read."""

import math
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from anabranch.errors import AnabranchError, DataError, UnsupportedType
from tests.stories.telling import rows, told

UTC = timezone.utc

VALUES = {
    "TINYINT": [-(2**7), 0, 2**7 - 1],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INT": [-(2**31), 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1],
    "FLOAT": [0.0, 1.5, -3.4028234663852886e38, 1.401298464324817e-45, math.inf, -math.inf],
    "DOUBLE": [0.1, 1.7976931348623157e308, 5e-324, math.inf, -math.inf],
    "DECIMAL(1,0)": [Decimal(-9), Decimal(9)],
    "DECIMAL(18,18)": [Decimal("0.999999999999999999")],
    "DECIMAL(38,0)": [Decimal(10**38 - 1), Decimal(-(10**38) + 1)],
    "DECIMAL(38,38)": [Decimal("-0." + "9" * 38)],
    "STRING": ["", "a", "ünïcode \U0001f600", "a\x00b", "x" * 100_000, "NULL", "'; DROP TABLE d.t; --", "\u202e rtl"],
    "BINARY": [b"", b"\x00\xff", bytes(range(256))],
    "BOOLEAN": [True, False],
    "DATE": [date(1, 1, 1), date(1582, 10, 10), date(1970, 1, 1), date(9999, 12, 31)],
    "TIMESTAMP": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
    "TIMESTAMP_NTZ": [datetime(1, 1, 1), datetime(2026, 3, 29, 2, 30), datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "ARRAY<INT>": [[], [None], [1, None, -(2**31)]],
    "ARRAY<ARRAY<STRING>>": [[], [[]], [None], [["a", None], []]],
    "MAP<STRING, INT>": [[], [("k", None)], [("a", 1), ("", 2)]],
    "MAP<INT, ARRAY<DOUBLE>>": [[(1, [0.5, None])]],
    "STRUCT<x: INT, y: STRING>": [{"x": None, "y": None}, {"x": 1, "y": ""}],
    "STRUCT<`a b`: STRUCT<c: ARRAY<STRUCT<d: DATE>>>>": [{"a b": None}, {"a b": {"c": [{"d": date(1, 1, 1)}, None]}}],
    "ARRAY<STRUCT<m: MAP<STRING, STRUCT<z: DECIMAL(10,2)>>>>": [[{"m": [("k", {"z": Decimal("1.25")})]}, {"m": None}]],
}  # fmt: skip


@pytest.mark.parametrize("type_", VALUES)
def test_values_come_back_as_they_were(lake, type_):
    values = [*VALUES[type_], None]
    table = lake.create_table("d.t", f"i INT, v {type_}")
    table.write({"i": range(len(values)), "v": values})
    table.write([{"i": place + len(values), "v": value} for place, value in enumerate(values)])
    found = table.to_arrow()
    assert [row["v"] for row in sorted(found.to_pylist(), key=lambda row: row["i"])] == values * 2
    assert found.schema.field("v").type == table.schema.field("v").type
    # What was read can be written: as Arrow, and into a table made from its schema.
    copy = lake.create_table("d.copy", found.schema)
    assert copy.write(found) == len(values) * 2
    assert copy.to_arrow().equals(found)
    assert [row[1] for row in told(lake, "DESCRIBE d.copy")] == [row[1] for row in told(lake, "DESCRIBE d.t")]
    assert pa.Table.from_batches(table.to_batches()).equals(found)
    assert table.to_arrow(where="v IS NULL").num_rows == 2
    assert table.update({"i": "i + 1000"}, "v IS NULL") == 2
    assert [row["v"] for row in sorted(table.to_arrow().to_pylist(), key=lambda row: row["i"])][-2:] == [None, None]


def test_nan_and_negative_zero_come_back(lake):
    table = lake.create_table("d.t", "f FLOAT, g DOUBLE")
    table.write({"f": [math.nan, -0.0, 1.0], "g": [math.nan, -0.0, 1.0]})
    for name in ("f", "g"):
        nan, zero, _ = table.to_arrow().column(name).to_pylist()
        assert math.isnan(nan)
        assert math.copysign(1, zero) == -1
    # Spark's rules: NaN equals itself and is larger than everything; 0.0 equals -0.0.
    assert table.to_arrow(where="f > 1000").num_rows == 1
    assert table.to_arrow(where="g = CAST('NaN' AS DOUBLE)").num_rows == 1
    assert table.to_arrow(where="g = 0").num_rows == 1
    assert table.delete("g > 0 AND f <> 1.0") == 1


def test_pandas_goes_in_and_out(lake):
    pd = pytest.importorskip("pandas")
    table = lake.create_table("d.t", "a BIGINT, s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, l ARRAY<INT>")
    frame = pd.DataFrame(
        {
            "a": [1, 2],
            "s": ["x", None],
            "d": [date(2026, 1, 1), None],
            "t": pd.to_datetime(["2026-01-01 00:00:00.000001", None], utc=True),
            "n": pd.to_datetime(["2026-01-01 12:00:00", None]),
            "l": [[1, 2], None],
        }
    )
    assert table.write(frame) == 2
    assert rows(lake, "d.t") == [
        (1, "x", date(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1, UTC), datetime(2026, 1, 1, 12), [1, 2]),
        (2, None, None, None, None, None),
    ]
    back = table.to_pandas(columns=["a", "s"], where="a = 1")
    assert back.to_dict("records") == [{"a": 1, "s": "x"}]


def test_polars_goes_in(lake):
    pl = pytest.importorskip("polars")
    table = lake.create_table("d.t", "a BIGINT, s STRING")
    assert table.write(pl.DataFrame({"a": [1], "s": ["x"]})) == 1
    assert table.write(pl.LazyFrame({"a": [2], "s": [None]})) == 1
    assert rows(lake, "d.t") == [(1, "x"), (2, None)]


def test_arrow_data_of_kindred_types_is_assigned(lake):
    """What other libraries hand over for the same values: large strings, dictionaries, other units."""
    table = lake.create_table("d.t", "a BIGINT, s STRING, t TIMESTAMP, l ARRAY<INT>, b BINARY")
    table.write(
        pa.table(
            {
                "a": pa.array([1], pa.int16()),
                "s": pa.array(["x"]).dictionary_encode(),
                "t": pa.array([1_700_000_000], pa.timestamp("s", "UTC")),
                "l": pa.array([[1]], pa.large_list(pa.int32())),
                "b": pa.array([b"q"], pa.large_binary()),
            }
        )
    )
    table.write(
        pa.table(
            {
                "s": pa.array(["y"], pa.large_string()),
                "a": pa.array([2], pa.int32()),
                "t": pa.array([None], pa.null()),
                "l": pa.array([[]], pa.list_(pa.int32())),
                "b": pa.array([None], pa.binary()),
            }
        )
    )
    assert rows(lake, "d.t") == [
        (1, "x", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), [1], b"q"),
        (2, "y", None, [], None),
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+05:30", None])
def test_times_of_every_unit_and_zone_are_the_same_instants(lake, unit, zone):
    table = lake.create_table("d.t", f"t {'TIMESTAMP' if zone else 'TIMESTAMP_NTZ'}")
    table.write(pa.table({"t": pa.array([1_700_000_000], pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone))}))
    assert rows(lake, "d.t") == [(datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC if zone else None),)]


def test_nanoseconds_that_would_be_lost_are_refused(lake):
    table = lake.create_table("d.t", "t TIMESTAMP_NTZ")
    with pytest.raises(DataError, match="'t'"):
        table.write(pa.table({"t": pa.array([1001], pa.timestamp("ns"))}))
    assert table.count() == 0


def test_record_batches_readers_and_dicts_are_data_too(lake):
    table = lake.create_table("d.t", "a INT, b STRING DEFAULT 'dflt'")
    batch = pa.record_batch({"a": pa.array([1], pa.int32())})
    table.write(batch)
    table.write(pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]))
    table.write({"a": [2], "b": ["given"]})
    table.write([{"a": 3}, {"b": "only b"}])
    assert table.write([]) == 0
    before = lake.version
    strict = (
        lake.create_table(f"d.n{n}", "a INT NOT NULL, b INT", primary_key=key or ())
        for n, key in enumerate([None, "a"])
    )
    for empty in strict:
        assert [empty.write(nothing) for nothing in ([], ())] == [0, 0]
        assert lake.version == (before := before + 1)  # that made the table
    assert table.write(pa.table({"a": pa.array([], pa.int32())})) == 0
    assert rows(lake, "d.t") == [
        (None, "only b"),
        (1, "dflt"),
        (1, "dflt"),
        (1, "dflt"),
        (2, "given"),
        (3, None),
    ]


@pytest.mark.parametrize(
    "type_",
    [
        "VOID", "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND", "VARIANT", "CHAR(5)", "VARCHAR(5)", "TIME",
        "ARRAY<VOID>", "MAP<STRING, VARIANT>", "STRUCT<a: INTERVAL MONTH>", "UUID", "GEOMETRY(0)",
    ],
)  # fmt: skip
def test_other_types_are_refused_by_name(lake, type_):
    before = lake.version
    with pytest.raises(UnsupportedType) as refused:
        told(lake, f"CREATE TABLE d.t (a INT, v {type_})")
    inner = type_.replace("ARRAY<", "").replace("MAP<STRING, ", "").replace("STRUCT<a: ", "").rstrip(">").split("(")[0]
    assert inner.lower() in str(refused.value).lower()
    assert lake.version == before
    assert lake.tables() == []


@pytest.mark.parametrize(
    "type_",
    [pa.duration("s"), pa.time64("us"), pa.month_day_nano_interval(), pa.decimal256(50, 2)],
)
def test_arrow_types_without_a_place_are_refused_by_name(lake, type_):
    before = lake.version
    with pytest.raises(UnsupportedType, match="column 'v'"):
        lake.create_table("d.t", pa.schema([("v", type_)]))
    assert lake.version == before


def test_a_map_may_not_hold_a_null_key(lake):
    table = lake.create_table("d.t", "m MAP<STRING, INT>")
    with pytest.raises(Exception, match=r"(?i)null|key"):
        table.write(
            pa.table({"m": pa.MapArray.from_arrays([0, 1], pa.array([None], pa.string()), pa.array([1], pa.int32()))})
        )
    assert table.count() == 0


SURROGATE = "a\ud800"


@pytest.mark.parametrize(
    "say",
    {
        "rows": lambda lake: lake.table("d.t").write([{"s": SURROGATE}]),
        "columns": lambda lake: lake.table("d.t").write({"s": [SURROGATE]}),
        "a literal": lambda lake: lake.sql(f"INSERT INTO d.t VALUES ('{SURROGATE}')"),
        "an argument": lambda lake: lake.sql("UPDATE d.t SET s = :s", {"s": SURROGATE}),
        "a condition": lambda lake: lake.table("d.t").delete(f"s = '{SURROGATE}'"),
        "a default": lambda lake: lake.sql(f"ALTER TABLE d.t ADD COLUMN x STRING DEFAULT '{SURROGATE}'"),
        "a property": lambda lake: lake.sql(f"ALTER TABLE d.t SET TBLPROPERTIES (x = '{SURROGATE}')"),
        "a name": lambda lake: lake.create_branch(SURROGATE),
    }.items(),
    ids=lambda named: named[0],
)
def test_half_a_surrogate_pair_is_no_text(lake, say):
    told(lake, "CREATE TABLE d.t (s STRING)", "INSERT INTO d.t VALUES ('b')")
    before = lake.version
    with pytest.raises(AnabranchError, match="surrogate") as refused:
        say[1](lake)
    refused.value.args[0].encode()  # it can be printed
    assert lake.version == before


def test_escapes_of_one_character_in_two_halves(lake):
    told(lake, "CREATE TABLE d.t (s STRING)", r"INSERT INTO d.t VALUES ('\ud83d\ude00'), ('a\ud800b')")
    assert rows(lake, "d.t") == [("a?b",), ("😀",)]
    assert lake.table("d.t").to_arrow(where=r"s = '\ud83d\ude00'").num_rows == 1


def test_what_was_read_can_be_written_again(lake):
    """Keys that are no text, and a value that no number is."""
    told(
        lake, "CREATE TABLE d.t (m MAP<DATE, DOUBLE>)", "INSERT INTO d.t VALUES (map(DATE'2020-01-01', double('NaN')))"
    )
    lake.table("d.t").write(lake.table("d.t").to_arrow().to_pylist())
    assert str(rows(lake, "d.t")[0]) == str(rows(lake, "d.t")[1])
    assert lake.table("d.t").count() == 2


def test_values_that_differ_look_different_in_a_printed_diff(lake):
    told(lake, "CREATE TABLE d.t (id INT, ts TIMESTAMP, s STRING)")
    told(lake, "INSERT INTO d.t VALUES (1, TIMESTAMP'2024-01-01 00:00:00.123456', 'x'), (2, NULL, NULL)")
    dev = lake.create_branch("dev")
    told(
        dev,
        "UPDATE d.t SET ts = TIMESTAMP'2024-01-01 00:00:00.123457' WHERE id = 1",
        "UPDATE d.t SET s = '' WHERE id = 2",
    )
    assert [line.split() for line in str(lake.sql("DIFF main dev TABLE d.t")).splitlines()[2:]] == [
        ["-U", "1", "2024-01-01", "00:00:00.123456", "x"],
        ["+U", "1", "2024-01-01", "00:00:00.123457", "x"],
        ["-U", "2", "NULL", "NULL"],
        ["+U", "2", "NULL", "''"],
    ]
