"""Dates and timestamps in strings, as Spark's casts read them.

A scalar is read with Spark's own loose grammar (`2020`, `2020-1`, `2020-1-2T3:4`, a zone at the end). A column is read
by Arrow where it holds the common fixed-width forms; other text in it is left to Spark, never guessed.
"""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import NeedsSpark
from anabranch.expressions.types import DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, spark_name
from anabranch.expressions.zones import need_utc

# Spark trims what Java calls whitespace or an ISO control character.
TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?(Z| ?UTC|[+-]\d{2}:\d{2})?)?)?)?",
    re.ASCII,
)
_COLUMN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_COLUMN_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?$"
_MICROS = dt.timedelta(microseconds=1)


def date_of(text: str) -> dt.date | None:
    """The date in a text, None if Spark finds none."""
    found = _DATE.fullmatch(text.strip(TRIMMED))
    if found is None:
        if re.match(r"[+-]|\d{5}", text.strip(TRIMMED)):
            raise NeedsSpark(f"the date '{text}'")
        return None
    year, month, day = (int(piece or 1) for piece in found.groups())
    try:
        return dt.date(year, month, day)
    except ValueError:
        if year == 0:
            raise NeedsSpark(f"the date '{text}'") from None
        return None


def micros_of(text: str, type: pa.DataType) -> int | None:
    """Microseconds since the epoch of the timestamp in a text, None if it is not a time at all."""
    trimmed = text.strip(TRIMMED)
    found = _TIMESTAMP.fullmatch(trimmed)
    if found is None:
        if re.search(r"\d", trimmed):
            raise NeedsSpark(f"the {spark_name(type)} '{text}'")
        return None
    *pieces, fraction, zone = found.groups()
    year, month, day = (int(piece or 1) for piece in pieces[:3])
    hour, minute, second = (int(piece or 0) for piece in pieces[3:])
    if (zone and type == TIMESTAMP_NTZ) or year == 0:
        raise NeedsSpark(f"the {spark_name(type)} '{text}'")
    try:
        moment = dt.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    if not zone and type == TIMESTAMP:
        need_utc(f"the timestamp '{text}'")
    if zone and zone[0] in "+-":
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 17 or minutes > 59:
            raise NeedsSpark(f"the {spark_name(type)} '{text}'")
        moment -= (1 if zone[0] == "+" else -1) * dt.timedelta(hours=hours, minutes=minutes)
    return (moment - dt.datetime(1970, 1, 1)) // _MICROS + int((fraction or "").ljust(6, "0")[:6] or 0)


def scalar_from_text(scalar: pa.Scalar, type: pa.DataType) -> pa.Scalar | None:
    """The date or timestamp of a valid string scalar; None if the text is none."""
    if type == DATE:
        found = date_of(scalar.as_py())
        return None if found is None else pa.scalar(found, DATE)
    micros = micros_of(scalar.as_py(), type)
    return None if micros is None else pa.scalar(micros, pa.int64()).cast(type)


def column_from_text(strings: pa.Array, type: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """The dates or timestamps of a column of strings, and where the text is none."""
    trimmed = pc.utf8_trim(strings, characters=TRIMMED)
    plain = pc.match_substring_regex(trimmed, _COLUMN_DATE if type == DATE else _COLUMN_TIMESTAMP)
    # Text without a digit at its start is a date in no form that Spark knows; anything else odd is Spark's to read.
    odd = pc.and_(pc.invert(plain), pc.match_substring_regex(trimmed, r"^[+-]?[0-9]|^T|:"))
    if pc.any(odd).as_py():
        raise NeedsSpark(f"text in an unusual form as a {spark_name(type)}")
    good = pc.and_(plain, _exists(pc.if_else(plain, trimmed, pa.scalar("2000-01-01"))))
    kept = pc.if_else(good, trimmed, pa.scalar(None, STRING))
    if type == TIMESTAMP:
        need_utc("text as a timestamp")
        return pc.assume_timezone(pc.cast(kept, TIMESTAMP_NTZ), "UTC"), pc.invert(good)
    return pc.cast(kept, type), pc.invert(good)


def _exists(texts: pa.Array) -> pa.Array:
    """Whether the day of `yyyy-mm-dd...` is in the calendar; the year 0 is left to Spark."""
    year, month, day = (pc.cast(pc.utf8_slice_codeunits(texts, *cut), INT) for cut in ((0, 4), (5, 7), (8, 10)))
    if pc.any(pc.equal(year, 0)).as_py():
        raise NeedsSpark("a date in the year 0")
    leap = pc.and_(_divisible(year, 4), pc.or_(pc.invert(_divisible(year, 100)), _divisible(year, 400)))
    short = pc.is_in(month, value_set=pa.array([4, 6, 9, 11], INT))
    last = pc.if_else(pc.equal(month, 2), pc.add(pc.cast(leap, INT), 28), pc.if_else(short, 30, 31))
    return pc.and_(
        pc.and_(pc.greater(month, 0), pc.less_equal(month, 12)), pc.and_(pc.greater(day, 0), pc.less_equal(day, last))
    )


def _divisible(years: pa.Array, by: int) -> pa.Array:
    return pc.equal(pc.multiply(pc.divide(years, by), by), years)
