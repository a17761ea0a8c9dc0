"""Schemas, merged three ways: a table of cases, in the notation of schemas.py, and properties of random histories."""

from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anabranch.branching.law import RULES
from anabranch.branching.members import STEP
from anabranch.branching.readable import unreadable
from anabranch.branching.schema_merge import merge_schemas
from anabranch.errors import AnabranchError
from anabranch.model import evolve
from anabranch.model.names import fold
from anabranch.model.schema import Column, Schema
from anabranch.model.types import BIGINT, DOUBLE, INT, STRING, TINYINT, Decimal, Struct
from tests.branching.schemas import schema, text


class Case(NamedTuple):
    """`merged` is the schema, or the rules that it breaks; `both`: ours and theirs may change places."""

    name: str
    base: str | tuple[str, ...]
    ours: str
    theirs: str
    merged: str = ""
    rules: str = ""
    both: bool = False
    aliases: dict = {}  # noqa: RUF012  never changed

    @property
    def bases(self):
        return [schema(base, 1) for base in ((self.base,) if isinstance(self.base, str) else self.base)]

    def merge(self, **options):
        aliases = options.pop("aliases", self.aliases)
        return merge_schemas(
            self.bases, schema(self.ours, 2), schema(self.theirs, 3), aliases.items(), table="d.t", **options
        )


ONE_SIDE = [
    ("nothing", "id:int, v:string", "id:int, v:string"),
    ("add", "id:int", "id:int, v:string"),
    ("add first", "id:int", "v:string, id:int"),
    ("add between", "id:int, w:int", "id:int, v:string, x:int, w:int"),
    ("add in several places", "a:int, b:int", "p:int, q:int, a:int, r:int, b:int, s:int"),
    ("drop", "id:int, v:string", "id:int"),
    ("drop and add again", "id:int, v:string", "id:int, v@v_2:int"),
    ("rename", "id:int, v:string", "id:int, w@v:string"),
    ("rename in case alone", "id:int, v:string", "id:int, V@v:string"),
    ("swap two names", "a:int, b:int", "b@a:int, a@b:int"),
    ("swap two places", "a:int, b:int", "b:int, a:int"),
    ("move and add and drop", "a:int, b:int, c:int", "c:int, n:int, a:int"),
    ("widen", "v:int", "v:bigint"),
    ("require", "v:int", "v:int!"),
    ("allow NULL", "v:int!", "v:int"),
    ("set default", "v:int", "v:int=1/"),
    ("other default", "v:int=1", "v:int=2/1"),
    ("drop default", "v:int=1", "v:int=/1"),
    ("comment", "v:int", "v:int#c"),
    ("other comment", "v:int#c", "v:int#d"),
    ("add with default", "id:int", "id:int, v:int!=1"),
    ("field added", "s:struct<x:int>", "s:struct<x:int, y:int>"),
    ("field added first", "s:struct<x:int>", "s:struct<y:int, x:int>"),
    ("field dropped", "s:struct<x:int, y:int>", "s:struct<y:int>"),
    ("field renamed", "s:struct<x:int>", "s:struct<z@x:int>"),
    ("field widened", "s:struct<x:int>", "s:struct<x:bigint>"),
    ("field required", "s:struct<x:int>", "s:struct<x:int!>"),
    ("field commented", "s:struct<x:int>", "s:struct<x:int#c>"),
    ("field in an array", "s:array<struct<x:int>>", "s:array<struct<x:bigint, y:int>>"),
    ("field in a map", "s:map<string, struct<x:int>>", "s:map<string, struct<x:bigint, y:int>>"),
    ("element widened", "s:array<int>", "s:array<bigint>"),
    ("value widened", "s:map<string, int>", "s:map<string, bigint>"),
    ("unified by a merge elsewhere", "id:int, v:int", "id:int, v@v_2+v:int=1"),
    ("unified field", "s:struct<x:int>", "s:struct<x@x_2+x:int>"),
    ("repartitioned", "*a:int, b:int, c:int", "a:int, *b:int, c:int"),
]

