"""Predicates as the catalog keeps them: physical names, and the rest as it was written."""

import pytest

from anabranch.execution.predicate import Predicate, Scope
from anabranch.model import types
from anabranch.model.schema import Column, Schema

SCHEMA = Schema(
    1,
    (
        Column("id", types.INT, "c-1"),
        Column("name", types.STRING, "b"),
        Column("S", types.parse_type("struct<x: int, y: int>"), "s`2"),
        Column("list", types.parse_type("array<int>"), "day"),
    ),
)

KEPT = {
    "ID = 1L -- one": "`c-1` = 1L -- one",
    "t.id+d.t.id>0": "`c-1`+`c-1`>0",
    "`name` rlike r'\\d' || 'it''s'": "`b` rlike r'\\d' || 'it''s'",
    "-1::string = name": "-1::string = `b`",
    "named_struct('x', s.x + 1, 'y', t.s.y)": "named_struct('x', `s``2`.`x` + 1, 'y', `s``2`.`y`)",
    "exists(list, name -> name > id)": "exists(`day`, name -> name > `c-1`)",
    "timestampadd(DAY, id, other)": "timestampadd(DAY, `c-1`, other)",
    "to_timestamp(name) IS NULL": "to_timestamp(`b`) IS NULL",
    "id IN (SELECT id FROM d.u)": "id IN (SELECT id FROM d.u)",
}


@pytest.mark.parametrize("text", KEPT)
def test_only_names_change(text):
    assert Predicate(text, Scope(("d", "t"))).physical(SCHEMA) == KEPT[text]


def test_an_alias_is_the_only_qualifier():
    assert Predicate("x.id = 1", Scope(("d", "t"), "x")).physical(SCHEMA) == "`c-1` = 1"
