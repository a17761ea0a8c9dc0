"""Random tables and clauses against the oracle: append tables in both modes and keyed tables, here and by Spark."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from anabranch.commands.merge_into import append as merge_append
from anabranch.commands.merge_into import keyed as merge_keyed
from anabranch.commands.merge_into import source as merge_source
from anabranch.errors import NeedsSpark, SeveralMatches
from anabranch.lake import Lake
from anabranch.options import Limits
from tests.merge_into.oracle import Row, Several, When, merged

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("n", pa.int32())])
COLUMNS = "id BIGINT, g STRING, n INT"


def rows(chance: random.Random, count: int, *, distinct: bool, nulls: bool) -> list[Row]:
    ids: list[Any] = chance.sample(range(9), count) if distinct else [chance.randrange(9) for _ in range(count)]
    if nulls:
        ids = [None if chance.random() < 0.15 else id for id in ids]
    return [(id, chance.choice("abc"), chance.choice([None, 1, 2, 3, 4])) for id in ids]


def table(found: list[Row]) -> pa.Table:
    columns = list(zip(*found, strict=True)) or [()] * 3
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def equal(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else a == b


def below(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else a < b


def both(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    return True if a or b else None if a is None or b is None else False


def plus(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b


ON = {
    "t.id = s.id": lambda t, s: equal(t[0], s[0]),
    "s.id <=> t.id": lambda t, s: t[0] == s[0],
    "t.id = s.id AND t.g = s.g": lambda t, s: both(equal(t[0], s[0]), equal(t[1], s[1])),
    "t.id = s.id AND t.n < s.n": lambda t, s: both(equal(t[0], s[0]), below(t[2], s[2])),
    "t.id = s.id AND t.g = 'a'": lambda t, s: both(equal(t[0], s[0]), t[1] == "a"),
    "t.id = s.id + 1": lambda t, s: equal(t[0], plus(s[0], 1)),
    "t.id = s.id OR t.g = s.g AND t.n = s.n": lambda t, s: either(
        equal(t[0], s[0]), both(equal(t[1], s[1]), equal(t[2], s[2]))
    ),
    "t.n <=> s.n AND NOT t.g <=> s.g": lambda t, s: t[2] == s[2] and t[1] != s[1],
    "NULL": lambda t, s: None,
    "t.id < s.id AND s.n = 4": lambda t, s: both(below(t[0], s[0]), equal(s[2], 4)),
}

CONDITIONS = {
    "matched": [
        ("t.n > s.n", lambda t, s: below(s[2], t[2])),
        ("s.g = 'a'", lambda t, s: s[1] == "a"),
        ("t.g = s.g", lambda t, s: t[1] == s[1]),
        ("NULL", lambda t, s: None),
    ],
    "not matched": [("s.n > 2", lambda t, s: below(2, s[2])), ("g <> 'b'", lambda t, s: s[1] != "b")],
    "not matched by source": [("t.n = 1", lambda t, s: equal(t[2], 1)), ("g = 'c'", lambda t, s: t[1] == "c")],
}
ACTIONS = {
    "matched": [
        ("UPDATE SET *", lambda t, s: s),
        ("UPDATE SET n = t.n + s.n", lambda t, s: (t[0], t[1], plus(t[2], s[2]))),
        ("UPDATE SET t.g = s.g, n = 7", lambda t, s: (t[0], s[1], 7)),
        ("DELETE", None),
    ],
    "not matched": [
        ("INSERT *", lambda t, s: s),
        ("INSERT (n, id) VALUES (s.n, id)", lambda t, s: (s[0], None, s[2])),
    ],
    "not matched by source": [
        ("UPDATE SET n = n + 1", lambda t, s: (t[0], t[1], plus(t[2], 1))),
        ("DELETE", None),
    ],
}
KEY_KEPT = "UPDATE SET g = s.g, n = s.n"


def clauses(chance: random.Random, *, keyed: bool, on: str) -> list[When]:
    found: list[When] = []
    while not found:
        for kind in CONDITIONS:
            for last in (False, True):
                if chance.random() < 0.5:
                    sql, make = chance.choice(ACTIONS[kind])
                    if keyed and sql == "UPDATE SET *" and on != "t.id = s.id":
                        sql, make = KEY_KEPT, lambda t, s: (t[0], s[1], s[2])
                    text, test = chance.choice(CONDITIONS[kind])
                    if last and chance.random() < 0.6:
                        found.append(When(kind, sql, lambda t, s: True, make))
                    else:
                        found.append(When(kind, f"AND {text} THEN {sql}", test, make))
    return found


def statement(on: str, chosen: list[When]) -> str:
    whens = [f"WHEN {c.kind.upper()} {c.sql if c.sql.startswith('AND') else 'THEN ' + c.sql}" for c in chosen]
    return f"MERGE INTO d.t USING {{source}} AS s ON {on} {' '.join(whens)}"


def in_order(found: Any) -> list[Row]:
    return sorted(found, key=repr)


def tell(lake: Lake, seed: int, *, keyed: bool, mode: str = "merge-on-read", by_spark: bool = False) -> None:
    chance = random.Random(seed)
    target = rows(chance, chance.randrange(10), distinct=keyed, nulls=not keyed)
    source = rows(chance, chance.randrange(8), distinct=chance.random() < 0.7, nulls=not keyed)
    on = chance.choice(sorted(ON))
    chosen = clauses(chance, keyed=keyed, on=on)
    text = statement(on, chosen)
    name = f"d.t{seed}_{mode[:1]}{keyed:d}"
    if keyed:
        opened = lake.create_table(name, COLUMNS.replace("BIGINT", "BIGINT NOT NULL"), primary_key=["id"])
    else:
        opened = lake.create_table(name, COLUMNS, properties={"merge.mode": mode})
    for start in range(0, len(target), 4):  # several parts
        opened.write(table(target[start : start + 4]))
    text = text.replace("INTO d.t ", f"INTO {name} AS t ")
    given: Any = table(source)
    if by_spark:
        given = lake.spark.createDataFrame(given)
    try:
        expected = merged(target, source, ON[on], chosen)
    except Several:
        with pytest.raises(SeveralMatches):
            lake.sql(text, source=given)
        expected = list(target)
    else:
        if keyed:  # of several new rows with one key the last stays
            expected = list({row[0]: row for row in expected}.values())
        lake.sql(text, source=given)
    found = opened.to_arrow()
    assert in_order(zip(*(c.to_pylist() for c in found.columns), strict=True)) == in_order(expected), (
        text,
        target,
        source,
    )
    lake.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("block", range(4))
def test_append(lake: Lake, mode: str, block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        tell(lake, seed, keyed=False, mode=mode)


@pytest.mark.parametrize("block", range(4))
def test_keyed(lake: Lake, block: int) -> None:
    for seed in range(1000 + block * 40, 1040 + block * 40):
        tell(lake, seed, keyed=True)


def needs_spark(*_: Any) -> None:
    raise NeedsSpark("this expression")


@pytest.mark.spark
@pytest.mark.parametrize("keyed", [False, True], ids=["append", "keyed"])
@pytest.mark.parametrize("way", ["joined by Spark", "decided by Spark", "all by Spark"])
def test_by_spark(spark_lake: Lake, keyed: bool, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_lake._session.shared.limits = Limits(local_work=0)
    if way == "all by Spark":
        monkeypatch.setattr(merge_source, "MOST_ROWS", -1)
    if way == "decided by Spark":
        for module in (merge_append, merge_keyed):
            monkeypatch.setattr(module, "check_here", needs_spark)
    for seed in range(2000, 2006):
        tell(spark_lake, seed, keyed=keyed, by_spark=way == "all by Spark")