CASES = [
    # add
    Case("both add", "id:int", "id:int, a:int", "id:int, b:int", "id:int, b:int, a:int"),
    Case("theirs' first stays first", "id:int", "id:int, a:int", "b:int, id:int", "b:int, id:int, a:int"),
    Case("what it follows is gone: last", "a:int, b:int", "a:int, c:int", "a:int, b:int, d:int", "a:int, c:int, d:int"),
    Case("a run of new columns", "a:int", "a:int, o:int", "a:int, x:int, y:int", "a:int, x:int, y:int, o:int"),
    Case("add beside widen", "v:int", "v:bigint", "v:int, n:int", "v:bigint, n:int", both=True),
    Case("add beside drop", "a:int, b:int", "a:int", "a:int, n:int, b:int", "a:int, n:int", both=True),
    # add the same name
    Case("same name, same type", "a:int", "a:int, v:int", "a:int, v@v_2:int", "a:int, v+v_2:int"),
    Case("same name, theirs wider", "a:int", "a:int, v:int", "a:int, v@v_2:bigint", "a:int, v+v_2:bigint"),
    Case("same name, ours wider", "a:int", "a:int, v:bigint", "a:int, v@v_2:int", rules="A6.1"),
    Case("same name, other type", "a:int", "a:int, v:int", "a:int, v@v_2:string", rules="added", both=True),
    Case("same name but for case", "a:int", "a:int, V:int", "a:int, v@v_2:int", "a:int, V+v_2:int"),
    Case("same name, ours' default", "a:int", "a:int, v:int=1", "a:int, v@v_2:int=2", "a:int, v+v_2:int=1"),
    Case("same name, no default on ours", "a:int", "a:int, v:int", "a:int, v@v_2:int=2", "a:int, v+v_2:int"),
    Case("same name, NOT NULL on ours", "a:int", "a:int, v:int!=1", "a:int, v@v_2:int", "a:int, v+v_2:int!=1"),
    Case("same name, NOT NULL on theirs", "a:int", "a:int, v:int=1", "a:int, v@v_2:int!=2", "a:int, v+v_2:int!=1"),
    Case("same name, comments", "a:int", "a:int, v:int#o", "a:int, v@v_2:int#t", "a:int, v+v_2:int#t"),
    Case("same name, ours' comment", "a:int", "a:int, v:int#o", "a:int, v@v_2:int", "a:int, v+v_2:int#o"),
    Case(
        "same name, after drops on both",
        "a:int, v:int",
        "a:int, v@v_2:string",
        "a:int, v@v_3:string",
        "a:int, v@v_2+v_3:string",
    ),
    Case("same name, where ours has it", "a:int, b:int", "v:int, a:int, b:int", "a:int, v@v_2:int, b:int",
         "v+v_2:int, a:int, b:int"),
    Case("same name again, new beside it", "a:int", "a:int, v:int", "a:int, v@v_2:int, n:int",
         "a:int, v+v_2:int, n:int"),
    Case("same struct", "a:int", "a:int, s:struct<x:int>", "a:int, s@s_2:struct<x:int>", "a:int, s+s_2:struct<x:int>"),
    Case("same struct, wider", "a:int", "a:int, s:struct<x:int>", "a:int, s@s_2:struct<x:bigint>",
         "a:int, s+s_2:struct<x:bigint>"),
    Case("same struct, other fields", "a:int", "a:int, s:struct<x:int>", "a:int, s@s_2:struct<x:int, y:int>",
         rules="added", both=True),
    Case("same struct, a field renamed", "a:int", "a:int, s:struct<x:int>", "a:int, s@s_2:struct<z@x:int>",
         rules="added", both=True),
    Case("the very same column, by cherry-pick", "a:int", "a:int, v:int", "a:int, v:int", "a:int, v:int"),
    Case("cherry-picked, then renamed", "a:int", "a:int, v:int", "a:int, w@v:int", "a:int, w@v:int"),
    Case("cherry-picked, then a default", "a:int", "a:int, v:int", "a:int, v:int=1/", "a:int, v:int=1/"),
    # names
    Case("added name meets a renamed one", "a:int", "a:int, b:int", "b@a:int", rules="names", both=True),
    Case("two renamed to one", "a:int, b:int", "c@a:int, b:int", "a:int, c@b:int", rules="names", both=True),
    Case("two renamed to one but for case", "a:int, b:int", "C@a:int, b:int", "a:int, c@b:int", rules="names",
         both=True),
    Case("renamed to a dropped one's name", "a:int, b:int", "a:int", "b@a:int", "b@a:int", both=True),
    Case("renamed over what theirs dropped", "a:int, b:int, c:int", "a:int, b:int, c:int, d:int", "b@a:int, c:int",
         "b@a:int, c:int, d:int"),
    Case("renames in a ring", "a:int, b:int", "x@a:int, b:int", "b@a:int, a@b:int", "b@a:int, a@b:int"),
    Case("half a swap", "a:int, b:int", "b@a:int, x@b:int", "a:int, y@b:int", "b@a:int, y@b:int"),
    Case("half a swap undone", "a:int, b:int", "b@a:int, a@b:int", "a:int, c@b:int", "b@a:int, c@b:int"),
    Case("a reserved name", "a:int", "a:bigint", "a:int, _Kind:int", rules="names", both=True),
    Case("physical names that differ in case", "a:int", "a:int, v:int", "a:int, w@V:int", rules="names", both=True),
    # drop
    Case("both drop one", "a:int, b:int", "a:int", "a:int", "a:int"),
    Case("both drop another", "a:int, b:int, c:int", "a:int, b:int", "a:int, c:int", "a:int", both=True),
    Case("all dropped", "a:int, b:int", "a:int", "b:int", rules="empty", both=True),
    Case("only the partition column left", "*a:int, b:int, c:int", "*a:int, b:int", "*a:int, c:int", rules="empty",
         both=True),
    Case("drop beside rename", "a:int, b:int", "a:int", "a:int, c@b:int", "a:int", both=True),
    Case("drop beside widen", "a:int, b:int", "a:int", "a:int, b:bigint", "a:int", both=True),
    Case("drop beside default and NOT NULL", "a:int, b:int", "a:int", "a:int, b:int!=1/", "a:int", both=True),
    Case("drop and add again beside widen", "a:int, v:int", "a:int, v@v_2:string", "a:int, v:bigint",
         "a:int, v@v_2:string", both=True),
    Case("drop and add again beside rename", "a:int, v:int", "a:int, w@v:int", "a:int, v@v_2:string",
         "a:int, v@v_2:string", both=True),
    # rename
    Case("rename beside widen", "v:int", "v:bigint", "w@v:int", "w@v:bigint", both=True),
    Case("both rename alike", "v:int", "w@v:int", "w@v:int", "w@v:int"),
    Case("both rename: theirs' name", "v:int", "o@v:int", "t@v:int", "t@v:int"),
    # types
    Case("both widen alike", "v:int", "v:bigint", "v:bigint", "v:bigint"),
    Case("theirs wider", "v:tinyint", "v:int", "v:bigint", "v:bigint"),
    Case("ours wider", "v:tinyint", "v:bigint", "v:int", rules="A6.1"),
    Case("ours wider, theirs as it was", "v:int", "v:bigint", "v:int, n:int", "v:bigint, n:int", both=True),
    Case("no order between them", "v:int", "v:bigint", "v:double", rules="incompatible", both=True),
    Case("decimals of which one holds the other", "v:decimal(4,2)", "v:decimal(6,2)", "v:decimal(8,3)",
         "v:decimal(8,3)"),
    Case("decimals of which none does", "v:decimal(4,2)", "v:decimal(6,2)", "v:decimal(6,4)", rules="incompatible",
         both=True),
    Case("theirs went back to the narrow type", "v:bigint, n:int", "v:bigint", "v:int, n:int", rules="A6.1"),
    Case("two columns, two conflicts", "a:int, b:tinyint", "a:bigint, b:bigint", "a:double, b:int",
         rules="incompatible A6.1"),
    # NOT NULL, defaults, comments
    Case("require beside rename", "v:int", "v:int!", "w@v:int", "w@v:int!", both=True),
    Case("allow NULL beside widen", "v:int!", "v:int", "v:bigint!", "v:bigint", both=True),
    Case("other attributes", "v:int=1#a", "v:int=2/1#a", "v:int=1#b", "v:int=2/1#b", both=True),
    Case("both set a default: theirs'", "v:int=1", "v:int=2/1", "v:int=3/1", "v:int=3/1"),
    Case("default dropped on theirs", "v:int=1", "v:int=2/1", "v:int=/1", "v:int=/1"),
    Case("both comment: theirs'", "v:int", "v:int#a", "v:int#b", "v:int#b"),
    Case("comment dropped on theirs", "v:int#a", "v:int#b", "v:int", "v:int"),
    # order
    Case("theirs moved", "a:int, b:int, c:int", "a:int, b:int, c:bigint", "c:int, a:int, b:int",
         "c:bigint, a:int, b:int", both=True),
    Case("both moved: theirs' order", "a:int, b:int, c:int", "b:int, a:int, c:int", "c:int, a:int, b:int",
         "c:int, a:int, b:int"),
    Case("both moved alike", "a:int, b:int, c:int", "c:int, a:int, b:int", "c:int, a:int, b:int",
         "c:int, a:int, b:int"),
    Case("both moved, and added", "a:int, b:int, c:int", "b:int, n:int, a:int, c:int", "c:int, a:int, m:int, b:int",
         "c:int, a:int, m:int, b:int, n:int"),
    Case("both moved fields", "s:struct<x:int, y:int, z:int>", "s:struct<y:int, x:int, z:int>",
         "s:struct<z:int, x:int, y:int>", "s:struct<z:int, x:int, y:int>"),
    Case("theirs moved, ours added", "a:int, b:int", "a:int, n:int, b:int", "b:int, a:int", "b:int, a:int, n:int"),
    Case("ours moved, theirs added", "a:int, b:int", "b:int, a:int", "a:int, n:int, b:int", "b:int, a:int, n:int"),
    # inside structs
    Case("both add a field", "s:struct<x:int>", "s:struct<x:int, y:int>", "s:struct<x:int, z:int>",
         "s:struct<x:int, z:int, y:int>"),
    Case("both add one field", "s:struct<x:int>", "s:struct<x:int, y:int>", "s:struct<x:int, y@y_2:bigint>",
         "s:struct<x:int, y+y_2:bigint>"),
    Case("one field, ours wider", "s:struct<x:int>", "s:struct<x:int, y:bigint>", "s:struct<x:int, y@y_2:int>",
         rules="A6.1"),
    Case("field dropped beside renamed", "s:struct<x:int, y:int>", "s:struct<x:int>", "s:struct<x:int, z@y:int>",
         "s:struct<x:int>", both=True),
    Case("all fields dropped", "s:struct<x:int, y:int>", "s:struct<x:int>", "s:struct<y:int>", rules="empty",
         both=True),
    Case("fields renamed to one", "s:struct<x:int, y:int>", "s:struct<z@x:int, y:int>", "s:struct<x:int, z@y:int>",
         rules="names", both=True),
    Case("field widened on ours beside another", "s:struct<x:int, y:int>", "s:struct<x:bigint, y:int>",
         "s:struct<x:int, y:bigint>", "s:struct<x:bigint, y:bigint>", both=True),
    Case("field, ours wider", "s:struct<x:tinyint>", "s:struct<x:bigint>", "s:struct<x:int>", rules="A6.1"),
    Case("deep inside", "s:struct<t:array<struct<x:int>>>", "s:struct<t:array<struct<x:bigint>>>",
         "s:struct<t:array<struct<x:int, y:map<string, struct<z:int>>>>>",
         "s:struct<t:array<struct<x:bigint, y:map<string, struct<z:int>>>>>", both=True),
    Case("struct beside rename of its column", "s:struct<x:int>", "r@s:struct<x:int>", "s:struct<x:int, y:int>",
         "r@s:struct<x:int, y:int>", both=True),
    Case("element, ours wider", "s:array<tinyint>", "s:array<bigint>", "s:array<int>", rules="A6.1"),
    Case("a name may stand in two structs", "a:struct<x:int>, b:struct<y:int>",
         "a:struct<x:int, n:int>, b:struct<y:int>",
         "a:struct<x:int>, b:struct<y:int, n:int>", "a:struct<x:int, n:int>, b:struct<y:int, n:int>", both=True),
    # aliases of earlier merges
    Case("unified before, merged again", "a:int", "a:int, v+v_2:int=1", "a:int, v@v_2:int=2", "a:int, v+v_2:int=1"),
    Case("unified before, widened on theirs", "a:int, v@v_2:int", "a:int, v+v_2:int", "a:int, v@v_2:bigint",
         "a:int, v+v_2:bigint"),
    Case("unified before, dropped on theirs", "a:int, v@v_2:int", "a:int, v+v_2:int", "a:int", "a:int", both=True),
    Case("unified before, renamed on theirs", "a:int, v@v_2:int", "a:int, v+v_2:int", "a:int, w@v_2:int",
         "a:int, w@v+v_2:int"),
    Case("unified on each side the other way", "a:int", "a:int, v+v_2:int", "a:int, v@v_2+v:int", "a:int, v+v_2:int"),
    Case("unified with a third", "a:int", "a:int, v+v_2:int", "a:int, v@v_3:int", "a:int, v+v_2+v_3:int"),
    Case("an alias that was undone still holds", "a:int", "a:int, v:int", "a:int, w@v_2:int", "a:int, w@v+v_2:int",
         aliases={"v_2": "v"}),
    Case("without it they are two", "a:int", "a:int, v:int", "a:int, w@v_2:int", "a:int, w@v_2:int, v:int"),
    Case("aliases of aliases", "a:int", "a:int, v:int", "a:int, w@v_3:int", "a:int, w@v+v_3:int",
         aliases={"v_3": "v_2", "v_2": "v"}),
    Case("aliases in a ring", "a:int", "a:int, v:int", "a:int, w@v_2:int", "a:int, w@v+v_2:int",
         aliases={"v_2": "v", "v": "v_2"}),
    Case("two columns on theirs", "a:int", "a:int, v+v_2:int", "a:int, v:int, w@v_2:int", rules="alias", both=True),
    Case("two columns on theirs, by history", "a:int", "a:int, v:int", "a:int, v:int, w@v_2:int", rules="alias",
         both=True, aliases={"v_2": "v"}),
    Case("two columns on both sides", "a:int", "a:int, v:int, w@v_2:int", "a:int, v:bigint, w@v_2:int",
         "a:int, v:bigint, w@v_2:int", aliases={"v_2": "v"}),
    Case("two columns on ours, none on theirs", "a:int", "a:int, v:int, w@v_2:int", "a:int, n:int",
         "a:int, n:int, v:int, w@v_2:int", aliases={"v_2": "v"}),
    Case("an alias of a field", "s:struct<x:int>", "s:struct<x:int, y:int>", "s:struct<x:int, z@y_2:int>",
         "s:struct<x:int, z@y+y_2:int>", aliases={f"s{STEP}y_2": f"s{STEP}y"}),
    Case("an alias of another struct's field", "s:struct<x:int>", "s:struct<x:int, y:int>",
         "s:struct<x:int, z@y_2:int>",
         "s:struct<x:int, z@y_2:int, y:int>", aliases={"y_2": "y", f"t{STEP}y_2": f"t{STEP}y"}),
    Case("a field of a struct that was unified", "a:int, s:struct<x:int>", "a:int, s:struct<x:int, y:int>",
         "a:int, s@s_2+s:struct<x:int, y:int>", "a:int, s@s_2+s:struct<x:int, y:int>"),
    Case("two fields of one name in a struct that was unified", "a:int, s:struct<x:int>",
         "a:int, s:struct<x:int, z@y:int>", "a:int, s@s_2+s:struct<x:int, y:int>", rules="names", both=True),
    # key and partition spec
    Case("both repartition", "*a:int, b:int, c:int", "a:int, *b:int, c:int", "a:int, b:int, *c:int", rules="A7",
         both=True),
    Case("both repartition alike", "*a:int, b:int, c:int", "a:int, *b:int, c:int", "a:int, *b:int, c:bigint",
         "a:int, *b:int, c:bigint", both=True),
    Case("repartitioned by a column that the other dropped", "*a:int, b:int, c:int", "*a:int, c:int",
         "a:int, *b:int, c:int", rules="A7", both=True),
    # several bases
    Case("bases agree", ("a:int", "a:int"), "a:int, v:int", "a:bigint", "a:bigint, v:int", both=True),
    Case("one base lacks it, renamed on ours", ("a:int, v:int", "a:int"), "a:int, w@v:int", "a:int, v:int",
         "a:int, w@v:int", both=True),
    Case("one base lacks it, dropped on one side", ("a:int, v:int", "a:int"), "a:int, v:int", "a:int, n:int",
         "a:int, n:int", both=True),
    Case("bases disagree on a name", ("v:int", "w@v:int"), "v:int", "w@v:int", "w@v:int"),
    Case("bases disagree on NOT NULL", ("v:int", "v:int!"), "v:int", "v:int!", "v:int!", both=True),
    Case("bases disagree on a type, theirs narrow", ("v:int", "v:bigint"), "v:bigint", "v:int", rules="A6.1"),
    Case("bases disagree on a type, theirs wide", ("v:int", "v:bigint"), "v:int", "v:bigint", "v:bigint"),
    Case("no base", (), "a:int, v:int", "a:bigint, w:int", "a:bigint, w:int, v:int"),
]  # fmt: skip


