"""Partial-update tables in random histories: read as they advance, read anew, and read by the general way, against a
dictionary. Some writes give all fields, and so their records are whole; others leave fields out."""

from __future__ import annotations

import random

import pytest

import anabranch
from anabranch.execution import key_index, overlay

SHAPES = {
    "one key": "id INT, a INT, s STRING, PRIMARY KEY (id)",
    "two keys": "s STRING, a INT, id INT, p STRING, PRIMARY KEY (p, id)",
    "partitioned": "id INT, p STRING, a INT, s STRING, PRIMARY KEY (id, p)) PARTITIONED BY (p",
}
OPTIONS = "'merge-engine' = 'partial-update', 'num-sorted-run.compaction-trigger' = '1000'"
REMOVING = ", 'partial-update.remove-record-on-delete' = 'true'"


class Table:
    """A lake's table, and the dictionary of what it should hold."""

    def __init__(self, lake, shape, chance, *, removing):
        removes = REMOVING if removing else ""
        lake.sql(f"CREATE TABLE d.t ({SHAPES[shape]}) TBLPROPERTIES ({OPTIONS}{removes})")
        self.lake, self.chance, self.removing = lake, chance, removing
        self.keys = (
            [(n, p) for n in range(12) for p in ("x", "y")] if shape != "one key" else [(n, None) for n in range(20)]
        )
        self.fields = ["a", "s"]
        self.rows = {}

    def step(self):
        steps = [self.write] * 5 + [self.update, self.optimize] + [self.delete] * self.removing
        if len(self.fields) == 2 and self.chance.random() < 0.2:
            steps = [self.add_column]
        self.chance.choice(steps)()

    def write(self):
        keys = self.chance.sample(self.keys, self.chance.randrange(1, len(self.keys)))
        lacking = self.chance.choice([0.0, 0.0, 0.3, 0.9])
        given = {name: [self._value(name, lacking) for _ in keys] for name in self.fields}
        if lacking and self.chance.random() < 0.5:
            given[self.chance.choice(self.fields)] = [None] * len(keys)
        columns = {"id": [n for n, _ in keys]} | ({"p": [p for _, p in keys]} if keys[0][1] else {})
        self.lake.table("d.t").write({**columns, **given})
        for at, key in enumerate(keys):
            row = self.rows.setdefault(key, dict.fromkeys(self.fields))
            row |= {name: values[at] for name, values in given.items() if values[at] is not None}

    def _value(self, name, lacking):
        if self.chance.random() < lacking:
            return None
        return f"text {self.chance.randrange(9)}" if name == "s" else self.chance.randrange(99)

    def update(self):
        """Set rows: they set NULL as well."""
        name, number = self.chance.choice(self.fields), self.chance.randrange(12)
        value = self._value(name, 0.5)
        self.lake.table("d.t").update({name: "NULL" if value is None else repr(value)}, f"id = {number}")
        for (id_, _), row in self.rows.items():
            if id_ == number:
                row[name] = value

    def delete(self):
        number = self.chance.randrange(12)
        self.lake.table("d.t").delete(f"id = {number}")
        self.rows = {key: row for key, row in self.rows.items() if key[0] != number}

    def add_column(self):
        self.lake.table("d.t").add_column("more", "INT", default="7")
        self.fields.append("more")
        for row in self.rows.values():
            row["more"] = 7

    def optimize(self):
        self.lake.sql("OPTIMIZE d.t")

    def expected(self):
        return sorted((key, tuple(row[name] for name in self.fields)) for key, row in self.rows.items())


def shown(lake, fields):
    table = lake.table("d.t").to_arrow().to_pylist()
    return sorted(((row["id"], row.get("p")), tuple(row[name] for name in fields)) for row in table)


def by_repr(rows):
    return sorted(map(repr, rows))


@pytest.mark.parametrize("removing", [True, False], ids=["with deletes", "adds and updates"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_overlays_hold_what_records_say(tmp_path, monkeypatch, shape, seed, removing):
    chance = random.Random(f"{seed} {shape} {removing}")
    monkeypatch.setattr(overlay, "STRETCH", chance.choice([3, 1 << 19]))
    monkeypatch.setattr(overlay, "_LARGE", chance.choice([0, 1 << 20]))
    with anabranch.connect(tmp_path / "lake", durability="process") as lake:
        lake.sql("CREATE DATABASE d")
        table = Table(lake, shape, chance, removing=removing)
        for _ in range(14):
            table.step()
            if chance.random() < 0.7:
                assert by_repr(shown(lake, table.fields)) == by_repr(table.expected())
        expected = by_repr(table.expected())
        assert lake.table("d.t").count() == len(expected)
    with anabranch.connect(tmp_path / "lake", create=False) as lake:
        assert by_repr(shown(lake, table.fields)) == expected
    monkeypatch.setattr(key_index, "_whole", lambda *_: set())
    monkeypatch.setattr(overlay, "is_plain", lambda _: False)
    with anabranch.connect(tmp_path / "lake", create=False) as lake:
        assert by_repr(shown(lake, table.fields)) == expected
