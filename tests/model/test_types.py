"""Types: their text and JSON come back as the same type, and the table of widenings is exactly the allowed one."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError, SqlError, UnsupportedType
from anabranch.model import types
from anabranch.model.types import (
    Array,
    Decimal,
    Map,
    Struct,
    StructField,
    common,
    from_json,
    parse_type,
    physical_type,
    quote_identifier,
    renames_fields,
    structs_in,
    to_json,
    widens,
)

ATOMS = [
    types.TINYINT, types.SMALLINT, types.INT, types.BIGINT, types.FLOAT, types.DOUBLE, types.STRING, types.BINARY,
    types.BOOLEAN, types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ,
]  # fmt: skip
LABELS = st.one_of(
    st.sampled_from(["a", "b c", "x.y", "日本", "`", "array", "not", "comment", "a`b", ">", ","]),
    st.text(min_size=1, max_size=4),
)


def decimals():
    return st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))


@st.composite
def any_type(draw, depth=3, *, stored=False):
    """`stored`: as the catalog keeps it, with physical names, NOT NULL and comments that DDL text does not show."""
    kind = draw(st.sampled_from(["atom", "decimal", "array", "map", "struct"] if depth else ["atom", "decimal"]))
    inner = any_type(depth - 1, stored=stored)
    if kind == "atom":
        return draw(st.sampled_from(ATOMS))
    if kind == "decimal":
        return draw(decimals())
    nulls = draw(st.booleans()) if stored else True
    if kind == "array":
        return Array(draw(inner), nulls)
    if kind == "map":
        return Map(draw(inner), draw(inner), nulls)
    labels = draw(st.lists(LABELS, min_size=1, max_size=3, unique_by=str.lower))
    fields = []
    for place, label in enumerate(labels):
        if stored:
            comment = draw(st.one_of(st.none(), st.text(max_size=3)))
            fields.append(StructField(label, draw(inner), f"p{place}", draw(st.booleans()), comment))
        else:
            fields.append(StructField(label, draw(inner), label))
    return Struct(tuple(fields))


@given(any_type())
def test_text_comes_back(type_):
    assert parse_type(str(type_)) == type_


@given(any_type(stored=True))
def test_json_comes_back(type_):
    assert from_json(json.loads(json.dumps(to_json(type_)))) == type_


@given(any_type())
def test_case_and_space_do_not_count(type_):
    spaced = str(type_).replace("<", " < ").replace(",", " , ") if "`" not in str(type_) else str(type_)
    assert parse_type(f"  {spaced} ") == type_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BYTE", types.TINYINT), ("short", types.SMALLINT), ("Integer", types.INT), ("LONG", types.BIGINT),
        ("real", types.FLOAT), ("DEC", Decimal(10, 0)), ("numeric(5)", Decimal(5, 0)),
        ("decimal(38, 38)", Decimal(38, 38)),
        ("timestamp_ltz", types.TIMESTAMP), ("TIMESTAMP WITHOUT TIME ZONE", types.TIMESTAMP_NTZ),
        ("STRUCT<a INT>", Struct((StructField("a", types.INT, "a"),))),
        ("struct<a: int NOT NULL COMMENT 'it''s'>", Struct((StructField("a", types.INT, "a", False, "it's"),))),
        ("struct<`a``b`: array<int>>", Struct((StructField("a`b", Array(types.INT), "a`b"),))),
        ("map<string, array<struct<x:int>>>", Map(types.STRING, Array(Struct((StructField("x", types.INT, "x"),))))),
    ],
)  # fmt: skip
def test_spellings(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    "text", ["interval day", "void", "variant", "varchar(10)", "char(3)", "geometry", "uuid", "int(5)", "string(3)"]
)
def test_other_types_are_refused_by_name(text):
    with pytest.raises(UnsupportedType) as raised:
        parse_type(text)
    assert text.split("(")[0].split()[0] in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "array", "array<>", "array<int", "map<int>", "map<int,int", "struct<>", "struct<a>",
     "struct<a:int,A:int>",
     "decimal(39,0)", "decimal(0,0)", "decimal(5,6)", "decimal(5", "decimal(x)", "int int", "int>", "array<int>>",
     "a$b",
     "struct<a:int b:int>"],
)  # fmt: skip
def test_text_that_is_no_type(text):
    with pytest.raises((SqlError, UnsupportedType)):
        parse_type(text)


@given(st.text("abc<>(),:`'1 ", max_size=12))
def test_any_text_is_a_type_or_our_error(text):
    with contextlib.suppress(AnabranchError):
        parse_type(text)


_INT_DECIMALS = ["decimal(10,0)", "decimal(12,2)", "decimal(19,0)", "decimal(20,0)", "decimal(38,18)", "decimal(38,28)"]
WIDENINGS = {
    "tinyint": ["smallint", "int", "bigint", "double", *_INT_DECIMALS],
    "smallint": ["int", "bigint", "double", *_INT_DECIMALS],
    "int": ["bigint", "double", *_INT_DECIMALS],
    "bigint": ["decimal(20,0)", "decimal(38,18)"],
    "float": ["double"],
    "decimal(5,2)": [
        "decimal(6,2)",
        "decimal(6,3)",
        "decimal(11,2)",
        "decimal(12,2)",
        "decimal(38,18)",
        "decimal(38,28)",
    ],
    "decimal(10,0)": ["decimal(12,2)", "decimal(19,0)", "decimal(20,0)", "decimal(38,18)", "decimal(38,28)"],
    "date": ["timestamp_ntz"],
}
EVERY = [
    *map(str, ATOMS), "decimal(5,2)", "decimal(6,2)", "decimal(6,3)", "decimal(9,0)", "decimal(10,0)", "decimal(11,2)",
    "decimal(12,2)", "decimal(19,0)", "decimal(20,0)", "decimal(38,18)", "decimal(38,28)", "decimal(38,38)",
]  # fmt: skip
CHECKED = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(10,0)", "date", "string",
           "binary", "boolean", "timestamp", "timestamp_ntz"]  # fmt: skip


@pytest.mark.parametrize("narrow", CHECKED)
def test_widens(narrow):
    """All pairs: what is not in the table is refused."""
    allowed = {wide for wide in EVERY if wide != narrow and widens(parse_type(narrow), parse_type(wide))}
    assert allowed == set(WIDENINGS.get(narrow, []))
    assert widens(parse_type(narrow), parse_type(narrow))


@pytest.mark.parametrize(
    ("narrow", "wide", "allowed"),
    [
        ("array<int>", "array<bigint>", True),
        ("array<bigint>", "array<int>", False),
        ("array<int>", "int", False),
        ("map<int,float>", "map<int,double>", True),
        ("map<int,float>", "map<bigint,float>", False),
        ("struct<a:int>", "struct<a:bigint>", True),
        ("struct<a:int>", "struct<b:int>", False),
        ("struct<a:int>", "struct<a:int,b:int>", False),
        ("struct<a:int,b:int>", "struct<b:int,a:int>", False),
        ("array<struct<a:map<string,date>>>", "array<struct<a:map<string,timestamp_ntz>>>", True),
    ],
)
def test_nested_widening(narrow, wide, allowed):
    assert widens(parse_type(narrow), parse_type(wide)) is allowed


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("int", "bigint", "bigint"),
        ("float", "int", "double"),
        ("float", "bigint", None),
        ("bigint", "double", None),
        ("double", "decimal(12,2)", None),
        ("bigint", "decimal(12,2)", "decimal(22,2)"),
        ("int", "decimal(4,2)", "decimal(12,2)"),
        ("decimal(15,2)", "decimal(13,5)", "decimal(18,5)"),
        ("decimal(38,0)", "decimal(2,1)", None),
        ("string", "int", None),
    ],
)
def test_common(one, other, both):
    expected = parse_type(both) if both else None
    assert common(parse_type(one), parse_type(other)) == common(parse_type(other), parse_type(one)) == expected


@pytest.mark.parametrize("one", EVERY)
def test_the_common_type_is_the_narrowest(one):
    """All pairs: there is one if any type holds both, and it widens to each of these."""
    for other in EVERY:
        pair = parse_type(one), parse_type(other)
        found = common(*pair)
        holding = [wide for wide in map(parse_type, EVERY) if all(widens(narrow, wide) for narrow in pair)]
        assert found is not None or not holding
        assert found is None or all(widens(narrow, found) for narrow in pair)


@given(any_type(), any_type(), any_type())
def test_widening_is_an_order(a, b, c):
    if widens(a, b) and widens(b, c):
        assert widens(a, c)
    if a != b:
        assert not (widens(a, b) and widens(b, a))


@given(any_type(stored=True))
def test_physical_names(type_):
    physical = physical_type(type_)
    assert all(field.label == field.physical for struct in structs_in(physical) for field in struct.fields)
    assert physical_type(physical) == physical
    assert renames_fields(type_) == (physical_type(type_) != type_)


@given(LABELS)
def test_quoted_names_come_back(label):
    (field,) = parse_type(f"struct<{quote_identifier(label)}:int>").fields
    assert field.label == label


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "decimal(10,2)",
        "array<map<string,int>>",
        "struct<a:int,`b c`:string>",
        "struct<a:int NOT NULL,b:struct<c:int COMMENT 'it\\'s \\\\ \"here\"'> NOT NULL COMMENT ''>",
        "array<map<struct<k:int NOT NULL>,struct<v:array<struct<w:date COMMENT 'w'>>>>>",
    ],
)
def test_a_type_is_declared_with_all_that_its_fields_have(text):
    assert types.declared(parse_type(text)) == text
    assert str(parse_type(text)) == str(parse_type(re.sub(r" NOT NULL| COMMENT '(\\.|[^'])*'", "", text)))