def named(cases):
    return {"argvalues": cases, "ids": [case[0] for case in cases]}


@pytest.mark.parametrize("case", **named(CASES))
def test_cases(case):
    for side in (case, case._replace(ours=case.theirs, theirs=case.ours)) if case.both else (case,):
        merged = side.merge()
        assert [c.rule for c in merged.conflicts] == case.rules.split()
        if case.rules:
            assert all(c.object == "d.t" and c.kind == "column" and c.rule in RULES for c in merged.conflicts)
            continue
        places = sorted if side is not case else list  # the order depends on who merges, the rest is symmetric
        assert places(text(merged.schema).split(", ")) == places(text(schema(case.merged)).split(", "))
        assert merged.changed == (text(merged.schema) != text(schema(side.ours)))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "preview", "told"),
    [
        ("a:int, b:int", "a:int, c@b:int", "c@a:int, b:int", "c (theirs)@a:int, c@b:int", ["b", "a"]),
        ("a:int, b:int", "c@a:int, b:int", "a:int, c@b:int", "c@a:int, c (theirs)@b:int", ["a", "b"]),
        ("a:int, b:int", "a:int, c@b:int", "a:int, b:int, C@c_2:int", "a:int, c@b:int, C (theirs)@c_2:int",
         ["b", "c_2"]),
        ("a:int, b:int, c (theirs):int", "a:int, c@b:int, c (theirs):int", "c@a:int, b:int, c (theirs):int",
         "c (theirs) (theirs)@a:int, c@b:int, c (theirs):int", ["b", "a"]),
        ("s:struct<a:int, b:int>", "s:struct<a:int, c@b:int>", "s:struct<c@a:int, b:int>",
         "s:struct<c (theirs)@a:int, c@b:int>", ["b", "a"]),
    ],
)  # fmt: skip
def test_labels_that_collide_are_told_apart_in_the_preview(base, ours, theirs, preview, told):
    merged = merge_schemas([schema(base, 1)], schema(ours, 2), schema(theirs, 3))
    assert text(merged.schema) == preview
    (conflict,) = merged.conflicts
    assert [str(side).rpartition("stored as ")[2] for side in (conflict.ours, conflict.theirs)] == told


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "apart"),
    [
        ("v:int", "v:bigint", "v:double", {"v": ("bigint", "double")}),
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", {"v": ("int", "string")}),
        (
            "s:struct<x:int>",
            "s:struct<x:bigint>",
            "s:struct<x:double>",
            {"s": ("struct<x:bigint>", "struct<x:double>")},
        ),
        ("v:int", "v:bigint", "v:smallint", {}),
        ("a:int, b:int", "c@a:int, b:int", "a:int, c@b:int", {}),
    ],
)
def test_columns_whose_types_conflict_are_apart(base, ours, theirs, apart):
    found = merge_schemas([schema(base, 1)], schema(ours, 2), schema(theirs, 3)).apart
    assert {name: tuple(str(column.type) for column in pair) for name, pair in found.items()} == apart


