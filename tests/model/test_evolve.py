"""Column changes, each a row: a schema, a change, and the schema after it or the error.

A schema is written as `label:type`, columns separated by `; `; then `~physical` where it differs, `!` for NOT NULL,
and `=default`.
"""

from __future__ import annotations

import re

import pytest

from anabranch.errors import AlreadyExists, InvalidName, NotFound, Refused, SchemaError
from anabranch.model import evolve
from anabranch.model.evolve import Place
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Array, Map, Struct, StructField, parse_type

BASE = "id:int!; s:struct<a:int,b:struct<c:date>>; l:array<struct<x:int,y:float>>; m:map<string,struct<v:int,w:int>>"
NEW = Column("n", parse_type("bigint"), "n_1")


def schema(text, **more):
    columns = []
    for part in text.split("; "):
        label, type_, physical, null, default = re.fullmatch(r"([\w ]+):([^~!=]+)(~\w+)?(!)?(=.*)?", part).groups()
        columns.append(
            Column(
                label, parse_type(type_), (physical or "~" + label)[1:], not null, None, None, default and default[1:]
            )
        )
    return Schema(1, tuple(columns), **more)


def shown(schema):
    """The schema in the same notation; fields whose physical name differs show it too."""
    return "; ".join(
        f"{c.label}:{_type(c.type)}{'' if c.physical == c.label else '~' + c.physical}{'' if c.nullable else '!'}"
        f"{'' if c.write_default is None else '=' + c.write_default}"
        for c in schema.columns
    )


def _type(type_):
    if isinstance(type_, Struct):
        return f"struct<{','.join(map(_field, type_.fields))}>"
    if isinstance(type_, Array):
        return f"array<{_type(type_.element)}>"
    if isinstance(type_, Map):
        return f"map<{_type(type_.key)},{_type(type_.value)}>"
    return str(type_)


def _field(f: StructField):
    return f"{f.label}:{_type(f.type)}{'' if f.physical == f.label else '~' + f.physical}{'' if f.nullable else '!'}"


def path(text):
    return tuple(text.split("."))


def add(at, place=None, column=NEW):
    return lambda s: evolve.add(s, path(at), column, place)


def drop(at):
    return lambda s: evolve.drop(s, path(at))


def rename(at, label):
    return lambda s: evolve.rename(s, path(at), label)


def widen(at, type_):
    return lambda s: evolve.widen(s, path(at), parse_type(type_))


def move(at, after=None):
    return lambda s: evolve.move(s, path(at), Place(after))


def nullable(at, value):
    return lambda s: evolve.set_nullable(s, path(at), value)


def changed(old, new):
    assert old in BASE
    return BASE.replace(old, new)


