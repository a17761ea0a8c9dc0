"""Random keys of every type that a key may have, and how plain Python orders them."""

import math
import struct
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

TEXT = st.one_of(
    st.text("ab\x00é\U0001f600", max_size=12),
    st.text("ab", max_size=3).map(lambda end: "a shared beginning " + end),
)
VALUES = {
    pa.int8(): st.integers(-3, 3),
    pa.int32(): st.one_of(st.integers(-3, 3), st.sampled_from([-(2**31), 2**31 - 1])),
    pa.int64(): st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1])),
    pa.float32(): st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])),
    pa.float64(): st.one_of(st.floats(), st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.0])),
    pa.decimal128(6, 2): st.integers(-400, 400).map(lambda n: Decimal(n) / 100),
    pa.decimal128(38, 3): st.one_of(st.integers(-2, 2), st.integers(-(2**120), 2**120), st.just(2**64)).map(
        lambda n: Decimal(n).scaleb(-3)
    ),
    pa.string(): TEXT,
    pa.binary(): st.one_of(TEXT.map(str.encode), st.binary(max_size=10)),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(date(1969, 12, 30), date(1970, 1, 3)),
    pa.timestamp("us"): st.datetimes(datetime(1969, 12, 31), datetime(1970, 1, 2)),
    pa.timestamp("us", "UTC"): st.sampled_from([-5, 0, 5]).map(lambda s: datetime.fromtimestamp(s, timezone.utc)),
}
TYPES = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3)


@st.composite
def some_types_and_rows(draw, max_size=30):
    """(types, rows as tuples of Python values)."""
    types = draw(TYPES)
    return types, draw(st.lists(st.tuples(*(VALUES[type_] for type_ in types)), max_size=max_size))


def arrays(rows, types):
    return [pa.array([row[at] for row in rows], type_) for at, type_ in enumerate(types)]


def order(row, types):
    """What plain Python sorts by."""
    return tuple(_order(value, type_) for value, type_ in zip(row, types, strict=True))


def _order(value, type_):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        if type_ == pa.float32() and math.isfinite(value):
            value = struct.unpack("f", struct.pack("f", value))[0]
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value