@pytest.mark.parametrize(("name", "base", "changed"), **named(ONE_SIDE))
def test_one_side_alone_gets_its_way(name, base, changed):
    old, new = schema(base, 1), schema(changed, 2)
    assert merge_schemas([old], old, new).conflicts == ()
    assert text(merge_schemas([old], old, new).schema) == text(new)
    assert merge_schemas([old], new, old).schema is new
    assert merge_schemas([old, old], old, new).schema.columns == new.columns
    assert merge_schemas([old], new, new).schema is new


@pytest.mark.parametrize(("name", "base", "changed"), **named(ONE_SIDE))
def test_the_notation_reads_what_it_writes(name, base, changed):
    assert text(schema(changed)) == changed


def test_the_id_tells_whose_schema_it_is():
    base, other = schema("a:int", 1), schema("a:int, b:int", 2)
    assert merge_schemas([base], base, other).schema.id == 2
    assert merge_schemas([base], other, base).schema.id == 2
    assert merge_schemas([base], other, schema("a:bigint", 3)).schema.id == 0


def test_new_aliases_are_recorded_once():
    case = Case("", "a:int, s:struct<x:int>", "a:int, s:struct<x:int, y:int>, v:int",
                "a:int, s:struct<x:int, y@y_2:int>, v@v_2:int")  # fmt: skip
    first = case.merge()
    assert first.new_aliases == {"v_2": "v", f"s{STEP}y_2": f"s{STEP}y"}
    again = merge_schemas(case.bases, first.schema, schema(case.theirs), first.new_aliases.items())
    assert (again.new_aliases, again.changed) == ({}, False)


