"""Rows with the values that evaluators get wrong, and random expressions over them."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa

INF, NAN = float("inf"), float("nan")

EXTREMES: dict[str, tuple[pa.DataType, list[object]]] = {
    "b1": (pa.int8(), [None, 0, 1, -1, 127, -128, 7]),
    "b2": (pa.int16(), [None, 0, 1, -1, 32767, -32768, 300]),
    "i": (pa.int32(), [None, 0, 1, -1, 2, 3, 10, 2**31 - 1, -(2**31), 1000]),
    "j": (pa.int32(), [None, 0, 1, 2, -3, 7, 100]),
    "l": (pa.int64(), [None, 0, 1, -1, 5, 2**63 - 1, -(2**63), 2**53 + 1, 10]),
    "f": (pa.float32(), [None, 0.0, -0.0, 1.5, -2.25, 0.10000000149011612, INF, -INF, NAN]),
    "d": (pa.float64(), [None, 0.0, -0.0, 1.5, 0.1, -1e300, 5e-324, INF, -INF, NAN, 1e18, 2.5, -3.7]),
    "e": (pa.float64(), [None, 0.0, 1.0, -1.0, 2.5, NAN, INF, 3.0]),
    "dec": (pa.decimal128(10, 2), [None, *map(Decimal, ["0.00", "1.50", "-1.50", "99999999.99", "-0.01", "2.00"])]),
    "big": (
        pa.decimal128(38, 10),
        [None, *map(Decimal, ["0", "1.5", "-" + "9" * 28 + ".9999999999", "0.0000000001"])],
    ),
    "s": (
        pa.string(),
        [None, "", "a", "A", "abc", "Straße", "é", "zz", "😀x", " a ", "a%b", "a_b", "a\nb", "b\\c", "true"],
    ),
    "n": (pa.string(), [None, "1", "-7", " 12 ", "+3", "0"]),
    "u": (pa.string(), [None, "", "ABC", "abc", "aBc ", "ЖЖя", "ÀÉÿ"]),
    "bi": (pa.binary(), [None, b"", b"\x00", b"\xff", b"a", b"abc"]),
    "bo": (pa.bool_(), [None, True, False]),
    "bp": (pa.bool_(), [None, True, False, True]),
    "dt": (pa.date32(), [None, dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29)]),
    "du": (pa.date32(), [None, dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(2000, 3, 1)]),
    "ts": (pa.timestamp("us", "UTC"), [None, 0, -1, 1_700_000_000_123_456, -62135596800000000, 86_400_000_000]),
    "tn": (pa.timestamp("us"), [None, 0, -1, 1_700_000_000_100_000, 253402300799999999]),
}


def rows(count: int, seed: int) -> pa.Table:
    """A table of every type; the column `id` numbers the rows."""
    pick = random.Random(seed)
    columns = {"id": pa.array(range(count), pa.int32())}
    for name, (type, values) in EXTREMES.items():
        columns[name] = pa.array([pick.choice(values) for _ in range(count)], type)
    columns["st"] = pa.array(
        [pick.choice([None, {"x": 1, "y": "a"}, {"x": None, "y": "b"}]) for _ in range(count)],
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
    )
    return pa.table(columns)


INTEGERS = ["b1", "b2", "i", "j", "l", "0", "1", "2", "-1", "100", "2147483648", "st.x"]
NUMBERS = [*INTEGERS, "f", "d", "e", "dec", "big", "1.5", "0.01", "2.5D", "1e2", "-3.25"]
STRINGS = ["s", "u", "''", "'a'", "'abc'", "'é'", "st.y", "'a%b'"]
DATES = ["dt", "du", "DATE '2024-02-29'", "DATE '1969-12-31'"]
TIMES = [*DATES, "ts", "tn", "TIMESTAMP '2023-11-14 22:13:20.123456'", "TIMESTAMP_NTZ '1970-01-01'"]
TEXT_DATES = ["'2024-02-29'", "'1970'"]
PATTERNS = ["'a%'", "'%b'", "'%a%'", "'a_b'", "'a\\\\_b'", "'%'", "''", "'_'", "'%\\\\%%'", "'S%e'", "'a%b%'"]
REGEXES = ["'^a'", "'b$'", "'a.b'", "'[a-c]+'", "'a|b'", "'^$'", "'(ab)?c'", "'\\\\s'", "'^.$'", "'a{1,2}'", "'\\\\W'"]


class Expressions:
    """Random expressions, by the kind of value they give."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def number(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.3:
            return self.random.choice(NUMBERS)
        deeper = depth - 1
        shape = self.random.randrange(12)
        if shape < 5:
            return f"({self.number(deeper)} {self.pick('+', '-', '*', '/', '%')} {self.number(deeper)})"
        if shape == 5:
            return f"({self.integer(deeper)} div {self.integer(deeper)})"
        if shape == 6:
            return f"{self.pick('abs', '-', 'coalesce')}({self.number(deeper)})"
        if shape == 7:
            return f"coalesce({self.number(deeper)}, {self.number(deeper)})"
        if shape == 8:
            return f"{self.pick('greatest', 'least')}({self.number(deeper)}, {self.number(deeper)})"
        if shape == 9:
            return f"CASE WHEN {self.boolean(deeper)} THEN {self.number(deeper)} ELSE {self.number(deeper)} END"
        if shape == 10:
            return f"nullif({self.number(deeper)}, {self.number(deeper)})"
        target = self.pick("INT", "BIGINT", "DOUBLE", "DECIMAL(12,1)", "SMALLINT", "FLOAT", "DECIMAL(38,10)")
        return f"{self.pick('CAST', 'TRY_CAST')}({self.number(deeper)} AS {target})"

    def integer(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.random.choice(INTEGERS)
        shape = self.random.randrange(5)
        if shape == 0:
            return f"length({self.string(depth - 1)})"
        if shape == 1:
            return f"{self.pick('year', 'month', 'day')}({self.random.choice(TIMES)})"
        if shape == 2:
            return f"CAST({self.pick('n', 's', 'd', 'dec', 'bo', 'f')} AS {self.pick('INT', 'BIGINT', 'TINYINT')})"
        if shape == 3:
            return f"datediff({self.random.choice(DATES)}, {self.random.choice(TIMES)})"
        return f"({self.integer(depth - 1)} {self.pick('+', '-', '*', '%')} {self.integer(depth - 1)})"

    def string(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.3:
            return self.random.choice(STRINGS)
        inner = self.string(depth - 1)
        place, size = self.random.randint(-6, 6), self.random.randint(-1, 5)
        return self.pick(
            f"concat({inner}, {self.string(depth - 1)})",
            f"({inner} || {self.pick('i', 'bo', 'dt', 'l', 'ts', 'tn', 'dec')})",
            f"{self.pick('upper', 'lower')}({self.pick('u', 'i', 'bo')})",
            f"substring({inner}, {place}, {size})",
            f"substring({inner}, {place})",
            f"{self.pick('left', 'right')}({inner}, {size})",
            f"{self.pick('trim', 'ltrim', 'rtrim')}({inner})",
            f"trim(BOTH 'a' FROM {inner})",
            f"CAST({self.pick('i', 'l', 'bo', 'dt', 's', 'ts', 'tn', 'b1', 'dec', 'bi')} AS STRING)",
            f"coalesce({inner}, {self.string(depth - 1)})",
            f"if({self.boolean(depth - 1)}, {inner}, {self.string(depth - 1)})",
            f"{self.pick('greatest', 'least')}({inner}, {self.string(depth - 1)})",
        )

    def date(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.random.choice(TIMES)
        return self.pick(
            f"{self.pick('date_add', 'date_sub')}(du, {self.pick('1', 'j', 'b1', '-40')})",
            f"CAST({self.date(depth - 1)} AS {self.pick('DATE', 'TIMESTAMP', 'TIMESTAMP_NTZ')})",
            f"coalesce({self.date(depth - 1)}, {self.date(depth - 1)})",
            f"(du {self.pick('+', '-')} {self.pick('1', 'j')})",
        )

    def boolean(self, depth: int) -> str:
        op = self.pick("=", "<>", "<", "<=", ">", ">=", "<=>", "==", "!=")
        if depth <= 0:
            return self.pick("bo", "bp", "TRUE", "FALSE", "NULL", f"(i {op} j)", f"(d {op} e)")
        deeper = depth - 1
        shape = self.random.randrange(20)
        if shape < 4:
            return f"({self.number(deeper)} {op} {self.number(deeper)})"
        if shape == 4:
            return f"({self.string(deeper)} {op} {self.string(deeper)})"
        if shape == 5:
            return f"({self.date(deeper)} {op} {self.date(deeper)})"
        if shape == 6:
            return f"({self.random.choice(TIMES)} {op} {self.random.choice(TEXT_DATES)})"
        if shape == 7:
            return f"(n {op} {self.number(deeper)})"
        if shape == 8:
            return f"(bi {op} {self.pick('bi', 'X' + chr(39) + '00' + chr(39), 's')})"
        if shape < 12:
            return f"({self.boolean(deeper)} {self.pick('AND', 'OR')} {self.boolean(deeper)})"
        if shape == 12:
            return f"(NOT {self.boolean(deeper)})"
        if shape == 13:
            options = f"{self.number(0)}, {self.number(0)}, {self.pick('NULL', '1')}"
            return f"({self.number(deeper)} {self.pick('IN', 'NOT IN')} ({options}))"
        if shape == 14:
            return f"({self.string(deeper)} {self.pick('IN', 'NOT IN')} ('a', 'abc', {self.pick('NULL', 's')}))"
        if shape == 15:
            return f"({self.number(deeper)} {self.pick('', 'NOT')} BETWEEN {self.number(0)} AND {self.number(0)})"
        if shape == 16:
            return f"({self.string(deeper)} {self.pick('LIKE', 'NOT LIKE')} {self.random.choice(PATTERNS)})"
        if shape == 17:
            return f"({self.pick('s', 'u', 'bi', 'd', 'st', 'i')} IS {self.pick('NULL', 'NOT NULL')})"
        if shape == 18:
            return f"({self.boolean(deeper)} IS {self.pick('', 'NOT')} {self.pick('TRUE', 'FALSE')})"
        return self.pick(
            f"({self.string(deeper)} RLIKE {self.random.choice(REGEXES)})",
            f"(u ILIKE {self.random.choice(PATTERNS)})",
            f"{self.pick('startswith', 'endswith', 'contains')}({self.string(deeper)}, 'a')",
            f"isnan({self.pick('d', 'f', 'i')})",
            f"isnull({self.number(deeper)})",
            f"({self.number(deeper)} IS {self.pick('', 'NOT')} DISTINCT FROM {self.number(deeper)})",
        )

    def any(self, depth: int) -> str:
        return self.random.choice([self.number, self.boolean, self.boolean, self.string, self.integer, self.date])(
            depth
        )
