"""Random queries over two tables, `{a}` and `{b}`, whose answers do not depend on the order of rows.

Both tables have many small parts with narrow bounds, under several schemas: columns renamed, widened and added with a
default. Predicates reach beyond the types that the older parts were written with.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.lake import Lake

NAN = float("nan")
CONSTANTS = {
    "id": ["0", "7", "25", "1000", "-1", "25L"],
    "i": ["0", "3", "-5", "NULL", "2147483647", "3000000000", "1.5", "'3'", "3S", "2.0D"],
    "w": ["0", "20", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "40.5", "NULL"],
    "d": ["3", "3.00", "2.999", "40", "-1.5", "123456789012.25", "NULL"],
    "f": ["0", "0.1D", "CAST(0.1 AS FLOAT)", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)", "16777217",
          "2.5", "-0.0D"],
    "n": ["TIMESTAMP_NTZ '2020-01-05 00:00:00'", "TIMESTAMP_NTZ '2020-01-05 00:00:01'", "DATE '2020-01-20'", "NULL",
          "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'", "'2020-01-10'"],
    "t": ["TIMESTAMP '2020-01-05 00:00:00'", "TIMESTAMP '2020-01-05 00:00:00+05:00'", "DATE '2020-01-20'",
          "'2020-01-10 12:00:00'"],
    "s": ["'a'", "'s1'", "''", "'é'", "'zz'", "'s2 long text'", "NULL", "'Ünïcode'"],
    "added": ["7", "8", "0", "NULL", "7L"],
    "word": ["'dflt'", "'x'", "NULL", "'d'"],
    "p": ["0", "1", "2", "NULL", "99"],
}  # fmt: skip
OPERATORS = ["=", "<", "<=", ">", ">=", "<=>", "<>"]


def make_tables(lake: Lake) -> None:
    """`d.a` and `d.b`: parts of eight rows each, then changes of the schema, then more parts."""
    for number, name in enumerate("ab"):
        rng = random.Random(number)
        lake.sql(
            f"CREATE TABLE d.{name} (id INT, i INT, wide INT, d INT, f FLOAT, n DATE, t TIMESTAMP, s STRING, "
            f"st STRUCT<x: INT>, p INT) {'PARTITIONED BY (p)' if name == 'b' else ''}"
        )
        table = lake.table(f"d.{name}")
        for part in range(3):
            table.write(_rows(rng, part, new=False))
        table.add_column("added", "INT", default="7")
        table.add_column("word", "STRING", default="'dflt'")
        table.write(_rows(rng, 3, new=False))
        table.rename_column("wide", "w")
        table.alter_column("w", type="BIGINT")
        table.alter_column("d", type="DECIMAL(14,2)")
        table.alter_column("f", type="DOUBLE")
        table.alter_column("n", type="TIMESTAMP_NTZ")
        for part in range(4, 7):
            table.write(_rows(rng, part, new=True))
        table.delete("id % 10 = 9")
        table.update({"i": "i + 1"}, "id % 10 = 8")


def _rows(rng: random.Random, part: int, *, new: bool) -> list[dict[str, object]]:
    def maybe(value: object) -> object:
        return None if rng.random() < 0.15 else value

    base = part * 10
    made = []
    for k in range(8):
        day = dt.date(2020, 1, 1) + dt.timedelta(base // 2 + k)
        row = {
            "id": base + k,
            "i": maybe(rng.choice([base + k, 3, -5, 2**31 - 2])),
            "f": maybe(rng.choice([base + 0.5, 0.1, NAN, -0.0, 2.5, float("-inf"), 16777216.0])),
            "t": maybe(dt.datetime(day.year, day.month, day.day, rng.randrange(24), tzinfo=dt.timezone.utc)),
            "s": maybe(rng.choice([f"s{part}", "a", "é", "", "s2 long text", "Ünïcode"])),
            "st": maybe({"x": maybe(k)}),
            "p": maybe(k % 2 + part // 3),
        }
        if new:
            row |= {
                "w": maybe(rng.choice([base, 2**31, -(2**31) - 1, 2**63 - 1, 20])),
                "d": maybe(rng.choice([Decimal("2.99"), Decimal("123456789012.25"), Decimal(base), Decimal("-1.50")])),
                "n": maybe(dt.datetime(day.year, day.month, day.day, 0, 0, rng.randrange(2))),
                "added": maybe(rng.choice([7, 8, base])),
                "word": maybe(rng.choice(["x", "dflt", f"w{part}"])),
            }
        else:
            row |= {"wide": maybe(rng.choice([base, 20, 2**31 - 1])), "d": maybe(base // 10), "n": maybe(day)}
        made.append(row)
    return made


def predicate(rng: random.Random, alias: str = "", depth: int = 2) -> str:
    """A condition on the columns of one table."""
    if depth and rng.random() < 0.5:
        joined = rng.choice(["AND", "AND", "OR"])
        negated = rng.choice(["", "", "NOT "])
        return f"{negated}({predicate(rng, alias, depth - 1)} {joined} {predicate(rng, alias, depth - 1)})"
    name = rng.choice(sorted(CONSTANTS))
    column = f"{alias}.{name}" if alias else name
    one, two = (rng.choice(CONSTANTS[name]) for _ in range(2))
    operator = rng.choice(OPERATORS)
    shapes = [
        f"{column} {operator} {one}",
        f"{column} {operator} {one}",
        f"{one} {operator} {column}",
        f"{column} IN ({one}, {two})",
        f"{column} NOT IN ({one}, {two})",
        f"{column} BETWEEN {one} AND {two}",
        f"{column} NOT BETWEEN {one} AND {two}",
        f"{column} IS NULL",
        f"{column} IS NOT NULL",
        f"coalesce({column}, {one}) {operator} {two}",
        f"CAST({column} AS STRING) {operator} CAST({one} AS STRING)",
        f"({column} {operator} {one}) IS NOT TRUE",
    ]
    text = f"{alias}.s" if alias else "s"
    shapes += [f"{text} LIKE '{pattern}'" for pattern in ("s%", "s2%", "%long%", "_", "", "é", "s1%x")]
    shapes += [f"length({text}) > 1", f"upper({text}) = 'A'", f"{text.removesuffix('s')}st.x > 3", "1 = 1", "NULL = 1"]
    return rng.choice(shapes)


def query(rng: random.Random) -> str:
    """A SELECT of one text column."""
    one, two = predicate(rng, "a"), predicate(rng, "b")
    on = rng.choice(
        ["a.id = b.id", "a.i = b.i", "a.p = b.p AND a.id < b.id", f"a.id = b.id AND {two}", f"a.id = b.id AND {one}"]
    )
    join = rng.choice(
        ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"]
    )
    condition = "" if join == "CROSS JOIN" else f"ON {on}"
    left = "a.id, a.i, a.w, a.f"
    both = left if join in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else f"{left}, b.id, b.n, b.s"
    where_both = (
        one if "SEMI" in join or "ANTI" in join else rng.choice([one, two, f"{one} AND {two}", f"{one} OR {two}"])
    )
    bare = predicate(rng)
    return rng.choice(
        [
            f"SELECT {_text('*')} FROM {{a}} WHERE {bare}",
            f"SELECT {_text('*')} FROM {{b}} AS b WHERE {two} AND {predicate(rng, 'b')}",
            f"SELECT {_text(both)} FROM {{a}} AS a {join} {{b}} AS b {condition} WHERE {where_both}",
            f"SELECT {_text(both)} FROM {{a}} AS a {join} {{b}} AS b {condition} WHERE {where_both}",
            f"SELECT {_text('a.id, b.id, c.id')} FROM {{a}} AS a LEFT JOIN {{b}} AS b ON a.id = b.id AND {two} "
            f"JOIN {{a}} AS c ON c.id = a.id AND {predicate(rng, 'c', 1)} WHERE {one}",
            f"SELECT {_text('count(*), sum(w % 1000), min(d), max(n), count(DISTINCT s)')} FROM {{a}} WHERE {bare}",
            f"SELECT {_text('p, count(*), max(i)')} FROM {{b}} WHERE {bare} GROUP BY p HAVING count(*) > 1",
            f"SELECT {_text('*')} FROM (SELECT id, i, s, row_number() OVER (PARTITION BY s ORDER BY id, i, w, f) AS r "
            f"FROM {{a}}) WHERE r = 1 AND (i > 3 OR s = 's1')",
            f"SELECT {_text('*')} FROM "
            f"(SELECT id, s, added FROM {{a}} WHERE {bare} ORDER BY id, s, i LIMIT 5) WHERE added = 7",
            f"WITH c AS (SELECT * FROM {{a}} WHERE {bare}), e AS (SELECT * FROM c) "
            f"SELECT {_text('c.id, e.id')} FROM c JOIN e ON c.id = e.id WHERE {predicate(rng, 'c')}",
            f"SELECT {_text('a.id')} FROM {{a}} AS a WHERE {one} AND a.id IN (SELECT b.id FROM {{b}} AS b WHERE {two})",
            f"SELECT {_text('a.id')} FROM {{a}} AS a WHERE NOT EXISTS "
            f"(SELECT 1 FROM {{b}} AS b WHERE b.id = a.id AND {two})",
            f"SELECT {_text(f'a.id, (SELECT max(b.i) FROM {{b}} AS b WHERE b.id = a.id AND {two})')} "
            f"FROM {{a}} AS a WHERE {one}",
            f"SELECT {_text('id, s')} FROM {{a}} WHERE {bare} UNION ALL "
            f"SELECT {_text('id, s')} FROM {{b}} WHERE {predicate(rng)}",
        ]
    )  # fmt: skip


def _text(columns: str) -> str:
    """The columns as one text, so that queries of any shape can be put together."""
    return f"CAST(struct({columns}) AS STRING) AS row"