def test_a_conflict_shows_the_three_values():
    (conflict,) = Case("", "s:struct<x:tinyint>", "s:struct<x:bigint>", "s:struct<x:int>").merge().conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == ("tinyint", "bigint", "int")
    assert (conflict.object, conflict.column) == ("d.t", "s.x")
    assert str(conflict) == "d.t, column s.x: theirs int, ours bigint (A6.1)"


@pytest.mark.parametrize(
    ("name", "base", "ours", "theirs", "by_ours", "by_theirs"),
    **named([
        ("the wider holds both", "v:tinyint", "v:bigint", "v:int", "v:bigint", "v:bigint"),
        ("added, the wider holds both", "a:int", "a:int, v:bigint", "a:int, v@v_2:int", "a:int, v+v_2:bigint",
         "a:int, v+v_2:bigint"),
        ("no order: the chosen type", "v:int", "v:bigint", "v:double", "v:bigint", "v:double"),
        ("added: the chosen column alone", "a:int", "a:int, v:int", "a:int, v@v_2:string", "a:int, v:int",
         "a:int, v@v_2:string"),
        ("in a struct", "s:struct<x:int>", "s:struct<x:bigint>", "s:struct<x:double>", "s:struct<x:bigint>",
         "s:struct<x:double>"),
        ("the default goes with its type", "v:int=1/", "v:bigint=2/", "v:double=0.5/", "v:bigint=2/", "v:double=0.5/"),
        ("what does not conflict is not chosen", "v:int, w:int", "o@v:int, w:bigint", "t@v:int, w:double",
         "t@v:int, w:bigint", "t@v:int, w:double"),
    ]),
)  # fmt: skip
def test_resolutions(name, base, ours, theirs, by_ours, by_theirs):
    for side, wanted in (("ours", by_ours), ("theirs", by_theirs)):
        merged = Case(name, base, ours, theirs).merge(resolve=side)
        assert (merged.conflicts, text(merged.schema)) == ((), wanted)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "by_theirs"),
    [
        ("v:bigint", "v:bigint, z:int", "v:int", "v:int, z:int"),
        ("v:bigint", "v:decimal(20,0), z:int", "v:int", "v:int, z:int"),
        ("v:bigint=1/", "v:bigint=5000000000/", "v:int=1/", "v:int=1/"),
        ("s:struct<x:bigint>", "s:struct<x:bigint, y:int>", "s:struct<x:int>", "s:struct<x:int, y:int>"),
        ("v:array<bigint>", "v:array<bigint>, z:int", "v:array<int>", "v:array<int>, z:int"),
    ],
)
def test_going_back_theirs_undoes_a_widening(base, ours, theirs, by_theirs):
    case = Case("", base, ours, theirs)
    assert [conflict.rule for conflict in case.merge(backwards=True).conflicts] == ["A6.1"]
    assert text(case.merge(backwards=True, resolve="theirs").schema) == by_theirs
    assert text(case.merge(backwards=True, resolve="ours").schema) == ours
    assert text(case.merge(resolve="theirs").schema) == ours


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "side", "written", "held"),
    [
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", "ours", "a:int, v@v_2:string", True),
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", "ours", "a:int, w@v_2:string, x:int", True),
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", "ours", "a:int, v:int", False),
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", "theirs", "a:int, v:int", True),
        ("a:int", "a:int, v:int", "a:int, v@v_2:string", "theirs", "a:int, v@v_2:string", False),
        ("a:int", "a:int, v:int", "a:int, v@v_2+v_3:string", "ours", "a:int, v@v_3:string", True),
        ("s:struct<a:int>", "s:struct<a:int, v:int>", "s:struct<a:int, v@v_2:string>", "ours",
         "s:struct<a:int, v@v_2:string>", True),
        ("s:struct<a:int>", "s:struct<a:int, v:int>", "s:struct<a:int, v@v_2:string>", "ours",
         "v_2:string, s:struct<a:int>", False),
        ("s+s_2:struct<a:int>", "s+s_2:struct<a:int, v:int>", "s+s_2:struct<a:int, v@v_2:string>", "theirs",
         "s@s_2:struct<v:int>", True),
        ("s:map<string, array<struct<a:int>>>", "s:map<string, array<struct<a:int, v:int>>>",
         "s:map<string, array<struct<a:int, v@v_2:string>>>", "ours", "s:map<string, array<struct<v_2:string>>>", True),
        ("a:int", "a:int, s:struct<x:int>", "a:int, s@s_2:struct<x:int, y:int>", "theirs", "s:struct<x:int>", True),
    ],
)  # fmt: skip
def test_rows_of_the_column_that_a_resolution_left_out_are_known(base, ours, theirs, side, written, held):
    (left,) = Case("", base, ours, theirs).merge(resolve=side).left_out
    assert left.held(schema(written)) == held
    assert (left.top, left.sides) in {
        (column.physical, (mine, other))
        for mine in schema(ours).columns
        for other in schema(theirs).columns
        for column in (mine, other)
    }


