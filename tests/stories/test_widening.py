"""Every pair of types that a column may widen through, with rows before and after; all other pairs are refused."""

import contextlib
from datetime import date, datetime
from decimal import Decimal

import pytest

from anabranch.errors import SchemaError
from tests.stories.telling import rows, told

LEAST = {"TINYINT": -(2**7), "SMALLINT": -(2**15), "INT": -(2**31), "BIGINT": -(2**63)}
INTEGERS = list(LEAST)

INTEGER_PAIRS = [
    (narrow, wide, str(LEAST[narrow]), LEAST[narrow], str(LEAST[wide]), LEAST[wide])
    for place, narrow in enumerate(INTEGERS)
    for wide in INTEGERS[place + 1 :]
]
OTHER_PAIRS = [
    ("FLOAT", "DOUBLE", "1.5", 1.5, "1e300", 1e300),
    ("FLOAT", "DOUBLE", "CAST('NaN' AS FLOAT)", "nan", "1e300", 1e300),
    ("TINYINT", "DOUBLE", "-128", -128.0, "0.5", 0.5),
    ("SMALLINT", "DOUBLE", "-32768", -32768.0, "0.5", 0.5),
    ("INT", "DOUBLE", "-2147483648", -2147483648.0, "0.5", 0.5),
    ("TINYINT", "DECIMAL(10,0)", "-128", Decimal(-128), "9999999999", Decimal(9999999999)),
    ("INT", "DECIMAL(12,2)", "-2147483648", Decimal("-2147483648.00"), "0.25", Decimal("0.25")),
    ("BIGINT", "DECIMAL(20,0)", "-9223372036854775808", Decimal(-(2**63)), "5", Decimal(5)),
    ("BIGINT", "DECIMAL(38,18)", "9223372036854775807", Decimal(2**63 - 1), "0.5", Decimal("0.5")),
    ("DECIMAL(5,2)", "DECIMAL(10,2)", "-999.99", Decimal("-999.99"), "12345678.90", Decimal("12345678.90")),
    ("DECIMAL(5,2)", "DECIMAL(8,4)", "999.99", Decimal("999.9900"), "0.0001", Decimal("0.0001")),
    ("DECIMAL(9,0)", "DECIMAL(38,10)", "999999999", Decimal(999999999), "0.5", Decimal("0.5")),
    (
        "DATE",
        "TIMESTAMP_NTZ",
        "DATE '1969-12-31'",
        datetime(1969, 12, 31),
        "TIMESTAMP_NTZ '2026-01-01 12:00:00'",
        datetime(2026, 1, 1, 12),
    ),
]


@pytest.mark.parametrize(("narrow", "wide", "old", "reads", "new", "reads_too"), INTEGER_PAIRS + OTHER_PAIRS)
def test_a_column_widens_and_no_value_changes(lake, narrow, wide, old, reads, new, reads_too):
    told(lake, f"CREATE TABLE d.t (k INT, v {narrow})", f"INSERT INTO d.t VALUES (1, {old}), (2, NULL)")
    before = lake.version
    told(lake, f"ALTER TABLE d.t ALTER COLUMN v TYPE {wide}", f"INSERT INTO d.t VALUES (3, {new})")
    found = dict(rows(lake, "d.t"))
    assert repr(found[1]) == "nan" if reads == "nan" else found[1] == reads
    assert (found[2], found[3]) == (None, reads_too)
    assert {row[1] for row in told(lake, "DESCRIBE d.t")} == {"int", wide.lower()}
    # The parts of both types are compared under the new one.
    if reads != "nan":
        assert rows(lake, "d.t", where=f"v = {new}", columns=["k"]) == [(3,)]
        told(lake, f"DELETE FROM d.t WHERE v = CAST({old} AS {wide})")
        assert rows(lake, "d.t", columns=["k"]) == [(2,), (3,)]
    assert (
        lake.table("d.t", version=before).to_arrow().schema.field("v").type != lake.table("d.t").schema.field("v").type
    )


TYPES = [
    *INTEGERS,
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(10,0)",
    "DECIMAL(20,0)",
    "STRING",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "ARRAY<INT>",
    "MAP<STRING, INT>",
    "STRUCT<x: INT>",
]
ALLOWED = {(narrow, wide) for narrow, wide, *_ in INTEGER_PAIRS + OTHER_PAIRS} | {
    ("TINYINT", "DECIMAL(20,0)"),
    ("SMALLINT", "DECIMAL(10,0)"),
    ("SMALLINT", "DECIMAL(20,0)"),
    ("INT", "DECIMAL(10,0)"),
    ("INT", "DECIMAL(20,0)"),
    ("DECIMAL(10,0)", "DECIMAL(20,0)"),
}


def test_every_other_pair_is_refused(lake):
    """BIGINT to DOUBLE loses digits, TIMESTAMP has a zone, DECIMAL(5,2) to (10,0) loses its scale: none may pass."""
    columns = ", ".join(f"c{place} {type_}" for place, type_ in enumerate(TYPES))
    told(lake, f"CREATE TABLE d.t ({columns})")
    before = lake.version
    accepted = []
    for place, narrow in enumerate(TYPES):
        for wide in TYPES:
            if narrow == wide or (narrow, wide) in ALLOWED:
                continue
            with contextlib.suppress(SchemaError):
                told(lake, f"ALTER TABLE d.t ALTER COLUMN c{place} TYPE {wide}")
                accepted.append((narrow, wide))
    assert accepted == []
    assert lake.version == before


def test_dates_far_away_widen_too(lake):
    told(lake, "CREATE TABLE d.t (v DATE)", "INSERT INTO d.t VALUES (DATE '0001-01-01'), (DATE '9999-12-31')")
    told(lake, "ALTER TABLE d.t ALTER COLUMN v TYPE TIMESTAMP_NTZ")
    assert rows(lake, "d.t") == [(datetime(1, 1, 1),), (datetime(9999, 12, 31),)]
    assert rows(lake, "d.t", where="v > TIMESTAMP_NTZ '2000-01-01 00:00:00'") == [(datetime(9999, 12, 31),)]
    assert date(1, 1, 1) == rows(lake, "d.t")[0][0].date()