CASES = {
    "add last": (add("n"), BASE + "; n:bigint~n_1"),
    "add first": (add("n", Place()), "n:bigint~n_1; " + BASE),
    "add after": (add("n", Place("ID")), changed("id:int!; ", "id:int!; n:bigint~n_1; ")),
    "add after nothing": (add("n", Place("zz")), NotFound),
    "add taken": (add("ID", column=Column("ID", parse_type("int"), "ID_1")), AlreadyExists),
    "add reserved": (add("_row_id", column=Column("_row_id", parse_type("int"), "r")), InvalidName),
    "add field": (add("s.n"), changed("c:date>>", "c:date>,n:bigint~n_1>")),
    "add field first": (add("s.n", Place()), changed("struct<a:int", "struct<n:bigint~n_1,a:int")),
    "add field after": (add("s.n", Place("a")), changed("a:int,b", "a:int,n:bigint~n_1,b")),
    "add deep field": (add("s.b.n"), changed("c:date", "c:date,n:bigint~n_1")),
    "add to elements": (add("l.element.n"), changed("y:float", "y:float,n:bigint~n_1")),
    "add to values": (add("m.value.n"), changed("w:int", "w:int,n:bigint~n_1")),
    "add taken field": (add("s.A", column=Column("A", parse_type("int"), "A")), AlreadyExists),
    "add field to an int": (add("id.n"), SchemaError),
    "add field to nothing": (add("zz.n"), NotFound),
    "add field to no field": (add("s.zz.n"), NotFound),
    "add field to an array": (add("l.n"), SchemaError),
    "add field with default": (add("s.n", column=Column("n", parse_type("int"), "n", write_default="1")), SchemaError),
    "add field not null": (add("s.n", column=Column("n", parse_type("int"), "n", nullable=False)), SchemaError),
    "drop": (drop("S"), changed("s:struct<a:int,b:struct<c:date>>; ", "")),
    "drop field": (drop("s.a"), changed("a:int,b", "b")),
    "drop field of elements": (drop("l.element.y"), changed(",y:float", "")),
    "drop field of values": (drop("m.value.v"), changed("v:int,", "")),
    "drop last field": (drop("s.b.c"), Refused),
    "drop unknown": (drop("zz"), NotFound),
    "drop unknown field": (drop("s.zz"), NotFound),
    "drop element": (drop("l.element"), SchemaError),
    "rename": (rename("id", "key"), changed("id:int!", "key:int~id!")),
    "rename case": (rename("id", "ID"), changed("id:int!", "ID:int~id!")),
    "rename taken": (rename("id", "S"), AlreadyExists),
    "rename reserved": (rename("id", "_ORIGIN"), InvalidName),
    "rename empty": (rename("id", "  "), InvalidName),
    "rename unknown": (rename("zz", "a"), NotFound),
    "rename field": (rename("s.b.c", "day"), changed("c:date", "day:date~c")),
    "rename field of values": (rename("m.value.v", "V2"), changed("v:int", "V2:int~v")),
    "rename field taken": (rename("m.value.v", "W"), AlreadyExists),
    "widen": (widen("id", "bigint"), changed("id:int!", "id:bigint!")),
    "widen to itself": (widen("id", "int"), BASE),
    "narrow": (widen("id", "smallint"), SchemaError),
    "widen to text": (widen("id", "string"), SchemaError),
    "widen field": (widen("s.b.c", "timestamp_ntz"), changed("c:date", "c:timestamp_ntz")),
    "widen field of elements": (widen("l.element.y", "double"), changed("y:float", "y:double")),
    "widen whole struct": (widen("s", "struct<a:bigint,b:struct<c:date>>"), changed("a:int", "a:bigint")),
    "widen whole array":
        (widen("l", "array<struct<x:bigint,y:double>>"), changed("x:int,y:float", "x:bigint,y:double")),
    "widen struct with other fields": (widen("s", "struct<a:bigint,z:struct<c:date>>"), SchemaError),
    "move first": (move("l"), "l:array<struct<x:int,y:float>>; " + changed("l:array<struct<x:int,y:float>>; ", "")),
    "move after": (move("id", "s"), "s:struct<a:int,b:struct<c:date>>; id:int!; " + BASE.split("; ", 2)[2]),
    "move after itself": (move("id", "id"), NotFound),
    "move after unknown": (move("id", "zz"), NotFound),
    "move field": (move("m.value.w"), changed("v:int,w:int", "w:int,v:int")),
    "drop not null": (nullable("id", True), changed("id:int!", "id:int")),
    "set not null": (nullable("s.a", False), changed("a:int", "a:int!")),
    "set default": (lambda s: evolve.set_default(s, "ID", "5"), changed("id:int!", "id:int!=5")),
    "comment": (lambda s: evolve.set_comment(s, ("s", "a"), "c"), BASE),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_changes(case):
    change, expected = CASES[case]
    before = schema(BASE)
    if isinstance(expected, str):
        assert shown(change(before)) == expected
    else:
        with pytest.raises(expected):
            change(before)
    assert before == schema(BASE)


def test_the_comment_is_set():
    found = evolve.set_comment(schema(BASE), ("s", "b"), "why")
    assert found.column("s").type.fields[1].comment == "why"


def test_the_last_column_stays():
    with pytest.raises(Refused, match="'a' is the last column"):
        evolve.drop(schema("a:int"), ("a",))


@pytest.mark.parametrize("kind", ["primary_key", "partitioned_by"])
def test_key_and_partition_columns_stay(kind):
    keyed = schema("k:int; v:int", **{kind: ("k",)})
    for change in (drop("k"), nullable("k", True)):
        with pytest.raises(Refused, match="'k' is"):
            change(keyed)
    renamed = rename("k", "key")(keyed)
    assert getattr(renamed, kind) == ("k",)
    assert shown(renamed) == "key:int~k; v:int"
    drop("v")(schema("k:int; v:int; w:int", **{kind: ("k",)}))


def test_a_key_may_widen_but_a_partition_column_stays():
    assert shown(widen("k", "bigint")(schema("k:int; v:int", primary_key=("k",)))) == "k:bigint; v:int"
    with pytest.raises(Refused, match="'k' is"):
        widen("k", "bigint")(schema("k:int; v:int", primary_key=("k",), partitioned_by=("k",)))


def test_widening_keeps_the_physical_names_of_fields():
    renamed = rename("s.a", "new")(schema(BASE))
    wider = widen("s", "struct<new:bigint,b:struct<c:timestamp_ntz>>")(renamed)
    assert shown(wider) == changed("a:int,b:struct<c:date>", "new:bigint~a,b:struct<c:timestamp_ntz>")