@pytest.mark.parametrize(
    "case", **named([c for c in CASES if set(c.rules.split()) & {"names", "alias", "A7", "empty"}])
)
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_names_and_specs_are_not_resolved(case, side):
    assert case.merge(resolve=side).conflicts


def test_primary_keys():
    base = Schema(1, schema("a:int!, b:int!, c:int").columns, ("a",))
    other = Schema(2, base.columns, ("b",))
    third = Schema(3, base.columns, ("a", "b"))
    assert merge_schemas([base], base, other).schema is other
    assert [c.rule for c in merge_schemas([base], other, third).conflicts] == ["A7"]
    (conflict,) = merge_schemas([base], other, third).conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == (
        "primary key (a)",
        "primary key (b)",
        "primary key (a, b)",
    )


# --- random histories -------------------------------------------------------------------------------------------------

BASE = "id:int!, v:tinyint=1, w:string, s:struct<x:tinyint, y:string>"
LABELS = ["id", "v", "w", "n", "m"]
TYPES = [TINYINT, INT, BIGINT, DOUBLE, Decimal(20, 0), STRING]
paths = st.sampled_from([(label,) for label in LABELS]) | st.sampled_from([("s", f) for f in ("x", "y", "n")])
places = st.none() | st.builds(evolve.Place, st.none() | st.sampled_from([*LABELS, "x", "y"]))
steps = st.one_of(
    st.tuples(st.just("add"), paths, st.sampled_from(TYPES), places, st.sampled_from([None, "1", "2"])),
    st.tuples(st.just("drop"), paths | st.just(("s",))),
    st.tuples(st.just("rename"), paths, st.sampled_from(LABELS)),
    st.tuples(st.just("widen"), paths, st.sampled_from(TYPES)),
    st.tuples(st.just("set_nullable"), paths, st.booleans()),
    st.tuples(st.just("set_comment"), paths, st.sampled_from(["a", "b"])),
    st.tuples(st.just("set_default"), paths, st.sampled_from(["1", "2"])),
    st.tuples(st.just("move"), paths, places),
)
histories = st.lists(steps, max_size=6)


class Names:
    """Physical names as the catalog gives them: never twice in one place, on any branch."""

    def __init__(self):
        self.taken = {"": {"id", "v", "w", "s"}, "s": {"x", "y"}}

    def new(self, path):
        taken = self.taken[path[0] if len(path) > 1 else ""]
        name = next(n for n in (path[-1], *(f"{path[-1]}_{i}" for i in range(2, 99))) if n not in taken)
        taken.add(name)
        return name


def evolved(start, history, names):
    """Steps that do not apply are left out, as statements that failed."""
    now = start
    for verb, path, *rest in history:
        try:
            if verb == "add":
                type_, place, default = rest
                default = None if len(path) > 1 else default
                column = Column(path[-1], type_, names.new(path), initial_default=default, write_default=default)
                now = evolve.add(now, path, column, place)
            elif verb == "set_default":
                now = evolve.set_default(now, path[0], rest[0])
            elif verb != "move" or rest[0] is not None:
                now = getattr(evolve, verb)(now, path, *rest)
        except AnabranchError:
            continue
    return now


def everything(found):
    """Every name under which a column or a field is held, by its place."""
    tops = {(name,) for c in found.columns for name in (c.physical, *c.aliases)}
    structs = [("s", c.type) for c in found.columns if isinstance(c.type, Struct)]
    return tops | {(s, name) for s, t in structs for f in t.fields for name in (f.physical, *f.aliases)}


def distinct(names):
    folded = [fold(name) for name in names]
    return len(folded) == len(set(folded))


@given(histories, histories)
def test_a_side_that_stood_still_takes_the_other(history, before):
    names = Names()
    base = evolved(schema(BASE), before, names)
    head = evolved(base, history, names)
    merged = merge_schemas([base], base, head)
    assert merged.conflicts == ()
    assert text(merged.schema) == text(head)
    assert merge_schemas([base], head, base).schema is head


@given(histories, histories)
def test_nothing_is_lost_and_nothing_comes_back(one, another):
    names = Names()
    base = schema(BASE)
    ours, theirs = evolved(base, one, names), evolved(base, another, names)
    merged = merge_schemas([base], ours, theirs)
    assume(not merged.conflicts)
    before, mine, other, now = map(everything, (base, ours, theirs, merged.schema))
    dropped = (before - mine) | (before - other)
    whole = {path for path in mine | other if path[:1] not in dropped}
    assert now == whole - dropped
    assert distinct(merged.schema.labels)
    assert distinct(name for c in merged.schema.columns for name in (c.physical, *c.aliases))
    assert not unreadable(merged.schema, ours)
    assert not unreadable(merged.schema, theirs)


@given(histories, histories)
def test_merging_twice_is_merging_once(one, another):
    names = Names()
    base = schema(BASE)
    ours, theirs = evolved(base, one, names), evolved(base, another, names)
    merged = merge_schemas([base], ours, theirs)
    assume(not merged.conflicts)
    assert merge_schemas([theirs], merged.schema, theirs).schema is merged.schema
    again = merge_schemas([base], merged.schema, theirs, merged.new_aliases.items())
    assert again.conflicts == ()
    assert text(again.schema) == text(merged.schema)
    back = merge_schemas([theirs], theirs, merged.schema, merged.new_aliases.items())
    assert back.conflicts == ()
    assert text(back.schema) == text(merged.schema)


@given(histories, histories)
def test_both_ways_hold_the_same_columns(one, another):
    names = Names()
    base = schema(BASE)
    ours, theirs = evolved(base, one, names), evolved(base, another, names)
    there, back = merge_schemas([base], ours, theirs), merge_schemas([base], theirs, ours)
    assume(not there.conflicts and not back.conflicts)
    assert everything(there.schema) == everything(back.schema)
    assert {c.type for c in there.schema.columns if not isinstance(c.type, Struct)} == {
        c.type for c in back.schema.columns if not isinstance(c.type, Struct)
    }


@given(histories, histories, histories)
def test_the_order_of_bases_does_not_matter(one, another, third):
    names = Names()
    first = evolved(schema(BASE), third, names)
    ours, theirs = evolved(first, one, names), evolved(first, another, names)
    merged = merge_schemas([schema(BASE), first], ours, theirs)
    turned = merge_schemas([first, schema(BASE)], ours, theirs)
    assert text(merged.schema) == text(turned.schema)
    assert len(merged.conflicts) == len(turned.conflicts)


@given(histories, histories, histories)
def test_aliases_hold_in_later_merges(one, another, third):
    """Ours merges theirs, theirs goes on, and each merges the other: no column is doubled, none is lost."""
    names = Names()
    base = schema(BASE)
    ours, theirs = evolved(base, one, names), evolved(base, another, names)
    first = merge_schemas([base], ours, theirs)
    assume(not first.conflicts)
    later = evolved(theirs, third, names)
    for second in (
        merge_schemas([theirs], first.schema, later, first.new_aliases.items()),
        merge_schemas([theirs], later, first.schema, first.new_aliases.items()),
    ):
        if second.conflicts:
            continue
        held = [name for c in second.schema.columns for name in (c.physical, *c.aliases)]
        assert distinct(held)
        assert distinct(second.schema.labels)
        assert {c.physical for c in later.columns if theirs.physical(c.physical) is None} <= set(held)
        for column in first.schema.columns:
            counterpart = theirs.stored_as(column)
            dropped = counterpart is not None and later.physical(counterpart.physical) is None
            assert (column.physical in held) != dropped
